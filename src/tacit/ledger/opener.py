"""Opening a ledger, new or old.

A new one is made. Of an old one, what was added since its newest checkpoint is replayed, and it is
refused when in doubt.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from sqlalchemy import Engine, insert, select, text
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import ConfigError
from tacit.ledger import postgres, sqlite
from tacit.ledger.addresses import default_head_path, parse_address
from tacit.ledger.chain import START, entry_body, entry_hash
from tacit.ledger.checkpoints import newest_checkpoint
from tacit.ledger.heads import FileHead, HeadStore, check_remembered_head
from tacit.ledger.log_state import LogState
from tacit.ledger.postgres import PostgresHead, give_back
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable, explain_store_error
from tacit.ledger.replay import hash_at, read_transaction, replay
from tacit.ledger.schema import create_tables, has_tables, head, log
from tacit.ledger.store import Ledger

_TABLES_LOCK = 0x7AC17
"""PostgreSQL's lock that makers of tables take; any number."""


def open_ledger(
    where: str | Path,
    *,
    second: str | Path | HeadStore | None = None,
    operator: str | None = None,
    create: bool = True,
    patience: float = 30.0,
) -> Ledger:
    """Open the ledger at a path (SQLite) or at a postgresql:// address; make it if it is new.

    Args:
        where: The path or the address.
        second: The second place of the chain's head: a path, a postgresql:// address or any
            HeadStore. For SQLite it is PATH.head by default, better elsewhere; PostgreSQL needs it
            named.
        operator: `operator_anchor(key)`, for a new ledger with epochs.
        create: Whether a new one may be made.
        patience: Seconds to wait for others.

    Raises:
        LedgerRefused: An older or second copy, damage, or unsafe settings.
        LedgerUnavailable: The store cannot be used now: try later.
        LedgerHeld: At once, where another process or ledger owns the file.
        ConfigError: There is no ledger, or PostgreSQL has no second place.
    """
    engine, heads, path = connect_to(where, second, patience=patience)
    try:
        if path is not None and not path.exists():
            _check_new(heads, create=create)
            try:
                path.touch(0o600)  # SQLite gives its log the same mode
            except OSError as error:
                reason = f"The ledger's file cannot be made: {error.strerror}."
                raise LedgerUnavailable(reason) from None
        _create_if_missing(engine, heads, operator=operator, create=create)
        return _replay_and_open(engine, heads)
    except BaseException as error:
        give_back(engine, heads)
        if isinstance(error, SQLAlchemyError):
            raise explain_store_error(error) from None
        raise


def connect_to(
    where: str | Path,
    second: str | Path | HeadStore | None,
    *,
    patience: float,
    owns: bool = True,
) -> tuple[Engine, HeadStore, Path | None]:
    """Return the store, its second place, and its file if it is one; nothing is connected yet.

    Args:
        where: The ledger's path or address.
        second: The second place; None for the default.
        patience: Seconds to wait for others.
        owns: Whether a file is taken for spending, or looked at.
    """
    url, path = parse_address(where)
    if path is not None:
        heads = _heads(default_head_path(path) if second is None else second, patience)
        return sqlite.engine(path, patience=patience, owns=owns), heads, path
    if second is None:
        raise ConfigError(
            "A ledger in PostgreSQL needs a second place for its head, such as a file on another "
            "disk or another server of PostgreSQL:  second=PATH."
        )
    return postgres.engine(url, patience=patience), _heads(second, patience), None


def _replay_and_open(engine: Engine, heads: HeadStore) -> Ledger:
    """Replay the log, compare the second place, and open the ledger for spending."""
    remembered = heads.read()  # before the store is read: it is never ahead of the store
    replayed = LogState()
    if remembered is not None:
        with read_transaction(engine) as connection:
            replayed = newest_checkpoint(connection, remembered) or replayed
    result = replay(lambda: read_transaction(engine), replayed)
    if replayed.begun and not result.is_sound:  # the checkpoint may be what is wrong
        replayed = LogState()
        result = replay(lambda: read_transaction(engine), replayed)
    if not result.is_sound:
        raise LedgerRefused(
            f"{result.problems[0]} The ledger is not used. All that is wrong:  tacit ledger verify."
        )
    with read_transaction(engine) as connection:
        if remembered is not None:
            check_remembered_head(
                remembered, result.head, lambda number: hash_at(connection, number)
            )
        elif result.entries > 1:
            raise LedgerRefused(
                "The second place of the ledger's head is missing, so nobody can tell whether this "
                "store is the newest. It is not used. Bring the second place back, or name it."
            )
    ledger = Ledger(engine, heads, result.head)
    heads.advance(result.head, ledger.hash_at)
    ledger.begin_checkpoints(replayed, before=remembered)
    return ledger


def _create_if_missing(
    engine: Engine, heads: HeadStore, *, operator: str | None, create: bool
) -> None:
    """Make tables and a first entry; it waits for other writers only if it must."""
    with read_transaction(engine) as connection:
        is_made = has_tables(connection)
        if is_made and connection.execute(select(head.c.id)).first() is not None:
            return
    if not is_made:
        _check_new(heads, create=create)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _TABLES_LOCK})
        create_tables(connection)
        if connection.execute(select(head.c.id)).first() is None:
            ledger = secrets.token_hex(16)
            body = entry_body({"ledger": ledger, "operator": operator})
            first = {"sequence": 1, "hash": entry_hash(START, 1, "created", body)}
            connection.execute(insert(log).values(kind="created", body=body, **first))
            row = {"id": 1, "ledger": ledger, "operator": operator, "epoch": 0}
            connection.execute(insert(head).values(**row, **first))


def _check_new(heads: HeadStore, *, create: bool) -> None:
    """Refuse to make a ledger unasked, or where the second place remembers one."""
    if not create:
        raise ConfigError("There is no ledger here. Check the path or the address.")
    if heads.read() is not None:
        raise LedgerRefused(
            "The store is gone or empty, but the second place remembers a ledger: a new one would "
            "forget what was spent. Bring back the newest store."
        )


def _heads(second: str | Path | HeadStore, patience: float) -> HeadStore:
    """Return the second place at a path or an address."""
    if not isinstance(second, str | Path):
        return second
    url, path = parse_address(second)
    return PostgresHead(url, patience=patience) if path is None else FileHead(path)
