"""Tables that are not delimited text: JSON lines, Parquet, Arrow, SQLite, DuckDB."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from tacit.data.tables import Table, Torn, named
from tacit.errors import DataError, MissingExtra

COLUMNAR = (b"PAR1", b"ARROW1")
"""First bytes of Parquet and of Arrow."""


def columnar(path: Path, source: Any, head: bytes) -> Table:
    """Parquet or Arrow, by the first bytes."""
    kind = "Parquet" if head.startswith(b"PAR1") else "Arrow"
    try:
        if kind == "Arrow":
            return Table(path, _with_rows(pl.read_ipc(source), path))
        return Table(path, _with_rows(pl.read_parquet(source, glob=False), path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"the {kind} file cannot be read ({error})", path=path) from None


def json_rows(path: Path, raw: bytes) -> Table:
    """One object a line, or one list of objects."""
    rows: list[tuple[int, dict[str, Any]]] = []
    torn = []
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("the JSON lines are not UTF-8 text", path=path) from None
    lines: Iterable[tuple[int, str]] = enumerate(text.split("\n"), 1)
    if text.lstrip().startswith("["):
        try:
            lines = enumerate(map(json.dumps, json.loads(text)), 1)
        except (ValueError, RecursionError):
            raise DataError(
                "the JSON cannot be read", path=path, expected="a list of objects, or one a line"
            ) from None
    for line, content in lines:
        if not content.strip():
            continue
        try:
            entry = json.loads(content)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            rows.append((line, entry))
        else:
            torn.append(Torn(line, "the row is no JSON object", None, None, "one object a line"))
    if not rows and torn:
        raise torn[0].complaint(path)
    names = dict.fromkeys(name for _, entry in rows for name in entry)
    columns = {name: [entry.get(name) for _, entry in rows] for name in names}
    numbers = [line for line, _ in rows]
    return Table(path, _with_rows(frame_of(columns), path), lambda: numbers, tuple(torn))


def database(path: Path, table: str | None, read: Any) -> Table:
    """The named table of SQLite or DuckDB, or the only one that holds people and items."""
    names, columns_of = read(path)
    if table is not None and table not in names:
        raise DataError("no such table", path=path, found=table,
                        expected="one of " + ", ".join(names))  # fmt: skip
    chosen = [table] if table else [*names] if len(names) == 1 else _tables_of_pairs(names)
    if len(chosen) != 1:
        raise DataError(
            "it is not clear which table holds the ratings" if names else "there is no table",
            path=path, found=", ".join(names), fix="Name it with --table (from Python: table=...).",
        )  # fmt: skip
    return Table(path, _with_rows(frame_of(columns_of(chosen[0])), path))


def _tables_of_pairs(names: dict[str, list[str]]) -> list[str]:
    """Tables with a column of people and one of items, by their names."""
    return [
        name
        for name, columns in names.items()
        if any(named("user", column) for column in columns)
        and any(named("item", column) for column in columns)
    ]


def sqlite(path: Path) -> Any:
    """The names of its tables with their columns, and how to read one."""

    def ask(query: str, *values: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        try:
            uri = f"{path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                answer = connection.execute(query, values)
                return [column[0] for column in answer.description], answer.fetchall()
        except sqlite3.Error as error:
            raise DataError(f"the SQLite file cannot be read ({error})", path=path) from None

    _, rows = ask(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%'"
    )
    names = {name: ask(f"SELECT * FROM {_quoted(name)} LIMIT 0")[0] for (name,) in rows}
    return names, lambda name: _columns(*ask(f"SELECT * FROM {_quoted(name)}"))


def duckdb_file(path: Path) -> Any:
    """The same of a DuckDB file."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", "duckdb") from None

    def ask(query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        try:
            with duckdb.connect(str(path), read_only=True) as connection:
                answer = connection.execute(query)
                return [column[0] for column in answer.description or ()], answer.fetchall()
        except duckdb.Error:
            raise DataError(
                "the DuckDB file cannot be read",
                path=path,
                fix="Is it open in another program, or of another DuckDB version?",
            ) from None

    _, rows = ask("SELECT table_schema, table_name FROM information_schema.tables")
    places = {name if schema == "main" else f"{schema}.{name}": (schema, name)
              for schema, name in rows}  # fmt: skip
    full = {key: ".".join(map(_quoted, place)) for key, place in places.items()}
    names = {key: ask(f"SELECT * FROM {place} LIMIT 0")[0] for key, place in full.items()}
    return names, lambda key: _columns(*ask(f"SELECT * FROM {full[key]}"))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _columns(names: list[str], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def frame_of(columns: dict[str, Any]) -> pl.DataFrame:
    """Columns of Python values; one of several types becomes text."""
    return pl.DataFrame([_series(name, values) for name, values in columns.items()])


def _series(name: str, values: Any) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        texts = [
            value if value is None or isinstance(value, str) else str(value) for value in values
        ]
        return pl.Series(name, texts, pl.String)


def _with_rows(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    if not len(frame):
        raise DataError("the table has no rows", path=path)
    return frame
