"""What bounds what is learned about a person, of everything that is served.

Amounts of privacy as texts: exact decimals, because floats would round what was spent.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from pydantic import BaseModel

from tacit.ledger import Balance, Unit
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


COUNTED_IN = {
    Unit.PURE: "epsilon, in nats",
    Unit.ZCDP: "rho",
    Unit.APPROXIMATE: "epsilon, in nats, and delta",
}
EXPONENTS = {"micro": -6, "atto": -18}


class Budget(BaseModel):
    """Amounts are decimals in text. cap, spent, left: over a lifetime; nothing is ever refunded.

    counted_in: what the amounts are. per_epoch, spent_in_epoch: null and 0 where an epoch does not
    limit it.
    """

    counted_in: str
    cap: str
    spent: str
    left: str
    delta_cap: str
    delta_spent: str
    delta_left: str
    per_epoch: str | None
    spent_in_epoch: str

    @classmethod
    def of(cls, balance: Balance) -> Budget:
        """A balance of the ledger."""
        cap = balance.cap
        return cls(
            counted_in=COUNTED_IN[cap.unit],
            cap=millionths(cap.amount),
            spent=millionths(balance.spent),
            left=millionths(cap.amount - balance.spent),
            delta_cap=_decimal(cap.delta, "atto"),
            delta_spent=_decimal(balance.delta_spent, "atto"),
            delta_left=_decimal(cap.delta - balance.delta_spent, "atto"),
            per_epoch=None if cap.per_epoch is None else millionths(cap.per_epoch),
            spent_in_epoch=millionths(balance.epoch_spent),
        )


def millionths(steps: int) -> str:
    """As the ledger counts epsilon and rho."""
    return _decimal(steps, "micro")


def _decimal(steps: int, size: str) -> str:
    if not steps:
        return "0"
    return f"{Decimal(steps).scaleb(EXPONENTS[size]).normalize():f}"
