"""Forgetting a person: erasing everything of theirs that is stored, with a receipt."""

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
"""Name of the operation in the ledger's log."""
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
    "written over yet: they hold what was kept until the operator removes them"
)
"""What no service can recall, for the receipt."""


class Receipt(AnswerModel):
    """A list of what was forgotten and what was not.

    It does not depend on whether anything of the person was stored, so that it may be stored for
    ever.
    """

    user: str
    """Name of the person."""
    gone: list[str]
    """What was erased, if it was there."""
    cannot_be_recalled: list[str]
    """What was released before, and copies that the service cannot reach."""
    bounded_by: list[Bound]
    """Bounds of what can be learned about the person from what was released."""
    kept: list[str]
    """What stays stored, and why."""


@router.delete("/api/users/{user}", response_model=Receipt, **allow(Role.SUBJECT, Role.OPERATOR))
async def forget(
    service: CurrentService, caller: CurrentCaller, user: CustomerPath, key: IdempotencyKey
) -> Response:
    """Erase everything that is kept of a person. Their key still works, and finds nothing.

    Each state is erased in a transaction of its own. If one fails, the same request, sent again,
    goes on where it stopped; the receipt comes last.
    """
    user = service.keys.person_name(user)
    check_self(caller, user)
    payload = canonical({"user": user})
    # Done first, so that an Idempotency-Key that was used for another person is refused before
    # anything is erased.
    await answer_once(
        service,
        caller,
        f"{OPERATION}: begun",
        key,
        payload,
        transition=_store_nothing(reply({})),
        counted_apart=True,
    )
    personal_states = _list_personal_states(service, user)
    for personal_state in personal_states:
        # Each state has an operation of its own, which is done only once for the request's key: a
        # late retry must not erase what the person gave since.
        digest = hashlib.sha256(personal_state.state_name.encode()).hexdigest()[:16]
        await answer_once(
            service,
            caller,
            f"{OPERATION}: {digest}",
            key,
            canonical({"user": user, "state": personal_state.state_name}),
            state=personal_state.state_name,
            transition=erase_state(personal_state),
            counted_apart=True,
        )
    receipt = _make_receipt(service, user, personal_states)
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


def _list_personal_states(service: Service, user: str) -> list[PersonalState]:
    """List all states that may hold something about a person."""
    personal_states = [all_ratings_state(user)]
    for thing in service.deployment.served.values():
        personal_states += thing.personal_states(user)
    return personal_states


def _make_receipt(service: Service, user: str, erased: list[PersonalState]) -> Receipt:
    """Make the receipt of a person.

    Args:
        service: The service.
        user: Name of the person.
        erased: States that the person was erased from.
    """
    released = []
    for thing in service.deployment.served.values():
        sentence = thing.describe_releases()
        if sentence is not None:
            released.append(sentence)
    descriptions = [personal_state.description for personal_state in erased]
    return Receipt(
        user=user,
        gone=list(dict.fromkeys(descriptions)),  # `fromkeys`: each once
        cannot_be_recalled=[*released, REMAINING_COPIES],
        bounded_by=list(bounds_of(service.deployment)),
        kept=list(WHAT_STAYS),
    )
