"""What is promised, what bounds it, and what was spent: for oneself, or for who oversees it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from threading import Lock
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from tacit.ledger import Balance, Holder, Ledger, Unit, UnknownBudget, Verification
from tacit.privacy import Guarantee
from tacit.service.access import Asking, Here, Name, Operation, allow, at_once
from tacit.service.deployment import Deployment
from tacit.service.keys import Role
from tacit.service.problems import Problem

NOTHING = "This promises no privacy to anybody."


class Bound(BaseModel):
    """How much can be learned about a person from what `of` released. epsilon in nats for one
    release, lifetime_epsilon for all that ever were; null: no such bound holds, as `sentence` and
    `lifetime` say. unit: what counts as one change, such as a person's whole profile."""

    of: str
    sentence: str
    unit: str | None
    epsilon: float | None
    delta: float | None
    lifetime: str | None
    lifetime_epsilon: float | None
    lifetime_delta: float | None


_OF_A_CARD = ("epsilon", "delta", "lifetime", "lifetime_epsilon", "lifetime_delta")


def bounds_of(deployment: Deployment) -> Iterator[Bound]:
    """One for each card, and one for whatever has none."""
    for place, cards in deployment.cards.items():
        if not cards:
            nothing = dict.fromkeys(_OF_A_CARD)
            yield Bound(of=place, sentence=NOTHING, unit=None, **nothing)
        for card in cards:
            numbers = {name: getattr(card, name) for name in _OF_A_CARD}
            yield Bound(of=place, sentence=card.sentence, unit=str(card.adjacency), **numbers)


COUNTED_IN = {
    Unit.PURE: "epsilon, in nats",
    Unit.ZCDP: "rho",
    Unit.APPROXIMATE: "epsilon, in nats, and delta",
}


class Budget(BaseModel):
    """Amounts are decimals in text. cap, spent, left: over a lifetime; nothing is ever refunded.

    counted_in: what the amounts are. per_epoch, spent_in_epoch: null and 0 where an epoch does not
    limit it.
    """

    counted_in: str
    cap: str
    spent: str
    left: str
    delta_cap: str
    delta_spent: str
    delta_left: str
    per_epoch: str | None
    spent_in_epoch: str

    @classmethod
    def of(cls, balance: Balance) -> Budget:
        cap = balance.cap
        return cls(
            counted_in=COUNTED_IN[cap.unit],
            cap=decimal(cap.amount),
            spent=decimal(balance.spent),
            left=decimal(cap.amount - balance.spent),
            delta_cap=decimal(cap.delta, -18),
            delta_spent=decimal(balance.delta_spent, -18),
            delta_left=decimal(cap.delta - balance.delta_spent, -18),
            per_epoch=None if cap.per_epoch is None else decimal(cap.per_epoch),
            spent_in_epoch=decimal(balance.epoch_spent),
        )


def decimal(steps: int, exponent: int = -6) -> str:
    """Of what the ledger counts: epsilon and rho in millionths, delta in steps of 1e-18."""
    return f"{Decimal(steps).scaleb(exponent).normalize():f}" if steps else "0"


promises_router = APIRouter(route_class=Operation, tags=["guarantees"])


class Promise(BaseModel):
    """sentence: what it comes down to. first_line: on what basis; null where nothing is promised.
    cards: one for each group of people, in full, those of refuted claims first."""

    noun: str
    name: str
    first_line: str | None
    sentence: str
    cards: list[dict[str, Any]]


class Promises(BaseModel):
    guarantees: list[Promise]


@promises_router.get("/api/guarantees", **allow(Role.ANONYMOUS))
def guarantees(service: Here) -> Promises:
    """The guarantees of everything that is served."""
    every = service.deployment.cards.items()
    return Promises(guarantees=[_promise(place, cards) for place, cards in every])


@promises_router.get("/api/guarantees/{noun}/{name}", **allow(Role.ANONYMOUS))
@at_once
def guarantee(
    service: Here, noun: Annotated[str, Path(pattern="^[a-z]{1,32}$")], name: Name
) -> Promise:
    """The guarantee of one thing."""
    cards = service.deployment.cards.get(f"{noun}/{name}")
    if cards is None:
        raise Problem(404, "There is nothing at this address.")
    return _promise(f"{noun}/{name}", cards)


def _promise(place: str, cards: tuple[Guarantee, ...]) -> Promise:
    noun, _, name = place.partition("/")
    return Promise(
        noun=noun,
        name=name,
        first_line=cards[0].first_line if cards else None,
        sentence=cards[0].sentence if cards else NOTHING,
        cards=[card.to_dict() for card in cards],
    )


router = APIRouter(route_class=Operation, tags=["privacy"])

WAIT = 1.0  # seconds that an answer waits for a replay of the log


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
    holders = {
        Holder.subject(caller.tenant, caller.name): "everything that is charged to you alone"
    }
    for at, thing in service.deployment.served.items():
        for holder in thing.holders(caller.name) if hasattr(thing, "holders") else ():
            holders.setdefault(holder, at)
    own = []
    for holder, of in holders.items():
        with suppress(UnknownBudget):  # none was opened
            own.append(OwnBudget(of=of, budget=Budget.of(service.ledger.balance(holder))))
    return Own(budgets=own, statements=list(bounds_of(service.deployment)))


@router.get("/api/privacy/budgets", **allow(Role.OPERATOR, Role.AUDITOR))
def budgets(
    service: Here,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Budgets:
    """Every budget, page by page."""
    tenant = service.deployment.tenant
    later = [
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
        for balance in later[:limit]
    ]
    return Budgets(budgets=page, next=page[-1].number if len(later) > limit else None)


@router.get("/api/privacy/ledger", **allow(Role.AUDITOR, Role.OPERATOR))
def ledger(service: Here) -> Log:
    """Where the log stands, and whether a replay of all of it agrees with every table.

    A long log takes longer to replay than an answer may: then it goes on, and the next answer has
    the result.
    """
    result, head, replayed = _replayed(service.ledger), service.ledger.head, None
    if result is not None:
        replayed = Replayed(**{**vars(result), "head": result.head.hash, "sound": result.is_sound})
    return Log(ledger=head.ledger, entries=head.sequence, head=head.hash, replayed=replayed)


def _replayed(ledger: Ledger) -> Verification | None:
    """The newest result of a replay that there is after `WAIT`; raises what the replay raised. One
    runs at a time, and only if the log grew since."""
    with _LOCK:
        last, running = _REPLAYS.get(ledger, (None, None))
        if running is not None and running.done():
            last, running = running.result() if running.exception() is None else last, None
        if running is None and (last is None or last.head != ledger.head):
            running = _WORKER.submit(ledger.verify)
        _REPLAYS[ledger] = last, running
    try:
        return last if running is None else running.result(WAIT)
    except TimeoutError:
        return last


_LOCK, _WORKER = Lock(), ThreadPoolExecutor(1)
_REPLAYS: WeakKeyDictionary[Ledger, tuple[Verification | None, Future[Verification] | None]]
_REPLAYS = WeakKeyDictionary()
