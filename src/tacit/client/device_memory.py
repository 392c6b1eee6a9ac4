"""What a device stores next to the account's secret: reports, decisions, and its last scores.

One memory is one account's. A device that finds the account's secret without its memory treats the
memory as lost: what another memory may have decided is not decided again.

Several devices of one person share an account through a store that they own. It is read and written
when a letter is due, and at no other time: its changes tell nothing of when something was rated. It
is never at the service.
"""

from __future__ import annotations

import copy
import fcntl
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tacit.client.account import PRIVATE, kept_at, read_json, replace
from tacit.designs.standard_scheme import synchronised
from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.device import History
from tacit.designs.standard_scheme.memory import Record, State, lost
from tacit.designs.standard_scheme.messages import WEEK, ItemId, MessageError
from tacit.designs.standard_scheme.synchronised import Shared, Store
from tacit.errors import DataError, OutputError

_VERSION = 2


@dataclass
class Kept:
    """account: names the account; None for a new memory, "" for one that the next account takes.

    reports: of sketches, by campaign digest. The others are of the standard scheme:
    name: of the disclosure that the account answers. state: of its device.
    lost: whether another memory of this account may exist. forgotten: names an account that was
    forgotten here. tried: the second of the last attempt to speak.
    settled: the last epoch whose letter the service took or refused, -1 at first.
    tables: the disclosure that was followed last. answer: a letter's disclosure, and its scores.
    device: names this device in a synchronised store.
    """

    account: str | None = None
    reports: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    name: str | None = None
    state: State | None = None
    lost: bool = False
    forgotten: str | None = None
    tried: int = 0
    settled: int = -1
    tables: bytes = b""
    answer: tuple[bytes, bytes] = (b"", b"")
    device: str = ""


class Memory(Protocol):
    """Where a device remembers."""

    def turn(self) -> AbstractContextManager[Kept]:
        """One device at a time. What is in it at the end of the block is kept durably before the
        block is left; after an exception, nothing of it is."""
        ...


class PassingMemory:
    """Forgets at the end of the process: for tests, and for trying things out."""

    def __init__(self) -> None:
        self._kept = Kept()
        self._turn = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        with self._turn:
            kept = copy.deepcopy(self._kept)
            yield kept
            self._kept = kept


class FileMemory:
    """One account's memory in a file that only its owner reads; processes take turns.

    It says which items were rated and held back: keep it where the stars are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        """DataError for a file that is not as this version or version 1 writes it; OutputError if
        none can be written."""
        with kept_at(self._path):
            lock = os.open(self._path.with_name(self._path.name + ".lock"), *PRIVATE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with kept_at(self._path):
                before = self._read()
            kept = _decoded(before, self._path)
            yield kept
            after = _encoded(kept)
            if after != before:
                with kept_at(self._path):
                    replace(self._path, after)
        finally:
            os.close(lock)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return _encoded(Kept())


def _encoded(kept: Kept) -> bytes:
    content = {
        "version": _VERSION,
        "account": kept.account,
        "reports": {name: [epsilon, sent.hex()] for name, (epsilon, sent) in kept.reports.items()},
        "name": kept.name,
        "state": None if kept.state is None else kept.state.encode().decode(),
        "lost": kept.lost,
        "forgotten": kept.forgotten,
        "tried": kept.tried,
        "settled": kept.settled,
        "tables": kept.tables.decode(),
        "answer": [part.decode() for part in kept.answer],
        "device": kept.device,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def _decoded(data: bytes, path: Path) -> Kept:
    try:
        content = read_json(data)
        kept = {1: _of_version_1, _VERSION: _of_version_2}[content["version"]](content)
        kept.reports = {
            name: (_whole(epsilon), bytes.fromhex(sent))
            for name, (epsilon, sent) in content["reports"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataError(
            "is no memory of a device",
            path=path,
            expected=f"what version 1 or {_VERSION} writes",
            fix="Restore it from a copy: a device that forgets may spend more than it should.",
        ) from None
    return kept


def _of_version_2(content: dict[str, Any]) -> Kept:
    state = content["state"]
    tables, scores = content["answer"]
    return Kept(
        account=_text(content["account"]),
        name=_text(content["name"]),
        state=None if state is None else State.decode(state.encode()),
        lost=content["lost"] is True,
        forgotten=_text(content["forgotten"]),
        tried=_whole(content["tried"]),
        settled=_whole(content["settled"]),
        tables=content["tables"].encode(),
        answer=(tables.encode(), scores.encode()),
        device=_text(content["device"]) or "",
    )


def _of_version_1(content: dict[str, Any]) -> Kept:
    """Its dice and chances moved, so that an item could vanish and come back: all that it knew is
    held back, whatever its dice say."""
    items = list(map(_item_of_version_1, content["releases"]))
    if not items:
        return Kept(account="")
    state = lost((), int(time.time()), WEEK)
    held_back = Record(None, "", max(0, state.last_epoch))
    state.records = dict.fromkeys(items, held_back)
    return Kept(account="", state=state)


def _item_of_version_1(row: Any) -> ItemId:
    item, level, released, dice, bound_to = row
    if type(item) not in (int, str) or type(bound_to) is not str:
        raise ValueError
    for number in (level, *dice, *(() if released is None else (released,))):
        _whole(number)
    return item  # type: ignore[no-any-return]  # checked above


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError
    return value


def _text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise ValueError
    return value


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
