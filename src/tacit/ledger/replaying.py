"""Replaying the log from its first entry: what every table has to hold, and whether it does.

A long log is read in many short transactions, for a writer waits for whoever reads. Entries are
only ever added, so what was read stays read; the tables are compared in the transaction that finds
no entry more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from tacit.ledger.chain import START, Head, link
from tacit.ledger.epochs import follows
from tacit.ledger.schema import (
    STATES_SINCE,
    answers,
    budgets,
    head,
    log,
    requests,
    states,
    version,
)
from tacit.ledger.spending import fingerprint
from tacit.ledger.states import list_states

_AT_ONCE = 1000
"""Entries of one transaction."""
Read = Callable[[], AbstractContextManager[Connection]]
"""Begins a transaction that changes nothing and sees one moment."""


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


@dataclass
class _Budget:
    """A budget as the log tells it."""

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
class _Replay:
    """The state after the entries seen so far."""

    ledger: str = ""
    operator: str | None = None
    hash: str = START
    sequence: int = 0
    epoch: int = 0
    releases: int = 0
    budgets: dict[int, _Budget] = field(default_factory=dict)
    states: dict[str, tuple[int, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    last: int = -(2**62)  # an entry with a number below 1 is one that somebody slipped in

    def entry(self, row: Any) -> None:
        """One row of the log, beside the request and the answer of the same number."""
        expected = self.sequence + 1
        self.last = row.sequence
        if row.sequence != expected:
            self.problems.append(
                f"Entries {expected} to {row.sequence - 1} of the log are missing."
            )
        self.sequence = row.sequence
        if link(self.hash, row.sequence, row.kind, row.body) != row.hash:
            self.problems.append(f"Entry {row.sequence} of the log was changed, or one before it.")
        self.hash = row.hash
        try:
            told = _STEPS[row.kind](self, json.loads(row.body), row)
        except (KeyError, TypeError, ValueError, RecursionError):
            told = "cannot be read"
        if told:
            self.problems.append(f"Entry {row.sequence} of the log {told}.")

    def created(self, facts: dict[str, Any], row: Any) -> str:
        """The first entry, and only that."""
        self.ledger, self.operator = facts["ledger"], facts["operator"]
        return "" if row.sequence == 1 else "begins a ledger a second time"

    def opened(self, facts: dict[str, Any], row: Any) -> str:
        """A new budget."""
        number = facts["number"]
        if number in self.budgets:
            return f"opens budget {number} a second time"
        names = ("tenant", "kind", "name", "unit", "cap", "delta_cap", "epoch_cap")
        self.budgets[number] = _Budget(**{name: facts[name] for name in names})
        return ""

    def stepped(self, facts: dict[str, Any], row: Any) -> str:
        """The next epoch, with the operator's token."""
        due = self.epoch + 1
        signed = self.operator is not None and follows(facts["token"], self.operator)
        self.operator, self.epoch = facts["token"], facts["epoch"]
        return "" if signed and self.epoch == due else "advances the epoch without the operator"

    def released(self, facts: dict[str, Any], row: Any) -> str:
        """Charges within every cap, and the answer that was stored."""
        self.releases += 1
        within = [
            self.budgets[number].pay(amount, delta, facts["epoch"])
            for number, amount, delta in facts["charges"]
        ]
        if not all(within) or facts["epoch"] != self.epoch:
            return "spends more than a budget has"
        asked = (row.tenant, row.subject, row.operation, row.request_key, row.payload)
        said = tuple(facts[n] for n in ("tenant", "subject", "operation", "key", "payload"))
        if asked != said or row.answered is None:
            return "has a request that is missing or was changed"
        if fingerprint(row.answer) != facts["answer"]:
            return "has an answer that is missing or was changed"
        if "state" in facts:
            name, digest = facts["state"]
            self.states[name] = (row.sequence, digest)
        return ""


_STEPS = {
    "created": _Replay.created,
    "budget": _Replay.opened,
    "epoch": _Replay.stepped,
    "release": _Replay.released,
}


def replay(read: Read) -> Verification:
    """Everything the store holds against its log."""
    state = _Replay()
    while True:
        with read() as connection:
            rows = _entries(connection, state.last)
            for row in rows:
                state.entry(row)
            if len(rows) < _AT_ONCE:
                return _compared(connection, state)


def _compared(connection: Connection, state: _Replay) -> Verification:
    _compare_head(connection, state)
    _compare_budgets(connection, state)
    _compare_states(connection, state)
    for table, what in ((requests, "requests"), (answers, "answers")):
        if connection.scalar(select(func.count()).select_from(table)) != state.releases:
            state.problems.append(f"There are more or fewer {what} than releases in the log.")
    return Verification(
        entries=state.sequence,
        budgets=len(state.budgets),
        releases=state.releases,
        epoch=state.epoch,
        head=Head(state.ledger, state.sequence, state.hash),
        problems=tuple(state.problems),
    )


def _entries(connection: Connection, last: int) -> Sequence[Any]:
    """The next ones, each beside the request and the answer of the same number."""
    joined = log.outerjoin(requests, requests.c.sequence == log.c.sequence).outerjoin(
        answers, answers.c.sequence == log.c.sequence
    )
    columns = [column for column in requests.c if column.name != "sequence"]
    question = select(
        log, *columns, answers.c.answer, answers.c.sequence.label("answered")
    ).select_from(joined)
    return connection.execute(
        question.where(log.c.sequence > last).order_by(log.c.sequence).limit(_AT_ONCE)
    ).all()


def _compare_head(connection: Connection, state: _Replay) -> None:
    rows = connection.execute(select(head)).all()
    found = [(r.ledger, r.operator, r.epoch, r.sequence, r.hash) for r in rows]
    if found != [(state.ledger, state.operator, state.epoch, state.sequence, state.hash)]:
        state.problems.append("The head of the ledger is not where its log ends.")


def _compare_budgets(connection: Connection, state: _Replay) -> None:
    found = {row["id"]: dict(row) for row in connection.execute(select(budgets)).mappings()}
    for number in sorted(found.keys() | state.budgets.keys()):
        told = state.budgets.get(number)
        kept = found.get(number)
        if told is None or kept is None or kept != {"id": number, **asdict(told)}:
            state.problems.append(f"Budget {number} does not hold what the log says.")


def _compare_states(connection: Connection, state: _Replay) -> None:
    """One state in memory at a time: each may have 64 MiB."""
    if version(connection) < STATES_SINCE:
        return
    found = {kept.name: kept.sequence for kept in list_states(connection)}
    for name in sorted(found.keys() | state.states.keys()):
        told = state.states.get(name)
        kept = connection.scalar(select(states.c.state).where(states.c.name == name))
        if told is None or kept is None or told != (found[name], fingerprint(kept)):
            number = found.get(name) if told is None else told[0]
            state.problems.append(f"The kept state of entry {number} is not what the log says.")
