"""SQLite as a store: one file, one owner, and a commit that survives a power cut.

Source     SQLite's documentation, "Write-Ahead Logging" and "PRAGMA locking_mode".
Assumes    A disk that keeps what it said it wrote, and locks that work: no network file system.
Guarantee  One connection of one process has the file, from its opening on (locking_mode=EXCLUSIVE).
           The write-ahead log before version 3.51.3 can corrupt a file where one connection
           commits while another one makes a checkpoint ("WAL-reset bug"). There is no other one
           here, and no shared memory through which it could come.
Deviations Checkpoints come by a clock and not by SQLite's count of pages, so that what a commit
           replaced is gone from both files after `LOG_EMPTIED_AFTER_S`. One is made at each
           opening, before anything is read: a process that was killed before a sync leaves
           commits that stand in the log and may not be on disk.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tacit.errors import OutputError, TacitError
from tacit.ledger.heads import sync_folder
from tacit.ledger.refusals import FAILED, LedgerFailed, LedgerHeld, LedgerRefused, LedgerUnavailable

if TYPE_CHECKING:
    from sqlalchemy.pool import QueuePool

OLDEST = (3, 37, 0)
"""The first version with STRICT tables, which keep fractions out of integer columns."""

LOG_EMPTIED_AFTER_S = 1.0
"""Seconds after a commit in which the write-ahead log is emptied. Until then it also holds what
later commits of that second replaced."""
_ENDS_WITHIN = 30.0
"""Seconds that a disk may take for what has begun when the ledger is closed."""
COPIED_AT_ONCE = 256
"""Pages of 4 KiB that are copied at once: a commit waits for so many."""
_NETWORK_FILE_SYSTEMS = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "smb2",
        "smb3",
        "smbfs",
    ]
)
_READER_SETTINGS = {"locking_mode": "exclusive", "foreign_keys": 1, "cell_size_check": 1}
OWNER_SETTINGS = {
    **_READER_SETTINGS,  # the lock's mode before the journal's: then there is no shared memory
    "journal_mode": "wal",
    "synchronous": 2,  # each commit syncs the log
    "secure_delete": 1,  # a kept state that was replaced is overwritten with zeros
    "wal_autocheckpoint": 0,
    "temp_store": 2,  # what a savepoint would restore stays in memory, not in a file beside
}


def engine(path: Path, *, patience: float, owns: bool = True) -> Engine:
    """Make an engine of one connection, whose settings are read back.

    Args:
        path: The file.
        patience: Seconds that a thread waits for the connection.
        owns: Whether the file is taken for spending; False leaves its kind of journal as it is.

    Raises:
        LedgerRefused: The file system or the linked SQLite is not safe.
        LedgerHeld: On connecting, at once, where another process or ledger has the file.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        raise LedgerRefused(
            f"SQLite {sqlite3.sqlite_version} is too old for a ledger, which needs 3.37 or newer."
        )
    check_local(path)
    made = create_engine(
        make_url("sqlite+pysqlite://").set(database=str(path)),
        connect_args={"timeout": 0, "check_same_thread": False, "factory": _OwnedConnection},
        paramstyle="named",
        pool_size=1,
        max_overflow=0,
        pool_timeout=patience,
    )
    event.listen(
        made,
        "connect",
        lambda raw, _: _take_file(raw, path, OWNER_SETTINGS if owns else _READER_SETTINGS),
    )
    event.listen(made, "begin", _begin)
    return made


class _OwnedConnection(sqlite3.Connection):
    """A connection of the process that made it.

    A fork has a copy, and closing that would tidy up the files under their owner's feet: there it
    is never closed.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._process = os.getpid()
        self._path: Path | None = None
        self._file_facts: tuple[int, ...] = ()
        self._log_facts: tuple[int, ...] = ()
        _ALL.add(self)

    def close(self) -> None:
        if os.getpid() == self._process:
            super().close()

    def note_file(self, path: Path) -> None:
        """Note how this connection left the file, to which no one else writes."""
        self._path = path
        self._file_facts = _file_facts(path)
        self._log_facts = _log_facts(path)

    def empty_log(self) -> None:
        """Move what was committed into the file, sync that, and empty the write-ahead log."""
        self.check()
        try:
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            if self._path is not None:
                self._file_facts = _file_facts(self._path)

    def check(self) -> None:
        """Refuse a file that another program changed.

        Between two checkpoints the owner writes to its log alone.

        Raises:
            LedgerRefused: The file was exchanged or written over, or its log was removed, which a
                lock does not prevent.
        """
        if self._path is None:
            return
        is_same_file = _file_facts(self._path) == self._file_facts
        if not is_same_file or _log_facts(self._path) != self._log_facts:
            raise LedgerRefused(
                "The ledger's file or its log was exchanged or changed while it was open. It is "
                "not used any more. Nothing was spent."
            )


_ALL: WeakSet[_OwnedConnection] = WeakSet()


def _file_facts(path: Path) -> tuple[int, ...]:
    """Return device, number, size and time of a file; nothing where there is none."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _log_facts(path: Path) -> tuple[int, ...]:
    """Return device and number of the write-ahead log: commits to a removed one would be lost."""
    return _file_facts(path.with_name(path.name + "-wal"))[:2]


def _keep_open() -> None:
    """Keep all connections in a fork: what is not freed is not closed."""
    for connection in list(_ALL):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


os.register_at_fork(after_in_child=_keep_open)


def check_local(path: Path, mounts: str | None = None) -> None:
    """Refuse a network file system, where locks and syncs mean less than they say.

    Args:
        path: The ledger's file.
        mounts: The text of /proc/self/mountinfo; None reads it. Without it nothing is refused.

    Raises:
        LedgerRefused: The file is on a network or user-space file system.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
    kind = _kind_of(path.resolve(), mounts)
    if kind in _NETWORK_FILE_SYSTEMS or kind.startswith("fuse."):
        raise LedgerRefused(
            f"The ledger's file is on a network or user-space file system ({kind}), whose locks "
            "and syncs cannot be relied on. Put it on a local disk, or use PostgreSQL."
        )


def _kind_of(path: Path, mounts: str) -> str:
    """Return the file system type of the deepest mount above `path`; of two alike the later."""
    deepest = -1
    kind = ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        words = left.split()
        if len(words) < 5 or not right:
            continue
        place = Path(words[4].replace("\\040", " "))
        if path.is_relative_to(place) and len(place.parts) >= deepest:
            deepest = len(place.parts)
            kind = right.split()[0]
    return kind


def _take_file(raw: _OwnedConnection, path: Path, settings: dict[str, Any]) -> None:
    """Take the file with these settings.

    Python's sqlite3 would begin transactions by itself; here `_begin` does.
    """
    raw.isolation_level = None
    try:
        for name, value in settings.items():
            raw.execute(f"PRAGMA {name} = {value}")
            found = raw.execute(f"PRAGMA {name}").fetchone()[0]
            if found != value:
                raise LedgerRefused(
                    f"SQLite does not take the setting {name} = {value}, without which a power cut "
                    f"could lose spending (it says {found}). The ledger is not used."
                )
        raw.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # now the lock is taken
        if settings is OWNER_SETTINGS:
            raw.empty_log()
            raw.note_file(path)
            try:  # SQLite ignores a failed sync of the folder, which could lose the log's name
                sync_folder(path.parent)
            except OSError:
                raise LedgerFailed(FAILED) from None
    except TacitError:
        raw.close()
        raise
    except sqlite3.Error as error:
        raw.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise LedgerHeld from None
        raise DBAPIError.instance(None, None, error, sqlite3.Error) from None


def _begin(connection: Connection) -> None:
    """Begin a transaction, for reading or for writing."""
    reads = connection.get_execution_options().get("ledger_reads", False)
    if not reads:
        cast("_OwnedConnection", connection.connection.driver_connection).check()
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def empty_write_ahead_log(engine: Engine) -> None:
    """Move what was committed into the file, and empty the write-ahead log."""
    connection = engine.raw_connection()
    try:
        cast("_OwnedConnection", connection.driver_connection).empty_log()
    except sqlite3.Error as error:
        raise DBAPIError.instance(None, None, error, sqlite3.Error) from None
    finally:
        connection.close()


def wait_for_connection(engine: Engine) -> None:
    """Wait for the connection, which another thread may still use.

    It is closed when it is back, and the file is held until then.
    """
    if cast("QueuePool", engine.pool).checkedout():
        with suppress(SQLAlchemyError):  # nobody gave it back in time
            engine.raw_connection().close()


def copy_store(engine: Engine, target: Path) -> None:
    """Copy the store, as it is when the copy ends, to a new file of the plain kind.

    Commits go on between its steps: SQLite writes what the copied connection changes into the copy
    as well.

    Raises:
        OutputError: The copy cannot be written; no file is left.
    """
    connection = engine.raw_connection()
    source = cast("sqlite3.Connection", connection.driver_connection)

    def give_way(*_: int) -> None:
        nonlocal connection
        connection.close()
        time.sleep(0.001)  # those who wait take it first
        connection = engine.raw_connection()

    try:
        with new_file(target) as part, closing(sqlite3.connect(part)) as new:
            source.backup(new, pages=COPIED_AT_ONCE, progress=give_way)
            new.execute("PRAGMA journal_mode = DELETE").fetchone()
    finally:
        connection.close()


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Give a file next to the target, which gets its name when all of it is on disk."""
    if target.exists():
        raise OutputError(f"{target}: is there already. Name a new file.")
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.rename(target)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or "the copy did not succeed"
        raise OutputError(
            f"{target}: cannot be written ({reason}). Nothing is left there."
        ) from None
    finally:
        part.unlink(missing_ok=True)


class LogEmptier:
    """Empties the write-ahead log a second after the first commit that it holds."""

    def __init__(self, empty: Callable[[], None]) -> None:
        """Keep the function that empties it; if it raises LedgerUnavailable, it is called again."""
        self._empty = empty
        self._lock = threading.Lock()
        self._working = threading.Lock()
        self._timer: threading.Timer | None = None
        self._ended = False

    def note_commit(self) -> None:
        """Take note of a commit; the log is emptied `LOG_EMPTIED_AFTER_S` seconds later."""
        with self._lock:
            if self._timer is None and not self._ended:
                self._timer = threading.Timer(LOG_EMPTIED_AFTER_S, self._run)
                self._timer.daemon = True
                with suppress(RuntimeError):  # no thread starts while Python exits
                    self._timer.start()

    def end(self) -> None:
        """Stop, once work that has begun is done.

        Otherwise it would hold the file, or take it again, when its next owner comes. Closing the
        file empties the log once more.
        """
        with self._lock:
            self._ended = True
            timer = self._timer
        if timer is not None:
            timer.cancel()
        if self._working.acquire(timeout=_ENDS_WITHIN):
            self._working.release()

    def _run(self) -> None:
        with self._lock:
            self._timer = None  # the next commit starts a new timer
        with self._working:
            try:
                if not self._ended:
                    self._empty()
            except LedgerUnavailable as error:
                if not isinstance(error, LedgerFailed):
                    self.note_commit()
            except TacitError:
                pass  # the ledger has stopped, and says why
