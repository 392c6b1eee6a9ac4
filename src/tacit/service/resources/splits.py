"""Clicks that a shop reports, and the page of a comparison by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from tacit.service.access import (
    CurrentCaller,
    CurrentService,
    PathName,
    allow,
    find_served,
)
from tacit.service.keys import LISTS, Caller, Role
from tacit.service.list_requests import MOST_PEOPLE, CustomerId
from tacit.service.operations import Operation
from tacit.service.schemas import AnswerModel, RequestModel
from tacit.service.service import Service
from tacit.service.split_releases import release_due_days, released_days
from tacit.service.splits import FIGURES, DayFigures, Split, compare, noise_variance, today

router = APIRouter(route_class=Operation, tags=["recommendations"])


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
def report_clicks(
    service: CurrentService, caller: CurrentCaller, name: PathName, clicks: Clicks
) -> ClickReceipt:
    """Report who clicked on an item of their list. A person counts once a day, however often.

    The key says which lists they got. What was clicked is not asked for. It may be sent again: it
    takes no Idempotency-Key.
    """
    split = find_served(service, Split, name)
    note_people(service, split, caller, clicks.customers, "clicked")
    return ClickReceipt(received=True)


@router.get("/api/splits", **allow(Role.ANALYST, Role.AUDITOR, Role.OPERATOR))
async def splits(service: CurrentService) -> Splits:
    """Show all comparisons; figures of days that ended are released first, and charged."""
    all_splits = service.deployment.find_all(Split).values()
    return Splits(
        splits=[describe_split(one, await release_due_days(service, one)) for one in all_splits]
    )


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


def note_served(service: Service, model: str, caller: Caller, customers: Iterable[str]) -> None:
    """Note for the comparisons of a model that lists were served to customers of a backend."""
    known = list(customers)
    for split in find_splits(service, model, caller) if known else ():
        note_people(service, split, caller, known, "served")


def find_splits(service: Service, model: str, caller: Caller) -> list[Split]:
    """The comparisons in which a list of a model counts that this caller gets."""
    if caller.role is not Role.RECOMMEND:
        return []
    splits = service.deployment.find_all(Split).values()
    return [split for split in splits if split.settings.model == model]


def note_people(
    service: Service, split: Split, caller: Caller, customers: Sequence[str], event: str
) -> None:
    """Note what happened to customers today, as long as the day can be paid for.

    An id and the pseudonym that the service makes of it are one person.
    """
    released = [one.day for one in released_days(service, split)]
    if not split.is_counting(released):
        return
    day = today()  # read once: at midnight one request has no two days
    hashes = []
    for customer in customers:
        person = service.keys.person_name(customer)
        payload = f"{split.name}\x00{day.isoformat()}\x00{person}".encode()
        hashes.append(service.keys.digest("splits", payload))
    lists = caller.lists if caller.role is Role.RECOMMEND else LISTS[0]
    split.note(day, hashes, lists, event)
