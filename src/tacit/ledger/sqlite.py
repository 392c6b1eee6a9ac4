"""SQLite as a store: one file, one owner, and a commit that survives a power cut.

Source     SQLite's documentation, "Write-Ahead Logging" and "PRAGMA locking_mode".
Assumes    A disk that keeps what it said it wrote, and locks that work: no network file system.
Guarantee  From its opening on, one connection of one process has the file (locking_mode=EXCLUSIVE).
           SQLite before version 3.51.3 can corrupt a file in write-ahead mode if one connection
           commits while another makes a checkpoint ("WAL-reset bug"). Here there is no other
           connection, and no shared memory through which one could come.
Deviations SQLite's checkpoints move commits from the write-ahead log into the file. Here a timer
           starts them, not SQLite's count of pages, so that data that a commit replaced is gone
           from the file and the log after `WAL_CHECKPOINT_AFTER_S`. Each opening for spending makes
           a checkpoint before anything is read, because a process that was killed before a sync
           leaves commits in the log that may not be on disk.
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

OLDEST_VERSION = (3, 37, 0)
"""The first version with STRICT tables, which keep fractions out of integer columns."""

WAL_CHECKPOINT_AFTER_S = 1.0
"""Seconds from a commit until SQLite's write-ahead log is emptied. Until then the log also holds
data that later commits replaced."""
_END_SECONDS = 30.0
"""Longest time, in seconds, that closing a ledger waits for a checkpoint of the write-ahead log."""
COPIED_AT_ONCE = 256
"""Pages of 4 KiB that a backup copies in one step, for which a commit has to wait."""
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
"""Types in /proc/self/mountinfo; file systems in user space, `fuse.*`, are refused as well."""
_READER_SETTINGS = {"locking_mode": "exclusive", "foreign_keys": 1, "cell_size_check": 1}
"""Pragmas and their values, for a connection that only reads."""
OWNER_SETTINGS = {
    **_READER_SETTINGS,  # locking_mode before journal_mode: then SQLite uses no shared memory
    "journal_mode": "wal",
    "synchronous": 2,  # each commit syncs the log
    "secure_delete": 1,  # a stored state that was replaced is overwritten with zeros
    "wal_autocheckpoint": 0,
    "temp_store": 2,  # data for undoing a savepoint stays in memory and is in no temporary file
}
"""Pragmas and their values, for the connection that spends."""


def make_engine(path: Path, *, patience: float, owns: bool = True) -> Engine:
    """Make an engine of one connection, which is checked and locks the file when it is opened.

    Args:
        path: The file.
        patience: Seconds that a thread waits for the connection.
        owns: Whether the file is opened for spending; False opens it for reading, and does not
            change its journal mode.

    Raises:
        LedgerRefused: The file system or the linked SQLite is not safe; on connecting, if SQLite
            does not take a setting.
        LedgerHeld: On connecting, without waiting, if another process or `Ledger` has the file.
    """
    if sqlite3.sqlite_version_info < OLDEST_VERSION:
        raise LedgerRefused(
            f"SQLite {sqlite3.sqlite_version} is too old for a ledger, which needs 3.37 or newer."
        )
    check_local(path)
    settings = OWNER_SETTINGS if owns else _READER_SETTINGS
    new_engine = create_engine(
        make_url("sqlite+pysqlite://").set(database=str(path)),
        connect_args={"timeout": 0, "check_same_thread": False, "factory": _OwnedConnection},
        paramstyle="named",
        pool_size=1,
        max_overflow=0,
        pool_timeout=patience,
    )
    event.listen(new_engine, "connect", lambda raw, _: _take_file(raw, path, settings))
    event.listen(new_engine, "begin", _begin_transaction)
    return new_engine


class _OwnedConnection(sqlite3.Connection):
    """A connection that only the process that made it closes.

    A forked process has a copy of it. Closing the copy would empty and remove files that the owner
    still uses.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Connect with the arguments of `sqlite3.Connection`."""
        super().__init__(*arguments, **options)
        self._process = os.getpid()
        self._path: Path | None = None  # the ledger's file, after `note_file`
        self._file_facts: tuple[int, ...] = ()
        self._log_facts: tuple[int, ...] = ()
        _CONNECTIONS.add(self)

    def close(self) -> None:
        """Close the connection, unless this is a forked process."""
        if os.getpid() == self._process:
            super().close()

    def note_file(self, path: Path) -> None:
        """Remember the present state of the file and its log, for `check`."""
        self._path = path
        self._file_facts = _file_facts(path)
        self._log_facts = _log_facts(path)

    def checkpoint_wal(self) -> None:
        """Move all commits into the file, sync it, and empty the write-ahead log.

        Raises:
            LedgerRefused: Another program changed the file.
        """
        self.check()
        try:
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            if self._path is not None:
                self._file_facts = _file_facts(self._path)

    def check(self) -> None:
        """Check that no other program changed the file, which a lock does not prevent.

        Between two calls of `checkpoint_wal` this connection writes to the write-ahead log only, so
        only another program can have changed the file itself. Before a call of `note_file`,
        nothing is checked.

        Raises:
            LedgerRefused: The file was exchanged or written over, or its log was removed.
        """
        if self._path is None:
            return
        is_same_file = _file_facts(self._path) == self._file_facts
        if not is_same_file or _log_facts(self._path) != self._log_facts:
            raise LedgerRefused(
                "The ledger's file or its log was exchanged or changed while it was open. It is "
                "not used any more. Nothing was spent."
            )


_CONNECTIONS: WeakSet[_OwnedConnection] = WeakSet()
"""All connections of this process, and after a fork those of its parent."""


def _file_facts(path: Path) -> tuple[int, ...]:
    """Return device, inode, size in bytes and time of change of a file.

    The tuple is empty if the file does not exist or cannot be inspected.
    """
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _log_facts(path: Path) -> tuple[int, ...]:
    """Return device and inode of the write-ahead log of a ledger's file; () if there is no log.

    They show whether the log was removed, after which commits to it would be lost.
    """
    return _file_facts(path.with_name(path.name + "-wal"))[:2]


def _keep_connections_open() -> None:
    """Add a reference to each connection in a forked process, so that Python never closes it."""
    for connection in list(_CONNECTIONS):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


os.register_at_fork(after_in_child=_keep_connections_open)


def check_local(path: Path, mounts: str | None = None) -> None:
    """Check that a file is on no network file system, whose locks and syncs are not reliable.

    Args:
        path: The ledger's file.
        mounts: The text of /proc/self/mountinfo; None reads it. If it cannot be read, as on systems
            other than Linux, every file passes.

    Raises:
        LedgerRefused: The file is on a network or user-space file system.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
    file_system = _file_system_of(path.resolve(), mounts)
    if file_system in _NETWORK_FILE_SYSTEMS or file_system.startswith("fuse."):
        raise LedgerRefused(
            f"The ledger's file is on a network or user-space file system ({file_system}), whose "
            "locks and syncs cannot be relied on. Put it on a local disk, or use PostgreSQL."
        )


def _file_system_of(path: Path, mounts: str) -> str:
    r"""Return the file system type of the deepest mount above a path; "" if there is none.

    Each line of `mounts` holds the mount point as its fifth word, in which \040 stands for a
    blank, and the type as the first word after " - ". Of two mounts at the same point, the later
    line hides the earlier.
    """
    depth = -1
    file_system = ""
    for line in mounts.splitlines():
        mount_fields, _, type_fields = line.partition(" - ")
        words = mount_fields.split()
        if len(words) < 5 or not type_fields:
            continue
        mount_point = Path(words[4].replace("\\040", " "))
        if path.is_relative_to(mount_point) and len(mount_point.parts) >= depth:
            depth = len(mount_point.parts)
            file_system = type_fields.split()[0]
    return file_system


def _take_file(raw: _OwnedConnection, path: Path, settings: dict[str, Any]) -> None:
    """Apply settings to a new connection, and lock the file; close the connection after an error.

    For the owner's settings, the write-ahead log is moved into the file, and the folder is synced.

    Args:
        raw: SQLite's connection.
        path: The file.
        settings: Names of pragmas and their values.

    Raises:
        LedgerRefused: SQLite does not take a setting.
        LedgerHeld: Another process or `Ledger` has the file.
        LedgerFailed: The folder cannot be synced.
        DBAPIError: SQLite reports another error.
    """
    raw.isolation_level = None  # Python begins no transactions: `_begin_transaction` does
    try:
        for name, value in settings.items():
            raw.execute(f"PRAGMA {name} = {value}")
            answer = raw.execute(f"PRAGMA {name}").fetchone()[0]
            if answer != value:
                raise LedgerRefused(
                    f"SQLite does not take the setting {name} = {value}, which a ledger needs (it "
                    f"says {answer}). The ledger is not used."
                )
        raw.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # this takes the lock
        if settings is OWNER_SETTINGS:
            raw.checkpoint_wal()
            raw.note_file(path)
            try:  # SQLite syncs the folder too, but ignores a failure, which may lose the log
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


def _begin_transaction(connection: Connection) -> None:
    """Begin a transaction; before one for writing, check that no other program changed the file."""
    is_read_only = connection.get_execution_options().get("ledger_reads", False)
    if not is_read_only:
        cast("_OwnedConnection", connection.connection.driver_connection).check()
    connection.exec_driver_sql("BEGIN" if is_read_only else "BEGIN IMMEDIATE")


def checkpoint_wal(engine: Engine) -> None:
    """Move all commits of the engine's connection into the file, and empty its write-ahead log."""
    connection = engine.raw_connection()
    try:
        cast("_OwnedConnection", connection.driver_connection).checkpoint_wal()
    except sqlite3.Error as error:
        raise DBAPIError.instance(None, None, error, sqlite3.Error) from None
    finally:
        connection.close()


def wait_for_connection(engine: Engine) -> None:
    """Wait until no other thread uses the engine's connection any more.

    Disposing of the engine closes the connection only then, and until it is closed the file stays
    locked.
    """
    if cast("QueuePool", engine.pool).checkedout():
        with suppress(SQLAlchemyError):  # a timeout: the other thread did not return it
            engine.raw_connection().close()


def copy_store(engine: Engine, target: Path) -> None:
    """Copy the store, with all commits up to the end of the copy, to a new file.

    Other threads use the same connection between the steps of the copy, and SQLite writes their
    commits into the copy as well.

    Args:
        engine: The store.
        target: The new file.

    Raises:
        OutputError: There is a file at the target, or the copy did not succeed; then no file is
            left.
    """
    connection = engine.raw_connection()
    source = cast("sqlite3.Connection", connection.driver_connection)

    def let_others_commit(*_: int) -> None:
        """Return the connection to the pool for a moment, so that a waiting thread gets it."""
        nonlocal connection
        connection.close()
        time.sleep(0.001)
        connection = engine.raw_connection()

    try:
        with new_file(target) as temporary, closing(sqlite3.connect(temporary)) as copy:
            source.backup(copy, pages=COPIED_AT_ONCE, progress=let_others_commit)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
    finally:
        connection.close()


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield the path of an empty temporary file, and rename it to the target after the block.

    The file is synced before that, and only its owner may read it. After an error no file is left.

    Raises:
        OutputError: There is a file at the target, or an error of the operating system or of SQLite
            ends the block or the renaming.
    """
    if target.exists():
        raise OutputError(f"{target} is there already. Name a new file.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.rename(target)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or "SQLite reports an error"
        raise OutputError(
            f"{target}: the copy did not succeed ({reason}). Nothing is left there."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


class WalCheckpointer:
    """Empties SQLite's write-ahead log a second after the first commit that is in it.

    SQLite calls this a checkpoint: all commits are moved from the log into the file. It has nothing
    to do with the checkpoints of the ledger's own log.
    """

    def __init__(self, checkpoint_wal: Callable[[], None]) -> None:
        """Prepare a timer, which the first commit starts.

        Args:
            checkpoint_wal: Moves all commits into the file. If it raises LedgerUnavailable, but not
                LedgerFailed, it is called again after `WAL_CHECKPOINT_AFTER_S`.
        """
        self._checkpoint_wal = checkpoint_wal
        self._lock = threading.Lock()
        """Held while the timer or `_has_ended` changes."""
        self._running = threading.Lock()
        """Held during a checkpoint."""
        self._timer: threading.Timer | None = None
        self._has_ended = False

    def note_commit(self) -> None:
        """Start the timer of `WAL_CHECKPOINT_AFTER_S` after a commit, unless it runs."""
        with self._lock:
            if self._timer is None and not self._has_ended:
                self._timer = threading.Timer(WAL_CHECKPOINT_AFTER_S, self._run)
                self._timer.daemon = True
                with suppress(RuntimeError):  # no thread starts while Python exits
                    self._timer.start()

    def end(self) -> None:
        """Stop the timer, and wait up to `_END_SECONDS` for a checkpoint that has begun.

        Without this, the file could still be in use when its next owner opens it. SQLite itself
        makes one more checkpoint when the file is closed.
        """
        with self._lock:
            self._has_ended = True
            timer = self._timer
        if timer is not None:
            timer.cancel()
        if self._running.acquire(timeout=_END_SECONDS):
            self._running.release()

    def _run(self) -> None:
        """Make a checkpoint when the timer has run; start it again if the store is unavailable."""
        with self._lock:
            self._timer = None  # the next commit starts a new timer
        with self._running:
            try:
                if not self._has_ended:
                    self._checkpoint_wal()
            except LedgerUnavailable as error:
                if not isinstance(error, LedgerFailed):
                    self.note_commit()
            except TacitError:
                pass  # the ledger has stopped: its next use raises this error
