"""Lists for one person or many, from stored ratings or from histories that a request has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
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
    ParsedQuestion,
    PersonQuestion,
    parse_question,
)
from tacit.service.metrics import Metrics
from tacit.service.operations import Operation, run_before_refusal, run_on_loop_where
from tacit.service.problems import Problem
from tacit.service.refused_requests import list_objects, read_object, select_customers
from tacit.service.resources.splits import find_splits, record_served_people
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
"""Most items of a model whose lists are made on the event loop. With more items a list takes longer
than a millisecond, for which all other requests would wait."""
MOST_RATINGS_ON_LOOP = 100
"""Most ratings of a history in a request whose list is made on the event loop."""
MOST_BYTES_ON_LOOP = 4_096
"""Most bytes of a person's stored ratings from which a list is made on the event loop: those of
about MOST_RATINGS_ON_LOOP ratings."""


class Line(AnswerModel):
    """One item of a list."""

    rank: int
    """From 1."""
    item_id: str
    score: float
    """The number that items are ranked by, the highest first. It is not in stars."""
    title: str | None
    """Null if the catalogue has none."""
    cold: bool
    """Whether no one rated the item: its features alone were scored."""


class Listed(AnswerModel):
    """A list, the best item first."""

    model: str
    personal: bool
    """Whether ratings of the person went into it. If not, it is the same for everybody."""
    items: list[Line]
    ignored: list[str]
    """Items of the question that the model does not know, and that had no effect."""


class PersonList(AnswerModel):
    """The list of one of many people."""

    customer: str | None
    """The id in the question; null if it had none."""
    personal: bool
    """Whether ratings of the person went into it. If not, it is the same for everybody."""
    items: list[Line]
    ignored: list[str]
    """Items of the question that the model does not know, and that had no effect."""


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
    """A question for the list of one person, with their history."""

    model: ModelName


class ManyQuestion(ListQuestion):
    """A question for the lists of many people, with the same choices for all of them."""

    model: ModelName
    people: Annotated[list[PersonQuestion], Field(min_length=1, max_length=MOST_PEOPLE)]


def _is_quick_model(service: Service, caller: Caller, served: ServedModel) -> bool:
    """Say whether a list takes little time: the model has few items, and no comparison records it.

    A comparison writes a line to a file for each list.
    """
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
    """Say whether a list from stored ratings needs no thread.

    It needs none if the ratings are few and in memory, the model is quick, and the request has no
    category and no diversity. The arguments are those of `recommend`.

    Raises:
        Problem: Status 404; the caller asks about another person, or for an unknown model.
    """
    person = service.keys.person_name(user)
    check_self(caller, person)
    is_plain = category is None and diversity is None
    is_quick_model = _is_quick_model(service, caller, _find_model(service, model))
    size = StoredRatings.cached_state_size(service, person)
    is_short = size is not None and size <= MOST_BYTES_ON_LOOP
    return is_plain and is_quick_model and is_short


def _is_quick_question(service: Service, caller: Caller, question: Question, **_: Any) -> bool:
    """Say whether a list from the history in a question needs no thread.

    It needs none if the history is short, the model is quick, and the question has no category,
    diversity, candidates or cold items. The arguments are those of `recommend_once`.

    Raises:
        Problem: Status 404; the model is unknown.
    """
    served = find_served(service, ServedModel, question.model)
    is_plain = question.category is None and question.diversity is None
    has_few_items = not question.cold and question.candidates is None
    is_short = len(question.history) <= MOST_RATINGS_ON_LOOP
    return is_plain and has_few_items and is_short and _is_quick_model(service, caller, served)


def _find_model(service: Service, name: str | None) -> ServedModel:
    """Find the model of a name; None: the first that is served. Problem 404 if there is none."""
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
    """Make a person's list from the ratings that they stored; without any, it is everybody's list.

    model: by default the first that is served. category: one that every listed item has.
    diversity: at most so many items of one category. seen: whether rated items may be listed.
    """
    user = service.keys.person_name(user)
    check_self(caller, user)
    served = _find_model(service, model)
    stored = StoredRatings.read(service, user).of_model(served.name)
    options = ListOptions(n=n, category=category, diversity=diversity, keep_seen=seen)
    question = ParsedQuestion(served.usable_ratings(stored), options, ())
    record_served_people(service, served.name, caller, [user])
    return _respond({"model": served.name, **_list_content(served, question, caller, counts)})


@router.post(
    "/api/recommend", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR, Role.RECOMMEND)
)
@run_on_loop_where(_is_quick_question)
def recommend_once(
    service: CurrentService, caller: CurrentCaller, counts: CurrentMetrics, question: Question
) -> Response:
    """Make a person's list from a history that is sent with the request.

    The history is ids, or ids with stars, or with quantities. Items that the model does not know
    are named in the answer. The request changes nothing, so it takes no Idempotency-Key; it needs
    the key of a person, a backend or the operator in Authorization.
    """
    served = find_served(service, ServedModel, question.model)
    parsed = parse_question(served, question, question)
    if question.customer is not None:
        record_served_people(service, served.name, caller, [question.customer])
    return _respond({"model": served.name, **_list_content(served, parsed, caller, counts)})


def record_people_of_refused(request: Request) -> None:
    """Record the people of a refused request for many lists, as if it had not been refused.

    What is wrong with the request may be one person's history, which must not decide whether the
    others count.
    """
    question = read_object(request.state.octets)
    model = question.get("model")
    people = list_objects(question.get("people"))
    customers = select_customers([person.get("customer") for person in people])
    if isinstance(model, str):
        service: Service = request.app.state.service
        record_served_people(service, model, request.state.caller, customers)


@router.post(
    "/api/recommend-many", response_model=ListsOfPeople, **allow(Role.OPERATOR, Role.RECOMMEND)
)
@run_before_refusal(record_people_of_refused)
def recommend_many(
    service: CurrentService, caller: CurrentCaller, counts: CurrentMetrics, question: ManyQuestion
) -> Response:
    """Make the lists of many people at once, each from a history that is sent with the request.

    Where lists are compared, every person with an id counts as served, even if the request is
    refused because of the history of one of them.
    """
    served = find_served(service, ServedModel, question.model)
    customers = [person.customer for person in question.people if person.customer is not None]
    # Before any history is looked at: one person's must not decide whether the others count.
    record_served_people(service, served.name, caller, customers)
    lists = []
    for person in question.people:
        parsed = parse_question(served, person, question)
        content = _list_content(served, parsed, caller, counts)
        lists.append({"customer": person.customer, **content})
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
    """List the items that go best with one item, to show beside it.

    category: one that every listed item has. diversity: at most so many items of one category.
    """
    served = find_served(service, ServedModel, model)
    if item not in served.ids:
        raise Problem(404, NOT_FOUND)
    options = ListOptions(n=n, category=category, diversity=diversity)
    rows = served.similar_items(item, options)
    return _respond({"model": served.name, "item_id": item, "items": _describe_rows(served, rows)})


def _list_content(
    served: ServedModel, question: ParsedQuestion, caller: Caller, counts: Metrics
) -> dict[str, Any]:
    """Make a list of the kind that the caller's key gets, and count it.

    A key of popularity lists gets the popular items for every history. The items of the history are
    left out, unless the options keep them.

    Returns:
        The fields of `Listed` but `model`.
    """
    ratings = question.ratings
    options = question.options
    if caller.lists == "popularity":
        if not options.keep_seen:
            options = replace(options, exclude=options.exclude | frozenset(ratings))
        ratings = {}
        options = replace(options, cold={})  # items that no one rated are not popular
    rows = served.recommend(ratings, options)
    counts.count_list(served.name, caller.lists)
    return {
        "personal": bool(ratings),
        "items": _describe_rows(served, rows),
        "ignored": list(question.ignored),
    }


def _describe_rows(served: ServedModel, rows: Iterable[Recommendation]) -> list[dict[str, Any]]:
    """Describe the rows of a list, each with the fields of `Line`."""
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
    """Make a JSON response without pydantic, which would take longer than making the list."""
    return Response(json.dumps(content), media_type=JSON)
