"""HTML views of objects, for notebooks. Everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(title: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with a caption; floats with four digits. columns: empty for no heads."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    head = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
