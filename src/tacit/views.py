"""HTML views of objects, for notebooks. All text is escaped.

Notebooks align cells to the right and may drop a style sheet, so each cell sets its own alignment.
No colour is set, so that a dark notebook shows a view in its own colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_LEFT = 'style="text-align:left;vertical-align:top;max-width:60em;white-space:normal"'
_RIGHT = 'style="text-align:right;vertical-align:top"'
_CAPTION = "text-align:left;font-weight:bold;padding:4px 0;color:inherit"


def table(title: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table as HTML, with a caption; floats have four significant digits.

    Args:
        title: Caption; "" for none.
        columns: Headings; empty for a table without headings.
        rows: Cells of each row.
    """
    headings = "".join(f"<th {_LEFT}>{escape(name)}</th>" for name in columns)
    body = ""
    for row in rows:
        cells = "".join(_html_cell(cell, has_heading=bool(columns)) for cell in row)
        body += f"<tr>{cells}</tr>"
    head = f"<thead><tr>{headings}</tr></thead>" if headings else ""
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _html_cell(cell: object, *, has_heading: bool) -> str:
    """Format one cell: numbers below a heading are aligned right, everything else left."""
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    alignment = _RIGHT if is_number and has_heading else _LEFT
    return f"<td {alignment}>{escape(_cell_text(cell))}</td>"


def _cell_text(cell: object) -> str:
    """Format a cell's value: four significant digits for floats, a dash for None."""
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
