"""Numbers reach the grid exactly, and odd ones do not reach it at all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.errors import ConfigError, DataError
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.sensitive_values import clamped_integer, clamped_integers, finite_floats

RESOLUTIONS = st.sampled_from([2.0**-30, 2.0**-3, 1.0, 4.0])


@given(st.floats(-100, 100), RESOLUTIONS)
@example(-5e-324, 4.0)
def test_rounds_down_exactly(value, resolution):
    """The step is the floor of the exact quotient."""
    grid = Grid(resolution, -128.0, 128.0)
    assert grid.to_steps(value) == math.floor(Fraction(value) / Fraction(resolution))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-1074, 53))
@example(-5e-324, 1)
def test_rounds_down_exactly_on_every_grid(value, power):
    """Every finite float, clamped, has the floor of the exact quotient on the widest grid."""
    most = min(Fraction(2) ** (power + 52), 2**53)
    grid = Grid(2.0**power, -float(most), float(most))
    clamped = min(max(Fraction(value), -most), most)
    assert grid.to_steps(value) == math.floor(clamped / Fraction(2) ** power)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 53))
@example(2**53 + 3, 2)
@example(-(2**53) + 1, 1)
def test_rounds_integers_down_exactly(value, power):
    """64-bit integers too, those that no float holds among them."""
    most = 2**53 if power else 2**52
    clamped = min(max(value, -most), most)
    grid = Grid(2.0**power, -float(most), float(most))
    assert grid.to_steps(np.int64(value)) == clamped >> power


@pytest.mark.parametrize("value", [2**52 + 1, 2**70, -(2**52) - 1, 1 << 52, -(1 << 52), 0])
def test_one_whole_number_is_clamped_as_many_are(value):
    """Alone or in an array, at most 2^52 from zero; integers of any length."""
    clamped = min(max(value, -(2**52)), 2**52)
    assert (
        clamped_integer(value, shape_error="one")
        == clamped_integer(float(value), shape_error="one")
        == clamped
    )
    assert clamped_integers([float(value)]).tolist() == [clamped]


def test_longer_floats_are_refused():
    """A float of more than 64 bits would be rounded to nearest before it is rounded down."""
    longer = np.dtype(np.longdouble)
    if longer.itemsize == 8:
        pytest.skip("here no float is longer")
    with pytest.raises(DataError, match="64 bits"):
        finite_floats(np.zeros(2, dtype=longer))


@given(st.lists(st.tuples(st.floats(0, 8), st.floats(0, 8)), min_size=1, max_size=6), RESOLUTIONS)
def test_vectors_stay_as_near_as_stated(pairs, resolution):
    """The L1 distance in steps is at most `distance` of the exact L1 distance."""
    one, other = (list(column) for column in zip(*pairs, strict=True))
    grid = Grid(resolution, 0.0, 8.0)
    exact = sum(abs(Fraction(a) - Fraction(b)) for a, b in pairs)
    sensitivity = math.nextafter(float(exact), math.inf)  # at least the exact one
    steps = int(np.abs(grid.to_steps(one) - grid.to_steps(other)).sum())
    assert steps <= grid.distance(sensitivity, len(pairs))


@pytest.mark.parametrize(("changes", "steps"), [((), 3), ((1,), 3), ((4,), 6)])
def test_distance_in_steps(changes, steps):
    """1.2 by halves is 3 steps rounded up, and one more for each further entry."""
    assert Grid(0.5, 0.0, 8.0).distance(1.2, *changes) == steps


def test_bounds_hold():
    """Numbers beyond a bound count as the bound, huge ones too."""
    grid = Grid(0.5, -1.0, 2.0)
    assert grid.to_steps([-1e308, -1.0, 0.7, 2.0, 1e308]).tolist() == [-2, -2, 1, 4, 4]
    assert (grid.first_step, grid.last_step) == (-2, 4)
    assert grid.to_numbers(np.array([1, -7])).tolist() == [0.5, -3.5]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, "4", None])
def test_odd_numbers_are_refused(odd):
    """What is no finite number is refused before any clamp, unrepeated."""
    for check in (finite_floats, clamped_integers, Grid(1.0, 0.0, 5.0).to_steps):
        with pytest.raises(DataError) as refusal:
            check([1.0, odd])
        assert refusal.value.found is None


def test_whole_numbers():
    """Whole floats pass, fractions do not, and giants are clamped to 2^52."""
    assert clamped_integers([1.0, -2, 1e300]).tolist() == [1, -2, 1 << 52]
    with pytest.raises(DataError, match="whole"):
        clamped_integers([1.5])


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
        (4.0, 0.0, 2.0**53 + 4),
        (4.0, -(2.0**53) - 4, 0.0),
    ],
)
def test_fields_in_range(fields):
    """A grid that makes no sense is refused."""
    with pytest.raises(ConfigError):
        Grid(*fields)
