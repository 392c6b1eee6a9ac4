"""A plan: several fits under one budget, public and fixed before the first one.

Source     Dong, Roth, Su (2022): mu^2 adds up over fits whose later questions depend on earlier
           answers.
Guarantee  A person in every fit pays first_share + (fits - 1) * later_share = 1 of 1 / sigma^2;
           one who joins later or leaves pays less.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.errors import PrivacyError
from tacit.profile_sums.events import event_of_sum
from tacit.profile_sums.fits import STEPS_OF_RHO, Fit
from tacit.profile_sums.settings import Settings

_COUNTS_PART = 1 / 3
"""Part of a later fit's mu^2 that sum 1 takes; sum 3 takes the rest."""
MOST_FITS = 10_000
"""Fits of a plan: one a day for 27 years."""
FIRST_SHARE = 0.5
"""Share of the first fit in the mu^2 of all fits."""
FIRST_EDGE = 0.6
"""`Settings.edge` of the first fit: its map serves all fits, so it takes more directions."""


@dataclass(frozen=True)
class FitPlan:
    """Multipliers of all fits of a plan."""

    name: str
    """Drawn at random."""
    fits: int
    """Number of fits, from 2 to `MOST_FITS`."""
    sigma: float
    """Noise multiplier of all fits together."""
    shares: tuple[float, ...]
    """Shares of sums 1, 2a, 2b and 3 in the mu^2 of the first fit."""
    first_share: float = FIRST_SHARE
    """Share of the first fit in the mu^2 of all."""
    forgetting: float = 1.0
    """Factor of all that was released before, at each fit."""

    @property
    def later_share(self) -> float:
        """theta: share of each later fit in the mu^2 of all."""
        return (1 - self.first_share) / (self.fits - 1)

    def noises(self, number: int) -> tuple[float, ...]:
        """Noise multipliers of the sums of fit `number`, from 1: four of the first, then two."""
        if number == 1:
            parts = [share * self.first_share for share in self.shares]
        else:
            parts = [_COUNTS_PART * self.later_share, (1 - _COUNTS_PART) * self.later_share]
        return tuple(self.sigma / math.sqrt(part) for part in parts)

    def noise_of_sum(self, place: int) -> float:
        """Noise multiplier of sum 1, 2a, 2b or 3 (place 0 to 3) in one release of everything."""
        return self.sigma / math.sqrt(self.shares[place])

    def precision(self, noise: float, place: int) -> float:
        """p: precision of a draw with this multiplier, in units of `noise_of_sum(place)`."""
        return (self.noise_of_sum(place) / noise) ** 2

    def count_fits(self, fits: Sequence[Fit]) -> int:
        """Count the fits of this plan among some, failed ones included."""
        return sum(fit.plan == self.name for fit in fits)

    def all_fits(self) -> tuple[Fit, ...]:
        """List every fit of the plan as a fact, for what all of them cost."""
        first = Fit(self.name, self.noises(1), plan=self.name)
        later = Fit(self.name, self.noises(2), plan=self.name)
        return (first, *[later] * (self.fits - 1))

    def to_header(self) -> dict[str, Any]:
        """JSON values."""
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
        """Read what `to_header` wrote; ValueError for numbers that are no plan."""
        plan = cls(**{**header, "shares": tuple(header["shares"])})
        numbers = (plan.sigma, plan.first_share, plan.forgetting, *plan.shares)
        is_whole = isinstance(plan.fits, int) and not isinstance(plan.fits, bool)
        if not isinstance(plan.name, str) or not is_whole or not 2 <= plan.fits <= MOST_FITS:
            raise ValueError("its plan has no number of fits or no name")
        if len(plan.shares) != 4 or not all(number > 0 for number in numbers):
            raise ValueError("its plan makes no sense")
        return plan


def make_plan(
    fits: int, lifetime: float, settings: Settings, earlier: Sequence[Fit] = ()
) -> FitPlan:
    """Make the plan that spends what a lifetime leaves, in a ledger's steps as well.

    The multipliers are the smallest, within 1e-14, for which the fits' steps of a ledger, each
    rounded up, add up to what is left at most.

    Args:
        fits: Number of fits, 2 or more.
        lifetime: Epsilon of all fits of these people together.
        settings: Choices of the fits.
        earlier: Fits of these people before the plan.

    Raises:
        PrivacyError: earlier fits leave nothing.
    """
    noise = smallest_noise(
        event_of_sum, epsilon=lifetime, delta=settings.delta, accountant=GDPAccountant
    )
    rho = Fit("", (noise,)).rho
    rho_left = rho - sum((fit.rho for fit in earlier), Fraction(0))
    steps_left = math.ceil(rho * STEPS_OF_RHO) - sum(fit.steps for fit in earlier)
    if rho_left <= 0 or steps_left < 2 * fits:
        raise PrivacyError(
            f"Earlier fits leave too little of the lifetime {lifetime:g} for a plan of {fits} "
            "fits. Nothing was drawn, spent or written."
        )
    name = secrets.token_hex(8)

    def plan_at(sigma: float) -> FitPlan:
        return FitPlan(name, fits, sigma, settings.shares)

    def is_within(sigma: float) -> bool:
        first, later = plan_at(sigma).all_fits()[:2]
        whole = first.rho + (fits - 1) * later.rho
        return whole <= rho_left and first.steps + (fits - 1) * later.steps <= steps_left

    low = 1 / math.sqrt(2 * rho_left)
    high = low
    while not is_within(high):
        high *= 1.1
    while high / low - 1 > 1e-14:
        middle = (low + high) / 2
        low, high = (low, middle) if is_within(middle) else (middle, high)
    return plan_at(high)
