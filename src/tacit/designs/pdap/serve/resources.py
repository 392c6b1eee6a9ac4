"""Vendors: visits and what came of them, and what vendors send one another.

What came of a visit, and what vendors send one another: once each, also if they are repeated.

A nonce is the Idempotency-Key of its release: one that comes again gets the bytes that are stored,
for as long as there is a ledger, and nothing is done a second time.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tacit.designs.pdap.messages import Forward, MessageError
from tacit.designs.pdap.serve import visits as visiting
from tacit.designs.pdap.serve.served import ServedVendor
from tacit.designs.pdap.serve.settings import MOST_FEATURES
from tacit.designs.pdap.serve.signatures import NotSigned, check_request, sign_answer
from tacit.designs.pdap.serve.state import VendorState
from tacit.service.access import (
    Asking,
    Here,
    IdempotencyKey,
    Octets,
    Operation,
    allow,
    allow_octets,
)
from tacit.service.deployment import Service
from tacit.service.idempotency import OCTETS, Reply, reply
from tacit.service.keys import NAME, Caller, Role
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, prefix="/api/vendors", tags=["vendors"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$", max_length=64)]
VisitId = Annotated[
    str,
    Path(pattern=r"^[0-9a-f]{96}$", max_length=96),
]


RECEIVED = {"received": True}
"""Whether it was used is not reported: that depends on what others did."""


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
async def visit_reward(
    name: Name, visit: VisitId, body: Click, service: Here, caller: Asking, key: IdempotencyKey
) -> Response:
    """Whether they clicked. Of a visit the first time counts."""
    vendor = _vendor(service, caller, name)
    ticket = visiting.ticket_of(service, vendor, caller, visit)

    def take(desk: VendorState) -> Reply:
        desk.clicked(ticket, float(body.clicked))
        return reply(RECEIVED)

    payload = f"{ticket} {int(body.clicked)}".encode()
    operation = "POST /api/vendors/visits/reward"
    return await vendor.step(service, caller, operation, key, payload, take)


@router.post(
    "/{name}/forwards",
    **allow_octets(
        Role.VENDOR,
        takes="A Forward, signed: a context that was randomised before it was sent.",
        gives="An Offer or a Refusal, signed.",
    ),
)
async def forwards(
    name: Name,
    request: Request,
    forward: Octets,
    service: Here,
    caller: Asking,
    key: IdempotencyKey,
) -> Response:
    """A neighbour asks for a video for one of its users. It is never passed on to a third."""
    vendor = _vendor(service, caller, name)
    _check(request, vendor, caller, forward)
    _check_number(forward, key)

    def take(desk: VendorState) -> Reply:
        return Reply(200, OCTETS, desk.vendor.serve(caller.name, forward))

    made = await vendor.step(service, caller, "POST /api/vendors/forwards", key, forward, take)
    return _signed(vendor, caller, key, made)


def _vendor(service: Service, caller: Caller, name: str) -> ServedVendor:
    found = service.deployment.all(ServedVendor).get(name)
    if found is None or caller.tenant != found.tenant:
        raise Problem(404, "There is nothing at this address.")
    return found


def _check(request: Request, vendor: ServedVendor, caller: Caller, body: bytes) -> None:
    """Problem 401 unless it is signed by the neighbour whose key this is, for this vendor, now."""
    if vendor.calls is None:
        raise _unsigned()
    try:
        sender, _ = check_request(
            [
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in request.headers.raw
            ],
            senders={name: peer.public_key for name, peer in vendor.neighbours.items()},
            audience=vendor.calls.audience,
            path=request.url.path,
            body=body,
            now=time.time(),
        )
    except NotSigned:
        sender = None
    if sender is None or sender != caller.name:
        raise _unsigned()


def _unsigned() -> Problem:
    return Problem(401, "This is not signed as messages of a neighbour have to be.")


def _check_number(body: bytes, key: str) -> None:
    """A message is sent under its own number, so that no number is ever used for two."""
    try:
        message = Forward.decode(body)
    except MessageError:
        raise Problem(422, "This is no message of this kind.") from None
    if message.request.hex() != key:
        raise Problem(422, "A message is sent with its own number as Idempotency-Key.")


def _signed(vendor: ServedVendor, caller: Caller, nonce: str, answer: Response) -> Response:
    if answer.status_code == 200 and vendor.calls is not None:
        answer.headers.update(
            sign_answer(
                vendor.calls.key,
                sender=vendor.name,
                audience=vendor.neighbours[caller.name].audience,
                status=200,
                body=bytes(answer.body),
                nonce=nonce,
                now=time.time(),
            )
        )
    return answer
