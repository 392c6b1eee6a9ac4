"""Statements of SQLAlchemy Core, put together once and run by the store's own driver.

A release is a handful of statements, and what SQLAlchemy does around each of them takes ten times
as long as SQLite itself. With a server, the way there and back takes longest: `queued` sends what
needs no answer together with what does. The transaction around them stays SQLAlchemy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ClauseElement, Connection
from sqlalchemy.exc import DBAPIError

_NONE: Mapping[str, Any] = {}


class Asked:
    """A statement that was sent; its rows when they are wanted."""

    def __init__(self, connection: Connection, cursor: Any) -> None:
        self._connection = connection
        self._cursor = cursor
        # What SQLite has not been read to its end holds a lock, even after an error elsewhere.
        self._read: list[Any] | None = None
        if connection.dialect.name == "sqlite":
            self._read = cursor.fetchall()

    def rows(self) -> list[Any]:
        """All of them, as tuples."""
        if self._read is not None:
            return self._read
        with _told(self._connection):
            found: list[Any] = self._cursor.fetchall()
        return found


class Statement:
    """One statement with named parameters: integers, texts, bytes or None.

    core: for every store, but for those that `stores` names, which have their own.
    """

    def __init__(self, core: ClauseElement, **stores: ClauseElement) -> None:
        self._core = core
        self._stores = stores
        self._texts: dict[str, str] = {}

    def run(self, connection: Connection, values: Mapping[str, Any] = _NONE) -> Asked:
        """Inside `queued` it may fail later, at the latest at the end of the queue."""
        text = self._text(connection)
        with _told(connection):
            return Asked(connection, _driver(connection).execute(text, values))

    def _text(self, connection: Connection) -> str:
        dialect = connection.dialect
        if dialect.name not in self._texts:
            core = self._stores.get(dialect.name, self._core)
            self._texts[dialect.name] = str(core.compile(dialect=dialect))
        return self._texts[dialect.name]


@contextmanager
def queued(connection: Connection) -> Iterator[None]:
    """Send statements without waiting, until rows are wanted or the queue ends."""
    driver = _driver(connection)
    if connection.dialect.name != "postgresql" or not _can_queue():
        yield
        return
    with _told(connection), driver.pipeline():
        yield


def _can_queue() -> bool:
    """Whether the client library of PostgreSQL is version 14 or newer."""
    from psycopg import Pipeline

    return Pipeline.is_supported()


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


@contextmanager
def _told(connection: Connection) -> Iterator[None]:
    """What the driver raises comes as SQLAlchemy's error, without the values."""
    kind = connection.dialect.loaded_dbapi.Error
    try:
        yield
    except kind as error:
        told = DBAPIError.instance(None, None, error, kind, dialect=connection.dialect)
        raise told from None
