"""Public fields of mechanisms: what is just allowed is taken, what is just not is refused."""

from __future__ import annotations

import math

import pytest

from tacit.errors import ConfigError
from tacit.mechanisms.samplers import (
    SMALLEST_EPSILON,
    check_epsilon,
    check_positive,
    check_scale,
    check_whole,
)


def test_the_smallest_epsilon():
    """1e-9 and inf are taken; less, 0, negative numbers and NaN are refused."""
    assert SMALLEST_EPSILON == 1e-9
    for epsilon in (1e-9, 1.0, math.inf):
        check_epsilon(epsilon)
    for epsilon in (9e-10, 0.0, -1.0, math.nan):
        with pytest.raises(ConfigError, match="at least 1e-09"):
            check_epsilon(epsilon)


def test_positive_numbers():
    """Finite and above 0."""
    check_positive("x", 5e-324)
    check_positive("x", 1e308)
    for value in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigError, match="x is a finite number above 0"):
            check_positive("x", value)


def test_scales():
    """0 is the twin without noise; infinite and undefined scales are refused."""
    check_scale(0.0)
    for scale in (math.inf, math.nan):
        with pytest.raises(ConfigError, match="no finite scale"):
            check_scale(scale)


@pytest.mark.parametrize("value", [2, 5])
def test_both_ends_of_a_range_are_taken(value):
    """From least to most, ends included."""
    check_whole("n", value, least=2, most=5)


@pytest.mark.parametrize("value", [1, 6, True, 3.0, "3", None])
def test_beyond_a_range_is_refused(value):
    """Numbers out of range, truth values and what is no whole number; the sentence has the ends."""
    with pytest.raises(ConfigError, match="n is a whole number, at least 2 and at most 5; got"):
        check_whole("n", value, least=2, most=5)


def test_no_upper_end():
    """Without `most` large numbers are taken, and the sentence has the lower end alone."""
    check_whole("n", 10**30, least=1)
    with pytest.raises(ConfigError, match="at least 1; got 0"):
        check_whole("n", 0, least=1)
