"""Which models are served, the public catalogue of each, and lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from tacit.service import access
from tacit.service.access import Asking, Here, Name, Operation, allow, at_once, named, own
from tacit.service.http_bodies import PRINTABLE
from tacit.service.idempotency import JSON, OCTETS
from tacit.service.keys import NAME, Role
from tacit.service.models import LONGEST_LIST, MOST, CatalogueItem, Feedback, ServedModel
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, tags=["models"])

PATTERN = f"^{NAME.pattern}$"


class Scale(BaseModel):
    """Stars from minimum to maximum in steps; step 0: any number between."""

    minimum: float
    maximum: float
    step: float


class Model(BaseModel):
    """items: how many may be rated. recommends, learns_from: domains, none where there is one.
    device: SHA-256 of the file from which devices make lists, null without one."""

    name: str
    kind: str
    variant: str | None
    items: int
    recommends: list[str]
    learns_from: list[str]
    scale: Scale
    device: str | None


class Models(BaseModel):
    models: list[Model]


class Page(BaseModel):
    """next: what `after` is for the next page, or null at the end."""

    items: list[CatalogueItem]
    next: str | None


@router.get("/api/models", **allow(Role.ANONYMOUS))
def models(service: Here) -> Models:
    """Which models are served, and what each recommends."""
    return Models(models=[_described(one) for one in service.deployment.all(ServedModel).values()])


@router.get("/api/models/{model}/items", **allow(Role.ANONYMOUS))
def items(
    service: Here,
    model: Name,
    after: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Page:
    """The model's catalogue, page by page: begin without `after`, go on with `next`."""
    served = named(service, ServedModel, model)
    if after is None:
        start = 0
    elif after in served.places:
        start = served.places[after] + 1
    else:
        raise Problem(422, "No item of the catalogue has the id that `after` names.")
    page = served.items[start : start + limit]
    more = start + limit < len(served.items)
    return Page(items=list(page), next=page[-1].item_id if more else None)


@router.get(
    "/api/models/{model}/device",
    **access.allow_octets(Role.ANONYMOUS, gives="The released model, as devices make lists of it."),
)
@at_once
def device(service: Here, model: Name) -> Response:
    """What a device needs to make lists: released and public numbers alone."""
    file = named(service, ServedModel, model).device_file
    if file is None:
        raise Problem(404, "There is nothing at this address.")
    return Response(file, media_type=OCTETS)


def _described(served: ServedModel) -> Model:
    domains = {item.domain for item in served.items if item.domain is not None}
    listed = {item.domain for item in served.items if item.recommended and item.domain is not None}
    scale = served.scale
    return Model(
        name=served.name,
        kind=served.kind,
        variant=served.variant,
        items=len(served.items),
        recommends=sorted(listed),
        learns_from=sorted(domains),
        device=None if served.device_file is None else served.device_file[-32:].hex(),
        scale=Scale(minimum=scale.minimum, maximum=scale.maximum, step=scale.step),
    )


lists_router = APIRouter(route_class=Operation, tags=["recommendations"])

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


class History(BaseModel, extra="forbid", strict=True):
    """history: item to stars. Nothing of it is kept."""

    model: Annotated[str, Field(pattern=PATTERN)]
    history: Annotated[dict[ItemId, Stars], Field(max_length=MOST)]
    n: Length = 10


@lists_router.get(
    "/api/recommend/{user}", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR)
)
def recommend(
    service: Here,
    caller: Asking,
    user: Name,
    n: Annotated[int, Query(ge=1, le=LONGEST_LIST)] = 10,
    model: Annotated[str | None, Query(pattern=PATTERN)] = None,
) -> Response:
    """What a person may like, from the ratings that they gave; without any, what people like.

    model: by default the first that is served.
    """
    own(caller, user)
    first = next(iter(service.deployment.all(ServedModel)), "")
    served = named(service, ServedModel, first if model is None else model)
    return _listed(served, Feedback.of_user(service, user).of.get(served.name, {}), n)


@lists_router.post("/api/recommend", response_model=Listed, **allow(Role.SUBJECT, Role.OPERATOR))
def recommend_once(service: Here, asked: History) -> Response:
    """A list from a history that comes with the question. It changes nothing, so it takes no
    Idempotency-Key; it needs the key of a person or of the operator in Authorization."""
    served = named(service, ServedModel, asked.model)
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


def _listed(served: ServedModel, ratings: Mapping[str, float], n: int) -> Response:
    """A `Listed`, as bytes."""
    known = served.known(ratings)
    lines = [
        {
            "rank": row.rank,
            "item_id": (item := str(row.item_id)),
            "score": float(row.score),
            "title": served.title(item),
        }
        for row in served.recommend(known, n)
    ]
    content = {"model": served.name, "personal": bool(known), "items": lines}
    return Response(json.dumps(content), media_type=JSON)
