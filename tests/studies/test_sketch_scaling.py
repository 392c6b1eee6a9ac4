"""Needs grow about as the planner's formula has them, and slopes are fitted as everybody does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import linregress

from benchmarks.studies.sketch_scaling import need, slope


def test_slope_is_least_squares():
    """The slope is SciPy's; a power law without noise has its exponent; many lines at once."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=(2, 30))
    assert slope(x, y) == pytest.approx([linregress(x, line).slope for line in y])
    assert slope(x, 3 * x) == pytest.approx(3)


def test_more_epsilon_needs_fewer_people():
    """All populations get there below the largest size, half of them earlier than nine of ten."""
    few, many = (need("maxsense", 4, items=40, rated=10, epsilon=epsilon) for epsilon in (1.0, 0.5))
    assert 2 < many.people / few.people < 8
    for found in (few, many):
        assert found.unreached == 0
        assert np.exp(found.logs.mean()) < found.people
        assert 0.2 < found.people / found.clt < 1.5
