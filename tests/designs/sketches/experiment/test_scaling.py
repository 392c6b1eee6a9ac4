"""Needs grow as the bounds say, and slopes are fitted as everybody fits them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import linregress

from tacit.data.synthetic_worlds import Blocks
from tacit.designs.sketches.experiment import compare, fitted_slope, scaling
from tacit.errors import ConfigError

ONE_CLASS = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.95, 0.05]]))


def test_slope_is_least_squares():
    """The slope is SciPy's; a power law without noise has its exponent; many lines at once."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=(2, 30))
    assert fitted_slope(x, y) == pytest.approx([linregress(x, line).slope for line in y])
    assert fitted_slope(x, 3 * x) == pytest.approx(3)


def test_more_epsilon_needs_fewer_people():
    """MaxSense below epsilon 1: people fall about as epsilon^-2, and about as the planner says."""
    found = scaling(
        "maxsense", "epsilon", [0.5, 1.0], items=40, rated=10, seeds=4, blocks=ONE_CLASS
    )
    assert -2.9 < found["slope"] < -1.1
    assert found["low"] <= found["slope"] <= found["high"]
    assert -2.2 < found["formula_slope"] < -1.8
    low, high = (need["mean"] for need in found["needs"])
    assert found["mean_slope"] == pytest.approx(np.log(high / low) / np.log(2))
    assert all(0.2 < need["users"] / need["users_clt"] < 1.5 for need in found["needs"])
    assert all(need["mean"] < need["users"] for need in found["needs"])
    assert all(need["unreached"] == 0 for need in found["needs"])
    json.dumps(found | {"rows": []}, allow_nan=False)


def test_a_need_is_read_off_the_rows():
    """Nine of ten seeds are right from `users` on, and not all of them were one step earlier."""
    found = scaling(
        "maxsense", "epsilon", [2.0, 3.0], items=30, rated=10, seeds=11, blocks=ONE_CLASS
    )
    for need in found["needs"]:
        rows = [row for row in found["rows"] if row.epsilon == need["value"]]
        late = {row.seed for row in rows if row.users >= need["users"] * 0.999 and row.accuracy < 1}
        sizes = sorted({row.users for row in rows})
        before = sizes[sizes.index(min(sizes, key=lambda size: abs(size - need["users"]))) - 1]
        earlier = {row.seed for row in rows if row.users >= before and row.accuracy < 1}
        assert len(late) <= 1 < len(earlier)


def test_two_methods_are_compared():
    """At epsilon 6, several questions need fewer people than one, about as the planner says."""
    found = compare(
        ("maxsense", "multi-maxsense"),
        items=60,
        rated=10,
        epsilon=6.0,
        seeds=8,
        blocks=ONE_CLASS,
    )
    one, several = found["needs"]
    assert found["ratio"] == pytest.approx(several["users"] / one["users"])
    assert found["formula_ratio"] == pytest.approx(several["users_clt"] / one["users_clt"])
    assert found["low"] <= found["ratio"] <= found["high"]
    assert 0.5 < found["ratio"] / found["formula_ratio"] < 2
    json.dumps(found | {"rows": []}, allow_nan=False)


@pytest.mark.parametrize(
    ("methods", "seeds"),
    [
        (("maxsense", "maxsense"), 2),
        (("maxsense", "guess"), 2),
        (("maxsense", "multi-maxsense"), 1),
    ],
)
def test_comparisons_of_nonsense_are_refused(methods, seeds):
    """Two methods that exist, two seeds."""
    with pytest.raises(ConfigError):
        compare(methods, items=20, rated=5, seeds=seeds)


def test_what_cannot_work_is_refused():
    """Where MaxSense sees nothing there is nothing to scale."""
    mirror = Blocks(np.full(2, 0.5), np.full(2, 0.5), np.array([[0.9, 0.2], [0.2, 0.9]]))
    with pytest.raises(ConfigError, match="distinguish"):
        scaling("maxsense", "items", [20, 40], rated=10, blocks=mirror)


@pytest.mark.parametrize(
    "wrong", [{"method": "guess"}, {"varied": "theta"}, {"values": [1.0, 1.0]}, {"seeds": 1}]
)
def test_nonsense_is_refused(wrong):
    """Two values of something that can be varied, two seeds."""
    fields = {"method": "maxsense", "varied": "epsilon", "values": [0.5, 1.0], "seeds": 2}
    fields |= wrong
    with pytest.raises(ConfigError):
        scaling(fields["method"], fields["varied"], fields["values"], seeds=fields["seeds"])
