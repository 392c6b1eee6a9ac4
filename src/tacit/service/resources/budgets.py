"""Budgets and what was spent of them: the caller's own, and all of them for staff."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from threading import Lock
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Query

from tacit.ledger import (
    Balance,
    Holder,
    Ledger,
    Unit,
    UnknownBudget,
    Verification,
    epsilon_of_cap,
    stated_epsilon_of_cap,
    stated_epsilon_spent,
)
from tacit.ledger.amounts import ATTO
from tacit.service.access import CurrentCaller, CurrentService, allow
from tacit.service.keys import Caller, Role
from tacit.service.operations import Operation
from tacit.service.resources.guarantees import Bound, bounds_of
from tacit.service.schemas import AnswerModel
from tacit.service.service import Service

router = APIRouter(route_class=Operation, tags=["privacy"])

COUNTED_IN = {
    Unit.PURE: "epsilon, in nats",
    Unit.ZCDP: "rho",
    Unit.GDP: "half of mu squared",
    Unit.APPROXIMATE: "epsilon, in nats, and delta",
}
"""Units of budgets, as answers spell them."""
REPLAY_SECONDS = 1.0
"""Seconds for which an answer waits for a replay of the log."""


def decimal(steps: int, steps_of_one: int) -> str:
    """Format an amount, which the ledger counts in steps, as an exact decimal.

    Args:
        steps: Number of steps.
        steps_of_one: Number of steps in an amount of one, a power of 10.
    """
    if steps == 0:
        return "0"
    return f"{(Decimal(steps) / steps_of_one).normalize():f}"


class Budget(AnswerModel):
    """A budget for a lifetime: nothing is ever refunded. Amounts are decimals in text.

    epsilon and epsilon_cap hold at epsilon_delta: compare those. The others are what is stored.
    """

    epsilon: str
    """Epsilon of everything that was charged so far, together; rounded up to four digits."""
    epsilon_cap: str
    """Epsilon of everything that may be charged; rounded up to four digits."""
    epsilon_delta: str
    """Delta at which epsilon_cap holds; epsilon as well, except in the approximate unit, where
    delta_spent belongs to it."""
    counted_in: str
    """Unit of the amounts that are stored."""
    cap: str
    """The amount that can be spent in all."""
    spent: str
    left: str
    delta_cap: str
    delta_spent: str
    delta_left: str
    per_epoch: str | None
    """The amount that can be spent in one epoch; null where an epoch does not limit it."""
    spent_in_epoch: str
    """The amount spent in this epoch; 0 where an epoch does not limit it."""


def describe_budget(balance: Balance) -> Budget:
    """Describe a balance of the ledger in the form in which answers show a budget."""
    cap = balance.cap
    steps_of_one = cap.unit.steps
    return Budget(
        epsilon=f"{stated_epsilon_spent(balance):f}",
        epsilon_cap=f"{stated_epsilon_of_cap(cap):f}",
        epsilon_delta=f"{epsilon_of_cap(cap).delta:.4g}",
        counted_in=COUNTED_IN[cap.unit],
        cap=decimal(cap.amount, steps_of_one),
        spent=decimal(balance.spent, steps_of_one),
        left=decimal(cap.amount - balance.spent, steps_of_one),
        delta_cap=decimal(cap.delta, ATTO),
        delta_spent=decimal(balance.delta_spent, ATTO),
        delta_left=decimal(cap.delta - balance.delta_spent, ATTO),
        per_epoch=None if cap.per_epoch is None else decimal(cap.per_epoch, steps_of_one),
        spent_in_epoch=decimal(balance.epoch_spent, steps_of_one),
    )


class OwnBudget(AnswerModel):
    """One budget of the caller."""

    of: str
    """What it pays for."""
    budget: Budget


class OwnBudgets(AnswerModel):
    """The caller's budgets, and what bounds what can be learned about them."""

    budgets: list[OwnBudget]
    """Empty where none was opened."""
    statements: list[Bound]
    """Bounds of everything that is served, also of things that charge no budget of the caller."""


class HeldBudget(AnswerModel):
    """A budget and its holder."""

    number: int
    """Budgets are numbered in the order in which they were opened."""
    kind: str
    """`subject` for a person, or `dataset`."""
    name: str
    budget: Budget


class Budgets(AnswerModel):
    """A page of all budgets."""

    budgets: list[HeldBudget]
    next: int | None
    """The value of `after` for the next page; null at the end."""


class Replayed(AnswerModel):
    """The result of the newest replay of the whole log."""

    entries: int
    """Entries that were replayed."""
    head: str
    """Hash of the last of them."""
    releases: int
    epoch: int
    sound: bool
    """Whether the log and every table agree."""
    problems: list[str]


class Log(AnswerModel):
    """The ledger's log as it is now, and its newest replay."""

    ledger: str
    """Id of the ledger."""
    entries: int
    head: str
    """Hash of the last entry."""
    replayed: Replayed | None
    """Null while the first replay runs."""


@router.get("/api/privacy/budget", **allow(Role.SUBJECT))
def budget(service: CurrentService, caller: CurrentCaller) -> OwnBudgets:
    """Show what was spent on oneself, of what at most, and what is left."""
    budgets = []
    for holder, purpose in _find_personal_holders(service, caller).items():
        with suppress(UnknownBudget):  # none was opened
            balance = service.ledger.balance(holder)
            budgets.append(OwnBudget(of=purpose, budget=describe_budget(balance)))
    return OwnBudgets(budgets=budgets, statements=list(bounds_of(service.deployment)))


def _find_personal_holders(service: Service, caller: Caller) -> dict[Holder, str]:
    """Find the budgets that a person may have, each with what it pays for."""
    holders = {
        Holder.subject(caller.tenant, caller.name): "everything that is charged to you alone"
    }
    for address, thing in service.deployment.served.items():
        for holder in thing.personal_holders(caller.name):
            holders.setdefault(holder, address)
    return holders


@router.get("/api/privacy/budgets", **allow(Role.OPERATOR, Role.AUDITOR))
def budgets(
    service: CurrentService,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Budgets:
    """List every budget, page by page."""
    tenant = service.deployment.tenant
    own = [balance for balance in service.ledger.balances() if balance.holder.tenant == tenant]
    later = [balance for balance in own if balance.number > after]
    page = []
    for balance in later[:limit]:
        holder = balance.holder
        row = HeldBudget(
            number=balance.number,
            kind=holder.kind,
            name=holder.name,
            budget=describe_budget(balance),
        )
        page.append(row)
    next_after = page[-1].number if len(later) > limit else None
    return Budgets(budgets=page, next=next_after)


@router.get("/api/privacy/ledger", **allow(Role.AUDITOR, Role.OPERATOR))
def ledger(service: CurrentService) -> Log:
    """Show the log as it is now, and whether a replay of all of it agrees with every table.

    A long log takes longer to replay than an answer may: then it goes on, and the next answer has
    the result.
    """
    result = _find_newest_replay(service.ledger)
    head = service.ledger.head
    replayed = None if result is None else _replay_result(result)
    return Log(ledger=head.ledger, entries=head.sequence, head=head.hash, replayed=replayed)


def _replay_result(result: Verification) -> Replayed:
    return Replayed(
        entries=result.entries,
        head=result.head.hash,
        releases=result.releases,
        epoch=result.epoch,
        sound=result.is_sound,
        problems=list(result.problems),
    )


@dataclass
class _Replays:
    """The replays of one ledger's log."""

    newest: Verification | None = None
    """Result of the last replay that ended without an error."""
    running: Future[Verification] | None = None
    """The replay that runs now, or has just ended."""


def _find_newest_replay(ledger: Ledger) -> Verification | None:
    """Return the newest result of a replay; None while the first replay runs.

    A replay is started if the log grew since the last one, and is waited for REPLAY_SECONDS. Only
    one runs at a time. An error of the replay is raised.
    """
    with _LOCK:
        replays = _REPLAYS.setdefault(ledger, _Replays())
        if replays.running is not None and replays.running.done():
            if replays.running.exception() is None:
                replays.newest = replays.running.result()
            replays.running = None
        is_up_to_date = replays.newest is not None and replays.newest.head == ledger.head
        if replays.running is None and not is_up_to_date:
            replays.running = _REPLAY_THREAD.submit(ledger.verify)
        newest = replays.newest
        running = replays.running
    if running is None:
        return newest
    try:
        return running.result(REPLAY_SECONDS)
    except TimeoutError:
        return newest


_LOCK = Lock()
_REPLAY_THREAD = ThreadPoolExecutor(1)
_REPLAYS: WeakKeyDictionary[Ledger, _Replays] = WeakKeyDictionary()
"""Replays of each ledger of this process, guarded by `_LOCK`."""
