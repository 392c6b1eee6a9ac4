"""The planner's numbers are the theory's, and its choices are the best it has."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.synthetic_worlds import Blocks, example_blocks
from tacit.designs.sketches import theory
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.information import maxsense_information
from tacit.designs.sketches.messages import exposed_bits
from tacit.designs.sketches.planner import plan
from tacit.errors import ConfigError
from tests.support.seen import require_any


def method(found, name):
    return next(m for m in found.methods if m.method == name)


def test_lower_bounds_are_named():
    """The four bounds under their names, as the theory has them."""
    bounds = plan(items=100, rated=1, epsilon=1.0).lower_bounds
    assert bounds == {
        "ldp": theory.ldp_bound(100, 1.0, 0.1),
        "scarce": theory.scarce_bound(100, 1, 1.0, 0.1),
        "adaptive": theory.adaptive_bound(100, 1, 1.0, 0.1),
        "one_bit": theory.one_bit_bound(100, 0.1),
    }


def test_wrong_labels_leave_less_to_learn():
    """A ball of labelings with a tenth of mistakes holds 2^(N h2(0.1)) at most: counted for 100
    labels, beside the bits that are left; no adaptive bound is known then."""
    found = plan(items=100, rated=1, epsilon=1.0, wrong=0.1)
    ball = sum(math.comb(100, k) for k in range(11))
    left = theory.unknown_bits(100, 0.0, 0.1) + 1
    assert left <= 100 - math.log2(ball) < left + 5
    assert set(found.lower_bounds) == {"ldp", "scarce", "one_bit"}
    exact = plan(items=100, rated=1, epsilon=1.0).lower_bounds
    share = theory.unknown_bits(100, 0.1, 0.1) / theory.unknown_bits(100, 0.1)
    for name, bound in found.lower_bounds.items():
        assert bound == pytest.approx(share * exact[name])
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
    missing = dict.fromkeys(("ldp", "scarce", "adaptive", "one_bit"))
    assert found.to_dict()["lower_bounds"] == missing
    assert found.information == ()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1000.0])
@pytest.mark.parametrize("unit", ["user", "rating", "moved rating"])
def test_one_bit_is_for_one_rated_item_at_any_epsilon(epsilon, unit):
    """Theorem 4.3 holds whatever the noise and its unit, for one rated item; else it is null."""
    one = plan(items=1682, rated=1, epsilon=epsilon, unit=unit)
    assert round(one.to_dict()["lower_bounds"]["one_bit"]) == 1_763_734
    two = plan(items=1682, rated=2, epsilon=epsilon, unit=unit)
    assert two.to_dict()["lower_bounds"]["one_bit"] is None


ONE_CLASS = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.9, 0.1]]))
UNEQUAL = Blocks(
    np.array([0.2, 0.8]), np.array([0.7, 0.1, 0.2]), np.array([[0.9, 0.2, 0.5], [0.3, 0.8, 0.1]])
)


def test_pairs_work_where_one_class_of_people_is():
    """Sixty items, all rated, epsilon 1: about 61,656 people, as simulations find."""
    found = plan(items=60, rated=60, epsilon=1.0, blocks=ONE_CLASS)
    assert round(method(found, "pairwise-preference").users_clt) == 61_656


def pair_answers(world, items, epsilon, *, both_rated, identical):
    """(items, items) chance of a yes about every pair, item by item."""
    labels = world.labels(items)
    likes = world.likes[:, labels]
    chances = np.zeros((items, items))
    for share, liked in zip(world.people, likes, strict=True):
        chances += share * np.outer(liked, liked)
        if identical:
            chances += share * np.outer(1 - liked, 1 - liked)
    true = both_rated * chances
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    return kept * true + (1 - kept) * (1 - true)


@pytest.mark.parametrize(
    ("name", "both_rated", "identical"),
    [
        ("pairwise-preference", 0.2 * 19 / 99, False),
        ("pairwise-identical", 0.2 * 19 / 99, True),
        ("pairwise-rated", 1.0, False),
        ("pairwise-rated-identical", 1.0, True),
    ],
)
def test_pairs_are_planned_for_the_matrix_of_all_items(name, both_rated, identical):
    """Unequal shares of items and people: eigenvalues and mean of the whole matrix of 100 items."""
    found = method(plan(items=100, rated=20, epsilon=1.5, clusters=3, blocks=UNEQUAL), name)
    answers = pair_answers(UNEQUAL, 100, 1.5, both_rated=both_rated, identical=identical)
    values = np.linalg.eigvalsh(answers)
    largest = values[np.argsort(-np.abs(values))[:3]] / 100
    np.testing.assert_allclose(found.spectrum.eigenvalues, largest, rtol=1e-9)
    mean, smallest = answers.mean(), abs(largest[2])
    assert found.users_clt == pytest.approx(99 * mean * math.log(1000) / smallest**2, rel=1e-6)


def test_a_pair_of_rated_items_needs_two():
    """Who rated one item names no pair: no number of people is enough."""
    found = plan(items=100, rated=1, epsilon=1.0)
    for name in ("pairwise-rated", "pairwise-rated-identical"):
        assert method(found, name).users_clt == math.inf
        assert method(found, name).spectrum is None


def test_what_shows_rated_items_is_not_advised():
    """Pairs of rated items need the fewest people; another method is listed first and advised."""
    found = plan(items=200, rated=20, epsilon=1.0)
    fewest = min(found.methods, key=lambda row: row.users_clt)
    assert fewest.method == "pairwise-rated-identical"
    assert found.best.method == found.methods[0].method == "maxsense"


def test_sets_are_planned_for_the_mean_of_all_items():
    """Unequal shares: the chance of a yes is the mean over items, each with its own."""
    items, rated, epsilon = 100, 20, 1.0
    found = method(
        plan(items=items, rated=rated, epsilon=epsilon, clusters=3, blocks=UNEQUAL), "maxsense"
    )
    made = new_campaign(range(items), rated=rated, epsilon=epsilon, theta=found.theta)
    theta = made.set_size * rated / made.modulus
    likes = UNEQUAL.likes[:, UNEQUAL.labels(items)]
    nothing = (1 - theta * likes.mean(axis=1) / rated) ** rated  # (classes,) no liked item sensed
    hit = UNEQUAL.people @ (1 - nothing[:, None] * (1 - rated / items * likes))
    chance = theory.truth(-epsilon) + theory.rho(epsilon) * hit.mean()
    gaps = UNEQUAL.people @ (np.exp(-theta * likes.mean(axis=1))[:, None] * UNEQUAL.likes)
    apart = np.diff(np.sort(gaps)).min()
    users = theory.clt_users(items, rated, epsilon, theta, apart, chance, 0.1)
    assert found.users_clt == pytest.approx(users, rel=1e-6)


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


@pytest.mark.parametrize(("items", "rated"), [(2, 1), (2, 2), (3, 2), (5, 1)])
def test_no_set_holds_the_whole_catalogue(items, rated):
    """Of such sets, which tell no item from another, no number of people would be enough."""
    found = method(plan(items=items, rated=rated, epsilon=20.0), "maxsense")
    assert found.theta < rated


@pytest.mark.parametrize("rated", [1, 2])
def test_sets_are_small_beside_the_catalogue(rated):
    """For larger sets the formula promises a signal that is not there."""
    found = method(plan(items=400, rated=rated, epsilon=1.0), "maxsense")
    assert found.theta <= rated / 4


def test_sets_of_one_item_may_fill_the_catalogue():
    """Two questions about two items: one about each, with half the people of one question."""
    found = plan(items=2, rated=1, epsilon=1.0, unit="rating")
    both, one = method(found, "multi-maxsense"), method(found, "maxsense")
    assert (both.questions, both.theta) == (2, 0.5)
    assert both.users_clt == pytest.approx(one.users_clt / 2)


def test_json_has_no_infinity():
    """A method that cannot work has null for its number of people."""
    same = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.9, 0.9]]))
    content = plan(items=60, rated=60, epsilon=1.0, blocks=same).to_dict()
    json.dumps(content, allow_nan=False)
    pairs = next(m for m in content["methods"] if m["method"] == "pairwise-preference")
    assert pairs["users_clt"] is None
    assert pairs["spectrum"]["distinct_eigenvalues"] is False
    keys = {"method", "theta", "questions", "users_clt", "users_theorem", "spectrum"}
    assert set(pairs) == keys


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_examples_can_be_told_apart(clusters):
    """MaxSense and pairs both have something to see in the assumed worlds."""
    world = example_blocks(clusters)
    assert theory.separation(1.0, world.people, world.items, world.likes) > 0.005
    found = plan(items=100, rated=100, epsilon=1.0, clusters=clusters)
    assert all(math.isfinite(row.users_clt) for row in found.methods)


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": 1, "rated": 1},
        {"items": 2**31},
        {"epsilon": 1e-300},
        {"epsilon": 9e-7},
        {"epsilon": 1e6},
        {"rated": 0},
        {"rated": 101},
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"eta": 0.5},
        {"eta": 0.0},
        {"eta": -0.1},
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
    finite = [row for row in found.methods if row.theta is not None and row.users_clt < math.inf]
    for row in require_any(finite):
        made = new_campaign(
            range(items),
            rated=rated,
            epsilon=epsilon,
            unit=unit,
            theta=row.theta,
            questions=row.questions,
        )
        theta, world = made.set_size * rated / made.modulus, example_blocks(2)
        eps = epsilon / exposed_bits("multi-maxsense", unit, row.questions, rated)
        blocks = (world.people, world.items, world.likes)
        chance = float(world.items @ theory.maxsense_chances(items, rated, eps, theta, *blocks))
        gap = theory.separation(theta, *blocks)
        users = theory.clt_users(items, rated, eps, theta, gap, chance, 0.1, row.questions)
        assert row.users_clt == pytest.approx(users)


def test_the_smallest_epsilon_can_be_planned_for():
    """A millionth, which campaigns can state, takes many people and no division by 0."""
    assert math.isfinite(plan(items=100, rated=10, epsilon=1e-6).best.users_clt)


def test_the_chance_of_failure_reaches_every_number():
    """At eta .02 bounds, pairs and sensed sets are those of the theory at .02, not at .1."""
    found = plan(items=100, rated=1, epsilon=1.0, eta=0.02)
    assert found.lower_bounds == {
        "ldp": theory.ldp_bound(100, 1.0, 0.02),
        "scarce": theory.scarce_bound(100, 1, 1.0, 0.02),
        "adaptive": theory.adaptive_bound(100, 1, 1.0, 0.02),
        "one_bit": theory.one_bit_bound(100, 0.02),
    }
    usual = plan(items=100, rated=20, epsilon=1.0)
    surer = plan(items=100, rated=20, epsilon=1.0, eta=0.02)
    for name in ("pairwise-preference", "pairwise-rated"):
        more = method(surer, name).users_clt / method(usual, name).users_clt
        assert more == pytest.approx(math.log(100 / 0.02) / math.log(100 / 0.1))
    assert method(surer, "maxsense").users_clt > method(usual, "maxsense").users_clt
    assert method(surer, "maxsense").users_theorem > method(usual, "maxsense").users_theorem


def test_information_is_that_of_the_planned_sets():
    """Where several questions are asked MaxSense has another theta than they: the information of
    its one bit is at its own."""
    found = plan(items=200, rated=20, epsilon=6.0)
    sizes = {}
    for name in ("maxsense", "multi-maxsense"):
        theta = method(found, name).theta
        sizes[name] = new_campaign(range(200), rated=20, epsilon=6.0, theta=theta).set_size
    assert sizes["maxsense"] != sizes["multi-maxsense"]
    (sensed,) = [one for one in found.information if one.method == "maxsense"]
    assert sensed == maxsense_information(200, 20, 6.0, sizes["maxsense"])
    assert sensed != maxsense_information(200, 20, 6.0, sizes["multi-maxsense"])


def test_almost_half_of_the_labels_may_be_wrong():
    """Up to a half, for little is left to be learned then."""
    bounds = [plan(items=100, rated=10, epsilon=1.0, wrong=w).lower_bounds for w in (0.1, 0.4)]
    assert 0 < bounds[1]["ldp"] < bounds[0]["ldp"]


def test_numbers_of_questions_that_are_tried_double():
    """Of eight sets that fit into ten items one more is not tried, though nine would fit, too."""
    assert (
        method(plan(items=10, rated=3, epsilon=1.0, unit="rating"), "multi-maxsense").questions == 8
    )


@pytest.mark.parametrize(
    ("items", "rated", "epsilon", "theta"), [(200, 20, 6.0, 0.8), (1682, 50, 3.0, 0.56)]
)
def test_the_advised_theta_has_no_more_decimals_than_its_sets_need(items, rated, epsilon, theta):
    """It is a number to type: the shortest that leaves sets of the advised size."""
    found = plan(items=items, rated=rated, epsilon=epsilon)
    assert method(found, "multi-maxsense").theta == theta
