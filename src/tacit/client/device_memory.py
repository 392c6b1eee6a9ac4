"""What a device stores next to the account's secret: reports, decisions, and its last scores.

One memory is one account's. A device that finds the account's secret without its memory treats the
memory as lost: what another memory may have decided is not decided again.
"""

from __future__ import annotations

import copy
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.client.account import PRIVATE, kept_at, read_json, replace
from tacit.designs.standard_scheme.memory import Record, State, lost
from tacit.designs.standard_scheme.messages import WEEK, ItemId
from tacit.errors import DataError, PrivacyError

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


class Memory:
    """Forgets at the end of the process: for tests, and for trying things out."""

    def __init__(self) -> None:
        self._kept = Kept()
        self._turn = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        """One device at a time. What is in it at the end of the block is kept durably, where there
        is a file, before the block is left; after an exception, nothing of it is."""
        with self._turn:
            kept = copy.deepcopy(self._kept)
            yield kept
            self._kept = kept


class FileMemory(Memory):
    """One account's memory in a file that only its owner reads; processes take turns.

    It says which items were rated and held back: keep it where the stars are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        """DataError for a file that is not as this version or version 1 writes it, PrivacyError for
        a memory that several devices shared; OutputError if none can be written."""
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
        "device": "",
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


class SharedMemory(PrivacyError):
    """Other devices may have decided anything: this memory decides nothing and sends nothing."""


def _of_version_2(content: dict[str, Any]) -> Kept:
    if content["device"]:  # others of the store may have decided anything
        raise SharedMemory(
            "This memory was shared with other devices through a store, which this version cannot "
            "do. Forget the account, and make a new one with another memory."
        )
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
