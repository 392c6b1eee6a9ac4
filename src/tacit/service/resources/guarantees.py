"""Guarantees of everything that is served."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from tacit.privacy import Guarantee
from tacit.privacy.officer_card import CardFacts, officer_page
from tacit.service.access import NOT_FOUND, CurrentService, PathName, allow
from tacit.service.deployment import Deployment
from tacit.service.keys import Role
from tacit.service.operations import Operation, run_on_loop
from tacit.service.problems import Problem
from tacit.service.schemas import AnswerModel

NO_PROMISE = "This promises no privacy to anybody."
"""Sentence for a thing that has no guarantee card."""

_OFFICER_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
}
"""Headers of an officer's page, which contains its own style and no script."""

NounPath = Annotated[str, Path(pattern="^[a-z]{1,32}$")]
"""Type of a part of the path: the word for the kind of a thing that is served, such as `models`."""

router = APIRouter(route_class=Operation, tags=["guarantees"])


class Bound(AnswerModel):
    """A bound of what can be learned about a person from what one thing released.

    Where epsilon is null, no such bound holds, and the sentence says why.
    """

    of: str
    """Address of the thing, such as `models/films`."""
    sentence: str
    """What the thing promises."""
    unit: str | None
    """What counts as one change, such as a person's whole profile."""
    epsilon: float | None
    """For one release, in nats."""
    delta: float | None
    lifetime: str | None
    """How the loss grows over releases, in a sentence."""
    lifetime_epsilon: float | None
    """For all releases about one unit together, in nats; null if nothing bounds it."""
    lifetime_delta: float | None


def bounds_of(deployment: Deployment) -> Iterator[Bound]:
    """Yield a bound for each guarantee card, and one for each thing that has no card."""
    for address, cards in deployment.cards.items():
        if not cards:
            yield _make_entry_without_bound(address)
        for card in cards:
            yield Bound(
                of=address,
                sentence=card.sentence,
                unit=str(card.adjacency),
                epsilon=card.epsilon,
                delta=card.delta,
                lifetime=card.lifetime,
                lifetime_epsilon=card.lifetime_epsilon,
                lifetime_delta=card.lifetime_delta,
            )


def _make_entry_without_bound(address: str) -> Bound:
    """Make a `Bound` without numbers, for a thing that promises nothing."""
    return Bound(
        of=address,
        sentence=NO_PROMISE,
        unit=None,
        epsilon=None,
        delta=None,
        lifetime=None,
        lifetime_epsilon=None,
        lifetime_delta=None,
    )


class Promise(AnswerModel):
    """The guarantee of one thing that is served."""

    noun: str
    """Word for the kind of the thing, such as `models`."""
    name: str
    first_line: str | None
    """The basis of the promise, in a sentence; null where nothing is promised."""
    sentence: str
    """The promise."""
    cards: list[dict[str, Any]]
    """One card for each group of people, in full; cards of refuted claims first."""


class Promises(AnswerModel):
    """The guarantees of everything that is served."""

    guarantees: list[Promise]


@router.get("/api/guarantees", **allow(Role.ANONYMOUS))
def guarantees(service: CurrentService) -> Promises:
    """List the guarantees of everything that is served."""
    promises = []
    for address, cards in service.deployment.cards.items():
        promises.append(_describe_promise(address, cards))
    return Promises(guarantees=promises)


@router.get("/api/guarantees/{noun}/{name}", **allow(Role.ANONYMOUS))
@run_on_loop
def guarantee(service: CurrentService, noun: NounPath, name: PathName) -> Promise:
    """Show the guarantee of one thing that is served."""
    address = f"{noun}/{name}"
    cards = service.deployment.cards.get(address)
    if cards is None:
        raise Problem(404, NOT_FOUND)
    return _describe_promise(address, cards)


@router.get(
    "/api/guarantees/{noun}/{name}/officer",
    response_class=Response,
    **allow(Role.ANONYMOUS),
)
def officer_card(service: CurrentService, noun: NounPath, name: PathName) -> Response:
    """Show one page about a guarantee, in HTML, for a data protection officer."""
    address = f"{noun}/{name}"
    thing = service.deployment.served.get(address)
    if thing is None:
        raise Problem(404, NOT_FOUND)
    facts = CardFacts(address, thing.date_made, datetime.now(UTC).date(), thing.fit_count())
    page = officer_page(service.deployment.cards[address], facts)
    return Response(page, media_type="text/html; charset=utf-8", headers=_OFFICER_HEADERS)


def _describe_promise(address: str, cards: tuple[Guarantee, ...]) -> Promise:
    """Describe the guarantee of a thing; the first card, if there is one, is its promise."""
    noun, _, name = address.partition("/")
    return Promise(
        noun=noun,
        name=name,
        first_line=cards[0].first_line if cards else None,
        sentence=cards[0].sentence if cards else NO_PROMISE,
        cards=[card.to_dict() for card in cards],
    )
