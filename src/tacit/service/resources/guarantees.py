"""What is promised: the card of everything that is served, with its one sentence."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from tacit.privacy import Guarantee
from tacit.service.access import Here, Operation, allow
from tacit.service.keys import Role
from tacit.service.problems import Problem
from tacit.service.resources.bounds import NOTHING
from tacit.service.resources.models import Named

router = APIRouter(route_class=Operation, tags=["guarantees"])


class Promise(BaseModel):
    """sentence: what it comes down to. first_line: on what basis; null where nothing is promised.
    cards: one for each group of people, in full, those of refuted claims first."""

    noun: str
    name: str
    first_line: str | None
    sentence: str
    cards: list[dict[str, Any]]


class Promises(BaseModel):
    guarantees: list[Promise]


@router.get("/api/guarantees", **allow(Role.ANONYMOUS))
def guarantees(service: Here) -> Promises:
    """The guarantees of everything that is served."""
    found = service.deployment.guarantees().items()
    return Promises(guarantees=[_promise(place, cards) for place, cards in found])


@router.get("/api/guarantees/{noun}/{name}", **allow(Role.ANONYMOUS))
def guarantee(
    service: Here, noun: Annotated[str, Path(pattern="^[a-z]{1,32}$")], name: Named
) -> Promise:
    """The guarantee of one thing."""
    cards = service.deployment.guarantees().get(f"{noun}/{name}")
    if cards is None:
        raise Problem(404, "There is nothing at this address.")
    return _promise(f"{noun}/{name}", cards)


def _promise(place: str, cards: tuple[Guarantee, ...]) -> Promise:
    noun, _, name = place.partition("/")
    return Promise(
        noun=noun,
        name=name,
        first_line=cards[0].first_line if cards else None,
        sentence=cards[0].sentence if cards else NOTHING,
        cards=[card.to_dict() for card in cards],
    )
