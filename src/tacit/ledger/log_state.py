"""The state that follows from the entries of a log, and which the tables of the store must hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from types import NoneType
from typing import Any

from tacit.ledger.chain import START, Head, entry_hash, fingerprint
from tacit.ledger.tokens import is_next_token

CHECKPOINT = "checkpoint"
"""Kind of an entry that holds the hash of the state before it."""

_FORMAT = 1
"""Version of the text of a state. Logs hold hashes of such texts, so a change needs a new
number."""


@dataclass(slots=True)
class BudgetState:
    """One budget; the fields are the columns of its table except its number.

    Caps and spent amounts are in steps of the unit, deltas in steps of 1e-18. `epoch` is the epoch
    of the last payment, and `epoch_spent` the amount spent in it.
    """

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
        """Add a payment, and say whether the ledger should have granted it.

        Args:
            amount: Steps of the budget's unit.
            delta: Steps of 1e-18.
            epoch: The epoch of the payment.

        Returns:
            False if a cap does not cover the payment, the amount is not positive, the delta is
            negative, or the epoch is before that of the last payment.
        """
        spent_in_epoch = self.epoch_spent if self.epoch == epoch else 0
        is_valid_payment = epoch >= self.epoch and amount > 0 and delta >= 0
        self.spent += amount
        self.delta_spent += delta
        self.epoch_spent = spent_in_epoch + amount
        self.epoch = epoch
        is_within_lifetime = self.spent <= self.cap and self.delta_spent <= self.delta_cap
        is_within_epoch = self.epoch_cap is None or self.epoch_spent <= self.epoch_cap
        return is_valid_payment and is_within_lifetime and is_within_epoch


@dataclass
class LogState:
    """The state after the entries that were read so far."""

    head_to_match: Head | None = None
    """A head that is known from elsewhere: the entry of its number must have its hash."""
    ledger: str = ""
    """Random name of the ledger."""
    operator: str | None = None
    """The operator's last token, or their anchor if there was no token yet, as `tokens` defines
    both; None for a ledger without epochs."""
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
    """For each stored state by name, the number of the entry that stored it, and its SHA-256."""
    problems: list[str] = field(default_factory=list)
    """Sentences on what is wrong."""
    last_row: int = -(2**62)
    """Number of the last row that was read. It starts so low because an attacker may have inserted
    entries with numbers below 1, which have to be read too."""
    start: int = 0
    """Number of the last entry that the checkpoint at the start of this replay covers; 0 if the
    replay began at the first entry."""
    releases_since_start: int = 0
    """Number of releases after the entry `start`."""
    checkpoint: int = 0
    """Number of the newest entry that is a checkpoint."""
    _budget_lines: dict[int, str] = field(default_factory=dict, repr=False, compare=False)
    """For each budget by number, its line of `text`, if it has not paid since that was written."""

    def add_entry(self, row: Any) -> None:
        """Check one entry of the log, add its effect to the state, and note what is wrong with it.

        Args:
            row: Columns of the log, and of the request and the answer that have the entry's number.
        """
        expected_number = max(self.sequence, 0) + 1
        self.last_row = row.sequence
        if row.sequence < 1:
            self.problems.append(f"Entry {row.sequence} of the log was inserted, before the first.")
        elif row.sequence != expected_number:
            self.problems.append(
                f"Entries {expected_number} to {row.sequence - 1} of the log are missing."
            )
        previous_hash = self.hash
        self.hash = row.hash
        if entry_hash(previous_hash, row.sequence, row.kind, row.body) != row.hash:
            self.problems.append(f"Entry {row.sequence} of the log was changed, or one before it.")
        try:
            fault = _STEPS[row.kind](self, json.loads(row.body), row, previous_hash)
        except (KeyError, TypeError, ValueError, RecursionError):
            fault = "cannot be read"
        self.sequence = row.sequence
        head = self.head_to_match
        if head is not None and head.sequence == row.sequence and head.hash != row.hash:
            fault = fault or "is not the one that the second place of the head remembers"
        if fault:
            self.problems.append(f"Entry {row.sequence} of the log {fault}.")

    # The next five methods add the effect of one kind of entry each. They return what is wrong with
    # the entry, as the end of a sentence that begins "Entry 7 of the log"; "" if nothing is. An
    # entry that lacks a fact, or has one of another type, raises KeyError, TypeError or ValueError.

    def _create(self, facts: dict[str, Any], row: Any, _previous_hash: str) -> str:
        """Begin a ledger, which only the first entry may do."""
        _check_types([facts["ledger"]], str)
        _check_types([facts["operator"]], str, NoneType)
        self.ledger = facts["ledger"]
        self.operator = facts["operator"]
        return "" if row.sequence == 1 else "begins a ledger a second time"

    def _open_budget(self, facts: dict[str, Any], row: Any, _previous_hash: str) -> str:
        """Open a budget that is not open yet."""
        number = facts["number"]
        _check_types([facts["tenant"], facts["kind"], facts["name"], facts["unit"]], str)
        _check_types([number, facts["cap"], facts["delta_cap"]], int)
        _check_types([facts["epoch_cap"]], int, NoneType)
        if number in self.budgets:
            return f"opens budget {number} a second time"
        names = ("tenant", "kind", "name", "unit", "cap", "delta_cap", "epoch_cap")
        self.budgets[number] = BudgetState(**{name: facts[name] for name in names})
        return ""

    def _step_epoch(self, facts: dict[str, Any], row: Any, _previous_hash: str) -> str:
        """Advance to the next epoch, with the operator's token."""
        _check_types([facts["token"]], str)
        _check_types([facts["epoch"]], int)
        next_epoch = self.epoch + 1
        is_token = self.operator is not None and is_next_token(facts["token"], self.operator)
        self.operator = facts["token"]
        self.epoch = facts["epoch"]
        if is_token and self.epoch == next_epoch:
            return ""
        return "advances the epoch without the operator"

    def _release(self, facts: dict[str, Any], row: Any, _previous_hash: str) -> str:
        """Pay the charges of a release; compare the stored request and answer with the entry."""
        self.releases += 1
        self.releases_since_start += 1
        _check_types([facts["epoch"]], int)
        is_covered = facts["epoch"] == self.epoch
        for number, amount, delta in facts["charges"]:
            _check_types([number, amount, delta], int)
            if not self.budgets[number].pay(amount, delta, facts["epoch"]):
                is_covered = False
            self._budget_lines.pop(number, None)
        if not is_covered:
            return "makes a payment that a ledger would have refused"
        stored_request = (row.tenant, row.subject, row.operation, row.request_key, row.payload)
        names = ("tenant", "subject", "operation", "key", "payload")
        logged_request = tuple(facts[name] for name in names)
        if stored_request != logged_request or row.answered is None:
            return "has a request that is missing or was changed"
        if fingerprint(row.answer) != facts["answer"]:
            return "has an answer that is missing or was changed"
        if "state" in facts:
            name, digest = facts["state"]
            _check_types([name, digest], str)
            name.encode()  # a lone surrogate raises a ValueError here, and not in the store
            self.states[name] = (row.sequence, digest)
        return ""

    def _check_state(self, facts: dict[str, Any], row: Any, previous_hash: str) -> str:
        """Compare the state before this entry with the hash that the entry holds."""
        self.checkpoint = row.sequence
        is_same = facts["replayed"] == state_digest(self.text(previous_hash))
        return "" if is_same else "is a checkpoint of another state"

    def text(self, last_hash: str | None = None) -> str:
        """Return as text all of this state that is needed to check the next entries.

        The text has a line of facts about the chain, a line for each budget by number, and a line
        for each stored state by name; each line is a JSON array.

        Args:
            last_hash: Hash of the last entry that the text covers; None for `hash`. While a
                checkpoint is checked, `hash` is that of the checkpoint already.
        """
        digest = self.hash if last_hash is None else last_hash
        chain = [_FORMAT, self.ledger, self.operator, self.sequence, digest, self.epoch]
        first_line = json.dumps([*chain, self.releases, len(self.budgets)])
        for number, budget in self.budgets.items():
            if number not in self._budget_lines:  # not written yet, or paid since
                self._budget_lines[number] = json.dumps([number, *astuple(budget)])
        budgets = (self._budget_lines[number] for number in sorted(self.budgets))
        states = (json.dumps([name, *self.states[name]]) for name in sorted(self.states))
        return "\n".join((first_line, *budgets, *states))

    @classmethod
    def from_text(cls, text: str) -> LogState | None:
        """Return the state that `text` wrote; None for other text, or text of another version.

        The caller must compare the hash of the text with the checkpoint's entry in the log.
        """
        try:
            first_line, *lines = map(json.loads, text.split("\n"))
            version, ledger, operator, sequence, digest, epoch, releases, count = first_line
            _check_types([version, sequence, epoch, releases, count], int)
            _check_types([ledger, digest], str)
            _check_types([operator], str, NoneType)
            if version != _FORMAT or not 0 <= count <= len(lines):
                return None
            budgets = dict(map(_parse_budget, lines[:count]))
            states = dict(map(_parse_state, lines[count:]))
        except (TypeError, ValueError, RecursionError):
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
            last_row=sequence,
            start=sequence,
        )


_STEPS = {
    "created": LogState._create,
    "budget": LogState._open_budget,
    "epoch": LogState._step_epoch,
    "release": LogState._release,
    CHECKPOINT: LogState._check_state,
}
"""For each kind of entry, the method that adds its effect."""


def _parse_budget(line: list[Any]) -> tuple[int, BudgetState]:
    """Return a budget's number and the budget, from its line of a state's text.

    Raises:
        TypeError or ValueError: A field is missing, too many, or of another type.
    """
    number, tenant, kind, name, unit, cap, delta_cap, epoch_cap, *paid = line
    spent, delta_spent, epoch, epoch_spent = paid
    _check_types([tenant, kind, name, unit], str)
    _check_types([number, cap, delta_cap, *paid], int)
    _check_types([epoch_cap], int, NoneType)
    budget = BudgetState(
        tenant=tenant,
        kind=kind,
        name=name,
        unit=unit,
        cap=cap,
        delta_cap=delta_cap,
        epoch_cap=epoch_cap,
        spent=spent,
        delta_spent=delta_spent,
        epoch=epoch,
        epoch_spent=epoch_spent,
    )
    return number, budget


def _parse_state(line: list[Any]) -> tuple[str, tuple[int, str]]:
    """Return a stored state's name, and its entry's number and SHA-256, from its line of the text.

    Raises:
        TypeError or ValueError: A field is missing, too many, or of another type.
    """
    name, number, digest = line
    _check_types([name, digest], str)
    _check_types([number], int)
    return name, (number, digest)


def _check_types(values: Iterable[Any], *types: type) -> None:
    """Raise TypeError unless each value has one of the types; a Boolean is no integer."""
    for value in values:
        if type(value) not in types:
            raise TypeError


def state_digest(text: str) -> str:
    """Return the SHA-256 of a state's text."""
    return hashlib.sha256(text.encode()).hexdigest()
