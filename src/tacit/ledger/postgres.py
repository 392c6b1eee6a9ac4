"""PostgreSQL as a store, with the settings that make a commit survive a power cut.

PostgreSQL may also be the second place of a head: one row of the table `tacit_second_place`. Its
server must not be restored together with the store: take another server, or a database with backups
of its own.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import MissingExtra, TacitError
from tacit.ledger.chain import Head
from tacit.ledger.heads import HashAt, HeadStore, check_remembered_head
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable, explain_store_error

T = TypeVar("T")
_SILENCE_FACTOR = 7 / 6
"""A connection ends after this many times `patience` without an answer. It is more than 1, because
after `patience` the server itself refuses to wait longer for a lock, and that answer should arrive.
"""
OLDEST_VERSION = 130000
"""The oldest supported server version, 13, in PostgreSQL's form: 10000 times the main version."""

_SAFE_SETTINGS = {
    "fsync": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
    "full_page_writes": ("on",),
    "transaction_read_only": ("off",),
}
"""For each setting, the values with which no commit is lost; the first is the recommended one."""


def make_engine(url: URL, *, patience: float) -> Engine:
    """Make an engine; each of its connections checks the server's settings when it is opened.

    Args:
        url: The server and the database.
        patience: Seconds to wait for a connection or for other writers. After a little longer
            without an answer, the connection is given up.

    Raises:
        MissingExtra: psycopg is not installed.
        LedgerRefused: On connecting, if the server is too old or may lose commits.
    """
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None

    class PatientConnection(psycopg.Connection[Any]):
        """A connection that closes itself if the server does not answer."""

        def wait(self, gen: Generator[Any, Any, T], *arguments: Any, **options: Any) -> T:
            """Run psycopg's generator `gen`; close the connection if the server is silent.

            Raises:
                psycopg.OperationalError: The server did not answer in time.
            """
            steps = _limit_silence(gen, patience * _SILENCE_FACTOR)
            try:
                return super().wait(steps, *arguments, **options)
            except TimeoutError:
                self.close()
                raise psycopg.OperationalError("the server is silent") from None

    new_engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": max(2, int(patience))},
        pool_size=4,
        max_overflow=12,
        pool_timeout=patience,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
    )
    event.listen(
        new_engine,
        "do_connect",
        lambda _dialect, _record, arguments, options: PatientConnection.connect(
            *arguments, **options
        ),
    )
    event.listen(new_engine, "connect", partial(_check_settings, patience))
    event.listen(new_engine, "begin", _set_isolation)
    return new_engine


def _limit_silence(steps: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
    """Run psycopg's generator inside another one, which ends it after a long silence.

    Args:
        steps: psycopg's generator. It yields whether it waits to read or to write, and is sent
            what is ready, or 0 if nothing is.
        seconds: Longest time in which nothing is ready.

    Returns:
        A generator that yields, takes and returns the same as `steps`. It raises TimeoutError after
        a longer silence.
    """
    last_ready_at = time.monotonic()
    try:
        waits_for = next(steps)
        while True:
            ready = yield waits_for
            now = time.monotonic()
            if ready:
                last_ready_at = now
            if now - last_ready_at > seconds:
                raise TimeoutError
            waits_for = steps.send(ready)
    except StopIteration as end:
        return cast("T", end.value)


def _check_settings(patience: float, raw: Any, _record: object) -> None:
    """Check the settings of a new connection, and set how long it waits for locks.

    Each connection is checked, because settings depend on the role and may change with a restart.

    Args:
        patience: Seconds that the server waits for a lock.
        raw: psycopg's connection.
        _record: The pool's record of the connection, which SQLAlchemy passes.

    Raises:
        LedgerRefused: The server is too old, or a setting could lose commits.
    """
    if raw.info.server_version < OLDEST_VERSION:
        raise LedgerRefused("A ledger needs PostgreSQL 13 or newer.")
    with raw.cursor() as cursor:
        for name, safe_values in _SAFE_SETTINGS.items():
            value = cursor.execute(f"SHOW {name}").fetchone()[0]
            if value not in safe_values:
                raise LedgerRefused(
                    f"PostgreSQL runs with {name} = {value}, so spending could be lost or not be "
                    f"recorded. Set it to {safe_values[0]}. The ledger is not used."
                )
        cursor.execute(f"SET lock_timeout = {max(1, int(patience * 1000))}")
    raw.commit()


def _set_isolation(connection: Connection) -> None:
    """Make a new read transaction see the store at one moment in all its statements."""
    if connection.get_execution_options().get("ledger_reads", False):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


_TABLE = "tacit_second_place"
_CREATE_TABLE = """CREATE TABLE IF NOT EXISTS tacit_second_place (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ledger TEXT NOT NULL, sequence BIGINT NOT NULL, hash TEXT NOT NULL)"""
_LOCK_TABLE = "LOCK TABLE tacit_second_place IN EXCLUSIVE MODE"
_READ_HEAD = "SELECT ledger, sequence, hash FROM tacit_second_place"
_WRITE_HEAD = """INSERT INTO tacit_second_place VALUES (1, :ledger, :sequence, :hash)
    ON CONFLICT (id) DO UPDATE SET ledger = :ledger, sequence = :sequence, hash = :hash"""


class PostgresHead:
    """A second place in PostgreSQL: the newest head in one row of a table."""

    def __init__(self, url: URL, *, patience: float) -> None:
        """Prepare a second place; arguments and errors as in `make_engine`."""
        self._engine = make_engine(url, patience=patience)
        self._has_table = False

    def read(self) -> Head | None:
        """Return the recorded head; None if no head was ever recorded.

        Raises:
            LedgerUnavailable: The server does not answer.
            LedgerRefused: The server is not safe, or its table is damaged.
        """
        try:
            with self._engine.connect() as connection:
                has_table = inspect(connection).has_table(_TABLE)
                return _read_head(connection) if has_table else None
        except SQLAlchemyError as error:
            raise _explain_error(error) from None

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` in one transaction, unless a newer one is recorded.

        Raises:
            LedgerRefused: The recorded head is not on the store's chain, or the server is not safe.
            LedgerUnavailable: The head cannot be written.
        """
        try:
            if not self._has_table:
                with self._engine.begin() as connection:
                    if not inspect(connection).has_table(_TABLE):
                        connection.execute(text(_CREATE_TABLE))
                self._has_table = True
            with self._engine.begin() as connection:
                connection.execute(text(_LOCK_TABLE))
                recorded_head = _read_head(connection)
                if recorded_head is not None:
                    check_remembered_head(recorded_head, head, hash_at)
                if recorded_head is None or recorded_head.sequence < head.sequence:
                    connection.execute(text(_WRITE_HEAD), asdict(head))
        except SQLAlchemyError as error:
            raise _explain_error(error) from None

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def close_connections(engine: Engine, heads: HeadStore) -> None:
    """Close the connections of a store, and of its second place if that is in PostgreSQL."""
    engine.dispose()
    if isinstance(heads, PostgresHead):
        heads.close()


def _read_head(connection: Connection) -> Head | None:
    """Read the head from the table's row; None if there is no row."""
    row = connection.execute(text(_READ_HEAD)).first()
    return None if row is None else Head(row.ledger, row.sequence, row.hash)


def _explain_error(error: SQLAlchemyError) -> TacitError:
    """Return the ledger's error for an error of the server that holds the second place."""
    reason = explain_store_error(error)
    if type(reason) is not LedgerUnavailable:
        return reason
    return LedgerUnavailable(
        "The second place of the ledger's head, in PostgreSQL, cannot be used now. Nothing was "
        "released. Ask again with the same key: if it was recorded nevertheless, the same answer "
        "comes without a new charge."
    )
