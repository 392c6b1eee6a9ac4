"""Copies of a ledger in a file: made while it is in use, restored only where nothing is lost.

A backup that is older than the second place of the head lacks spending that was acknowledged.
Restored, it would give that budget back, so it is refused.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from tacit.errors import ConfigError, OutputError
from tacit.ledger.chain import HeadStore
from tacit.ledger.inspection import Inspection, inspect_ledger
from tacit.ledger.opening import address, beside
from tacit.ledger.refusals import LedgerRefused

_SERVER = (
    "This is for ledgers in files. Copy one in PostgreSQL with pg_dump, and restore it with "
    "pg_restore: it is checked against the second place when it is opened."
)


def backup(where: str | Path, to: Path) -> None:
    """Copy a ledger, as it is at one moment, to a new file that its owner alone may read.

    Others go on using the ledger; a commit waits until the copy is made. ConfigError without a
    ledger there; OutputError if the copy cannot be written: then no file is left.
    """
    _copy(_file(where), to)


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


def _file(where: str | Path) -> Path:
    path = _path(where)
    if not path.is_file():
        raise ConfigError("There is no ledger here. Check the path.")
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
