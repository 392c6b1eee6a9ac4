"""What was spent: one's own budget for oneself, all budgets and the log for who oversees them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Query
from pydantic import BaseModel

from tacit.ledger import Holder, Ledger, UnknownBudget, Verification
from tacit.service.access import Asking, Here, Operation, allow
from tacit.service.deployment import Service, noun_of
from tacit.service.keys import Role
from tacit.service.people import holders_of
from tacit.service.resources.bounds import Bound, Budget, bounds_of

router = APIRouter(route_class=Operation, tags=["privacy"])

WAIT = 1.0
"""Seconds that an answer waits for a replay of the log."""


class OwnBudget(BaseModel):
    """of: what it pays for."""

    of: str
    budget: Budget


class Own(BaseModel):
    """budgets: one's own, empty where none was opened. statements: of everything that is served,
    also where no budget is one's own."""

    budgets: list[OwnBudget]
    statements: list[Bound]


class HeldBudget(BaseModel):
    """number: in the order in which budgets were opened."""

    number: int
    kind: str
    name: str
    budget: Budget


class Budgets(BaseModel):
    """next: what `after` is for the next page, or null at the end."""

    budgets: list[HeldBudget]
    next: int | None


class Replayed(BaseModel):
    """What the newest replay of the whole log found, up to its entry `entries`."""

    entries: int
    head: str
    releases: int
    epoch: int
    sound: bool
    problems: list[str]


class Log(BaseModel):
    """ledger: which one. entries, head: of the log now. replayed: null while the first runs."""

    ledger: str
    entries: int
    head: str
    replayed: Replayed | None


@router.get("/api/privacy/budget", **allow(Role.SUBJECT))
def budget(service: Here, caller: Asking) -> Own:
    """What was spent on oneself, of what at most, and what is left."""
    own = list(_own(service, caller.name))
    return Own(budgets=own, statements=list(bounds_of(service.deployment)))


@router.get("/api/privacy/budgets", **allow(Role.OPERATOR, Role.AUDITOR))
def budgets(
    service: Here,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Budgets:
    """Every budget, page by page."""
    tenant = service.deployment.tenant
    found = [
        balance
        for balance in service.ledger.balances()
        if balance.number > after and balance.holder.tenant == tenant
    ]
    page = [
        HeldBudget(
            number=balance.number,
            kind=balance.holder.kind,
            name=balance.holder.name,
            budget=Budget.of(balance),
        )
        for balance in found[:limit]
    ]
    return Budgets(budgets=page, next=page[-1].number if len(found) > limit else None)


@router.get("/api/privacy/ledger", **allow(Role.AUDITOR, Role.OPERATOR))
def ledger(service: Here) -> Log:
    """Where the log stands, and whether a replay of all of it agrees with every table.

    A long log takes longer to replay than an answer may: then it goes on, and the next answer has
    the result.
    """
    found = _VERIFIERS.setdefault(service.ledger, _Verifier()).newest(service.ledger, WAIT)
    head = service.ledger.head
    return Log(
        ledger=head.ledger,
        entries=head.sequence,
        head=head.hash,
        replayed=None if found is None else _replayed(found),
    )


def _own(service: Service, user: str) -> Iterator[OwnBudget]:
    tenant = service.deployment.tenant
    holders = {Holder.subject(tenant, user): "everything that is charged to you alone"}
    for name, thing in service.deployment.served:
        for holder in holders_of(thing, user):
            holders.setdefault(holder, f"{noun_of(thing)}/{name}")
    for holder, of in holders.items():
        try:
            yield OwnBudget(of=of, budget=Budget.of(service.ledger.balance(holder)))
        except UnknownBudget:
            continue


def _replayed(found: Verification) -> Replayed:
    return Replayed(
        entries=found.entries,
        head=found.head.hash,
        releases=found.releases,
        epoch=found.epoch,
        sound=found.sound,
        problems=list(found.problems),
    )


@dataclass(eq=False)
class _Verifier:
    """Replays a log at most once at a time, and only if it grew since."""

    worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    lock: Lock = field(default_factory=Lock)
    running: Future[Verification] | None = None
    last: Verification | None = None

    def newest(self, ledger: Ledger, wait: float) -> Verification | None:
        """The newest result that there is after so many seconds; raises what the replay raised."""
        running = self._under_way(ledger)
        try:
            return self.last if running is None else running.result(wait)
        except TimeoutError:
            return self.last

    def _under_way(self, ledger: Ledger) -> Future[Verification] | None:
        with self.lock:
            done, self.running = self.running, None
            if done is not None and not done.done():
                self.running = done
            elif done is not None and done.exception() is None:
                self.last = done.result()
            if self.running is None and (self.last is None or self.last.head != ledger.head):
                self.running = self.worker.submit(ledger.verify)
            return self.running


_VERIFIERS: WeakKeyDictionary[Ledger, _Verifier] = WeakKeyDictionary()
