"""Looking at a ledger without opening it for spending, and copies of one in a file.

Damage is reported, not refused. A copy is made while the ledger is in use: a service hands it to
other processes of its user over a Unix socket, PATH.owner/socket. It is restored only where nothing
is lost: a backup that is older than the second place of the head lacks spending that was
acknowledged. Restored, it would give that budget back, so it is refused.
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
from tacit.ledger.postgres import give_back
from tacit.ledger.refusals import LedgerHeld, LedgerRefused, explain_store_error
from tacit.ledger.replay import Verification, hash_at, read_transaction, replay
from tacit.ledger.requests import Balance
from tacit.ledger.schema import has_tables, log
from tacit.ledger.states import StoredState, list_states
from tacit.ledger.store import Ledger
from tacit.ledger.transactions import read_balances


@dataclass(frozen=True)
class Inspection:
    """A ledger at one moment."""

    verification: Verification
    """Findings of a replay."""
    balances: tuple[Balance, ...]
    """All budgets, in the order in which they were opened."""
    states: tuple[StoredState, ...]
    """All stored states, by name."""
    entries: tuple[dict[str, Any], ...]
    """All entries of the log, oldest first."""


def _find_in_folder(folder: Path) -> Path:
    """Find the ledger of a service's folder; ConfigError if it has none."""
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
    """Read all of a ledger, and compare it with the second place; changes neither.

    Args:
        where: The path or the address, or the folder of a service.
        second: The second place, as in `open_ledger`.

    Raises:
        ConfigError: There is no ledger.
        LedgerHeld: Something else than a service has the file.
    """
    if Path(where).is_dir():
        where = _find_in_folder(Path(where))
    engine, heads, path = connect_to(where, second, patience=30.0, owns=False)
    if path is not None and not path.exists():
        raise ConfigError("There is no ledger here. Check the path or the address.")
    try:
        remembered = _read_second_place(heads)  # before the store: it is never ahead of the store
        try:
            return _inspect_store(engine, *remembered)
        except LedgerHeld as held:
            if path is None:
                raise
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / path.name
                _fetch_copy(path, copy, held)
                return _inspect_store(sqlite.engine(copy, patience=30.0, owns=False), *remembered)
    except SQLAlchemyError as error:
        raise explain_store_error(error) from None
    finally:
        give_back(engine, heads)


def _read_second_place(heads: HeadStore) -> tuple[Head | None, str]:
    """Return the head of the second place, and a sentence on what is wrong with it."""
    try:
        remembered = heads.read()
    except LedgerRefused as refused:
        return None, str(refused)
    return remembered, "" if remembered else "The second place of the ledger's head is missing."


def _inspect_store(engine: Engine, remembered: Head | None, problem: str) -> Inspection:
    with read_transaction(engine) as connection:
        if not has_tables(connection):
            raise ConfigError("There is no ledger here. Check the path or the address.")
    result = replay(lambda: read_transaction(engine))
    with read_transaction(engine) as connection:
        if remembered is not None:
            try:
                check_remembered_head(
                    remembered, result.head, lambda number: hash_at(connection, number)
                )
            except LedgerRefused as refused:
                problem = str(refused)
        question = select(log).where(log.c.sequence <= result.entries).order_by(log.c.sequence)
        if problem:
            result = replace(result, problems=(*result.problems, problem))
        return Inspection(
            verification=result,
            balances=tuple(read_balances(connection)),
            states=list_states(connection),
            entries=tuple(dict(row) for row in connection.execute(question).mappings()),
        )


def backup(where: str | Path, to: Path) -> None:
    """Copy a ledger, as it is at one moment, to a new file that its owner alone may read.

    A service that runs on it makes the copy itself, and its commits go on.

    Raises:
        ConfigError: There is no ledger.
        OutputError: The copy cannot be written; no file is left.
        LedgerHeld: Something else than a service has the file.
    """
    path = _path(where)
    if not path.is_file():
        raise ConfigError("There is no ledger here. Check the path.")
    engine = sqlite.engine(path, patience=0, owns=False)
    try:
        sqlite.copy_store(engine, to)
    except LedgerHeld as held:
        with sqlite.new_file(to) as part:
            _fetch_copy(path, part, held)
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
        The findings of its inspection.

    Raises:
        ConfigError: A ledger is there.
        LedgerRefused: The backup is damaged or older than the second place, or there is none.
    """
    path = _path(where)
    for name in (path.name, f"{path.name}-wal", f"{path.name}-journal"):
        there = path.with_name(name)
        if there.exists():
            raise ConfigError(
                f"{there}: is there already. Move it away first, and keep it. A ledger's file and "
                "its -wal or -journal belong together: move them to one place."
            )
    inspection = inspect_ledger(copy, second=default_head_path(path) if second is None else second)
    problems = inspection.verification.problems
    if problems:
        raise LedgerRefused(f"{problems[0]} Nothing was restored.")
    backup(copy, path)
    return inspection


def _path(where: str | Path) -> Path:
    _, path = parse_address(where)
    if path is None:
        raise ConfigError(
            "This is for ledgers in files. Copy one in PostgreSQL with pg_dump, and restore it "
            "with pg_restore: it is checked against the second place when it is opened."
        )
    return path


_PATIENCE = 300.0
"""Seconds for a copy, on either side."""
_LONGEST_ADDRESS = 100
"""Bytes of a Unix socket's address: the systems have 104 or 108 for it."""


@contextmanager
def serve_copies(
    ledger: Ledger, store: Path | None, report_failure: Callable[[Exception], None]
) -> Iterator[None]:
    """Serve copies of the ledger inside the block: 8 bytes with a copy's size, then the copy.

    Args:
        ledger: The ledger.
        store: Its file; None serves nothing.
        report_failure: Called with the reason where a copy cannot be made.
    """
    if store is None:
        yield
        return
    folder = _folder_of(store)

    class CopyRequest(BaseRequestHandler):
        def handle(self) -> None:
            copy = folder / f"copy-{secrets.token_hex(8)}"
            try:
                self.request.settimeout(_PATIENCE)
                ledger.copy(copy)
                with copy.open("rb") as file:
                    copy.unlink()
                    self.request.sendall(os.fstat(file.fileno()).st_size.to_bytes(8, "big"))
                    self.request.sendfile(file)
            except (TacitError, OSError) as error:
                report_failure(error)

    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir(mode=0o700)
    with (
        _address(folder) as address,
        ThreadingUnixStreamServer(address, CopyRequest) as server,
    ):
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def _fetch_copy(store: Path, to: Path, held: LedgerHeld) -> None:
    """Write a copy that the service makes which has the store; raise `held` where none runs."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_PATIENCE)
        try:
            with _address(_folder_of(store)) as address:
                client.connect(address)
        except OSError:
            raise held from None
        with client.makefile("rb") as answer, to.open("wb") as file:
            size = int.from_bytes(answer.read(8), "big")
            shutil.copyfileobj(answer, file)
    if not size or to.stat().st_size != size:
        raise OutputError("The service that has the ledger could not make a copy: see its log.")


def _folder_of(store: Path) -> Path:
    return store.with_name(store.name + ".owner")


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Return the socket's address; a long path is reached through its folder, where possible."""
    path = str((folder / "socket").absolute())
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{opened}/socket"
    finally:
        os.close(opened)
