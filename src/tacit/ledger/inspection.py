"""Looking at a ledger without opening it for spending: damage is reported, not refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import ConfigError
from tacit.ledger.chain import HeadStore, check_known
from tacit.ledger.opening import found_at
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
    remembered, problem = _remembered(heads)
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
        return Inspection(
            replace(found, problems=(*found.problems, *([problem] if problem else ()))),
            tuple(balances(connection)),
            list_states(connection),
            _entries(connection, found.entries),
        )


def _remembered(heads: HeadStore) -> tuple[Any, str]:
    try:
        known = heads.read()
    except LedgerRefused as refused:
        return None, str(refused)
    return known, "" if known else "The second place of the ledger's head is missing."


def _entries(connection: Connection, last: int) -> tuple[dict[str, Any], ...]:
    question = select(log).where(log.c.sequence <= last).order_by(log.c.sequence)
    rows = connection.execute(question).mappings()
    return tuple(dict(row) for row in rows)
