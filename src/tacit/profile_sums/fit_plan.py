"""A plan of several fits under one budget. It is public, and fixed before the first fit.

Source     Dong, Roth, Su (2022): mu^2 adds up over fits, also if the questions of later fits depend
           on the answers of earlier ones.
Guarantee  All fits together cost a person who is in each of them mu^2 = 1 / sigma^2, of which the
           first fit costs `first_share` and each later one `later_share`; fewer fits cost less.
Sums       The sums of a fit, 1, 2a, 2b and 3, are those of docs/private-proof.md.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.errors import PrivacyError
from tacit.profile_sums.events import event_of_sum
from tacit.profile_sums.fits import Fit, ledger_steps
from tacit.profile_sums.settings import Settings

_COUNTS_PART = 1 / 3
"""Part of a later fit's mu^2 that sum 1 takes; the second sum of that fit takes two thirds."""
MOST_FITS = 10_000
"""Largest number of fits of a plan: one a day for 27 years."""
FIRST_SHARE = 0.5
"""Share of the first fit in the mu^2 of all fits."""
FIRST_EDGE = 0.6
"""`Settings.edge` of the first fit. It is lower than the default, so that more directions are
taken, since all later fits use the directions of the first."""


@dataclass(frozen=True)
class FitPlan:
    """The noise multipliers of all fits of a plan."""

    name: str
    """Random name, by which fits of the plan are recognised."""
    fits: int
    """Number of fits, from 2 to `MOST_FITS`."""
    sigma: float
    """Noise multiplier of all fits together."""
    shares: tuple[float, ...]
    """Shares of sums 1, 2a, 2b and 3 in the mu^2 of the first fit."""
    first_share: float = FIRST_SHARE
    """Share of the first fit in the mu^2 of all fits."""
    forgetting: float = 1.0
    """Factor by which each fit multiplies the weight of all earlier draws."""

    @property
    def later_share(self) -> float:
        """Share of each later fit in the mu^2 of all fits."""
        return (1 - self.first_share) / (self.fits - 1)

    def noises(self, number: int) -> tuple[float, ...]:
        """Return the noise multipliers of the sums of one fit.

        Args:
            number: Number of the fit in the plan, from 1. Fit 1 has four sums, later ones have two.
        """
        if number == 1:
            parts = [share * self.first_share for share in self.shares]
        else:
            parts = [_COUNTS_PART * self.later_share, (1 - _COUNTS_PART) * self.later_share]
        return tuple(self.sigma / math.sqrt(part) for part in parts)

    def noise_of_sum(self, place: int) -> float:
        """Return the multiplier that a sum would have if one fit had the budget of the whole plan.

        Args:
            place: 0 to 3 for sum 1, 2a, 2b or 3.
        """
        return self.sigma / math.sqrt(self.shares[place])

    def precision(self, noise: float, place: int) -> float:
        """Return p, the precision of a draw relative to one with `noise_of_sum(place)`.

        Args:
            noise: Noise multiplier of the draw.
            place: 0 to 3 for sum 1, 2a, 2b or 3.
        """
        return (self.noise_of_sum(place) / noise) ** 2

    def count_fits(self, fits: Sequence[Fit]) -> int:
        """Count the fits of this plan among `fits`, failed ones included."""
        return sum(fit.plan == self.name for fit in fits)

    def all_fits(self) -> tuple[Fit, ...]:
        """Return the records of all fits of the plan, from which their cost is computed."""
        first = Fit(self.name, self.noises(1), plan=self.name)
        later = Fit(self.name, self.noises(2), plan=self.name)
        return (first, *[later] * (self.fits - 1))

    def to_header(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "name": self.name,
            "fits": self.fits,
            "sigma": self.sigma,
            "shares": list(self.shares),
            "first_share": self.first_share,
            "forgetting": self.forgetting,
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> FitPlan:
        """Read a plan from the values of `to_header`.

        Raises:
            ValueError, KeyError, TypeError: The values are no plan.
        """
        plan = cls(**{**header, "shares": tuple(header["shares"])})
        numbers = (plan.sigma, plan.first_share, plan.forgetting, *plan.shares)
        is_whole = isinstance(plan.fits, int) and not isinstance(plan.fits, bool)
        if not isinstance(plan.name, str) or not is_whole or not 2 <= plan.fits <= MOST_FITS:
            raise ValueError(f"its plan has no name, or no number of fits from 2 to {MOST_FITS:,}")
        if len(plan.shares) != 4 or not all(number > 0 for number in numbers):
            raise ValueError("its plan has a number that is not above 0, or not four shares")
        return plan


def make_plan(
    fits: int, lifetime: float, settings: Settings, earlier: Sequence[Fit] = ()
) -> FitPlan:
    """Make the plan that spends the whole budget that earlier fits leave.

    sigma is the smallest, within a relative error of 1e-14, for which both bounds hold: the exact
    costs of the fits add up to at most the budget that is left, and so do their costs in a ledger,
    which rounds each cost up to whole steps.

    Args:
        fits: Number of fits, 2 or more.
        lifetime: Epsilon of all fits of these people together.
        settings: Choices of the fits.
        earlier: Fits of these people before the plan.

    Raises:
        PrivacyError: Earlier fits leave nothing, or less than two steps of a ledger for each fit.
    """
    # As Python's floats: of numbers with fewer digits, the noise would have fewer digits, too.
    noise = _noise_of_one_sum(float(lifetime), float(settings.delta))
    rho = Fit("", (noise,)).rho
    rho_left = rho - sum((fit.rho for fit in earlier), Fraction(0))
    steps_left = ledger_steps(rho) - sum(fit.steps for fit in earlier)
    if rho_left <= 0 or steps_left < 2 * fits:
        raise PrivacyError(
            f"Earlier fits leave too little of the lifetime {lifetime:g} for a plan of {fits} "
            "fits. Nothing was drawn, spent or written."
        )
    name = secrets.token_hex(8)
    sigma = _find_smallest_sigma(fits, settings.shares, rho_left, steps_left)
    return FitPlan(name, fits, sigma, settings.shares)


@lru_cache(maxsize=8)
def _noise_of_one_sum(epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier with which one sum costs (epsilon, delta)."""
    return smallest_noise(event_of_sum, epsilon=epsilon, delta=delta, accountant=GDPAccountant)


@lru_cache(maxsize=8)  # audits make the same plan many times
def _find_smallest_sigma(
    fits: int, shares: tuple[float, ...], rho_left: Fraction, steps_left: int
) -> float:
    """Find the smallest sigma of a plan whose fits together cost at most what is left.

    Args:
        fits: Number of fits of the plan.
        shares: Shares of the sums in the mu^2 of the first fit.
        rho_left: Largest sum of the fits' exact costs.
        steps_left: Largest sum of their costs in a ledger.
    """

    def is_affordable(sigma: float) -> bool:
        """Tell whether the plan with this multiplier keeps both bounds."""
        first, later = FitPlan("", fits, sigma, shares).all_fits()[:2]
        first_rho, later_rho = first.rho, later.rho
        all_rho = first_rho + (fits - 1) * later_rho
        all_steps = ledger_steps(first_rho) + (fits - 1) * ledger_steps(later_rho)
        return all_rho <= rho_left and all_steps <= steps_left

    # One sum with multiplier sigma costs rho = 1 / (2 sigma^2).
    low = 1 / math.sqrt(2 * rho_left)
    high = low
    while not is_affordable(high):
        high *= 1.1
    while high / low - 1 > 1e-14:
        middle = (low + high) / 2
        if is_affordable(middle):
            high = middle
        else:
            low = middle
    return high
