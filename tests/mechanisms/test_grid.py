"""Numbers reach the grid exactly, and odd ones do not reach it at all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ConfigError, DataError
from tacit.mechanisms.samplers import Grid, finite, whole

RESOLUTIONS = st.sampled_from([2.0**-30, 2.0**-3, 1.0, 4.0])


@given(st.floats(-100, 100), RESOLUTIONS)
def test_rounds_down_exactly(value, resolution):
    """The step is the floor of the exact quotient."""
    grid = Grid(resolution, -128.0, 128.0)
    assert grid.steps(value) == math.floor(Fraction(value) / Fraction(resolution))


@given(st.lists(st.tuples(st.floats(0, 8), st.floats(0, 8)), min_size=1, max_size=6), RESOLUTIONS)
def test_vectors_stay_as_near_as_stated(pairs, resolution):
    """The L1 distance in steps is at most `distance` of the exact L1 distance."""
    one, other = (list(column) for column in zip(*pairs, strict=True))
    grid = Grid(resolution, 0.0, 8.0)
    exact = sum(abs(Fraction(a) - Fraction(b)) for a, b in pairs)
    sensitivity = math.nextafter(float(exact), math.inf)  # at least the exact one
    steps = int(np.abs(grid.steps(one) - grid.steps(other)).sum())
    assert steps <= grid.distance(sensitivity, len(pairs))


def test_bounds_hold():
    """Numbers beyond a bound count as the bound, huge ones too."""
    grid = Grid(0.5, -1.0, 2.0)
    assert grid.steps([-1e308, -1.0, 0.7, 2.0, 1e308]).tolist() == [-2, -2, 1, 4, 4]
    assert (grid.first, grid.last) == (-2, 4)
    assert grid.numbers(np.array([1, -7])).tolist() == [0.5, -3.5]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, "4", None])
def test_odd_numbers_are_refused(odd):
    """What is no finite number is refused before any clamp, unrepeated."""
    for check in (finite, whole, Grid(1.0, 0.0, 5.0).steps):
        with pytest.raises(DataError) as refusal:
            check([1.0, odd])
        assert refusal.value.found is None


def test_whole_numbers():
    """Whole floats pass, fractions do not, and giants are clamped to 2^52."""
    assert whole([1.0, -2, 1e300]).tolist() == [1, -2, 1 << 52]
    with pytest.raises(DataError, match="whole"):
        whole([1.5])


@pytest.mark.parametrize(
    "fields",
    [
        (0.3, 0.0, 3.0),
        (0.0, 0.0, 1.0),
        (-1.0, 0.0, 1.0),
        (math.nan, 0.0, 1.0),
        (1.0, 0.5, 3.0),
        (1.0, 3.0, 3.0),
        (1.0, -math.inf, 3.0),
        (2.0**-60, 0.0, 1.0),
    ],
)
def test_fields_in_range(fields):
    """A grid that makes no sense is refused."""
    with pytest.raises(ConfigError):
        Grid(*fields)
