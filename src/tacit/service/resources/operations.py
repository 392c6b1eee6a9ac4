"""For the operator's page: what was charged on which day, the ledger's health, and its log.

All of it follows from the log, which operators and auditors have anyway (`tacit ledger export`):
who was charged what, and when. Charges do not depend on data, no count here is of data, and nothing
is drawn: showing it is no release about anyone.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Query
from pydantic import BaseModel

from tacit.ledger import Ledger, Unit
from tacit.ledger.opening import together
from tacit.service.access import Here, Operation, allow
from tacit.service.keys import Role
from tacit.service.resources.privacy import COUNTED_IN, millionths

router = APIRouter(route_class=Operation, prefix="/api/operations", tags=["operations"])

READS_WITHIN = 0.5
"""Seconds of one answer that go on reading the log."""
AT_ONCE = 2000
"""Entries."""


class Spent(BaseModel):
    """kind: `subject` (people) or `dataset`. amount: their charges of the day together, a decimal
    in text. It is a measure of use: no one's loss is a sum over people."""

    kind: str
    counted_in: str
    charges: int
    amount: str


class Day(BaseModel):
    """day: of UTC, by the service's clock. requests: stored ones, charged or not."""

    day: str
    requests: int
    spent: list[Spent]


class Store(BaseModel):
    """place, second: `file` or `PostgreSQL`. apart: whether the second place is on another device
    or server; together, a restored backup gives budgets back."""

    place: str
    second: str
    apart: bool


class Overview(BaseModel):
    """entries: of the log; read: of them so far. Ask again while it is less: a long log is read on
    from answer to answer."""

    entries: int
    read: int
    days: list[Day]
    store: Store


class Entry(BaseModel):
    """One entry of the log, as `tacit ledger export` has it. body: null for another tenant's."""

    sequence: int
    kind: str
    body: str | None
    hash: str


class Entries(BaseModel):
    """next: what `after` is for the next page, or null at the end."""

    entries: list[Entry]
    next: int | None


@router.get("", **allow(Role.OPERATOR, Role.AUDITOR))
def overview(service: Here) -> Overview:
    """What was charged on each day, and the state of the ledger's places."""
    book = _BOOKS.setdefault(service.ledger, _Book(service.deployment.tenant))
    days = book.read_on(service.ledger, READS_WITHIN)
    settings = service.settings
    store = Store(
        place=_place(settings.ledger),
        second=_place(settings.second or ""),
        apart=not together(settings.ledger, settings.second),
    )
    entries = service.ledger.head.sequence
    return Overview(entries=max(entries, book.seen), read=book.seen, days=days, store=store)


@router.get("/log", **allow(Role.OPERATOR, Role.AUDITOR))
def log(
    service: Here,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> Entries:
    """The log, page by page: requests, charges and hashes of answers, and no answer. Anyone checks
    it with SHA-256: see docs/ledger.md."""
    tenant = service.deployment.tenant
    found = [Entry(**row) for row in service.ledger.entries(after, limit)]
    for entry in found:
        if json.loads(entry.body or "{}").get("tenant", tenant) != tenant:
            entry.body = None
    return Entries(entries=found, next=found[-1].sequence if len(found) == limit else None)


def _place(address: str) -> str:
    return "PostgreSQL" if "://" in address else "file"


@dataclass(eq=False)
class _Book:
    """The log, added up as far as it was read: charges by day, kind and unit."""

    tenant: str
    seen: int = 0
    lock: Lock = field(default_factory=Lock)
    opened: dict[int, tuple[str, str]] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    charges: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    amounts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def read_on(self, ledger: Ledger, within: float) -> list[Day]:
        """All days, the oldest first."""
        with self.lock:
            end = time.monotonic() + within
            while rows := ledger.entries(self.seen, AT_ONCE):
                for row in rows:
                    self._add(row["kind"], json.loads(row["body"]))
                self.seen = rows[-1]["sequence"]
                if time.monotonic() > end:
                    break
            days = {
                day: Day(day=day, requests=count, spent=[])
                for day, count in sorted(self.requests.items())
            }
            for (day, kind, unit), count in sorted(self.charges.items()):
                amount = millionths(self.amounts[day, kind, unit])
                spent = Spent(kind=kind, counted_in=unit, charges=count, amount=amount)
                days[day].spent.append(spent)
            return list(days.values())

    def _add(self, kind: str, facts: dict[str, Any]) -> None:
        if facts.get("tenant") != self.tenant:
            return
        if kind == "budget":
            self.opened[facts["number"]] = (facts["kind"], COUNTED_IN[Unit(facts["unit"])])
        if kind == "release":
            day = datetime.fromtimestamp(facts["at"], UTC).date().isoformat()
            self.requests[day] += 1
            for number, amount, _ in facts["charges"]:
                self.charges[day, *self.opened[number]] += 1
                self.amounts[day, *self.opened[number]] += amount


_BOOKS: WeakKeyDictionary[Ledger, _Book] = WeakKeyDictionary()
