"""Power cuts, simulated: of what was not synced, any part may be lost or torn in sectors.

A recorded run is replayed through a file system that notes every write and sync. At any moment the
power may fail; then each sector that was written after the last sync of its file is there or not.
Needs the package `apsw`, which brings an SQLite of its own.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
from sqlalchemy import event

from tacit.ledger import Cap, open_ledger, sqlite
from tacit.ledger.checkpoints import newest_checkpoint
from tacit.ledger.log_state import LogState
from tacit.ledger.replay import read_transaction, replay
from tacit.ledger.sqlite import make_engine
from tests.support.ledger_requests import FILMS, ask, by_hand, count

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""


def shipped() -> tuple[str, ...]:
    """The settings of SQLite that the ledger makes, read from its own code."""
    return tuple(f"PRAGMA {name} = {value}" for name, value in sqlite.OWNER_SETTINGS.items())


UNSAFE = (*shipped(), "PRAGMA synchronous = normal")
DELETED = ("PRAGMA journal_mode = delete", "PRAGMA synchronous = full")

_OFTEN = 3
"""The log is emptied where the number of events so far can be divided by it."""
_BEFORE = 2
"""Entries before the recording: the ledger and its budget."""

Event = tuple[Any, ...]
"""("write", file, offset, bytes), ("truncate", file, size), ("delete", file), ("sync", file), or
("told",) for an acknowledged commit; a file is known by the end of its name."""


@dataclass(frozen=True)
class Recording:
    """A store before a run, and the statements of that run."""

    before: bytes
    statements: tuple[str, ...]


@dataclass(frozen=True)
class PowerReport:
    """How many of so many images after a power cut had lost something, and how many were broken.

    quick: those whose start began with a checkpoint.
    """

    images: int
    commits: int
    lost: int
    corrupt: int
    quick: int


def record(folder: Path, releases: int = 30) -> Recording:
    """A ledger with a budget, and so many releases on it, every third with a kept state, and a
    checkpoint after every fifth.
    """
    path = folder / "budgets.db"
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
    before = path.read_bytes()
    said: list[str] = []
    with open_ledger(path) as ledger:
        ledger._engine.dispose()
        event.listen(ledger._engine, "connect", lambda raw, _: raw.set_trace_callback(said.append))
        for n in range(releases):
            if n % 3:
                ask(ledger, f"k{n}", FILMS)
            else:
                count(ledger, f"k{n}", FILMS)
            if n % 5 == 4:
                ledger._checkpoints._catch_up(2, deadline=time.monotonic() + 60)
    asked = [line for line in _written(said) if not line.startswith(("PRAGMA", "--"))]
    # SQLite tells of a statement again when its trigger has run.
    return Recording(
        before, tuple(line for earlier, line in pairwise(["", *asked]) if line != earlier)
    )


def _written(said: Sequence[str]) -> Iterator[str]:
    """The statements without transactions that read."""
    reads = False
    for line in said:
        reads = reads or line == "BEGIN"
        if not reads:
            yield line
        reads = reads and not line.startswith(("COMMIT", "ROLLBACK"))


def cut(
    recording: Recording, settings: Sequence[str], folder: Path, images: int, seed: int
) -> PowerReport:
    """Replay under SQLite's `settings`, and cut the power at so many moments."""
    folder.mkdir(parents=True, exist_ok=True)
    events = _replayed(recording, settings, folder / "replayed.db")
    chance = random.Random(seed)  # noqa: S311  # which sectors are lost
    moments = sorted(chance.randrange(len(events)) for _ in range(images))
    disk = _Disk({"": bytearray(recording.before)})
    told = lost = corrupt = quick = at = 0
    for moment in moments:
        for kind, *details in events[at:moment]:
            if kind == "told":
                told += 1
            else:
                disk.happens(kind, *details)
        at = moment
        kept = _restarted(disk.after_a_cut(chance), folder / "image")
        corrupt += kept is None
        lost += kept is not None and kept.added < told
        quick += kept is not None and kept.quick
    return PowerReport(images, sum(kind == "told" for kind, *_ in events), lost, corrupt, quick)


@dataclass
class _Disk:
    """What is safe on the disk, and what the disk may still lose, by the end of a file's name."""

    safe: dict[str, bytearray | None]
    late: dict[str, list[Event]] = field(default_factory=dict)

    def happens(self, kind: str, name: str, *details: Any) -> None:
        if kind == "sync":
            self.safe[name] = _applied(self.safe.get(name), self.late.pop(name, []))
        else:
            self.late.setdefault(name, []).append((kind, *details))

    def after_a_cut(self, chance: random.Random) -> dict[str, bytearray]:
        """The files as they may be found: every late operation, and every sector, at a toss."""
        found = dict(self.safe)
        for name, operations in self.late.items():
            kept = [part for operation in operations for part in _torn(operation, chance)]
            if kept or name in found:
                found[name] = _applied(found.get(name), kept)
        return {name: content for name, content in found.items() if content is not None}


def _torn(operation: Event, chance: random.Random) -> list[Event]:
    """What is left of one operation."""
    if operation[0] != "write":
        return [operation] if chance.random() < 0.5 else []
    _, offset, data = operation
    return [
        ("write", offset + at, data[at : at + SECTOR])
        for at in range(0, len(data), SECTOR)
        if chance.random() < 0.5
    ]


def _applied(content: bytearray | None, operations: Sequence[Event]) -> bytearray | None:
    """A file after some operations; None where it does not exist."""
    result = None if content is None else bytearray(content)
    for kind, *details in operations:
        if kind == "delete":
            result = None
            continue
        result = bytearray() if result is None else result
        if kind == "truncate":
            del result[details[0] :]
        else:
            offset, data = details
            result.extend(b"\0" * (offset + len(data) - len(result)))
            result[offset : offset + len(data)] = data
    return result


def _replayed(recording: Recording, settings: Sequence[str], path: Path) -> list[Event]:
    """Writes, syncs and acknowledgements of the same run under other settings."""
    path.write_bytes(recording.before)
    noted: list[Event] = []
    disk = _NotingDisk(lambda *what: noted.append(what))
    connection = apsw.Connection(str(path), vfs="noting")
    for setting in settings:
        connection.execute(setting).fetchall()
    for statement in recording.statements:
        connection.execute(statement).fetchall()
        if statement.startswith("COMMIT"):
            noted.append(("told",))
            if len(noted) % _OFTEN == 0:  # as by the clock, after any commit
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    unfinished = list(noted)  # closing would tidy up, which a power cut does not
    connection.close()
    disk.unregister()
    return unfinished


@dataclass(frozen=True)
class _Restart:
    """added: entries since the recording began, one for each commit."""

    added: int
    quick: bool


def _restarted(files: dict[str, bytearray], folder: Path) -> _Restart | None:
    """What a restart finds; None if the store is broken, or its checkpoint tells something else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for end, content in files.items():
        (folder / f"image.db{end}").write_bytes(content)
    path = folder / "image.db"
    store = make_engine(path, patience=1)
    try:
        with by_hand(path) as file:
            whole = file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = replay(lambda: read_transaction(store))
        with read_transaction(store) as connection:
            told = newest_checkpoint(connection, found.head) or LogState()
        quick = told.start > 0
        whole = whole and replay(lambda: read_transaction(store), told) == found
    except Exception:  # whatever a broken file makes of it
        return None
    finally:
        store.dispose()
    return _Restart(found.entries - _BEFORE, quick) if whole and found.is_sound else None


class _NotingFile(apsw.VFSFile):
    """A file whose writes and syncs are noted."""

    def __init__(self, note: Callable[..., None], name: Any, flags: list[int]) -> None:
        self.note = note
        path = name if isinstance(name, str) or name is None else name.filename()
        self.end = (path or "").rpartition("replayed.db")[2]
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # apsw's name
        self.note("write", self.end, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # apsw's name
        self.note("truncate", self.end, size)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # apsw's name
        super().xSync(flags)
        self.note("sync", self.end)


class _NotingDisk(apsw.VFS):
    """The system's files, noted."""

    def __init__(self, note: Callable[..., None]) -> None:
        self.note = note
        super().__init__("noting", "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # apsw's name
        return _NotingFile(self.note, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # apsw's name
        super().xDelete(name, sync)
        end = name.rpartition("replayed.db")[2]
        self.note("delete", end)
        if sync:
            self.note("sync", end)
