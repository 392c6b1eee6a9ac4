"""Opening a ledger: make it if it is new, replay what was added to it since its newest checkpoint
if it is not, and refuse it when in doubt.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from sqlalchemy import Engine, insert, select, text
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import ConfigError
from tacit.ledger import postgres, sqlite
from tacit.ledger.chain import START, Head, body_of, link
from tacit.ledger.checkpoints import newest
from tacit.ledger.failures import explained
from tacit.ledger.heads import FileHead, HeadStore, check_known
from tacit.ledger.heads_postgres import PostgresHead, give_back
from tacit.ledger.history import LogState
from tacit.ledger.places import address, beside
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable
from tacit.ledger.replaying import follow
from tacit.ledger.schema import head, log, migrate, steps, version
from tacit.ledger.store import Ledger, hash_at, reading

_MIGRATING = 0x7AC17
"""Any number: PostgreSQL's lock that makers of tables take."""


def open_ledger(
    where: str | Path,
    *,
    second: str | Path | HeadStore | None = None,
    operator: str | None = None,
    create: bool = True,
    patience: float = 30.0,
) -> Ledger:
    """Open the ledger at a path (SQLite) or at a postgresql:// address; make it if it is new.

    second: where the chain's head is kept besides: a path, a postgresql:// address or any
    HeadStore; for SQLite by default PATH.head, better elsewhere; PostgreSQL needs it named.
    operator: `anchor_of(key)`, for a new ledger with epochs. create: whether a new one may be made.
    patience: seconds to wait for others.
    LedgerRefused: an older or second copy, damage, unsafe settings. LedgerUnavailable: try later.
    """
    engine, heads, path = found_at(where, second, patience=patience)
    try:
        if path is not None and not path.exists():
            _check_new(heads, create=create)
            _make_file(path)
        _bring_up(engine, heads, operator=operator, create=create)
        return _opened(engine, heads, patience)
    except SQLAlchemyError as error:
        give_back(engine, heads)
        raise explained(error) from None
    except BaseException:
        give_back(engine, heads)
        raise


def found_at(
    where: str | Path, second: str | Path | HeadStore | None, *, patience: float
) -> tuple[Engine, HeadStore, Path | None]:
    """The store, its second place, and its file if it is one. Connects to nothing yet."""
    url, path = address(where)
    if path is not None:
        heads = _heads(beside(path) if second is None else second, patience)
        return sqlite.engine(path, patience=patience), heads, path
    if second is None:
        raise ConfigError(
            "A ledger in PostgreSQL needs a second place for its head, such as a file on another "
            "disk or another server of PostgreSQL:  second=PATH."
        )
    return postgres.engine(url, patience=patience), _heads(second, patience), None


def _opened(engine: Engine, heads: HeadStore, patience: float) -> Ledger:
    remembered = heads.read()  # before the store is read: it is never ahead of the store
    told = _told(engine, remembered)
    found = follow(lambda: reading(engine), told)
    if told.begun and not found.sound:  # the checkpoint may be what is wrong
        told = LogState()
        found = follow(lambda: reading(engine), told)
    if not found.sound:
        raise LedgerRefused(
            f"{found.problems[0]} The ledger is not used. All that is wrong:  tacit ledger verify."
        )
    with reading(engine) as connection:
        if remembered is not None:
            check_known(remembered, found.head, lambda number: hash_at(connection, number))
        elif found.entries > 1:
            raise LedgerRefused(
                "The second place of the ledger's head is missing, so nobody can tell whether this "
                "store is the newest. It is not used. Bring the second place back, or name it."
            )
    ledger = Ledger(engine, heads, found.head, patience)
    heads.advance(found.head, ledger._hash_at)
    ledger._begin(told, before=remembered)
    return ledger


def _told(engine: Engine, remembered: Head | None) -> LogState:
    """What is known before the replay: the newest checkpoint that the second place covers."""
    if remembered is None:
        return LogState()
    with reading(engine) as connection:
        return newest(connection, remembered) or LogState()


def _bring_up(engine: Engine, heads: HeadStore, *, operator: str | None, create: bool) -> None:
    """Tables of this version and a first entry. Waits for the writer's place only if it must."""
    with reading(engine) as connection:
        done = version(connection)
        newest = done == len(steps(connection.dialect.name))
        if newest and connection.execute(select(head.c.id)).first() is not None:
            return
    if done == 0:
        _check_new(heads, create=create)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _MIGRATING})
        migrate(connection)
        if connection.execute(select(head.c.id)).first() is None:
            ledger = secrets.token_hex(16)
            body = body_of({"ledger": ledger, "operator": operator})
            first = {"sequence": 1, "hash": link(START, 1, "created", body)}
            connection.execute(insert(log).values(kind="created", body=body, **first))
            row = {"id": 1, "ledger": ledger, "operator": operator, "epoch": 0}
            connection.execute(insert(head).values(**row, **first))


def _check_new(heads: HeadStore, *, create: bool) -> None:
    if not create:
        raise ConfigError("There is no ledger here. Check the path or the address.")
    if heads.read() is not None:
        raise LedgerRefused(
            "The store is gone or empty, but the second place remembers a ledger: a new one would "
            "forget what was spent. Bring back the newest store."
        )


def _make_file(path: Path) -> None:
    """Readable by its owner only; SQLite gives its journal the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise LedgerUnavailable(f"The ledger's file cannot be made: {error.strerror}.") from None


def _heads(second: str | Path | HeadStore, patience: float) -> HeadStore:
    if not isinstance(second, str | Path):
        return second
    url, path = address(second)
    return PostgresHead(url, patience=patience) if path is None else FileHead(path)
