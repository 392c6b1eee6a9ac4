"""Public fields of mechanisms: what is just allowed is taken, what is just not is refused."""

from __future__ import annotations

import math

import pytest

from tacit.errors import ConfigError
from tacit.mechanisms.checks import (
    SMALLEST_EPSILON,
    check_epsilon,
    check_multiplier,
    check_positive,
    check_scale,
    check_whole,
)
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.sums import SumRelease
from tacit.mechanisms.topk import TopSelection

ONE_TO_TWO = {"sensitivity": 1.0, "lower": 1.0, "upper": 2.0, "resolution": 1.0}


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


def test_multipliers():
    """0 is the variant without noise; below it, infinite and undefined ones are refused."""
    for multiplier in (0.0, 5e-324, 0.5, 1e308):
        check_multiplier(multiplier)
    for multiplier in (-5e-324, -0.5, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigError, match="noise_multiplier is a finite number above 0"):
            check_multiplier(multiplier)


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


@pytest.mark.parametrize(
    ("build", "name", "least", "most"),
    [
        (lambda n: LaplaceRelease(1.0, **ONE_TO_TWO, changes=n), "changes", 1, 2**52),
        (lambda n: GaussianRelease(1.0, **ONE_TO_TWO, changes=n), "changes", 1, 2**52),
        (lambda n: SumRelease(1.0, rows=n), "rows", 1, None),
        (lambda n: SumRelease(1.0, 1, width=n), "width", 1, None),
        (lambda n: GramRelease(1.0, items=n), "items", 1, None),
        (lambda n: KaryResponse(1.0, categories=n), "categories", 2, 2**20),
        (lambda n: ThresholdGate(1.0, threshold=n), "threshold", -(2**52), 2**52),
        (lambda n: ThresholdGate(1.0, 0, sensitivity=n), "sensitivity", 1, 2**52),
        (lambda n: TreeCounter(1.0, horizon=n), "horizon", 1, 2**52),
        (lambda n: TreeCounter(1.0, 4, bound=n), "bound", 1, 2**50),
        (lambda n: Selection(1.0, n, **ONE_TO_TWO), "candidates", 1, 2**20),
        (lambda n: TopSelection(n, Selection(1.0, 5, **ONE_TO_TWO)), "k", 1, None),
    ],
)
def test_whole_fields_have_these_ends(build, name, least, most):
    """Both ends are taken, what is beyond them is refused, and the sentence has them."""
    ends = f"at least {least}" + ("" if most is None else f" and at most {most}")
    beyond = [least - 1] if most is None else [least - 1, most + 1]
    for taken in (least, most or least + 1):
        build(taken)
    for refused in beyond:
        with pytest.raises(ConfigError, match=f"^{name} is a whole number, {ends}; got {refused}"):
            build(refused)


def test_candidates_limit_the_list():
    """A list of all candidates is taken, one longer is not."""
    one = Selection(1.0, 5, **ONE_TO_TWO)
    assert TopSelection(5, one).epsilon == 5.0
    with pytest.raises(ConfigError, match="candidates, 5; got 6"):
        TopSelection(6, one)


def test_a_choice_has_a_million_steps():
    """Bounds 2^20 steps apart are taken, and one step more is refused."""
    Selection(1.0, 2, 1.0, -1.0, 2.0**20 - 1, 1.0)
    with pytest.raises(ConfigError, match="at most 1048576 steps apart"):
        Selection(1.0, 2, 1.0, -1.0, 2.0**20, 1.0)


@pytest.mark.parametrize(
    "exact", [LaplaceRelease(math.inf, **ONE_TO_TWO), GaussianRelease(0.0, **ONE_TO_TWO)]
)
def test_without_noise_numbers_stay_as_they_are(exact):
    """Neither clamped nor rounded."""
    assert exact([0.3, -7.0, 1e9]).tolist() == [0.3, -7.0, 1e9]
