"""Lists: for a person, from stored ratings or a history that comes with the question; for many."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from tacit.data.columns import LONGEST_ID
from tacit.recommenders import Recommendation
from tacit.service.access import (
    NAME_PATTERN,
    NOT_FOUND,
    CurrentCaller,
    CurrentMetrics,
    CurrentService,
    CustomerPath,
    PathName,
    allow,
    check_self,
    find_served,
)
from tacit.service.http_bodies import JSON
from tacit.service.keys import Caller, Role
from tacit.service.list_requests import (
    MOST_PEOPLE,
    ListQuestion,
    PersonQuestion,
    ReadQuestion,
    read_question,
)
from tacit.service.metrics import Metrics
from tacit.service.operations import Operation, run_on_loop_where
from tacit.service.problems import Problem
from tacit.service.resources.splits import find_splits, note_served
from tacit.service.schemas import AnswerModel
from tacit.service.served_models import LONGEST_LIST, ListOptions, ServedModel
from tacit.service.service import Service
from tacit.service.stored_ratings import StoredRatings
from tacit.service.strict_json import PRINTABLE

router = APIRouter(route_class=Operation, tags=["recommendations"])

ModelName = Annotated[str, Field(pattern=NAME_PATTERN)]
ListLength = Annotated[int, Query(ge=1, le=LONGEST_LIST)]
Diversity = Annotated[int | None, Query(ge=1, le=LONGEST_LIST)]
Category = Annotated[str | None, Query(min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)]


MOST_ITEMS_ON_LOOP = 1_000
"""Items of the largest catalogue whose lists are made on the loop: more take above a millisecond,
for which other requests would wait."""
MOST_RATINGS_ON_LOOP = 100
"""Ratings of the longest history of which a list is made there."""
MOST_BYTES_ON_LOOP = 4_096
"""Bytes of the most stored ratings of which a list is made there: about as many."""


class Line(AnswerModel):
    """One item of a list."""

    rank: int
    """From 1."""
    item_id: str
    score: float
    """What the list is ranked by; these are not stars."""
    title: str | None
    cold: bool
    """Whether no one rated the item: its features alone were scored."""


class Listed(AnswerModel):
    """A list, the best item first."""

    model: str
    personal: bool
    """Whether the person's ratings went into it, or it is everybody's list."""
    items: list[Line]
    ignored: list[str]
    """Items of the question that the model does not know; nothing was made of them."""


class PersonList(AnswerModel):
    """The list of one of many people."""

    customer: str | None
    personal: bool
    items: list[Line]
    ignored: list[str]


class ListsOfPeople(AnswerModel):
    """Lists of many people, in the order of the question."""

    model: str
    lists: list[PersonList]


class SimilarItems(AnswerModel):
    """The items that go best with one item, the best first."""

    model: str
    item_id: str
    items: list[Line]


class Question(PersonQuestion, ListQuestion):
    """A question for one list, which brings its own history."""

    model: ModelName


class ManyQuestion(ListQuestion):
    """A question for the lists of many people."""

    model: ModelName
    people: Annotated[list[PersonQuestion], Field(min_length=1, max_length=MOST_PEOPLE)]


def _is_quick_model(service: Service, caller: Caller, served: ServedModel) -> bool:
    """Whether lists of a model are small sums, after which no file is written."""
    is_compared = bool(find_splits(service, served.name, caller))
    return not is_compared and len(served.ids) <= MOST_ITEMS_ON_LOOP


def _is_quick_list(
    service: Service,
    caller: Caller,
    user: str,
    model: str | None,
    category: str | None,
    diversity: int | None,
    **_: Any,
) -> bool:
    """Whether the list of stored ratings needs no thread: they are in memory, and few."""
    person = service.keys.person_name(user)
    check_self(caller, person)
    is_plain = category is None and diversity is None
    is_quick_model = _is_quick_model(service, caller, _find_model(service, model))
    size = StoredRatings.size_in_memory(service, person)
    is_short = size is not None and size <= MOST_BYTES_ON_LOOP
    return is_plain and is_quick_model and is_short


def _is_quick_question(service: Service, caller: Caller, question: Question, **_: Any) -> bool:
    """Whether the list of a history that is sent needs no thread."""
    served = find_served(service, ServedModel, question.model)
    is_plain = question.category is None and question.diversity is None
    has_few_items = not question.cold and question.candidates is None
    is_short = len(question.history) <= MOST_RATINGS_ON_LOOP
    return is_plain and has_few_items and is_short and _is_quick_model(service, caller, served)


def _find_model(service: Service, name: str | None) -> ServedModel:
    """Find a model; by default the first that is served."""
    if name is None:
        name = next(iter(service.deployment.find_all(ServedModel)), "")
    return find_served(service, ServedModel, name)


@router.get(
    "/api/recommend/{user}",
    response_model=Listed,
    **allow(Role.SUBJECT, Role.OPERATOR, Role.RECOMMEND),
)
@run_on_loop_where(_is_quick_list)
def recommend(
    service: CurrentService,
    caller: CurrentCaller,
    counts: CurrentMetrics,
    user: CustomerPath,
    n: ListLength = 10,
    model: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    category: Category = None,
    diversity: Diversity = None,
    seen: bool = False,
) -> Response:
    """List what a person may like, from the ratings that they gave; without any, what people like.

    model: by default the first that is served. category: one that every listed item has.
    diversity: at most so many items of one category. seen: whether rated items may be listed.
    """
    user = service.keys.person_name(user)
    check_self(caller, user)
    served = _find_model(service, model)
    stored = StoredRatings.read(service, user).of_model(served.name)
    options = ListOptions(n=n, category=category, diversity=diversity, keep_seen=seen)
    question = ReadQuestion(served.usable_ratings(stored), options, ())
    note_served(service, served.name, caller, [user])
    return _respond({"model": served.name, **_list_content(served, question, caller, counts)})


@router.post(
    "/api/recommend", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR, Role.RECOMMEND)
)
@run_on_loop_where(_is_quick_question)
def recommend_once(
    service: CurrentService, caller: CurrentCaller, counts: CurrentMetrics, question: Question
) -> Response:
    """Make a list from a history that comes with the question.

    The history is ids, or ids with stars, or with quantities. Items that the model does not know
    are named in the answer. It changes nothing, so it takes no Idempotency-Key; it needs the key of
    a person, a backend or the operator in Authorization.
    """
    served = find_served(service, ServedModel, question.model)
    read = read_question(served, question, question)
    if question.customer is not None:
        note_served(service, served.name, caller, [question.customer])
    return _respond({"model": served.name, **_list_content(served, read, caller, counts)})


@router.post(
    "/api/recommend-many", response_model=ListsOfPeople, **allow(Role.OPERATOR, Role.RECOMMEND)
)
def recommend_many(
    service: CurrentService, caller: CurrentCaller, counts: CurrentMetrics, question: ManyQuestion
) -> Response:
    """Make the lists of many people at once, each from the history that comes with the question."""
    served = find_served(service, ServedModel, question.model)
    lists = []
    for person in question.people:
        read = read_question(served, person, question)
        lists.append({"customer": person.customer, **_list_content(served, read, caller, counts)})
    customers = [person.customer for person in question.people if person.customer is not None]
    note_served(service, served.name, caller, customers)
    return _respond({"model": served.name, "lists": lists})


@router.get(
    "/v1/models/{model}/similar/{item:path}",
    response_model=SimilarItems,
    **allow(Role.SUBJECT, Role.OPERATOR, Role.RECOMMEND),
)
def read_similar_items(
    service: CurrentService,
    model: PathName,
    item: Annotated[str, Path(min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)],
    n: ListLength = 10,
    category: Category = None,
    diversity: Diversity = None,
) -> Response:
    """List the items that go best with one item: what to show beside it.

    category: one that every listed item has. diversity: at most so many items of one category.
    """
    served = find_served(service, ServedModel, model)
    if item not in served.ids:
        raise Problem(404, NOT_FOUND)
    options = ListOptions(n=n, category=category, diversity=diversity)
    rows = served.similar_items(item, options)
    return _respond({"model": served.name, "item_id": item, "items": _lines(served, rows)})


def _list_content(
    served: ServedModel, question: ReadQuestion, caller: Caller, counts: Metrics
) -> dict[str, Any]:
    """Make the list that the caller's key gets, and count it."""
    ratings, options = question.ratings, question.options
    if caller.lists == "popularity":
        if not options.keep_seen:
            options = replace(options, exclude=options.exclude | frozenset(ratings))
        ratings = {}
        options = replace(options, cold={})  # no one rated those: they are not popular
    rows = served.recommend(ratings, options)
    items = [str(row.item_id) for row in rows]
    counts.count_list(served.name, caller.lists, items, len(served.items) - len(served.cold))
    return {
        "personal": bool(ratings),
        "items": _lines(served, rows),
        "ignored": list(question.ignored),
    }


def _lines(served: ServedModel, rows: Iterable[Recommendation]) -> list[dict[str, Any]]:
    lines = []
    for row in rows:
        item = str(row.item_id)
        line = {
            "rank": row.rank,
            "item_id": item,
            "score": float(row.score),
            "title": served.title(item),
            "cold": row.cold,
        }
        lines.append(line)
    return lines


def _respond(content: dict[str, Any]) -> Response:
    """Write an answer without pydantic, which would take longer than making the list."""
    return Response(json.dumps(content), media_type=JSON)
