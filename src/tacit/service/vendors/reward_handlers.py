"""What came of a visit, and what vendors send one another: once each, also if they are repeated.

A nonce is the Idempotency-Key of its release: one that comes again gets the bytes that are stored,
for as long as there is a ledger, and nothing is done a second time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi import Request, Response

from tacit.designs.pdap.messages import Forward, MessageError
from tacit.service import idempotency
from tacit.service.idempotency import OCTETS, Reply, reply
from tacit.service.keys import Caller
from tacit.service.problems import Problem
from tacit.service.running import Service
from tacit.service.vendors.served import ServedVendor
from tacit.service.vendors.signatures import NotSigned, check_request, sign_answer
from tacit.service.vendors.vendor_state import Ticket, VendorState

RECEIVED = {"received": True}
"""Whether it was used is not reported: that depends on what others did."""


def visit_clicked(
    service: Service,
    vendor: ServedVendor,
    caller: Caller,
    key: str,
    ticket: Ticket,
    *,
    clicked: bool,
) -> Response:
    """A visitor says what came of their visit."""

    def take(desk: VendorState) -> Reply:
        desk.clicked(ticket, float(clicked))
        return reply(RECEIVED)

    payload = f"{ticket} {int(clicked)}".encode()
    return _step(service, vendor, caller, "POST /api/vendors/visits/reward", key, payload, take)


def check(request: Request, vendor: ServedVendor, caller: Caller, body: bytes) -> None:
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


def forwarded(
    service: Service, vendor: ServedVendor, caller: Caller, key: str, body: bytes
) -> Response:
    """An offer for a neighbour's user."""
    _numbered(body, key)

    def take(desk: VendorState) -> Reply:
        return Reply(200, OCTETS, desk.serve(caller.name, body))

    operation = "POST /api/vendors/forwards"
    return _signed(vendor, caller, key, _step(service, vendor, caller, operation, key, body, take))


def _numbered(body: bytes, key: str) -> None:
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


def _step(
    service: Service,
    vendor: ServedVendor,
    caller: Caller,
    operation: str,
    key: str,
    payload: bytes,
    take: Callable[[VendorState], Reply],
) -> Response:
    return idempotency.step(
        service,
        caller,
        operation,
        key,
        vendor.name.encode() + b"\x00" + payload,
        state=vendor.state,
        take=vendor.keeper.step(take),
    )
