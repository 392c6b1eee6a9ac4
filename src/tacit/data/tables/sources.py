"""A file as a table, by its first bytes: JSON, Parquet, Arrow, SQLite, DuckDB, else text."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import polars as pl

from tacit.data.tables.forms import Layout
from tacit.data.tables.names import is_compound_of, is_named
from tacit.data.tables.table import Table
from tacit.data.tables.text import read_unpacked, text_table
from tacit.errors import DataError, MissingExtra

PARQUET, _ARROW = b"PAR1", b"ARROW1"


def open_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    headers: Sequence[str] | None = None,
    header: bool | None = None,
    asked: Sequence[str | None] = (),
    encoding: str | None = None,
    table: str | None = None,
    layout: Layout | None = None,
    history: bool = False,
) -> Table:
    """Open the table in a file; DataError says what the file is if it is no table.

    delimiter, headers, header, encoding   of text, where the file alone would be read otherwise
    asked     names of columns that help to find the delimiter
    table     of a database: its name, needed where several hold people and items
    layout    several ratings in a row: lines of different lengths may be baskets
    history   JSON may be {item: stars} of one person
    """
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder", path=path, expected="a file")
    if not path.exists():
        raise DataError("no such file", path=path)
    if not path.is_file():  # a pipe gives its bytes once
        with NamedTemporaryFile() as copy:
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, copy)
            copy.flush()
            opened = open_table(
                copy.name,
                delimiter=delimiter,
                headers=headers,
                header=header,
                asked=asked,
                encoding=encoding,
                table=table,
                layout=layout,
                history=history,
            )
        return replace(opened, path=path)
    with path.open("rb") as stream:
        head = stream.read(16)
    if head.startswith(b"SQLite format 3\0"):
        opened = Table(path, _sqlite(path, table))
    elif head[8:12] == b"DUCK":
        opened = Table(path, _duckdb(path, table))
    elif head.startswith((PARQUET, _ARROW)):
        kind = "Parquet" if head.startswith(PARQUET) else "Arrow"
        try:
            if kind == "Parquet":
                frame = pl.read_parquet(path, glob=False)
            else:
                frame = pl.read_ipc(io.BytesIO(path.read_bytes()))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"the {kind} file cannot be read ({error})", path=path) from None
        opened = Table(path, frame, kind="typed columns")
    else:
        raw, packed = read_unpacked(path)
        if raw[:4096].lstrip(b"\xef\xbb\xbf \r\n\t")[:1] not in (b"{", b"["):
            return text_table(
                path,
                raw,
                encoding=encoding,
                packed=packed,
                delimiter=delimiter,
                headers=headers,
                header=header,
                asked=asked,
                layout=layout,
            )
        opened = _read_json(path, raw, encoding, history=history)
    if not len(opened.frame):
        raise DataError("the table has no rows", path=path)
    return opened


def _read_json(path: Path, raw: bytes, encoding: str | None, *, history: bool) -> Table:
    """Read one object a line, or one list of objects; in UTF-8 unless an encoding is named."""
    try:
        text = raw.decode(encoding or "utf-8-sig").removeprefix("\ufeff")
    except (LookupError, UnicodeError):
        raise DataError(
            "the JSON is not in this encoding",
            path=path,
            found=encoding or "utf-8",
            fix="Name another with --encoding, such as cp1252 or utf-16.",
        ) from None
    whole = _parse_json(text)
    columns = _people_of(whole) if isinstance(whole, dict) else None
    if columns is not None:
        return Table(path, frame_of(columns))
    if history and isinstance(whole, dict) and _maps_items_to_stars(whole):
        return Table(path, frame_of({"item": [*whole], "rating": [*whole.values()]}))
    if text.lstrip().startswith("["):
        if not isinstance(whole, list):
            expected = "a list of objects, or one a line"
            raise DataError("the JSON cannot be read", path=path, expected=expected)
        entries = dict(enumerate(whole, 1))
    elif isinstance(whole, dict) and "\n" in text.strip():
        raise DataError(
            "the JSON is one object and no table",
            path=path,
            expected="a list of objects, one object a line, or {person: {item: stars}}",
            fix="Was an error message saved in place of the data?",
        )
    else:
        lines = enumerate(io.StringIO(text), 1)
        entries = {at: _parse_json(line) for at, line in lines if line.strip()}
    rows: dict[int, dict[str, Any]] = {}
    torn: list[DataError] = []
    for at, entry in entries.items():
        if isinstance(entry, dict):
            rows[at] = entry
        else:
            expected = "one object a line"
            torn.append(DataError("the row is no JSON object", row=at, expected=expected))
    if not rows and torn:
        raise torn[0].with_place(path=path)
    columns = {}
    for name in dict.fromkeys(itertools.chain.from_iterable(rows.values())):
        columns[name] = [entry.get(name) for entry in rows.values()]
    one_a_line = not text.lstrip().startswith("[")
    return Table(
        path,
        frame_of(columns),
        lambda: rows,
        tuple(torn),
        kind="json lines" if one_a_line and encoding is None else None,
        guesses=("ids",),
    )


def _maps_items_to_stars(whole: dict[str, Any]) -> bool:
    """Tell whether an object is {item: stars}, and no row such as {"item": 7, "rating": 5}."""
    numbers = all(type(value) in (int, float) for value in whole.values())
    is_row = any(is_named("item", name) for name in whole) and len(whole) > 1
    return bool(whole) and numbers and not is_row


def _people_of(whole: dict[str, Any]) -> dict[str, list[Any]] | None:
    """Read {person: {item: stars}} as columns; None if it is something else."""
    profiles = [profile for profile in whole.values() if isinstance(profile, dict)]
    if not profiles or len(profiles) < len(whole):
        return None
    columns = columns_of_people(whole)
    if not all(isinstance(value, int | float) for value in columns["rating"]):
        return None
    return columns


def columns_of_people(people: Mapping[Any, Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """Write {person: {item: stars}} as columns."""
    columns: dict[str, list[Any]] = {"user": [], "item": [], "rating": []}
    for person, profile in people.items():
        columns["user"] += [person] * len(profile)
        columns["item"] += list(profile)
        columns["rating"] += list(profile.values())
    return columns


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sqlite(path: Path, table: str | None) -> pl.DataFrame:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            rows = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite_%'"
            ).fetchall()
            return _query_table(
                path, connection, table, {name: _quote_name(name) for (name,) in rows}
            )
    except sqlite3.Error as error:
        raise DataError(f"the SQLite file cannot be read ({error})", path=path) from None


def _duckdb(path: Path, table: str | None) -> pl.DataFrame:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", "duckdb") from None
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            rows = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables"
            ).fetchall()
            names = [name if schema == "main" else f"{schema}.{name}" for schema, name in rows]
            quoted = [".".join(map(_quote_name, row)) for row in rows]
            places = dict(zip(names, quoted, strict=True))
            return _query_table(path, connection, table, places)
    except duckdb.Error:
        raise DataError(
            "the DuckDB file cannot be read",
            path=path,
            fix="Is it open in another program, or of another DuckDB version?",
        ) from None


def _query_table(
    path: Path, connection: Any, table: str | None, places: dict[str, str]
) -> pl.DataFrame:
    """Read the named table, or the only one with people and items. places: name to quoted name."""

    def ask(query: str) -> dict[str, list[Any]]:
        answer = connection.execute(query)
        rows = answer.fetchall()
        columns = {}
        for at, (name, *_) in enumerate(answer.description):
            columns[name] = [row[at] for row in rows]
        return columns

    names = [*places]
    if table is not None and table not in places:
        raise DataError(
            "no such table", path=path, found=table, expected="one of " + ", ".join(names)
        )
    headers = {name: [*ask(f"SELECT * FROM {place} LIMIT 0")] for name, place in places.items()}
    chosen = [table] if table else names
    if len(chosen) > 1:
        chosen = [name for name in names if _has_people_and_items(headers[name])]
    if len(chosen) == 1:
        return frame_of(ask(f"SELECT * FROM {places[chosen[0]]}"))
    raise DataError(
        "it is not clear which table holds the ratings" if names else "there is no table",
        path=path,
        found=", ".join(names),
        fix="Name it with --table (from Python: table=...).",
    )


def _has_people_and_items(headers: Sequence[str]) -> bool:
    """Tell whether one header names people and one names items."""
    has_people = any(is_compound_of("user", header) for header in headers)
    has_items = any(is_compound_of("item", header) for header in headers)
    return has_people and has_items


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def frame_of(columns: dict[str, Any]) -> pl.DataFrame:
    """Make a frame of Python values; a column of several types becomes text."""
    return pl.DataFrame([_series(name, values) for name, values in columns.items()])


def _series(name: str, values: Any) -> pl.Series:
    try:
        series = pl.Series(name, values)
        if series.dtype != pl.Object:  # such as UUIDs
            return series
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, pl.String)
