"""What is expected of releases before any is made: people, noise, and shares of a lifetime."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tacit.designs.private import Settings, plan_releases
from tacit.designs.private.next_fit import make_plan_settings
from tacit.designs.private.plan import largest_epsilon_per_fit, plan_weeks
from tacit.errors import ConfigError
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.events import combined_noise, noise_multipliers
from tacit.profile_sums.usefulness import people_needed

DELTA = 1e-6


def test_people_who_are_missing():
    """Lists are worth it from as many people as are needed on; nobody is missing beyond."""
    plan = plan_releases(1000, 100, 1.0)
    assert plan.effective_population == pytest.approx(1000 / plan.sigma)
    at = {users: replace(plan, users=plan.needed + users) for users in (-3, 0, 5)}
    assert {users: one.people_missing for users, one in at.items()} == {-3: 3, 0: 0, 5: 0}
    assert {users: one.worthwhile for users, one in at.items()} == {-3: False, 0: True, 5: True}


@pytest.mark.parametrize("cross_domain", [False, True])
def test_lists_across_domains_need_people_of_their_own(cross_domain):
    """A plan asks for as many people as the figure for its kind of lists, not for the other's."""
    plan = plan_releases(1000, 100, 1.0, cross_domain=cross_domain)
    assert plan.needed == people_needed(100, plan.sigma, one_domain=not cross_domain)
    assert plan.needed != people_needed(100, plan.sigma, one_domain=cross_domain)


@pytest.mark.parametrize("releases", [1, 3])
def test_stars_leave_lists_less(releases):
    """The effective population is that of a fit with stars, whose lists have .6 of mu^2."""
    alone = plan_releases(1000, 100, 1.0, releases=releases)
    with_stars = plan_releases(1000, 100, 1.0, releases=releases, stars=True)
    noises = noise_multipliers(Settings(with_stars.epsilon, DELTA, stars=True))
    assert with_stars.sigma == combined_noise(noises[:4])
    assert with_stars.sigma == pytest.approx(alone.sigma / math.sqrt(0.6), rel=0.01)
    assert with_stars.needed == people_needed(100, with_stars.sigma) > alone.needed


@pytest.mark.parametrize(("lifetime", "fits"), [(1.0, 12), (4.0, 4), (0.5, 52), (8.0, 2)])
def test_equal_fits_have_the_largest_epsilon_of_three_digits(lifetime, fits):
    """All of them fit into the lifetime; a thousandth more of its leading digit would not."""
    epsilon = largest_epsilon_per_fit(lifetime, DELTA, fits)
    assert float(f"{epsilon:.3g}") == epsilon < lifetime
    more = epsilon + 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    whole, each, too_much = (plan_releases(1000, 100, e).sigma for e in (lifetime, epsilon, more))
    # Gaussian noise of equal fits adds up in 1 / sigma^2; a lifetime is charged by zCDP, which is
    # dearer, so that it is used up to a tenth.
    assert 0.9 < fits * (whole / each) ** 2 < 1.01
    assert fits * (whole / too_much) ** 2 > fits * (whole / each) ** 2
    assert largest_epsilon_per_fit(lifetime, DELTA, 1) == lifetime


def test_twelve_fits_and_a_billion():
    """At epsilon 1 each of twelve has .264; so many that each would have none are refused."""
    part = plan_releases(1000, 100, 1.0, delta=DELTA, releases=12)
    assert (part.epsilon, part.lifetime_epsilon, part.releases) == (0.264, 1.0, 12)
    assert part.sigma > plan_releases(1000, 100, 1.0, delta=DELTA).sigma * 3
    with pytest.raises(ConfigError, match="too many"):
        largest_epsilon_per_fit(0.001, DELTA, 10**9)


def test_lists_of_a_plan_get_better_week_by_week():
    """Sums add up: each week is worth more people than the last, and more than a fit by itself;
    rivals are the whole lifetime at once, and an equal part of it."""
    weeks = plan_weeks(1000, 100, 4.0, 4, (1, 2, 3, 4), delta=DELTA)
    assert [one.week for one in weeks] == [1, 2, 3, 4]
    effective_population = [one.effective_population for one in weeks]
    assert effective_population == sorted(effective_population)
    assert effective_population[0] < weeks[0].single_release < effective_population[-1]
    whole = plan_releases(1000, 100, 4.0, delta=DELTA).effective_population
    part = plan_releases(1000, 100, 4.0, delta=DELTA, releases=4).effective_population
    for one in weeks:
        assert one.single_release == pytest.approx(whole)
        assert one.fresh_fit == pytest.approx(whole / 2)
        assert one.fresh_fit == pytest.approx(part, rel=0.1)
        assert one.effective_population > one.fresh_fit


def test_a_week_is_planned_alike_in_any_company():
    """What is asked beside it changes nothing; twice the people are worth twice as many."""
    alone = plan_weeks(1000, 100, 1.0, 12, (6,), delta=DELTA)
    among = plan_weeks(1000, 100, 1.0, 12, (1, 6, 12), delta=DELTA)
    assert alone[0] == among[1]
    twice = plan_weeks(2000, 100, 1.0, 12, (6,), delta=DELTA)[0]
    assert twice.effective_population == pytest.approx(2 * alone[0].effective_population)
    # 2,000 people with the noise of week 6 are enough for 100 items, 1,000 are not.
    assert (alone[0].worthwhile, twice.worthwhile) == (False, True)


@pytest.mark.parametrize("weeks", [(0,), (1, 13)])
def test_a_week_is_a_fit_of_the_plan(weeks):
    """From the first to the last."""
    with pytest.raises(ConfigError, match="from 1 to 12"):
        plan_weeks(1000, 100, 1.0, 12, weeks, delta=DELTA)


def test_a_plan_has_two_fits_or_more():
    """Its settings are those of its fits, with the lifetime for epsilon."""
    settings, choices = Settings(1.0), CatalogueChoices()
    assert make_plan_settings(settings, choices, 2, 8.0).epsilon == 8.0
    for fits in (1, True, 2.0):
        with pytest.raises(ConfigError, match="2 to 10,000 fits"):
            make_plan_settings(settings, choices, fits, 8.0)
    with pytest.raises(ConfigError, match="--lifetime"):
        make_plan_settings(settings, choices, 2, None)


@pytest.mark.parametrize("settings", [Settings(1.0, stars=True), Settings(1.0, mode="top-items")])
def test_a_plan_has_neither_stars_nor_top_items(settings):
    """Either of them alone is refused."""
    with pytest.raises(ConfigError, match="neither stars nor top items"):
        make_plan_settings(settings, CatalogueChoices(), 2, 8.0)


@pytest.mark.parametrize("sizes", [(1, 100), (100, 1)])
def test_a_plan_is_for_several_people_and_items(sizes):
    """One person has nobody to be like, and one item makes no list."""
    with pytest.raises(ConfigError, match="at least 2 people"):
        plan_releases(*sizes, 1.0)
    assert plan_releases(2, 2, 1.0).people_missing > 0
    assert Settings(1.0).is_private
