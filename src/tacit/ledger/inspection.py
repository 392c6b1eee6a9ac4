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
from tacit.ledger.chain import Head, HeadStore, check_known
from tacit.ledger.opening import address, beside, found_at
from tacit.ledger.postgres import give_back
from tacit.ledger.refusals import LedgerHeld, LedgerRefused, explained
from tacit.ledger.replaying import Verification, hash_at, reading, replay
from tacit.ledger.requests import Balance
from tacit.ledger.schema import log, version
from tacit.ledger.spending import balances
from tacit.ledger.statements import KeptState, list_states
from tacit.ledger.store import Ledger


@dataclass(frozen=True)
class Inspection:
    """A ledger at one moment: what a replay found, its budgets, its kept states, and its log."""

    verification: Verification
    balances: tuple[Balance, ...]
    states: tuple[KeptState, ...]
    entries: tuple[dict[str, Any], ...]


def inspect_ledger(
    where: str | Path, *, second: str | Path | HeadStore | None = None
) -> Inspection:
    """Read all of a ledger, and compare it with the second place; changes neither.

    where, second: as in `open_ledger`. ConfigError if there is none.
    """
    engine, heads, path = found_at(where, second, patience=30.0, owns=False)
    if path is not None and not path.exists():
        raise ConfigError("There is no ledger here. Check the path or the address.")
    try:
        remembered = _remembered(heads)  # before the store: it is never ahead of the store
        try:
            return _inspected(engine, *remembered)
        except LedgerHeld as held:
            if path is None:
                raise
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / path.name
                _fetch(path, copy, held)
                return _inspected(sqlite.engine(copy, patience=30.0, owns=False), *remembered)
    except SQLAlchemyError as error:
        raise explained(error) from None
    finally:
        give_back(engine, heads)


def _remembered(heads: HeadStore) -> tuple[Head | None, str]:
    """What the second place holds, and what is wrong with it."""
    try:
        remembered = heads.read()
    except LedgerRefused as refused:
        return None, str(refused)
    return remembered, "" if remembered else "The second place of the ledger's head is missing."


def _inspected(engine: Engine, remembered: Head | None, problem: str) -> Inspection:
    with reading(engine) as connection:
        if version(connection) == 0:
            raise ConfigError("There is no ledger here. Check the path or the address.")
    result = replay(lambda: reading(engine))
    with reading(engine) as connection:
        if remembered is not None:
            try:
                check_known(remembered, result.head, lambda number: hash_at(connection, number))
            except LedgerRefused as refused:
                problem = str(refused)
        question = select(log).where(log.c.sequence <= result.entries).order_by(log.c.sequence)
        return Inspection(
            replace(result, problems=(*result.problems, *([problem] if problem else ()))),
            tuple(balances(connection)),
            list_states(connection),
            tuple(dict(row) for row in connection.execute(question).mappings()),
        )


def backup(where: str | Path, to: Path) -> None:
    """Copy a ledger, as it is at one moment, to a new file that its owner alone may read.

    A service that runs on it makes the copy itself, and its commits go on. ConfigError without a
    ledger there; OutputError if the copy cannot be written: then no file is left. LedgerHeld where
    something else than a service has it.
    """
    path = _path(where)
    if not path.is_file():
        raise ConfigError("There is no ledger here. Check the path.")
    engine = sqlite.engine(path, patience=0, owns=False)
    try:
        sqlite.copy(engine, to)
    except LedgerHeld as held:
        with sqlite.new_file(to) as part:
            _fetch(path, part, held)
    finally:
        engine.dispose()


def restore(
    copy: Path, where: str | Path, *, second: str | Path | HeadStore | None = None
) -> Inspection:
    """Put a backup in the place of a ledger that is gone, and give what was found in it.

    second: the second place of the head, as in `open_ledger`. ConfigError if a ledger is there.
    LedgerRefused if the backup is damaged or older than the second place, or there is none.
    """
    path = _path(where)
    for name in (path.name, f"{path.name}-wal", f"{path.name}-journal"):
        if (there := path.with_name(name)).exists():
            raise ConfigError(
                f"{there}: is there already. Move it away first, and keep it. A ledger's file and "
                "its -wal or -journal belong together: move them to one place."
            )
    inspection = inspect_ledger(copy, second=beside(path) if second is None else second)
    if problems := inspection.verification.problems:
        raise LedgerRefused(f"{problems[0]} Nothing was restored.")
    backup(copy, path)
    return inspection


def _path(where: str | Path) -> Path:
    _, path = address(where)
    if path is None:
        raise ConfigError(
            "This is for ledgers in files. Copy one in PostgreSQL with pg_dump, and restore it "
            "with pg_restore: it is checked against the second place when it is opened."
        )
    return path


_PATIENCE = 300.0  # seconds for a copy, on either side
_LONGEST_ADDRESS = 100  # of a Unix socket: the systems have 104 or 108 bytes for it


@contextmanager
def copies_of(
    ledger: Ledger, store: Path | None, failed: Callable[[Exception], None]
) -> Iterator[None]:
    """Meanwhile a client of the socket gets the size of a copy, 8 bytes, and its bytes.

    store: the ledger's file; with None nothing happens. failed: told why there is no copy.
    """
    if store is None:
        yield
        return
    folder = _folder_of(store)

    class Asked(BaseRequestHandler):
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
                failed(error)

    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir(mode=0o700)
    with _address(folder) as address, ThreadingUnixStreamServer(address, Asked) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def _fetch(store: Path, to: Path, held: LedgerHeld) -> None:
    """Write a copy by the service that has the store; `held` where there is none to ask."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(_PATIENCE)
        try:
            with _address(_folder_of(store)) as address:
                asked.connect(address)
        except OSError:
            raise held from None
        with asked.makefile("rb") as answer, to.open("wb") as file:
            size = int.from_bytes(answer.read(8), "big")
            shutil.copyfileobj(answer, file)
    if not size or to.stat().st_size != size:
        raise OutputError("The service that has the ledger could not make a copy: see its log.")


def _folder_of(store: Path) -> Path:
    return store.with_name(store.name + ".owner")


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Of the socket. A long path is reached through its folder, where the system can."""
    path = str((folder / "socket").absolute())
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{opened}/socket"
    finally:
        os.close(opened)
