"""Clicks that a shop reports, and the figures of its comparisons of lists."""

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
    record_people(service, split, caller, clicks.customers, "clicked")
    return ClickReceipt(received=True)


@router.get("/api/splits", **allow(Role.ANALYST, Role.AUDITOR, Role.OPERATOR))
async def splits(service: CurrentService) -> Splits:
    """Show all comparisons; figures of days that ended are released first, and charged."""
    views = []
    for split in service.deployment.find_all(Split).values():
        days = await release_due_days(service, split)
        views.append(describe_split(split, days))
    return Splits(splits=views)


def describe_split(split: Split, days: Sequence[DayFigures]) -> SplitView:
    """Describe a comparison by its released figures."""
    settings = split.settings
    comparison = compare(days, settings.epsilon)
    names = [f"{lists}_{event}" for lists, event in FIGURES]
    rows = []
    for of_day in days:
        figures = dict(zip(names, of_day.figures, strict=True))
        rows.append(Day(day=of_day.day.isoformat(), **figures))
    personal_rate, popularity_rate = comparison.rates or (None, None)
    return SplitView(
        name=split.name,
        model=settings.model,
        epsilon=settings.epsilon,
        lifetime=settings.lifetime,
        days_left=split.most_days - len(days),
        noise=noise_variance(settings.epsilon) ** 0.5,
        days=rows,
        personal_rate=personal_rate,
        popularity_rate=popularity_rate,
        difference=comparison.difference,
        low=comparison.low,
        high=comparison.high,
    )


def record_served_people(
    service: Service, model: str, caller: Caller, customers: Iterable[str]
) -> None:
    """Record customers of a backend as served in all comparisons of a model."""
    customer_ids = list(customers)
    if not customer_ids:
        return
    for split in find_splits(service, model, caller):
        record_people(service, split, caller, customer_ids, "served")


def find_splits(service: Service, model: str, caller: Caller) -> list[Split]:
    """Find the comparisons that count the lists of a model that this caller gets."""
    if caller.role is not Role.RECOMMEND:
        return []
    splits = service.deployment.find_all(Split).values()
    return [split for split in splits if split.settings.model == model]


def record_people(
    service: Service, split: Split, caller: Caller, customers: Sequence[str], event: str
) -> None:
    """Record customers in today's file of a comparison, as long as its budget covers the day.

    An id, and the pseudonym that the service makes of it, count as one person.

    Args:
        service: The service.
        split: The comparison.
        caller: Sender of the request, whose key says which lists the customers get.
        customers: Ids of the customers.
        event: What happened to them: "served" or "clicked".
    """
    released = [of_day.day for of_day in released_days(service, split)]
    if not split.is_counting(released):
        return
    day = today()  # read once, so that a request at midnight counts on one day
    hashes = []
    for customer in customers:
        person = service.keys.person_name(customer)
        payload = f"{split.name}\x00{day.isoformat()}\x00{person}".encode()
        hashes.append(service.keys.digest("splits", payload))
    kind_of_list = caller.lists if caller.role is Role.RECOMMEND else LISTS[0]
    split.record_people(day, hashes, kind_of_list, event)
