"""Looking at a ledger without opening it for spending, and copies of one in a file.

Damage is reported, not refused. A copy is made while the ledger is in use, and restored only where
nothing is lost: a backup that is older than the second place of the head lacks spending that was
acknowledged. Restored, it would give that budget back, so it is refused.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import ConfigError, OutputError
from tacit.ledger.chain import HeadStore, check_known
from tacit.ledger.opening import address, beside, found_at
from tacit.ledger.postgres import give_back
from tacit.ledger.refusals import LedgerRefused, explained
from tacit.ledger.replaying import Verification, replay
from tacit.ledger.requests import Balance
from tacit.ledger.schema import log, version
from tacit.ledger.spending import balances
from tacit.ledger.statements import KeptState, list_states
from tacit.ledger.store import hash_at, reading


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
    engine, heads, path = found_at(where, second, patience=30.0)
    if path is not None and not path.exists():
        raise ConfigError("There is no ledger here. Check the path or the address.")
    try:
        return _inspected(engine, heads)
    except SQLAlchemyError as error:
        raise explained(error) from None
    finally:
        give_back(engine, heads)


def _inspected(engine: Engine, heads: HeadStore) -> Inspection:
    remembered, problem = None, ""
    try:
        remembered = heads.read()
    except LedgerRefused as refused:
        problem = str(refused)
    else:
        if remembered is None:
            problem = "The second place of the ledger's head is missing."
    with reading(engine) as connection:
        if version(connection) == 0:
            raise ConfigError("There is no ledger here. Check the path or the address.")
    found = replay(lambda: reading(engine))
    with reading(engine) as connection:
        if remembered is not None:
            try:
                check_known(remembered, found.head, lambda number: hash_at(connection, number))
            except LedgerRefused as refused:
                problem = str(refused)
        question = select(log).where(log.c.sequence <= found.entries).order_by(log.c.sequence)
        return Inspection(
            replace(found, problems=(*found.problems, *([problem] if problem else ()))),
            tuple(balances(connection)),
            list_states(connection),
            tuple(dict(row) for row in connection.execute(question).mappings()),
        )


_SERVER = (
    "This is for ledgers in files. Copy one in PostgreSQL with pg_dump, and restore it with "
    "pg_restore: it is checked against the second place when it is opened."
)


def backup(where: str | Path, to: Path) -> None:
    """Copy a ledger, as it is at one moment, to a new file that its owner alone may read.

    Others go on using the ledger; a commit waits until the copy is made. ConfigError without a
    ledger there; OutputError if the copy cannot be written: then no file is left.
    """
    path = _path(where)
    if not path.is_file():
        raise ConfigError("There is no ledger here. Check the path.")
    _copy(path, to)


def restore(
    copy: Path, where: str | Path, *, second: str | Path | HeadStore | None = None
) -> Inspection:
    """Put a backup in the place of a ledger that is gone, and give what was found in it.

    second: the second place of the head, as in `open_ledger`. ConfigError if a ledger is there.
    LedgerRefused if the backup is damaged or older than the second place, or there is none.
    """
    path = _path(where)
    if path.exists():
        raise ConfigError(f"{path}: is there already. Move it away first, and keep it.")
    found = inspect_ledger(copy, second=beside(path) if second is None else second)
    if problems := found.verification.problems:
        raise LedgerRefused(f"{problems[0]} Nothing was restored.")
    _copy(copy, path)
    return found


def _path(where: str | Path) -> Path:
    _, path = address(where)
    if path is None:
        raise ConfigError(_SERVER)
    return path


def _copy(source: Path, target: Path) -> None:
    """Through a file beside the target, which is renamed when all of it is on disk."""
    if target.exists():
        raise OutputError(f"{target}: is there already. Name a new file.")
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with (
            closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(part)) as new,
        ):
            old.backup(new)
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
