"""Opening a ledger: a new one is created; the log of one that exists is replayed first.

The replay begins at the newest checkpoint. A ledger is refused if its tables differ from its log,
or if its log differs from the second place, which keeps the newest head.
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
from tacit.ledger.postgres import PostgresHead, close_connections
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable, explain_store_error
from tacit.ledger.replay import hash_at, read_transaction, replay
from tacit.ledger.schema import create_tables, has_tables, head, log
from tacit.ledger.store import Ledger

_TABLES_LOCK = 0x7AC17
"""Number of the advisory lock under which tables are created in PostgreSQL; any other would do."""


def open_ledger(
    where: str | Path,
    *,
    second: str | Path | HeadStore | None = None,
    operator: str | None = None,
    create: bool = True,
    patience: float = 30.0,
) -> Ledger:
    """Open the ledger at a path (SQLite) or at a postgresql:// address; create it if it is new.

    Args:
        where: The path or the address.
        second: The second place of the chain's head: a path, a postgresql:// address or any
            HeadStore. The default is PATH.head for SQLite, though another device is safer; for
            PostgreSQL there is no default.
        operator: `operator_anchor(key)` for a new ledger with epochs; None for one without. It is
            ignored for a ledger that exists.
        create: Whether a new ledger may be created.
        patience: Seconds to wait for other processes that use the store.

    Raises:
        LedgerRefused: The store is an older or a second copy, is damaged, or has unsafe settings.
        LedgerUnavailable: The store cannot be used now: try later.
        LedgerHeld: Another process, or another `Ledger`, has the file open. Raised without waiting.
        ConfigError: There is no ledger and none may be created, PostgreSQL has no second place, or
            an address cannot be parsed.
        MissingExtra: psycopg is needed and not installed.
    """
    engine, heads, path = connect_to(where, second, patience=patience)
    try:
        if path is not None and not path.exists():
            _check_may_create(heads, create=create)
            try:
                path.touch(0o600)  # SQLite gives the write-ahead log the same mode
            except OSError as error:
                reason = f"The ledger's file cannot be made: {error.strerror}."
                raise LedgerUnavailable(reason) from None
        _create_if_missing(engine, heads, operator=operator, create=create)
        return _replay_and_open(engine, heads)
    except BaseException as error:
        close_connections(engine, heads)
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
    """Prepare the engine of a store and its second place, without connecting to them.

    Args:
        where: The ledger's path or address.
        second: The second place; None for the default.
        patience: Seconds to wait for others.
        owns: Whether a file is opened for spending; False for reading only.

    Returns:
        The store's engine, the second place, and the store's file, which is None for PostgreSQL.

    Raises:
        ConfigError: An address cannot be parsed, or PostgreSQL has no second place.
        LedgerRefused: The file system or the linked SQLite is not safe.
        MissingExtra: psycopg is needed and not installed.
    """
    url, path = parse_address(where)
    if path is not None:
        second_place = default_head_path(path) if second is None else second
        heads = _make_head_store(second_place, patience)
        return sqlite.make_engine(path, patience=patience, owns=owns), heads, path
    if second is None:
        raise ConfigError(
            "A ledger in PostgreSQL needs a second place for its head, such as a file on another "
            "disk or another server of PostgreSQL:  second=PATH."
        )
    heads = _make_head_store(second, patience)
    return postgres.make_engine(url, patience=patience), heads, None


def _replay_and_open(engine: Engine, heads: HeadStore) -> Ledger:
    """Replay the log, compare it with the second place, and open the ledger for spending.

    Raises:
        LedgerRefused: The tables differ from the log, the log differs from the second place, or
            the second place is missing.
    """
    # The second place is read first. Other processes may add entries to the store after that, so
    # the store is behind this head only if it is an older copy.
    remembered_head = heads.read()
    log_state = LogState()
    if remembered_head is not None:
        with read_transaction(engine) as connection:
            log_state = newest_checkpoint(connection, remembered_head) or log_state
    result = replay(lambda: read_transaction(engine), log_state)
    if log_state.start and not result.is_sound:  # the checkpoint may be wrong: replay without it
        log_state = LogState()
        result = replay(lambda: read_transaction(engine), log_state)
    if not result.is_sound:
        raise LedgerRefused(
            f"{result.problems[0]} The ledger is not used. Everything that is wrong is listed by:  "
            "tacit ledger verify."
        )
    with read_transaction(engine) as connection:
        if remembered_head is not None:
            check_remembered_head(
                remembered_head, result.head, lambda number: hash_at(connection, number)
            )
        elif result.entries > 1:
            raise LedgerRefused(
                "The second place of the ledger's head is missing, so nobody can tell whether this "
                "store is the newest. It is not used. Bring the second place back, or name it."
            )
    ledger = Ledger(engine, heads, result.head)
    heads.advance(result.head, ledger.hash_at)
    ledger.begin_checkpoints(log_state, head_before=remembered_head)
    return ledger


def _create_if_missing(
    engine: Engine, heads: HeadStore, *, operator: str | None, create: bool
) -> None:
    """Create the tables and the first entry of a ledger, unless it has both.

    A read transaction looks for them first, because it need not wait for writers.

    Args:
        engine: The store.
        heads: The second place, which must remember no ledger if there are no tables.
        operator: The operator's anchor; None for a ledger without epochs.
        create: Whether tables may be created.
    """
    with read_transaction(engine) as connection:
        had_tables = has_tables(connection)
        if had_tables and connection.execute(select(head.c.id)).first() is not None:
            return
    if not had_tables:
        _check_may_create(heads, create=create)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _TABLES_LOCK})
        create_tables(connection)
        if connection.execute(select(head.c.id)).first() is None:
            name = secrets.token_hex(16)
            body = entry_body({"ledger": name, "operator": operator})
            first_entry = {"sequence": 1, "hash": entry_hash(START, 1, "created", body)}
            connection.execute(insert(log).values(kind="created", body=body, **first_entry))
            facts = {"id": 1, "ledger": name, "operator": operator, "epoch": 0}
            connection.execute(insert(head).values(**facts, **first_entry))


def _check_may_create(heads: HeadStore, *, create: bool) -> None:
    """Check that a new ledger may be created where there is none.

    Raises:
        ConfigError: `create` is False.
        LedgerRefused: The second place remembers a ledger.
    """
    if not create:
        raise ConfigError("There is no ledger here. Check the path or the address.")
    if heads.read() is not None:
        raise LedgerRefused(
            "The store is gone or empty, but the second place remembers a ledger: a new one would "
            "forget what was spent. Bring back the newest store."
        )


def _make_head_store(second: str | Path | HeadStore, patience: float) -> HeadStore:
    """Return the second place at a path or an address; a HeadStore is returned unchanged.

    Args:
        second: A path, a postgresql:// address, or a HeadStore.
        patience: Seconds to wait for a server.
    """
    if not isinstance(second, str | Path):
        return second
    url, path = parse_address(second)
    return PostgresHead(url, patience=patience) if path is None else FileHead(path)
