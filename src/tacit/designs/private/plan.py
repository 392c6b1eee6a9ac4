"""Estimates before any data: how many people private lists need, what each fit may cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.accounting.gdp import epsilon_of_mu
from tacit.designs.private.refits import largest_rho
from tacit.errors import ConfigError
from tacit.profile_sums.events import LIST_SUMS, combined_noise, noise_multipliers
from tacit.profile_sums.fit_plan import FitPlan, make_plan
from tacit.profile_sums.fits import STEPS_OF_RHO, Fit
from tacit.profile_sums.plan_state import ITEMS, AddedTable
from tacit.profile_sums.settings import DEFAULT_DELTA, Settings
from tacit.profile_sums.usefulness import LEAST_SHARE, expected_share, people_needed

FROZEN_MAP_LOSS = 0.05
"""Estimated share of EASE's gain over popularity that a plan's lists lose because all fits use the
directions of taste that the first fit chose."""


@dataclass(frozen=True)
class Plan:
    """Estimates for one release, or for each of several releases that share epsilon."""

    users: int
    """Number of people."""
    items: int
    """Number of target items."""
    epsilon: float
    """Epsilon of one release."""
    delta: float
    """Probability by which any event may exceed the bound of epsilon."""
    releases: int
    """Number of releases."""
    lifetime_epsilon: float
    """Epsilon of all releases together, at the same delta."""
    sigma: float
    """Noise multiplier of all sums of lists of one release together."""
    effective_population: float
    """users / sigma."""
    needed: int
    """Fewest people with whom lists are expected to beat popularity."""

    @property
    def people_missing(self) -> int:
        """Number of people to add until there are `needed`; 0 if there are enough."""
        return max(0, self.needed - self.users)

    @property
    def worthwhile(self) -> bool:
        """Whether lists are expected to beat popularity."""
        return self.users >= self.needed


def plan_releases(
    users: int,
    items: int,
    epsilon: float,
    *,
    delta: float = DEFAULT_DELTA,
    releases: int = 1,
    cross_domain: bool = False,
    stars: bool = False,
) -> Plan:
    """Estimate the lists of releases that share epsilon equally.

    The costs of the releases add up as mu^2, even if a release is chosen in view of earlier ones.

    Args:
        users: Number of people, 2 or more.
        items: Number of target items, 2 or more.
        epsilon: Epsilon of all releases together.
        delta: Probability by which any event may exceed the bound of epsilon.
        releases: Number of releases.
        cross_domain: Whether lists are made in another domain than people have rated in.
        stars: Whether each release also has sums of stars, which use a part of its epsilon.

    Raises:
        ConfigError: There are fewer than 2 people or items, or no release; epsilon is infinite; or
            it is too small for so many releases.
    """
    if min(users, items) < 2 or releases < 1:
        raise ConfigError("A plan needs at least 2 people, 2 items and 1 release.")
    if not Settings(epsilon=epsilon, delta=delta).is_private:
        raise ConfigError("A plan needs a finite epsilon: without noise, any two people suffice.")
    fit_epsilon = largest_epsilon_per_fit(epsilon, delta, releases, stars=stars)
    noises = noise_multipliers(Settings(fit_epsilon, delta, stars=stars))
    sigma = combined_noise(noises[:LIST_SUMS])
    return Plan(
        users=users,
        items=items,
        epsilon=fit_epsilon,
        delta=delta,
        releases=releases,
        lifetime_epsilon=epsilon,
        sigma=sigma,
        effective_population=users / sigma,
        needed=people_needed(items, sigma, one_domain=not cross_domain),
    )


@dataclass(frozen=True)
class PlannedWeek:
    """Estimates for one fit of a plan, and for two other ways to spend the same lifetime.

    One release: the whole lifetime is spent on a single fit. Fresh fits: each of the plan's fits is
    made without the earlier ones, with an equal part of the lifetime's mu^2.
    """

    week: int
    """Number of the fit, from 1."""
    effective_population: float
    """Number of people, divided by the noise multiplier of the plan's lists."""
    worthwhile: bool
    """Whether the plan's lists are expected to beat popularity."""
    single_release: float
    """Effective population of the one release."""
    fresh_fit: float
    """Effective population of a fresh fit."""
    share: float
    """Estimated share of EASE's gain over popularity that the plan's lists have."""
    single_release_share: float
    """The same share for the lists of the one release."""
    fresh_fit_share: float
    """The same share for the lists of a fresh fit."""


def plan_weeks(
    users: int, items: int, lifetime: float, fits: int, weeks: Sequence[int], *, delta: float
) -> tuple[PlannedWeek, ...]:
    """Estimate the lists of a plan after some of its fits, with the same people in all of them.

    A week stands for one fit, whatever the time between fits. The noise multiplier after week w is
    that of one release times sqrt(Q) / W. W is the sum of the precisions (`FitPlan.precision`) of
    sum 3, the tastes of items, in fits 1 to w, each times the factors `FitPlan.forgetting` of the
    later fits; Q is the same sum with the squares of these factors. Shares of EASE's gain are
    `expected_share` at that multiplier. The plan's shares are smaller by `FROZEN_MAP_LOSS`, but
    never below `LEAST_SHARE`.

    Args:
        users: Number of people.
        items: Number of items of the one domain.
        lifetime: Epsilon of all fits together.
        fits: Number of fits of the plan, 2 or more.
        weeks: Which fits to estimate, as numbers from 1 to `fits`.
        delta: Probability by which any event may exceed the bound of epsilon.

    Raises:
        ConfigError: A week is no fit of the plan, or the lifetime is infinite.
        PrivacyError: The lifetime is too small for so many fits.
    """
    settings = Settings(lifetime, delta)
    if not settings.is_private:
        raise ConfigError("A plan needs a finite epsilon: without noise, any two people suffice.")
    if not all(1 <= week <= fits for week in weeks):
        raise ConfigError(f"Weeks are numbers of fits, from 1 to {fits}; got {list(weeks)}.")
    plan = make_plan(fits, lifetime, settings)
    sigma = combined_noise(noise_multipliers(settings))
    fresh_noise = sigma * math.sqrt(fits)
    planned = []
    for week in weeks:
        noise = plan.sigma * _noise_factor_after(plan, week)
        share = expected_share(items, users, noise, in_plan=True)
        planned.append(
            PlannedWeek(
                week=week,
                effective_population=users / noise,
                worthwhile=users >= people_needed(items, noise),
                single_release=users / sigma,
                fresh_fit=users / fresh_noise,
                share=max(share - FROZEN_MAP_LOSS, LEAST_SHARE),
                single_release_share=expected_share(items, users, sigma),
                fresh_fit_share=expected_share(items, users, fresh_noise),
            )
        )
    return tuple(planned)


def _noise_factor_after(plan: FitPlan, last_fit: int) -> float:
    """Return the noise of sum 3 after fits 1 to `last_fit`, divided by that of one release."""
    # Zeros are added, because the noise factor depends on the precisions alone.
    table = AddedTable.make_empty((1,))
    for number in range(1, last_fit + 1):
        noises = plan.noises(number)
        # The first fit draws sums 1, 2a, 2b and 3; a later fit draws sums 1 and 3.
        noise_of_sum_3 = noises[ITEMS] if number == 1 else noises[1]
        table = table.add(np.zeros(1), plan.precision(noise_of_sum_3, ITEMS), plan.forgetting)
    return table.noise_factor


def largest_epsilon_per_fit(
    lifetime: float, delta: float, fits: int, *, stars: bool = False
) -> float:
    """Return the largest epsilon that each of `fits` equal fits may have, cut to three digits.

    The three digits are significant ones. If the rounded noise of a fit costs too much at this
    epsilon, the last digit is lowered until it does not. For a single fit the result is the
    lifetime itself, with all its digits.

    Args:
        lifetime: Epsilon of all fits together.
        delta: Probability by which any event may exceed the bound of epsilon.
        fits: Number of fits.
        stars: Whether each fit also has sums of stars.

    Raises:
        ConfigError: There are too many fits for the lifetime.
    """
    if fits == 1:
        return lifetime
    rho = largest_rho(lifetime, delta)
    exact = epsilon_of_mu(math.sqrt(2 * rho / fits), delta)
    # So many decimals leave three significant digits.
    decimals = 2 - math.floor(math.log10(exact)) if exact else 0
    # An epsilon with so many decimals is a whole number of these units. The noise of a fit is
    # rounded, so the largest one may cost slightly too much: then the next smaller one is tried.
    largest_in_units = math.floor(exact * 10.0**decimals)
    for units in range(largest_in_units, 0, -1):
        epsilon = round(units * 10.0**-decimals, decimals)
        fit = Fit("", tuple(noise_multipliers(Settings(epsilon, delta, stars=stars))))
        if fits * fit.rho <= rho and fits * fit.steps <= rho * STEPS_OF_RHO:
            return epsilon
    raise ConfigError(f"So many fits are too many for epsilon {lifetime:g}: plan fewer.")
