"""Clicks that a shop reports, and the figures of its comparisons of lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Request
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
from tacit.service.operations import Operation, run_before_refusal
from tacit.service.refused_requests import read_object, select_customers
from tacit.service.schemas import AnswerModel, RequestModel
from tacit.service.service import Service
from tacit.service.split_releases import read_released_days
from tacit.service.splits import FIGURES, DayFigures, Split, compare, noise_variance, today

router = APIRouter(route_class=Operation, tags=["recommendations"])


class Clicks(RequestModel):
    """Customers who clicked on an item of a list that this key got."""

    customers: Annotated[list[CustomerId], Field(min_length=1, max_length=MOST_PEOPLE)]


class ClickReceipt(AnswerModel):
    """A receipt, which is the same whether the click was counted or not."""

    received: Literal[True]


class Day(AnswerModel):
    """The released figures of one day: numbers of people, with noise."""

    day: str
    """The date, in UTC, such as 2026-01-31."""
    personal_served: int
    personal_clicked: int
    popularity_served: int
    popularity_clicked: int


class SplitView(AnswerModel):
    """A comparison of personal lists with popular items. Every number in it is released."""

    name: str
    model: str
    epsilon: float
    """Epsilon of one person in the figures of one day, in nats."""
    lifetime: float
    """Epsilon of one person in the figures of all days, in nats."""
    days_left: int
    """Number of days that the lifetime still covers."""
    noise: float
    """Standard deviation of the noise in each figure of a day."""
    days: list[Day]
    personal_rate: float | None
    """Share of the people with personal lists who clicked; null where noise is too large to say."""
    popularity_rate: float | None
    """The same share of the people with lists of popular items."""
    difference: float | None
    """personal_rate minus popularity_rate."""
    low: float | None
    """Lower end of the difference's 95 % interval."""
    high: float | None
    """Upper end of that interval."""


class Splits(AnswerModel):
    """All comparisons."""

    splits: list[SplitView]


def record_clicks_of_refused(request: Request) -> None:
    """Record the customers of a refused report whose ids are well-formed."""
    service: Service = request.app.state.service
    split = service.deployment.find(Split, request.path_params["name"])
    customers = select_customers(read_object(request.state.octets).get("customers"))
    if split is not None:
        record_people(service, split, request.state.caller, customers, "clicked")


@router.post(
    "/api/splits/{name}/clicks", response_model=ClickReceipt, **allow(Role.RECOMMEND, Role.OPERATOR)
)
@run_before_refusal(record_clicks_of_refused)
def report_clicks(
    service: CurrentService, caller: CurrentCaller, name: PathName, clicks: Clicks
) -> ClickReceipt:
    """Report who clicked on an item of their list. A person counts once a day, however often.

    The key says which kind of lists they got. What was clicked is not asked for. The request
    may be repeated, and takes no Idempotency-Key. If it is refused because of one id, the others
    are counted.
    """
    split = find_served(service, Split, name)
    record_people(service, split, caller, clicks.customers, "clicked")
    return ClickReceipt(received=True)


@router.get("/api/splits", **allow(Role.ANALYST, Role.AUDITOR, Role.OPERATOR))
def splits(service: CurrentService) -> Splits:
    """Show all comparisons, with the figures of the days that were released.

    The service releases a day by itself, within ten minutes of its end.
    """
    compared = service.deployment.find_all(Split).values()
    views = [describe_split(split, read_released_days(service, split)) for split in compared]
    return Splits(splits=views)


def describe_split(split: Split, days: Sequence[DayFigures]) -> SplitView:
    """Describe a comparison by its released figures."""
    settings = split.settings
    comparison = compare(days, settings.epsilon)
    names = [f"{lists}_{event}" for lists, event in FIGURES]
    rows = []
    for day_figures in days:
        figure_by_name = dict(zip(names, day_figures.figures, strict=True))
        rows.append(Day(day=day_figures.day.isoformat(), **figure_by_name))
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
    """Record customers as served in all comparisons that count the caller's lists of a model.

    Args:
        service: The service.
        model: Name of the model.
        caller: Sender of the request.
        customers: Ids of the customers.
    """
    customer_ids = list(customers)
    for split in find_splits(service, model, caller):
        record_people(service, split, caller, customer_ids, "served")


def find_splits(service: Service, model: str, caller: Caller) -> list[Split]:
    """Find the comparisons that count the lists of a model that a caller gets.

    Only lists that a backend gets are counted.
    """
    if caller.role is not Role.RECOMMEND:
        return []
    splits = service.deployment.find_all(Split).values()
    return [split for split in splits if split.settings.model == model]


def record_people(
    service: Service, split: Split, caller: Caller, customers: Sequence[str], event: str
) -> None:
    """Record customers in today's file of a comparison, as long as its budget covers the day.

    An id, and the pseudonym that the service makes of it, count as one person. What is recorded of
    a customer depends on no other customer of the request.

    Args:
        service: The service.
        split: The comparison.
        caller: Sender of the request, whose key says which lists the customers get.
        customers: Ids of the customers.
        event: What happened to them: "served" or "clicked".
    """
    if not customers:
        return
    released = [day_figures.day for day_figures in read_released_days(service, split)]
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
