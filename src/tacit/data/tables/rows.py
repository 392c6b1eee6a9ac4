"""Files in a written format, read row by row: no row changes how another one is read.

A row of a text file is dropped, and counted, if its bytes are not in the encoding, if a quoted cell
does not end in its line or is followed by text, or if it has another number of cells than the
format. A line of JSON is dropped if it is no object of plain values. `tables.cells` then reads the
cells of the other rows, by rules that are all fixed beforehand.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.tables.imported_files import find_guesses
from tacit.data.tables.quotes import tidy_quotes
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table, TextForm
from tacit.data.tables.text import read_unpacked
from tacit.data.tables.where import keep_rows, names_in
from tacit.data.tables.written_format import WrittenFormat
from tacit.errors import DataError

# The rules by which rows are dropped, as reports name them.
_BAD_BYTES = "the row is not in the encoding of the format"
_BAD_CELLS = "the row has another number of cells than the {}"
"""The same, with a place for the noun of what says how many cells a row has."""
_BAD_QUOTES = "a quoted cell of the row does not end in its line, or is followed by text"
_NO_OBJECT = "the row is no JSON object of plain values"


def open_written(path: Path, written: WrittenFormat) -> Table:
    """Read the columns that a written format names, and keep the rows that fulfil its conditions.

    Raises:
        DataError: There is no such file, it is of another kind, or it lacks a column of the format
            or of a condition.
    """
    if not path.exists():
        raise DataError("no such file", path=path)
    if path.is_dir():
        raise DataError("this is a folder", path=path, expected="a file in the written format")
    if written.text is not None:
        table = _read_text_rows(path, written, written.text)
    elif written.kind == "json lines":
        table = _read_json_rows(path, written)
    else:
        table = _read_typed_rows(path, written)
    has_types = written.kind != "text"
    return keep_rows(table, written.where, may_be_empty=True, has_types=has_types)


def _read_typed_rows(path: Path, written: WrittenFormat) -> Table:
    """Read a file of Parquet or Arrow.

    Raises:
        DataError: It is another kind of file, or it lacks a column.
    """
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
    """Read a text file: all lines without quotes at once, and those with quotes one by one.

    Returns:
        The columns that the format or a condition names, with the errors of the dropped rows.
    """
    raw = read_unpacked(path)[0] if form.packed else path.read_bytes()
    texts, undecoded = _decode_lines(raw, form)
    line_numbers = np.arange(1, len(texts) + 1)
    is_row = (texts.str.strip_chars() != "").to_numpy() & (line_numbers > form.lines_above)
    is_row &= ~np.isin(line_numbers, undecoded)
    # The number of each line that is dropped, to the reason.
    problems = {int(line): _BAD_BYTES for line in undecoded if line > form.lines_above}
    used = dict.fromkeys([*written.columns.values(), *names_in(written.where)])
    names = [name for name in used if name in written.headers]
    split = split_lines(texts.filter(pl.Series(is_row)), form, written.headers, names)
    row_lines = line_numbers[is_row]
    for position, reason in split.problems.items():
        problems[int(row_lines[position])] = reason
    lines = row_lines[split.positions]
    errors = [DataError(what, row=line) for line, what in sorted(problems.items())]
    return Table(
        path,
        split.frame,
        lines.tolist,
        tuple(errors),
        is_text=True,
        guesses=find_guesses(path),
    )


@dataclass(frozen=True, eq=False)
class SplitLines:
    """Lines of delimited text, split into cells."""

    frame: pl.DataFrame
    """Some columns of the lines that fit: stripped texts, null where empty."""
    positions: NDArray[np.int64]
    """(rows,) the position of each row's line among all lines, from 0, ascending."""
    problems: dict[int, str]
    """Position of each of the other lines, to the reason why it cannot be split."""


def split_lines(
    texts: pl.Series,
    form: TextForm,
    headers: Sequence[str],
    names: Sequence[str],
    *,
    noun: str = "format",
) -> SplitLines:
    """Split lines into cells. No line changes how another one is split.

    Args:
        texts: (n,) lines without their ends.
        form: How they are written.
        headers: Name of each column: a line that fits has as many cells.
        names: Names of the columns that are kept.
        noun: What `headers` come from, for messages.
    """
    bad_cells = _BAD_CELLS.format(noun)
    width = len(headers)
    places = np.arange(len(texts))
    has_quotes = np.zeros(len(texts), dtype=bool)
    if form.delimiter != "::":
        has_quotes = texts.str.contains(form.quote, literal=True).to_numpy()
    delimiters = texts.str.count_matches(form.delimiter, literal=True).to_numpy()
    is_plain = ~has_quotes & (delimiters == width - 1)
    problems = dict.fromkeys(places[~has_quotes & ~is_plain].tolist(), bad_cells)
    quoted_texts = texts.gather(places[has_quotes]).to_list()
    quoted_rows: dict[int, list[str]] = {}
    for place, text in zip(places[has_quotes].tolist(), quoted_texts, strict=True):
        cells = split_quoted_line(text, form)
        if cells is None:
            problems[place] = _BAD_QUOTES
        elif len(cells) != width:
            problems[place] = bad_cells
        else:
            quoted_rows[place] = cells
    split = texts.filter(pl.Series(is_plain)).str.split_exact(form.delimiter, width - 1)
    columns: dict[str, pl.Series] = {}
    for name in names:
        position = headers.index(name)
        plain_cells = split.struct.field(f"field_{position}")
        quoted_cells = [row[position] for row in quoted_rows.values()]
        columns[name] = plain_cells.append(pl.Series(quoted_cells, dtype=pl.String))
    positions = np.concatenate([places[is_plain], np.array([*quoted_rows], dtype=np.int64)])
    order = np.argsort(positions, kind="stable")
    frame = pl.DataFrame(columns)[order]
    frame = frame.with_columns(pl.all().str.strip_chars().replace("", None))
    return SplitLines(frame, positions[order], problems)


def split_quoted_line(text: str, form: TextForm) -> list[str] | None:
    """Split one line with quotes into cells; None if a quoted cell does not end in it."""
    reader = csv.reader(
        [tidy_quotes(text.encode(), form.delimiter, form.quote).decode()],
        delimiter=form.delimiter,
        quotechar=form.quote,
        strict=True,
    )
    try:
        return next(reader)
    except (csv.Error, StopIteration):
        return None


def _decode_lines(raw: bytes, form: TextForm) -> tuple[pl.Series, Any]:
    """Decode the lines of a file; bytes that are not in the encoding affect only their own line.

    Returns:
        The lines without their ends, with an empty text for a line that is not in the encoding; and
        the numbers, from 1, of these lines.
    """
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    undecoded: list[int] = []
    try:
        text = raw.decode(form.encoding)
    except UnicodeDecodeError:
        decoded = []
        for number, line in enumerate(raw.split(b"\n"), 1):
            try:
                decoded.append(line.decode(form.encoding))
            except UnicodeDecodeError:
                decoded.append("")
                undecoded.append(number)
        text = "\n".join(decoded)
    lines = pl.Series([text]).str.split("\n").explode()
    return lines.str.strip_suffix("\r"), np.array(undecoded, dtype=np.int64)


def _read_json_rows(path: Path, written: WrittenFormat) -> Table:
    """Read a file with one JSON object a line, as texts; empty lines are left out."""
    names: Sequence[str] = [*dict.fromkeys([*written.columns.values(), *names_in(written.where)])]
    rows = []
    lines = []
    row_errors = []
    for line, raw in enumerate(io.BytesIO(read_unpacked(path)[0]), 1):
        if not raw.strip():
            continue
        cells = _cells_of_object(raw, names)
        if cells is None:
            row_errors.append(DataError(_NO_OBJECT, row=line))
        else:
            rows.append(cells)
            lines.append(line)
    frame = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(pl.all().str.strip_chars().replace("", None))
    return Table(
        path,
        frame,
        lambda: lines,
        tuple(row_errors),
        is_text=True,
        guesses=find_guesses(path),
    )


def _cells_of_object(raw: bytes, names: Sequence[str]) -> list[str | None] | None:
    """Read the values of a JSON object as texts, in the order of `names`.

    Returns:
        The texts, with None for a missing value; or None if the line is no object, or a value is a
        list, an object or broken text.
    """
    try:
        entry = json.loads(raw)
        values = [entry.get(name) for name in names]
    except (ValueError, RecursionError, AttributeError):
        return None
    if any(isinstance(value, list | dict) for value in values):
        return None
    texts = [None if value is None else str(value) for value in values]
    has_surrogates = any(_has_surrogate(text) for text in texts if text is not None)
    return None if has_surrogates else texts


def _has_surrogate(text: str) -> bool:
    """Tell whether a text has half of a character, such as the JSON escape of U+D800 alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
