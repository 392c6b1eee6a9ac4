"""Replaying the log: what every table has to hold, and whether it does.

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

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    FromClause,
    Select,
    Subquery,
    bindparam,
    case,
    func,
    select,
)

from tacit.ledger.chain import Head, fingerprint
from tacit.ledger.history import LogState
from tacit.ledger.schema import STATES_SINCE, answers, budgets, head, log, requests, states, version
from tacit.ledger.statements import list_states

_AT_ONCE = 1000
"""Entries of one transaction."""
BYTES_AT_ONCE = 16 * 2**20
"""Of entries and answers that are read together: so much memory, or that of one answer."""
Read = Callable[[], AbstractContextManager[Connection]]
"""Begins a transaction that changes nothing and sees one moment."""


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one moment and changes nothing."""
    with engine.connect().execution_options(ledger_reads=True) as connection, connection.begin():
        yield connection


def hash_at(connection: Connection, sequence: int) -> str | None:
    """The hash of one entry of the log, or None if there is no such entry."""
    return connection.scalar(select(log.c.hash).where(log.c.sequence == sequence))


@dataclass(frozen=True)
class Verification:
    """What a replay found. problems: sentences with entry and budget numbers, and no names."""

    entries: int
    budgets: int
    releases: int
    epoch: int
    head: Head
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether the store says what its log says."""
        return not self.problems


def replay(read: Read) -> Verification:
    """Everything the store holds against its log, from the first entry on."""
    return follow(read, LogState())


def follow(read: Read, replayed: LogState) -> Verification:
    """The entries after those of `replayed`, which learns of them, and every table of budgets,
    states and the head. Requests and answers are compared where their entries are read.
    """
    while True:
        with read() as connection:
            rows = entries(connection, replayed.last, _AT_ONCE)
            for row in rows:
                replayed.entry(row)
            if not rows:
                return _compared(connection, replayed)


def entries(connection: Connection, last: int, most: int) -> Sequence[Any]:
    """The next ones, each beside the request and the answer of the same number: at most so many,
    and fewer where they are large; none if there are no more."""
    return connection.execute(_NEXT, {"last": last, "most": _fitting(connection, last, most)}).all()


def entries_at_once(connection: Connection, last: int, most: int) -> Sequence[Any]:
    """The same for a thread among others: SQLite gives them in one row.

    After each row Python lets another thread run, which comes back when it pleases; meanwhile all
    writers would wait for a reader that waits.
    """
    if connection.dialect.name != "sqlite":
        return entries(connection, last, most)
    fitting = _fitting(connection, last, most)
    if fitting == 1:  # perhaps an answer that is too long for a text of SQLite
        return entries(connection, last, 1)
    listed = connection.scalar(_AT_ONE_TIME, {"last": last, "most": fitting})
    names = _NEXT.selected_columns.keys()
    rows = [
        SimpleNamespace(**dict(zip(names, row, strict=True))) for row in json.loads(listed or "[]")
    ]
    for row in rows:
        row.answer = None if row.answer is None else bytes.fromhex(row.answer)
    return sorted(rows, key=lambda row: row.sequence)


def _fitting(connection: Connection, last: int, most: int) -> int:
    """How many of the next entries have `BYTES_AT_ONCE` together; at least one."""
    sizes: Sequence[int] = connection.scalars(_SIZES, {"last": last, "most": most}).all()
    return max(1, sum(total <= BYTES_AT_ONCE for total in accumulate(sizes)))


def _compared(connection: Connection, replayed: LogState) -> Verification:
    found = [
        (r.ledger, r.operator, r.epoch, r.sequence, r.hash)
        for r in connection.execute(select(head))
    ]
    stands = (replayed.ledger, replayed.operator, replayed.epoch, replayed.sequence, replayed.hash)
    if found != [stands]:
        replayed.problems.append("The head of the ledger is not where its log ends.")
    _compare_budgets(connection, replayed)
    _compare_states(connection, replayed)
    for table, what in ((requests, "requests"), (answers, "answers")):
        question = select(func.count()).select_from(table)
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


def _next(columns: Sequence[ColumnElement[Any]], beside: FromClause) -> Select[Any]:
    """Of the entries after `last`, `most` at most. Built once: a statement leaves cycles."""
    after = select(*columns).select_from(beside).where(log.c.sequence > bindparam("last"))
    return after.order_by(log.c.sequence).limit(bindparam("most"))


def _listed(each: Subquery) -> Select[Any]:
    answer = case((each.c.answer.is_(None), None), else_=func.hex(each.c.answer))
    columns = [answer if column.name == "answer" else column for column in each.c]
    return select(func.json_group_array(func.json_array(*columns)))


_ANSWERED = log.outerjoin(answers, answers.c.sequence == log.c.sequence)
_SIZE = func.length(log.c.body) + func.coalesce(func.length(answers.c.answer), 0)
_SIZES = _next([_SIZE], _ANSWERED)
_ASKED = [column for column in requests.c if column.name != "sequence"]
_NEXT = _next(
    [*log.c, *_ASKED, answers.c.answer, answers.c.sequence.label("answered")],
    log.outerjoin(requests, requests.c.sequence == log.c.sequence).outerjoin(
        answers, answers.c.sequence == log.c.sequence
    ),
)
_AT_ONE_TIME = _listed(_NEXT.subquery())


def _compare_budgets(connection: Connection, replayed: LogState) -> None:
    found = {row["id"]: dict(row) for row in connection.execute(select(budgets)).mappings()}
    logged = replayed.budgets
    for number in sorted(found.keys() | logged.keys()):
        said = logged.get(number)
        kept = found.get(number)
        if said is None or kept is None or kept != {"id": number, **asdict(said)}:
            replayed.problems.append(f"Budget {number} does not hold what the log says.")


def _compare_states(connection: Connection, replayed: LogState) -> None:
    """One state in memory at a time: each may have 64 MiB."""
    if version(connection) < STATES_SINCE:
        return
    found = {kept.name: kept.sequence for kept in list_states(connection)}
    logged = replayed.states
    for name in sorted(found.keys() | logged.keys()):
        said = logged.get(name)
        kept = connection.scalar(select(states.c.state).where(states.c.name == name))
        if said is None or kept is None or said != (found[name], fingerprint(kept)):
            number = found.get(name) if said is None else said[0]
            replayed.problems.append(f"The kept state of entry {number} is not what the log says.")
