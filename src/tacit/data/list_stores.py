"""Write many people's lists of recommended items to files, SQLite, PostgreSQL or Redis.

Files, SQLite and PostgreSQL are written whole or not at all, so that a shop never reads some of the
new lists and some of the old ones. In Redis, each person's list is replaced whole, one person after
the other, and lists of people without a new list stay.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tacit.atomic_writes import write_whole
from tacit.data.ratings import Column
from tacit.data.tables.folder import write_columns
from tacit.errors import ConfigError, MissingExtra, OutputError

FILE_ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".sqlite", ".db")
"""Endings of the files to which lists can be written."""
DATABASES = ("postgresql", "redis", "rediss")
"""Schemes of addresses of databases; rediss is Redis over TLS."""
TABLE = "lists"
"""Name of the table of lists in SQLite and PostgreSQL."""
REDIS_PREFIX = "tacit:list:"
"""Text before the user's id in the key of a list."""
REDIS_PEOPLE_AT_ONCE = 1_000
"""Number of lists that are sent to Redis before its answers are read."""
REDIS_TIMEOUT = 30.0
"""Seconds to wait for a connection to Redis or an answer."""


@dataclass(frozen=True, eq=False)
class ListTable:
    """Lists of many people, with one row for each entry of a list.

    The rows of a person follow one another, the best item first.
    """

    users: Column
    """(rows,) ids of people."""
    ranks: Column
    """(rows,) rank in the person's list; 1 is the best."""
    items: Column
    """(rows,) ids of items."""
    scores: Column
    """(rows,) score of the item for the person; higher is better."""

    def columns(self) -> dict[str, Column]:
        """Return the columns by their names in files and databases."""
        return {"user": self.users, "rank": self.ranks, "item": self.items, "score": self.scores}

    def rows(self) -> Iterator[tuple[Any, int, Any, float]]:
        """Yield user, rank, item and score of each entry."""
        columns = [column.tolist() for column in self.columns().values()]
        yield from zip(*columns, strict=True)

    def by_person(self) -> Iterator[tuple[Any, list[Any], list[float]]]:
        """Yield each person's id, items and scores, the best item first."""
        for user, rows in groupby(self.rows(), key=lambda row: row[0]):
            entries = list(rows)
            items = [item for _, _, item, _ in entries]
            scores = [score for _, _, _, score in entries]
            yield user, items, scores


def check_place(place: str) -> None:
    """Refuse a place of a kind that lists cannot be written to, before any list is computed.

    An address may hold a password, so no error repeats it.

    Args:
        place: A file or an address, as in `write_lists`.

    Raises:
        ConfigError: The file's ending or the address's scheme is not supported, or the address
            cannot be read.
        MissingExtra: The place is PostgreSQL, and psycopg is not installed.
    """
    scheme = place.partition("://")[0] if "://" in place else ""
    if scheme == "postgresql":
        _import_psycopg()
    elif scheme and scheme not in DATABASES:
        raise ConfigError(f"Lists go into {_join(DATABASES)}; got {scheme}.")
    elif not scheme and Path(place).suffix not in FILE_ENDINGS:
        shown = "an address without ://" if "@" in place else place
        raise ConfigError(f"Lists go into a file that ends in {_join(FILE_ENDINGS)}; got {shown}.")
    if scheme:
        try:
            parts = urlsplit(place)
            if scheme != "postgresql":  # PostgreSQL's address may name several hosts and ports
                _ = parts.port
        except ValueError:
            raise ConfigError(
                f"The address of the database cannot be read. Write {scheme}://HOST:PORT/NAME, and "
                "in a password %40 for @, %2F for /, %3F for ?, %23 for # and %5B for [."
            ) from None


def write_lists(table: ListTable, place: str) -> None:
    """Write lists to a file or a database and replace the lists that were there.

    In Redis, only the lists of people in the table are replaced.

    Args:
        table: The lists.
        place: A file, or `postgresql://HOST/DATABASE`, `redis://HOST:PORT/NUMBER` or
            `rediss://HOST:PORT/NUMBER`.

    Raises:
        ConfigError: The place is none of these.
        MissingExtra: The place is PostgreSQL, and psycopg is not installed.
        OutputError: The place cannot be written. The old lists are unchanged, except in Redis,
            where some may have been replaced.
    """
    check_place(place)
    scheme = urlsplit(place).scheme if "://" in place else ""
    if scheme == "postgresql":
        _write_postgres(table, place)
    elif scheme:
        _write_redis(table, place)
    elif place.endswith(".jsonl"):
        write_whole(place, _json_lines(table))
    elif place.endswith((".sqlite", ".db")):
        _write_sqlite(table, Path(place))
    else:
        write_columns(table.columns(), place)


def _json_lines(table: ListTable) -> bytes:
    """Encode a line for each person: a JSON object with user, items and scores."""
    lines = []
    for user, items, scores in table.by_person():
        line = {"user": user, "items": items, "scores": scores}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def _write_sqlite(table: ListTable, path: Path) -> None:
    """Write a new SQLite database in a temporary folder, then replace the file by it."""
    with tempfile.TemporaryDirectory(prefix=".tacit-lists-") as temporary:
        new_database = Path(temporary) / "lists.sqlite"
        connection = sqlite3.connect(new_database)
        try:
            connection.execute(
                f"CREATE TABLE {TABLE} (user, rank INTEGER, item, score REAL, "
                "PRIMARY KEY (user, rank)) WITHOUT ROWID"
            )
            # TABLE is a constant, so no text of a user gets into the statement.
            statement = f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?)"
            connection.executemany(statement, table.rows())
            connection.commit()
        finally:
            connection.close()
        write_whole(path, new_database.read_bytes())


def _import_psycopg() -> Any:
    """Import psycopg; MissingExtra if it is not installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None
    return psycopg


def _write_postgres(table: ListTable, address: str) -> None:
    """Fill a new table and replace the old one by it, in one transaction.

    Raises:
        MissingExtra: psycopg is not installed.
        OutputError: PostgreSQL cannot be reached or refuses a statement.
    """
    psycopg = _import_psycopg()
    try:
        with psycopg.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}_new")
            cursor.execute(
                f"CREATE TABLE {TABLE}_new (user_id text, rank integer, item_id text, "
                "score double precision, PRIMARY KEY (user_id, rank))"
            )
            copy = f"COPY {TABLE}_new (user_id, rank, item_id, score) FROM STDIN"
            with cursor.copy(copy) as rows:
                for user, rank, item, score in table.rows():
                    rows.write_row((str(user), rank, str(item), score))
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
            cursor.execute(f"ALTER TABLE {TABLE}_new RENAME TO {TABLE}")
    except psycopg.Error as error:
        kind = type(error).__name__
        raise OutputError(
            f"PostgreSQL at {_host(address)} did not take the lists ({kind})."
        ) from None


def _write_redis(table: ListTable, address: str) -> None:
    """Set the key `tacit:list:USER` of each person to a JSON list of items, the best first.

    Raises:
        OutputError: There is no connection, or Redis answers with an error.
    """
    try:
        with _RedisConnection(address) as connection:
            commands: list[Sequence[str]] = []
            for user, items, _ in table.by_person():
                key = f"{REDIS_PREFIX}{user}"
                commands.append(("SET", key, json.dumps(items, ensure_ascii=False)))
                if len(commands) == REDIS_PEOPLE_AT_ONCE:
                    connection.run(commands)
                    commands = []
            connection.run(commands)
    except (OSError, ValueError) as error:
        raise OutputError(f"Redis at {_host(address)} did not take the lists ({error}).") from None


class _RedisConnection:
    """A connection to Redis, with the part of its protocol RESP that is needed to write lists.

    Args:
        address: `redis://[USER:PASSWORD@]HOST[:PORT][/NUMBER]`, or `rediss://` for TLS.

    Raises:
        OSError: There is no connection.
        ValueError: Redis refuses the password or the number of the database.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        host = parts.hostname or "127.0.0.1"
        port = parts.port or 6379
        connection = socket.create_connection((host, port), REDIS_TIMEOUT)
        if parts.scheme == "rediss":
            context = ssl.create_default_context()
            try:
                connection = context.wrap_socket(connection, server_hostname=host)
            except BaseException:
                connection.close()
                raise
        self._socket = connection
        self._answers = connection.makefile("rb")
        login: list[Sequence[str]] = []
        if parts.password:
            name = [unquote(parts.username)] if parts.username else []
            login.append(["AUTH", *name, unquote(parts.password)])
        database = parts.path.strip("/")
        if database:
            login.append(["SELECT", database])
        try:
            self.run(login)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> _RedisConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()

    def run(self, commands: Sequence[Sequence[str]]) -> None:
        """Send all commands, then read the answer to each.

        Raises:
            ValueError: An answer is an error or is missing. The message of an error is its code
                alone, such as WRONGPASS, since the rest may repeat a key.
        """
        self._socket.sendall(b"".join(map(_encode_command, commands)))
        for _ in commands:
            answer = self._answers.readline()
            if not answer.startswith(b"+"):
                words = answer.decode("utf-8", "replace").split()
                raise ValueError(words[0].lstrip("-") if words else "no answer")


def _encode_command(words: Sequence[str]) -> bytes:
    """Encode a command in RESP: the number of words, then each word after its length in bytes."""
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def _host(address: str) -> str:
    """Return the host of an address, or "this machine" if it names none; never a password."""
    return urlsplit(address).hostname or "this machine"


def _join(names: Sequence[str]) -> str:
    """Write names as "a, b or c"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"
