"""PostgreSQL as a store, with the settings that make a commit survive a power cut."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from tacit.errors import MissingExtra
from tacit.ledger.refusals import LedgerRefused

OLDEST = 130000
"""The server's version as a number: 13."""

_SAFE = {
    "fsync": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
    "full_page_writes": ("on",),
    "transaction_read_only": ("off",),
}


def engine(url: URL, *, patience: float) -> Engine:
    """Connections whose server settings were checked. patience: seconds to wait for a connection
    or for the writer's place.

    MissingExtra without psycopg; LedgerRefused where the server does not keep what it commits.
    """
    try:
        import psycopg  # noqa: F401  # SQLAlchemy asks for it by name
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None
    made = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": max(2, int(patience))},
        pool_size=4,
        max_overflow=12,
        pool_timeout=patience,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
    )
    event.listen(made, "connect", partial(_settle, patience))
    event.listen(made, "begin", _begin)
    return made


def _settle(patience: float, raw: Any, _record: object) -> None:
    """On every new connection, because a role or a restart may have changed the settings."""
    if raw.info.server_version < OLDEST:
        raise LedgerRefused("A ledger needs PostgreSQL 13 or newer.")
    with raw.cursor() as cursor:
        for name, safe in _SAFE.items():
            found = cursor.execute(f"SHOW {name}").fetchone()[0]
            if found not in safe:
                raise LedgerRefused(
                    f"PostgreSQL runs with {name} = {found}, so spending could be lost or not be "
                    f"recorded. Set it to {safe[0]}. The ledger is not used."
                )
        cursor.execute(f"SET lock_timeout = {max(1, int(patience * 1000))}")
    raw.commit()


def _begin(connection: Connection) -> None:
    """Readers see one moment, however many statements they ask."""
    if connection.get_execution_options().get("ledger_reads", False):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
