"""Forgetting a person: everything of theirs that is stored, and the receipt."""

from __future__ import annotations

import hashlib

from fastapi import APIRouter, Response

from tacit.ledger import canonical
from tacit.randomness import Source
from tacit.service.access import (
    CurrentCaller,
    CurrentService,
    CustomerPath,
    IdempotencyKey,
    allow,
    check_self,
)
from tacit.service.idempotency import Reply, Transition, answer_once, reply
from tacit.service.keys import Role
from tacit.service.operations import Operation
from tacit.service.resources.feedback import erase_state
from tacit.service.resources.guarantees import Bound, bounds_of
from tacit.service.schemas import AnswerModel
from tacit.service.served_things import PersonalState
from tacit.service.service import Service
from tacit.service.stored_ratings import all_ratings_state

router = APIRouter(route_class=Operation, tags=["users"])

OPERATION = "forget a person"
WHAT_STAYS = (
    (
        "your pseudonym, in the log of what was spent, because budgets are for life: with the name "
        "of each operation, its cost and SHA-256 hashes, and nothing that you said"
    ),
    "answers that were stored, so that a request that is repeated is answered with the same bytes",
    "what was spent of budgets: nothing is ever refunded",
)
"""What stays stored of a forgotten person, for the receipt."""
REMAINING_COPIES = (
    "copies of the database that its operator made before now, and pages of its file that were not "
    "written over yet: they hold what was kept until they remove them"
)
"""What cannot be recalled, whatever is served, for the receipt."""


class Receipt(AnswerModel):
    """A list of what was forgotten and what was not.

    It does not depend on whether anything of the person was stored, so that it may be stored for
    ever.
    """

    user: str
    gone: list[str]
    """What was erased."""
    cannot_be_recalled: list[str]
    """What was released before."""
    bounded_by: list[Bound]
    """How much can be learned about the person from it."""
    kept: list[str]
    """What stays stored, and why."""


@router.delete("/api/users/{user}", response_model=Receipt, **allow(Role.SUBJECT, Role.OPERATOR))
async def forget(
    service: CurrentService, caller: CurrentCaller, user: CustomerPath, key: IdempotencyKey
) -> Response:
    """Forget a person: everything of theirs that is kept. Their key still works, and finds nothing.

    Every part is taken out in a transaction of its own. If one fails, the same request again goes
    on where it stopped; the receipt comes last.
    """
    user = service.keys.person_name(user)
    check_self(caller, user)
    payload = canonical({"user": user})
    # First, so that a key that was used for another person is refused before anything is erased.
    await answer_once(
        service,
        caller,
        f"{OPERATION}: begun",
        key,
        payload,
        transition=_store_nothing(reply({})),
        counted_apart=True,
    )
    parts = _list_stored_states(service, user)
    for part in parts:
        # Once for this key: a late retry must not erase what the person gave since.
        digest = hashlib.sha256(part.state_name.encode()).hexdigest()[:16]
        await answer_once(
            service,
            caller,
            f"{OPERATION}: {digest}",
            key,
            canonical({"user": user, "state": part.state_name}),
            state=part.state_name,
            transition=erase_state(part),
            counted_apart=True,
        )
    receipt = _make_receipt(service, user, parts)
    return await answer_once(
        service,
        caller,
        OPERATION,
        key,
        payload,
        transition=_store_nothing(reply(receipt.model_dump())),
        counted_apart=True,
    )


def _store_nothing(answer: Reply) -> Transition:
    """Make a transition that returns an answer and changes no state."""

    def transition(_: Source, __: bytes | None) -> tuple[Reply, bytes | None]:
        return answer, None

    return transition


def _list_stored_states(service: Service, user: str) -> list[PersonalState]:
    """List all states that may hold something about a person."""
    parts = [all_ratings_state(user)]
    for thing in service.deployment.served.values():
        parts += thing.personal_states(user)
    return parts


def _make_receipt(service: Service, user: str, parts: list[PersonalState]) -> Receipt:
    """Make the receipt of a person.

    Args:
        service: The service.
        user: Name of the person.
        parts: States of the person that were erased.
    """
    released = []
    for thing in service.deployment.served.values():
        sentence = thing.describe_releases()
        if sentence is not None:
            released.append(sentence)
    descriptions = [part.description for part in parts]
    return Receipt(
        user=user,
        gone=list(dict.fromkeys(descriptions)),  # each once
        cannot_be_recalled=[*released, REMAINING_COPIES],
        bounded_by=list(bounds_of(service.deployment)),
        kept=list(WHAT_STAYS),
    )
