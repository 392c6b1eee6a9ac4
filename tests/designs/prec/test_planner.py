"""What is planned before the first vote."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext

import pytest

from tacit.designs.prec import planner, theory
from tacit.designs.prec.planner import (
    EXACT_VOTERS,
    cached_epsilon,
    floor_epsilon,
    loss_curve,
    plan,
    plan_loss,
    promise_epsilon,
)
from tacit.errors import ConfigError

USUAL = {"objects": 2, "rounds": 1000, "peers": 50, "voters": 300}


SIZES = {"objects": 2, "rounds": 1000, "peers": 50, "voters": 300}


def test_epsilon_is_a_step_at_the_loss_bound():
    """Nothing is proven below it; one number from there on; 0 from the loss of uniform objects."""
    bound = theory.loss_bound(2, 1000, 0, 300, 50)
    losses = (bound * (1 - 1e-9), bound, 100.0, 499.9, 500.0, 1000.0)
    found = [plan_loss(loss, **SIZES).epsilon for loss in losses]
    promise = promise_epsilon(**SIZES)[0]
    assert found == [None, promise, promise, promise, 0.0, 0.0]
    assert promise == pytest.approx(0.525, abs=0.001)


@pytest.mark.parametrize(
    ("sizes", "mode", "epsilon"),
    [
        (SIZES, "promise", 0.525),
        (SIZES | {"rounds": 10**6, "diversity": 100}, "floor", 852.24),
    ],
)
def test_the_least_proven_epsilon_is_named(sizes, mode, epsilon):
    """The smaller of promise and floor; either can be asked for."""
    found = plan_loss(10.0, **sizes)
    assert (found.mode, found.epsilon) == (mode, pytest.approx(epsilon, abs=0.01))
    proven = plan(**sizes)["epsilon_proven"]
    for asked in ("promise", "floor"):
        forced = plan_loss(10.0, **sizes, mode=asked)
        assert (forced.mode, forced.epsilon) == (asked, proven[asked])
    with pytest.raises(ConfigError, match="promise or floor"):
        plan_loss(10.0, **sizes, mode="hope")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rounds": 2000},
        {"peers": 40},
        {"voters": 90},
        {"diversity": 1000, "rounds": 100_000},
        {"diversity": 100, "radius": 60},
        {"objects": 3},
    ],
)
def test_lower_bounds_are_for_the_asked_sizes(changes):
    """Every size reaches Lemma 8 and Theorem 15; the largest decides, and the gap is its factor."""
    sizes = {"diversity": 0, "radius": 0} | SIZES | changes
    m, T, D, R = (sizes[name] for name in ("objects", "rounds", "diversity", "radius"))  # noqa: N806
    n, P = sizes["voters"], sizes["peers"]  # noqa: N806
    loss = theory.loss_bound(m, T, R, n, P)
    found = plan_loss(loss, **sizes)
    eighth, fifteenth = theory.eps_lower_8(T, n, P, loss), theory.eps_lower_15(T, D, R, n, P, loss)
    expected = {"Lemma 8": eighth, "Theorem 15": fifteenth}
    assert {bound.name: bound.epsilon for bound in found.bounds} == expected
    highest = max(expected.values())
    assert found.decides == (max(expected, key=expected.get) if highest else None)
    assert found.gap == (found.epsilon / highest if highest else None)
    assert max(eighth, fifteenth) == theory.eps_lower_bound(m, T, D, R, n, P)


def test_theorem_15_decides_where_the_diversity_is_large():
    """A thousand rounds of two liked objects: the bound of the diversity is above the loss's."""
    sizes = SIZES | {"rounds": 100_000}
    assert plan_loss(10.0, **sizes, diversity=1000).decides == "Theorem 15"
    assert plan_loss(10.0, **sizes).decides == "Lemma 8"


def test_a_loss_that_nobody_keeps_is_called_impossible():
    """Below Theorem 6's bound, for any algorithm; between it and p-REC's bound nothing is said."""
    least = theory.loss_lower_bound(2, 1000, 0, 300, 50)
    assert plan_loss(least * 0.99, **SIZES).impossible
    assert not plan_loss(least, **SIZES).impossible
    assert plan_loss(0.0, **SIZES).decides == "Lemma 8"
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(ConfigError, match="disliked recommendations"):
            plan_loss(wrong, **SIZES)


def test_the_curve_has_the_transitions():
    """From below p-REC's bound to all rounds; both steps and what is just below them are there."""
    curve = loss_curve(**SIZES)
    losses = [point.loss for point in curve]
    bound = theory.loss_bound(2, 1000, 0, 300, 50)
    assert losses == sorted(losses)
    assert losses[0] == pytest.approx(bound / 2)
    assert losses[-1] == pytest.approx(1000)
    epsilons = {point.loss: point.epsilon for point in curve}
    assert (epsilons[bound * (1 - 1e-9)], epsilons[500 * (1 - 1e-9)]) == (None, epsilons[bound])
    assert epsilons[500.0] == 0
    lower = [max(each.epsilon for each in point.bounds) for point in curve]
    assert lower == sorted(lower, reverse=True)


def test_exact_numbers_are_given_as_such():
    """Two objects, few voters: both numbers are exact and there is nothing to explain."""
    found = plan(**USUAL)
    assert found["epsilon_exact"] == {
        "promise": promise_epsilon(**USUAL)[0],
        "floor": floor_epsilon(**USUAL)[0],
    }
    assert (found["epsilon_proven"], found["epsilon_exact_reason"]) == (
        found["epsilon_exact"],
        None,
    )


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"objects": 4, "rounds": 1000, "peers": 50, "voters": 300}, "for 2 or 3 objects"),
        (USUAL | {"diversity": 2}, "for 2 or 3 objects with diversity and radius 0"),
    ],
)
def test_where_nothing_is_exact_a_reason_is_given(setting, reason):
    """No exact number, the best bound in its place, and why."""
    found = plan(**setting)
    assert found["epsilon_exact"] is None
    assert reason in found["epsilon_exact_reason"]
    assert found["epsilon_proven"]["promise"] < found["epsilon_tight"]
    assert found["epsilon_exact"] is None


def test_beyond_the_exact_part_a_reason_is_given(monkeypatch):
    """More voters than are tried one by one: a bound, close to the exact number."""
    whole = plan(**USUAL)["epsilon_proven"]["floor"]
    monkeypatch.setitem(EXACT_VOTERS, 2, 200)
    planner.cached_epsilon.cache_clear()
    found = plan(**USUAL)
    planner.cached_epsilon.cache_clear()
    assert found["epsilon_exact"] is None
    assert "up to 200 voters" in found["epsilon_exact_reason"]
    assert whole < found["epsilon_proven"]["floor"] < 1.5 * whole


def test_one_of_the_two_may_be_exact():
    """Few voters with two credits more: exact under a gate, a bound on a promise."""
    found = plan(objects=2, rounds=100, peers=12, voters=30, radius=1)
    assert found["epsilon_exact"]["promise"] is None
    assert 0 < found["epsilon_exact"]["floor"] == found["epsilon_proven"]["floor"]
    assert "gate alone" in found["epsilon_exact_reason"]


def test_peers_needed_by_theorem_and_exactly():
    """51 where the theorem asks for 498; the formula's own number is the smallest that works."""
    found = plan(**USUAL, epsilon=1.0)["peers_needed"]
    assert (found["theorem"], found["floor"], found["exact_floor"]) == (498, 51, 51)
    assert theory.eps_tight(2, 1000, 0, 0, 498) <= 1 < theory.eps_tight(2, 1000, 0, 0, 497)
    more = plan(objects=4, rounds=1000, peers=50, voters=5000, epsilon=1.0)["peers_needed"]
    assert more["exact_floor"] is None
    assert 24 <= more["floor"] <= more["theorem"]
    none = plan(**USUAL, epsilon=1e-3)["peers_needed"]
    assert (none["floor"], none["exact_floor"]) == (None, None)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_epsilon_is_checked(epsilon):
    """Voters for an epsilon that means nothing are not counted."""
    with pytest.raises(ConfigError, match="finite number above 0"):
        plan(**USUAL, epsilon=epsilon)


def test_machine_output_has_no_infinities():
    """Strict JSON; peers_needed only where it was asked for."""
    found = plan(**USUAL)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert "peers_needed" not in found
    assert "peers_needed" in plan(**USUAL, epsilon=1.0)


CREDITED = {"objects": 3, "rounds": 200, "peers": 40, "voters": 150, "diversity": 5, "radius": 3}
"""No two sizes are equal, and each of them changes every number below."""


def test_every_planned_number_is_of_the_asked_sizes():
    """Diversity and radius, too: each number is the formula's at all of the sizes."""
    found = plan(**CREDITED)
    m, T, D, R, n, P = 3, 200, 5, 3, 150, 40  # noqa: N806
    expected = {
        "gamma": theory.gamma(m, T, R),
        "lambda": theory.lam(m, T, R),
        "loss_bound": theory.loss_bound(m, T, R, n, P),
        "likely_loss_bound": theory.likely_loss_bound(m, T, R, n, P, planner.UNLIKELY),
        "loss_lower_bound": theory.loss_lower_bound(m, T, R, n, P),
        "epsilon_tight": theory.eps_tight(m, T, D, R, P),
        "epsilon_paper": theory.eps_paper(m, T, D, R, P),
        "epsilon_lower_bound": theory.eps_lower_bound(m, T, D, R, n, P),
    }
    assert {name: found[name] for name in expected} == expected
    assert found["epsilon_proven"] == {
        "promise": promise_epsilon(**CREDITED)[0],
        "floor": floor_epsilon(**CREDITED)[0],
    }
    assert {name: found[name] for name in CREDITED} == CREDITED


@pytest.mark.parametrize("wrong", [{"objects": 1}, {"peers": 0}, {"voters": 0}])
def test_a_curve_of_impossible_sizes_is_refused(wrong):
    """The size is named before anything is computed from it."""
    with pytest.raises(ConfigError):
        loss_curve(**{**SIZES, **wrong})


@pytest.mark.parametrize("mode", [None, "promise", "floor"])
def test_the_curve_is_of_the_asked_sizes_and_mode(mode):
    """Each point is the plan of its loss, with the same diversity, radius and mode."""
    curve = loss_curve(**CREDITED, mode=mode, points=4)
    assert curve == [plan_loss(point.loss, **CREDITED, mode=mode) for point in curve]
    bound = theory.loss_bound(3, 200, 3, 150, 40)
    assert bound in [point.loss for point in curve]
    if mode:
        assert {point.mode for point in curve} == {None, mode}


def test_voters_are_counted_for_the_asked_exceptions():
    """With a diversity and a radius more are needed, and one fewer is too few under the gate."""
    sizes = {"objects": 2, "rounds": 50, "voters": 4000, "diversity": 1, "radius": 1}
    found = plan(**sizes, peers=50, epsilon=2.0)["peers_needed"]
    needed = found["floor"]
    assert (
        floor_epsilon(**sizes, peers=needed)[0] <= 2 < floor_epsilon(**sizes, peers=needed - 1)[0]
    )
    assert found["theorem"] == math.ceil(theory.eps_tight(2, 50, 1, 1, 1) / 2)
    exact = plan(objects=2, rounds=50, voters=4000, peers=50, epsilon=2.0)["peers_needed"]
    assert exact["floor"] < needed
    assert exact["theorem"] < found["theorem"]


@pytest.mark.parametrize(("objects", "voters"), [(2, 10**6), (3, 10**5)])
def test_the_smaller_of_two_bounds_is_taken(objects, voters):
    """With more voters than are computed exactly, epsilon is never above the bound of the chain."""
    peers = EXACT_VOTERS[objects]
    sizes = {"objects": objects, "rounds": 1000, "peers": peers, "voters": voters}
    epsilon, basis = floor_epsilon(**sizes)
    chain = theory.eps_chain(objects, 1000, 0, 0, voters, peers, peers)
    assert (epsilon, basis) == (pytest.approx(chain), "bound")


def test_peers_are_exact_only_if_one_fewer_is_known_to_be_too_few():
    """With diversity 1, an exact epsilon of 20 peers says nothing about 19, where a bound is too
    large; the fewest peers that the proofs allow are exact."""
    sizes = {"objects": 2, "rounds": 8, "diversity": 1, "voters": 40, "peers": 20}
    assert floor_epsilon(**sizes)[1] == "exact"
    assert floor_epsilon(**sizes | {"peers": 19})[1] == "bound"
    found = plan(**sizes, epsilon=0.8)["peers_needed"]
    assert (found["floor"], found["exact_floor"]) == (20, None)
    found = plan(**sizes, epsilon=50.0)["peers_needed"]
    assert found["floor"] == found["exact_floor"] == theory.fewest_peers(2)


@pytest.mark.parametrize("mode", ["floor", "promise"])
@pytest.mark.parametrize("objects", [2, 3])
def test_a_bound_for_many_voters_is_not_below_the_exact_epsilon(monkeypatch, mode, objects):
    """Computed as if the exact part ended at fewer voters, and compared with the exact epsilon.

    The bound is the smaller one of two: the exact part with a chain for more voters, and one chain
    of all rounds. Each of them is a bound. With a gate, each is the smaller one somewhere.
    """
    fewest = theory.fewest_peers(objects)
    exact: dict[tuple[int, int, int], float] = {}
    for rounds in (4, 8, 1000, 2**40):
        for peers in (fewest, fewest + 1, fewest + 7):
            for voters in range(peers + 1, peers + 24, 5):
                epsilon, basis = cached_epsilon(mode, objects, rounds, 0, 0, voters, peers)
                assert basis == "exact"
                exact[rounds, peers, voters] = epsilon
    are_chains = set()
    try:
        for (rounds, peers, voters), epsilon in exact.items():
            for exact_voters in {peers, (peers + voters) // 2, voters - 1}:
                monkeypatch.setitem(EXACT_VOTERS, objects, exact_voters)
                cached_epsilon.cache_clear()
                bound, basis = cached_epsilon(mode, objects, rounds, 0, 0, voters, peers)
                assert basis == "bound"
                chain = theory.eps_chain(objects, rounds, 0, 0, voters, peers, peers)
                assert min(bound, chain) >= epsilon, (rounds, peers, voters, exact_voters)
                are_chains.add(bound == pytest.approx(chain, rel=1e-12))
    finally:
        cached_epsilon.cache_clear()
    assert False in are_chains
    assert True in are_chains or mode == "promise"


def test_the_bound_of_very_many_voters_is_not_below_an_exact_loss():
    """A loss of one round of 2^40 rounds and about as many voters, computed with 60 digits."""
    others = (668421556853, 430956003761)  # votes for either object; the voter votes for the second
    voters = sum(others) + 1
    epsilon, _ = floor_epsilon(objects=2, rounds=2**40, peers=voters, voters=voters)
    with localcontext(prec=60):
        with_voter = _exact_chance(others[1] + 1, voters, 2**40)
        without_voter = _exact_chance(others[1], voters - 1, 2**40)
        loss = (with_voter / without_voter).ln()
        assert 0.99 < loss / Decimal(epsilon) <= 1


def _exact_chance(votes: int, voters: int, rounds: int) -> Decimal:
    """Chance of one of two objects with D = R = 0, where the other one has the other votes."""
    log_ratio = Decimal(rounds).ln()
    weights = []
    for count in (votes, voters - votes):
        exponent = log_ratio * (4 * count - voters) / voters
        weights.append(max(exponent.exp() - 1, Decimal(0)))
    gamma = Decimal(2) / (3 * rounds - 1)
    return gamma / 2 + (1 - gamma) * weights[0] / sum(weights)
