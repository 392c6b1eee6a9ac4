"""The record of one fit, and the cost of several fits of the same people together.

Source     mu^2 adds up: Dong, Roth, Su (2022); also if a later epsilon is chosen in view of earlier
           releases: Smith, Thakurta: Fully adaptive composition for GDP (2022).
Guarantee  The cost is that of one person's whole profile in all fits, also if the rows change in
           between.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.accounting import GDPAccountant
from tacit.data.stored_ratings import RatingsSource
from tacit.profile_sums.events import combined_noise, compose_noises, noise_multipliers
from tacit.profile_sums.settings import Settings
from tacit.recommenders.fits_in_process import FitCounter

STEPS_OF_RHO = 10**12
"""Steps of a ledger in one unit of rho."""


@dataclass(frozen=True)
class Fit:
    """The record of one fit: its noise, from which its cost follows."""

    name: str
    """Random name, which distinguishes fits with the same noise."""
    noises: tuple[float, ...]
    """Noise multipliers of its sums; 0: without noise."""
    assumed_public: tuple[str, ...] = field(default=(), compare=False)
    """Names in `public_facts.CONDITIONS` of the facts that the fit assumed to be public."""
    failed: bool = field(default=False, compare=False)
    """Whether the fit stopped after it was charged; then nothing of it was released."""
    plan: str = field(default="", compare=False)
    """Name of the plan to which the fit belongs; empty: to none."""

    @classmethod
    def with_random_name(cls, settings: Settings, assumed_public: Sequence[str] = ()) -> Fit:
        """Record a fit with the noise multipliers of these settings, before it is made."""
        return cls.of_noises(noise_multipliers(settings), assumed_public)

    @classmethod
    def of_noises(
        cls, noises: Sequence[float], assumed_public: Sequence[str] = (), plan: str = ""
    ) -> Fit:
        """Record a fit with these noise multipliers under a random name, before it is made."""
        return cls(secrets.token_hex(8), tuple(noises), tuple(assumed_public), plan=plan)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Fit:
        """Read a fit from the values of `to_row`."""
        name, noises, assumed_public = row[:3]
        multipliers = tuple(float(noise) for noise in noises)
        facts = tuple(str(fact) for fact in assumed_public)
        failed, plan = row[3:] if len(row) > 3 else (False, "")
        return cls(str(name), multipliers, facts, failed=bool(failed), plan=str(plan))

    def to_row(self) -> list[Any]:
        """Return the fit as three JSON values, or five if it failed or belongs to a plan."""
        row: list[Any] = [self.name, list(self.noises), list(self.assumed_public)]
        return [*row, self.failed, self.plan] if self.failed or self.plan else row

    @property
    def rho(self) -> Fraction:
        """Cost of a fit with noise: mu^2 / 2, not below the exact value."""
        mu = GDPAccountant().add(compose_noises(self.noises)).mu
        return Fraction(mu) ** 2 / 2

    @property
    def steps(self) -> int:
        """Cost in a ledger: rho in steps of 1e-12, rounded up."""
        return ledger_steps(self.rho)


def ledger_steps(rho: Fraction) -> int:
    """Return a cost rho in steps of a ledger, rounded up."""
    return math.ceil(rho * STEPS_OF_RHO)


FITS_IN_PROCESS: FitCounter[Fit] = FitCounter()
"""Counts the fits of this process, in all designs that release the sums of this package."""


def count_fit(
    ratings: RatingsSource,
    new_fit: Fit,
    others: Sequence[Fit] = (),
    check: Callable[[tuple[Fit, ...]], None] | None = None,
) -> tuple[Fit, ...]:
    """Count a fit in this process before it draws noise.

    A fit without noise is not counted: it is only on its own card, which says that nobody is
    protected.

    Args:
        ratings: The ratings that are fitted to.
        new_fit: The fit.
        others: Earlier fits that the model itself knows of, the newest last.
        check: Called with all earlier fits; if it raises, the fit is not counted.

    Returns:
        All fits of this ratings object, the new one last; without noise `others` and the new one.
    """
    if all(new_fit.noises):
        return FITS_IN_PROCESS.add(ratings, new_fit, others, check)
    if check is not None:
        check(tuple(others))
    return (*others, new_fit)


def total_epsilon(fits: Sequence[Fit], delta: float) -> float:
    """Return the epsilon of all fits together, by `GDPAccountant`; inf if one has no noise.

    Args:
        fits: The fits.
        delta: Delta of the guarantee.
    """
    accountant = GDPAccountant()
    for fit in fits:
        accountant.add(compose_noises(fit.noises))
    return accountant.epsilon(delta)


def list_assumed_public(fits: Sequence[Fit]) -> tuple[str, ...]:
    """List the names of the facts that any of the fits assumed to be public, each once."""
    names = itertools.chain.from_iterable(fit.assumed_public for fit in fits)
    return tuple(dict.fromkeys(names))


def fits_to_header(fits: Sequence[Fit], lifetime: float | None) -> dict[str, Any]:
    """Return the fits and the epsilon that they may cost together as JSON values."""
    return {"fits": [fit.to_row() for fit in fits], "lifetime": lifetime}


def fits_from_header(
    header: Mapping[str, Any], expected_noises: Callable[[Sequence[Fit]], Sequence[float]]
) -> tuple[tuple[Fit, ...], float | None]:
    """Read the fits, and the epsilon that they may cost together, as `fits_to_header` writes them.

    Args:
        header: JSON values.
        expected_noises: Receives all fits, and returns the noise multipliers that the last of them
            must have.

    Returns:
        The fits, and the epsilon that they may cost together; None: no limit.

    Raises:
        ValueError, KeyError, TypeError: The values are no fits, or the last fit has other noise
            than expected.
    """
    lifetime = None if header["lifetime"] is None else float(header["lifetime"])
    if lifetime is not None and not 0 < lifetime < math.inf:
        raise ValueError("its lifetime is no finite number above 0")
    fits = tuple(Fit.from_row(row) for row in header["fits"])
    if not fits or any(not fit.noises or min(fit.noises) < 0 for fit in fits):
        raise ValueError("it has no fits, or a fit without noise multipliers or with negative ones")
    expected = combined_noise(expected_noises(fits))
    if not math.isclose(combined_noise(fits[-1].noises), expected, rel_tol=1e-5):
        raise ValueError("its last fit has other noise than its settings or its plan")
    return fits, lifetime
