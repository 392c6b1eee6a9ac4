"""Which models are served, and the public catalogue of each."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from tacit.service.access import Here, Operation, allow, allow_octets
from tacit.service.deployment import Service
from tacit.service.idempotency import OCTETS
from tacit.service.keys import NAME, Role
from tacit.service.models import ServedModel
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, tags=["models"])

PATTERN = f"^{NAME.pattern}$"
Named = Annotated[str, Path(pattern=PATTERN)]
"""A model, a person, anything with a name in the address."""


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


class CatalogueItem(BaseModel):
    """recommended: it may be in a list. All items may be rated."""

    item_id: str
    title: str | None
    domain: str | None
    recommended: bool


class Page(BaseModel):
    """next: what `after` is for the next page, or null at the end."""

    items: list[CatalogueItem]
    next: str | None


def model_of(service: Service, name: str) -> ServedModel:
    """A served model by name."""
    found = service.deployment.all(ServedModel).get(name)
    if found is None:
        raise Problem(404, "There is nothing at this address.")
    return found


@router.get("/api/models", **allow(Role.ANONYMOUS))
def models(service: Here) -> Models:
    """Which models are served, and what each recommends."""
    return Models(models=[_told(one) for one in service.deployment.all(ServedModel).values()])


@router.get("/api/models/{model}/items", **allow(Role.ANONYMOUS))
def items(
    service: Here,
    model: Named,
    after: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Page:
    """The model's catalogue, page by page: begin without `after`, go on with `next`."""
    served = model_of(service, model)
    if after is None:
        start = 0
    elif after in served.places:
        start = served.places[after] + 1
    else:
        raise Problem(422, "No item of the catalogue has the id that `after` names.")
    page = served.items[start : start + limit]
    more = start + limit < len(served.items)
    return Page(
        items=[
            CatalogueItem(
                item_id=one.item_id,
                title=one.title,
                domain=one.domain,
                recommended=one.recommended,
            )
            for one in page
        ],
        next=page[-1].item_id if more else None,
    )


@router.get(
    "/api/models/{model}/device",
    **allow_octets(Role.ANONYMOUS, gives="The released model, as devices make lists of it."),
)
def device(service: Here, model: Named) -> Response:
    """What a device needs to make lists: released and public numbers alone."""
    file = model_of(service, model).device_file
    if file is None:
        raise Problem(404, "There is nothing at this address.")
    return Response(file, media_type=OCTETS)


def _told(served: ServedModel) -> Model:
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
