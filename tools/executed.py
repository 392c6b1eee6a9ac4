"""Pages whose `python` blocks are run, and the output of each block put below it.

The notebooks under docs/notebooks are such pages: `make docs` shows their outputs, and the tests
run the same blocks. A block's last line, if it is an expression, is shown as a notebook shows it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from textwrap import fill
from typing import Any

FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
"""Attributes with which an SVG describes each of its marks to screen readers."""


@dataclass(frozen=True)
class Cell:
    """A fenced block of a page."""

    language: str
    """The word after the opening fence."""
    code: str
    """The text between the fences."""
    line: int
    """Line of the page, from 1, on which the code begins."""
    end: int
    """Position in the page's text after the closing fence."""


def cells(text: str) -> Iterator[Cell]:
    """Yield the fenced blocks of a page, in order."""
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 2
        yield Cell(fence["language"], fence["code"], line, fence.end())


def run(cell: Cell, page: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run the code of a block. Tracebacks have the line numbers of the page.

    Args:
        cell: The block.
        page: Name of the page's file, for tracebacks.
        names: Variables of the page's blocks, which the code uses and changes.

    Returns:
        What the code prints, and the value of its last line; None unless that is an expression.
    """
    tree = ast.parse("\n" * (cell.line - 1) + cell.code, page)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, page, "exec"), names)  # noqa: S102  # the project's own page
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), page, "eval"), names)  # noqa: S307
    return printed.getvalue(), value


def with_outputs(text: str, page: str) -> str:
    """Run all `python` blocks of a page, and return the page with the output below each block.

    Args:
        text: The page.
        page: Name of its file, for tracebacks.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    end_of_last = 0
    for cell in cells(text):
        parts.append(text[end_of_last : cell.end])
        end_of_last = cell.end
        if cell.language == "python":
            printed, value = run(cell, page, names)
            parts.append(_output_blocks(printed, value))
    return "".join([*parts, text[end_of_last:]])


def _output_blocks(printed: str, value: Any) -> str:
    """Write an output as fenced blocks: text, and HTML for a value that has such a view."""
    lines = printed.rstrip().split("\n")
    text = "\n".join(line if len(line) < 100 else fill(line, 88) for line in lines)
    html = _as_html(value)
    if value is not None and html is None:
        text = f"{text}\n{value!r}".strip()
    blocks = f"\n\n```text\n{text}\n```\n" if text else ""
    if html is not None:
        blocks += f"\n\n```{{raw}} html\n{html}\n```\n"
    return blocks


def _as_html(value: Any) -> str | None:
    """Return the HTML with which a notebook shows a value; None if it has none.

    A chart of Altair becomes SVG, which fetches nothing.
    """
    if type(value).__module__.startswith("altair."):
        from vl_convert import vegalite_to_svg

        # Screen readers get the chart as one picture, and not each of its marks.
        svg = _ROLES.sub("", str(vegalite_to_svg(value.to_dict())))
        settings = 'role="img" aria-label="Chart" style="max-width: 100%; height: auto"'
        return svg.replace("<svg ", f"<svg {settings} ", 1)
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    return None
