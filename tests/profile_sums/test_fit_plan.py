"""Plans: what their fits cost together, and how their draws add up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.private.refits import largest_rho
from tacit.errors import PrivacyError
from tacit.profile_sums.events import combined_noise, noise_multipliers
from tacit.profile_sums.fit_plan import FitPlan, make_plan
from tacit.profile_sums.fits import STEPS_OF_RHO, total_epsilon
from tacit.profile_sums.plan_state import AddedCounts, AddedTable
from tacit.profile_sums.settings import Settings

SHARES = (0.25, 0.125, 0.125, 0.5)


def test_multipliers_by_hand():
    """Half for the first of 52 fits; a third of each later one's part for counts."""
    plan = FitPlan("p", 52, 1.0, SHARES)
    assert plan.noises(1) == pytest.approx((2.8284, 4, 4, 2), abs=1e-4)
    assert plan.noises(2) == pytest.approx((17.4929, 12.3693), abs=1e-4)
    assert plan.noises(52) == plan.noises(2)


@pytest.mark.parametrize(
    ("forgetting", "weight", "squares", "noise"),
    [(1.0, 7 / 6, 7 / 6, 1.85164), (0.9, 1.038333, 0.931383, 1.85891)],
)
def test_a_state_by_hand(forgetting, weight, squares, noise):
    """Three fits: precisions .5, 1/3 and 1/3, and the noise of their mean in sum 1."""
    plan = FitPlan("p", 3, 1.0, SHARES)
    table = AddedTable.make_empty((1,))
    for number in (1, 2, 3):
        precision = plan.precision(plan.noises(number)[0], 0)
        table = table.add(np.ones(1), precision, forgetting)
    assert table.weight == pytest.approx(weight)
    assert table.squares == pytest.approx(squares, abs=1e-6)
    assert plan.noise_of_sum(0) * table.noise_factor == pytest.approx(noise, abs=1e-5)
    assert table.mean == pytest.approx(1)


def test_both_later_sums_have_one_precision():
    """The state's weights are those of sums 1 and 3 alike; in popularity mode three draws count."""
    plan = FitPlan("p", 52, 1.0, SHARES)
    later = plan.noises(2)
    assert plan.precision(later[0], 0) == pytest.approx(4 * plan.later_share / 3)
    assert plan.precision(later[1], 3) == pytest.approx(4 * plan.later_share / 3)
    first = sum(plan.precision(noise, 3) for noise in plan.noises(1)[1:])
    assert first == pytest.approx(1.5 * plan.first_share)
    twice = plan.precision(later[0], 0) + plan.precision(later[1], 0)
    assert twice == pytest.approx(4 * plan.later_share)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_a_plan_fits_into_a_ledger(epsilon):
    """Steps are rounded up at each fit: multipliers grow by so little that all fits are paid, and
    the sum of charges is the lifetime to within one step a later fit."""
    settings = Settings(epsilon)
    plan = make_plan(52, epsilon, settings)
    sigma = combined_noise(noise_multipliers(settings))
    assert plan.sigma / sigma == pytest.approx(1, abs=1e-5)
    fits = plan.all_fits()
    assert len(fits) == 52
    cap = math.ceil(largest_rho(epsilon, 1e-6) * STEPS_OF_RHO)
    spent = sum(fit.steps for fit in fits)
    assert cap - 52 < spent <= cap
    assert 0.98 * epsilon < total_epsilon(fits, 1e-6) <= epsilon


def test_a_plan_spends_what_earlier_fits_left():
    """A second plan under a larger lifetime: both together are within it."""
    first = make_plan(4, 1.0, Settings(1.0)).all_fits()
    second = make_plan(4, 1.5, Settings(1.5), first).all_fits()
    assert 1.45 < total_epsilon((*first, *second), 1e-6) <= 1.5
    with pytest.raises(PrivacyError, match="too little"):
        make_plan(4, 1.0, Settings(1.0), first)


def test_an_item_that_came_later_is_divided_by_its_own_people():
    """Its share is that of the fits since it came, and so is its noise."""
    empty = np.zeros(1)
    counts = AddedCounts(AddedTable.make_empty((1,)), empty, empty, empty, empty)
    counts = counts.add(np.array([30.0, 50.0]), 0.5, 0.5)
    counts = counts.at_places(np.array([1]), 2)
    counts = counts.add(np.array([7.0, 60.0, 100.0]), 0.5, 0.25)
    assert counts.values.tolist() == [1.75, 30.0]
    assert counts.present.tolist() == [50.0, 100.0]  # people by precision: 200 / 4; and 100 / 2
    assert counts.weights.tolist() == [0.25, 0.75]
    assert counts.squares.tolist() == [0.25, 0.75]
    assert counts.people.mean[0] == pytest.approx((25 + 25) / 0.75)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, int])
def test_a_lifetime_of_another_type_plans_the_same_noise(kind):
    """Also for those who plan after it: equal numbers share what was computed."""
    settings = Settings(4.0, 1e-6)
    first = make_plan(3, kind(4), settings)
    second = make_plan(3, 4.0, settings)
    assert first.all_fits()[0].rho == second.all_fits()[0].rho
    assert sum(fit.rho for fit in second.all_fits()) <= largest_rho(4.0, 1e-6)
