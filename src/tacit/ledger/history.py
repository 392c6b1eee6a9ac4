"""What the log tells, entry by entry: the state that every table has to hold."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field
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
        within = True
        for number, amount, delta in facts["charges"]:
            within &= self.budgets[number].pay(amount, delta, facts["epoch"])
            self._lines.pop(number, None)
        if not within or facts["epoch"] != self.epoch:
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
            states = {name: (at, said) for name, at, said in lines[count:]}
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
    """SHA-256 of a state's text."""
    return hashlib.sha256(text.encode()).hexdigest()
