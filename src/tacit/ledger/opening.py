"""Opening a ledger: make it if it is new, replay what was added to it since its newest checkpoint
if it is not, and refuse it when in doubt.

Where a ledger and the second place of its head are, and whether one restore moves both back.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from sqlalchemy import URL, Engine, insert, make_url, select, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tacit.errors import ConfigError
from tacit.ledger import postgres, sqlite
from tacit.ledger.chain import START, FileHead, HeadStore, body_of, check_known, link
from tacit.ledger.checkpoints import newest
from tacit.ledger.postgres import PostgresHead, give_back
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable, explained
from tacit.ledger.replaying import LogState, hash_at, reading, replay
from tacit.ledger.schema import head, log, migrate, steps, version
from tacit.ledger.store import Ledger

_MIGRATING = 0x7AC17  # any number: PostgreSQL's lock that makers of tables take


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
    LedgerHeld, at once: a file has one owner, which is another process or ledger.
    """
    engine, heads, path = found_at(where, second, patience=patience)
    try:
        if path is not None and not path.exists():
            _check_new(heads, create=create)
            try:
                path.touch(0o600)  # SQLite gives its log the same mode
            except OSError as error:
                reason = f"The ledger's file cannot be made: {error.strerror}."
                raise LedgerUnavailable(reason) from None
        _bring_up(engine, heads, operator=operator, create=create)
        return _opened(engine, heads)
    except BaseException as error:
        give_back(engine, heads)
        if isinstance(error, SQLAlchemyError):
            raise explained(error) from None
        raise


def found_at(
    where: str | Path,
    second: str | Path | HeadStore | None,
    *,
    patience: float,
    owns: bool = True,
) -> tuple[Engine, HeadStore, Path | None]:
    """The store, its second place, and its file if it is one. Connects to nothing yet.

    owns: whether a file is taken for spending, or looked at.
    """
    url, path = address(where)
    if path is not None:
        heads = _heads(beside(path) if second is None else second, patience)
        return sqlite.engine(path, patience=patience, owns=owns), heads, path
    if second is None:
        raise ConfigError(
            "A ledger in PostgreSQL needs a second place for its head, such as a file on another "
            "disk or another server of PostgreSQL:  second=PATH."
        )
    return postgres.engine(url, patience=patience), _heads(second, patience), None


def _opened(engine: Engine, heads: HeadStore) -> Ledger:
    remembered = heads.read()  # before the store is read: it is never ahead of the store
    replayed = LogState()
    if remembered is not None:
        with reading(engine) as connection:
            replayed = newest(connection, remembered) or replayed
    result = replay(lambda: reading(engine), replayed)
    if replayed.begun and not result.sound:  # the checkpoint may be what is wrong
        replayed = LogState()
        result = replay(lambda: reading(engine), replayed)
    if not result.sound:
        raise LedgerRefused(
            f"{result.problems[0]} The ledger is not used. All that is wrong:  tacit ledger verify."
        )
    with reading(engine) as connection:
        if remembered is not None:
            check_known(remembered, result.head, lambda number: hash_at(connection, number))
        elif result.entries > 1:
            raise LedgerRefused(
                "The second place of the ledger's head is missing, so nobody can tell whether this "
                "store is the newest. It is not used. Bring the second place back, or name it."
            )
    ledger = Ledger(engine, heads, result.head)
    heads.advance(result.head, ledger._hash_at)
    ledger._begin(replayed, before=remembered)
    return ledger


def _bring_up(engine: Engine, heads: HeadStore, *, operator: str | None, create: bool) -> None:
    """Tables of this version and a first entry. Waits for the writer's place only if it must."""
    with reading(engine) as connection:
        done = version(connection)
        current = done == len(steps(connection.dialect.name))
        if current and connection.execute(select(head.c.id)).first() is not None:
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


def _heads(second: str | Path | HeadStore, patience: float) -> HeadStore:
    if not isinstance(second, str | Path):
        return second
    url, path = address(second)
    return PostgresHead(url, patience=patience) if path is None else FileHead(path)


TOGETHER = (
    "the ledger and the second place of its head lie on one device or server. If a snapshot or a "
    "backup of it is restored as a whole, spent budgets come back and nothing can notice it. Name "
    "a second place elsewhere:  --second PATH  on another device, or  "
    "--second postgresql://HOST/DATABASE."
)
"""A warning, after the word."""
_HERE = ("localhost", "127.0.0.1", "::1")


def address(where: str | Path) -> tuple[URL, Path | None]:
    """The address, and the file if it is one. It may hold a password: never echoed."""
    if isinstance(where, Path) or "://" not in where:
        return make_url("sqlite://"), Path(where)
    try:
        url = make_url(where)
    except ArgumentError:
        raise ConfigError("The ledger's address cannot be read as a path or a URL.") from None
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return url, Path(url.database)
    if kind not in ("postgresql", "postgres"):
        raise ConfigError("A ledger is a file, sqlite:///PATH, or postgresql://HOST/DATABASE.")
    return url, None


def beside(path: Path) -> Path:
    """The second place of a ledger in a file where none is named."""
    return path.with_name(path.name + ".head")


def together(where: str | Path, second: str | Path | None) -> bool:
    """Whether both are on one device, or in one server of PostgreSQL. A file and a server are taken
    to be apart: where the server keeps its files is not seen from here."""
    url, path = address(where)
    if second is None:
        return path is not None
    other_url, other = address(second)
    if path is not None and other is not None:
        return _device(path) == _device(other)
    return path is None and other is None and _server(url) == _server(other_url)


def _device(path: Path) -> int:
    """Of the file, or of the nearest folder above it that is there."""
    place = path.absolute()
    while not place.exists():
        place = place.parent
    return place.stat().st_dev


def _server(url: URL) -> tuple[object, ...]:
    """Its host, "" for this machine by whatever name, and its port."""
    host = str(url.host or url.query.get("host") or "").lower()
    return "" if host in _HERE or host.startswith("/") else host, url.port or 5432
