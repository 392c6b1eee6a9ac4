"""Forgetting a person: what is taken out, what cannot be, and what bounds it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from fastapi import APIRouter, Response
from pydantic import BaseModel

from tacit.ledger import canonical
from tacit.service.access import Asking, Here, IdempotencyKey, Operation, allow, own
from tacit.service.deployment import Service
from tacit.service.feedback import forget_feedback
from tacit.service.idempotency import once, reply, step
from tacit.service.keys import Caller, Role
from tacit.service.people import Kept, kept_of, released_by
from tacit.service.resources.bounds import Bound, bounds_of
from tacit.service.resources.models import Named

router = APIRouter(route_class=Operation, tags=["users"])

OPERATION = "forget a person"

STAYS = (
    (
        "your pseudonym, in the log of what was spent, because budgets are for life: with the name "
        "of each operation, its cost and SHA-256 hashes, and nothing that you said"
    ),
    "answers that were stored, so that a request that is repeated is answered with the same bytes",
    "what was spent of budgets: nothing is ever refunded",
)
COPIES = (
    "copies of the database that its operator made before now, and pages of its file that were not "
    "written over yet: they hold what was kept until they remove them"
)


class Receipt(BaseModel):
    """The same whether there was anything of theirs or not, so that it may be kept for ever."""

    user: str
    gone: list[str]
    cannot_be_recalled: list[str]
    bounded_by: list[Bound]
    kept: list[str]


@router.delete("/api/users/{user}", response_model=Receipt, **allow(Role.SUBJECT, Role.OPERATOR))
def forget(service: Here, caller: Asking, user: Named, key: IdempotencyKey) -> Response:
    """Forget a person: everything of theirs that is kept. Their key still works, and finds nothing.

    Every part is taken out in a transaction of its own. If one fails, the same request again goes
    on where it stopped; the receipt comes last.
    """
    own(caller, user)
    payload = canonical({"user": user})
    # First of all: a key that was used for another person is refused before anything is gone.
    begun = f"{OPERATION}: begun"
    once(service, caller, begun, key, payload, draw=lambda _: reply({}), apart=True)
    parts = list(_parts(service, user))
    for part in parts:
        _take_out(service, caller, user, key, part)
    receipt = reply(_receipt(service, user, parts).model_dump())
    return once(service, caller, OPERATION, key, payload, draw=lambda _: receipt, apart=True)


def _parts(service: Service, user: str) -> Iterator[Kept]:
    yield forget_feedback(user)
    for _, thing in service.deployment.served:
        yield from kept_of(thing, user)


def _take_out(service: Service, caller: Caller, user: str, key: str, part: Kept) -> None:
    """Once for this key: a retry that comes late must not take out what they gave since."""
    step(
        service,
        caller,
        f"{OPERATION}: {hashlib.sha256(part.state.encode()).hexdigest()[:16]}",
        key,
        canonical({"user": user, "state": part.state}),
        state=part.state,
        take=lambda source, state: (reply({"done": True}), part.without(source, state)),
        apart=True,
    )


def _receipt(service: Service, user: str, parts: list[Kept]) -> Receipt:
    released = (released_by(thing) for _, thing in service.deployment.served)
    return Receipt(
        user=user,
        gone=list(dict.fromkeys(part.what for part in parts)),
        cannot_be_recalled=[*(each for each in released if each is not None), COPIES],
        bounded_by=list(bounds_of(service.deployment)),
        kept=list(STAYS),
    )
