"""Text tables: any packing, encoding, delimiter and quotes become columns of strings.

A line number counts lines of the file from 1, so the header is usually line 1. Lines without any
content are skipped. In one pass by polars; line by line where polars finds a row odd.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tacit.data.tables import ALL_NAMES, Table, squeezed
from tacit.data.tables.times import LIKE_TIME
from tacit.errors import DataError

DELIMITERS = (",", "\t", ";", "|", "::")
_OPEN = "unexpected end of data"
_SAMPLE = 20  # lines looked at to find the delimiter
_FORMS = "CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB"
_TYPED = re.compile(r":(?:token|float)(?:_seq)?$")
Record = list[str] | str
"""The cells of a row, or why there are none."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written. `header_line` is 0 when there is none."""

    delimiter: str
    headers: tuple[str, ...]
    header_line: int
    quote: str = '"'

    def fits(self, cells: Record) -> bool:
        return not isinstance(cells, str) and len(cells) == len(self.headers)


def unpacked(path: Path) -> bytes:
    """The bytes of a file; gzip and zstd are undone, whatever the file is called."""
    raw = path.read_bytes()
    try:
        if raw[:2] == b"\x1f\x8b":
            return gzip.decompress(raw)
        if raw[:4] == b"\x28\xb5\x2f\xfd":
            return "\n".join(pl.read_lines(io.BytesIO(raw)).to_series()).encode()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        what = f"the .gz file cannot be unpacked ({error})"
        raise DataError(what, path=path, fix="Fetch it again.") from None
    except (pl.exceptions.PolarsError, OSError):
        what = "the .zst file cannot be unpacked as UTF-8 text"
        raise DataError(what, path=path, fix="Unpack it:  zstd -d") from None
    return raw


def text_table(path: Path, raw: bytes, *, encoding: str | None, **given: Any) -> Table:
    """given: what `_dialect` takes."""
    data = _utf8(raw, path, encoding)
    dialect = _dialect(path, data, **given)

    def lines() -> Iterator[int]:
        return (at for at, cells in _records(data, dialect) if dialect.fits(cells))

    frame = fast_pass(data, dialect)
    torn: tuple[DataError, ...] = ()
    if frame is None:
        frame, torn = careful_pass(data, dialect)
    for each in torn:
        if _OPEN in each.what:  # it swallowed all rows after it: none of them may be dropped
            raise each.with_place(path=path, expected="every quote closed")
    if not len(frame) and not torn:
        raise DataError("the file has a header but no rows", path=path)
    return Table(path, frame, lines, torn, text=True, header=dialect.header_line > 0)


def _utf8(raw: bytes, path: Path, encoding: str | None) -> bytes:
    """The text in UTF-8: as it is, from UTF-16 with its mark, or else from Windows-1252."""
    if raw[:4] == b"PK\x03\x04":
        raise DataError(
            "this is an Excel or zip file",
            path=path,
            expected=_FORMS,
            fix="Save the sheet as CSV, or unpack the archive first.",
        )
    if encoding is None:
        encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        if encoding == "utf-8" and b"\0" in raw[:65536]:
            raise DataError(
                "this is no text, nor a table of a known form", path=path, expected=_FORMS
            )
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            encoding = "cp1252"
    try:
        raw = raw.decode(encoding, "replace" if encoding == "cp1252" else "strict").encode()
    except (LookupError, UnicodeError):
        raise DataError(
            "the text is not in this encoding",
            path=path,
            found=encoding,
            fix="Name another with --encoding, such as utf-8, cp1252 or utf-16.",
        ) from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    return raw if b"\n" in raw else raw.replace(b"\r", b"\n")  # line ends of old Macs


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
        raise DataError("the file is empty", path=path, expected="a header and at least one row")
    above = 0
    if sample[0][1].lower().startswith("sep=") and len(sample) > 1:  # a line that Excel writes
        delimiter = delimiter or sample[0][1].rstrip("\r\n")[4:]
        above = sample.pop(0)[0]
    texts = [text for _, text in sample]
    wanted = {squeezed(name) for name in asked if name} | ALL_NAMES
    if delimiter is not None:
        chosen = _checked(delimiter, path)
    else:
        chosen = max(DELIMITERS, key=lambda each: _merit(texts, each, wanted))
        if not _merit(texts, chosen, wanted)[1] and _merit(texts, " ", wanted)[1]:
            chosen = " "
    widths = [len(_split(text, chosen)) for text in texts]
    usual = max(set(widths), key=widths.count)
    while len(texts) > 1 and headers is None:  # comments and titles above the table
        if not texts[0].startswith("#") and not widths[0] == 1 < usual:
            break
        above = sample.pop(0)[0]
        del texts[0], widths[0]
    quote = "'" if _quoted(texts, chosen) else '"'
    first = [cell.strip() for cell in _split(texts[0], chosen, quote)]
    if headers is not None:
        return Dialect(chosen, tuple(headers), above, quote)
    if header is None:
        known = any(squeezed(cell) in wanted for cell in first)
        header = known or not any(map(LIKE_TIME.match, first))
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
    return Dialect(chosen, tuple(names), sample[0][0], quote)


def fast_pass(data: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """All columns at once, or None if any row may be too short or too long."""
    separator = dialect.delimiter
    if separator == "::":
        data, separator = data.replace(b"::", b"\x1f"), "\x1f"  # polars splits at one byte
    # Polars drops an empty cell too many at the very end, and reads quotes in its own way unless
    # they stand around a cell.
    end, quote = re.escape(separator.encode()), dialect.quote.encode()
    cell = re.compile(
        b"(?<![^%(end)b\n])%(quote)b(?:[^%(quote)b]|%(quote)b{2})*+%(quote)b(?![^%(end)b\r\n])"
        % {b"end": end, b"quote": quote}
    )
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
    frame = frame.with_columns(pl.all().str.strip_chars().replace("", None))
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    # A null in the last column may be a short row, whose other cells then sit in wrong columns.
    return None if frame[:, -1].null_count() else frame


def careful_pass(data: bytes, dialect: Dialect) -> tuple[pl.DataFrame, tuple[DataError, ...]]:
    """Row by row: those of the right width, and the others."""
    records = [(line, cells, dialect.fits(cells)) for line, cells in _records(data, dialect)]
    rows = [cells for _, cells, fits in records if fits]
    torn = [_torn(line, cells, dialect.headers) for line, cells, fits in records if not fits]
    frame = pl.DataFrame(rows, dict.fromkeys(dialect.headers, pl.String), orient="row")
    return frame.with_columns(pl.all().replace("", None)), tuple(torn)


def _torn(line: int, cells: Record, headers: tuple[str, ...]) -> DataError:
    if isinstance(cells, str):
        return DataError(f"the row cannot be read ({cells})", row=line)
    found, expected = f"{len(cells)} cells", f"{len(headers)}: " + ", ".join(headers)
    if len(cells) > len(headers):
        return DataError("the row is too long", row=line, found=found, expected=expected)
    what, column = "the row is too short", headers[len(cells)]
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
    try:
        return next(csv.reader([text], delimiter=delimiter, quotechar=quote), [])
    except csv.Error:  # a cell without end: no table at all, and no delimiter to find
        return [text]


def _merit(lines: list[str], delimiter: str, wanted: set[str]) -> tuple[int, float, int]:
    """Better delimiters name more known headers, cut more lines alike, and into more cells."""
    cut = [_split(line, delimiter) for line in lines]
    named = max(len({squeezed(cell) for cell in cells} & wanted) for cells in cut)
    usual, times = Counter(map(len, cut)).most_common(1)[0]
    return named, times / len(lines) if usual > 1 else 0, usual


def _quoted(lines: list[str], delimiter: str) -> bool:
    """Whether cells stand between single quotes: in most lines more than one does."""
    cells = [[cell.strip() for cell in _split(line, delimiter)] for line in lines]
    wrapped = [sum(len(c) > 1 and c[0] == c[-1] == "'" for c in line) > 1 for line in cells]
    return sum(wrapped) > len(lines) / 2


def _checked(delimiter: str, path: Path) -> str:
    chosen = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter, delimiter)
    if chosen != "::" and (len(chosen) != 1 or chosen in '"\r\n' or ord(chosen) > 127):
        raise DataError(
            "this delimiter cannot be used", path=path, found=delimiter, expected="one sign or '::'"
        )
    return chosen
