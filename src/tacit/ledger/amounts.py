"""Amounts of privacy as integers: costs are rounded up, caps down, and units never mix.

Source     Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters (2016), for sums of epsilons
           and deltas; Feldman, Zrnic: Individual privacy accounting (2021), for sums of rho;
           Smith, Thakurta: Fully adaptive composition for GDP (2022), for sums of mu^2.
Guarantee  Each cost may be chosen with knowledge of all earlier answers. As long as the costs add
           up to no more than the cap, all answers together are as private as the cap says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import Self

from tacit.accounting import Event, GDPAccountant, PureAccountant, ZCDPAccountant
from tacit.errors import ConfigError

MICRO = 10**6
"""Steps in one nat of epsilon, or in a rho of 1."""

PICO = 10**12
"""Steps in a mu^2 / 2 of 1. They are finer, because a small epsilon is a tiny mu^2 / 2: for
epsilon 0.001 it is a few ten-millionths."""

ATTO = 10**18
"""Steps in a delta of 1."""

LARGEST_AMOUNT = 10**18
"""Largest number of steps of an amount: the sum of two still fits into a signed integer of 64
bits."""

_LARGEST_EXPONENT = 40
"""Largest absolute value of the decimal exponent of an amount in a text or a Decimal. With a far
larger exponent, such as that of 1e1000000000, an exact fraction would fill the memory with digits.
"""

_NO_DELTA = "{} in {} has no delta; use the approximate unit."
"""Message; its gaps are for "A cost" or "A cap", and for the name of the unit."""

Number = int | str | Decimal | Fraction | float
"""An amount as a caller states it. A float counts at its exact value, which for 0.1 is slightly
more than 0.1: so a cost of 0.1 takes one step more than a cost of "0.1"."""


class Unit(StrEnum):
    """The unit of the amounts of a budget."""

    PURE = "pure"  # epsilon of pure differential privacy, in millionths of a nat
    ZCDP = "zcdp"  # rho of zero-concentrated differential privacy, in millionths
    GDP = "gdp"  # mu^2 / 2 of Gaussian differential privacy, in steps of 1e-12; stated at one delta
    APPROXIMATE = "approximate"  # epsilon in millionths, delta in steps of 1e-18; added up apart

    @property
    def steps(self) -> int:
        """Number of steps in an amount of 1."""
        return PICO if self is Unit.GDP else MICRO


@dataclass(frozen=True)
class Cost:
    """The price of one release for one budget. It may depend only on the public request."""

    unit: Unit
    """Unit of the budget."""
    amount: int
    """The price in steps of the unit, 1 to 10**18."""
    delta: int = 0
    """The price in delta, in steps of 1e-18; 0 unless the unit is approximate."""

    def __post_init__(self) -> None:
        _check_amounts(self.unit, self.amount, self.delta, subject="A cost")
        if self.delta and self.unit is not Unit.APPROXIMATE:
            raise ConfigError(_NO_DELTA.format("A cost", self.unit.value))

    @classmethod
    def pure(cls, epsilon: Number) -> Self:
        """Return a cost of `epsilon` nats, above 0 and finite."""
        return cls(Unit.PURE, _round_up(epsilon))

    @classmethod
    def zcdp(cls, rho: Number) -> Self:
        """Return a cost of `rho`, above 0 and finite."""
        return cls(Unit.ZCDP, _round_up(rho))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Self:
        """Return a cost of `epsilon` nats, above 0 and finite, and `delta`, 0 to 1."""
        return cls(Unit.APPROXIMATE, _round_up(epsilon), _round_up(delta, ATTO))

    @classmethod
    def from_event(cls, event: Event, unit: Unit) -> Self:
        """Return the price of an event, for a budget in pure, zcdp or gdp.

        Raises:
            ConfigError: The unit is approximate, or no finite amount of the unit covers the event.
            PrivacyError: The event has no price in the unit.
        """
        if unit is Unit.PURE:
            return cls.pure(PureAccountant().add(event).epsilon())
        if unit is Unit.ZCDP:
            return cls.zcdp(ZCDPAccountant().add(event).rho)
        if unit is Unit.GDP:
            mu = _exact_amount(GDPAccountant().add(event).mu)
            return cls(Unit.GDP, _round_up(mu**2 / 2, PICO))
        raise ConfigError(
            "An event has no single epsilon and delta. State them:  Cost.approximate(...)."
        )


@dataclass(frozen=True)
class Cap:
    """The most that a budget may spend over its lifetime, and in one epoch if that is limited."""

    unit: Unit
    """Unit of the budget."""
    amount: int
    """The most over a lifetime, in steps of the unit."""
    delta: int = 0
    """The most delta over a lifetime, in steps of 1e-18. In gdp, where no delta is spent, the delta
    at which the cap's epsilon is stated."""
    per_epoch: int | None = None
    """The most in one epoch, in steps of the unit; None for no limit. Delta has no limit per epoch,
    only over the lifetime."""

    def __post_init__(self) -> None:
        _check_amounts(self.unit, self.amount, self.delta, subject="A cap")
        if self.unit is Unit.GDP and not self.delta:
            raise ConfigError("A cap in gdp names the delta at which its epsilon is stated.")
        if self.delta and self.unit not in (Unit.APPROXIMATE, Unit.GDP):
            raise ConfigError(_NO_DELTA.format("A cap", self.unit.value))
        if self.per_epoch is not None:
            _check_amounts(self.unit, self.per_epoch, 0, subject="A cap per epoch")

    @classmethod
    def pure(cls, epsilon: Number, *, per_epoch: Number | None = None) -> Self:
        """Return a cap of `epsilon` nats over a lifetime, and of `per_epoch` nats in one epoch.

        With None, an epoch has no limit of its own.
        """
        return cls(Unit.PURE, _round_down(epsilon), per_epoch=_optional_cap(per_epoch))

    @classmethod
    def zcdp(cls, rho: Number, *, per_epoch: Number | None = None) -> Self:
        """Return a cap of `rho` over a lifetime, and of `per_epoch`, also in rho, in one epoch.

        With None, an epoch has no limit of its own.
        """
        return cls(Unit.ZCDP, _round_down(rho), per_epoch=_optional_cap(per_epoch))

    @classmethod
    def gdp(cls, half_square: Number, *, delta: Number) -> Self:
        """Return a cap over a lifetime in Gaussian differential privacy.

        Args:
            half_square: The most mu^2 / 2.
            delta: The delta at which the cap's epsilon is stated.
        """
        return cls(Unit.GDP, _round_down(half_square, PICO), _round_down(delta, ATTO))

    @classmethod
    def approximate(
        cls, epsilon: Number, delta: Number, *, per_epoch: Number | None = None
    ) -> Self:
        """Return a cap of `epsilon` nats and `delta`, 0 to 1, over a lifetime.

        `per_epoch` limits the nats in one epoch; None sets no such limit.
        """
        amount = _round_down(epsilon)
        largest_delta = _round_down(delta, ATTO)
        return cls(Unit.APPROXIMATE, amount, largest_delta, _optional_cap(per_epoch))


def _optional_cap(number: Number | None) -> int | None:
    """Return a cap in steps, rounded down; None for no cap."""
    return None if number is None else _round_down(number)


def _round_up(number: Number, steps: int = MICRO) -> int:
    """Return an amount in steps, rounded up; `steps` is how many an amount of 1 has."""
    return math.ceil(_exact_amount(number) * steps)


def _round_down(number: Number, steps: int = MICRO) -> int:
    """Return an amount in steps, rounded down; `steps` is how many an amount of 1 has."""
    return math.floor(_exact_amount(number) * steps)


def _exact_amount(number: Number) -> Fraction:
    """Return an amount as an exact fraction.

    Raises:
        ConfigError: It is not a number, or NaN, infinite or negative, or its decimal exponent is
            far out of range.
    """
    if isinstance(number, bool) or not isinstance(number, int | str | Decimal | Fraction | float):
        raise ConfigError("An amount of privacy is a number, or its decimals in a text.")
    try:
        value = Decimal(number) if isinstance(number, str) else number
        if (
            isinstance(value, Decimal)
            and value.is_finite()
            and abs(value.adjusted()) > _LARGEST_EXPONENT
        ):
            raise ConfigError("An amount of privacy lies between 1e-18 and 1e12.")
        exact = Fraction(value)
    except (InvalidOperation, ValueError, OverflowError):
        raise ConfigError(
            "An amount of privacy is a finite number, such as 0.5 or the text 1e-6."
        ) from None
    if exact < 0:
        raise ConfigError("An amount of privacy is not negative: nothing is ever refunded.")
    return exact


def _check_amounts(unit: Unit, amount: int, delta: int, *, subject: str) -> None:
    """Raise ConfigError unless the unit, and both amounts in steps, are valid.

    Args:
        unit: The unit.
        amount: Steps of the unit, 1 to 10**18.
        delta: Steps of 1e-18, 0 to 10**18.
        subject: First words of the message, such as "A cost".
    """
    if not isinstance(unit, Unit):
        raise ConfigError(f"{subject} needs its unit: one of {', '.join(Unit)}.")
    if type(amount) is not int or type(delta) is not int:
        raise ConfigError(f"{subject} is kept in whole steps, as integers.")
    if not 1 <= amount <= LARGEST_AMOUNT:
        largest = LARGEST_AMOUNT // unit.steps
        raise ConfigError(f"{subject} is from 1 / {unit.steps:,} to {largest:,}.")
    if not 0 <= delta <= ATTO:
        raise ConfigError(f"{subject} has a delta from 0 to 1.")
