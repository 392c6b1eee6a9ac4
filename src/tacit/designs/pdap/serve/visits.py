"""HTTP resources of vendors: visits, rewards, and requests of other vendors.

Visit    1. in one transaction, charged for what is learned and forwarded: own video or a
         neighbour's offer, and the bytes that leave;
         2. the calls, outside of any transaction: the same bytes to all neighbours that can be
         asked, whatever was chosen, at the same moment and each to its end;
         3. where an offer is to be shown, in another transaction: the offer, or an own video.
         All have the visitor's Idempotency-Key. A retry repeats what is stored: the same
         neighbours, the same bytes, and once step 3 is stored its answer.
Asking   Which neighbours are asked follows from public time, from questions of the service's own
         and from noisy sums that are paid for; never from the context.
Budget   A person without budget is served from what was learned from others, is not learned from
         and is not forwarded. When that is depends on how many visits of theirs there were.
Name     Of a visit: its ticket, encrypted for the visitor, because it holds their context. It is
         stored with the answer for as long as the ledger is.
Once     A nonce is the Idempotency-Key of its release: one that comes again gets the stored bytes,
         for as long as there is a ledger, and nothing is done a second time.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from fastapi import APIRouter, Path, Request, Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from tacit.designs.pdap.messages import Forward, MessageError, Offer
from tacit.designs.pdap.serve.served_vendor import ServedVendor
from tacit.designs.pdap.serve.settings import MOST_FEATURES
from tacit.designs.pdap.serve.signatures import SignatureError
from tacit.designs.pdap.serve.state import Ticket, VendorState
from tacit.designs.pdap.vendor import Visit
from tacit.ledger import BudgetExhausted
from tacit.service import access
from tacit.service.access import (
    BodyBytes,
    CurrentCaller,
    CurrentService,
    IdempotencyKey,
    allow,
    allow_bytes,
)
from tacit.service.http_bodies import OCTETS
from tacit.service.idempotency import Reply, reply
from tacit.service.keys import NAME, Caller, Role
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.service import Service
from tacit.service.strict_json import RefusedContent, check_text

VISIT = "POST /api/vendors/visits"
_ASKS = 202
"""Status of an answer that is stored between the steps and never leaves."""
_TICKET = struct.Struct(">3Q")
_SHOWN_WITHIN = 0.9
"""Seconds that are left to step 3: a busy ledger shortens the call, not the answer."""

router = APIRouter(route_class=Operation, prefix="/api/vendors", tags=["vendors"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$", max_length=64)]
VisitId = Annotated[str, Path(pattern=r"^([0-9a-f]{2}){42,72}$", max_length=144)]
Feature = Annotated[float, Field(ge=0, le=1)]


class Body(BaseModel):
    """Nothing but what is named."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Context(Body):
    """The context of a visitor: as many features as the vendor has."""

    context: Annotated[list[Feature], Field(min_length=1, max_length=MOST_FEATURES)]


class Click(Body):
    """Whether a visit's video was clicked."""

    clicked: bool


class Shown(Body):
    """A video to show.

    Attributes:
        visit: its name, for the reward.
        video: its name at its vendor.
        source: whether it is an own one or a neighbour's.
        vendor: whose video it is.
    """

    visit: str
    video: str
    source: Literal["own", "neighbour"]
    vendor: str


class Described(Body):
    """A vendor as everybody may know it.

    Attributes:
        name: of the vendor.
        features: numbers of a visit's context.
        epsilon: of one visit in all, learned and forwarded: what a budget is charged.
        lifetime: the epsilon of one person's visits together.
        neighbours: by name.
        forward_epsilon: the part of it that is for the forwarded context; null without neighbours.
    """

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
    """Receipt of a reward: the same whatever was made of it."""

    received: Literal[True]


@router.get("", response_model=Vendors, **allow(Role.ANONYMOUS))
def vendors(service: CurrentService) -> dict[str, Any]:
    """The vendors that are served here."""
    served = service.deployment.find_all(ServedVendor).values()
    return {"vendors": [vendor.describe() for vendor in served]}


@router.post("/{name}/visits", response_model=Shown, **allow(Role.SUBJECT))
async def visits(
    name: Name,
    body: Context,
    request: Request,
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
) -> Response:
    """A video for one visit, the vendor's own or a neighbour's."""
    vendor = find_vendor(service, caller, name)
    if len(body.context) != vendor.settings.features:
        raise Problem(422, "A context has as many features as GET /api/vendors says.")
    context = np.array(body.context, dtype=np.float64)
    return await Visitor(service, vendor, caller, key, context).visit(request)


@router.post("/{name}/visits/{visit}/reward", response_model=Received, **allow(Role.SUBJECT))
async def visit_reward(
    name: Name,
    visit: VisitId,
    body: Click,
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
) -> Response:
    """Whether they clicked. Of a visit the first time counts."""
    vendor = find_vendor(service, caller, name)
    ticket = ticket_of(service, vendor, caller, visit)

    def take(state: VendorState) -> Reply:
        state.observe_click(ticket, float(body.clicked))
        return reply({"received": True})  # whether it was used depends on what others did

    payload = f"{ticket} {int(body.clicked)}".encode()
    return await vendor.step(service, caller, f"{VISIT}/reward", key, payload, take)


@router.post(
    "/{name}/forwards",
    **allow_bytes(
        Role.VENDOR,
        request="A Forward, signed: a context that was randomised before it was sent.",
        response="An Offer or a Refusal, signed.",
    ),
)
async def forwards(
    name: Name,
    request: Request,
    forward: BodyBytes,
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
) -> Response:
    """A neighbour asks for a video for one of its users. It is never passed on to a third."""
    vendor = find_vendor(service, caller, name)
    _check(request, vendor, caller, forward, key)

    def take(state: VendorState) -> Reply:
        return Reply(200, OCTETS, state.vendor.serve(caller.name, forward))

    made = await vendor.step(service, caller, "POST /api/vendors/forwards", key, forward, take)
    return _sign_answer(vendor, caller, key, made)


def find_vendor(service: Service, caller: Caller, name: str) -> ServedVendor:
    """Find the caller's vendor of this name; Problem of status 404 if there is none."""
    vendor = service.deployment.find_all(ServedVendor).get(name)
    if vendor is None or caller.tenant != vendor.tenant:
        raise Problem(404, "There is nothing at this address.")
    return vendor


def _check(request: Request, vendor: ServedVendor, caller: Caller, body: bytes, key: str) -> None:
    """Refuse a Forward that the calling neighbour did not sign for this vendor, now.

    A message is sent under its own number, so that no number is ever used for two.

    Args:
        request: the POST, with its headers.
        vendor: that it was sent to.
        caller: the neighbour whose API key it came with.
        body: the content, which has to be an encoded Forward.
        key: its Idempotency-Key.

    Raises:
        Problem: 401 for another signature or none; 422 for content that is no Forward, or whose
            number is not the key.
    """
    sender, peers, path = None, vendor.neighbours.values(), request.url.path
    headers = [(name.decode("latin-1"), v.decode("latin-1")) for name, v in request.headers.raw]
    if vendor.reach is not None:
        with suppress(SignatureError):
            sender = vendor.reach.calls.sender_of(headers, peers, path=path, body=body)
    if sender != caller.name:
        raise Problem(401, "This is not signed as messages of a neighbour have to be.")
    try:
        message = Forward.decode(body)
    except MessageError:
        raise Problem(422, "This is no message of this kind.") from None
    if message.request.hex() != key:
        raise Problem(422, "A message is sent with its own number as Idempotency-Key.")


def _sign_answer(vendor: ServedVendor, caller: Caller, nonce: str, answer: Response) -> Response:
    if answer.status_code == 200 and vendor.reach is not None:
        peer, body = vendor.neighbours[caller.name], bytes(answer.body)
        headers = vendor.reach.calls.sign(peer, status=200, body=body, nonce=nonce)
        answer.headers.update(headers)
    return answer


@dataclass(frozen=True)
class Visitor:
    """One request for a video. context: (features,) in [0, 1]."""

    service: Service
    vendor: ServedVendor
    caller: Caller
    key: str
    context: NDArray[np.float64]

    async def visit(self, request: Request) -> Response:
        """A video. Waiting for a neighbour holds no thread and no place."""
        latest = time.monotonic() + self.service.settings.answer_within - _SHOWN_WITHIN
        reach = self.vendor.reach
        begun = await self.begin(() if reach is None else reach.peers_up())
        if begun.status_code != _ASKS:
            return begun
        asks = json.loads(bytes(begun.body))
        calls = self._ask(asks, max(0.0, latest - time.monotonic()))
        if asks["shown"] is not None:
            return reply(asks["shown"]).response(
                is_repeated="idempotency-replayed" in begun.headers
            )
        answer = None
        if asks["peer"] in calls:
            async with access.release_place(request):
                answer = await asyncio.shield(calls[asks["peer"]])
        return await self.finish(asks, answer)

    async def begin(self, reached: Sequence[str]) -> Response:
        """Step 1, or all there is for a person whose budget is spent."""

        def learn_visit(state: VendorState) -> Reply:
            begun = state.begin(self.context, reached)
            shown = None if begun.video is None else self._answer_of(begun)
            if begun.forward is None:
                return reply(shown)
            asks = {"number": begun.number, "peer": begun.peer, "asks": begun.asks}
            return reply({**asks, "forward": begun.forward.hex(), "shown": shown}, _ASKS)

        def choose_without_learning(state: VendorState) -> Reply:
            return reply(self._answer_of(state.choose_without_learning(self.context)))

        charges = self.vendor.charges(self.caller.name, asks=bool(reached))
        try:
            return await self._step(VISIT, learn_visit, charges=charges)
        except BudgetExhausted:
            return await self._step(f"{VISIT}/unlearned", choose_without_learning)

    def _ask(self, asks: Any, within: float) -> dict[str, asyncio.Task[bytes | None]]:
        """Step 2, of those that are neighbours still."""
        if (reach := self.vendor.reach) is None:
            return {}
        forward = bytes.fromhex(asks["forward"])
        peers = [self.vendor.neighbours.get(name) for name in asks["asks"]]
        return {peer.name: reach.calls.ask(peer, forward, within=within) for peer in peers if peer}

    async def finish(self, asks: Any, answer: bytes | None) -> Response:
        """Step 3."""
        offer = _presentable(answer)

        def take(state: VendorState) -> Reply:
            return reply(self._answer_of(state.finish(asks["number"], self.context, offer)))

        return await self._step(f"{VISIT}/shown", take, prepaid=True)

    async def _step(
        self, operation: str, take: Callable[[VendorState], Reply], **more: Any
    ) -> Response:
        context = self.context.astype("<f8").tobytes()
        return await self.vendor.step(
            self.service, self.caller, operation, self.key, context, take, **more
        )

    def _answer_of(self, shown: Visit) -> dict[str, str | None]:
        return {
            "visit": visit_id(self.service, self.vendor, self.caller, Ticket.from_visit(shown)),
            "video": shown.video,
            "source": "own" if shown.peer is None else "neighbour",
            "vendor": shown.peer or self.vendor.name,
        }


def visit_id(service: Service, vendor: ServedVendor, caller: Caller, ticket: Ticket) -> str:
    """A visit's name for the one who visited: nobody else can make, change or read it."""
    content = _TICKET.pack(ticket.number, ticket.turn, ticket.arm)
    content += np.array(ticket.steps, dtype=">u2").tobytes()
    return _cipher(service, vendor).encrypt(content, [caller.name.encode()]).hex()


def ticket_of(service: Service, vendor: ServedVendor, caller: Caller, visit: str) -> Ticket:
    """One's own visit; of another's there is nothing at the address."""
    try:
        content = _cipher(service, vendor).decrypt(bytes.fromhex(visit), [caller.name.encode()])
    except InvalidTag:
        raise Problem(404, "There is nothing at this address.") from None
    number, turn, arm = _TICKET.unpack_from(content)
    steps = np.frombuffer(content, ">u2", offset=_TICKET.size)
    return Ticket(number, turn, arm, tuple(steps.tolist()))


def _cipher(service: Service, vendor: ServedVendor) -> AESSIV:
    """The cipher of visits' names: deterministic, so that a retry gives the same bytes."""
    return AESSIV(service.keys.digest("visits", vendor.name.encode()))


def _presentable(answer: bytes | None) -> bytes | None:
    """Return an offer whose video has a name that a page can show, and None for any other."""
    with suppress(MessageError, RefusedContent):
        check_text(Offer.decode(answer or b"").video)
        return answer
    return None
