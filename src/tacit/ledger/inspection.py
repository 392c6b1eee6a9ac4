"""Inspection of a ledger without opening it for spending; backups of a ledger in a file.

An inspection reports where the log, the tables and the second place disagree; the second place
remembers the last entry of the log. Only what cannot be read at all is an error. A backup can be
made while the ledger is in use: the service that has it open sends a copy to other processes of its
user over a Unix socket, PATH.owner/socket. A backup that is older than the second place lacks
spending that was acknowledged. Restoring it would give that budget back, so it is refused.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingUnixStreamServer
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import ConfigError, OutputError, TacitError
from tacit.ledger import sqlite
from tacit.ledger.addresses import default_head_path, parse_address
from tacit.ledger.chain import Head
from tacit.ledger.heads import HeadStore, check_remembered_head
from tacit.ledger.opener import connect_to
from tacit.ledger.postgres import close_connections
from tacit.ledger.refusals import LedgerHeld, LedgerRefused, explain_store_error
from tacit.ledger.replay import Verification, hash_at, read_transaction, replay
from tacit.ledger.requests import Balance
from tacit.ledger.schema import has_tables, log
from tacit.ledger.states import StoredState, list_states
from tacit.ledger.store import Ledger
from tacit.ledger.transactions import read_balances


@dataclass(frozen=True)
class Inspection:
    """The content of a ledger.

    The entries are those that the replay read. In a store in use, balances and states may be newer.
    """

    verification: Verification
    """Findings of a replay of its log."""
    balances: tuple[Balance, ...]
    """All budgets, in the order in which they were opened."""
    states: tuple[StoredState, ...]
    """All stored states, by name."""
    entries: tuple[dict[str, Any], ...]
    """All entries of the log, oldest first."""


def _find_in_folder(folder: Path) -> Path:
    """Return the ledger's file in a service's folder; ConfigError if there is none."""
    file = folder / "budgets.db"
    if not file.exists():
        raise ConfigError(
            f"{folder}: this folder has no ledger. Expected budgets.db, as a service has it; or "
            "name the ledger's file, or its postgresql:// address as in tacit.toml."
        )
    return file


def inspect_ledger(
    where: str | Path, *, second: str | Path | HeadStore | None = None
) -> Inspection:
    """Read all of a ledger and compare it with the second place, without a change to either.

    Args:
        where: The path or the address of the ledger, or the folder of a service.
        second: The second place, as in `open_ledger`.

    Raises:
        ConfigError: There is no ledger.
        LedgerHeld: A program that is not a service has the file open.
        LedgerRefused, LedgerUnavailable: The store or the second place cannot be read.
        OutputError: The service that has the file open could not make a copy.
    """
    if Path(where).is_dir():
        where = _find_in_folder(Path(where))
    engine, heads, path = connect_to(where, second, patience=30.0, owns=False)
    if path is not None and not path.exists():
        raise ConfigError("There is no ledger here. Check the path or the address.")
    try:
        # The second place is read first: a store in use gains entries, so it is never behind this
        # head unless it is an older copy.
        remembered_head, problem = _read_second_place(heads)
        try:
            return _inspect_store(engine, remembered_head, problem)
        except LedgerHeld as held_error:
            if path is None:
                raise
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / path.name
                _fetch_copy(path, copy, held_error)
                copy_engine = sqlite.make_engine(copy, patience=30.0, owns=False)
                return _inspect_store(copy_engine, remembered_head, problem)
    except SQLAlchemyError as error:
        raise explain_store_error(error) from None
    finally:
        close_connections(engine, heads)


def _read_second_place(heads: HeadStore) -> tuple[Head | None, str]:
    """Read the copy of the head that is kept in the second place.

    Returns:
        The head, None if it is missing or damaged; and a sentence on what is wrong with the second
        place, "" if nothing is.

    Raises:
        LedgerUnavailable: The second place cannot be reached.
    """
    try:
        remembered_head = heads.read()
    except LedgerRefused as refused:
        return None, str(refused)
    if remembered_head is None:
        return None, "The second place of the ledger's head is missing."
    return remembered_head, ""


def _inspect_store(engine: Engine, remembered_head: Head | None, problem: str) -> Inspection:
    """Read all of a store, and compare it with the head in the second place.

    Args:
        engine: The store.
        remembered_head: The head in the second place; None if it is missing or damaged.
        problem: A sentence on what is wrong with the second place itself; "" if nothing is.

    Returns:
        The inspection. The last of its problems is `problem`, or a sentence on how the store and
        the head disagree, if there is either.

    Raises:
        ConfigError: The store has no ledger.
    """
    with read_transaction(engine) as connection:
        if not has_tables(connection):
            raise ConfigError("There is no ledger here. Check the path or the address.")
    result = replay(lambda: read_transaction(engine))
    with read_transaction(engine) as connection:
        if remembered_head is not None:
            try:
                check_remembered_head(
                    remembered_head, result.head, lambda number: hash_at(connection, number)
                )
            except LedgerRefused as refused:
                problem = str(refused)
        if problem:
            result = replace(result, problems=(*result.problems, problem))
        entries = select(log).where(log.c.sequence <= result.entries).order_by(log.c.sequence)
        return Inspection(
            verification=result,
            balances=tuple(read_balances(connection)),
            states=list_states(connection),
            entries=tuple(dict(row) for row in connection.execute(entries).mappings()),
        )


def backup(where: str | Path, target: Path) -> None:
    """Copy a ledger, as it is at one moment, to a new file that only its owner may read.

    If a service has the ledger open, the service makes the copy, and its commits go on meanwhile.

    Args:
        where: The path of the ledger.
        target: The new file.

    Raises:
        ConfigError: There is no ledger, or it is in PostgreSQL.
        OutputError: There is a file at the target, or the copy did not succeed; then no file is
            left.
        LedgerHeld: A program that is not a service has the file open.
        LedgerRefused: The file is damaged or no database, or the file system or the linked SQLite
            is not safe.
        LedgerUnavailable: The file cannot be read.
    """
    path = _file_of(where)
    if not path.is_file():
        raise ConfigError("There is no ledger here. Check the path.")
    engine = sqlite.make_engine(path, patience=0, owns=False)
    try:
        with read_transaction(engine) as connection:
            if not has_tables(connection):
                raise ConfigError("There is no ledger here. Check the path.")
        sqlite.copy_store(engine, target)
    except LedgerHeld as held_error:
        with sqlite.new_file(target) as temporary:
            _fetch_copy(path, temporary, held_error)
    except SQLAlchemyError as error:
        raise explain_store_error(error) from None
    finally:
        engine.dispose()


def restore(
    copy: Path, where: str | Path, *, second: str | Path | HeadStore | None = None
) -> Inspection:
    """Put a backup in the place of a ledger that is gone.

    Args:
        copy: The backup.
        where: The path of the ledger.
        second: The second place of the head, as in `open_ledger`.

    Returns:
        The inspection of the backup.

    Raises:
        ConfigError: A ledger's file, or its -wal or -journal, is at the path, the backup has no
            ledger, or `where` is in PostgreSQL.
        LedgerRefused: The backup is damaged or older than the second place, or the second place is
            missing.
        OutputError: The ledger's file cannot be written.
    """
    path = _file_of(where)
    for name in (path.name, f"{path.name}-wal", f"{path.name}-journal"):
        file = path.with_name(name)
        if file.exists():
            raise ConfigError(
                f"{file} is there already. Move it away first, and keep it. A ledger's file and "
                "its -wal or -journal belong together: move them to one place."
            )
    inspection = inspect_ledger(copy, second=default_head_path(path) if second is None else second)
    problems = inspection.verification.problems
    if problems:
        raise LedgerRefused(f"{problems[0]} Nothing was restored.")
    backup(copy, path)
    return inspection


def _file_of(where: str | Path) -> Path:
    """Return the path of a ledger in a file; ConfigError for one in PostgreSQL."""
    _, path = parse_address(where)
    if path is None:
        raise ConfigError(
            "This is for ledgers in files. Copy one in PostgreSQL with pg_dump, and restore it "
            "with pg_restore: it is checked against the second place when it is opened."
        )
    return path


_PATIENCE = 300.0
"""Seconds that each side of the socket waits for the next bytes of the other."""
_LONGEST_ADDRESS = 100
"""Largest number of bytes of a Unix socket's address; operating systems allow 104 or 108."""
_SIZE_BYTES = 8
"""Length in bytes of the number that is sent before a copy, the copy's size."""


@contextmanager
def serve_copies(
    ledger: Ledger, store: Path | None, report_failure: Callable[[Exception], None]
) -> Iterator[None]:
    """Serve copies of the ledger to other processes, while the `with` block runs.

    Each connection receives the size of a copy, as 8 bytes in big-endian order, and the copy. If
    the copy cannot be made, the connection is closed and nothing is sent.

    Args:
        ledger: The ledger.
        store: The ledger's file; None for a ledger in PostgreSQL, of which no copies are served.
        report_failure: Called with the error if a copy cannot be made or sent.
    """
    if store is None:
        yield
        return
    folder = _socket_folder(store)

    class CopyRequest(BaseRequestHandler):
        """One connection, which is answered with a copy."""

        def handle(self) -> None:
            """Make a copy in the socket's folder, and send it."""
            copy = folder / f"copy-{secrets.token_hex(8)}"
            try:
                self.request.settimeout(_PATIENCE)
                ledger.copy(copy)
                with copy.open("rb") as file:
                    copy.unlink()  # the open file stays readable, and is gone when it is closed
                    size = os.fstat(file.fileno()).st_size
                    self.request.sendall(size.to_bytes(_SIZE_BYTES, "big"))
                    self.request.sendfile(file)
            except (TacitError, OSError) as error:
                report_failure(error)

    shutil.rmtree(folder, ignore_errors=True)  # may be left by a process that was killed
    folder.mkdir(mode=0o700)
    with (
        _socket_address(folder) as address,
        ThreadingUnixStreamServer(address, CopyRequest) as server,
    ):
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def _fetch_copy(store: Path, target: Path, held_error: LedgerHeld) -> None:
    """Fetch a copy of a ledger from the service that has it open.

    Args:
        store: The ledger's file.
        target: The file that the copy is written to.
        held_error: Raised if no service can be reached.

    Raises:
        LedgerHeld: No service serves copies of the file.
        OutputError: The service sent no copy, or not all of it.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_PATIENCE)
        try:
            with _socket_address(_socket_folder(store)) as address:
                client.connect(address)
        except OSError:
            raise held_error from None
        with client.makefile("rb") as answer, target.open("wb") as file:
            size = int.from_bytes(answer.read(_SIZE_BYTES), "big")
            shutil.copyfileobj(answer, file)
    if not size or target.stat().st_size != size:
        raise OutputError("The service that has the ledger could not make a copy: see its log.")


def _socket_folder(store: Path) -> Path:
    """Return the folder of the socket that serves copies of a ledger's file."""
    return store.with_name(store.name + ".owner")


@contextmanager
def _socket_address(folder: Path) -> Iterator[str]:
    """Yield the address of the socket in a folder.

    If its path is too long for an address, the address goes through the open folder's descriptor,
    which Linux shows below /proc.
    """
    path = str((folder / "socket").absolute())
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/socket"
    finally:
        os.close(descriptor)
