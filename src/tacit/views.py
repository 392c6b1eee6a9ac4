"""HTML views of objects, for notebooks. Everything is escaped.

A notebook's own style puts cells on the right; each cell says where it belongs, for no style sheet
of a view can be relied on. No colour is set, so that a dark notebook shows the view in its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_LEFT = 'style="text-align:left;vertical-align:top;max-width:60em;white-space:normal"'
_RIGHT = 'style="text-align:right;vertical-align:top"'
_CAPTION = "text-align:left;font-weight:bold;padding:4px 0;color:inherit"


def table(title: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table as HTML, with a caption; floats have four digits.

    Args:
        title: Caption; "" for none.
        columns: Headings; empty for none.
        rows: Cells.
    """
    heads = "".join(f"<th {_LEFT}>{escape(name)}</th>" for name in columns)
    body = ""
    for row in rows:
        cells = "".join(_cell(cell, in_columns=bool(columns)) for cell in row)
        body += f"<tr>{cells}</tr>"
    head = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _cell(cell: object, *, in_columns: bool) -> str:
    """Write a cell: numbers below a heading on the right, all else on the left."""
    is_number = in_columns and isinstance(cell, int | float) and not isinstance(cell, bool)
    return f"<td {_RIGHT if is_number else _LEFT}>{escape(_text(cell))}</td>"


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
