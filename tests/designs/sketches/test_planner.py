"""The planner's numbers are the theory's, and its choices are the best it has."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.synthetic_worlds import Blocks, example
from tacit.designs.sketches import theory
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.messages import exposed_bits
from tacit.designs.sketches.planner import plan
from tacit.errors import ConfigError


def method(found, name):
    return next(m for m in found.methods if m.method == name)


def test_lower_bounds_are_named():
    """The three bounds under their names, as the theory has them."""
    bounds = plan(items=100, rated=1, epsilon=1.0).lower_bounds
    assert bounds == {
        "ldp": theory.ldp_bound(100, 1.0, 0.1),
        "scarce": theory.scarce_bound(100, 1, 1.0, 0.1),
        "adaptive": theory.adaptive_bound(100, 1, 1.0, 0.1),
    }


def test_wrong_labels_leave_less_to_learn():
    """A ball of labelings with a tenth of mistakes holds 2^(N h2(0.1)) at most: counted for 100
    labels, beside the bits that are left; no adaptive bound is known then."""
    found = plan(items=100, rated=1, epsilon=1.0, wrong=0.1)
    ball = sum(math.comb(100, k) for k in range(11))
    left = theory.unknown_bits(100, 0.0, 0.1) + 1
    assert left <= 100 - math.log2(ball) < left + 5
    assert set(found.lower_bounds) == {"ldp", "scarce"}
    exact = plan(items=100, rated=1, epsilon=1.0).lower_bounds
    share = theory.unknown_bits(100, 0.1, 0.1) / theory.unknown_bits(100, 0.1)
    assert found.lower_bounds["ldp"] == pytest.approx(share * exact["ldp"])
    assert theory.unknown_bits(100, 0.1, 0.5) == 0
    with pytest.raises(ConfigError, match="wrong labels"):
        plan(items=100, rated=1, epsilon=1.0, wrong=0.5)


@pytest.mark.parametrize("unit", ["rating", "moved rating"])
def test_other_units_have_no_lower_bounds(unit):
    """The bounds are for everything a person rated: for one rating none is given, and JSON says so.

    One rating may cost what everything may not, so a bound for everything could be too high.
    """
    found = plan(items=200, rated=20, epsilon=1.0, unit=unit)
    assert found.lower_bounds == {}
    assert found.to_dict()["lower_bounds"] == {"ldp": None, "scarce": None, "adaptive": None}


@pytest.mark.parametrize(("items", "rated", "epsilon"), [(200, 20, 1), (60, 60, 1), (500, 5, 6)])
def test_no_method_beats_the_bounds(items, rated, epsilon):
    """Whatever is possible needs at least as many people as anybody does."""
    found = plan(items=items, rated=rated, epsilon=epsilon)
    assert found.best.users_clt > max(found.lower_bounds["ldp"], found.lower_bounds["scarce"])


def test_theorem_needs_more_than_the_approximation():
    """The proved number of people is above the one that experiments meet."""
    found = method(plan(items=200, rated=20, epsilon=1.0), "maxsense")
    assert found.users_theorem > found.users_clt


def test_pairs_where_everything_is_rated_sets_where_little_is():
    """Pairs win when everybody rated everything; sensed sets win when people rated little."""
    assert plan(items=60, rated=60, epsilon=1.0).best.method == "pairwise-preference"
    assert plan(items=1000, rated=20, epsilon=1.0).best.method != "pairwise-preference"


def test_questions_for_a_person():
    """Epsilon 6 shared by a person's answers: three questions, better than one."""
    found = plan(items=200, rated=20, epsilon=6.0)
    assert method(found, "multi-maxsense").questions == 3
    assert method(found, "multi-maxsense").users_clt < method(found, "maxsense").users_clt


def test_questions_for_a_rating():
    """One rating touches one set: no bit has to share, and many questions pay."""
    assert exposed_bits("multi-maxsense", "rating", 8, 20) == 1
    assert exposed_bits("multi-maxsense", "moved rating", 8, 20) == 2
    assert exposed_bits("multi-maxsense", "user", 8, 2) == 4
    found = plan(items=200, rated=20, epsilon=1.0, unit="rating")
    assert method(found, "multi-maxsense").questions > 4


def test_json_has_no_infinity():
    """A method that cannot work has null for its number of people."""
    one = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.9, 0.2]]))
    content = plan(items=60, rated=60, epsilon=1.0, blocks=one).to_dict()
    json.dumps(content, allow_nan=False)
    pairs = next(m for m in content["methods"] if m["method"] == "pairwise-preference")
    assert pairs["users_clt"] is None
    keys = {"method", "theta", "questions", "users_clt", "users_theorem"}
    assert set(pairs) == keys


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_examples_can_be_told_apart(clusters):
    """MaxSense and pairs both have something to see in the assumed worlds."""
    world = example(clusters)
    assert theory.separation(1.0, world.people, world.items, world.likes) > 0.005
    pairs = theory.pairwise_users(100, 100, 1.0, world.people, world.items, world.likes, 0.1)
    assert math.isfinite(pairs)
    assert math.isfinite(plan(items=100, rated=100, epsilon=1.0, clusters=clusters).best.users_clt)


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": 1},
        {"items": 2**31},
        {"epsilon": 1e-300},
        {"epsilon": 9e-7},
        {"epsilon": 1e6},
        {"rated": 0},
        {"rated": 101},
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"eta": 0.5},
        {"unit": "household"},
        {"clusters": 1},
    ],
)
def test_nonsense_is_refused(wrong):
    """Parameters that make no sense are named."""
    with pytest.raises(ConfigError):
        plan(**{"items": 100, "rated": 10, "epsilon": 1.0} | wrong)


def test_labels_of_blocks():
    """Every cluster gets its share of the items, and none is left empty."""
    world = Blocks(np.ones(1), np.array([0.3, 0.7]), np.array([[0.9, 0.2]]))
    assert np.bincount(world.labels(10)).tolist() == [3, 7]
    with pytest.raises(ConfigError, match="too few"):
        Blocks(np.ones(1), np.array([0.01, 0.99]), np.array([[0.9, 0.2]])).labels(3)


@pytest.mark.parametrize("epsilon", [20.0, 1e3, 2147.0])
def test_a_huge_epsilon_can_be_planned_for(epsilon):
    """Nothing overflows where noise is nearly none, and fewer people are needed than at 1."""
    advice = plan(items=100, rated=10, epsilon=epsilon)
    assert math.isfinite(advice.best.users_clt)
    assert advice.best.users_clt < plan(items=100, rated=10, epsilon=1.0).best.users_clt


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 150).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    st.floats(0.01, 20),
    st.sampled_from(["user", "rating", "moved rating"]),
)
@case((60, 20), 1.0, "rating")
@case((61, 61), 1e-6, "rating")
@case((2, 1), 2.0, "user")
def test_what_is_planned_can_be_asked(sizes, epsilon, unit):
    """Every method's finite plan is a campaign, with sets of the theta it was planned with."""
    items, rated = sizes
    found = plan(items=items, rated=rated, epsilon=epsilon, unit=unit)
    for row in found.methods:
        if row.theta is None or math.isinf(row.users_clt):
            continue
        made = new_campaign(
            range(items),
            rated=rated,
            epsilon=epsilon,
            unit=unit,
            theta=row.theta,
            questions=row.questions,
        )
        theta, world = made.set_size * rated / made.modulus, example(2)
        eps = epsilon / exposed_bits("multi-maxsense", unit, row.questions, rated)
        blocks = (world.people, world.items, world.likes)
        chance = float(world.items @ theory.maxsense_chances(items, rated, eps, theta, *blocks))
        gap = theory.separation(theta, *blocks)
        users = theory.clt_users(items, rated, eps, theta, gap, chance, 0.1, row.questions)
        assert row.users_clt == pytest.approx(users)


def test_the_smallest_epsilon_can_be_planned_for():
    """A millionth, which campaigns can state, takes many people and no division by 0."""
    assert math.isfinite(plan(items=100, rated=10, epsilon=1e-6).best.users_clt)
