"""What happens at a visit, and between vendors: in which order things are paid, fixed and told.

Visit    1. in one transaction, own video or neighbour, charged what is learned of it;
         2. for a neighbour, in another one, charged what forwarding tells: the bytes that leave;
         3. the call, outside of any transaction;
         4. in a third one, what is shown: the offer, or an own video instead.
         All have the visitor's Idempotency-Key. Whoever retries goes through what is stored: the
         same neighbour, the same bytes to it, and once step 4 is stored its answer, whatever the
         neighbour says by then.
Budget   Who has nothing left is served from what others taught, and is not learned. When that is
         depends on her own visits alone: how many there were, and how many were forwarded.
Name     Of a visit: its ticket, encrypted for the one who visited. It is stored with the answer for
         as long as the ledger is, and the ticket's cell says where her context was.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from anyio import to_thread
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from fastapi import Request, Response

from tacit.designs.pdap.messages import Forward, MessageError, Offer
from tacit.ledger import BudgetExhausted
from tacit.randomness import Source
from tacit.service import replies
from tacit.service.access import outside
from tacit.service.keys import Caller
from tacit.service.problems import Problem
from tacit.service.replies import OCTETS, Reply, reply
from tacit.service.running import Service
from tacit.service.strict_json import Refused, check_text
from tacit.service.vendors.desk import UNLEARNED, Desk, Ticket
from tacit.service.vendors.served import ServedVendor

VISIT = "POST /api/vendors/visits"
_ASKS = 202
"""Of an answer that is stored between the steps and never leaves."""
_TICKET = struct.Struct(">4Q")
_SHOWN_WITHIN = 0.9
"""Seconds that are left to step 4: a busy ledger shortens the call, not the answer."""


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
    told = _Visitor(service, vendor, caller, key, context)
    reached = () if vendor.reach is None else vendor.reach.now()
    begun = await to_thread.run_sync(told.begin, reached)
    if begun.status_code != _ASKS:
        return begun
    asks = json.loads(bytes(begun.body))
    peer = vendor.neighbours.get(asks["peer"])
    forward = None if peer is None else await to_thread.run_sync(told.forward)
    answer = None
    if vendor.calls is not None and peer is not None and forward is not None:
        nonce, left = Forward.decode(forward).request.hex(), max(0.0, latest - time.monotonic())
        async with outside(request):
            answer = await vendor.calls.ask(peer, forward, nonce, within=left)
    return await to_thread.run_sync(told.finish, asks, forward, answer)


class _Visitor:
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
        self._payload = vendor.name.encode() + b"\x00" + self._context.astype("<f8").tobytes()

    def begin(self, reached: Sequence[str]) -> Response:
        """Step 1, or all there is for somebody whose budget is spent."""
        vendor, user = self._vendor, self._caller.name

        def learned(desk: Desk) -> Reply:
            begun = desk.begin(self._context, reached)
            if begun.peer is not None:
                return reply({"number": begun.ticket.number, "peer": begun.peer}, _ASKS)
            assert begun.video is not None
            return self._shown(begun.ticket, begun.video)

        def unlearned(desk: Desk) -> Reply:
            return self._shown(UNLEARNED, desk.unlearned(self._context))

        try:
            return self._step(VISIT, learned, charges=vendor.learning(user))
        except BudgetExhausted:
            return self._step(f"{VISIT}/unlearned", unlearned)

    def forward(self) -> bytes | None:
        """Step 2: spent, and fixed, before it leaves. None: her budget does not cover it."""

        def draw(_: Source) -> Reply:
            message = self._vendor.settings.forwarder().forward(self._context)
            assert message is not None
            return Reply(200, OCTETS, message.encode())

        try:
            fixed = replies.once(
                self._service,
                self._caller,
                f"{VISIT}/forward",
                self._key,
                self._payload,
                charges=self._vendor.asking(self._caller.name),
                draw=draw,
            )
        except BudgetExhausted:
            return None
        return bytes(fixed.body)

    def finish(self, asks: Any, forward: bytes | None, answer: bytes | None) -> Response:
        """Step 4."""
        offer = _presentable(answer)

        def take(desk: Desk) -> Reply:
            shown = desk.finish(asks["number"], self._context, forward, offer)
            if not shown.theirs or forward is None:
                return self._shown(shown.ticket, shown.video)
            request = Forward.decode(forward).request.hex()
            return self._shown(shown.ticket, shown.video, asks["peer"], request)

        return self._step(f"{VISIT}/shown", take, paid=True)

    def _step(
        self,
        operation: str,
        take: Callable[[Desk], Reply],
        *,
        charges: Sequence[Any] = (),
        paid: bool = False,
    ) -> Response:
        return replies.step(
            self._service,
            self._caller,
            operation,
            self._key,
            self._payload,
            state=self._vendor.state,
            charges=charges,
            take=self._vendor.keeper.step(take),
            paid=paid,
        )

    def _shown(
        self, ticket: Ticket, video: str, peer: str | None = None, request: str | None = None
    ) -> Reply:
        return reply(
            {
                "visit": visit_id(self._service, self._vendor, self._caller, ticket),
                "video": video,
                "source": "own" if peer is None else "neighbour",
                "vendor": self._vendor.name if peer is None else peer,
                "reference": request,
            }
        )


def visit_id(service: Service, vendor: ServedVendor, caller: Caller, ticket: Ticket) -> str:
    """A visit's name for the one who visited: nobody else can make, change or read it."""
    told = _TICKET.pack(ticket.number, ticket.turn, ticket.arm, ticket.cell)
    return _cipher(service, vendor).encrypt(told, [caller.name.encode()]).hex()


def ticket_of(service: Service, vendor: ServedVendor, caller: Caller, visit: str) -> Ticket:
    """One's own visit; of another's there is nothing at the address."""
    try:
        told = _cipher(service, vendor).decrypt(bytes.fromhex(visit), [caller.name.encode()])
    except InvalidTag:
        raise Problem(404, "There is nothing at this address.") from None
    return Ticket(*_TICKET.unpack(told))


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
