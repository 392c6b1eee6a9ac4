"""The models that are served, and the public catalogue of each."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tacit.service.access import (
    NOT_FOUND,
    CurrentService,
    PathName,
    allow,
    allow_bytes,
    find_served,
)
from tacit.service.http_bodies import OCTETS
from tacit.service.keys import Role
from tacit.service.operations import Operation, run_on_loop
from tacit.service.problems import Problem
from tacit.service.schemas import AnswerModel
from tacit.service.served_models import CatalogueItem, ItemWords, ServedModel

router = APIRouter(route_class=Operation, tags=["models"])

LONGEST_PAGE = 5_000
"""Most items in one page of a catalogue."""
_DIGEST_BYTES = 32
"""Length of the SHA-256 with which a device file ends."""


class Scale(AnswerModel):
    """The stars of a rating: from minimum to maximum in steps."""

    minimum: float
    maximum: float
    step: float
    """0: any number from minimum to maximum."""


class Model(AnswerModel):
    """A model that is served."""

    name: str
    kind: str
    """The recommender's name."""
    variant: str | None
    items: int
    """Number of items that may be rated."""
    recommends: list[str]
    """Domains of the items that may be in lists; empty if the model has no domains."""
    learns_from: list[str]
    """Domains of the items that may be rated; empty if the model has no domains."""
    scale: Scale
    item_words: ItemWords
    """What one item and several are called."""
    device: str | None
    """SHA-256 of the file from which devices make lists; null if there is no such file."""


class Models(AnswerModel):
    """All models that are served."""

    models: list[Model]


class Page(AnswerModel):
    """A page of a model's catalogue."""

    items: list[CatalogueItem]
    next: str | None
    """The value of `after` for the next page; null at the end."""


@router.get("/api/models", **allow(Role.ANONYMOUS))
def models(service: CurrentService) -> Models:
    """List and describe the models that are served."""
    served = service.deployment.find_all(ServedModel)
    return Models(models=[_describe(model) for model in served.values()])


@router.get("/api/models/{model}/items", **allow(Role.ANONYMOUS))
def items(
    service: CurrentService,
    model: PathName,
    after: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=LONGEST_PAGE)] = 100,
) -> Page:
    """Show the model's catalogue, page by page: begin without `after`, go on with `next`."""
    served = find_served(service, ServedModel, model)
    if after is None:
        start = 0
    elif after in served.positions:
        start = served.positions[after] + 1
    else:
        raise Problem(422, "No item of the catalogue has the id that `after` names.")
    end = start + limit
    page = list(served.items[start:end])
    next_after = page[-1].item_id if end < len(served.items) else None
    return Page(items=page, next=next_after)


@router.get(
    "/api/models/{model}/device",
    **allow_bytes(Role.ANONYMOUS, response="The released model, as devices make lists of it."),
)
@run_on_loop
def device(
    service: CurrentService,
    model: PathName,
    digest: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
) -> Response:
    """Show the file from which a device makes lists: it holds only released and public numbers.

    digest: SHA-256 of the file that is asked for, the current or the previous one; by default the
    current one. So a page that read the digest before the model was replaced still gets its file.
    """
    served = find_served(service, ServedModel, model)
    file = served.device_file
    if digest is not None:
        file = _find_device_file(served, digest)
    if file is None:
        raise Problem(404, NOT_FOUND)
    return Response(file, media_type=OCTETS)


def _find_device_file(served: ServedModel, digest: str) -> bytes | None:
    """Find the current or previous device file with a digest; None for any other digest."""
    for file in (served.device_file, served.previous_device_file):
        if file is not None and _read_digest(file) == digest:
            return file
    return None


def _read_digest(device_file: bytes) -> str:
    """Read the SHA-256 with which a device file ends, in hexadecimal digits."""
    return device_file[-_DIGEST_BYTES:].hex()


def _describe(served: ServedModel) -> Model:
    """Describe a model in the form of answers."""
    domains = set()
    recommended_domains = set()
    for item in served.items:
        if item.domain is not None:
            domains.add(item.domain)
            if item.recommended:
                recommended_domains.add(item.domain)
    file = served.device_file
    scale = served.scale
    return Model(
        name=served.name,
        kind=served.kind,
        variant=served.variant,
        items=len(served.ids),
        recommends=sorted(recommended_domains),
        learns_from=sorted(domains),
        device=None if file is None else _read_digest(file),
        item_words=served.words,
        scale=Scale(minimum=scale.minimum, maximum=scale.maximum, step=scale.step),
    )
