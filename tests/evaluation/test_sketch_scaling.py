"""Needs grow as the bounds say, and slopes are fitted as everybody fits them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import linregress

from tacit.data.synthetic_blocks import Blocks
from tacit.errors import ConfigError
from tacit.evaluation.sketch_scaling import fitted_slope, scaling

ONE_CLASS = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.95, 0.05]]))


def test_slope_is_least_squares():
    """Slope and error are SciPy's; a power law without noise has its exponent."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    ours, theirs = fitted_slope(x, y), linregress(x, y)
    assert ours.mean == pytest.approx(theirs.slope)
    assert (ours.high - ours.low) / theirs.stderr == pytest.approx(2 * 2.048407, rel=1e-5)
    exact = fitted_slope(x, 3 * x)
    assert exact == pytest.approx((3, 3, 3))


def test_more_epsilon_needs_fewer_people():
    """MaxSense below epsilon 1: people fall about as epsilon^-2, and about as the planner says."""
    found = scaling(
        "maxsense", "epsilon", [0.5, 1.0], items=40, rated=10, seeds=4, blocks=ONE_CLASS
    )
    assert -2.9 < found.slope < -1.1
    assert all(0.2 < need.users / need.users_clt < 1.5 for need in found.needs)
    assert all(need.unreached == 0 for need in found.needs)
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_cannot_work_is_refused():
    """Where MaxSense sees nothing there is nothing to scale."""
    mirror = Blocks(np.full(2, 0.5), np.full(2, 0.5), np.array([[0.9, 0.2], [0.2, 0.9]]))
    # Columns that are equal in floating point.
    with pytest.raises(ConfigError, match="apart"):
        scaling("maxsense", "items", [20, 40], rated=10, blocks=mirror)


@pytest.mark.parametrize("wrong", [{"varied": "theta"}, {"values": [1.0, 1.0]}, {"seeds": 1}])
def test_nonsense_is_refused(wrong):
    """Two values of something that can be varied, two seeds."""
    fields = {"method": "maxsense", "varied": "epsilon", "values": [0.5, 1.0], "seeds": 2}
    fields |= wrong
    with pytest.raises(ConfigError):
        scaling(fields["method"], fields["varied"], fields["values"], seeds=fields["seeds"])
