"""HTML views of objects, for notebooks. Everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(title: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table as HTML, with a caption; floats have four digits.

    Args:
        title: Caption; "" for none.
        columns: Headings; empty for none.
        rows: Cells.
    """
    heads = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = ""
    for row in rows:
        cells = "".join(f"<td>{escape(_text(cell))}</td>" for cell in row)
        body += f"<tr>{cells}</tr>"
    head = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
