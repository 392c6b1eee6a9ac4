"""What the log tells, entry by entry: the state that every table has to hold."""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

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
    """By number. Those that rest are kept as they stand in the state's text, in one piece: a
    process that spends for long has many, and what it takes to look at all of them it gives back.
    """

    def __init__(self, opened: Mapping[int, Budget] | None = None) -> None:
        self._opened = dict(opened or {})
        self._text, self._numbers, self._ends = b"", array("q"), array("q")

    @classmethod
    def of_text(cls, text: str, at: int, count: int) -> tuple[Budgets, int]:
        """Of so many lines of a state's text, each after its line feed at that place; and where
        they end. ValueError or TypeError for what no ledger wrote."""
        made, end = cls(), at
        for _ in range(count):
            begun, end = end, text.find("\n", end + 1) % (len(text) + 1)
            number, *rest = json.loads(text[begun:end])
            if type(number) is not int or _line(number, Budget(*rest)) != text[begun:end]:
                raise ValueError
            if made._numbers and number <= made._numbers[-1]:
                raise ValueError
            made._numbers.append(number)
            made._ends.append(end - at)
        made._text = text[at:end].encode("ascii")
        return made, end

    def text(self) -> bytes:
        """All lines in the order of their numbers. Again it takes little time."""
        if self._opened:
            made, numbers, ends = bytearray(), array("q"), array("q")
            for number in sorted(self):
                one = self._opened.get(number)
                made += self._resting(number) if one is None else _line(number, one).encode()
                numbers.append(number)
                ends.append(len(made))
            self._text, self._numbers, self._ends = bytes(made), numbers, ends
            self._opened.clear()
        return self._text

    @property
    def resting(self) -> int:
        """How many have their line."""
        return len(self._numbers)

    def _resting(self, number: int) -> bytes:
        at = bisect_left(self._numbers, number)
        if at == len(self._numbers) or self._numbers[at] != number:
            raise KeyError(number)
        return self._text[self._ends[at - 1] if at else 0 : self._ends[at]]

    def __getitem__(self, number: int) -> Budget:
        if number not in self._opened:
            self._opened[number] = Budget(*json.loads(self._resting(number))[1:])
        return self._opened[number]

    def __setitem__(self, number: int, budget: Budget) -> None:
        self._opened[number] = budget

    def __iter__(self) -> Iterator[int]:
        return iter({*self._opened, *self._numbers})

    def __contains__(self, number: object) -> bool:
        at = bisect_left(self._numbers, cast("int", number))
        return number in self._opened or number in self._numbers[at : at + 1]

    def __len__(self) -> int:
        return len(self._numbers) + sum(
            number not in self._numbers[(at := bisect_left(self._numbers, number)) : at + 1]
            for number in self._opened
        )


def _line(number: int, budget: Budget) -> str:
    return "\n" + json.dumps([number, *(getattr(budget, name) for name in Budget.__slots__)])


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
        digest = self.hash if before is None else before
        stands = [_FORMAT, self.ledger, self.operator, self.sequence, digest, self.epoch]
        made = bytearray(json.dumps([*stands, self.releases, len(self.budgets)]).encode())
        made += self.budgets.text()
        for name in sorted(self.states):
            made += f"\n{json.dumps([name, *self.states[name]])}".encode()
        return made.decode()

    @classmethod
    def from_text(cls, text: str) -> LogState | None:
        """None for what no ledger wrote."""
        try:
            first = text.find("\n") % (len(text) + 1)
            stands = json.loads(text[:first])
            form, ledger, operator, sequence, digest, epoch, releases, count = stands
            budgets, end = Budgets.of_text(text, first, count)
            rest = map(json.loads, text[end + 1 :].split("\n") if text[end:] else ())
            made = cls(
                ledger=ledger,
                operator=operator,
                hash=digest,
                sequence=sequence,
                epoch=epoch,
                releases=releases,
                budgets=budgets,
                states={name: (at, kept) for name, at, kept in rest},
                last=sequence,
                begun=sequence,
            )
            whole = form == _FORMAT and made.text() == text
        except (LookupError, TypeError, ValueError, RecursionError, OverflowError):
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
