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
from tacit.ledger.chain import HashAt, Head, HeadStore, check_known
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable, explained

T = TypeVar("T")
_LONGER = 7 / 6  # silence, in patiences: the server's own refusal of a lock comes before it
OLDEST = 130000  # the server's version as a number: 13

_SAFE = {
    "fsync": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
    "full_page_writes": ("on",),
    "transaction_read_only": ("off",),
}


def engine(url: URL, *, patience: float) -> Engine:
    """Connections whose server settings were checked. patience: seconds to wait for a connection or
    for the writer's place; a server that is silent for a little longer is given up. MissingExtra
    without psycopg; LedgerRefused where the server does not keep what it commits."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None

    class Patient(psycopg.Connection[Any]):
        """One that ends itself, so that nobody waits for a server that stands still."""

        def wait(self, gen: Generator[Any, Any, T], *how: Any, **named: Any) -> T:
            try:
                return super().wait(_answering(gen, patience * _LONGER), *how, **named)
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
        made, "do_connect", lambda _dialect, _record, words, named: Patient.connect(*words, **named)
    )
    event.listen(made, "connect", partial(_settle, patience))
    event.listen(made, "begin", _begin)
    return made


def _answering(asked: Generator[Any, Any, T], patience: float) -> Generator[Any, Any, T]:
    """The same, as psycopg drives it; TimeoutError after so many seconds without a sign of life."""
    heard = time.monotonic()
    try:
        waits = next(asked)
        while True:
            ready = yield waits
            now = time.monotonic()
            heard = now if ready else heard
            if now - heard > patience:
                raise TimeoutError
            waits = asked.send(ready)
    except StopIteration as end:
        return cast("T", end.value)


def _settle(patience: float, raw: Any, _record: object) -> None:
    """On every new connection, because a role or a restart may have changed the settings."""
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
    """Readers see one moment, however many statements they ask."""
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
    """The newest head in one row. patience: seconds to wait for the server. LedgerRefused where the
    server does not keep what it commits."""

    def __init__(self, url: URL, *, patience: float) -> None:
        self._engine = engine(url, patience=patience)
        self._made = False

    def read(self) -> Head | None:
        """LedgerUnavailable if the server does not answer."""
        try:
            with self._engine.connect() as connection:
                return _read(connection) if inspect(connection).has_table(_TABLE) else None
        except SQLAlchemyError as error:
            raise _explained(error) from None

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """In one transaction; LedgerUnavailable if it cannot be written."""
        try:
            if not self._made:
                with self._engine.begin() as connection:
                    if not inspect(connection).has_table(_TABLE):
                        connection.execute(text(_MAKE))
                self._made = True
            with self._engine.begin() as connection:
                connection.execute(text(_LOCK))
                known = _read(connection)
                if known is not None:
                    check_known(known, head, hash_at)
                if known is None or known.sequence < head.sequence:
                    connection.execute(text(_WRITE), asdict(head))
        except SQLAlchemyError as error:
            raise _explained(error) from None

    def close(self) -> None:
        self._engine.dispose()


def give_back(engine: Engine, heads: HeadStore) -> None:
    """The connections of a store, and of a second place that has some."""
    engine.dispose()
    if isinstance(heads, PostgresHead):
        heads.close()


def _read(connection: Connection) -> Head | None:
    row = connection.execute(text(_READ)).first()
    return None if row is None else Head(row.ledger, row.sequence, row.hash)


def _explained(error: SQLAlchemyError) -> TacitError:
    reason = explained(error)
    if type(reason) is not LedgerUnavailable:
        return reason
    return LedgerUnavailable(
        "The second place of the ledger's head, in PostgreSQL, cannot be used now. Nothing was "
        "released. Ask again with the same key: if it was recorded nevertheless, the same answer "
        "comes without a new charge."
    )
