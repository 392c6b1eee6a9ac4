"""What bounds what is learned about a person, of everything that is served."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from tacit.privacy import Guarantee
from tacit.service.deployment import Deployment

NOTHING = "This promises no privacy to anybody."


class Bound(BaseModel):
    """How much can be learned about a person from what `of` released. epsilon in nats for one
    release, lifetime_epsilon for all that ever were; null: no such bound holds, as `sentence` and
    `lifetime` say. unit: what counts as one change, such as a person's whole profile."""

    of: str
    sentence: str
    unit: str | None
    epsilon: float | None
    delta: float | None
    lifetime: str | None
    lifetime_epsilon: float | None
    lifetime_delta: float | None


def bounds_of(deployment: Deployment) -> Iterator[Bound]:
    """One for each card, and one for whatever has none."""
    for place, cards in deployment.guarantees().items():
        if not cards:
            yield _unbounded(place)
        for card in cards:
            yield _bound(place, card)


def _bound(place: str, card: Guarantee) -> Bound:
    return Bound(
        of=place,
        sentence=card.sentence,
        unit=str(card.adjacency),
        epsilon=card.epsilon,
        delta=card.delta,
        lifetime=card.lifetime,
        lifetime_epsilon=card.lifetime_epsilon,
        lifetime_delta=card.lifetime_delta,
    )


def _unbounded(place: str) -> Bound:
    return Bound(
        of=place,
        sentence=NOTHING,
        unit=None,
        epsilon=None,
        delta=None,
        lifetime=None,
        lifetime_epsilon=None,
        lifetime_delta=None,
    )
