"""Pages whose `python` blocks are run, with what each block prints or shows put after it.

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
"""What an SVG says to screen readers about each of its marks."""


@dataclass(frozen=True)
class Cell:
    """A block of a page. line: of its first line of code, from 1. end: where it ends."""

    language: str
    code: str
    line: int
    end: int


def cells(text: str) -> Iterator[Cell]:
    """The fenced blocks of a page, in order."""
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 2
        yield Cell(fence["language"], fence["code"], line, fence.end())


def run(cell: Cell, page: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What the code prints, and the value of its last line. Tracebacks have the page's lines."""
    tree = ast.parse("\n" * (cell.line - 1) + cell.code, page)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, page, "exec"), names)  # noqa: S102  # the project's own page
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), page, "eval"), names)  # noqa: S307
    return printed.getvalue(), value


def with_outputs(text: str, page: str) -> str:
    """The page with the output of each `python` block after it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    parts, at = [], 0
    for cell in cells(text):
        parts.append(text[at : cell.end])
        at = cell.end
        if cell.language == "python":
            parts.append(_shown(*run(cell, page, names)))
    return "".join([*parts, text[at:]])


def _shown(printed: str, value: Any) -> str:
    lines = printed.rstrip().split("\n")
    text = "\n".join(line if len(line) < 100 else fill(line, 88) for line in lines)
    html = _as_html(value)
    if value is not None and html is None:
        text = f"{text}\n{value!r}".strip()
    found = f"\n\n```text\n{text}\n```\n" if text else ""
    if html is not None:
        found += f"\n\n```{{raw}} html\n{html}\n```\n"
    return found


def _as_html(value: Any) -> str | None:
    """A value as a notebook shows it; a chart of Altair as SVG, which fetches nothing."""
    if type(value).__module__.startswith("altair."):
        from vl_convert import vegalite_to_svg

        # One picture for screen readers, and no mark by itself.
        svg = _ROLES.sub("", str(vegalite_to_svg(value.to_dict())))
        settings = 'role="img" aria-label="Chart" style="max-width: 100%; height: auto"'
        return svg.replace("<svg ", f"<svg {settings} ", 1)
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    return None
