"""Power cuts, simulated: of what was not synced, any part may be lost or torn in sectors.

A recorded run is replayed through a file system that notes every write and sync. At any moment the
power may fail; then each sector that was written after the last sync of its file is there or not.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from sqlalchemy import event

from tacit.ledger import Cap, open_ledger
from tacit.ledger.replaying import replay
from tacit.ledger.sqlite import engine
from tacit.ledger.store import reading
from tacit.testing.ledgers import FILMS, ask

apsw = pytest.importorskip("apsw", reason="the extra 'dev' is not installed")

SECTOR = 512
SHIPPED = ("PRAGMA journal_mode = truncate", "PRAGMA synchronous = extra")
UNSAFE = ("PRAGMA journal_mode = wal", "PRAGMA synchronous = normal")


@dataclass
class Disk:
    """What is safe on the disk, and what the disk may still lose, by the end of a file's name."""

    safe: dict[str, bytearray]
    late: dict[str, list] = field(default_factory=dict)

    def happens(self, kind, name, *details):
        if kind == "sync":
            self.safe[name] = applied(self.safe.get(name), self.late.pop(name, []))
        else:
            self.late.setdefault(name, []).append((kind, *details))

    def after_a_cut(self, chance):
        """The files as they may be found: every late operation, and every sector, at a toss."""
        found = dict(self.safe)
        for name, operations in self.late.items():
            kept = [part for operation in operations for part in torn(operation, chance)]
            if kept or name in found:
                found[name] = applied(found.get(name), kept)
        return {name: content for name, content in found.items() if content is not None}


def torn(operation, chance):
    """What is left of one operation."""
    if operation[0] != "write":
        return [operation] if chance.random() < 0.5 else []
    _, offset, data = operation
    return [
        ("write", offset + at, data[at : at + SECTOR])
        for at in range(0, len(data), SECTOR)
        if chance.random() < 0.5
    ]


def applied(content, operations):
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


class NotingFile(apsw.VFSFile):
    """A file whose writes and syncs are noted."""

    def __init__(self, note, name, flags):
        self.note = note
        path = name if isinstance(name, str) or name is None else name.filename()
        self.end = (path or "").rpartition("replayed.db")[2]
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        self.note("write", self.end, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, size):
        self.note("truncate", self.end, size)
        super().xTruncate(size)

    def xSync(self, flags):
        super().xSync(flags)
        self.note("sync", self.end)


class NotingDisk(apsw.VFS):
    """The system's files, noted."""

    def __init__(self, note):
        self.note = note
        super().__init__("noting", "")

    def xOpen(self, name, flags):
        return NotingFile(self.note, name, flags)

    def xDelete(self, name, sync):
        super().xDelete(name, sync)
        end = name.rpartition("replayed.db")[2]
        self.note("delete", end)
        if sync:
            self.note("sync", end)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A store with a budget, and the statements of thirty releases on it."""
    path = tmp_path_factory.mktemp("power") / "budgets.db"
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
    before = path.read_bytes()
    statements = []
    with open_ledger(path) as ledger:
        ledger._engine.dispose()
        event.listen(
            ledger._engine, "connect", lambda raw, _: raw.set_trace_callback(statements.append)
        )
        for n in range(30):
            ask(ledger, f"k{n}", FILMS)
    asked = [said for said in statements if not said.startswith(("PRAGMA", "--"))]
    # SQLite tells of a statement again when its trigger has run.
    return before, [said for earlier, said in pairwise(["", *asked]) if said != earlier]


def events_of(recorded, settings, path):
    """Writes, syncs and acknowledgements of the same run under other settings."""
    before, statements = recorded
    path.write_bytes(before)
    noted = []
    disk = NotingDisk(lambda *what: noted.append(what))
    connection = apsw.Connection(str(path), vfs="noting")
    for setting in settings:
        connection.execute(setting).fetchall()
    for statement in statements:
        connection.execute(statement).fetchall()
        if statement.startswith("COMMIT"):
            noted.append(("told",))
    unfinished = list(noted)  # closing would tidy up, which a power cut does not
    connection.close()
    disk.unregister()
    return before, unfinished


def lost_or_corrupt(events, before, folder, images, seed):
    """How many of so many power cuts lost an acknowledged release, or left a broken file."""
    chance = random.Random(seed)  # noqa: S311  # which sectors are lost
    moments = sorted(chance.randrange(len(events)) for _ in range(images))
    disk, told, bad, at = Disk({"": bytearray(before)}), 0, 0, 0
    for moment in moments:
        for kind, *details in events[at:moment]:
            if kind == "told":
                told += 1
            else:
                disk.happens(kind, *details)
        at = moment
        bad += not survives(disk.after_a_cut(chance), told, folder)
    return bad


def survives(files, told, folder):
    """Whether a restart finds a whole store with at least the acknowledged releases."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for end, content in files.items():
        (folder / f"image.db{end}").write_bytes(content)
    path = folder / "image.db"
    try:
        connection = sqlite3.connect(path)
        whole = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        store = engine(path, patience=1)
        with reading(store) as opened:
            found = replay(opened)
        store.dispose()
    except Exception:
        return False
    return whole and found.sound and found.releases >= told


def test_acknowledged_releases_survive(recorded, tmp_path):
    """With the shipped settings no acknowledged release is lost and no file is broken."""
    before, events = events_of(recorded, SHIPPED, tmp_path / "replayed.db")
    assert sum(kind == "told" for kind, *_ in events) >= 30
    assert lost_or_corrupt(events, before, tmp_path / "image", 60, seed=1) == 0


def test_the_simulation_finds_what_is_unsafe(recorded, tmp_path):
    """A write-ahead log that is not synced at each commit loses acknowledged releases."""
    before, events = events_of(recorded, UNSAFE, tmp_path / "replayed.db")
    assert lost_or_corrupt(events, before, tmp_path / "image", 20, seed=1) > 5


@pytest.mark.long
def test_a_thousand_power_cuts(recorded, tmp_path):
    """The same a thousand times."""
    before, events = events_of(recorded, SHIPPED, tmp_path / "replayed.db")
    assert lost_or_corrupt(events, before, tmp_path / "image", 1000, seed=2) == 0
