"""Replaying the log against all tables, from the first entry or from a checkpoint on.

A long log is read in many short transactions, because a writer waits for readers. Entries are
only ever added, so what was read stays read; the tables are compared in the transaction that finds
no entry more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from tacit.ledger.chain import Head, fingerprint
from tacit.ledger.log_state import LogState
from tacit.ledger.schema import answers, budgets, head, log, requests, states
from tacit.ledger.states import list_states

_AT_ONCE = 1000
"""Entries that one transaction reads."""
BYTES_AT_ONCE = 16 * 2**20
"""Memory of entries and answers that are read together, unless one answer needs more."""
BeginReading = Callable[[], AbstractContextManager[sa.Connection]]
"""Begins a transaction that changes nothing and sees one moment."""


@contextmanager
def read_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a transaction that sees one moment and changes nothing."""
    with engine.connect().execution_options(ledger_reads=True) as connection, connection.begin():
        yield connection


def hash_at(connection: sa.Connection, sequence: int) -> str | None:
    """Return the hash of one entry of the log; None if there is no such entry."""
    return connection.scalar(sa.select(log.c.hash).where(log.c.sequence == sequence))


@dataclass(frozen=True)
class Verification:
    """Findings of a replay."""

    entries: int
    """Number of entries of the log."""
    budgets: int
    """Number of budgets."""
    releases: int
    """Number of releases."""
    epoch: int
    """The present epoch."""
    head: Head
    """The last entry."""
    problems: tuple[str, ...]
    """Sentences with entry and budget numbers, and no names."""

    @property
    def is_sound(self) -> bool:
        """Whether the tables hold what the log says."""
        return not self.problems


def replay(read: BeginReading, replayed: LogState | None = None) -> Verification:
    """Compare everything that the store holds with its log.

    Requests and answers are compared where their entries are read, every budget and state and the
    head at the end.

    Args:
        read: Begins a transaction that changes nothing.
        replayed: A state to begin after, which takes in the other entries; None begins at the
            first entry.
    """
    replayed = LogState() if replayed is None else replayed
    while True:
        with read() as connection:
            rows = read_entries(connection, replayed.last, _AT_ONCE)
            for row in rows:
                replayed.add_entry(row)
            if not rows:
                return _compare_tables(connection, replayed)


def read_entries(connection: sa.Connection, last: int, most: int) -> Sequence[Any]:
    """Read the next entries of the log, each with the request and the answer of its number.

    Args:
        connection: A transaction's connection.
        last: Number of the last entry that was read.
        most: Entries to read at most; fewer where they are large.

    Returns:
        Rows; none if there are no more.
    """
    count = _count_fitting(connection, last, most)
    return connection.execute(_NEXT, {"last": last, "most": count}).all()


def read_entries_in_one_row(connection: sa.Connection, last: int, most: int) -> Sequence[Any]:
    """Read the next entries as `read_entries` does, for a thread among others.

    SQLite gives them in one row. After each row Python lets another thread run, which comes back
    when it pleases; meanwhile all writers would wait for a reader that waits.
    """
    if connection.dialect.name != "sqlite":
        return read_entries(connection, last, most)
    fitting = _count_fitting(connection, last, most)
    if fitting == 1:  # perhaps an answer that is too long for a text of SQLite
        return read_entries(connection, last, 1)
    listed = connection.scalar(_AT_ONE_TIME, {"last": last, "most": fitting})
    names = _NEXT.selected_columns.keys()
    rows = []
    for values in json.loads(listed or "[]"):
        row = SimpleNamespace(**dict(zip(names, values, strict=True)))
        row.answer = None if row.answer is None else bytes.fromhex(row.answer)
        rows.append(row)
    return sorted(rows, key=lambda row: row.sequence)


def _count_fitting(connection: sa.Connection, last: int, most: int) -> int:
    """Count how many of the next entries have `BYTES_AT_ONCE` together; at least one."""
    sizes: Sequence[int] = connection.scalars(_SIZES, {"last": last, "most": most}).all()
    return max(1, sum(total <= BYTES_AT_ONCE for total in accumulate(sizes)))


def _compare_tables(connection: sa.Connection, replayed: LogState) -> Verification:
    """Compare the tables with the replayed state, and sum up what was found."""
    columns = sa.select(head.c.ledger, head.c.operator, head.c.epoch, head.c.sequence, head.c.hash)
    stored = connection.execute(columns).all()
    expected = (
        replayed.ledger,
        replayed.operator,
        replayed.epoch,
        replayed.sequence,
        replayed.hash,
    )
    if stored != [expected]:
        replayed.problems.append("The head of the ledger is not where its log ends.")
    _compare_budgets(connection, replayed)
    _compare_states(connection, replayed)
    for table, what in ((requests, "requests"), (answers, "answers")):
        question = sa.select(sa.func.count()).select_from(table)
        if replayed.begun:
            question = question.where(table.c.sequence > replayed.begun)
        if connection.scalar(question) != replayed.seen:
            replayed.problems.append(f"There are more or fewer {what} than releases in the log.")
    return Verification(
        entries=replayed.sequence,
        budgets=len(replayed.budgets),
        releases=replayed.releases,
        epoch=replayed.epoch,
        head=Head(replayed.ledger, replayed.sequence, replayed.hash),
        problems=tuple(replayed.problems),
    )


def _select_next(columns: Sequence[sa.ColumnElement[Any]], beside: sa.FromClause) -> sa.Select[Any]:
    """Select columns of at most `most` entries after `last`; built once, since it leaves cycles."""
    after = sa.select(*columns).select_from(beside).where(log.c.sequence > sa.bindparam("last"))
    return after.order_by(log.c.sequence).limit(sa.bindparam("most"))


_ANSWERED = log.outerjoin(answers, answers.c.sequence == log.c.sequence)
_SIZE = sa.func.length(log.c.body) + sa.func.coalesce(sa.func.length(answers.c.answer), 0)
_SIZES = _select_next([_SIZE], _ANSWERED)
_ASKED = [column for column in requests.c if column.name != "sequence"]
_NEXT = _select_next(
    [*log.c, *_ASKED, answers.c.answer, answers.c.sequence.label("answered")],
    _ANSWERED.outerjoin(requests, requests.c.sequence == log.c.sequence),
)
_ROW = _NEXT.subquery()
_HEX = sa.case((_ROW.c.answer.is_(None), None), else_=sa.func.hex(_ROW.c.answer))
_COLUMNS = [_HEX if column is _ROW.c.answer else column for column in _ROW.c]
_LISTED = sa.func.json_array(*_COLUMNS)
_AT_ONE_TIME = sa.select(sa.func.json_group_array(_LISTED))


def _compare_budgets(connection: sa.Connection, replayed: LogState) -> None:
    """Compare every budget with the log."""
    stored = {row["id"]: dict(row) for row in connection.execute(sa.select(budgets)).mappings()}
    logged = {
        number: {"id": number, **asdict(budget)} for number, budget in replayed.budgets.items()
    }
    for number in sorted(stored.keys() | logged.keys()):
        if stored.get(number) != logged.get(number):
            replayed.problems.append(f"Budget {number} does not hold what the log says.")


def _compare_states(connection: sa.Connection, replayed: LogState) -> None:
    """Compare stored states, one in memory at a time: each may have 64 MiB."""
    stored = {state.name: state.sequence for state in list_states(connection)}
    for name in sorted(stored.keys() | replayed.states.keys()):
        state = connection.scalar(sa.select(states.c.state).where(states.c.name == name))
        number, digest = replayed.states.get(name, (stored.get(name), None))
        if state is None or (stored.get(name), fingerprint(state)) != (number, digest):
            replayed.problems.append(
                f"The stored state of entry {number} is not what the log says."
            )
