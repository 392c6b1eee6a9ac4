"""Stored states: what an answer leaves for the next one, in one transaction with the answer.

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

from tacit.errors import ConfigError
from tacit.ledger.schema import states
from tacit.ledger.statements import Statement

LARGEST_STATE = 64 * 2**20
"""Bytes of one state."""

_NAME = re.compile(r"[a-z0-9/_-]{1,128}")


def check_state_name(name: str) -> None:
    """Refuse with a ConfigError what is not 1 to 128 of the signs a-z 0-9 / _ -."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(
            "The name of a stored state is 1 to 128 signs from a to z, 0 to 9, slash, underscore "
            "and hyphen."
        )


def read_state(connection: sa.Connection, name: str) -> bytes | None:
    """Return the newest state of that name; None if there never was one."""
    rows = _READ.run(connection, {"of": name}).rows()
    return bytes(rows[0][0]) if rows else None


@dataclass(frozen=True)
class StoredState:
    """Facts about a state without its content."""

    name: str
    """Name of the state."""
    sequence: int
    """Number of the log entry that left it."""
    size: int
    """Bytes of its content."""


def list_states(connection: sa.Connection) -> tuple[StoredState, ...]:
    """List the stored states by name."""
    size = sa.func.length(states.c.state)
    columns = sa.select(states.c.name, states.c.sequence, size)
    rows = connection.execute(columns.order_by(states.c.name))
    return tuple(StoredState(*row) for row in rows)


MOST_CACHED_BYTES = 64 * 2**20
"""Bytes of states in memory; the one that was unused for longest goes first."""
_ENTRY_BYTES = 200
"""Bytes that each takes besides its name and content: many people left nothing."""


class StateCache:
    """Stored states in memory, as the newest commit left them: reading one waits for no commit.

    States are noted while the only connection is held, so that what was read before a commit never
    comes after it.
    """

    def __init__(self, most: int) -> None:
        """Cache at most so many bytes; 0 where others write too: then nothing is cached."""
        self._most = most
        self._states: OrderedDict[str, bytes | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def look_up(self, name: str) -> tuple[bytes | None] | None:
        """Return the state in a tuple; None where it is not cached."""
        with self._lock:
            if name not in self._states:
                return None
            self._states.move_to_end(name)
            return (self._states[name],)

    def note(self, states: Mapping[str, bytes | None]) -> None:
        """Cache states by name, None where there is none."""
        with self._lock:  # once: a state that is changed is never missed in between
            self._drop(states)
            self._states.update(states)
            self._bytes += sum(_size(*item) for item in states.items())
            while self._bytes > self._most:
                self._bytes -= _size(*self._states.popitem(last=False))

    def forget(self, names: Iterable[str]) -> None:
        """Drop states that may have changed, so that the store is asked."""
        with self._lock:
            self._drop(names)

    def _drop(self, names: Iterable[str]) -> None:
        for name in self._states.keys() & set(names):
            self._bytes -= _size(name, self._states.pop(name))


def _size(name: str, state: bytes | None) -> int:
    return _ENTRY_BYTES + len(name) + len(state or b"")


@dataclass
class TransactionStates:
    """The states of one transaction: each is read once, and written once at its end.

    Several requests of the transaction see each other's new states.
    """

    connection: sa.Connection
    """Connection of the transaction."""
    cache: StateCache
    """States in memory."""
    _known: dict[str, bytes | None] = field(default_factory=dict)
    _changed: dict[str, int] = field(default_factory=dict)

    def read(self, name: str) -> bytes | None:
        """Return a state as the requests before this one left it."""
        if name not in self._known:
            cached = self.cache.look_up(name)
            self._known[name] = read_state(self.connection, name) if cached is None else cached[0]
        return self._known[name]

    def change(self, name: str, state: bytes, sequence: int) -> None:
        """Change a state from the entry `sequence` on.

        Call it when nothing of the request can fail any more.
        """
        self._known[name] = state
        self._changed[name] = sequence

    def write(self) -> None:
        """Put changed states into the store; the caller commits."""
        for name, sequence in sorted(self._changed.items()):
            row = {"name": name, "sequence": sequence, "state": self._known[name]}
            _WRITE.run(self.connection, row)

    @contextmanager
    def note_after_commit(self) -> Iterator[None]:
        """Cache what was read and changed once the commit inside this block succeeds.

        If it fails, the changed states are unknown.
        """
        try:
            yield
        except BaseException:
            self.cache.forget(self._changed)
            raise
        self.cache.note(self._known)


_READ = Statement(sa.select(states.c.state).where(states.c.name == sa.bindparam("of")))
_NEW_VALUES: dict[str, Any] = {
    "sequence": sa.literal_column("excluded.sequence"),
    "state": sa.literal_column("excluded.state"),
}
_WRITE = Statement(
    sqlite.insert(states).on_conflict_do_update(index_elements=["name"], set_=_NEW_VALUES),
    postgresql.insert(states).on_conflict_do_update(index_elements=["name"], set_=_NEW_VALUES),
)
