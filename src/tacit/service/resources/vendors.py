"""Vendors: visits and what came of them, and what vendors send one another."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tacit.service.access import Asking, Here, IdempotencyKey, allow
from tacit.service.binary_body import Octets, allow_octets
from tacit.service.keys import NAME, Caller, Role
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.running import Service
from tacit.service.vendors import reward_handlers
from tacit.service.vendors import visits as visiting
from tacit.service.vendors.served import ServedVendor
from tacit.service.vendors.settings import MOST_FEATURES

router = APIRouter(route_class=Operation, prefix="/api/vendors", tags=["vendors"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$", max_length=64)]
VisitId = Annotated[
    str,
    Path(pattern=r"^[0-9a-f]{96}$", max_length=96),
]


class Body(BaseModel):
    """Nothing but what is named."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Context(Body):
    """Where a visitor stands: as many features as the vendor has."""

    context: Annotated[
        list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=MOST_FEATURES)
    ]


class Click(Body):
    """What came of a visit."""

    clicked: bool


class Shown(Body):
    """visit: for its reward. vendor: whose video it is."""

    visit: str
    video: str
    source: Literal["own", "neighbour"]
    vendor: str


class Described(Body):
    """What everybody may know of a vendor."""

    name: str
    features: int
    epsilon: float
    lifetime: float
    neighbours: list[str]
    forward_epsilon: float | None


class Vendors(Body):
    """All of them."""

    vendors: list[Described]


class Received(Body):
    """The same whatever was made of it."""

    received: Literal[True]


@router.get("", response_model=Vendors, **allow(Role.ANONYMOUS))
def vendors(service: Here) -> dict[str, Any]:
    """The vendors that are served here."""
    found = service.deployment.all(ServedVendor).values()
    return {"vendors": [vendor.described() for vendor in found]}


@router.post("/{name}/visits", response_model=Shown, **allow(Role.SUBJECT))
async def visits(
    name: Name,
    body: Context,
    request: Request,
    service: Here,
    caller: Asking,
    key: IdempotencyKey,
) -> Response:
    """A video for one visit, the vendor's own or a neighbour's."""
    vendor = _vendor(service, caller, name)
    if len(body.context) != vendor.settings.features:
        raise Problem(422, "A context has as many features as GET /api/vendors says.")
    return await visiting.visit(request, service, vendor, caller, key, body.context)


@router.post("/{name}/visits/{visit}/reward", response_model=Received, **allow(Role.SUBJECT))
def visit_reward(
    name: Name, visit: VisitId, body: Click, service: Here, caller: Asking, key: IdempotencyKey
) -> Response:
    """Whether they clicked. Of a visit the first time counts."""
    vendor = _vendor(service, caller, name)
    ticket = visiting.ticket_of(service, vendor, caller, visit)
    return reward_handlers.visit_clicked(service, vendor, caller, key, ticket, clicked=body.clicked)


@router.post(
    "/{name}/forwards",
    **allow_octets(
        Role.VENDOR,
        takes="A Forward, signed: a context that was randomised before it was sent.",
        gives="An Offer or a Refusal, signed.",
    ),
)
def forwards(
    name: Name,
    request: Request,
    forward: Octets,
    service: Here,
    caller: Asking,
    key: IdempotencyKey,
) -> Response:
    """A neighbour asks for a video for one of its users. It is never passed on to a third."""
    vendor = _vendor(service, caller, name)
    reward_handlers.check(request, vendor, caller, forward)
    return reward_handlers.forwarded(service, vendor, caller, key, forward)


def _vendor(service: Service, caller: Caller, name: str) -> ServedVendor:
    found = service.deployment.all(ServedVendor).get(name)
    if found is None or caller.tenant != found.tenant:
        raise Problem(404, "There is nothing at this address.")
    return found
