"""One account on several devices of one person, through a store that they own.

The store is read and written when a letter is due, and at no other time: its changes tell nothing
of when something was rated. It is never at the service.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tacit.client.account import replace
from tacit.client.device_memory import Kept
from tacit.designs.standard_scheme import synchronised
from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.canonical import MessageError
from tacit.designs.standard_scheme.device import History
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import ItemId
from tacit.designs.standard_scheme.synchronised import Shared, Store
from tacit.errors import OutputError

Make = Callable[[State, Callable[[State], None]], Account]


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
            replace(self._path, (number + 1).to_bytes(8, "big") + data)
            return True


class Sharing:
    """store: a folder that all devices open, or any `Store`; None for one device alone."""

    def __init__(self, store: Store | str | os.PathLike[str] | None) -> None:
        if isinstance(store, str | os.PathLike):
            store = FileStore(Path(store) / "tacit-memory")
        self._store = store

    def speak(
        self,
        kept: Kept,
        make: Make,
        history: History,
        entered: Mapping[ItemId, int],
        now: int,
        items: Collection[ItemId],
    ) -> tuple[bytes | None, bool]:
        """The letter that is due, and whether another device has the right to send.

        The letter is in the store before this returns; the store's state takes the place of this
        device's. A memory that may be a second one begins no store, and one that was in a store
        decides nothing without it. items: all ids of the catalogue.
        """
        begin = kept.state or State(created=now)
        with _usable():
            empty = self._store is None or not self._store.read()[1]
            if empty and kept.device:
                raise RuntimeError("it is empty or not given, and this memory was in one")
            if self._store is None or (kept.lost and empty):
                return make(begin, lambda _: None).speak(history, entered, now), False
            device = kept.device = kept.device or secrets.token_hex(8)
            closed = begin.closed and not kept.lost
            seen = {**begin.arrivals, **entered}

            def bring(shared: Shared) -> None:
                shared.bring(device, history, seen, now)
                shared.state.closed |= closed

            own = Shared(kept.account or "", begin)
            letter, shared = synchronised.speak(self._store, device, own, make, bring, now, items)
            kept.state, kept.lost = shared.state, False
            return letter, shared.holder != device

    def forget(self, kept: Kept, forgotten: Callable[[State], State], now: int) -> State:
        """What is left of the state, here and in the store."""
        begin = kept.state or State(created=now)
        if self._store is None:
            return forgotten(begin)
        with _usable():
            return synchronised.forget(self._store, Shared(kept.account or "", begin), forgotten)


@contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, MessageError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(
            f"The synchronised store cannot be used: {reason}. Nothing was sent."
        ) from None
