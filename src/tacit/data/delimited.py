"""Text tables read carefully: the delimiter is sniffed, and a bad line is named by its number.

A line number counts lines of the file from 1, so the header is usually line 1. Lines without any
content are skipped. Text is UTF-8, with or without a byte order mark; files named .gz are unpacked.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tacit.data.columns import KNOWN_HEADERS, plain
from tacit.errors import DataError

DELIMITERS = (",", "\t", ";", "|", "::")
_SAMPLE = 20  # lines looked at to find the delimiter


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written. `header_line` is 0 when the names were given from outside."""

    delimiter: str
    headers: tuple[str, ...]
    header_line: int


def sniff(path: Path, delimiter: str | None = None, asked: Sequence[str | None] = ()) -> Dialect:
    """Find the delimiter that makes most sense of the first lines, and the header."""
    sample = list(itertools.islice(_content(path), _SAMPLE))
    if not sample:
        raise DataError("the file is empty", path=path, expected="a header and at least one row")
    if "\r" in sample[0][1].rstrip("\r\n"):
        raise DataError(
            "the lines end with a carriage return only",
            path=path,
            row=sample[0][0],
            fix="Convert it:  tr '\\r' '\\n' < IN > OUT",
        )
    if delimiter is not None:
        chosen = _checked(delimiter, path)
    else:
        wanted = {name.strip().lower() for name in asked if name}
        wanted |= {name for names in KNOWN_HEADERS.values() for name in names}
        texts = [text for _, text in sample]
        chosen = max(DELIMITERS, key=lambda candidate: _fit(texts, candidate, wanted))
    line, text = sample[0]
    headers = tuple(cell.strip() for cell in _split(text, chosen))
    repeated = {header for header in headers if headers.count(header) > 1}
    if repeated:
        raise DataError("two columns have the same name", path=path, row=line, column=min(repeated))
    return Dialect(chosen, headers, line)


def rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """(line number, stripped cells) of every row with content; another length is refused."""
    width = len(dialect.headers)
    for line, cells in _records(path, dialect.delimiter):
        if line <= dialect.header_line:
            continue
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            continue
        if len(cells) != width:
            kind = "short" if len(cells) < width else "long"
            raise DataError(
                f"the row is too {kind}",
                path=path,
                row=line,
                column=dialect.headers[len(cells)] if kind == "short" else None,
                found=f"{len(cells)} cells",
                expected=f"{width}: " + ", ".join(dialect.headers),
            )
        yield line, cells


def open_binary(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if it is named .gz."""
    if path.is_dir():
        raise DataError("this is a folder", path=path, expected="a file")
    if not path.exists():
        raise DataError("no such file", path=path)
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _lines(path: Path) -> Iterator[str]:
    with open_binary(path) as stream:
        try:
            for line, raw in enumerate(stream, 1):
                if line == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                try:
                    yield raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(
                        "the file is not UTF-8 text",
                        path=path,
                        row=line,
                        found=raw[error.start : error.start + 8],
                        expected="UTF-8 text or a Parquet file",
                        fix="Convert it, for example:  iconv -f LATIN1 -t UTF-8 IN > OUT",
                    ) from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                f"the .gz file cannot be unpacked ({error})", path=path, fix="Fetch it again."
            ) from None


def _content(path: Path) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text in enumerate(_lines(path), 1) if text.strip())


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    if delimiter == "::":
        for line, text in enumerate(_lines(path), 1):
            yield line, text.rstrip("\r\n").split("::")
        return
    reader = csv.reader(_lines(path), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1  # a quoted cell may span lines: a record is named by its first
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"the row cannot be read ({error})", path=path, row=start) from None
        yield start, cells


def _split(text: str, delimiter: str) -> list[str]:
    text = text.rstrip("\r\n")
    if delimiter == "::":
        return text.split("::")
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a cell without end: no table at all, and no delimiter to find
        return [text]


def _fit(lines: list[str], delimiter: str, wanted: set[str]) -> tuple[int, bool, int]:
    """Better delimiters name more known headers, cut all lines alike, and cut them at all."""
    widths = [len(_split(line, delimiter)) for line in lines]
    headers = {plain(cell) for cell in _split(lines[0], delimiter)}
    headers |= {cell.strip().lower() for cell in _split(lines[0], delimiter)}
    return len(headers & wanted), widths[0] > 1 and len(set(widths)) == 1, widths[0]


def _checked(delimiter: str, path: Path) -> str:
    chosen = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if chosen != "::" and (len(chosen) != 1 or chosen in '"\r\n'):
        raise DataError(
            "this delimiter cannot be used", path=path, found=delimiter, expected="one sign or '::'"
        )
    return chosen
