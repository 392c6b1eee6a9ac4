"""Lists, from the ratings that a person stored or from those that come with the question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from tacit.data.columns import LONGEST_ID
from tacit.service.access import (
    NAME_PATTERN,
    CurrentCaller,
    CurrentService,
    PathName,
    allow,
    check_self,
    find_served,
)
from tacit.service.http_bodies import JSON
from tacit.service.keys import Role
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.schemas import AnswerModel, RequestModel
from tacit.service.served_models import LONGEST_LIST, ServedModel
from tacit.service.stored_ratings import MOST_RATINGS, StoredRatings
from tacit.service.strict_json import PRINTABLE

router = APIRouter(route_class=Operation, tags=["recommendations"])

Length = Annotated[int, Field(ge=1, le=LONGEST_LIST)]
ItemId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)]
Stars = Annotated[float, Field(allow_inf_nan=False)]


class Line(AnswerModel):
    """One item of a list."""

    rank: int
    """From 1."""
    item_id: str
    score: float
    """What the list is ranked by; these are not stars."""
    title: str | None


class Listed(AnswerModel):
    """A list, the best item first."""

    model: str
    personal: bool
    """Whether the person's ratings went into it, or it is everybody's list."""
    items: list[Line]


class History(RequestModel):
    """A question for a list that brings its own ratings. Nothing of it is stored."""

    model: Annotated[str, Field(pattern=NAME_PATTERN)]
    history: Annotated[dict[ItemId, Stars], Field(max_length=MOST_RATINGS)]
    """Stars by item."""
    n: Length = 10


@router.get("/api/recommend/{user}", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR))
def recommend(
    service: CurrentService,
    caller: CurrentCaller,
    user: PathName,
    n: Annotated[int, Query(ge=1, le=LONGEST_LIST)] = 10,
    model: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
) -> Response:
    """List what a person may like, from the ratings that they gave; without any, what people like.

    model: by default the first that is served.
    """
    check_self(caller, user)
    if model is None:
        model = next(iter(service.deployment.find_all(ServedModel)), "")
    served = find_served(service, ServedModel, model)
    ratings = StoredRatings.read(service, user).of_model(served.name)
    return _list_response(served, ratings, n)


@router.post("/api/recommend", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR))
def recommend_once(service: CurrentService, question: History) -> Response:
    """Make a list from a history that comes with the question.

    It changes nothing, so it takes no Idempotency-Key; it needs the key of a person or of the
    operator in Authorization.
    """
    served = find_served(service, ServedModel, question.model)
    check_ratings(served, question.history)
    return _list_response(served, question.history, question.n)


def check_ratings(served: ServedModel, ratings: Mapping[str, float]) -> None:
    """Check that all ratings are of the public catalogue and on its scale.

    Raises:
        Problem: Status 422; one is not.
    """
    if len(served.usable_ratings(ratings)) < len(ratings):
        raise Problem(
            422,
            "A rating is of an item of the catalogue, in stars of the model's scale: see "
            "/api/models and /api/models/{model}/items.",
        )


def _list_response(served: ServedModel, ratings: Mapping[str, float], n: int) -> Response:
    """A `Listed`, written without pydantic, which would take longer than making the list."""
    usable = served.usable_ratings(ratings)
    lines = []
    for row in served.recommend(usable, n):
        item = str(row.item_id)
        line = {
            "rank": row.rank,
            "item_id": item,
            "score": float(row.score),
            "title": served.title(item),
        }
        lines.append(line)
    content = {"model": served.name, "personal": bool(usable), "items": lines}
    return Response(json.dumps(content), media_type=JSON)
