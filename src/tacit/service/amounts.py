"""Amounts of privacy as texts: exact decimals, because floats would round what was spent."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel

from tacit.ledger import Balance, Unit

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
