"""What happens at a visit, and between vendors: in which order things are paid, fixed and answered.

Visit    1. in one transaction, charged what is learned and what forwarding tells: own video or a
         neighbour's offer, and the bytes that leave;
         2. the calls, outside of any transaction: the same bytes to all neighbours that can be
         asked, whatever was chosen, at the same moment and each to its end;
         3. where an offer is to be shown, in another transaction: the offer, or an own video.
         All have the visitor's Idempotency-Key. A retry goes through what is stored: the same
         neighbours, the same bytes, and once step 3 is stored its answer.
Asking   which neighbours are asked follows from public time, from questions of the service's own
         and from noisy sums that are paid for; never from the context.
Budget   A person without budget is served from what was learned from others, is not learned from
         and is not forwarded. When that is depends on how many visits of theirs there were.
Name     Of a visit: its ticket, encrypted for the one who visited. It is stored with the answer for
         as long as the ledger is, and the ticket's cell says where their context was.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from fastapi import Request, Response

from tacit.designs.pdap.messages import Forward, MessageError, Offer
from tacit.designs.pdap.serve.served import ServedVendor
from tacit.designs.pdap.serve.state import Shown, Ticket, VendorState
from tacit.ledger import BudgetExhausted
from tacit.service.access import outside
from tacit.service.deployment import Service
from tacit.service.http_bodies import Refused, check_text
from tacit.service.idempotency import Reply, reply
from tacit.service.keys import Caller
from tacit.service.problems import Problem

VISIT = "POST /api/vendors/visits"
_ASKS = 202
"""Of an answer that is stored between the steps and never leaves."""
_TICKET = struct.Struct(">4Q")
_SHOWN_WITHIN = 0.9
"""Seconds that are left to step 3: a busy ledger shortens the call, not the answer."""


async def visit(
    request: Request,
    service: Service,
    vendor: ServedVendor,
    caller: Caller,
    key: str,
    context: Sequence[float],
) -> Response:
    """A video for this context. Waiting for a neighbour holds no thread and no place."""
    latest = time.monotonic() + service.settings.answer_within - _SHOWN_WITHIN
    visiting = Visitor(service, vendor, caller, key, context)
    reached = () if vendor.reach is None else vendor.reach.now()
    begun = await visiting.begin(reached)
    if begun.status_code != _ASKS:
        return begun
    asks = json.loads(bytes(begun.body))
    calls = _asked(vendor, asks, max(0.0, latest - time.monotonic()))
    if asks["shown"] is not None:
        return reply(asks["shown"]).response(repeated="idempotency-replayed" in begun.headers)
    answer = None
    if asks["peer"] in calls:
        async with outside(request):
            answer = await asyncio.shield(calls[asks["peer"]])
    return await visiting.finish(asks, answer)


def _asked(vendor: ServedVendor, asks: Any, left: float) -> dict[str, asyncio.Task[bytes | None]]:
    """Step 2, of those that are neighbours still."""
    forward = bytes.fromhex(asks["forward"])
    nonce = Forward.decode(forward).request.hex()
    known = [(name, vendor.neighbours.get(name)) for name in asks["asks"]]
    return {
        name: vendor.calls.ask(peer, forward, nonce, within=left)
        for name, peer in known
        if peer is not None and vendor.calls is not None
    }


class Visitor:
    """One request for a video: the steps that are transactions."""

    def __init__(
        self,
        service: Service,
        vendor: ServedVendor,
        caller: Caller,
        key: str,
        context: Sequence[float],
    ) -> None:
        self._service, self._vendor, self._caller, self._key = service, vendor, caller, key
        self._context = np.array(context, dtype=np.float64)
        self._payload = self._context.astype("<f8").tobytes()

    async def begin(self, reached: Sequence[str]) -> Response:
        """Step 1, or all there is for a person whose budget is spent."""
        vendor, user = self._vendor, self._caller.name

        def learned(desk: VendorState) -> Reply:
            begun = desk.begin(self._context, reached)
            shown = None if begun.video is None else self._shown(begun)
            if begun.forward is None:
                return reply(shown)
            asks = {"number": begun.ticket.number, "peer": begun.peer, "asks": begun.asks}
            return reply({**asks, "forward": begun.forward.hex(), "shown": shown}, _ASKS)

        def unlearned(desk: VendorState) -> Reply:
            return reply(self._shown(desk.unlearned(self._context)))

        try:
            return await self._step(
                VISIT, learned, charges=vendor.charges(user, asks=bool(reached))
            )
        except BudgetExhausted:
            return await self._step(f"{VISIT}/unlearned", unlearned)

    async def finish(self, asks: Any, answer: bytes | None) -> Response:
        """Step 3."""
        offer = _presentable(answer)

        def take(desk: VendorState) -> Reply:
            return reply(self._shown(desk.finish(asks["number"], self._context, offer)))

        return await self._step(f"{VISIT}/shown", take, paid=True)

    async def _step(
        self, operation: str, take: Callable[[VendorState], Reply], **more: Any
    ) -> Response:
        made = (self._service, self._caller, operation, self._key, self._payload)
        return await self._vendor.step(*made, take, **more)

    def _shown(self, shown: Shown) -> dict[str, str | None]:
        return {
            "visit": visit_id(self._service, self._vendor, self._caller, shown.ticket),
            "video": shown.video,
            "source": "own" if shown.peer is None else "neighbour",
            "vendor": shown.peer or self._vendor.name,
        }


def visit_id(service: Service, vendor: ServedVendor, caller: Caller, ticket: Ticket) -> str:
    """A visit's name for the one who visited: nobody else can make, change or read it."""
    content = _TICKET.pack(ticket.number, ticket.turn, ticket.arm, ticket.cell)
    return _cipher(service, vendor).encrypt(content, [caller.name.encode()]).hex()


def ticket_of(service: Service, vendor: ServedVendor, caller: Caller, visit: str) -> Ticket:
    """One's own visit; of another's there is nothing at the address."""
    try:
        content = _cipher(service, vendor).decrypt(bytes.fromhex(visit), [caller.name.encode()])
    except InvalidTag:
        raise Problem(404, "There is nothing at this address.") from None
    return Ticket(*_TICKET.unpack(content))


def _cipher(service: Service, vendor: ServedVendor) -> AESSIV:
    """The same name each time, so that a retry stores and gives the same bytes."""
    return AESSIV(service.keys.digest("visits", vendor.name.encode()))


def _presentable(answer: bytes | None) -> bytes | None:
    """None for an offer whose video has a name that no page should have to show."""
    if answer is None:
        return None
    try:
        check_text(Offer.decode(answer).video)
    except (MessageError, Refused):
        return None
    return answer
