"""Text tables, compressed or not, of many encodings, delimiters and quotes, read as strings.

Lines are counted from 1, so the header is usually line 1. Empty lines are skipped, but count. A
file is read at once by polars, or row by row if polars may misread a row of it.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tacit.data.tables.encodings import MIXED, to_utf8
from tacit.data.tables.forms import (
    ROW_PERSON,
    Layout,
    has_blocks,
    is_comment,
    layout_error,
    refuse_what_is_no_table,
    unfold_blocks,
)
from tacit.data.tables.names import known_names, names_that_make_a_header, normalize_header
from tacit.data.tables.quotes import quoted_cell, tidy_quotes
from tacit.data.tables.table import Table, TextForm
from tacit.data.tables.times import BEGINS_LIKE_TIME
from tacit.errors import DataError

DELIMITERS = (",", "\t", ";", "|", "::")
"""Delimiters that are tried if the caller names none. Of equally good ones, the first is chosen. A
blank is tried if none of them fits."""
EMPTY = "the file is empty"
"""Message of the error for a file without a line."""
_OPEN_QUOTE = "unexpected end of data"
"""Message of the csv module for a quote that is not closed before the end of the file."""
_SAMPLE = 20
"""Number of first lines that decide on the delimiter and the header."""
_KNOWN_FILES = "CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB"
"""Description of the files that can be read, in messages."""
_RECBOLE_TYPE = re.compile(r":(?:token|float)(?:_seq)?$")
"""The pattern of the type at the end of a header of RecBole, as in `user_id:token`."""
_COMPRESSIONS = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\0": ".xz",
    b"BZh": ".bz2",
    b"PK\x03\x04": ".zip",
    b"\x28\xb5\x2f\xfd": ".zst",
}
"""First bytes of a compressed file to the kind of compression, named by its usual ending."""
_BELOW_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n([^\n]+)")
"""The pattern of a line below an empty line; group 1 is the line."""
_NO_ROW = "a header again, or a line of totals"
"""The rule by which lines that are not rows of data are dropped, as reports name it."""
_TOTALS = {
    "total",
    "totals",
    "grandtotal",
    "sum",
    "summe",
    "gesamt",
    "gesamtsumme",
    "somme",
    "suma",
    "somma",
    "totale",
}
"""Normalized words with which a line of totals begins."""
_FEWEST_NUMBERED = 3
"""Fewest columns for which a first line 0, 1, 2, ... is a header."""
_FEWEST_ALIKE = 0.6
"""Least share of the rows of a table that have the usual number of cells. With a smaller share, the
lines may be lists."""

Record = list[str] | str
"""The cells of a row; or, as a text, the reason why it cannot be read."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written.

    Attributes:
        delimiter: Text between two cells.
        headers: Names of the columns; their numbers from 1 if neither the file nor the caller
            names them.
        lines_above: Number of lines above the first row.
        quote: Character around a cell that holds a delimiter.
        has_names: Whether the file names its columns.
    """

    delimiter: str
    headers: tuple[str, ...]
    lines_above: int
    quote: str = '"'
    has_names: bool = False

    def fits(self, cells: Record) -> bool:
        """Tell whether a row could be read and has a cell for each header."""
        return not isinstance(cells, str) and len(cells) == len(self.headers)


def read_unpacked(path: Path) -> tuple[bytes, bool]:
    """Read a file; if its first bytes are those of gzip, zstd, xz, bz2 or zip, decompress it.

    Returns:
        The bytes, and whether they were compressed.

    Raises:
        DataError: As in `unpack`.
    """
    raw = path.read_bytes()
    for start, kind in _COMPRESSIONS.items():
        if raw.startswith(start):
            return unpack(raw, kind, path), True
    return raw, False


def unpack(raw: bytes, kind: str, path: Path) -> bytes:
    """Decompress bytes.

    Args:
        raw: The bytes.
        kind: Kind of compression: a value of `_COMPRESSIONS`, such as ".gz".
        path: The file, for messages.

    Raises:
        DataError: The bytes are damaged; a zip archive has a password, is that of a spreadsheet, or
            does not hold exactly one file; or text compressed with zstd is not UTF-8.
    """
    try:
        if kind == ".gz":
            return gzip.decompress(raw)
        if kind == ".xz":
            return lzma.decompress(raw)
        if kind == ".bz2":
            return bz2.decompress(raw)
        if kind == ".zip":
            return _unpack_zip(raw, path)
        return _unpack_zstd(raw)
    except (zipfile.BadZipFile, RuntimeError):  # the latter for a password or an unknown method
        raise DataError(
            "this is an Excel or zip file that cannot be opened",
            path=path,
            expected=_KNOWN_FILES,
            fix="Save the sheet as CSV, or unpack the archive first.",
        ) from None
    except (
        OSError,
        EOFError,
        ValueError,
        zlib.error,
        lzma.LZMAError,
        pl.exceptions.PolarsError,
    ) as error:
        raise DataError(
            f"the {kind} file cannot be unpacked ({error})",
            path=path,
            fix="Fetch it again, or unpack it first.",
        ) from None


def _unpack_zstd(raw: bytes) -> bytes:
    """Unpack zstd, by polars; PolarsError unless the text is UTF-8."""
    return "\n".join(pl.read_lines(io.BytesIO(raw)).to_series()).encode()


def _unpack_zip(raw: bytes, path: Path) -> bytes:
    """Unpack a zip archive of one file; DataError for others, such as an Excel workbook."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if "[Content_Types].xml" in names:
            raise DataError(
                "this is an Excel file",
                path=path,
                expected=_KNOWN_FILES,
                fix="Save the sheet as CSV first.",
            )
        if {"mimetype", "content.xml"} <= {*names}:
            raise DataError(
                "this is an OpenDocument file (such as .ods)",
                path=path,
                expected=_KNOWN_FILES,
                fix="Save the sheet as CSV first.",
            )
        if len(names) != 1:
            raise DataError(
                f"this zip archive holds {len(names)} files",
                path=path,
                expected="one file",
                fix="Unpack it, and name the files.",
            )
        return archive.read(names[0])


def read_text_table(
    path: Path,
    raw: bytes,
    *,
    encoding: str | None,
    packed: bool = False,
    layout: Layout | None = None,
    **dialect_options: Any,
) -> Table:
    """Read a text table.

    Args:
        path: The file, for messages.
        raw: Its bytes, decompressed.
        encoding: Name of its encoding; None: found in the bytes.
        packed: Whether the file is compressed.
        layout: With "baskets", lines may have different lengths. None: lines of different lengths
            that seem to be lists are an error.
        **dialect_options: The arguments `delimiter`, `headers`, `header` and `column_names` of
            `_find_dialect`; all four are needed.

    Returns:
        The table; rows that cannot be read, repeated headers and a line of totals are in its
        `row_errors`.

    Raises:
        DataError: The text is no table, it is not clear how it is to be read, or a quote is open at
            the end of the file.
    """
    refuse_what_is_no_table(raw, path)
    guesses = [name for name in ("delimiter", "header") if dialect_options[name] is None]
    if dialect_options["headers"] is not None and "header" in guesses:
        guesses.remove("header")
    data, used_encoding = to_utf8(raw, path, encoding)
    block_lines: list[int] | None = None
    nothing_named = dialect_options["headers"] is None and dialect_options["delimiter"] is None
    if nothing_named and has_blocks(data):
        data, block_lines = unfold_blocks(data)
        dialect_options["headers"] = _block_headers(data)
    dialect = _find_dialect(path, data, **dialect_options)
    data = tidy_quotes(data, dialect.delimiter, dialect.quote)
    if layout == "baskets" and not _count_cells(data, dialect):
        _, errors_of_rows = read_row_by_row(data, dialect)
        for error in errors_of_rows:
            raise error.with_place(path=path)
    if layout == "baskets" and not _has_one_width(data, dialect):
        return _read_basket_lines(path, data, dialect)
    frame = read_at_once(data, dialect)
    row_errors: tuple[DataError, ...] = ()
    if frame is None:
        frame, row_errors = read_row_by_row(data, dialect)
    lines = _make_line_function(data, dialect, len(frame), block_lines)
    _refuse_two_tables(path, data, dialect)
    is_row = _find_rows(frame, dialect)
    if is_row is not None:
        no_rows = itertools.compress(lines(), ~is_row)
        row_errors += tuple(DataError(_NO_ROW, row=number) for number in no_rows)
        frame = frame.filter(is_row)
        lines = partial(_compress_lines, lines, is_row)
    _refuse_open_quote(path, row_errors)
    if not len(frame) and not row_errors:
        raise DataError("the file has a header but no rows", path=path)
    if layout is None:
        _refuse_lines_of_lists(path, data, dialect, len(row_errors), len(frame) + len(row_errors))
    has_names = dialect.has_names or block_lines is not None
    form = TextForm(used_encoding, dialect.delimiter, dialect.quote, dialect.lines_above, packed)
    if encoding is None:
        guesses.insert(0, "encoding")
    rows_are_separate = block_lines is None and b"\n" in raw and used_encoding != MIXED
    return Table(
        path,
        frame,
        lines,
        row_errors,
        is_text=True,
        has_header=has_names,
        kind="text" if rows_are_separate else None,
        form=form if rows_are_separate else None,
        guesses=(*guesses, "rows"),
    )


def _refuse_open_quote(path: Path, row_errors: Sequence[DataError]) -> None:
    """Raise the error of a quote that is open at the end of the file, if there is one.

    It is never dropped as a bad row, since all rows after the quote are lost.
    """
    for error in row_errors:
        if _OPEN_QUOTE in error.what:
            raise error.with_place(path=path, expected="every quote closed")


def _make_line_function(
    data: bytes, dialect: Dialect, rows: int, block_lines: list[int] | None
) -> Callable[[], Iterable[int]]:
    """Make the function that returns the line of each row, for `Table.lines`.

    If every line below the header is a row, the function does not keep the text in memory.

    Args:
        data: The text.
        dialect: How it is written.
        rows: Number of rows that were read.
        block_lines: For a text of unfolded blocks, the line in the file of each of its lines. None:
            lines of the text are those of the file.
    """
    last = data.count(b"\n") + (not data.endswith(b"\n"))
    has_quotes = dialect.quote.encode() in data
    if last - dialect.lines_above == rows and not has_quotes and block_lines is None:
        return lambda: range(dialect.lines_above + 1, last + 1)

    def lines() -> Iterator[int]:
        """Yield the line of each row that was read."""
        for line, cells in _iterate_records(data, dialect):
            if dialect.fits(cells):
                yield line if block_lines is None else block_lines[line - 1]

    return lines


def _compress_lines(lines: Callable[[], Iterable[int]], is_kept: pl.Series) -> Iterator[int]:
    """Return the lines of the rows for which `is_kept` (rows,) is True."""
    return itertools.compress(lines(), is_kept)


def _block_headers(data: bytes) -> tuple[str, ...]:
    """Name the columns that `unfold_blocks` makes: item, user, rating, time, then numbers."""
    width = data.split(b"\n", 1)[0].count(b",") + 1
    names = ("item", "user", "rating", "time")
    return names[:width] + tuple(str(number) for number in range(len(names) + 1, width + 1))


def _find_dialect(
    path: Path,
    data: bytes,
    *,
    delimiter: str | None,
    headers: Sequence[str] | None,
    header: bool | None,
    column_names: Sequence[str | None],
) -> Dialect:
    """Find how a text table is written.

    Args:
        path: The file, for messages.
        data: The text in UTF-8.
        delimiter: Text between cells; None: found in the text.
        headers: Headers of a file that does not name its columns; None: see `header`.
        header: Whether the file names its columns in the line above the rows; None: found in the
            text.
        column_names: Headers that the caller named, or None for each role without one. They help to
            find the delimiter and the line of headers.

    Raises:
        DataError: The file is empty, the delimiter cannot be used, or two columns have one name.
    """
    sample = _sample_lines(data)
    if not sample:
        raise DataError(EMPTY, path=path, expected="a header and at least one row")
    last_above = 0  # the number of the last line above the rows
    if sample[0].text.lower().startswith("sep=") and len(sample) > 1:  # a line that Excel writes
        delimiter = delimiter or sample[0].text.rstrip("\r\n")[len("sep=") :]
        last_above = sample.pop(0).number
    texts = [line.text for line in sample]
    known_headers = {normalize_header(name) for name in column_names if name}
    known_headers = {name for name in known_headers if not name.isdecimal()}
    known_headers |= names_that_make_a_header()
    if delimiter is None:
        delimiter = _choose_delimiter(texts, known_headers)
    else:
        delimiter = check_delimiter(delimiter, path)
    widths = [len(_split(text, delimiter)) for text in texts]
    usual_width = max(set(widths), key=widths.count)
    known_counts = [_count_known_headers(text, delimiter, known_headers) for text in texts]
    while len(texts) > 1 and headers is None:  # skip comments and titles above the table
        is_one_cell = widths[0] == 1 and usual_width > 1
        is_above_header = known_counts[0] == 0 and max(known_counts[1:]) > 1
        is_title = _has_one_filled_cell(texts[0], delimiter) and is_above_header
        if not (is_comment(texts[0]) or is_one_cell or is_title):
            break
        last_above = sample.pop(0).number
        del texts[0], widths[0], known_counts[0]
    quote = "'" if _has_single_quotes(texts, delimiter) else '"'
    first_cells = [cell.strip() for cell in _split(texts[0], delimiter, quote)]
    first_line = sample[0].number
    column_numbers = tuple(str(number) for number in range(1, len(first_cells) + 1))
    if headers is not None:
        return Dialect(delimiter, tuple(headers), last_above, quote)
    if header is None and _are_numbers_of_columns(first_cells, texts[1:], delimiter):
        return Dialect(delimiter, column_numbers, first_line)
    if header is None:
        below = [_split(text, delimiter, quote) for text in texts[1:]]
        header = _is_header(first_cells, below, known_headers)
    if not header:
        return Dialect(delimiter, column_numbers, last_above, quote)
    if all(_RECBOLE_TYPE.search(cell) for cell in first_cells):
        first_cells = [_RECBOLE_TYPE.sub("", cell) for cell in first_cells]
    names = [cell or number for cell, number in zip(first_cells, column_numbers, strict=True)]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise DataError(
            "two columns have the same name",
            path=path,
            row=first_line,
            column=min(repeated),
            fix="Rename one of them.",
        )
    return Dialect(delimiter, tuple(names), first_line, quote, has_names=True)


class _Line(NamedTuple):
    """A line of a text."""

    number: int
    """Number of the line, from 1."""
    text: str
    """The line with its end."""


def _sample_lines(data: bytes) -> list[_Line]:
    """Return the first `_SAMPLE` lines of a text that are not empty."""
    sample: list[_Line] = []
    for number, raw in enumerate(io.BytesIO(data), 1):
        if len(sample) == _SAMPLE:
            break
        text = raw.decode()
        if text.strip():
            sample.append(_Line(number, text))
    return sample


def _choose_delimiter(lines: list[str], known_headers: set[str]) -> str:
    """Choose the delimiter that `_rate_delimiter` rates best; a blank only if no other one fits."""
    ratings = {
        delimiter: _rate_delimiter(lines, delimiter, known_headers) for delimiter in DELIMITERS
    }
    best = max(DELIMITERS, key=lambda delimiter: ratings[delimiter])
    if ratings[best].share_alike > 0:
        return best
    fits_blank = _rate_delimiter(lines, " ", known_headers).share_alike > 0
    return " " if fits_blank else best


def _count_known_headers(line: str, delimiter: str, known_headers: set[str]) -> int:
    """Count the different cells of a line that are known headers."""
    cells = {normalize_header(cell) for cell in _split(line, delimiter)}
    return len(cells & known_headers)


def _has_one_filled_cell(line: str, delimiter: str) -> bool:
    """Tell whether a line has at most one filled cell, like a title above a table."""
    filled = [cell for cell in _split(line, delimiter) if cell.strip()]
    return len(filled) <= 1


def _are_numbers_of_columns(first: list[str], below: list[str], delimiter: str) -> bool:
    """Tell whether the first row is 0, 1, 2, ..., which pandas writes above unnamed columns.

    A table of people who are numbered from 0 may begin with such a row, too, but then the 0 repeats
    in its first column.

    Args:
        first: Stripped cells of the first row.
        below: Lines below it.
        delimiter: Text between cells.
    """
    if len(first) < _FEWEST_NUMBERED or first != [str(number) for number in range(len(first))]:
        return False
    return all(_split(line, delimiter)[0].strip() != "0" for line in below)


def _is_header(first: list[str], below: list[list[str]], known_headers: set[str]) -> bool:
    """Tell whether the first row has names of columns, not data.

    A row with two known headers is a header. Any other row is data if it has a number or a date, or
    a cell that repeats in the row or in its column. A row without a known header is also data if a
    cell has the same form as all cells below it, such as u17 above u4.

    Args:
        first: Stripped cells of the first row.
        below: Cells of the rows below it.
        known_headers: Normalized names of columns.
    """
    known = {normalize_header(cell) for cell in first} & known_headers
    if len(known) >= 2:
        return True
    if not known and _has_form_of_cells_below(first, below):
        return False
    if any(BEGINS_LIKE_TIME.match(cell) for cell in first):
        return False
    filled = [cell for cell in first if cell]
    if len(set(filled)) < len(filled):
        return False
    for position, cell in enumerate(first):
        if cell and any(len(row) > position and row[position].strip() == cell for row in below):
            return False
    return True


def _has_form_of_cells_below(first: list[str], below: list[list[str]]) -> bool:
    """Tell whether a cell of the first row has digits and the form of all cells below it."""
    for position, cell in enumerate(first):
        form = _form_of(cell)
        others = [row[position].strip() for row in below if len(row) > position]
        if "9" in form and others and all(_form_of(other) == form for other in others):
            return True
    return False


def _form_of(cell: str) -> str:
    """Replace each run of letters in a cell by `a`, and each run of digits by `9`: u17 is a9."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", cell))


def _count_cells(data: bytes, dialect: Dialect) -> list[int]:
    """Count the cells of each row below the header that can be read."""
    records = _iterate_records(data, dialect)
    return [len(cells) for _, cells in records if not isinstance(cells, str)]


def _has_one_width(data: bytes, dialect: Dialect) -> bool:
    """Tell whether at least the share `_FEWEST_ALIKE` of the rows has the usual number of cells.

    That is the number of headers, or without a header, the most frequent number.
    """
    widths = Counter(_count_cells(data, dialect))
    if not widths:
        return True
    usual_width = len(dialect.headers) if dialect.has_names else widths.most_common(1)[0][0]
    return widths[usual_width] >= _FEWEST_ALIKE * widths.total()


def _refuse_lines_of_lists(
    path: Path, data: bytes, dialect: Dialect, unread: int, rows: int
) -> None:
    """Raise DataError if lines have many different lengths, so that they seem to be lists of items.

    Args:
        path: The file, for messages.
        data: The text.
        dialect: How it is written.
        unread: Number of rows that could not be read or have a wrong number of cells.
        rows: Number of all rows, with these.
    """
    if unread <= (1 - _FEWEST_ALIKE) * rows:
        return
    widths = _count_cells(data, dialect)
    if widths and max(widths) > len(dialect.headers) and len(set(widths)) > 2:
        raise layout_error(
            "baskets",
            "the rows have different lengths",
            path=path,
            found=f"{min(widths)} to {max(widths)} cells",
        )


def _read_basket_lines(path: Path, data: bytes, dialect: Dialect) -> Table:
    """Read lines with many items as two columns: people, and lists of items.

    If each line begins with the number of its items, these numbers are left out, and each line is a
    person. Otherwise the first cells are the people if all are different and none is among the
    items; else each line is a person. Such people are numbered from 1.

    Raises:
        DataError: A quote is open at the end of the file.
    """
    lines: list[int] = []
    baskets: list[list[str]] = []
    row_errors: list[DataError] = []
    for line, cells in _iterate_records(data, dialect):
        if isinstance(cells, str):
            row_errors.append(_row_error(line, cells, dialect.headers))
        else:
            lines.append(line)
            baskets.append([cell for cell in cells if cell])
    _refuse_open_quote(path, row_errors)
    firsts = [basket[0] for basket in baskets]
    others: set[str] = set()
    for basket in baskets:
        others.update(basket[1:])
    has_counts = all(basket[0] == str(len(basket) - 1) for basket in baskets)
    are_different = len({*firsts}) == len(firsts) and others.isdisjoint(firsts)
    has_person = are_different and not has_counts
    people = firsts if has_person else [str(number) for number in range(1, len(firsts) + 1)]
    first_item = 1 if has_person or has_counts else 0
    items = [basket[first_item:] for basket in baskets]
    frame = pl.DataFrame({"user" if has_person else ROW_PERSON: people, "item": items})
    return Table(
        path,
        frame,
        lambda: lines,
        tuple(row_errors),
        is_text=True,
        guesses=("encoding", "delimiter", "rows"),
    )


def _find_rows(frame: pl.DataFrame, dialect: Dialect) -> pl.Series | None:
    """Tell which records are rows of data; a repeated header and a last line of totals are not.

    Args:
        frame: The records below the header.
        dialect: How the text is written.

    Returns:
        A mask (records,); None if all are rows of data.
    """
    if not dialect.has_names or not len(frame):
        return None
    equals_header = [pl.col(name) == name for name in dialect.headers]
    is_row = ~frame.select(pl.all_horizontal(equals_header).fill_null(value=False)).to_series()
    last_cells = [cell for cell in frame.row(-1) if cell is not None]
    if len(frame) > 1 and last_cells and normalize_header(last_cells[0]) in _TOTALS:
        # A word such as `total` that is repeated in the first column is an id.
        first_column = frame[:-1][:, 0]
        is_row[len(frame) - 1] = bool((first_column == last_cells[0]).any())
    return None if bool(is_row.all()) else is_row


def _refuse_two_tables(path: Path, data: bytes, dialect: Dialect) -> None:
    """Raise DataError if there is another header below an empty line."""
    if not dialect.has_names:
        return
    known_headers = names_that_make_a_header() | {*known_names("title")}
    for match in _BELOW_BLANK_LINE.finditer(data):
        line = match[1].decode()
        cells = [cell.strip() for cell in _split(line, dialect.delimiter, dialect.quote)]
        names = {normalize_header(cell) for cell in cells}
        if tuple(cells) != dialect.headers and len(names & known_headers) > 1:
            raise DataError(
                "the file holds two tables, one below the other",
                path=path,
                row=data.count(b"\n", 0, match.start(1)) + 1,
                fix="Write each into a file of its own.",
            )


def read_at_once(data: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """Read all rows at once, by polars.

    Returns:
        The rows, stripped texts with null for an empty cell; None if polars may misread one, or one
        may be too short or too long.
    """
    separator = dialect.delimiter
    if separator == "::":  # polars needs a single byte; this one is not in any usual text
        data = data.replace(b"::", b"\x1f")
        separator = "\x1f"
    # If the text ends with a delimiter, polars drops the last empty cell. It also reads a quote
    # that is not around a cell otherwise than the csv module does.
    quote = dialect.quote.encode()
    cell = quoted_cell(separator, dialect.quote)
    if data.endswith(separator.encode()) or (quote in data and quote in cell.sub(b"", data)):
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            skip_lines=dialect.lines_above,
            separator=separator,
            quote_char=None if dialect.delimiter == "::" else dialect.quote,
            schema=dict.fromkeys(dialect.headers, pl.String),
        )
    except pl.exceptions.PolarsError:
        return None
    if _has_blanks(data, separator):
        frame = frame.with_columns(pl.all().str.strip_chars().replace("", None))
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    # A null in the last column may come from a row that is too short, or shifted by a cell.
    return None if frame[:, -1].null_count() else frame


def _has_blanks(data: bytes, separator: str) -> bool:
    """Tell whether a cell may begin or end with a blank, or be an empty cell in quotes.

    There are blanks beyond ASCII, so a text with any sign beyond ASCII may have some.
    """
    blanks_and_quotes = set(b" \t\v\f\"'") - set(separator.encode())
    return not data.isascii() or any(sign in data for sign in blanks_and_quotes)


def read_row_by_row(data: bytes, dialect: Dialect) -> tuple[pl.DataFrame, tuple[DataError, ...]]:
    """Read row by row, by the csv module.

    Returns:
        The rows that have a cell for each header, stripped texts with null for an empty cell; and
        an error, without the path, for each of the other rows.
    """
    rows = []
    row_errors = []
    for line, cells in _iterate_records(data, dialect):
        if dialect.fits(cells):
            rows.append(cells)
        else:
            row_errors.append(_row_error(line, cells, dialect.headers))
    frame = pl.DataFrame(rows, dict.fromkeys(dialect.headers, pl.String), orient="row")
    return frame.with_columns(pl.all().replace("", None)), tuple(row_errors)


def _row_error(line: int, cells: Record, headers: tuple[str, ...]) -> DataError:
    """Make the error, without the path, for a row that cannot be read or has a wrong length."""
    if isinstance(cells, str):
        return DataError(f"the row cannot be read ({cells})", row=line)
    found = f"{len(cells)} cells"
    expected = f"{len(headers)}: " + ", ".join(headers)
    if len(cells) > len(headers):
        return DataError("the row is too long", row=line, found=found, expected=expected)
    what = "the row is too short"
    column = headers[len(cells)]
    return DataError(what, row=line, column=column, found=found, expected=expected)


def _iterate_records(data: bytes, dialect: Dialect) -> Iterator[tuple[int, Record]]:
    """Yield each row below the header that is not empty: its first line, and its stripped cells.

    In place of the cells of a row that cannot be read, the reason is yielded.
    """
    for line, cells in _iterate_raw_records(data, dialect):
        if line <= dialect.lines_above:
            continue
        if not isinstance(cells, str):
            cells = [cell.strip() for cell in cells]
            if not any(cells):
                continue
            while len(cells) > len(dialect.headers) and not cells[-1]:
                cells.pop()  # empty, after a delimiter at the end of the line
        yield line, cells


def _iterate_raw_records(data: bytes, dialect: Dialect) -> Iterator[tuple[int, Record]]:
    """Yield the first line and the cells of each record, also of the header and of empty lines.

    In place of the cells of a record that cannot be read, the reason is yielded.
    """
    texts = (raw.decode() for raw in io.BytesIO(data))
    if dialect.delimiter == "::":
        for line, text in enumerate(texts, 1):
            yield line, text.rstrip("\r\n").split("::")
        return
    reader = csv.reader(texts, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)
    while True:
        start = reader.line_num + 1  # the record's first line: a quoted cell may span several
        try:
            yield start, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield start, str(error)


def _split(text: str, delimiter: str, quote: str = '"') -> list[str]:
    """Split one line into cells; a line that cannot be split is one cell."""
    text = text.rstrip("\r\n")
    if delimiter == "::":
        return text.split("::")
    text = tidy_quotes(text.encode(), delimiter, quote).decode()
    try:
        return next(csv.reader([text], delimiter=delimiter, quotechar=quote), [])
    except csv.Error:
        return [text]


class _DelimiterRating(NamedTuple):
    """How well a delimiter fits. Two of these are compared field by field; the larger is better."""

    known_headers: int
    """Largest number of different known headers in one line."""
    share_alike: float
    """Share of the lines with the usual number of cells; 0 if the usual number is 1."""
    usual_width: int
    """The most frequent number of cells of a line."""


def _rate_delimiter(lines: list[str], delimiter: str, known_headers: set[str]) -> _DelimiterRating:
    """Rate how well a delimiter fits lines.

    Args:
        lines: The first lines of the text, at least one.
        delimiter: The delimiter.
        known_headers: Normalized names of columns.
    """
    most_known = 0
    widths: Counter[int] = Counter()
    for line in lines:
        widths[len(_split(line, delimiter))] += 1
        most_known = max(most_known, _count_known_headers(line, delimiter, known_headers))
    usual_width, alike = widths.most_common(1)[0]
    share_alike = alike / len(lines) if usual_width > 1 else 0
    return _DelimiterRating(most_known, share_alike, usual_width)


def _has_single_quotes(lines: list[str], delimiter: str) -> bool:
    """Tell whether most lines have two or more cells in single quotes."""
    quoted_lines = 0
    for line in lines:
        quoted_cells = [cell for cell in _split(line, delimiter) if _is_in_single_quotes(cell)]
        if len(quoted_cells) > 1:
            quoted_lines += 1
    return quoted_lines > len(lines) / 2


def _is_in_single_quotes(cell: str) -> bool:
    """Tell whether a cell begins and ends with a single quote."""
    text = cell.strip()
    return len(text) > 1 and text[0] == text[-1] == "'"


def check_delimiter(delimiter: str, path: Path) -> str:
    r"""Return the delimiter that the caller names, perhaps as `\t`, `tab` or `space`.

    Raises:
        DataError: It is neither `::` nor a single ASCII character, or it is the double quote or
            ends a line.
    """
    chosen = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter, delimiter)
    if chosen != "::" and (len(chosen) != 1 or chosen in '"\r\n' or ord(chosen) > 127):
        raise DataError(
            "this delimiter cannot be used",
            path=path,
            found=delimiter,
            expected="one sign of ASCII, no double quote; or '::'",
        )
    return chosen
