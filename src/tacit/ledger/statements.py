"""Statements of SQLAlchemy Core, put together once and run by the store's own driver.

A release is a handful of statements, and what SQLAlchemy does around each of them takes ten times
as long as SQLite itself. With a server, the way there and back takes longest: `pipeline_statements`
sends what needs no answer together with what does. The transaction around them stays SQLAlchemy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

_NONE: Mapping[str, Any] = {}


class SentStatement:
    """A statement that was sent to the store."""

    def __init__(self, connection: sa.Connection, cursor: Any) -> None:
        self._connection = connection
        self._cursor = cursor
        # What SQLite has not been read to its end holds a lock, even after an error elsewhere.
        self._read: list[Any] | None = None
        if connection.dialect.name == "sqlite":
            self._read = cursor.fetchall()

    def rows(self) -> list[Any]:
        """Return its rows, and wait for them where they are not there yet."""
        if self._read is not None:
            return self._read
        with _translate_errors(self._connection):
            return list(self._cursor.fetchall())


class Statement:
    """One statement with named parameters: integers, texts, bytes or None."""

    def __init__(self, core: sa.ClauseElement, postgresql: sa.ClauseElement | None = None) -> None:
        """Prepare a statement.

        Args:
            core: The statement for every store, or for SQLite where PostgreSQL has its own.
            postgresql: PostgreSQL's own statement.
        """
        self._core = core
        self._postgresql = core if postgresql is None else postgresql
        self._texts: dict[str, str] = {}

    def run(self, connection: sa.Connection, values: Mapping[str, Any] = _NONE) -> SentStatement:
        """Send the statement.

        Inside `pipeline_statements` it may fail later, at the latest at the end of the block.
        """
        dialect = connection.dialect
        if dialect.name not in self._texts:
            core = self._postgresql if dialect.name == "postgresql" else self._core
            self._texts[dialect.name] = str(core.compile(dialect=dialect))
        driver = _driver(connection)
        try:  # a context manager would take as long as SQLite itself
            return SentStatement(connection, driver.execute(self._texts[dialect.name], values))
        except _error_class(connection) as error:
            raise _translate(connection, error) from None


@contextmanager
def pipeline_statements(connection: sa.Connection) -> Iterator[None]:
    """Send statements without waiting, until rows are needed or the block ends.

    This needs PostgreSQL with a client library of version 14 or newer; others wait each time.
    """
    if connection.dialect.name == "postgresql":
        from psycopg import Pipeline

        if Pipeline.is_supported():
            with _translate_errors(connection), _driver(connection).pipeline():
                yield
            return
    yield


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection


@contextmanager
def _translate_errors(connection: sa.Connection) -> Iterator[None]:
    """Turn the driver's errors into SQLAlchemy's, without the values."""
    try:
        yield
    except _error_class(connection) as error:
        raise _translate(connection, error) from None


def _error_class(connection: sa.Connection) -> Any:
    """The class of all errors of the driver."""
    return connection.dialect.loaded_dbapi.Error


def _translate(connection: sa.Connection, error: BaseException) -> BaseException:
    """Turn an error of the driver into SQLAlchemy's, without the values."""
    kind = _error_class(connection)
    return DBAPIError.instance(None, None, error, kind, dialect=connection.dialect)
