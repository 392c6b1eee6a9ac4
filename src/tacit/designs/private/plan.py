"""How many people private lists need, and what each of several fits may cost: before any data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.accounting.gdp import epsilon_of_mu
from tacit.designs.private.refits import largest_rho
from tacit.errors import ConfigError
from tacit.profile_sums.events import LIST_SUMS, combined_noise, noise_multipliers
from tacit.profile_sums.fit_plan import make_plan
from tacit.profile_sums.fits import STEPS_OF_RHO, Fit
from tacit.profile_sums.plan_state import ITEMS, AddedTable
from tacit.profile_sums.settings import DEFAULT_DELTA, Settings
from tacit.profile_sums.usefulness import LEAST_SHARE, expected_share, people_needed

FROZEN_MAP_LOSS = 0.05
"""Share of EASE's gain that later fits lose because they keep the first fit's map of tastes."""


@dataclass(frozen=True)
class Plan:
    """Expectations of one release, or of several that share epsilon."""

    users: int
    """Number of people."""
    items: int
    """Number of target items."""
    epsilon: float
    """Epsilon of one release."""
    delta: float
    releases: int
    """Number of releases."""
    lifetime_epsilon: float
    """Epsilon of all releases together, at the same delta."""
    sigma: float
    """Noise multiplier of all sums of lists in one release."""
    effective_population: float
    """users / sigma."""
    needed: int
    """Number of people from which lists are expected to beat popularity."""

    @property
    def people_missing(self) -> int:
        """Number of further people that are needed."""
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
    """Plan releases that share epsilon equally.

    Their costs add up as mu^2, also where a release is chosen in view of earlier ones.

    Args:
        users: Number of people.
        items: Number of target items.
        epsilon: Epsilon of all releases together.
        delta: Probability that the bound of epsilon fails.
        releases: Number of releases.
        cross_domain: Whether lists are made in another domain than people have rated in.
        stars: Whether each release has stars, too, which take their part of its epsilon.

    Raises:
        ConfigError: There are fewer than 2 people or items, or no release, or epsilon is infinite.
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
    """Expectations of one fit of a plan, beside other ways to spend the same lifetime."""

    week: int
    """Number of the fit, from 1."""
    effective_population: float
    """Effective population of the plan's lists: as of one release with so little noise."""
    worthwhile: bool
    """Whether these lists are expected to beat popularity."""
    single_release: float
    """Effective population of one release of the whole lifetime."""
    fresh_fit: float
    """Effective population of a fit that stands by itself, each with an equal part."""
    share: float
    """Estimated share of EASE's gain over popularity that the plan's lists have."""
    single_release_share: float
    """That of one release of the whole lifetime."""
    fresh_fit_share: float
    """That of a fit that stands by itself."""


def plan_weeks(
    users: int, items: int, lifetime: float, fits: int, weeks: Sequence[int], *, delta: float
) -> tuple[PlannedWeek, ...]:
    """Expect lists of a plan after some of its fits, with the same people in all of them.

    A week stands for one fit, whatever the time between fits. The noise of week w is that of one
    release times sqrt(Q) / W, with W the sum of the precisions of sums 1 and 3 until then, and
    Q = W where nothing is forgotten. Shares of EASE's gain are `expected_share` at that noise; the
    plan's are smaller by `FROZEN_MAP_LOSS`, because its directions of taste are those of the first
    fit.

    Args:
        users: Number of people.
        items: Number of items of the one domain.
        lifetime: Epsilon of all fits together.
        fits: Number of fits, 2 or more.
        weeks: Numbers of fits, from 1.
        delta: Probability that the bound of epsilon fails.

    Raises:
        ConfigError: a week is no fit of the plan.
    """
    settings = Settings(lifetime, delta)
    if not settings.is_private:
        raise ConfigError("A plan needs a finite epsilon: without noise, any two people suffice.")
    if not all(1 <= week <= fits for week in weeks):
        raise ConfigError(f"Weeks are numbers of fits, from 1 to {fits}; got {list(weeks)}.")
    plan = make_plan(fits, lifetime, settings)
    sigma = combined_noise(noise_multipliers(settings))
    planned = []
    for week in weeks:
        table = AddedTable.make_empty((1,))
        for number in range(1, week + 1):
            precision = plan.precision(plan.noises(number)[ITEMS if number == 1 else 1], ITEMS)
            table = table.add(np.zeros(1), precision, plan.forgetting)
        noise = plan.sigma * table.noise_factor
        fresh_noise = sigma * math.sqrt(fits)
        by_tastes = expected_share(items, users, noise, in_plan=True)
        planned.append(
            PlannedWeek(
                week=week,
                effective_population=users / noise,
                worthwhile=users >= people_needed(items, noise),
                single_release=users / sigma,
                fresh_fit=users / fresh_noise,
                share=max(by_tastes - FROZEN_MAP_LOSS, LEAST_SHARE),
                single_release_share=expected_share(items, users, sigma),
                fresh_fit_share=expected_share(items, users, fresh_noise),
            )
        )
    return tuple(planned)


def largest_epsilon_per_fit(
    lifetime: float, delta: float, fits: int, *, stars: bool = False
) -> float:
    """Largest epsilon of three digits that each of so many equal fits may take.

    Args:
        lifetime: Epsilon of all fits together.
        delta: Probability that the bound of epsilon fails.
        fits: Number of fits.
        stars: Whether each fit has stars, too.

    Raises:
        ConfigError: there are too many fits for the lifetime.
    """
    if fits == 1:
        return lifetime
    rho = largest_rho(lifetime, delta)
    exact = epsilon_of_mu(math.sqrt(2 * rho / fits), delta)
    digits = 2 - math.floor(math.log10(exact)) if exact else 0
    largest = math.floor(exact * 10.0**digits)
    for thousandths in range(largest, 0, -1):
        epsilon = round(thousandths * 10.0**-digits, digits)
        fit = Fit("", tuple(noise_multipliers(Settings(epsilon, delta, stars=stars))))
        if fits * fit.rho <= rho and fits * fit.steps <= rho * STEPS_OF_RHO:
            return epsilon
    raise ConfigError(f"So many fits are too many for epsilon {lifetime:g}: plan fewer.")
