"""One account on several devices: a store that the person owns, and the right to speak.

The store is not the service. It is read and written at speaking time alone, so that its owner's
ratings do not show in when it changes, and its content is padded so that they do not show in its
size. All devices decide from the state in the store and keep it there before a letter leaves: of
two that speak at once, one is turned away and begins again from what the other wrote.
Standard library only.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.canonical import decode, encode, is_id, is_integer, require
from tacit.designs.standard_scheme.memory import State, in_order
from tacit.designs.standard_scheme.messages import VERSION, WEEK, ItemId

LEAST_BYTES = 1 << 16
LEASE = 2 * WEEK
"""Seconds for which the right to speak is kept after a letter."""
_ATTEMPTS = 5


class Store(Protocol):
    """Bytes with a number that grows with each change; 0 and no bytes at first."""

    def read(self) -> tuple[int, bytes]:
        """The number and the bytes."""
        ...

    def swap(self, number: int, data: bytes) -> bool:
        """Write durably if the number is still this one; whether it was written."""
        ...


@dataclass(frozen=True)
class Rating:
    """One entry of a history that several devices change.

    stars     None for a deleted one
    entered   the second at which the item was first rated; changed: of the last change
    """

    stars: float | None
    entered: int
    changed: int


@dataclass
class Shared:
    """What the store holds. The lease says which device speaks, and until which second."""

    state: State
    history: dict[ItemId, Rating] = field(default_factory=dict)
    holder: str = ""
    until: int = 0

    def __post_init__(self) -> None:
        held = type(self.holder) is str and is_integer(self.until, 0)
        require(held, "a lease has a holder and an end")
        for item, rating in self.history.items():
            star = rating.stars is None or type(rating.stars) in (int, float)
            times = is_integer(rating.entered) and is_integer(rating.changed)
            require(is_id(item) and star and times, "an item, its stars and two seconds")

    def merge(self, other: Mapping[ItemId, Rating]) -> None:
        """Take over another device's changes; the later one of an item counts."""
        for item, rating in other.items():
            mine = self.history.get(item)
            if mine is None or rating.changed > mine.changed:
                self.history[item] = rating

    def encode(self) -> bytes:
        """Canonical JSON, and spaces up to a power of two."""
        data = encode(
            {
                "version": VERSION,
                "message": "shared memory",
                "state": self.state.encode().decode(),
                "history": [
                    [item, rating.stars, rating.entered, rating.changed]
                    for item, rating in in_order(self.history.items())
                ],
                "holder": self.holder,
                "until": self.until,
            }
        )
        return data.ljust(max(LEAST_BYTES, 1 << (len(data) - 1).bit_length()))

    @classmethod
    def decode(cls, data: bytes) -> Shared:
        return decode(data, "shared memory", VERSION, cls._from_content)

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Shared:
        return cls(
            state=State.decode(content["state"].encode()),
            history={item: Rating(*rest) for item, *rest in content["history"]},
            holder=content["holder"],
            until=content["until"],
        )


Keep = Callable[[State], None]


class _Overtaken(Exception):
    """Another device wrote first."""


def speak(
    store: Store,
    device: str,
    begin: State,
    account: Callable[[State, Keep], Account],
    changes: Mapping[ItemId, Rating],
    now: int,
) -> tuple[bytes | None, dict[ItemId, Rating]]:
    """The letter that is due, and the history of all devices.

    To be called when a letter is due and at no other time. device: names this one in the lease.
    begin: the state where the store is empty; account: made from a state and from what keeps it;
    changes: this device's ratings and deletions. A device without the lease brings its changes in
    and gets no letter. RuntimeError if others write all the time.
    """
    for _ in range(_ATTEMPTS):
        number, data = store.read()
        shared = Shared.decode(data) if data else Shared(begin)
        shared.merge(changes)
        speaks = shared.holder in ("", device) or now >= shared.until
        try:
            letter = _letter(store, number, shared, device, account, now) if speaks else None
            if letter is None:
                _swap(store, number, shared)
        except _Overtaken:
            continue
        return letter, shared.history
    raise RuntimeError("other devices write to the synchronised store all the time")


def _letter(
    store: Store,
    number: int,
    shared: Shared,
    device: str,
    account: Callable[[State, Keep], Account],
    now: int,
) -> bytes | None:
    shared.holder, shared.until = device, now + LEASE
    rated = {item: each for item, each in shared.history.items() if each.stars is not None}
    return account(shared.state, lambda _: _swap(store, number, shared)).speak(
        {item: each.stars for item, each in rated.items() if each.stars is not None},
        {item: each.entered for item, each in rated.items()},
        now,
    )


def _swap(store: Store, number: int, shared: Shared) -> None:
    if not store.swap(number, shared.encode()):
        raise _Overtaken


class PassingStore:
    """Forgets at the end of the process: for tests, and for trying things out."""

    def __init__(self) -> None:
        self._held = (0, b"")

    def read(self) -> tuple[int, bytes]:
        return self._held

    def swap(self, number: int, data: bytes) -> bool:
        if number != self._held[0]:
            return False
        self._held = (number + 1, data)
        return True


class FileStore:
    """In a file of a folder that all devices mount; they take turns."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def read(self) -> tuple[int, bytes]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return 0, b""
        return int.from_bytes(data[:8], "big"), data[8:]

    def swap(self, number: int, data: bytes) -> bool:
        with self._path.with_name(self._path.name + ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.read()[0] != number:
                return False
            draft = self._path.with_name(self._path.name + ".new")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
                file.write((number + 1).to_bytes(8, "big") + data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
            self._settle()
            return True

    def _settle(self) -> None:
        """The name in the folder, too, outlasts a power failure."""
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
