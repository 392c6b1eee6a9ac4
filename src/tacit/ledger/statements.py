"""Statements of SQLAlchemy Core, compiled once and run by the store's own driver, for speed.

A release takes a handful of statements. Run by SQLAlchemy, each would take ten times as long as
SQLite itself needs. With a server, waiting for its answers takes longest: `pipeline_statements`
sends statements without waiting for the answer to each. SQLAlchemy still begins and ends the
transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

_NO_VALUES: Mapping[str, Any] = {}


class SentStatement:
    """A statement that was sent to the store."""

    def __init__(self, connection: sa.Connection, cursor: Any) -> None:
        self._connection = connection
        self._cursor = cursor
        # From SQLite all rows are read here, because a result that is not read to its end holds a
        # lock.
        self._rows: list[Any] | None = None
        if connection.dialect.name == "sqlite":
            self._rows = cursor.fetchall()

    def rows(self) -> list[Any]:
        """Wait for the rows of the result and return them; a second call may find none."""
        if self._rows is not None:
            return self._rows
        with _translate_errors(self._connection):
            return list(self._cursor.fetchall())


class Statement:
    """One statement with named parameters: integers, texts, bytes or None."""

    def __init__(self, core: sa.ClauseElement, postgresql: sa.ClauseElement | None = None) -> None:
        """Prepare a statement; it is compiled when it is first run.

        Args:
            core: The statement, in SQLAlchemy Core.
            postgresql: The statement for PostgreSQL, if it differs; None uses `core` there too.
        """
        self._core = core
        self._postgresql = core if postgresql is None else postgresql
        self._texts: dict[str, str] = {}

    def run(
        self, connection: sa.Connection, values: Mapping[str, Any] = _NO_VALUES
    ) -> SentStatement:
        """Send the statement with values for its parameters, by name.

        Raises:
            DBAPIError: The store refused it. Inside `pipeline_statements` this may be raised only
                when rows are read or when the block ends.
        """
        dialect = connection.dialect
        if dialect.name not in self._texts:
            core = self._postgresql if dialect.name == "postgresql" else self._core
            self._texts[dialect.name] = str(core.compile(dialect=dialect))
        driver = _driver_connection(connection)
        try:  # not `_translate_errors`: a context manager takes as long as SQLite itself
            return SentStatement(connection, driver.execute(self._texts[dialect.name], values))
        except _error_class(connection) as error:
            raise _translate(connection, error) from None


@contextmanager
def pipeline_statements(connection: sa.Connection) -> Iterator[None]:
    """Send the statements of a block without waiting for answers, until rows are read.

    With SQLite, or with a PostgreSQL client library before version 14, each statement waits for its
    answer.
    """
    if connection.dialect.name == "postgresql":
        from psycopg import Pipeline

        if Pipeline.is_supported():
            with _translate_errors(connection), _driver_connection(connection).pipeline():
                yield
            return
    yield


def _driver_connection(connection: sa.Connection) -> Any:
    """Return the connection of sqlite3 or psycopg below SQLAlchemy's."""
    return connection.connection.driver_connection


@contextmanager
def _translate_errors(connection: sa.Connection) -> Iterator[None]:
    """Raise the driver's errors in the block as SQLAlchemy's, without the statement's values."""
    try:
        yield
    except _error_class(connection) as error:
        raise _translate(connection, error) from None


def _error_class(connection: sa.Connection) -> Any:
    """Return the base class of the driver's errors."""
    return connection.dialect.loaded_dbapi.Error


def _translate(connection: sa.Connection, error: BaseException) -> BaseException:
    """Return SQLAlchemy's error for an error of the driver, without the statement's values."""
    base_class = _error_class(connection)
    return DBAPIError.instance(None, None, error, base_class, dialect=connection.dialect)
