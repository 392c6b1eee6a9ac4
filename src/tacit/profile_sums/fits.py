"""One fit as a fact, and what several fits of the same people cost together.

Source     mu^2 adds up: Dong, Roth, Su (2022); also where a later epsilon is chosen in view of
           earlier releases: Smith, Thakurta: Fully adaptive composition for GDP (2022).
Guarantee  For one person's whole profile through all fits: rows of earlier fits and new ones.
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
    """One fit of some people."""

    name: str
    """Drawn at random."""
    noises: tuple[float, ...]
    """Noise multipliers of its sums."""
    assumed_public: tuple[str, ...] = field(default=(), compare=False)
    """What it read off the ratings and took for public: names of `public_facts`."""
    failed: bool = field(default=False, compare=False)
    """Whether it stopped after its first sum, and so released nothing."""
    plan: str = field(default="", compare=False)
    """Name of the plan that it is of; empty: of none."""

    @classmethod
    def with_random_name(cls, settings: Settings, assumed_public: Sequence[str] = ()) -> Fit:
        """Give a fit that is about to be made a random name."""
        return cls.of_noises(noise_multipliers(settings), assumed_public)

    @classmethod
    def of_noises(
        cls, noises: Sequence[float], assumed_public: Sequence[str] = (), plan: str = ""
    ) -> Fit:
        """Make a fit with these noise multipliers, which is about to be made."""
        return cls(secrets.token_hex(8), tuple(noises), tuple(assumed_public), plan=plan)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Fit:
        """Read what `to_row` wrote."""
        name, noises, assumed_public = row[:3]
        multipliers = tuple(float(noise) for noise in noises)
        facts = tuple(str(fact) for fact in assumed_public)
        failed, plan = row[3:] if len(row) > 3 else (False, "")
        return cls(str(name), multipliers, facts, failed=bool(failed), plan=str(plan))

    def to_row(self) -> list[Any]:
        """JSON values; two more only where the fit failed or is of a plan."""
        row: list[Any] = [self.name, list(self.noises), list(self.assumed_public)]
        return [*row, self.failed, self.plan] if self.failed or self.plan else row

    @property
    def rho(self) -> Fraction:
        """mu^2 / 2, never below the exact one."""
        mu = GDPAccountant().add(compose_noises(self.noises)).mu
        return Fraction(mu) ** 2 / 2

    @property
    def steps(self) -> int:
        """Rho in steps of 1e-12, rounded up: what a ledger charges."""
        return math.ceil(self.rho * STEPS_OF_RHO)


FITS_IN_PROCESS: FitCounter[Fit] = FitCounter()
"""Fits that this process has made, of all designs that are made of these sums."""


def count_fit(
    ratings: RatingsSource,
    new_fit: Fit,
    others: Sequence[Fit] = (),
    check: Callable[[tuple[Fit, ...]], None] | None = None,
) -> tuple[Fit, ...]:
    """Count a fit before its first draw, as `FitCounter.add` does.

    A fit without noise is on its own card alone, which says that nobody is protected.
    """
    if all(new_fit.noises):
        return FITS_IN_PROCESS.add(ratings, new_fit, others, check)
    if check is not None:
        check(tuple(others))
    return (*others, new_fit)


def total_epsilon(fits: Sequence[Fit], delta: float) -> float:
    """Epsilon of all fits together, on the exact curve."""
    accountant = GDPAccountant()
    for fit in fits:
        accountant.add(compose_noises(fit.noises))
    return accountant.epsilon(delta)


def list_assumed_public(fits: Sequence[Fit]) -> tuple[str, ...]:
    """List what any of the fits took for public, each once."""
    names = itertools.chain.from_iterable(fit.assumed_public for fit in fits)
    return tuple(dict.fromkeys(names))


def fits_to_header(fits: Sequence[Fit], lifetime: float | None) -> dict[str, Any]:
    """JSON values of a model's fits and of the epsilon that they may cost together."""
    return {"fits": [fit.to_row() for fit in fits], "lifetime": lifetime}


def fits_from_header(
    header: Mapping[str, Any], expected_noises: Callable[[Sequence[Fit]], Sequence[float]]
) -> tuple[tuple[Fit, ...], float | None]:
    """Read what `fits_to_header` wrote.

    Args:
        header: JSON values.
        expected_noises: From all fits to the noise multipliers that the last one has to have.

    Raises:
        ValueError: the fits make no sense, or the last one has other noise than expected.
    """
    lifetime = None if header["lifetime"] is None else float(header["lifetime"])
    if lifetime is not None and not 0 < lifetime < math.inf:
        raise ValueError("its lifetime is no finite number above 0")
    fits = tuple(Fit.from_row(row) for row in header["fits"])
    if not fits or any(not fit.noises or min(fit.noises) < 0 for fit in fits):
        raise ValueError("its list of fits is empty or has negative noise")
    expected = combined_noise(expected_noises(fits))
    if not math.isclose(combined_noise(fits[-1].noises), expected, rel_tol=1e-5):
        raise ValueError("its last fit has other noise than its settings or its plan")
    return fits, lifetime
