"""HTTP routes of rounds.

Operators announce and open rounds. People vote on announced candidates, get recommendations in open
rounds, and say whether they like them.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tacit.designs.prec.serve.rounds import ServedRounds
from tacit.ledger import canonical
from tacit.service.access import (
    CurrentCaller,
    CurrentService,
    IdempotencyKey,
    PathName,
    allow,
    find_served,
)
from tacit.service.idempotency import Transition, answer_once, read_salted_state, salt_states
from tacit.service.keys import NAME, Caller, Role
from tacit.service.operations import Operation, run_in_thread
from tacit.service.service import Service
from tacit.service.strict_json import PRINTABLE

router = APIRouter(route_class=Operation, prefix="/api/rounds", tags=["rounds"])
Candidate = (
    Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[str, Field(min_length=1, max_length=64, pattern=PRINTABLE)]
)
Candidates = Annotated[list[Candidate], Field(min_length=1, max_length=1000)]
Voter = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
"""Name of a voter."""


class _StrictBody(BaseModel):
    """A request's body: without other fields, and with values of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Announcement(_StrictBody):
    """Candidates of the next round, on which people vote until it is opened."""

    candidates: Candidates


class OpenRequest(_StrictBody):
    """The next round's candidates, and votes that were not cast at this service."""

    candidates: Candidates | None = None
    """Null for the announced candidates; if none are announced, for the next round of the
    deployment's file of votes."""
    votes: Annotated[dict[Voter, Candidate], Field(max_length=10_000)] = {}
    """Votes that were cast elsewhere, by the voter's name. If the person also voted at this
    service, that vote counts. A round of the deployment's file has its own votes in place of these.
    """


class Vote(_StrictBody):
    """A vote for one of the announced candidates."""

    candidate: Candidate


class Feedback(_StrictBody):
    """Answer to the open round's recommendation, given once."""

    liked: bool
    """Whether the recommended candidate was liked."""


class AnnounceReply(BaseModel):
    """The next round, on which people vote now."""

    round: int
    """Number of the round."""
    announced: list[int | str]
    """Candidates of the round."""


class OpenReply(BaseModel):
    """The round that is open now."""

    round: int
    """Number of the round."""
    candidates: list[int | str]
    """Candidates of the round."""


class VoteReply(BaseModel):
    """The round that a vote is for. Answers are stored for ever, so the vote is not part of it."""

    round: int
    """Number of the round."""


class RecommendationReply(BaseModel):
    """The recommendation of the open round."""

    round: int
    """Number of the round."""
    item: int | str
    """The recommended candidate."""
    shut: bool
    """Whether the person's gate is shut, since too few voters are left to hide among. If so, the
    item was drawn at random, and so are all later ones."""


class FeedbackReply(BaseModel):
    """The round that the feedback is for."""

    round: int
    """Number of the round."""


@router.get("", **allow(Role.ANONYMOUS))
def rounds(service: CurrentService) -> dict[str, list[dict[str, Any]]]:
    """List the runs: their sizes, open rounds and announced candidates, and what they promise."""
    served = service.deployment.find_all(ServedRounds).values()
    return {"rounds": [run.describe(read_salted_state(service, run.state_name)) for run in served]}


@router.post("/{name}/announce", **allow(Role.OPERATOR), response_model=AnnounceReply)
async def announce(
    service: CurrentService,
    request: Request,
    caller: CurrentCaller,
    key: IdempotencyKey,
    name: PathName,
    body: Announcement,
) -> Response:
    """Announce the next round's candidates, so that people can vote on them.

    The first announcement or opening begins the run, and the run's whole budget is charged then.
    """
    served = find_served(service, ServedRounds, name)
    await run_in_thread(request, lambda: served.begin(service))
    transition = partial(served.steps.announce, body.candidates)
    return await _step(service, caller, served, "announce", key, body, transition)


@router.post("/{name}/open", **allow(Role.OPERATOR), response_model=OpenReply)
async def open_round(
    service: CurrentService,
    request: Request,
    caller: CurrentCaller,
    key: IdempotencyKey,
    name: PathName,
    body: OpenRequest,
) -> Response:
    """Open the next round, which closes the open one, if there is one.

    From then on the round's votes are fixed. The first announcement or opening begins the run, and
    the run's whole budget is charged then.
    """
    served = find_served(service, ServedRounds, name)
    await run_in_thread(request, lambda: served.begin(service))
    transition = partial(served.steps.open_next, body.candidates, body.votes)
    return await _step(service, caller, served, "open", key, body, transition)


@router.post("/{name}/votes", **allow(Role.SUBJECT), response_model=VoteReply)
async def votes(
    service: CurrentService, caller: CurrentCaller, key: IdempotencyKey, name: PathName, body: Vote
) -> Response:
    """Vote for an announced candidate; a person's last vote before the round opens counts."""
    served = find_served(service, ServedRounds, name)
    transition = partial(served.steps.vote, caller.name, body.candidate)
    return await _step(service, caller, served, "votes", key, body, transition)


@router.post("/{name}/recommendations", **allow(Role.SUBJECT), response_model=RecommendationReply)
async def recommendations(
    service: CurrentService, caller: CurrentCaller, key: IdempotencyKey, name: PathName
) -> Response:
    """Recommend a candidate of the open round; until the next opens, the answer is the same."""
    served = find_served(service, ServedRounds, name)
    transition = partial(served.steps.recommend, caller.name)
    return await _step(service, caller, served, "recommendations", key, None, transition)


@router.post("/{name}/feedback", **allow(Role.SUBJECT), response_model=FeedbackReply)
async def feedback(
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
    name: PathName,
    body: Feedback,
) -> Response:
    """Record whether the open round's recommendation was liked.

    A recommendation without an answer counts as disliked when the next round opens.
    """
    served = find_served(service, ServedRounds, name)
    transition = partial(served.steps.feedback, caller.name, body.liked)
    return await _step(service, caller, served, "feedback", key, body, transition)


async def _step(
    service: Service,
    caller: Caller,
    served: ServedRounds,
    route: str,
    key: str,
    body: BaseModel | None,
    transition: Transition,
) -> Response:
    """Answer a request by a step of the run; a repeated request gets the stored answer.

    Args:
        service: The running service.
        caller: Who sent the request.
        served: The run.
        route: Last part of the request's path.
        key: Idempotency key of the request.
        body: Body of the request; None if it has none.
        transition: The step: from randomness and state to an answer and the next state.
    """
    payload = b"" if body is None else canonical(body.model_dump())
    operation = f"POST /api/rounds/{served.name}/{route}"
    salted = salt_states(transition)
    return await answer_once(
        service, caller, operation, key, payload, state=served.state_name, transition=salted
    )
