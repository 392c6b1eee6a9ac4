"""Clicks that a shop reports, and the page of a comparison by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from tacit.ledger import BudgetExhausted, Charge
from tacit.randomness import Source
from tacit.service.access import (
    CurrentCaller,
    CurrentService,
    PathName,
    allow,
    find_served,
)
from tacit.service.idempotency import (
    Reply,
    answer_once,
    read_salted_state,
    reply,
    salt_states,
)
from tacit.service.keys import LISTS, Caller, Role
from tacit.service.list_requests import MOST_PEOPLE, CustomerId
from tacit.service.operations import Operation
from tacit.service.schemas import AnswerModel, RequestModel
from tacit.service.service import Service
from tacit.service.splits import (
    FIGURES,
    DayFigures,
    Split,
    compare,
    decode_days,
    encode_days,
    noise_variance,
    today,
)

router = APIRouter(route_class=Operation, tags=["recommendations"])

RELEASE = "daily figures"
"""Name of the release of a day in the log."""


class Clicks(RequestModel):
    """Customers who clicked on an item of a list that this key got."""

    customers: Annotated[list[CustomerId], Field(min_length=1, max_length=MOST_PEOPLE)]


class ClickReceipt(AnswerModel):
    """A receipt, the same whatever was counted before."""

    received: Literal[True]


class Day(AnswerModel):
    """The released figures of one day: people, with noise."""

    day: str
    personal_served: int
    personal_clicked: int
    popularity_served: int
    popularity_clicked: int


class SplitView(AnswerModel):
    """A comparison of private lists with popular items. Every number is released."""

    name: str
    model: str
    epsilon: float
    """Of one person, each day."""
    lifetime: float
    """Epsilon of one person in all days."""
    days_left: int
    """Days that the lifetime still covers."""
    noise: float
    """Standard deviation of the noise in each figure of a day."""
    days: list[Day]
    personal_rate: float | None
    """People who clicked, of those served; null where noise is too large to say."""
    popularity_rate: float | None
    difference: float | None
    low: float | None
    """Lower end of the difference's 95 % interval."""
    high: float | None


class Splits(AnswerModel):
    """All comparisons."""

    splits: list[SplitView]


@router.post(
    "/api/splits/{name}/clicks", response_model=ClickReceipt, **allow(Role.RECOMMEND, Role.OPERATOR)
)
async def report_clicks(
    service: CurrentService, caller: CurrentCaller, name: PathName, clicks: Clicks
) -> ClickReceipt:
    """Report who clicked on an item of their list. A person counts once a day, however often.

    The key says which lists they got. What was clicked is not asked for. It may be sent again: it
    takes no Idempotency-Key.
    """
    split = find_served(service, Split, name)
    await release_due_days(service, split)
    note_people(service, split, caller, clicks.customers, "clicked")
    return ClickReceipt(received=True)


@router.get("/api/splits", **allow(Role.ANALYST, Role.AUDITOR, Role.OPERATOR))
async def splits(service: CurrentService) -> Splits:
    """Show all comparisons; figures of days that ended are released first, and charged."""
    views = []
    for split in service.deployment.find_all(Split).values():
        await release_due_days(service, split)
        views.append(describe_split(split, released_days(service, split)))
    return Splits(splits=views)


def describe_split(split: Split, days: Sequence[DayFigures]) -> SplitView:
    """Describe a comparison by its released figures."""
    settings = split.settings
    found = compare(days, settings.epsilon)
    names = [f"{lists}_{event}" for lists, event in FIGURES]
    rows = []
    for one in days:
        figures = dict(zip(names, one.figures, strict=True))
        rows.append(Day(day=one.day.isoformat(), **figures))
    rates = found.rates or (None, None)
    return SplitView(
        name=split.name,
        model=settings.model,
        epsilon=settings.epsilon,
        lifetime=settings.lifetime,
        days_left=split.most_days - len(days),
        noise=noise_variance(settings.epsilon) ** 0.5,
        days=rows,
        personal_rate=rates[0],
        popularity_rate=rates[1],
        difference=found.difference,
        low=found.low,
        high=found.high,
    )


def released_days(service: Service, split: Split) -> tuple[DayFigures, ...]:
    """Read the released days, oldest first."""
    return decode_days(read_salted_state(service, split.state))


def note_served(service: Service, model: str, caller: Caller, customers: Iterable[str]) -> None:
    """Note for the comparisons of a model that lists were served to customers of a backend."""
    if caller.role is not Role.RECOMMEND:
        return
    known = list(customers)
    for split in service.deployment.find_all(Split).values():
        if known and split.settings.model == model:
            note_people(service, split, caller, known, "served")


def note_people(
    service: Service, split: Split, caller: Caller, customers: Sequence[str], event: str
) -> None:
    """Note what happened to customers today, as long as the day can be paid for."""
    released = [one.day for one in released_days(service, split)]
    if not split.is_counting(released):
        return
    day = today().isoformat()
    hashes = []
    for customer in customers:
        payload = f"{split.name}\x00{day}\x00{customer}".encode()
        hashes.append(service.keys.digest("splits", payload))
    lists = caller.lists if caller.role is Role.RECOMMEND else LISTS[0]
    split.note(hashes, lists, event)


async def release_due_days(service: Service, split: Split) -> None:
    """Release the figures of days that ended, each once, and remove what they were made of."""
    released = [one.day for one in released_days(service, split)]
    for day in split.due_days(released):
        try:
            await _release_day(service, split, day)
        except BudgetExhausted:  # the settings' lifetime was lowered below what is spent
            break
        released.append(day)
    split.forget_days(released)


async def _release_day(service: Service, split: Split, day: date) -> None:
    """Charge, draw and store the figures of one day in one transaction."""

    def draw(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        figures = tuple(split.draw_figures(day))
        days = (*decode_days(stored), DayFigures(day, figures))
        epsilon = split.settings.epsilon
        return reply({"day": day.isoformat(), "figures": figures}), encode_days(days, epsilon)

    await answer_once(
        service,
        Caller(split.tenant, Role.OPERATOR, split.state),
        RELEASE,
        f"{split.name} {day.isoformat()}",
        b"",
        state=split.state,
        transition=salt_states(draw),
        charges=[Charge(split.holder, split.cost)],
    )
