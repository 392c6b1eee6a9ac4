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
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.canonical import decode, encode, is_id, is_integer, require
from tacit.designs.standard_scheme.device import History
from tacit.designs.standard_scheme.memory import State, in_order
from tacit.designs.standard_scheme.messages import VERSION, WEEK, ItemId
from tacit.designs.standard_scheme.refusing import Refused

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
    """One entry of one device's history.

    stars     None for a deleted one
    entered   the second at which the item was first rated; changed: of the last change
    """

    stars: float | None
    entered: int
    changed: int


@dataclass
class Shared:
    """What the store holds.

    account   names the account that it belongs to; "" after that was forgotten
    history   of each device, by the name of the device
    holder    the device that speaks, until a second; "" for none
    """

    account: str
    state: State
    history: dict[str, dict[ItemId, Rating]] = field(default_factory=dict)
    holder: str = ""
    until: int = 0

    def __post_init__(self) -> None:
        held = type(self.holder) is type(self.account) is str and is_integer(self.until, 0)
        require(held, "an account, and a lease with a holder and an end")
        for item, rating in (row for rows in self.history.values() for row in rows.items()):
            star = rating.stars is None or type(rating.stars) in (int, float)
            times = is_integer(rating.entered) and is_integer(rating.changed)
            require(is_id(item) and star and times, "an item, its stars and two seconds")

    def bring(self, device: str, stars: History, entered: Mapping[ItemId, int], now: int) -> None:
        """This device's history as it is now: what it had and has no more is deleted."""
        mine = self.history.setdefault(device, {})
        for item in mine.keys() - stars.keys():
            if mine[item].stars is not None:
                mine[item] = Rating(None, mine[item].entered, now)
        for item, star in stars.items():
            if isfinite(star) and (item not in mine or mine[item].stars != star):
                mine[item] = Rating(float(star), min(now, entered.get(item, now)), now)

    def rated(self) -> tuple[dict[ItemId, float], dict[ItemId, int]]:
        """The present stars of all devices, the latest of each id, and when it was entered."""
        latest: dict[ItemId, Rating] = {}
        for item, rating in (row for rows in self.history.values() for row in rows.items()):
            latest[item] = max(latest.get(item, rating), rating, key=_order)
        stars = {item: each.stars for item, each in latest.items() if each.stars is not None}
        return stars, {item: latest[item].entered for item in stars}

    def encode(self) -> bytes:
        """Canonical JSON, and spaces up to a power of two."""
        data = encode(
            {
                "version": VERSION,
                "message": "shared memory",
                "account": self.account,
                "state": self.state.encode().decode(),
                "history": {
                    device: [
                        [item, rating.stars, rating.entered, rating.changed]
                        for item, rating in in_order(rows.items())
                    ]
                    for device, rows in self.history.items()
                },
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
            account=content["account"],
            state=State.decode(content["state"].encode()),
            history={
                device: {item: Rating(*rest) for item, *rest in rows}
                for device, rows in content["history"].items()
            },
            holder=content["holder"],
            until=content["until"],
        )


def _order(rating: Rating) -> tuple[int, bool, float]:
    """The later change counts; of two in one second a star, and the higher one."""
    return rating.changed, rating.stars is not None, rating.stars or 0.0


Keep = Callable[[State], None]


class _Overtaken(Exception):
    """Another device wrote first."""


def speak(
    store: Store,
    device: str,
    begin: Shared,
    account: Callable[[State, Keep], Account],
    bring: Callable[[Shared], None],
    now: int,
) -> tuple[bytes | None, Shared]:
    """The letter that is due, and what the store holds now.

    To be called when a letter is due and at no other time. device: names this one in the lease.
    begin: what an empty store holds; account: made from a state and from what keeps it; bring:
    puts this device's ratings and deletions in. A device without the lease brings them in and gets
    no letter. Refused for a store of another account; RuntimeError if others write all the time.
    """
    for _ in range(_ATTEMPTS):
        number, shared = held(store, begin)
        bring(shared)
        speaks = shared.holder in ("", device) or now >= shared.until
        try:
            letter = _letter(store, number, shared, device, account, now) if speaks else None
            if letter is None:
                _swap(store, number, shared)
        except _Overtaken:
            continue
        return letter, shared
    raise RuntimeError("other devices write to the synchronised store all the time")


def held(store: Store, begin: Shared) -> tuple[int, Shared]:
    """The number and the content; `begin` where it is empty, or where its account was forgotten.

    Then what the account may have decided stays frozen.
    """
    number, data = store.read()
    found = Shared.decode(data) if data else begin
    if found.account not in ("", begin.account):
        raise Refused("the synchronised store is another account's")
    if found.account == "":
        begin.state.frozen |= found.state.frozen
        begin.state.aliases = found.state.aliases
        found = begin
    return number, found


def _letter(
    store: Store,
    number: int,
    shared: Shared,
    device: str,
    account: Callable[[State, Keep], Account],
    now: int,
) -> bytes | None:
    shared.holder, shared.until = device, now + LEASE
    speaking = account(shared.state, lambda _: _swap(store, number, shared))
    return speaking.speak(*shared.rated(), now)


def _swap(store: Store, number: int, shared: Shared) -> None:
    if not store.swap(number, shared.encode()):
        raise _Overtaken


def forget(store: Store, begin: Shared, state: Callable[[State], State]) -> State:
    """Leave only what `state` makes of the shared one. RuntimeError as for `speak`."""
    for _ in range(_ATTEMPTS):
        number, shared = held(store, begin)
        shared.state.frozen |= {item for rows in shared.history.values() for item in rows}
        left = state(shared.state)
        if store.swap(number, Shared("", left).encode()):
            return left
    raise RuntimeError("other devices write to the synchronised store all the time")


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
