"""PostgreSQL as a store, with the settings that make a commit survive a power cut.

As the second place of a head it keeps one row, in the table `tacit_second_place`, on a server that
a restored disk or machine does not bring back: its own server, or a database backed up by itself.
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
_SILENCE = 7 / 6
"""Silence, in patiences, that ends a connection: the server's refusal of a lock comes before it."""
OLDEST = 130000
"""The oldest version of a server, as a number: 13."""

_SAFE = {
    "fsync": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
    "full_page_writes": ("on",),
    "transaction_read_only": ("off",),
}


def engine(url: URL, *, patience: float) -> Engine:
    """Make an engine whose connections have checked server settings.

    Args:
        url: The server and the database.
        patience: Seconds to wait for a connection or for other writers; a server that is silent
            for a little longer is given up.

    Raises:
        MissingExtra: psycopg is not installed.
        LedgerRefused: On connecting, where the server may lose what it commits.
    """
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None

    class PatientConnection(psycopg.Connection[Any]):
        """A connection that ends itself, so that no one waits for a server that stands still."""

        def wait(self, gen: Generator[Any, Any, T], *how: Any, **named: Any) -> T:
            try:
                return super().wait(_end_when_silent(gen, patience * _SILENCE), *how, **named)
            except TimeoutError:
                self.close()
                raise psycopg.OperationalError("the server is silent") from None

    made = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": max(2, int(patience))},
        pool_size=4,
        max_overflow=12,
        pool_timeout=patience,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
    )
    event.listen(
        made,
        "do_connect",
        lambda _dialect, _record, words, named: PatientConnection.connect(*words, **named),
    )
    event.listen(made, "connect", partial(_check_settings, patience))
    event.listen(made, "begin", _begin)
    return made


def _end_when_silent(steps: Generator[Any, Any, T], patience: float) -> Generator[Any, Any, T]:
    """Drive psycopg's steps; TimeoutError after `patience` seconds without a sign of life."""
    last_sign = time.monotonic()
    try:
        waits = next(steps)
        while True:
            ready = yield waits
            now = time.monotonic()
            last_sign = now if ready else last_sign
            if now - last_sign > patience:
                raise TimeoutError
            waits = steps.send(ready)
    except StopIteration as end:
        return cast("T", end.value)


def _check_settings(patience: float, raw: Any, _record: object) -> None:
    """Check the settings of every new connection: a role or a restart may have changed them."""
    if raw.info.server_version < OLDEST:
        raise LedgerRefused("A ledger needs PostgreSQL 13 or newer.")
    with raw.cursor() as cursor:
        for name, safe in _SAFE.items():
            value = cursor.execute(f"SHOW {name}").fetchone()[0]
            if value not in safe:
                raise LedgerRefused(
                    f"PostgreSQL runs with {name} = {value}, so spending could be lost or not be "
                    f"recorded. Set it to {safe[0]}. The ledger is not used."
                )
        cursor.execute(f"SET lock_timeout = {max(1, int(patience * 1000))}")
    raw.commit()


def _begin(connection: Connection) -> None:
    """Let readers see one moment, however many statements they send."""
    if connection.get_execution_options().get("ledger_reads", False):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


_TABLE = "tacit_second_place"
_MAKE = """CREATE TABLE IF NOT EXISTS tacit_second_place (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ledger TEXT NOT NULL, sequence BIGINT NOT NULL, hash TEXT NOT NULL)"""
_LOCK = "LOCK TABLE tacit_second_place IN EXCLUSIVE MODE"
_READ = "SELECT ledger, sequence, hash FROM tacit_second_place"
_WRITE = """INSERT INTO tacit_second_place VALUES (1, :ledger, :sequence, :hash)
    ON CONFLICT (id) DO UPDATE SET ledger = :ledger, sequence = :sequence, hash = :hash"""


class PostgresHead:
    """A second place in PostgreSQL: the newest head in one row."""

    def __init__(self, url: URL, *, patience: float) -> None:
        """Name the server, and the seconds to wait for it.

        Raises:
            LedgerRefused: On connecting, where the server may lose what it commits.
        """
        self._engine = engine(url, patience=patience)
        self._has_table = False

    def read(self) -> Head | None:
        """Return the head in the row; None where there is none.

        Raises:
            LedgerUnavailable: The server does not answer.
        """
        try:
            with self._engine.connect() as connection:
                return _read(connection) if inspect(connection).has_table(_TABLE) else None
        except SQLAlchemyError as error:
            raise _explain_error(error) from None

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` in one transaction, unless a newer one is there.

        Raises:
            LedgerRefused: The head that is there is not on the store's chain.
            LedgerUnavailable: It cannot be written.
        """
        try:
            if not self._has_table:
                with self._engine.begin() as connection:
                    if not inspect(connection).has_table(_TABLE):
                        connection.execute(text(_MAKE))
                self._has_table = True
            with self._engine.begin() as connection:
                connection.execute(text(_LOCK))
                known = _read(connection)
                if known is not None:
                    check_remembered_head(known, head, hash_at)
                if known is None or known.sequence < head.sequence:
                    connection.execute(text(_WRITE), asdict(head))
        except SQLAlchemyError as error:
            raise _explain_error(error) from None

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()


def give_back(engine: Engine, heads: HeadStore) -> None:
    """Close the connections of a store, and of a second place that has some."""
    engine.dispose()
    if isinstance(heads, PostgresHead):
        heads.close()


def _read(connection: Connection) -> Head | None:
    row = connection.execute(text(_READ)).first()
    return None if row is None else Head(row.ledger, row.sequence, row.hash)


def _explain_error(error: SQLAlchemyError) -> TacitError:
    """Return a sentence on the second place of the head."""
    reason = explain_store_error(error)
    if type(reason) is not LedgerUnavailable:
        return reason
    return LedgerUnavailable(
        "The second place of the ledger's head, in PostgreSQL, cannot be used now. Nothing was "
        "released. Ask again with the same key: if it was recorded nevertheless, the same answer "
        "comes without a new charge."
    )
