"""Text tables: any packing, encoding, delimiter and quotes become columns of strings.

A line number counts lines of the file from 1, so the header is usually line 1. Lines without any
content are skipped. In one pass by polars; line by line where polars finds a row odd.
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
from typing import Any

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
from tacit.data.tables.times import LIKE_TIME
from tacit.errors import DataError

DELIMITERS = (",", "\t", ";", "|", "::")
EMPTY = "the file is empty"
_OPEN = "unexpected end of data"
_SAMPLE = 20  # lines looked at to find the delimiter
_FORMS = "CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB"
_TYPED = re.compile(r":(?:token|float)(?:_seq)?$")
_PACKED = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\0": ".xz",
    b"BZh": ".bz2",
    b"PK\x03\x04": ".zip",
    b"\x28\xb5\x2f\xfd": ".zst",
}
"""First bytes of packed files."""
_BELOW_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n([^\n]+)")
_NO_ROW = "a header again, or a line of totals"
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
_FEWEST_NUMBERED = 3
_FEWEST_ALIKE = 0.6
"""Share of the rows without a header that have one width: else they are lists, not rows."""
Record = list[str] | str
"""The cells of a row, or why there are none."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written.

    Attributes:
        delimiter: Between two cells.
        headers: Names of the columns, their numbers where the file has none.
        header_line: Last line above the rows; 0 if there is none.
        quote: Around a cell.
        has_names: Whether the file has names of its columns.
    """

    delimiter: str
    headers: tuple[str, ...]
    header_line: int
    quote: str = '"'
    has_names: bool = False

    def fits(self, cells: Record) -> bool:
        """Say whether a row has a cell for each header."""
        return not isinstance(cells, str) and len(cells) == len(self.headers)


def read_unpacked(path: Path) -> tuple[bytes, bool]:
    """Read the bytes of a file; gzip, zstd, xz, bz2 and zip are undone, whatever it is called.

    Returns:
        The bytes, and whether they were packed.
    """
    raw = path.read_bytes()
    kind = next((kind for start, kind in _PACKED.items() if raw.startswith(start)), None)
    if kind is None:
        return raw, False
    return unpack(raw, kind, path), True


def unpack(raw: bytes, kind: str, path: Path) -> bytes:
    """Undo one kind of packing; DataError if the bytes are damaged."""
    try:
        if kind == ".gz":
            return gzip.decompress(raw)
        if kind == ".xz":
            return lzma.decompress(raw)
        if kind == ".bz2":
            return bz2.decompress(raw)
        if kind == ".zip":
            return _only_member(raw, path)
        return _undo_zstd(raw)
    except zipfile.BadZipFile:
        raise DataError(
            "this is an Excel or zip file that cannot be opened",
            path=path,
            expected=_FORMS,
            fix="Save the sheet as CSV, or unpack the archive first.",
        ) from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"the {kind} file cannot be unpacked ({error})",
            path=path,
            fix="Fetch it again, or unpack it first.",
        ) from None


def _undo_zstd(raw: bytes) -> bytes:
    """Unpack zstd, which has to hold UTF-8."""
    return "\n".join(pl.read_lines(io.BytesIO(raw)).to_series()).encode()


def _only_member(raw: bytes, path: Path) -> bytes:
    """Unpack a zip archive of one file; an Excel workbook is refused by name."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if "[Content_Types].xml" in names:
            raise DataError(
                "this is an Excel file",
                path=path,
                expected=_FORMS,
                fix="Save the sheet as CSV first.",
            )
        if {"mimetype", "content.xml"} <= {*names}:
            raise DataError(
                "this is an OpenDocument file (such as .ods)",
                path=path,
                expected=_FORMS,
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


def text_table(
    path: Path,
    raw: bytes,
    *,
    encoding: str | None,
    packed: bool = False,
    layout: Layout | None = None,
    **given: Any,
) -> Table:
    """Read a text table.

    Args:
        path: Where it is from, for messages.
        raw: Its bytes, unpacked.
        packed: Whether the file is packed.
        encoding: Name of its encoding; None: looked for.
        layout: Whether lines of different lengths are baskets.
        given: What `_dialect` takes.
    """
    refuse_what_is_no_table(raw, path)
    guesses = [name for name in ("delimiter", "header") if given[name] is None]
    if given["headers"] is not None and "header" in guesses:
        guesses.remove("header")
    data, used_encoding = to_utf8(raw, path, encoding)
    block_lines: list[int] | None = None
    if given["headers"] is None and given["delimiter"] is None and has_blocks(data):
        data, block_lines = unfold_blocks(data)
        given["headers"] = _block_headers(data)
    dialect = _dialect(path, data, **given)
    data = tidy_quotes(data, dialect.delimiter, dialect.quote)
    if layout == "baskets" and not _has_one_width(data, dialect):
        return _basket_lines(path, data, dialect)

    frame = fast_pass(data, dialect)
    torn: tuple[DataError, ...] = ()
    if frame is None:
        frame, torn = careful_pass(data, dialect)
    lines = _line_finder(data, dialect, len(frame), block_lines)
    _refuse_two_tables(path, data, dialect)
    is_row = _is_row(frame, dialect)
    if is_row is not None:
        no_rows = itertools.compress(lines(), ~is_row)
        torn += tuple(DataError(_NO_ROW, row=number) for number in no_rows)
        frame = frame.filter(is_row)
        lines = partial(_compress_lines, lines, is_row)
    for each in torn:
        if _OPEN in each.what:  # it swallowed all rows after it: none of them may be dropped
            raise each.with_place(path=path, expected="every quote closed")
    if not len(frame) and not torn:
        raise DataError("the file has a header but no rows", path=path)
    if layout is None:
        _refuse_lines_of_lists(path, data, dialect, len(torn), len(frame) + len(torn))
    has_names = dialect.has_names or block_lines is not None
    form = TextForm(used_encoding, dialect.delimiter, dialect.quote, dialect.header_line, packed)
    if encoding is None:
        guesses.insert(0, "encoding")
    stands_alone = block_lines is None and b"\n" in raw and used_encoding != MIXED
    return Table(
        path,
        frame,
        lines,
        torn,
        text=True,
        header=has_names,
        kind="text" if stands_alone else None,
        form=form if stands_alone else None,
        guesses=(*guesses, "rows"),
    )


def _line_finder(
    data: bytes, dialect: Dialect, rows: int, block_lines: list[int] | None
) -> Callable[[], Iterable[int]]:
    """Make the function that gives the line of each row.

    Where every line below the header is a row it keeps nothing of the text, which is large.

    Args:
        data: The text.
        dialect: How it is written.
        rows: Number of rows that were read.
        block_lines: Line in the file of each line of the text; None where they are the same.
    """
    last = data.count(b"\n") + (not data.endswith(b"\n"))
    has_quotes = dialect.quote.encode() in data
    if last - dialect.header_line == rows and not has_quotes and block_lines is None:
        return lambda: range(dialect.header_line + 1, last + 1)

    def lines() -> Iterator[int]:
        for at, cells in _records(data, dialect):
            if dialect.fits(cells):
                yield at if block_lines is None else block_lines[at - 1]

    return lines


def _compress_lines(lines: Callable[[], Iterable[int]], kept: pl.Series) -> Iterator[int]:
    """Give the lines of the rows that are kept."""
    return itertools.compress(lines(), kept)


def _block_headers(data: bytes) -> tuple[str, ...]:
    """Name the columns of unfolded blocks by their number."""
    width = data.split(b"\n", 1)[0].count(b",") + 1
    names = ("item", "user", "rating", "time")
    return names[:width] + tuple(str(at) for at in range(5, width + 1))


def _dialect(
    path: Path,
    data: bytes,
    *,
    delimiter: str | None,
    headers: Sequence[str] | None,
    header: bool | None,
    asked: Sequence[str | None],
) -> Dialect:
    """headers: names given from outside. header: whether the first line holds them; None: looks."""
    lines = ((at, raw.decode()) for at, raw in enumerate(io.BytesIO(data), 1))
    sample = list(itertools.islice(((at, text) for at, text in lines if text.strip()), _SAMPLE))
    if not sample:
        raise DataError(EMPTY, path=path, expected="a header and at least one row")
    above = 0
    if sample[0][1].lower().startswith("sep=") and len(sample) > 1:  # a line that Excel writes
        delimiter = delimiter or sample[0][1].rstrip("\r\n")[4:]
        above = sample.pop(0)[0]
    texts = [text for _, text in sample]
    known_headers = {normalize_header(name) for name in asked if name and not name.isdecimal()}
    known_headers |= names_that_make_a_header()
    if delimiter is not None:
        chosen = _check_delimiter(delimiter, path)
    else:
        chosen = max(DELIMITERS, key=lambda each: _merit(texts, each, known_headers))
        if not _merit(texts, chosen, known_headers)[1] and _merit(texts, " ", known_headers)[1]:
            chosen = " "
    widths = [len(_split(text, chosen)) for text in texts]
    usual_width = max(set(widths), key=widths.count)
    named = [len(_known_names_in(text, chosen, known_headers)) for text in texts]
    while len(texts) > 1 and headers is None:  # comments and titles above the table
        is_title = max(named[1:]) > 1 > named[0] and _is_title(texts[0], chosen)
        if not is_comment(texts[0]) and not widths[0] == 1 < usual_width and not is_title:
            break
        above = sample.pop(0)[0]
        del texts[0], widths[0], named[0]
    quote = "'" if _has_quoted_cells(texts, chosen) else '"'
    first = [cell.strip() for cell in _split(texts[0], chosen, quote)]
    if headers is not None:
        return Dialect(chosen, tuple(headers), above, quote)
    if header is None and _are_numbers_of_columns(first, texts[1:], chosen):
        return Dialect(chosen, tuple(str(at) for at in range(1, len(first) + 1)), sample[0][0])
    if header is None:
        below = [_split(text, chosen, quote) for text in texts[1:]]
        header = _is_header(first, below, known_headers)
    if all(_TYPED.search(cell) for cell in first):  # of RecBole; no part of the names
        first = [_TYPED.sub("", cell) for cell in first]
    numbers = [str(at) for at in range(1, len(first) + 1)]
    if not header:
        return Dialect(chosen, tuple(numbers), above, quote)
    names = [cell or number for cell, number in zip(first, numbers, strict=True)]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise DataError(
            "two columns have the same name",
            path=path,
            row=sample[0][0],
            column=min(repeated),
            fix="Rename one of them.",
        )
    return Dialect(chosen, tuple(names), sample[0][0], quote, has_names=True)


def _known_names_in(text: str, delimiter: str, wanted: set[str]) -> set[str]:
    """Find the cells of a line that are known names of columns."""
    return {normalize_header(cell) for cell in _split(text, delimiter)} & wanted


def _is_title(text: str, delimiter: str) -> bool:
    """Tell whether a line has one filled cell at most, as a title above a table."""
    return sum(bool(cell.strip()) for cell in _split(text, delimiter)) <= 1


def _are_numbers_of_columns(first: list[str], below: list[str], delimiter: str) -> bool:
    """Tell whether the first row is 0, 1, 2 and so on, as pandas names columns without names.

    A table of people numbered from 0 may begin so, too: then 0 comes again in its first column.
    """
    if len(first) < _FEWEST_NUMBERED or first != [str(at) for at in range(len(first))]:
        return False
    return all(_split(text, delimiter)[0].strip() != "0" for text in below)


def _is_header(first: list[str], below: list[list[str]], wanted: set[str]) -> bool:
    """Tell whether the first row holds names of columns and no data.

    A row with a number, a date, or a cell that stands twice in it or again in its column is data,
    unless two of its cells are known names: one known word in a row of data makes no header. A row
    without any known name is data if a cell is written as those below, such as u17 above u4.
    """
    known = {normalize_header(cell) for cell in first} & wanted
    if len(known) >= 2:
        return True
    if not known and _is_written_as_below(first, below):
        return False
    if any(LIKE_TIME.match(cell) for cell in first):
        return False
    filled = [cell for cell in first if cell]
    if len(set(filled)) < len(filled):
        return False
    for at, cell in enumerate(first):
        if cell and any(len(row) > at and row[at].strip() == cell for row in below):
            return False
    return True


def _is_written_as_below(first: list[str], below: list[list[str]]) -> bool:
    """Tell whether a cell has letters and digits in the same order as all cells below it."""
    for at, cell in enumerate(first):
        form = _form_of(cell)
        others = [row[at].strip() for row in below if len(row) > at]
        if "9" in form and others and all(_form_of(other) == form for other in others):
            return True
    return False


def _form_of(cell: str) -> str:
    """Write a cell with 9 for digits and a for letters, one for several: u17 is a9."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", cell))


def _widths(data: bytes, dialect: Dialect) -> list[int]:
    """Count the cells of each row below the header."""
    return [len(cells) for _, cells in _records(data, dialect) if not isinstance(cells, str)]


def _has_one_width(data: bytes, dialect: Dialect) -> bool:
    """Tell whether most rows have as many cells as the header, or as one another."""
    widths = Counter(_widths(data, dialect))
    usual_width = len(dialect.headers) if dialect.has_names else widths.most_common(1)[0][0]
    return widths[usual_width] >= _FEWEST_ALIKE * widths.total()


def _refuse_lines_of_lists(path: Path, data: bytes, dialect: Dialect, torn: int, rows: int) -> None:
    """Raise DataError for lines of many lengths, each of which holds several items."""
    if torn <= (1 - _FEWEST_ALIKE) * rows:
        return
    widths = _widths(data, dialect)
    if widths and max(widths) > len(dialect.headers) and len(set(widths)) > 2:
        raise layout_error(
            "baskets",
            "the rows have different lengths",
            path=path,
            found=f"{min(widths)} to {max(widths)} cells",
        )


def _basket_lines(path: Path, data: bytes, dialect: Dialect) -> Table:
    """Read lines of a person and of many items as two columns, the second of lists.

    The first cell is the person if all are different and no item is written like one; else each
    line is a person. A first cell that counts the others of its line is left out.
    """
    lines: list[int] = []
    baskets: list[list[str]] = []
    for line, cells in _records(data, dialect):
        if not isinstance(cells, str):
            lines.append(line)
            baskets.append([cell for cell in cells if cell])
    firsts = [basket[0] for basket in baskets]
    others: set[str] = set()
    for basket in baskets:
        others.update(basket[1:])
    counts = all(basket[0] == str(len(basket) - 1) for basket in baskets)
    has_person = len({*firsts}) == len(firsts) and others.isdisjoint(firsts) and not counts
    people = firsts if has_person else [str(number) for number in range(1, len(firsts) + 1)]
    left_out = 1 if has_person or counts else 0
    items = [basket[left_out:] for basket in baskets]
    frame = pl.DataFrame({"user" if has_person else ROW_PERSON: people, "item": items})
    return Table(path, frame, lambda: lines, text=True, guesses=("encoding", "delimiter", "rows"))


def _is_row(frame: pl.DataFrame, dialect: Dialect) -> pl.Series | None:
    """Tell which records are rows: no header that stands again, no total in the last line.

    Returns:
        None if all are.
    """
    if not dialect.has_names or not len(frame):
        return None
    same = [pl.col(name) == name for name in dialect.headers]
    is_row = ~frame.select(pl.all_horizontal(same).fill_null(value=False)).to_series()
    last = [cell for cell in frame.row(-1) if cell is not None]
    if len(frame) > 1 and last and normalize_header(last[0]) in _TOTALS:
        others = frame[:-1][:, 0]
        is_row[len(frame) - 1] = bool((others == last[0]).any())
    return None if bool(is_row.all()) else is_row


def _refuse_two_tables(path: Path, data: bytes, dialect: Dialect) -> None:
    """Raise DataError where a header of other names stands below a blank line."""
    if not dialect.has_names:
        return
    known = names_that_make_a_header() | {*known_names("title")}
    for match in _BELOW_BLANK_LINE.finditer(data):
        line = match[1].decode()
        cells = [cell.strip() for cell in _split(line, dialect.delimiter, dialect.quote)]
        names = {normalize_header(cell) for cell in cells}
        if tuple(cells) != dialect.headers and len(names & known) > 1:
            raise DataError(
                "the file holds two tables, one below the other",
                path=path,
                row=data.count(b"\n", 0, match.start(1)) + 1,
                fix="Write each into a file of its own.",
            )


def fast_pass(data: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """Read all columns at once; None if any row may be too short or too long."""
    separator = dialect.delimiter
    if separator == "::":
        # polars splits at one byte
        data = data.replace(b"::", b"\x1f")
        separator = "\x1f"
    # Polars drops an empty cell too many at the very end, and reads quotes in its own way unless
    # they stand around a cell.
    quote = dialect.quote.encode()
    cell = quoted_cell(separator, dialect.quote)
    if data.endswith(separator.encode()) or (quote in data and quote in cell.sub(b"", data)):
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            skip_lines=dialect.header_line,
            separator=separator,
            quote_char=None if dialect.delimiter == "::" else dialect.quote,
            schema=dict.fromkeys(dialect.headers, pl.String),
        )
    except pl.exceptions.PolarsError:
        return None
    if _has_blanks(data, separator):
        frame = frame.with_columns(pl.all().str.strip_chars().replace("", None))
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    # A null in the last column may be a short row, whose other cells then sit in wrong columns.
    return None if frame[:, -1].null_count() else frame


def _has_blanks(data: bytes, separator: str) -> bool:
    """Tell whether a cell may begin or end with a blank, or be an empty one between quotes."""
    signs = set(b" \t\v\f\"'") - set(separator.encode())
    return not data.isascii() or any(sign in data for sign in signs)


def careful_pass(data: bytes, dialect: Dialect) -> tuple[pl.DataFrame, tuple[DataError, ...]]:
    """Read row by row: those of the right width, and the others."""
    records = [(line, cells, dialect.fits(cells)) for line, cells in _records(data, dialect)]
    rows = [cells for _, cells, fits in records if fits]
    torn = [
        _torn_row_error(line, cells, dialect.headers) for line, cells, fits in records if not fits
    ]
    frame = pl.DataFrame(rows, dict.fromkeys(dialect.headers, pl.String), orient="row")
    return frame.with_columns(pl.all().replace("", None)), tuple(torn)


def _torn_row_error(line: int, cells: Record, headers: tuple[str, ...]) -> DataError:
    if isinstance(cells, str):
        return DataError(f"the row cannot be read ({cells})", row=line)
    found = f"{len(cells)} cells"
    expected = f"{len(headers)}: " + ", ".join(headers)
    if len(cells) > len(headers):
        return DataError("the row is too long", row=line, found=found, expected=expected)
    what = "the row is too short"
    column = headers[len(cells)]
    return DataError(what, row=line, column=column, found=found, expected=expected)


def _records(data: bytes, dialect: Dialect) -> Iterator[tuple[int, Record]]:
    """(line, stripped cells) of each row with content, below the header."""
    for line, cells in _raw_records(data, dialect):
        if line <= dialect.header_line:
            continue
        if not isinstance(cells, str):
            cells = [cell.strip() for cell in cells]
            if not any(cells):
                continue
            while len(cells) > len(dialect.headers) and not cells[-1]:
                cells.pop()  # a delimiter at the end of the line
        yield line, cells


def _raw_records(data: bytes, dialect: Dialect) -> Iterator[tuple[int, Record]]:
    texts = (raw.decode() for raw in io.BytesIO(data))
    if dialect.delimiter == "::":
        yield from ((at, text.rstrip("\r\n").split("::")) for at, text in enumerate(texts, 1))
        return
    reader = csv.reader(texts, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)
    while True:
        start = reader.line_num + 1  # a quoted cell may span lines: a record is named by its first
        try:
            yield start, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield start, str(error)


def _split(text: str, delimiter: str, quote: str = '"') -> list[str]:
    text = text.rstrip("\r\n")
    if delimiter == "::":
        return text.split("::")
    text = tidy_quotes(text.encode(), delimiter, quote).decode()
    try:
        return next(csv.reader([text], delimiter=delimiter, quotechar=quote), [])
    except csv.Error:  # a cell without end: no table at all, and no delimiter to find
        return [text]


def _merit(lines: list[str], delimiter: str, known_headers: set[str]) -> tuple[int, float, int]:
    """Rate a delimiter; the better has more known headers, lines that are more alike, more cells.

    Returns:
        Known headers in the line with the most; share of lines with the usual number of cells;
        the usual number of cells.
    """
    most_known = 0
    widths: Counter[int] = Counter()
    for line in lines:
        cells = _split(line, delimiter)
        widths[len(cells)] += 1
        most_known = max(most_known, len(known_headers.intersection(map(normalize_header, cells))))
    usual_width, times = widths.most_common(1)[0]
    return most_known, times / len(lines) if usual_width > 1 else 0, usual_width


def _has_quoted_cells(lines: list[str], delimiter: str) -> bool:
    """Tell whether cells stand between single quotes: in most lines more than one does."""
    quoted_lines = 0
    for line in lines:
        quoted_cells = sum(map(_is_in_single_quotes, _split(line, delimiter)))
        quoted_lines += quoted_cells > 1
    return quoted_lines > len(lines) / 2


def _is_in_single_quotes(cell: str) -> bool:
    text = cell.strip()
    return len(text) > 1 and text[0] == text[-1] == "'"


def _check_delimiter(delimiter: str, path: Path) -> str:
    chosen = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter, delimiter)
    if chosen != "::" and (len(chosen) != 1 or chosen in '"\r\n' or ord(chosen) > 127):
        raise DataError(
            "this delimiter cannot be used", path=path, found=delimiter, expected="one sign or '::'"
        )
    return chosen
