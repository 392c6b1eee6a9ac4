"""HTTP resources of vendors: visits, rewards, and requests of other vendors.

Visit    1. A transaction charges for learning and forwarding, chooses an own video or a neighbour
         whose offer is to be shown, and writes the message to neighbours.
         2. Outside of any transaction, the same bytes are sent at the same time to all neighbours
         that can be asked, whatever was chosen; each call runs to its end.
         3. Once all calls have ended, another transaction takes the offer, or chooses an own video
         if there is none to show. If an own video was chosen in step 1, the visitor has it
         already, and the transaction stores the same state again. Step 3 is a task of its own in
         both cases; the request for a neighbour's offer only waits for it.
         All steps have the visitor's Idempotency-Key. A retry repeats what is stored: the same
         neighbours, the same bytes, and, once step 3 is stored, its answer.
Sending  A process sends the bytes of a visit once, and only while the visit is younger than
         KEPT_SECONDS. A retry waits for the first calls, or gets their results. So neither
         retries nor their number reach a neighbour, and no visitor can use up, with one visit
         that was charged once, what a neighbour lets this vendor ask.
Log      The ledger's log names the person and the operation of each transaction, and may be given
         to others. Step 3 has an entry for every visit that is forwarded, so that the log does not
         tell at which visits a neighbour was chosen: this follows from the context.
Asking   Which neighbours are asked depends on public time, on the service's own checks of whether
         they are ready, and on noisy sums that are charged for; never on the context.
Budget   When a person's budget is spent, videos are chosen from what was learned before, and the
         visits are neither learned nor forwarded. When this happens depends on the number of their
         visits and on how often neighbours could be asked, not on contexts or clicks.
Name     The name of a visit is its ticket, encrypted because it holds the visitor's context. Only
         the service can read it, and accepts it from this visitor alone. It is stored with the
         answer for as long as the ledger exists.
Once     A request of another vendor has its nonce as Idempotency-Key. If the request comes again,
         it gets the stored bytes, for as long as the ledger exists, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import time
from collections.abc import Callable, Mapping, Sequence
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
from tacit.designs.pdap.serve.recent_tasks import KEPT_SECONDS
from tacit.designs.pdap.serve.served_vendor import ServedVendor
from tacit.designs.pdap.serve.settings import MOST_FEATURES
from tacit.designs.pdap.serve.signatures import SignatureError
from tacit.designs.pdap.serve.state import Ticket, VendorState
from tacit.designs.pdap.vendor import Visit
from tacit.errors import TacitError
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
from tacit.service.commits import REQUEST_DEADLINE
from tacit.service.http_bodies import JSON, OCTETS
from tacit.service.idempotency import Reply, reply
from tacit.service.keys import NAME, Caller, Role
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.service import Service
from tacit.service.strict_json import RefusedContent, check_text

VISIT = "POST /api/vendors/visits"
_UNFINISHED = 202
"""Status of the answer of step 1 that is stored for steps 2 and 3, and never sent to a visitor."""
_TICKET = struct.Struct(">3Q")
"""`number`, `learner_visit` and `arm` of a ticket; the context follows, two bytes per feature."""
_SECONDS_OF_STEP_3 = 0.9
"""Seconds reserved for step 3. If step 1 takes long, the calls to neighbours get less time."""

router = APIRouter(route_class=Operation, prefix="/api/vendors", tags=["vendors"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$", max_length=64)]
VisitId = Annotated[str, Path(pattern=r"^([0-9a-f]{2}){42,72}$", max_length=144)]
"""Name of a visit in hexadecimal: 16 bytes of the cipher, 24 of `_TICKET`, 2 for each feature."""
Feature = Annotated[float, Field(ge=0, le=1)]


class Body(BaseModel):
    """A JSON object with the named fields and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Context(Body):
    """The context of a visitor: as many features as the vendor has."""

    context: Annotated[list[Feature], Field(min_length=1, max_length=MOST_FEATURES)]


class Click(Body):
    """Whether the video of a visit was clicked."""

    clicked: bool


class Shown(Body):
    """A video to show.

    Attributes:
        visit: name of the visit, with which the reward is sent.
        video: name of the video at its vendor.
        source: "own" for an own video, "neighbour" for a neighbour's.
        vendor: name of the video's vendor.
    """

    visit: str
    video: str
    source: Literal["own", "neighbour"]
    vendor: str


class Described(Body):
    """Public facts about a vendor.

    Attributes:
        name: of the vendor.
        features: how many numbers the context of a visit has.
        epsilon: of one visit that is learned and, if there are neighbours, forwarded; a person's
            budget is charged this number.
        lifetime: the epsilon of all visits of one person.
        neighbours: names of the neighbours.
        forward_epsilon: the part of `epsilon` for the forwarded context; null without neighbours.
    """

    name: str
    features: int
    epsilon: float
    lifetime: float
    neighbours: list[str]
    forward_epsilon: float | None


class Vendors(Body):
    """All vendors that are served here."""

    vendors: list[Described]


class Received(Body):
    """Receipt of a reward. It does not tell whether the reward was learned."""

    received: Literal[True]


@router.get("", response_model=Vendors, **allow(Role.ANONYMOUS))
def vendors(service: CurrentService) -> dict[str, Any]:
    """List the vendors that are served here."""
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
    """Choose a video for one visit, the vendor's own or a neighbour's."""
    vendor = find_vendor(service, caller, name)
    if len(body.context) != vendor.settings.features:
        raise Problem(422, "A context has as many features as GET /api/vendors says.")
    context = np.array(body.context, dtype=np.float64)
    return await VisitRequest(service, vendor, caller, key, context).answer(request)


@router.post("/{name}/visits/{visit}/reward", response_model=Received, **allow(Role.SUBJECT))
async def visit_reward(
    name: Name,
    visit: VisitId,
    body: Click,
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
) -> Response:
    """Tell whether the visitor clicked. Only the first report of a visit is learned."""
    vendor = find_vendor(service, caller, name)
    ticket = ticket_of(service, vendor, caller, visit)

    def learn_click(state: VendorState) -> Reply:
        state.observe_click(ticket, float(body.clicked))
        return reply({"received": True})  # whether it was learned may depend on other visits

    # The ledger stores the digest of these bytes to recognise a retry, so they never change: "turn"
    # is `learner_visit`.
    ticket_text = f"Ticket(number={ticket.number}, turn={ticket.learner_visit}, arm={ticket.arm})"
    payload = f"{ticket_text} {int(body.clicked)}".encode()
    return await vendor.run_transaction(
        service, caller, f"{VISIT}/reward", key, payload, learn_click
    )


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
    """Offer a video for a user of a neighbour. The request is never passed on to other vendors."""
    vendor = find_vendor(service, caller, name)
    _check_forward(request, vendor, caller, forward, key)

    def offer_video(state: VendorState) -> Reply:
        return Reply(200, OCTETS, state.vendor.serve(caller.name, forward))

    operation = "POST /api/vendors/forwards"
    answer = await vendor.run_transaction(service, caller, operation, key, forward, offer_video)
    return _sign_answer(vendor, caller, key, answer)


def find_vendor(service: Service, caller: Caller, name: str) -> ServedVendor:
    """Find the vendor of this name in the caller's tenant; Problem 404 if there is none."""
    vendor = service.deployment.find_all(ServedVendor).get(name)
    if vendor is None or caller.tenant != vendor.tenant:
        raise Problem(404, "There is nothing at this address.")
    return vendor


def _check_forward(
    request: Request, vendor: ServedVendor, caller: Caller, body: bytes, key: str
) -> None:
    """Refuse a Forward unless the calling neighbour signed it for this vendor a short time ago.

    The number of the message must be the Idempotency-Key, so that each number is used only once.

    Args:
        request: the POST, with its headers.
        vendor: that it was sent to.
        caller: the neighbour whose API key it came with.
        body: the content, which must be an encoded Forward.
        key: the Idempotency-Key.

    Raises:
        Problem: 401 if the caller's signature is missing or not valid; 422 if the content is not a
            Forward, or its number is not the key.
    """
    headers: list[tuple[str, str]] = []
    for name, value in request.headers.raw:
        headers.append((name.decode("latin-1"), value.decode("latin-1")))
    sender = None
    if vendor.reach is not None:
        with suppress(SignatureError):
            sender = vendor.reach.calls.sender_of(
                headers, vendor.neighbours.values(), path=request.url.path, body=body
            )
    if sender != caller.name:
        raise Problem(401, "This is not signed as a neighbour's messages must be.")
    try:
        message = Forward.decode(body)
    except MessageError:
        raise Problem(422, "This is not a message of this kind.") from None
    if message.request.hex() != key:
        raise Problem(422, "A message is sent with its own number as Idempotency-Key.")


def _sign_answer(vendor: ServedVendor, caller: Caller, nonce: str, answer: Response) -> Response:
    """Add signature headers to an answer of status 200; other answers stay unsigned.

    Args:
        vendor: that answers.
        caller: the neighbour that asked.
        nonce: of its request.
        answer: changed in place, and returned.
    """
    if answer.status_code == 200 and vendor.reach is not None:
        neighbour = vendor.neighbours[caller.name]
        body = bytes(answer.body)
        headers = vendor.reach.calls.sign(neighbour, status=200, body=body, nonce=nonce)
        answer.headers.update(headers)
    return answer


@dataclass(frozen=True)
class VisitRequest:
    """A visitor's request for a video, answered in the three steps of the module's docstring.

    Attributes:
        service: that received the request.
        vendor: that is visited.
        caller: the visitor.
        key: the Idempotency-Key.
        context: (features,) in [0, 1].
    """

    service: Service
    vendor: ServedVendor
    caller: Caller
    key: str
    context: NDArray[np.float64]

    async def answer(self, request: Request) -> Response:
        """Run all steps, and return the answer to the visitor.

        While a neighbour is awaited, the request occupies no thread and no place among the requests
        that are served at the same time.

        Args:
            request: the visitor's HTTP request.
        """
        answer_within = self.service.settings.answer_within
        calls_end = time.monotonic() + answer_within - _SECONDS_OF_STEP_3
        reach = self.vendor.reach
        first_answer = await self.begin(() if reach is None else reach.peers_up())
        if first_answer.status_code != _UNFINISHED:
            return first_answer
        next_steps = json.loads(bytes(first_answer.body))  # what `begin` stored for steps 2 and 3
        calls = self._ask(next_steps, max(0.0, calls_end - time.monotonic()))
        is_repeated = "idempotency-replayed" in first_answer.headers
        finishing = self._finish_once(next_steps, calls)
        if next_steps["shown"] is not None:
            return reply(next_steps["shown"]).response(is_repeated=is_repeated)
        async with access.release_place(request):
            await asyncio.wait([finishing])
        finished = finishing.result()
        assert finished is not None  # it is None only if an own video was chosen in step 1
        answer = Reply(finished.status_code, finished.media_type or JSON, bytes(finished.body))
        return answer.response(is_repeated=is_repeated)

    async def begin(self, reachable: Sequence[str]) -> Response:
        """Run step 1. If the person's budget is spent, answer without learning instead.

        Args:
            reachable: names of the neighbours that can be asked now.

        Returns:
            The final answer, or an answer of status _UNFINISHED with the data of steps 2 and 3.
        """

        def begin_visit(state: VendorState) -> Reply:
            visit = state.begin_visit(self.context, reachable)
            shown = None if visit.video is None else self._answer_of(visit)
            if visit.forward is None:
                return reply(shown)
            next_steps = {
                "number": visit.number,
                "peer": visit.peer,
                "asks": visit.peers_to_ask,
                "forward": visit.forward.hex(),
                "shown": shown,
                "began": int(time.time()),
            }
            return reply(next_steps, _UNFINISHED)

        def choose_without_learning(state: VendorState) -> Reply:
            return reply(self._answer_of(state.choose_without_learning(self.context)))

        charges = self.vendor.charges(self.caller.name, asks=bool(reachable))
        try:
            return await self._step(VISIT, begin_visit, charges=charges)
        except BudgetExhausted:
            return await self._step(f"{VISIT}/unlearned", choose_without_learning)

    def _ask(self, next_steps: Any, seconds: float) -> dict[str, asyncio.Task[bytes | None]]:
        """Run step 2: start calls to all neighbours that step 1 lists and that still exist.

        Calls of this visit that this process started before are returned, not repeated. Nothing is
        sent for a visit that began more than KEPT_SECONDS ago, or if there is no time for a call.

        Args:
            next_steps: the stored answer of step 1, a JSON object.
            seconds: after which each call is given up.

        Returns:
            The calls, by name of the neighbour.
        """
        reach = self.vendor.reach
        began = next_steps.get("began", 0)  # a step 1 of an earlier tacit did not store it
        if reach is None or time.time() - began > KEPT_SECONDS:
            return {}
        forward = bytes.fromhex(next_steps["forward"])
        calls: dict[str, asyncio.Task[bytes | None]] = {}
        for name in next_steps["asks"]:
            neighbour = self.vendor.neighbours.get(name)
            if neighbour is None:
                continue
            call = reach.calls.ask(neighbour, forward, seconds=seconds)
            if call is not None:
                calls[name] = call
        return calls

    def _finish_once(
        self, next_steps: Any, calls: Mapping[str, asyncio.Task[bytes | None]]
    ) -> asyncio.Task[Response | None]:
        """Start step 3, which runs once the calls have ended, or return the one that was started.

        It runs in the same way whatever was chosen in step 1: without the request's deadline and
        without its place. Otherwise the log of a busy service would lack the second entries of
        visits at which a neighbour was chosen, or have them later. A step 3 that fails is
        forgotten, so that a retry of the visitor tries it again.

        Args:
            next_steps: the stored answer of step 1, a JSON object.
            calls: of step 2.

        Returns:
            A task that ends with the answer of step 3; with None if step 3 failed for a visit whose
            own video the visitor has already.
        """
        recent = self.vendor.last_steps
        key = (self.caller.name, self.key)

        async def finish_after_calls() -> Response | None:
            REQUEST_DEADLINE.set(math.inf)  # for this task alone
            if calls:
                await asyncio.wait(calls.values())
            peer = next_steps["peer"]
            offer = calls[peer].result() if peer in calls else None
            try:
                return await self.finish(next_steps, offer)
            except (Problem, TacitError):
                recent.forget(key)
                if next_steps["shown"] is None:
                    raise
                return None  # nobody waits for it
            except BaseException:
                recent.forget(key)
                raise

        return recent.run_once(key, finish_after_calls)

    async def finish(self, next_steps: Any, answer: bytes | None) -> Response:
        """Run step 3: show the neighbour's offer, or an own video.

        The state is stored in any case, so that the log's entry is of the same form at each visit.

        Args:
            next_steps: the stored answer of step 1, a JSON object.
            answer: the neighbour's, in bytes; None if nothing came in time.
        """
        offer = _keep_valid_offer(answer)

        def finish_visit(state: VendorState) -> Reply:
            if next_steps["shown"] is not None:
                return reply(next_steps["shown"])
            visit = state.finish_visit(next_steps["number"], self.context, offer)
            return reply(self._answer_of(visit))

        return await self._step(f"{VISIT}/shown", finish_visit, stores_unchanged=True, prepaid=True)

    async def _step(
        self, operation: str, change_state: Callable[[VendorState], Reply], **options: Any
    ) -> Response:
        """Run one transaction for this request; args as in `ServedVendor.run_transaction`."""
        context = self.context.astype("<f8").tobytes()
        return await self.vendor.run_transaction(
            self.service, self.caller, operation, self.key, context, change_state, **options
        )

    def _answer_of(self, visit: Visit) -> dict[str, str | None]:
        """Return the fields of `Shown` for a visit whose video is chosen."""
        ticket = Ticket.from_visit(visit)
        return {
            "visit": visit_id(self.service, self.vendor, self.caller, ticket),
            "video": visit.video,
            "source": "own" if visit.peer is None else "neighbour",
            "vendor": self.vendor.name if visit.peer is None else visit.peer,
        }


def visit_id(service: Service, vendor: ServedVendor, caller: Caller, ticket: Ticket) -> str:
    """Encrypt a ticket as the name of the visit; only the service can make, change or read it."""
    content = _TICKET.pack(ticket.number, ticket.learner_visit, ticket.arm)
    content += np.array(ticket.steps, dtype=">u2").tobytes()
    return _cipher(service, vendor).encrypt(content, [caller.name.encode()]).hex()


def ticket_of(service: Service, vendor: ServedVendor, caller: Caller, visit: str) -> Ticket:
    """Decrypt the name of a visit of the caller.

    Raises:
        Problem: 404 if this is not the name of a visit of the caller at this vendor.
    """
    try:
        content = _cipher(service, vendor).decrypt(bytes.fromhex(visit), [caller.name.encode()])
    except InvalidTag:
        raise Problem(404, "There is nothing at this address.") from None
    number, learner_visit, arm = _TICKET.unpack_from(content)
    steps = np.frombuffer(content, ">u2", offset=_TICKET.size)
    return Ticket(number, learner_visit, arm, tuple(steps.tolist()))


def _cipher(service: Service, vendor: ServedVendor) -> AESSIV:
    """Return the cipher for names of visits. It is deterministic: a retry gets the same name."""
    return AESSIV(service.keys.digest("visits", vendor.name.encode()))


def _keep_valid_offer(answer: bytes | None) -> bytes | None:
    """Return an answer if it is an offer of a video whose name a page can show; None otherwise."""
    if answer is None:
        return None
    with suppress(MessageError, RefusedContent):
        check_text(Offer.decode(answer).video)
        return answer
    return None
