"""The state that a log describes, entry by entry: what every table has to hold."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field
from typing import Any

from tacit.ledger.chain import START, Head, entry_hash, fingerprint
from tacit.ledger.tokens import is_next_token

CHECKPOINT = "checkpoint"
"""Kind of an entry that holds the hash of the state before it."""

_FORMAT = 1
"""Number of the state's text. A text that was hashed never changes: another gets another number."""


@dataclass(slots=True)
class BudgetState:
    """One budget, with the columns of its table."""

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
        """Add a payment; False if the caps do not cover it, or epochs run backwards."""
        before = self.epoch_spent if self.epoch == epoch else 0
        is_forward = epoch >= self.epoch and amount > 0 and delta >= 0
        self.spent += amount
        self.delta_spent += delta
        self.epoch_spent = before + amount
        self.epoch = epoch
        is_within = self.spent <= self.cap and self.delta_spent <= self.delta_cap
        is_within_epoch = self.epoch_cap is None or self.epoch_spent <= self.epoch_cap
        return is_forward and is_within and is_within_epoch


@dataclass
class LogState:
    """The state after the entries that were read so far."""

    passes: Head | None = None
    """A head that the chain has to pass, once entries reach so far."""
    ledger: str = ""
    """Random name of the ledger."""
    operator: str | None = None
    """The last token, or the anchor; None without epochs."""
    hash: str = START
    """Hash of the last entry."""
    sequence: int = 0
    """Number of the last entry."""
    epoch: int = 0
    """The present epoch."""
    releases: int = 0
    """Number of releases."""
    budgets: dict[int, BudgetState] = field(default_factory=dict)
    """Budgets by number."""
    states: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By name, the entry that each stored state is of, and its SHA-256."""
    problems: list[str] = field(default_factory=list)
    """Sentences on what is wrong."""
    last: int = -(2**62)
    """Number of the last row: an entry with a number below 1 was inserted by an attacker."""
    begun: int = 0
    """The entry whose state was taken from a checkpoint; 0 if all were read."""
    seen: int = 0
    """Releases since then."""
    checkpoint: int = 0
    """The newest entry that is a checkpoint."""
    _lines: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def add_entry(self, row: Any) -> None:
        """Take in one row of the log, with the request and the answer of its number."""
        expected = self.sequence + 1
        self.last = row.sequence
        if row.sequence != expected:
            self.problems.append(
                f"Entries {expected} to {row.sequence - 1} of the log are missing."
            )
        before = self.hash
        self.hash = row.hash
        if entry_hash(before, row.sequence, row.kind, row.body) != row.hash:
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

    def _create(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """Begin a ledger: the first entry, and only that."""
        self.ledger = facts["ledger"]
        self.operator = facts["operator"]
        return "" if row.sequence == 1 else "begins a ledger a second time"

    def _open_budget(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """Open a budget, once."""
        number = facts["number"]
        if number in self.budgets:
            return f"opens budget {number} a second time"
        names = ("tenant", "kind", "name", "unit", "cap", "delta_cap", "epoch_cap")
        self.budgets[number] = BudgetState(**{name: facts[name] for name in names})
        return ""

    def _step_epoch(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """Advance to the next epoch, with the operator's token."""
        due = self.epoch + 1
        signed = self.operator is not None and is_next_token(facts["token"], self.operator)
        self.operator = facts["token"]
        self.epoch = facts["epoch"]
        return "" if signed and self.epoch == due else "advances the epoch without the operator"

    def _release(self, facts: dict[str, Any], row: Any, _: str) -> str:
        """Pay charges within every cap, and compare the request and the answer that were stored."""
        self.releases += 1
        self.seen += 1
        is_within = True
        for number, amount, delta in facts["charges"]:
            is_within &= self.budgets[number].pay(amount, delta, facts["epoch"])
            self._lines.pop(number, None)
        if not is_within or facts["epoch"] != self.epoch:
            return "spends more than a budget has"
        asked = (row.tenant, row.subject, row.operation, row.request_key, row.payload)
        names = ("tenant", "subject", "operation", "key", "payload")
        logged = tuple(facts[name] for name in names)
        if asked != logged or row.answered is None:
            return "has a request that is missing or was changed"
        if fingerprint(row.answer) != facts["answer"]:
            return "has an answer that is missing or was changed"
        if "state" in facts:
            name, digest = facts["state"]
            self.states[name] = (row.sequence, digest)
        return ""

    def _check_state(self, facts: dict[str, Any], row: Any, before: str) -> str:
        """Compare the state before this entry with the hash that it holds."""
        self.checkpoint = row.sequence
        right = facts["replayed"] == state_digest(self.text(before))
        return "" if right else "is a checkpoint of another state"

    def text(self, before: str | None = None) -> str:
        """Return all that the next entries are judged by, as text.

        Args:
            before: The hash so far, if not `hash`.
        """
        digest = self.hash if before is None else before
        chain = [_FORMAT, self.ledger, self.operator, self.sequence, digest, self.epoch]
        first = json.dumps([*chain, self.releases, len(self.budgets)])
        for number, budget in self.budgets.items():
            if number not in self._lines:  # most budgets rest between two checkpoints
                self._lines[number] = json.dumps([number, *astuple(budget)])
        budgets = (self._lines[number] for number in sorted(self.budgets))
        states = (json.dumps([name, *self.states[name]]) for name in sorted(self.states))
        return "\n".join((first, *budgets, *states))

    @classmethod
    def from_text(cls, text: str) -> LogState | None:
        """Read a state's text; None for text that no ledger wrote.

        The caller compares the text's hash with the chain.
        """
        try:
            first, *lines = map(json.loads, text.split("\n"))
            form, ledger, operator, sequence, digest, epoch, releases, count = first
            budgets = {number: BudgetState(*facts) for number, *facts in lines[:count]}
            states = {name: (number, state) for name, number, state in lines[count:]}
        except (TypeError, ValueError, RecursionError):
            return None
        if form != _FORMAT:
            return None
        return cls(
            ledger=ledger,
            operator=operator,
            hash=digest,
            sequence=sequence,
            epoch=epoch,
            releases=releases,
            budgets=budgets,
            states=states,
            last=sequence,
            begun=sequence,
        )


_STEPS = {
    "created": LogState._create,
    "budget": LogState._open_budget,
    "epoch": LogState._step_epoch,
    "release": LogState._release,
    CHECKPOINT: LogState._check_state,
}


def state_digest(text: str) -> str:
    """Return the SHA-256 of a state's text."""
    return hashlib.sha256(text.encode()).hexdigest()
