"""Replaying the log: the state that every table has to hold, entry by entry, and whether it does.

A long log is read in many short transactions, because a writer waits for readers. Entries are
only ever added, so what was read stays read; the tables are compared in the transaction that finds
no entry more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, astuple, dataclass, field
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from tacit.ledger.chain import START, Head, fingerprint, follows, link
from tacit.ledger.schema import STATES_SINCE, answers, budgets, head, log, requests, states, version
from tacit.ledger.statements import list_states

CHECKPOINT = "checkpoint"  # the kind of an entry that tells the hash of the state before it

_FORMAT = 1
"""Of that state's text. What was hashed once never changes: another text gets another number."""


@dataclass(slots=True)
class Budget:
    tenant: str
    kind: str
    name: str
    unit: str
    cap: int
    delta_cap: int
    epoch_cap: int | None
    spent: int = 0
    delta_spent: int = 0
    epoch: int = 0
    epoch_spent: int = 0

    def pay(self, amount: int, delta: int, epoch: int) -> bool:
        """False if the caps do not cover it, or epochs run backwards."""
        before = self.epoch_spent if self.epoch == epoch else 0
        forward = epoch >= self.epoch and amount > 0 and delta >= 0
        self.spent += amount
        self.delta_spent += delta
        self.epoch_spent = before + amount
        self.epoch = epoch
        within = self.spent <= self.cap and self.delta_spent <= self.delta_cap
        return forward and within and (self.epoch_cap is None or self.epoch_spent <= self.epoch_cap)


@dataclass
class LogState:
    """The state after the entries seen so far.

    budgets: by number. states: by name, the entry that each is of and its SHA-256. passes: a head
    that the chain has to pass, once the entries seen come so far. begun: the entry whose state was
    taken from a checkpoint; 0 if all were seen. seen: releases since then. checkpoint: the newest
    entry that is one.
    """

    passes: Head | None = None
    ledger: str = ""
    operator: str | None = None
    hash: str = START
    sequence: int = 0
    epoch: int = 0
    releases: int = 0
    budgets: dict[int, Budget] = field(default_factory=dict)
    states: dict[str, tuple[int, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    last: int = -(2**62)  # an entry with a number below 1 was inserted by an attacker
    begun: int = 0
    seen: int = 0
    checkpoint: int = 0
    _lines: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def entry(self, row: Any) -> None:
        """One row of the log, beside the request and the answer of the same number."""
        expected = self.sequence + 1
        self.last = row.sequence
        if row.sequence != expected:
            self.problems.append(
                f"Entries {expected} to {row.sequence - 1} of the log are missing."
            )
        before, self.hash = self.hash, row.hash
        if link(before, row.sequence, row.kind, row.body) != row.hash:
            self.problems.append(f"Entry {row.sequence} of the log was changed, or one before it.")
        try:
            fault = _STEPS[row.kind](self, json.loads(row.body), row, before)
        except (KeyError, TypeError, ValueError, RecursionError):
            fault = "cannot be read"
        self.sequence = row.sequence
        passed = self.passes
        if passed is not None and passed.sequence == row.sequence and passed.hash != row.hash:
            fault = fault or "is not the one that the second place of the head remembers"
        if fault:
            self.problems.append(f"Entry {row.sequence} of the log {fault}.")

    def created(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """The first entry, and only that."""
        self.ledger, self.operator = facts["ledger"], facts["operator"]
        return "" if row.sequence == 1 else "begins a ledger a second time"

    def opened(self, facts: dict[str, Any], row: Any, _: str) -> str:
        number = facts["number"]
        if number in self.budgets:
            return f"opens budget {number} a second time"
        names = ("tenant", "kind", "name", "unit", "cap", "delta_cap", "epoch_cap")
        self.budgets[number] = Budget(**{name: facts[name] for name in names})
        return ""

    def stepped(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """The next epoch, with the operator's token."""
        due = self.epoch + 1
        signed = self.operator is not None and follows(facts["token"], self.operator)
        self.operator, self.epoch = facts["token"], facts["epoch"]
        return "" if signed and self.epoch == due else "advances the epoch without the operator"

    def released(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """Charges within every cap, and the answer that was stored."""
        self.releases += 1
        self.seen += 1
        within = True
        for number, amount, delta in facts["charges"]:
            within &= self.budgets[number].pay(amount, delta, facts["epoch"])
            self._lines.pop(number, None)
        if not within or facts["epoch"] != self.epoch:
            return "spends more than a budget has"
        asked = (row.tenant, row.subject, row.operation, row.request_key, row.payload)
        logged = tuple(facts[n] for n in ("tenant", "subject", "operation", "key", "payload"))
        if asked != logged or row.answered is None:
            return "has a request that is missing or was changed"
        if fingerprint(row.answer) != facts["answer"]:
            return "has an answer that is missing or was changed"
        if "state" in facts:
            name, digest = facts["state"]
            self.states[name] = (row.sequence, digest)
        return ""

    def checked(self, facts: dict[str, Any], row: Any, before: str) -> str:
        """The hash of the state before this entry."""
        self.checkpoint = row.sequence
        right = facts["replayed"] == digest_of(self.text(before))
        return "" if right else "is a checkpoint of another state"

    def text(self, before: str | None = None) -> str:
        """All that the next entries are judged by. before: the hash so far, if not `hash`."""
        digest = self.hash if before is None else before
        stands = [_FORMAT, self.ledger, self.operator, self.sequence, digest, self.epoch]
        first = json.dumps([*stands, self.releases, len(self.budgets)])
        for number, budget in self.budgets.items():
            if number not in self._lines:  # most budgets rest between two checkpoints
                self._lines[number] = json.dumps([number, *astuple(budget)])
        budgets = (self._lines[number] for number in sorted(self.budgets))
        states = (json.dumps([name, *self.states[name]]) for name in sorted(self.states))
        return "\n".join((first, *budgets, *states))

    @classmethod
    def from_text(cls, text: str) -> LogState | None:
        """None for what no ledger wrote. The caller compares the text's hash with the chain."""
        try:
            first, *lines = map(json.loads, text.split("\n"))
            form, ledger, operator, sequence, digest, epoch, releases, count = first
            budgets = {number: Budget(*facts) for number, *facts in lines[:count]}
            states = {name: (number, state) for name, number, state in lines[count:]}
        except (TypeError, ValueError, RecursionError):
            return None
        seen = {"sequence": sequence, "last": sequence, "begun": sequence, "hash": digest}
        stands = {"ledger": ledger, "operator": operator, "epoch": epoch, "releases": releases}
        return cls(budgets=budgets, states=states, **seen, **stands) if form == _FORMAT else None


_STEPS = {
    "created": LogState.created,
    "budget": LogState.opened,
    "epoch": LogState.stepped,
    "release": LogState.released,
    CHECKPOINT: LogState.checked,
}


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_AT_ONCE = 1000  # entries of one transaction
BYTES_AT_ONCE = 16 * 2**20
"""Of entries and answers that are read together: so much memory, or that of one answer."""
Read = Callable[[], AbstractContextManager[sa.Connection]]
"""Begins a transaction that changes nothing and sees one moment."""


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that sees one moment and changes nothing."""
    with engine.connect().execution_options(ledger_reads=True) as connection, connection.begin():
        yield connection


def hash_at(connection: sa.Connection, sequence: int) -> str | None:
    """The hash of one entry of the log, or None if there is no such entry."""
    return connection.scalar(sa.select(log.c.hash).where(log.c.sequence == sequence))


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


def replay(read: Read, replayed: LogState | None = None) -> Verification:
    """Everything the store holds against its log, from the first entry on.

    replayed: begin after its entries; it learns of the others. Requests and answers are compared
    where their entries are read, every budget and state and the head at the end.
    """
    replayed = LogState() if replayed is None else replayed
    while True:
        with read() as connection:
            rows = entries(connection, replayed.last, _AT_ONCE)
            for row in rows:
                replayed.entry(row)
            if not rows:
                return _compared(connection, replayed)


def entries(connection: sa.Connection, last: int, most: int) -> Sequence[Any]:
    """The next ones, each beside the request and the answer of the same number: at most so many,
    and fewer where they are large; none if there are no more."""
    return connection.execute(_NEXT, {"last": last, "most": _fitting(connection, last, most)}).all()


def entries_at_once(connection: sa.Connection, last: int, most: int) -> Sequence[Any]:
    """The same for a thread among others: SQLite gives them in one row. After each row Python lets
    another thread run, which comes back when it pleases; meanwhile all writers would wait for a
    reader that waits."""
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


def _fitting(connection: sa.Connection, last: int, most: int) -> int:
    """How many of the next entries have `BYTES_AT_ONCE` together; at least one."""
    sizes: Sequence[int] = connection.scalars(_SIZES, {"last": last, "most": most}).all()
    return max(1, sum(total <= BYTES_AT_ONCE for total in accumulate(sizes)))


def _compared(connection: sa.Connection, replayed: LogState) -> Verification:
    names = ("ledger", "operator", "epoch", "sequence", "hash")
    stored = connection.execute(sa.select(*(head.c[name] for name in names))).all()
    if stored != [tuple(getattr(replayed, name) for name in names)]:
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


def _next(columns: Sequence[sa.ColumnElement[Any]], beside: sa.FromClause) -> sa.Select[Any]:
    """Of the entries after `last`, `most` at most. Built once: a statement leaves cycles."""
    after = sa.select(*columns).select_from(beside).where(log.c.sequence > sa.bindparam("last"))
    return after.order_by(log.c.sequence).limit(sa.bindparam("most"))


_ANSWERED = log.outerjoin(answers, answers.c.sequence == log.c.sequence)
_SIZE = sa.func.length(log.c.body) + sa.func.coalesce(sa.func.length(answers.c.answer), 0)
_SIZES = _next([_SIZE], _ANSWERED)
_ASKED = [column for column in requests.c if column.name != "sequence"]
_NEXT = _next(
    [*log.c, *_ASKED, answers.c.answer, answers.c.sequence.label("answered")],
    _ANSWERED.outerjoin(requests, requests.c.sequence == log.c.sequence),
)
_ROW = _NEXT.subquery()
_HEX = sa.case((_ROW.c.answer.is_(None), None), else_=sa.func.hex(_ROW.c.answer))
_LISTED = sa.func.json_array(*(_HEX if one is _ROW.c.answer else one for one in _ROW.c))
_AT_ONE_TIME = sa.select(sa.func.json_group_array(_LISTED))


def _compare_budgets(connection: sa.Connection, replayed: LogState) -> None:
    stored = {row["id"]: dict(row) for row in connection.execute(sa.select(budgets)).mappings()}
    logged = {number: {"id": number, **asdict(one)} for number, one in replayed.budgets.items()}
    for number in sorted(stored.keys() | logged.keys()):
        if stored.get(number) != logged.get(number):
            replayed.problems.append(f"Budget {number} does not hold what the log says.")


def _compare_states(connection: sa.Connection, replayed: LogState) -> None:
    """One state in memory at a time: each may have 64 MiB."""
    if version(connection) < STATES_SINCE:
        return
    stored = {state.name: state.sequence for state in list_states(connection)}
    for name in sorted(stored.keys() | replayed.states.keys()):
        state = connection.scalar(sa.select(states.c.state).where(states.c.name == name))
        number, digest = replayed.states.get(name, (stored.get(name), None))
        if state is None or (stored.get(name), fingerprint(state)) != (number, digest):
            replayed.problems.append(f"The kept state of entry {number} is not what the log says.")
