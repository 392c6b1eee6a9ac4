"""What the log tells, entry by entry: the state that every table has to hold."""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

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


Key = TypeVar("Key", int, str)
Value = TypeVar("Value")


class _Lines:
    """Lines of JSON in the order of their keys, which come first in each, in one piece."""

    def __init__(self, text: bytes = b"", ends: array[int] | None = None) -> None:
        self.text, self._ends = text, array("q") if ends is None else ends

    def __len__(self) -> int:
        return len(self._ends)

    def parts(self, at: int) -> list[Any]:
        """Of the line at this place: its key, and what stands beside it."""
        return list(json.loads(self.text[self._begin(at) : self._ends[at]]))

    def place(self, key: Any, least: int = 0) -> int:
        """Of the first line whose key is this one or a larger one."""
        return bisect_left(range(len(self)), key, lo=least, key=lambda at: self.parts(at)[0])

    def has(self, key: Any, at: int) -> bool:
        """Whether the line at this place has the key."""
        return at < len(self) and bool(self.parts(at)[0] == key)

    def changed(self, lines: Mapping[Any, bytes]) -> _Lines:
        """With these: each instead of the one with its key, or beside the others."""
        made, ends, done = bytearray(), array("q"), 0
        for key in [*sorted(lines), None]:
            at = len(self) if key is None else self.place(key, done)
            begin, end = self._begin(done), self._begin(at)
            ends.extend(one + len(made) - begin for one in self._ends[done:at])
            made += self.text[begin:end]
            if key is not None:
                made += lines[key]
                ends.append(len(made))
                done = at + self.has(key, at)
        return _Lines(bytes(made), ends)

    def _begin(self, at: int) -> int:
        return self._ends[at - 1] if at else 0


class _Resting(Mapping[Key, Value]):
    """By key. Those that rest are kept as they stand in the state's text, in one piece: a process
    that spends for long has many, and what it takes to look at all of them it gives back.
    """

    kind: type[Key]

    def __init__(self, opened: Mapping[Key, Value] | None = None) -> None:
        self._lines = _Lines()
        self._opened: dict[Key, Value] = dict(opened or {})
        self._new: set[Key] = set(self._opened)

    @staticmethod
    def value(*parts: Any) -> Value:
        """Of what stands beside the key in its line."""
        raise NotImplementedError

    @staticmethod
    def parts(value: Value) -> Sequence[Any]:
        """What stands beside the key."""
        raise NotImplementedError

    @classmethod
    def of_text(cls, text: str, at: int, count: int) -> tuple[Self, int]:
        """Of so many lines of a state's text, each after its line feed at that place; and where
        they end. ValueError or TypeError for what no ledger wrote."""
        made, end, ends, before = cls(), at, array("q"), None
        for _ in range(count):
            begun, end = end, text.find("\n", end + 1) % (len(text) + 1)
            key, *rest = json.loads(text[begun:end])
            if type(key) is not cls.kind or (before is not None and key <= before):
                raise ValueError
            if cls._line(key, cls.value(*rest)) != text[begun:end].encode("ascii"):
                raise ValueError
            before = key
            ends.append(end - at)
        made._lines = _Lines(text[at:end].encode("ascii"), ends)
        return made, end

    def text(self) -> bytes:
        """All lines in the order of their keys. Again it takes little time."""
        if self._opened:
            opened = self._opened.items()
            self._lines = self._lines.changed({key: self._line(key, one) for key, one in opened})
            self._opened.clear()
            self._new.clear()
        return self._lines.text

    @property
    def resting(self) -> int:
        """How many have their line."""
        return len(self._lines)

    def each(self) -> Iterator[tuple[Key, Value]]:
        """All, looked at once."""
        for at in range(len(self._lines)):
            key, *rest = self._lines.parts(at)
            yield key, self._opened[key] if key in self._opened else self.value(*rest)
        yield from ((key, self._opened[key]) for key in self._new)

    def __getitem__(self, key: Key) -> Value:
        if key not in self._opened:
            at = self._lines.place(key)
            if not self._lines.has(key, at):
                raise KeyError(key)
            made: Value = self.value(*self._lines.parts(at)[1:])
            self._opened[key] = made
        return self._opened[key]

    def __setitem__(self, key: Key, value: Value) -> None:
        if key not in self._opened and not self._lines.has(key, self._lines.place(key)):
            self._new.add(key)
        self._opened[key] = value

    def __iter__(self) -> Iterator[Key]:
        return (key for key, _ in self.each())

    def __len__(self) -> int:
        return len(self._lines) + len(self._new)

    @classmethod
    def _line(cls, key: Key, value: Value) -> bytes:
        return f"\n{json.dumps([key, *cls.parts(value)])}".encode("ascii")


class Budgets(_Resting[int, Budget]):
    """By number."""

    kind = int
    value = Budget

    @staticmethod
    def parts(value: Budget) -> Sequence[Any]:
        return [getattr(value, name) for name in Budget.__slots__]


class States(_Resting[str, tuple[int, str]]):
    """By name: the entry that each is of, and its SHA-256."""

    kind = str

    @staticmethod
    def value(*parts: Any) -> tuple[int, str]:
        at, digest = parts
        return at, digest

    @staticmethod
    def parts(value: tuple[int, str]) -> Sequence[Any]:
        return value


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
    states: States = field(default_factory=States)
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
        made += self.states.text()
        return made.decode()

    @classmethod
    def from_text(cls, text: str) -> LogState | None:
        """None for what no ledger wrote."""
        try:
            first = text.find("\n") % (len(text) + 1)
            stands = json.loads(text[:first])
            form, ledger, operator, sequence, digest, epoch, releases, count = stands
            budgets, end = Budgets.of_text(text, first, count)
            states, _ = States.of_text(text, end, text.count("\n", end))
            made = cls(
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
