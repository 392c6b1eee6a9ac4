"""What the log tells, entry by entry: the state that every table has to hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.ledger.chain import START, Head, fingerprint, follows, link

CHECKPOINT = "checkpoint"
"""The kind of an entry that tells the hash of the state before it."""

_FORMAT = 1
"""Of that state's text. What was hashed once never changes: another text gets another number."""


@dataclass(slots=True)
class Budget:
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


class Budgets(Mapping[int, Budget]):
    """By number. One that rests is kept as its line of the state's text: a process that spends for
    long has many, and of most the next checkpoint tells the same."""

    def __init__(self, opened: Mapping[int, Budget] | None = None) -> None:
        self._opened = dict(opened or {})
        self._lines: dict[int, str] = {}

    @classmethod
    def of_lines(cls, lines: list[str]) -> Budgets:
        """Of a state's text; ValueError or TypeError for what `lines` does not give."""
        made = cls()
        for line in lines:
            number, *rest = json.loads(line)
            if type(number) is not int or _line(number, Budget(*rest)) != line:
                raise ValueError
            made._lines[number] = line
        return made

    def lines(self) -> Iterator[str]:
        """In the order of their numbers. Again it takes little time."""
        for number in sorted(self):
            if number in self._opened:
                self._lines[number] = _line(number, self._opened.pop(number))
            yield self._lines[number]

    @property
    def resting(self) -> int:
        """How many have their line."""
        return len(self._lines)

    def __getitem__(self, number: int) -> Budget:
        if number not in self._opened:
            self._opened[number] = Budget(*json.loads(self._lines.pop(number))[1:])
        return self._opened[number]

    def __setitem__(self, number: int, budget: Budget) -> None:
        self._lines.pop(number, None)
        self._opened[number] = budget

    def __contains__(self, number: object) -> bool:
        return number in self._opened or number in self._lines

    def __iter__(self) -> Iterator[int]:
        return iter([*self._opened, *self._lines])

    def __len__(self) -> int:
        return len(self._opened) + len(self._lines)


def _line(number: int, budget: Budget) -> str:
    return json.dumps([number, *(getattr(budget, name) for name in Budget.__slots__)])


@dataclass
class LogState:
    """The state after the entries seen so far.

    passes: a head that the chain has to pass, once the entries seen come so far. begun: the entry
    whose state was taken from a checkpoint; 0 if all were seen. seen: releases since then.
    checkpoint: the newest entry that is one.
    """

    passes: Head | None = None
    ledger: str = ""
    operator: str | None = None
    hash: str = START
    sequence: int = 0
    epoch: int = 0
    releases: int = 0
    budgets: Budgets = field(default_factory=Budgets)
    states: dict[str, tuple[int, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    last: int = -(2**62)  # an entry with a number below 1 was inserted by an attacker
    begun: int = 0
    seen: int = 0
    checkpoint: int = 0

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
        """A new budget."""
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

    def checked(self, facts: dict[str, Any], row: Any, before: str) -> str:
        """The hash of the state before this entry."""
        self.checkpoint = row.sequence
        right = facts["replayed"] == digest_of(self.text(before))
        return "" if right else "is a checkpoint of another state"

    def text(self, before: str | None = None) -> str:
        """All that the next entries are judged by. before: the hash so far, if not `hash`."""
        return "\n".join(self._lines(self.hash if before is None else before))

    def _lines(self, digest: str) -> Iterator[str]:
        stands = [_FORMAT, self.ledger, self.operator, self.sequence, digest, self.epoch]
        yield json.dumps([*stands, self.releases, len(self.budgets)])
        yield from self.budgets.lines()
        for name in sorted(self.states):
            yield json.dumps([name, *self.states[name]])

    @classmethod
    def from_text(cls, text: str) -> LogState | None:
        """None for what no ledger wrote."""
        try:
            first, *rest = text.split("\n")
            form, ledger, operator, sequence, digest, epoch, releases, budgets = json.loads(first)
            made = cls(
                ledger=ledger,
                operator=operator,
                hash=digest,
                sequence=sequence,
                epoch=epoch,
                releases=releases,
                budgets=Budgets.of_lines(rest[:budgets]),
                states={name: (at, kept) for name, at, kept in map(json.loads, rest[budgets:])},
                last=sequence,
                begun=sequence,
            )
            whole = form == _FORMAT and made.text() == text
        except (LookupError, TypeError, ValueError, RecursionError):
            return None
        numbers = all(type(number) is int for number in (sequence, releases, epoch))
        return made if whole and numbers else None


_STEPS = {
    "created": LogState.created,
    "budget": LogState.opened,
    "epoch": LogState.stepped,
    "release": LogState.released,
    CHECKPOINT: LogState.checked,
}


def digest_of(text: str) -> str:
    """SHA-256 of a state's text."""
    return hashlib.sha256(text.encode()).hexdigest()
