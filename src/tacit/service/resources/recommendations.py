"""Lists: from ratings that a person keeps here, or from a history that is used and forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from tacit.service.access import Asking, Here, Operation, allow, own
from tacit.service.deployment import Service
from tacit.service.feedback import MOST, Feedback, feedback_state
from tacit.service.keys import Role
from tacit.service.models import LONGEST_LIST, ServedModel
from tacit.service.problems import Problem
from tacit.service.resources.models import PATTERN, Named, model_of
from tacit.service.strict_json import PRINTABLE

router = APIRouter(route_class=Operation, tags=["recommendations"])

Length = Annotated[int, Field(ge=1, le=LONGEST_LIST)]
ItemId = Annotated[str, Field(min_length=1, max_length=200, pattern=PRINTABLE)]
Stars = Annotated[float, Field(allow_inf_nan=False)]


class Line(BaseModel):
    """rank: from 1. score: what the list is ranked by, not stars."""

    rank: int
    item_id: str
    score: float
    title: str | None


class Listed(BaseModel):
    """personal: whether own ratings went into it, or it is everybody's."""

    model: str
    personal: bool
    items: list[Line]


class History(BaseModel):
    """history: item to stars. Nothing of it is kept."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[str, Field(pattern=PATTERN)]
    history: Annotated[dict[ItemId, Stars], Field(max_length=MOST)]
    n: Length = 10


@router.get("/api/recommend/{user}", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR))
def recommend(
    service: Here,
    caller: Asking,
    user: Named,
    n: Annotated[int, Query(ge=1, le=LONGEST_LIST)] = 10,
    model: Annotated[str | None, Query(pattern=PATTERN)] = None,
) -> Response:
    """What a person may like, from the ratings that they gave; without any, what people like.

    model: by default the first that is served.
    """
    own(caller, user)
    served = _first(service) if model is None else model_of(service, model)
    state = service.ledger.state(f"{service.deployment.tenant}/{feedback_state(user)}")
    return _listed(served, Feedback.decode(state).of.get(served.name, {}), n)


@router.post("/api/recommend", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR))
def recommend_once(service: Here, asked: History) -> Response:
    """A list from a history that comes with the question. It changes nothing, so it takes no
    Idempotency-Key; it needs the key of a person or of the operator in Authorization."""
    served = model_of(service, asked.model)
    check_ratings(served, asked.history)
    return _listed(served, asked.history, asked.n)


def check_ratings(served: ServedModel, ratings: Mapping[str, float]) -> None:
    """Problem unless all are of the public catalogue and on its scale."""
    if len(served.known(ratings)) < len(ratings):
        raise Problem(
            422,
            "A rating is of an item of the catalogue, in stars of the model's scale: see "
            "/api/models and /api/models/{model}/items.",
        )


def _first(service: Service) -> ServedModel:
    for served in service.deployment.all(ServedModel).values():
        return served
    raise Problem(404, "There is nothing at this address.")


def _listed(served: ServedModel, ratings: Mapping[str, float], n: int) -> Response:
    """As bytes, made in the thread that made the list: another one would be waited for."""
    kept = served.known(ratings)
    lines = [
        Line(
            rank=row.rank,
            item_id=str(row.item_id),
            score=row.score,
            title=served.title(str(row.item_id)),
        )
        for row in served.recommend(kept, n)
    ]
    found = Listed(model=served.name, personal=bool(kept), items=lines)
    return Response(found.model_dump_json(), media_type="application/json")
