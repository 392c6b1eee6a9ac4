"""Rows of a file in a written format: each is read by itself, whatever stands in the others.

A row is dropped, and counted, if its bytes are not in the encoding, if a quote is open at the end
of its line, or if it has another number of cells. `tables.cells` then reads its cells, by rules
that leave nothing to be found in the rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit.data.tables.quotes import tidy_quotes
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table, TextForm
from tacit.data.tables.text import read_unpacked
from tacit.data.tables.where import keep_rows, names_in
from tacit.data.tables.written_format import WrittenFormat
from tacit.errors import DataError

_BAD_BYTES = "the row is not in the encoding of the format"
_BAD_CELLS = "the row has another number of cells than the format"
_OPEN_QUOTE = "a quote of the row is open at the end of its line"
_NO_OBJECT = "the row is no JSON object of plain values"


def open_written(path: Path, written: WrittenFormat) -> Table:
    """Read the columns that a written format names, each row by itself."""
    if not path.exists():
        raise DataError("no such file", path=path)
    if path.is_dir():
        raise DataError("this is a folder", path=path, expected="a file in the written format")
    if written.text is not None:
        table = _read_text_rows(path, written, written.text)
    elif written.kind == "json lines":
        table = _json_rows(path, written)
    else:
        table = _typed_rows(path, written)
    return keep_rows(table, written.where, may_be_empty=True)


def _typed_rows(path: Path, written: WrittenFormat) -> Table:
    with path.open("rb") as stream:
        start = stream.read(6)
    if not start.startswith((b"PAR1", b"ARROW1")):
        raise DataError(
            "this is not the kind of file that the format describes",
            path=path,
            expected="Parquet or Arrow",
        )
    table = open_table(path)
    absent = [name for name in written.columns.values() if name not in table.headers]
    if absent:
        raise DataError("no such column", path=path, column=absent[0])
    return table


def _read_text_rows(path: Path, written: WrittenFormat, form: TextForm) -> Table:
    raw = read_unpacked(path)[0] if form.packed else path.read_bytes()
    texts, undecoded = _decode_lines(raw, form)
    numbers = np.arange(1, len(texts) + 1)
    below = numbers > form.lines_above
    filled = (texts.str.strip_chars() != "").to_numpy() & below
    torn = {int(line): _BAD_BYTES for line in undecoded if line > form.lines_above}
    filled &= ~np.isin(numbers, undecoded)
    width = len(written.headers)
    has_quotes = np.zeros(len(texts), dtype=bool)
    if form.delimiter != "::":
        has_quotes = texts.str.contains(form.quote, literal=True).to_numpy()
    cuts = texts.str.count_matches(form.delimiter, literal=True).to_numpy()
    plain = filled & ~has_quotes & (cuts == width - 1)
    for line in numbers[filled & ~has_quotes & ~plain].tolist():
        torn[line] = _BAD_CELLS
    used = dict.fromkeys([*written.columns.values(), *names_in(written.where)])
    places = [written.headers.index(name) for name in used if name in written.headers]
    split = texts.filter(pl.Series(plain)).str.split_exact(form.delimiter, width - 1)
    columns = [split.struct.field(f"field_{place}") for place in places]
    quoted, lines = _quoted_rows(texts, numbers[filled & has_quotes], form, width, torn)
    cells_of: dict[str, pl.Series] = {}
    for column, place in zip(columns, places, strict=True):
        cells = [row[place] for row in quoted]
        cells_of[written.headers[place]] = column.append(pl.Series(cells, dtype=pl.String))
    frame = pl.DataFrame(cells_of)
    rows = np.concatenate([numbers[plain], np.array(lines, dtype=np.int64)])
    order = np.argsort(rows, kind="stable")
    frame = frame[order].with_columns(pl.all().str.strip_chars().replace("", None))
    errors = [DataError(what, row=line) for line, what in sorted(torn.items())]
    return Table(path, frame, rows[order].tolist, tuple(errors), text=True)


def _quoted_rows(
    texts: pl.Series, lines: Any, form: TextForm, width: int, torn: dict[int, str]
) -> tuple[list[list[str]], list[int]]:
    """Cut the lines with quotes one by one; a line that does not fit goes into `torn`."""
    rows = []
    kept = []
    for line, text in zip(lines.tolist(), texts.gather(lines - 1).to_list(), strict=True):
        reader = csv.reader(
            [tidy_quotes(text.encode(), form.delimiter, form.quote).decode()],
            delimiter=form.delimiter,
            quotechar=form.quote,
            strict=True,
        )
        try:
            cells = next(reader)
        except (csv.Error, StopIteration):
            torn[line] = _OPEN_QUOTE
            continue
        if len(cells) != width:
            torn[line] = _BAD_CELLS
            continue
        rows.append(cells)
        kept.append(line)
    return rows, kept


def _decode_lines(raw: bytes, form: TextForm) -> tuple[pl.Series, Any]:
    """Decode each line by itself.

    Returns:
        The lines without their ends, and the numbers, from 1, of those not in the encoding.
    """
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    bad: list[int] = []
    try:
        text = raw.decode(form.encoding)
    except UnicodeDecodeError:
        decoded = []
        for number, line in enumerate(raw.split(b"\n"), 1):
            try:
                decoded.append(line.decode(form.encoding))
            except UnicodeDecodeError:
                decoded.append("")
                bad.append(number)
        text = "\n".join(decoded)
    lines = pl.Series([text]).str.split("\n").explode()
    return lines.str.strip_suffix("\r"), np.array(bad, dtype=np.int64)


def _json_rows(path: Path, written: WrittenFormat) -> Table:
    """Read one object a line; each value becomes text by itself."""
    names: Sequence[str] = [*dict.fromkeys([*written.columns.values(), *names_in(written.where)])]
    rows = []
    lines = []
    torn = []
    for line, raw in enumerate(io.BytesIO(read_unpacked(path)[0]), 1):
        if not raw.strip():
            continue
        cells = _cells_of_object(raw, names)
        if cells is None:
            torn.append(DataError(_NO_OBJECT, row=line))
        else:
            rows.append(cells)
            lines.append(line)
    frame = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(pl.all().str.strip_chars().replace("", None))
    return Table(path, frame, lambda: lines, tuple(torn), text=True)


def _cells_of_object(raw: bytes, names: Sequence[str]) -> list[str | None] | None:
    try:
        entry = json.loads(raw)
        values = [entry.get(name) for name in names]
    except (ValueError, RecursionError, AttributeError):
        return None
    if any(isinstance(value, list | dict) for value in values):
        return None
    texts = [None if value is None else str(value) for value in values]
    has_surrogates = any(text and not text.isascii() and _is_broken(text) for text in texts)
    return None if has_surrogates else texts


def _is_broken(text: str) -> bool:
    """Tell whether a text holds half a character, as the escape `ud800` of JSON does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
