"""Stored states: data that one answer leaves for the next, committed together with the answer.

A state is a string of bytes with a name, such as the open round of an online recommender. The log
holds the SHA-256 of each new state; the store holds only the newest of each name.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from tacit.errors import ConfigError
from tacit.ledger.schema import states
from tacit.ledger.statements import Statement

LARGEST_STATE = 64 * 2**20
"""Most bytes of one state."""

# A valid name of a state.
_NAME = re.compile(r"[a-z0-9/_-]{1,128}")


def check_state_name(name: str) -> None:
    """Raise ConfigError unless a name is 1 to 128 of the characters a-z 0-9 / _ -."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(
            "The name of a stored state is 1 to 128 characters from a to z, 0 to 9, slash, "
            "underscore and hyphen."
        )


def read_state(connection: sa.Connection, name: str) -> bytes | None:
    """Return the newest state of a name; None if there never was one."""
    rows = _READ.run(connection, {"state_name": name}).rows()
    return bytes(rows[0][0]) if rows else None


@dataclass(frozen=True)
class StoredState:
    """Facts about a stored state, without its content."""

    name: str
    """Name of the state."""
    sequence: int
    """Number of the log entry that holds its hash."""
    size: int
    """Bytes of its content."""


def list_states(connection: sa.Connection) -> tuple[StoredState, ...]:
    """List the stored states by name."""
    size = sa.func.length(states.c.state)
    query = sa.select(states.c.name, states.c.sequence, size).order_by(states.c.name)
    rows = connection.execute(query)
    return tuple(StoredState(*row) for row in rows)


MAX_CACHED_BYTES = 64 * 2**20
"""Most bytes of states in memory; beyond it, the least recently used states are dropped."""
_ENTRY_BYTES = 200
"""Bytes that a cached state takes in addition to its name and content, which may be empty."""


class CachedState(NamedTuple):
    """A state that is in memory."""

    content: bytes | None
    """Its bytes; None if nothing was ever stored under its name."""


class StateCache:
    """Some stored states of the newest commit, in memory: reading one does not wait for the store.

    Call `note` only while holding the store's one connection, so that no state from before a commit
    is cached after it.
    """

    def __init__(self, max_bytes: int) -> None:
        """Prepare an empty cache.

        Args:
            max_bytes: Most bytes in memory. With 0 nothing is cached, as is needed for a store to
                which other processes write too.
        """
        self._max_bytes = max_bytes
        self._states: OrderedDict[str, bytes | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def look_up(self, name: str) -> CachedState | None:
        """Return the state of a name; None if it is not cached."""
        with self._lock:
            if name not in self._states:
                return None
            self._states.move_to_end(name)
            return CachedState(self._states[name])

    def note(self, states: Mapping[str, bytes | None]) -> None:
        """Cache states by name, where None says that nothing was ever stored under a name."""
        with self._lock:  # held throughout, so that no reader finds a state dropped and not updated
            self._drop(states)
            self._states.update(states)
            self._bytes += sum(_cached_size(name, state) for name, state in states.items())
            while self._bytes > self._max_bytes:
                name, state = self._states.popitem(last=False)
                self._bytes -= _cached_size(name, state)

    def forget(self, names: Iterable[str]) -> None:
        """Drop states that may have changed, so that they are read from the store again."""
        with self._lock:
            self._drop(names)

    def _drop(self, names: Iterable[str]) -> None:
        """Drop the states of these names; the caller holds the lock."""
        for name in self._states.keys() & set(names):
            self._bytes -= _cached_size(name, self._states.pop(name))


def _cached_size(name: str, state: bytes | None) -> int:
    """Return about how many bytes of memory a cached state takes."""
    return _ENTRY_BYTES + len(name) + len(state or b"")


@dataclass
class TransactionStates:
    """The stored states in one transaction: each is read from the store once at most.

    A request sees the states that earlier requests of the same transaction left. Changed states are
    written at the end of the transaction.
    """

    connection: sa.Connection
    """Connection of the transaction."""
    cache: StateCache
    """States in memory."""
    _states: dict[str, bytes | None] = field(default_factory=dict)
    """States by name, as the last request left them; None if nothing was ever stored."""
    _changed: dict[str, int] = field(default_factory=dict)
    """For each changed state by name, the number of the entry that holds its hash."""

    def read(self, name: str) -> bytes | None:
        """Return a state as earlier requests left it; None if nothing was ever stored."""
        if name not in self._states:
            cached = self.cache.look_up(name)
            if cached is None:
                self._states[name] = read_state(self.connection, name)
            else:
                self._states[name] = cached.content
        return self._states[name]

    def change(self, name: str, state: bytes, sequence: int) -> None:
        """Change a state; entry `sequence` of the log holds the hash of the new one.

        Call it last in a request, when nothing can fail any more: undoing the request does not undo
        this change.
        """
        self._states[name] = state
        self._changed[name] = sequence

    def write(self) -> None:
        """Write changed states to the store; the caller commits."""
        for name, sequence in sorted(self._changed.items()):
            row = {"name": name, "sequence": sequence, "state": self._states[name]}
            _WRITE.run(self.connection, row)

    @contextmanager
    def note_after_commit(self) -> Iterator[None]:
        """Cache the states that were read or changed, after the commit in the `with` block.

        If the commit fails, the changed states are dropped from the cache, because it is not known
        which version is in the store.
        """
        try:
            yield
        except BaseException:
            self.cache.forget(self._changed)
            raise
        self.cache.note(self._states)


_READ = Statement(sa.select(states.c.state).where(states.c.name == sa.bindparam("state_name")))
_NEW_VALUES: dict[str, Any] = {
    "sequence": sa.literal_column("excluded.sequence"),
    "state": sa.literal_column("excluded.state"),
}
_WRITE = Statement(
    sqlite.insert(states).on_conflict_do_update(index_elements=["name"], set_=_NEW_VALUES),
    postgresql.insert(states).on_conflict_do_update(index_elements=["name"], set_=_NEW_VALUES),
)
