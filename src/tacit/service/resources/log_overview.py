"""The ledger on the operator's page: its log, charges by day, and where it is stored.

The charges of a day follow from the log, which operators and auditors may read anyway (`tacit
ledger export`), and which names the person and the operation of each request. Charges do not depend
on what people rated or said, nor does how many requests are stored for one that a person sends: a
visit that a vendor forwards has two, whether its own video or a neighbour's was chosen. The one
exception is a process that ends between the two (docs/vendors.md). So the page shows when and how
often people came, and not what they said.
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

from tacit.ledger import Ledger, Unit
from tacit.ledger.addresses import shares_device
from tacit.service.access import CurrentService, allow
from tacit.service.keys import Role
from tacit.service.operations import Operation
from tacit.service.resources.budgets import COUNTED_IN, format_amount
from tacit.service.schemas import AnswerModel

router = APIRouter(route_class=Operation, prefix="/api/operations", tags=["operations"])

READING_SECONDS = 0.5
"""Seconds that one answer may spend on reading further entries of the log."""
ENTRIES_AT_ONCE = 2000
"""Most entries that are read from the ledger in one query."""
MOST_SEQUENCE = 2**62
"""The largest number of an entry that a request may name."""


class Spent(AnswerModel):
    """Charges of one day to budgets of one kind."""

    kind: str
    """`subject` for people, or `dataset`."""
    counted_in: str
    """Unit of the amount."""
    charges: int
    """Number of charges."""
    amount: str
    """Sum of the charges, a decimal in text. It measures use, and is nobody's privacy loss, since
    it is a sum over people."""


class Day(AnswerModel):
    """Requests and charges of one day, in UTC, by the service's clock."""

    day: str
    """The date, such as 2026-01-31."""
    requests: int
    """Stored requests, charged or not."""
    spent: list[Spent]


class Store(AnswerModel):
    """Places of the ledger and of the copy of its latest hash."""

    place: str
    """Where the ledger is: `file` or `PostgreSQL`."""
    second: str
    """Where the copy of its latest hash is: `file` or `PostgreSQL`."""
    apart: bool
    """Whether the copy is on another device or server. If it is not, restoring a backup of the
    shared device gives budgets back unnoticed."""


class Overview(AnswerModel):
    """Charges by day, as far as the log was read.

    Each answer reads a further part of a long log: ask again while `read` is less than `entries`.
    """

    entries: int
    """Number of entries of the log."""
    read: int
    """Number of entries that were read so far."""
    days: list[Day]
    """Days with requests, the oldest first."""
    store: Store


class Entry(AnswerModel):
    """One entry of the log, as `tacit ledger export` has it."""

    sequence: int
    kind: str
    body: str | None
    """Null for another tenant's entry."""
    hash: str


class Entries(AnswerModel):
    """A page of the log."""

    entries: list[Entry]
    next: int | None
    """The value of `after` for the next page; null at the end."""


@router.get("", **allow(Role.OPERATOR, Role.AUDITOR))
def overview(service: CurrentService) -> Overview:
    """Show what was charged on each day, and where the ledger is stored."""
    totals = _TOTALS.setdefault(service.ledger, _LogTotals(service.deployment.tenant))
    days = totals.read_further(service.ledger, READING_SECONDS)
    settings = service.settings
    store = Store(
        place=_store_name(settings.ledger),
        second=_store_name(settings.second or ""),
        apart=not shares_device(settings.ledger, settings.second),
    )
    # Another request may read entries that are added after `head` is read here.
    entries = max(service.ledger.head.sequence, totals.entries_read)
    return Overview(entries=entries, read=totals.entries_read, days=days, store=store)


@router.get("/log", **allow(Role.OPERATOR, Role.AUDITOR))
def log(
    service: CurrentService,
    after: Annotated[int, Query(ge=0, le=MOST_SEQUENCE)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> Entries:
    """Show the log, page by page: requests, charges and hashes of answers, but no answers.

    Anyone can check it with SHA-256: see docs/ledger.md.
    """
    tenant = service.deployment.tenant
    entries = [Entry(**row) for row in service.ledger.entries(after, limit)]
    for entry in entries:
        if json.loads(entry.body or "{}").get("tenant", tenant) != tenant:
            entry.body = None
    next_after = entries[-1].sequence if len(entries) == limit else None
    return Entries(entries=entries, next=next_after)


def _store_name(address: str) -> str:
    """Name the kind of store at an address; the address "" stands for the default, a file."""
    return "PostgreSQL" if "://" in address else "file"


@dataclass(eq=False)
class _LogTotals:
    """Requests by day, and charges by day, kind of budget and unit, as far as the log was read."""

    tenant: str
    """Tenant whose charges are summed."""
    entries_read: int = 0
    """Number of the last entry that was read; 0 at first."""
    lock: Lock = field(default_factory=Lock)
    """Held while further entries are read."""
    budgets: dict[int, tuple[str, Unit]] = field(default_factory=dict)
    """Kind and unit of each of the tenant's budgets, by its number."""
    requests: Counter[str] = field(default_factory=Counter)
    """Number of stored requests by day."""
    charges: Counter[tuple[str, str, Unit]] = field(default_factory=Counter)
    """Number of charges by day, kind and unit."""
    amounts: Counter[tuple[str, str, Unit]] = field(default_factory=Counter)
    """Sum of charges by day, kind and unit, in the ledger's steps."""

    def read_further(self, ledger: Ledger, seconds: float) -> list[Day]:
        """Add up further entries of the log, from where the last call stopped.

        Args:
            ledger: The ledger whose log it is.
            seconds: Time after which reading stops, even if there are further entries.

        Returns:
            Requests and charges of all days so far, the oldest day first.
        """
        with self.lock:
            deadline = time.monotonic() + seconds
            while rows := ledger.entries(self.entries_read, ENTRIES_AT_ONCE):
                for row in rows:
                    self._add(row["kind"], json.loads(row["body"]))
                self.entries_read = rows[-1]["sequence"]
                if time.monotonic() > deadline:
                    break
            return self._list_days()

    def _list_days(self) -> list[Day]:
        """List the requests and charges of each day, the oldest day first."""
        days = {}
        for day, count in sorted(self.requests.items()):
            days[day] = Day(day=day, requests=count, spent=[])
        for key, count in sorted(self.charges.items()):
            day, kind, unit = key
            amount = format_amount(self.amounts[key], unit.steps)
            spent = Spent(kind=kind, counted_in=COUNTED_IN[unit], charges=count, amount=amount)
            days[day].spent.append(spent)
        return list(days.values())

    def _add(self, kind: str, facts: dict[str, Any]) -> None:
        """Add one entry of the log to the totals, if it is the tenant's.

        Args:
            kind: Kind of the entry; other kinds than "budget" and "release" are ignored.
            facts: Body of the entry.
        """
        if facts.get("tenant") != self.tenant:
            return
        if kind == "budget":
            self.budgets[facts["number"]] = (facts["kind"], Unit(facts["unit"]))
        if kind == "release":
            day = datetime.fromtimestamp(facts["at"], UTC).date().isoformat()
            self.requests[day] += 1
            for number, amount, _delta in facts["charges"]:
                key = (day, *self.budgets[number])
                self.charges[key] += 1
                self.amounts[key] += amount


_TOTALS: WeakKeyDictionary[Ledger, _LogTotals] = WeakKeyDictionary()
"""Totals of each ledger of this process."""
