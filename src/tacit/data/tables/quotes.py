"""Quoted cells in delimited text, found and rewritten in the form that parsers expect.

Some programs write a quote inside a cell as two quotes, others as a backslash and a quote; and some
put blanks before or after a quoted cell. The parsers of csv and polars expect two quotes and no
blanks, so text is rewritten in that form first.
"""

from __future__ import annotations

import re
from functools import cache

_ESCAPED_QUOTE = re.compile(rb'\\"(?![,;\t|\r\n]|$)')
"""The pattern of a backslash and a quote inside a cell. Before a usual delimiter or a line end, the
quote closes the cell, and the backslash belongs to its text."""
_BLANKS = (
    b" ",
    b"\t",
    b"\v",
    b"\f",
    "\N{NO-BREAK SPACE}".encode(),
    "\N{IDEOGRAPHIC SPACE}".encode(),
)
"""Blanks that may stand around a quoted cell, in UTF-8."""


def tidy_quotes(data: bytes, delimiter: str, quote: str) -> bytes:
    r"""Write each quote inside a cell as two quotes, and drop blanks around quoted cells.

    Args:
        data: Lines in UTF-8, or one line without its end.
        delimiter: Text between two cells. If it is `::`, quotes have no meaning.
        quote: Character around a cell.

    Returns:
        The text, with as many lines as before. `a, "b\"c" ,d` becomes `a,"b""c",d`.
    """
    sign = quote.encode()
    if delimiter == "::" or sign not in data:
        return data
    if quote == '"' and b'\\"' in data:
        data = _ESCAPED_QUOTE.sub(b'""', data)
    blank = _pattern_of_blank(delimiter)
    if not re.search(blank + sign + b"|" + sign + blank, data):
        return data
    return _pattern_of_padded_cell(delimiter, quote).sub(rb"\1", data)


@cache
def quoted_cell(delimiter: str, quote: str) -> re.Pattern[bytes]:
    """Make the pattern of a quoted cell between two delimiters or line ends."""
    return re.compile(
        _cell_start(delimiter) + _pattern_between_quotes(quote) + _cell_end(delimiter)
    )


@cache
def _pattern_of_padded_cell(delimiter: str, quote: str) -> re.Pattern[bytes]:
    """Make the pattern of a quoted cell with blanks around it; group 1 is the cell."""
    blanks = _pattern_of_blank(delimiter) + b"*+"
    cell = b"(" + _pattern_between_quotes(quote) + b")"
    return re.compile(_cell_start(delimiter) + blanks + cell + blanks + _cell_end(delimiter))


def _pattern_of_blank(delimiter: str) -> bytes:
    """Make the pattern of one blank that is not the delimiter."""
    signs = [re.escape(blank) for blank in _BLANKS if blank != delimiter.encode()]
    return b"(?:" + b"|".join(signs) + b")"


def _pattern_between_quotes(quote: str) -> bytes:
    """Make the pattern of a cell in quotes; inside it, two quotes stand for one quote."""
    return b"%(sign)b(?:[^%(sign)b]|%(sign)b{2})*+%(sign)b" % {b"sign": quote.encode()}


def _cell_start(delimiter: str) -> bytes:
    """Make the pattern of the start of a cell: after a delimiter or a line end, or at the start."""
    return b"(?<![^%b\n])" % re.escape(delimiter.encode())


def _cell_end(delimiter: str) -> bytes:
    """Make the pattern of the end of a cell: before a delimiter or a line end, or at the end."""
    return rb"(?![^%b\r\n])" % re.escape(delimiter.encode())
