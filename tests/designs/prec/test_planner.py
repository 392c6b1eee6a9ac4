"""What is planned before the first vote."""

from __future__ import annotations

import json
import math

import pytest

from tacit.designs.prec import planner, theory
from tacit.designs.prec.planner import EXACT_VOTERS, floor_epsilon, plan, promise_epsilon
from tacit.errors import ConfigError

USUAL = {"objects": 2, "rounds": 1000, "peers": 50, "voters": 300}


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
    assert "up to 200 of them" in found["epsilon_exact_reason"]
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
