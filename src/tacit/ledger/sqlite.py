"""SQLite as a store: one file, one writer at a time, and a commit that survives a power cut.

Source     SQLite's documentation, "Atomic commit in SQLite" and "PRAGMA synchronous".
Assumes    A disk that keeps what it said it wrote, and locks that work: no network file system.
Deviations No write-ahead log: before version 3.51.3 it can corrupt a file with several writers, and
           one mode that is tested everywhere beats two. TRUNCATE with EXTRA syncs the journal's end
           as well, so that a commit cannot be rolled back after it was acknowledged.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError

from tacit.ledger.refusals import LedgerRefused

OLDEST = (3, 37, 0)
"""The first version with STRICT tables, which keep fractions out of integer columns."""

_STEP = 0.0005
"""Seconds between two tries to take a lock."""
_NETWORK = (
    "9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "orangefs", "smb2", "smb3", "smbfs",
)  # fmt: skip
_SETTINGS = {
    "journal_mode": "truncate",
    "synchronous": 3,
    "foreign_keys": 1,
    "cell_size_check": 1,
    "secure_delete": 1,  # a kept state that was replaced is overwritten with zeros
}


def engine(path: Path, *, patience: float) -> Engine:
    """Connections whose settings were read back. patience: seconds to wait for the writer's place.

    LedgerRefused where the file system or the linked SQLite is not safe.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        raise LedgerRefused(
            f"SQLite {sqlite3.sqlite_version} is too old for a ledger, which needs 3.37 or newer."
        )
    check_local(path)
    made = create_engine(
        make_url("sqlite+pysqlite://").set(database=str(path)),
        connect_args={"timeout": patience, "check_same_thread": False},
        paramstyle="named",
        # Kept, because the settings of a new one cost more than a transaction; and few, because
        # more would only try in turns for the one place that writes.
        pool_size=8,
        max_overflow=0,
        pool_timeout=patience,
    )

    def begin(connection: Connection) -> None:
        _begin(connection, patience)

    def commit(connection: Connection) -> None:
        _in_turn(connection, "COMMIT", patience)

    event.listen(made, "connect", _settle)
    event.listen(made, "begin", begin)
    event.listen(made, "commit", commit)
    return made


def check_local(path: Path, mounts: str | None = None) -> None:
    """LedgerRefused on a network file system, where locks and syncs mean less than they say.

    mounts: the text of /proc/self/mountinfo; read there if left out, unknown where there is none.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
    kind = _kind_of(path.resolve(), mounts)
    if kind in _NETWORK or kind.startswith("fuse."):
        raise LedgerRefused(
            f"The ledger's file is on a network or user-space file system ({kind}), whose locks "
            "and syncs cannot be relied on. Put it on a local disk, or use PostgreSQL."
        )


def _kind_of(path: Path, mounts: str) -> str:
    """The file system type of the deepest mount above `path`; of two on one place the later."""
    found = (-1, "")
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        words = left.split()
        if len(words) < 5 or not right:
            continue
        place = Path(words[4].replace("\\040", " "))
        if path.is_relative_to(place) and len(place.parts) >= found[0]:
            found = (len(place.parts), right.split()[0])
    return found[1]


def _settle(raw: Any, _record: object) -> None:
    """SQLAlchemy's connections begin by themselves; here `_begin` says how."""
    raw.isolation_level = None
    cursor = raw.cursor()
    for name, value in _SETTINGS.items():
        cursor.execute(f"PRAGMA {name} = {value}")
        found = cursor.execute(f"PRAGMA {name}").fetchone()[0]
        if found != value:
            raise LedgerRefused(
                f"SQLite does not take the setting {name} = {value}, without which a power cut "
                "could lose spending. The ledger is not used."
            )
    cursor.execute("PRAGMA busy_timeout = 0")  # from here on `_in_turn` waits
    cursor.close()


def _begin(connection: Connection, patience: float) -> None:
    """A writer takes its place before it reads, so nothing it read can change under it. A reader
    takes its own at once as well: a transaction that has begun does not wait until the commit."""
    reads = connection.get_execution_options().get("ledger_reads", False)
    if reads:
        connection.exec_driver_sql("BEGIN")
    first = "SELECT 1 FROM sqlite_schema LIMIT 1" if reads else "BEGIN IMMEDIATE"
    _in_turn(connection, first, patience)


def _in_turn(connection: Connection, statement: str, patience: float) -> None:
    """Waits in steps of half a millisecond. SQLite's own grow to a hundred, and where two processes
    write in turns, each then sleeps through most of the other's pauses. Only BUSY is tried again:
    after any other error of a COMMIT the transaction may be gone, or on disk."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    end = time.monotonic() + patience
    while True:
        try:
            raw.execute(statement).fetchone()
            return
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise DBAPIError.instance(statement, None, error, sqlite3.Error) from None
        time.sleep(_STEP)
