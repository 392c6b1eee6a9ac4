"""Replay of the log, from the first entry or a checkpoint on, and comparison of the tables with it.

A long log is read in many short transactions, because a writer waits for readers. Entries are only
ever added, so those that were read need not be read again. The tables are compared in the
transaction that finds no further entry.
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

_ENTRIES_AT_ONCE = 1000
"""Most entries that one transaction reads."""
BYTES_AT_ONCE = 16 * 2**20
"""Most bytes of entries and answers that are read together; one entry alone may have more."""
BeginReading = Callable[[], AbstractContextManager[sa.Connection]]
"""Begins a transaction that changes nothing and sees the store at one moment."""


@contextmanager
def read_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a transaction that changes nothing and sees the store at one moment."""
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
        """Whether no problem was found."""
        return not self.problems


def replay(read: BeginReading, log_state: LogState | None = None) -> Verification:
    """Replay the log, and compare the store with it: all tables but that of the checkpoints.

    Requests and answers are compared as their entries are read; budgets, stored states and the head
    are compared at the end.

    Args:
        read: Begins a transaction that changes nothing.
        log_state: State of the entries up to a checkpoint; the later entries are added to this
            object. None begins at the first entry.
    """
    if log_state is None:
        log_state = LogState()
    while True:
        with read() as connection:
            rows = read_entries(connection, log_state.last_row, _ENTRIES_AT_ONCE)
            for row in rows:
                log_state.add_entry(row)
            if not rows:
                return _compare_tables(connection, log_state)


def read_entries(connection: sa.Connection, last_row: int, limit: int) -> Sequence[Any]:
    """Read the next entries of the log, each with the request and the answer of its number.

    Args:
        connection: A transaction's connection.
        last_row: Number of the last entry that was read.
        limit: Most entries to read; fewer are read if they are large.

    Returns:
        Rows, by number; none if there are no further entries.
    """
    count = _count_fitting(connection, last_row, limit)
    return connection.execute(_NEXT_ENTRIES, {"last_row": last_row, "limit": count}).all()


def read_entries_in_one_row(connection: sa.Connection, last_row: int, limit: int) -> Sequence[Any]:
    """Read the next entries as `read_entries` does, but on SQLite with fewer pauses in between.

    Python's SQLite driver lets other threads run before it fetches each row. A writer waits for
    this transaction, so it would wait for those threads too. Therefore SQLite returns all entries
    in one row, as JSON; only their sizes are read row by row before. A PostgreSQL store reads
    entries as `read_entries` does.
    """
    if connection.dialect.name != "sqlite":
        return read_entries(connection, last_row, limit)
    count = _count_fitting(connection, last_row, limit)
    if count == 1:  # the one answer may be too long for a text in SQLite
        return read_entries(connection, last_row, 1)
    text = connection.scalar(_NEXT_ENTRIES_AS_JSON, {"last_row": last_row, "limit": count})
    names = _NEXT_ENTRIES.selected_columns.keys()
    rows = []
    for values in json.loads(text or "[]"):
        row = SimpleNamespace(**dict(zip(names, values, strict=True)))
        row.answer = None if row.answer is None else bytes.fromhex(row.answer)
        rows.append(row)
    return sorted(rows, key=lambda row: row.sequence)


def _count_fitting(connection: sa.Connection, last_row: int, limit: int) -> int:
    """Count the next entries, up to `limit`, that fit into `BYTES_AT_ONCE`; at least 1."""
    parameters = {"last_row": last_row, "limit": limit}
    sizes: Sequence[int] = connection.scalars(_NEXT_SIZES, parameters).all()
    totals_that_fit = [total for total in accumulate(sizes) if total <= BYTES_AT_ONCE]
    return max(1, len(totals_that_fit))


def _compare_tables(connection: sa.Connection, log_state: LogState) -> Verification:
    """Compare the tables with the state that follows from the log, and collect all problems.

    Requests and answers of the entries that a checkpoint covers are not counted.
    """
    columns = sa.select(head.c.ledger, head.c.operator, head.c.epoch, head.c.sequence, head.c.hash)
    stored_heads = connection.execute(columns).all()
    expected_head = (
        log_state.ledger,
        log_state.operator,
        log_state.epoch,
        log_state.sequence,
        log_state.hash,
    )
    if stored_heads != [expected_head]:
        log_state.problems.append("The head of the ledger is not where its log ends.")
    _compare_budgets(connection, log_state)
    _compare_states(connection, log_state)
    for table, plural in ((requests, "requests"), (answers, "answers")):
        count = sa.select(sa.func.count()).select_from(table)
        if log_state.start:
            count = count.where(table.c.sequence > log_state.start)
        if connection.scalar(count) != log_state.releases_since_start:
            log_state.problems.append(f"There are more or fewer {plural} than releases in the log.")
    return Verification(
        entries=log_state.sequence,
        budgets=len(log_state.budgets),
        releases=log_state.releases,
        epoch=log_state.epoch,
        head=Head(log_state.ledger, log_state.sequence, log_state.hash),
        problems=tuple(log_state.problems),
    )


def _select_next(columns: Sequence[sa.ColumnElement[Any]], source: sa.FromClause) -> sa.Select[Any]:
    """Select columns of `source`, a join with the log, for the entries after `last_row`.

    The statement has the parameters `last_row` and `limit`.
    """
    is_next = log.c.sequence > sa.bindparam("last_row")
    entries = sa.select(*columns).select_from(source).where(is_next)
    return entries.order_by(log.c.sequence).limit(sa.bindparam("limit"))


# The statements are built once, because each building leaves reference cycles in memory.
_LOG_AND_ANSWERS = log.outerjoin(answers, answers.c.sequence == log.c.sequence)
_SIZE = sa.func.length(log.c.body) + sa.func.coalesce(sa.func.length(answers.c.answer), 0)
_NEXT_SIZES = _select_next([_SIZE], _LOG_AND_ANSWERS)
_REQUEST_COLUMNS = [column for column in requests.c if column.name != "sequence"]
_NEXT_ENTRIES = _select_next(
    [*log.c, *_REQUEST_COLUMNS, answers.c.answer, answers.c.sequence.label("answered")],
    _LOG_AND_ANSWERS.outerjoin(requests, requests.c.sequence == log.c.sequence),
)
# The same rows as one JSON array of arrays, with answers in hexadecimal digits.
_ENTRY = _NEXT_ENTRIES.subquery()
_ANSWER_DIGITS = sa.case((_ENTRY.c.answer.is_(None), None), else_=sa.func.hex(_ENTRY.c.answer))
_JSON_COLUMNS = [_ANSWER_DIGITS if column is _ENTRY.c.answer else column for column in _ENTRY.c]
_NEXT_ENTRIES_AS_JSON = sa.select(sa.func.json_group_array(sa.func.json_array(*_JSON_COLUMNS)))


def _compare_budgets(connection: sa.Connection, log_state: LogState) -> None:
    """Add a problem for each budget that is not what the log says."""
    stored_budgets = {
        row["id"]: dict(row) for row in connection.execute(sa.select(budgets)).mappings()
    }
    logged_budgets = {
        number: {"id": number, **asdict(budget)} for number, budget in log_state.budgets.items()
    }
    for number in sorted(stored_budgets.keys() | logged_budgets.keys()):
        if stored_budgets.get(number) != logged_budgets.get(number):
            log_state.problems.append(f"Budget {number} does not hold what the log says.")


def _compare_states(connection: sa.Connection, log_state: LogState) -> None:
    """Add a problem for each stored state that is not what the log says.

    The contents are read one at a time, because each may have 64 MiB.
    """
    stored_sequences = {state.name: state.sequence for state in list_states(connection)}
    for name in sorted(stored_sequences.keys() | log_state.states.keys()):
        content = connection.scalar(sa.select(states.c.state).where(states.c.name == name))
        stored_state = None if content is None else (stored_sequences[name], fingerprint(content))
        logged_state = log_state.states.get(name)
        if stored_state != logged_state:
            number = stored_sequences[name] if logged_state is None else logged_state[0]
            log_state.problems.append(
                f"The stored state of entry {number} is not what the log says."
            )
