"""Statements of SQLAlchemy Core, put together once and run by the store's own driver.

A release is a handful of statements, and what SQLAlchemy does around each of them takes ten times
as long as SQLite itself. With a server, the way there and back takes longest: `queued` sends what
needs no answer together with what does. The transaction around them stays SQLAlchemy's.

Kept states: what an answer leaves for the next one, in one transaction with the answer.

A state is a named text of bytes, such as the open round of an online recommender. The log holds the
SHA-256 of each new one; the store holds the newest only.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from tacit.errors import ConfigError
from tacit.ledger.schema import STATES_SINCE, states, version

_NONE: Mapping[str, Any] = {}


class Asked:
    """A statement that was sent; its rows when they are wanted."""

    def __init__(self, connection: sa.Connection, cursor: Any) -> None:
        self._connection = connection
        self._cursor = cursor
        # What SQLite has not been read to its end holds a lock, even after an error elsewhere.
        self._read: list[Any] | None = None
        if connection.dialect.name == "sqlite":
            self._read = cursor.fetchall()

    def rows(self) -> list[Any]:
        if self._read is not None:
            return self._read
        with _translated(self._connection):
            return list(self._cursor.fetchall())


class Statement:
    """One statement with named parameters: integers, texts, bytes or None.

    core: for every store, but for PostgreSQL where that has its own.
    """

    def __init__(self, core: sa.ClauseElement, postgresql: sa.ClauseElement | None = None) -> None:
        self._core = core
        self._postgresql = core if postgresql is None else postgresql
        self._texts: dict[str, str] = {}

    def run(self, connection: sa.Connection, values: Mapping[str, Any] = _NONE) -> Asked:
        """Inside `queued` it may fail later, at the latest at the end of the queue."""
        dialect = connection.dialect
        if dialect.name not in self._texts:
            core = self._postgresql if dialect.name == "postgresql" else self._core
            self._texts[dialect.name] = str(core.compile(dialect=dialect))
        with _translated(connection):
            driver = _driver(connection)
            return Asked(connection, driver.execute(self._texts[dialect.name], values))


@contextmanager
def queued(connection: sa.Connection) -> Iterator[None]:
    """Send statements without waiting, until rows are wanted or the queue ends: where the client
    library of PostgreSQL is version 14 or newer."""
    if connection.dialect.name == "postgresql":
        from psycopg import Pipeline

        if Pipeline.is_supported():
            with _translated(connection), _driver(connection).pipeline():
                yield
            return
    yield


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection


@contextmanager
def _translated(connection: sa.Connection) -> Iterator[None]:
    """What the driver raises comes as SQLAlchemy's error, without the values."""
    kind = connection.dialect.loaded_dbapi.Error
    try:
        yield
    except kind as error:
        translated = DBAPIError.instance(None, None, error, kind, dialect=connection.dialect)
        raise translated from None


LARGEST_STATE = 64 * 2**20  # bytes of one state

_NAME = re.compile(r"[a-z0-9/_-]{1,128}")


def check_state_name(name: str) -> None:
    """ConfigError unless it is 1 to 128 of the signs a-z 0-9 / _ -."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(
            "The name of a kept state is 1 to 128 signs from a to z, 0 to 9, slash, underscore "
            "and hyphen."
        )


def read_state(connection: sa.Connection, name: str) -> bytes | None:
    """The newest state of that name; None if nothing was ever kept under it."""
    rows = _READ.run(connection, {"of": name}).rows()
    return bytes(rows[0][0]) if rows else None


@dataclass(frozen=True)
class KeptState:
    """What is known of a state without its content: the entry that left it, and its bytes."""

    name: str
    sequence: int
    size: int


def list_states(connection: sa.Connection) -> tuple[KeptState, ...]:
    """By name; none in a store of an older version."""
    if version(connection) < STATES_SINCE:
        return ()
    size = sa.func.length(states.c.state)
    rows = connection.execute(
        sa.select(states.c.name, states.c.sequence, size).order_by(states.c.name)
    )
    return tuple(KeptState(*row) for row in rows)


MOST_REMEMBERED = 64 * 2**20  # bytes of states in memory; the one that rested longest goes first
_OF_ONE = 200  # bytes that each takes beside its name and content: many people left nothing


class Remembered:
    """Kept states in memory, as the newest commit left them: a read of one waits for no commit.

    most: bytes. 0 where others write too: then nothing is remembered. Noted while the only
    connection is held, so that what was read before a commit never comes after it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._states: OrderedDict[str, bytes | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def known(self, name: str) -> tuple[bytes | None] | None:
        """The state, in a tuple; None where it is not remembered."""
        with self._lock:
            if name not in self._states:
                return None
            self._states.move_to_end(name)
            return (self._states[name],)

    def note(self, states: Mapping[str, bytes | None]) -> None:
        self.forget(states)
        with self._lock:
            self._states.update(states)
            self._bytes += sum(_size(*item) for item in states.items())
            while self._bytes > self._most:
                self._bytes -= _size(*self._states.popitem(last=False))

    def forget(self, names: Iterable[str]) -> None:
        """Of what may be otherwise: the store is asked."""
        with self._lock:
            for name in self._states.keys() & set(names):
                self._bytes -= _size(name, self._states.pop(name))


def _size(name: str, state: bytes | None) -> int:
    return _OF_ONE + len(name) + len(state or b"")


@dataclass
class KeptStates:
    """The states of one transaction: each is read once, and written once at its end. Several
    requests of the transaction see each other's new states."""

    connection: sa.Connection
    remembered: Remembered
    _known: dict[str, bytes | None] = field(default_factory=dict)
    _changed: dict[str, int] = field(default_factory=dict)

    def read(self, name: str) -> bytes | None:
        """As the requests before this one left it."""
        if name not in self._known:
            known = self.remembered.known(name)
            self._known[name] = read_state(self.connection, name) if known is None else known[0]
        return self._known[name]

    def change(self, name: str, state: bytes, sequence: int) -> None:
        """From the entry `sequence` on. Call it when nothing of the request can fail any more."""
        self._known[name] = state
        self._changed[name] = sequence

    def write(self) -> None:
        """Put what changed into the store; the caller commits."""
        for name, sequence in sorted(self._changed.items()):
            row = {"name": name, "sequence": sequence, "state": self._known[name]}
            _WRITE.run(self.connection, row)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Around the commit: what was read and changed is remembered after it. If it fails, nobody
        knows which states stand."""
        try:
            yield
        except BaseException:
            self.remembered.forget(self._changed)
            raise
        self.remembered.note(self._known)


_READ = Statement(sa.select(states.c.state).where(states.c.name == sa.bindparam("of")))
_NEW: dict[str, Any] = {
    name: sa.literal_column(f"excluded.{name}") for name in ("sequence", "state")
}
_WRITE = Statement(
    *(
        store.insert(states).on_conflict_do_update(index_elements=["name"], set_=_NEW)
        for store in (sqlite, postgresql)
    )
)
