"""Budgets and what was spent of them: a person's own for that person, all of them for staff."""

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
"""Most seconds for which an answer waits for a replay of the log."""


def format_amount(steps: int, steps_of_one: int) -> str:
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

    epsilon and epsilon_cap hold at epsilon_delta, and can be compared with those of other budgets
    at the same delta. The other fields are the amounts that are stored, in the unit counted_in.
    """

    epsilon: str
    """Epsilon of everything that was charged so far, together; rounded up to four digits."""
    epsilon_cap: str
    """Epsilon of everything that may be charged; rounded up to four digits."""
    epsilon_delta: str
    """Delta at which epsilon_cap holds. epsilon holds at the same delta; but in the approximate
    unit epsilon holds at delta_spent."""
    counted_in: str
    """Unit of the amounts that are stored."""
    cap: str
    """The amount that can be spent in all."""
    spent: str
    """The amount that was spent."""
    left: str
    """The amount that can still be spent."""
    delta_cap: str
    delta_spent: str
    delta_left: str
    per_epoch: str | None
    """The amount that can be spent in one epoch; null if there is no limit per epoch."""
    spent_in_epoch: str
    """The amount spent in this epoch; 0 if there is no limit per epoch."""


def describe_budget(balance: Balance) -> Budget:
    """Describe a balance of the ledger in the form of `Budget`."""
    cap = balance.cap
    steps_of_one = cap.unit.steps
    return Budget(
        epsilon=f"{stated_epsilon_spent(balance):f}",
        epsilon_cap=f"{stated_epsilon_of_cap(cap):f}",
        epsilon_delta=f"{epsilon_of_cap(cap).delta:.4g}",
        counted_in=COUNTED_IN[cap.unit],
        cap=format_amount(cap.amount, steps_of_one),
        spent=format_amount(balance.spent, steps_of_one),
        left=format_amount(cap.amount - balance.spent, steps_of_one),
        delta_cap=format_amount(cap.delta, ATTO),
        delta_spent=format_amount(balance.delta_spent, ATTO),
        delta_left=format_amount(cap.delta - balance.delta_spent, ATTO),
        per_epoch=None if cap.per_epoch is None else format_amount(cap.per_epoch, steps_of_one),
        spent_in_epoch=format_amount(balance.epoch_spent, steps_of_one),
    )


class OwnBudget(AnswerModel):
    """One budget of the caller."""

    of: str
    """What it pays for."""
    budget: Budget


class OwnBudgets(AnswerModel):
    """The caller's budgets, and bounds of what can be learned about the caller."""

    budgets: list[OwnBudget]
    """Empty where none was opened."""
    statements: list[Bound]
    """Bounds for everything that is served, also for things that charge no budget of the caller."""


class HeldBudget(AnswerModel):
    """A budget and its holder."""

    number: int
    """Number of the budget, in the order in which budgets were opened."""
    kind: str
    """`subject` for a person, or `dataset`."""
    name: str
    """Name of the person or the data set."""
    budget: Budget


class Budgets(AnswerModel):
    """A page of all budgets."""

    budgets: list[HeldBudget]
    next: int | None
    """The value of `after` for the next page; null at the end."""


class Replayed(AnswerModel):
    """The result of the newest replay of the whole log."""

    entries: int
    """Number of entries that were replayed."""
    head: str
    """Hash of the last of them."""
    releases: int
    """Number of releases among them."""
    epoch: int
    """Epoch after the last of them."""
    sound: bool
    """Whether the log and every table agree."""
    problems: list[str]
    """Where they disagree, in sentences."""


class Log(AnswerModel):
    """The ledger's log as it is now, and its newest replay."""

    ledger: str
    """Id of the ledger."""
    entries: int
    """Number of entries."""
    head: str
    """Hash of the last entry."""
    replayed: Replayed | None
    """Null while the first replay runs."""


@router.get("/api/privacy/budget", **allow(Role.SUBJECT))
def budget(service: CurrentService, caller: CurrentCaller) -> OwnBudgets:
    """Show the caller's own budgets: what was spent, its cap, and what is left."""
    budgets = []
    for holder, purpose in _find_personal_holders(service, caller).items():
        with suppress(UnknownBudget):  # none was opened
            balance = service.ledger.balance(holder)
            budgets.append(OwnBudget(of=purpose, budget=describe_budget(balance)))
    return OwnBudgets(budgets=budgets, statements=list(bounds_of(service.deployment)))


def _find_personal_holders(service: Service, caller: Caller) -> dict[Holder, str]:
    """Find the holders of the budgets that a person may have, each with what the budget pays for.

    What it pays for is named by a phrase, or by the address of a thing that is served.
    """
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
    """List every budget, page by page: begin without `after`, go on with `next`."""
    tenant = service.deployment.tenant
    balances = service.ledger.balances()
    of_tenant = [balance for balance in balances if balance.holder.tenant == tenant]
    remaining = [balance for balance in of_tenant if balance.number > after]
    page = []
    for balance in remaining[:limit]:
        holder = balance.holder
        row = HeldBudget(
            number=balance.number,
            kind=holder.kind,
            name=holder.name,
            budget=describe_budget(balance),
        )
        page.append(row)
    next_after = page[-1].number if len(remaining) > limit else None
    return Budgets(budgets=page, next=next_after)


@router.get("/api/privacy/ledger", **allow(Role.AUDITOR, Role.OPERATOR))
def ledger(service: CurrentService) -> Log:
    """Show the log as it is now, and whether a replay of all of it agrees with every table.

    A long log takes longer to replay than an answer may take: then the replay goes on, and a later
    answer has its result.
    """
    result = _find_newest_replay(service.ledger)
    head = service.ledger.head
    replayed = None if result is None else _describe_replay(result)
    return Log(ledger=head.ledger, entries=head.sequence, head=head.hash, replayed=replayed)


def _describe_replay(result: Verification) -> Replayed:
    """Describe the result of a replay in the form of answers."""
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
    """Return the result of the newest replay of a ledger's log; None while the first one runs.

    If the log grew since the newest result, a replay is started, unless one is running. Then this
    waits for the running replay, for at most REPLAY_SECONDS. If the replay fails within this time,
    its error is raised; if it fails later, the error is dropped. In both cases the next call starts
    a new replay.
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
"""Held while `_REPLAYS` is read or changed."""
_REPLAY_THREAD = ThreadPoolExecutor(1)
_REPLAYS: WeakKeyDictionary[Ledger, _Replays] = WeakKeyDictionary()
"""Replays of each ledger of this process."""
