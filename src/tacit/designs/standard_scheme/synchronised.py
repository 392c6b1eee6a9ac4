"""One account on several devices: a store that the person owns, and the right to speak.

The store is not the service. It is read and written at speaking time alone, so that its owner's
ratings do not show in when it changes. Its size is that of a content with the whole catalogue
rated, so that they do not show there. All devices decide from the state in the store and keep it
there before a letter leaves: of two that speak at once, one is turned away and begins again from
what the other wrote.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol

from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.device import History
from tacit.designs.standard_scheme.disclosure import Refused
from tacit.designs.standard_scheme.memory import Record, State, in_order
from tacit.designs.standard_scheme.messages import (
    MICRO,
    WEEK,
    ItemId,
    Message,
    Release,
    decode,
    is_id,
    is_integer,
    require,
)

LEAST_BYTES = 1 << 16
LEASE = 2 * WEEK
"""Seconds for which the right to speak is kept after a letter."""
_FORGOTTEN = "forgotten "
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
class Shared(Message):
    """What the store holds.

    account   names the account that it belongs to; "forgotten " and that, after it was forgotten
    history   of each device, by the name of the device
    holder    the device that speaks, until a second; "" for none
    size      bytes that it fills at least
    """

    kind = "shared memory"

    account: str
    state: State
    history: dict[str, dict[ItemId, Rating]] = field(default_factory=dict)
    holder: str = ""
    until: int = 0
    size: int = field(default=LEAST_BYTES, compare=False)

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

    @property
    def ended(self) -> bool:
        """Whether its account was forgotten."""
        return not self.account or self.account.startswith(_FORGOTTEN)

    def fill(self, items: Collection[ItemId]) -> None:
        """Take the size that it has if all of these are rated on each device, and shown."""
        rating = Rating(0.1 + 0.2, _LONG, _LONG)
        records = dict.fromkeys(items, Record(9 * MICRO, "0" * 16, _LONG))
        letter = Release("0" * 16, _LONG, tuple((item, 9 * MICRO) for item in items)).encode()
        full = replace(
            self,
            state=replace(self.state, records=records, frozen=set(), arrivals={}, letter=letter),
            history={device: dict.fromkeys(items, rating) for device in self.history},
        )
        self.size = len(full.encode())

    def encode(self) -> bytes:
        """Canonical JSON, and spaces up to a power of two."""
        data = super().encode()
        return data.ljust(max(self.size, 1 << (len(data) - 1).bit_length()))

    def _content(self) -> dict[str, Any]:
        return {
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

    @classmethod
    def decode(cls, data: bytes) -> Shared:
        size = max(LEAST_BYTES, 1 << (len(data) - 1).bit_length())
        return decode(data, cls.kind, lambda content: cls._read(content, size))

    @classmethod
    def _read(cls, content: dict[str, Any], size: int) -> Shared:
        return cls(
            size=size,
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


_LONG = 9_999_999_999
"""As many digits as a second has."""

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
    items: Collection[ItemId] = (),
) -> tuple[bytes | None, Shared]:
    """The letter that is due, and what the store holds now.

    To be called when a letter is due and at no other time. device: names this one in the lease.
    begin: what an empty store holds; account: made from a state and from what keeps it; bring:
    puts this device's ratings and deletions in. A device without the lease brings them in and gets
    no letter. items: all ids of the catalogue, by which the content is filled up. Refused for a
    store of another account or of one that was forgotten; RuntimeError if others write all the
    time.
    """
    for _ in range(_ATTEMPTS):
        number, shared = held(store, begin)
        bring(shared)
        shared.fill(items)
        if number == 0:  # the first content is there before anything is made from it
            store.swap(0, shared.encode())
            continue
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
    """The number and the content; `begin` where it is empty, or after another account.

    What that account, which was forgotten, may have decided stays frozen.
    """
    number, data = store.read()
    found = Shared.decode(data) if data else begin
    if found.account == _FORGOTTEN + begin.account:
        raise Refused("this account was forgotten on another device")
    if not found.ended and found.account != begin.account:
        raise Refused("the synchronised store is another account's")
    return number, _after(found, begin) if found.ended else found


def _after(found: Shared, begin: Shared) -> Shared:
    begin.state.frozen |= found.state.frozen
    begin.state.aliases = found.state.aliases
    begin.size = found.size
    return begin


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
    """Leave only what `state` makes of the shared one; RuntimeError as for `speak`.

    Nothing of this account is in a store that is another account's by now.
    """
    for _ in range(_ATTEMPTS):
        number, data = store.read()
        shared = Shared.decode(data) if data else begin
        if shared.ended:
            shared = _after(shared, begin)
        elif shared.account != begin.account:
            return state(begin.state)
        shared.state.frozen |= {item for rows in shared.history.values() for item in rows}
        left = state(shared.state)
        gone = Shared(_FORGOTTEN + begin.account, left, size=shared.size)
        if store.swap(number, gone.encode()):
            return left
    raise RuntimeError("other devices write to the synchronised store all the time")
