"""Open a file of JSON, Parquet, Arrow, SQLite, DuckDB or text as a table, by its first bytes."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import polars as pl

from tacit.data.tables.forms import Layout
from tacit.data.tables.imported_files import find_guesses
from tacit.data.tables.names import is_compound_of, is_named
from tacit.data.tables.table import Table
from tacit.data.tables.text import read_text_table, read_unpacked
from tacit.data.tables.whole_numbers import write_number
from tacit.errors import DataError, MissingExtra

PARQUET, _ARROW = b"PAR1", b"ARROW1"
"""First bytes of files of Parquet and of Arrow."""


def open_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    headers: Sequence[str] | None = None,
    header: bool | None = None,
    column_names: Sequence[str | None] = (),
    encoding: str | None = None,
    table: str | None = None,
    layout: Layout | None = None,
    history: bool = False,
) -> Table:
    """Open the table in a file.

    Args:
        path: The file.
        delimiter: Text between the cells of a text file; None: found in the file.
        headers: Headers of a text file without a line of headers; None: see `header`.
        header: Whether the first line of a text file has the headers; None: found in the file.
        column_names: Headers that the caller named, or None for each that is not named. They help
            to find the delimiter and the line of headers.
        encoding: Encoding of text or JSON; None: found in a text file, and UTF-8 for JSON.
        table: Name of the table in a database; None: the only one, or the only one with people and
            items.
        layout: With "baskets", lines of a text file may have different lengths.
        history: Whether JSON may be {item: stars} of one person.

    Raises:
        DataError: There is no such file, or it is no table; the error says what it seems to be.
        MissingExtra: The package that reads it is not installed.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder", path=path, expected="a file")
    if not path.exists():
        raise DataError("no such file", path=path)
    open_file = partial(
        _open_file,
        delimiter=delimiter,
        headers=headers,
        header=header,
        column_names=column_names,
        encoding=encoding,
        table=table,
        layout=layout,
        history=history,
    )
    if path.is_file():
        opened = open_file(path)
        guesses = dict.fromkeys([*opened.guesses, *find_guesses(path)])
        return replace(opened, guesses=tuple(guesses))
    with NamedTemporaryFile() as copy:  # of a pipe, whose bytes can be read only once
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, copy)
        copy.flush()
        opened = open_file(Path(copy.name))
    return replace(opened, path=path)


def _open_file(
    path: Path,
    *,
    delimiter: str | None,
    headers: Sequence[str] | None,
    header: bool | None,
    column_names: Sequence[str | None],
    encoding: str | None,
    table: str | None,
    layout: Layout | None,
    history: bool,
) -> Table:
    """Open the table in an ordinary file, as `open_table` does, whatever lies beside it."""
    with path.open("rb") as stream:
        head = stream.read(16)
    if head.startswith(b"SQLite format 3\0"):
        opened = Table(path, _read_sqlite(path, table))
    elif head[8:12] == b"DUCK":
        opened = Table(path, _read_duckdb(path, table))
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
            return read_text_table(
                path,
                raw,
                encoding=encoding,
                packed=packed,
                delimiter=delimiter,
                headers=headers,
                header=header,
                column_names=column_names,
                layout=layout,
            )
        opened = _read_json(path, raw, encoding, history=history)
    if not len(opened.frame):
        raise DataError("the table has no rows", path=path)
    return opened


def _read_json(path: Path, raw: bytes, encoding: str | None, *, history: bool) -> Table:
    """Read JSON: one object a line, a list of objects, or {person: {item: stars}}.

    Args:
        path: The file, for messages.
        raw: Its bytes.
        encoding: Its encoding; None: UTF-8.
        history: Whether the JSON may be {item: stars} of one person.

    Raises:
        DataError: There is no such encoding, or the text is not in it or is no JSON of these forms.
    """
    try:
        text = raw.decode(encoding or "utf-8-sig").removeprefix("\ufeff")
    except (LookupError, UnicodeError) as error:
        is_unknown = isinstance(error, LookupError)
        raise DataError(
            "there is no such encoding" if is_unknown else "the JSON is not in this encoding",
            path=path,
            found=encoding or "utf-8",
            fix="Name another with --encoding, such as cp1252 or utf-16.",
        ) from None
    document = _parse_json(text)  # None for one object a line
    columns = _read_profiles(document) if isinstance(document, dict) else None
    if columns is not None:
        return Table(path, make_frame(columns))
    if history and isinstance(document, dict) and _maps_items_to_stars(document):
        return Table(path, make_frame({"item": [*document], "rating": [*document.values()]}))
    is_list = text.lstrip().startswith("[")
    if is_list:
        if not isinstance(document, list):
            expected = "a list of objects, or one a line"
            raise DataError("the JSON cannot be read", path=path, expected=expected)
        entries = dict(enumerate(document, 1))
    elif isinstance(document, dict) and "\n" in text.strip():
        raise DataError(
            "the JSON is one object and no table",
            path=path,
            expected="a list of objects, one object a line, or {person: {item: stars}}",
            fix="Was an error message saved in place of the data?",
        )
    else:
        lines = enumerate(io.StringIO(text), 1)
        entries = {number: _parse_json(line) for number, line in lines if line.strip()}
    rows: dict[int, dict[str, Any]] = {}  # by their line, or by their number in the list, from 1
    row_errors: list[DataError] = []
    for number, entry in entries.items():
        if isinstance(entry, dict):
            rows[number] = entry
        else:
            expected = "a list of objects" if is_list else "one object a line"
            row_errors.append(DataError("the row is no JSON object", row=number, expected=expected))
    if not rows and row_errors:
        raise row_errors[0].with_place(path=path)
    columns = {}
    for name in dict.fromkeys(itertools.chain.from_iterable(rows.values())):
        columns[name] = [entry.get(name) for entry in rows.values()]
    return Table(
        path,
        make_frame(columns),
        lambda: rows,
        tuple(row_errors),
        kind="json lines" if not is_list and encoding is None else None,
        guesses=("ids",),
    )


def _maps_items_to_stars(document: dict[str, Any]) -> bool:
    """Tell whether an object is {item: stars}, and not a row such as {"item": 7, "rating": 5}."""
    has_numbers = all(type(value) in (int, float) for value in document.values())
    is_row = any(is_named("item", name) for name in document) and len(document) > 1
    return bool(document) and has_numbers and not is_row


def _read_profiles(document: dict[str, Any]) -> dict[str, list[Any]] | None:
    """Turn {person: {item: stars}} into columns; None if the object is something else."""
    if not document or not all(isinstance(value, dict) for value in document.values()):
        return None
    columns = columns_of_profiles(document)
    if not all(isinstance(value, int | float) for value in columns["rating"]):
        return None
    return columns


def columns_of_profiles(profiles: Mapping[Any, Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """Turn {person: {item: stars}} into the columns user, item and rating."""
    columns: dict[str, list[Any]] = {"user": [], "item": [], "rating": []}
    for person, profile in profiles.items():
        columns["user"] += [person] * len(profile)
        columns["item"] += list(profile)
        columns["rating"] += list(profile.values())
    return columns


def _parse_json(text: str) -> Any:
    """Parse a text; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_sqlite(path: Path, table: str | None) -> pl.DataFrame:
    """Read a table of an SQLite file, as `_query_table` chooses it."""
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


def _read_duckdb(path: Path, table: str | None) -> pl.DataFrame:
    """Read a table of a DuckDB file, as `_query_table` chooses it."""
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
            return _query_table(path, connection, table, dict(zip(names, quoted, strict=True)))
    except duckdb.Error:
        raise DataError(
            "the DuckDB file cannot be read",
            path=path,
            fix="Is it open in another program, or of another DuckDB version?",
        ) from None


def _query_table(
    path: Path, connection: Any, table: str | None, quoted_names: dict[str, str]
) -> pl.DataFrame:
    """Read a table of a database.

    Args:
        path: The file, for messages.
        connection: A connection to the database.
        table: Name of the table; None: the only one, or the only one with people and items.
        quoted_names: Name of each table to the name as it is written in a query.

    Raises:
        DataError: There is no such table, or it is not clear which one is meant.
    """

    def select(query: str) -> dict[str, list[Any]]:
        """Run a query and return its columns by their names."""
        answer = connection.execute(query)
        rows = answer.fetchall()
        columns = {}
        for number, (name, *_) in enumerate(answer.description):
            columns[name] = [row[number] for row in rows]
        return columns

    names = [*quoted_names]
    if table is not None and table not in quoted_names:
        raise DataError(
            "no such table", path=path, found=table, expected="one of " + ", ".join(names)
        )
    headers = {
        name: [*select(f"SELECT * FROM {quoted} LIMIT 0")] for name, quoted in quoted_names.items()
    }
    chosen = [table] if table else names
    if len(chosen) > 1:
        chosen = [name for name in names if _has_people_and_items(headers[name])]
    if len(chosen) == 1:
        return make_frame(select(f"SELECT * FROM {quoted_names[chosen[0]]}"))
    raise DataError(
        "it is not clear which table holds the ratings" if names else "there is no table",
        path=path,
        found=", ".join(names),
        fix="Name it with --table (from Python: table=...).",
    )


def _has_people_and_items(headers: Sequence[str]) -> bool:
    """Tell whether one header is a name of people and one is a name of items."""
    has_people = any(is_compound_of("user", header) for header in headers)
    has_items = any(is_compound_of("item", header) for header in headers)
    return has_people and has_items


def _quote_name(name: str) -> str:
    """Write a name in quotes as SQL wants it."""
    return '"' + name.replace('"', '""') + '"'


def make_frame(columns: dict[str, Any]) -> pl.DataFrame:
    """Make a polars frame of columns, each a list of Python values or an array.

    A column becomes text if polars has no single type for its values.
    """
    return pl.DataFrame([_make_series(name, values) for name, values in columns.items()])


def _make_series(name: str, values: Any) -> pl.Series:
    """Make one column of a frame, as `make_frame` says."""
    try:
        series = pl.Series(name, values)
        if series.dtype != pl.Object:  # UUIDs, for example, are objects
            return series
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    texts = [None if value is None else write_number(value) for value in values]
    return pl.Series(name, texts, pl.String)
