"""Rounded constants err on the side of more noise, and by next to nothing."""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.weights import bound_exp_of_minus, falling_weights, truth_numerator

EXACT = Context(prec=150)


def exponential(exponent: Fraction) -> Fraction:
    """e**-exponent to 150 digits, far more than the code uses."""
    numerator, denominator = Decimal(exponent.numerator), Decimal(exponent.denominator)
    return Fraction(EXACT.exp(EXACT.divide(EXACT.minus(numerator), denominator)))


@given(st.fractions(min_value=0, max_value=90))
def test_exponential_is_never_below(exponent):
    """The result is at least e^-x, less than 2^-127 above it, and a multiple of 2^-128."""
    excess = bound_exp_of_minus(exponent) - exponential(exponent)
    assert 0 <= excess < Fraction(1, 1 << 127)
    assert (bound_exp_of_minus(exponent) * 2**128).denominator == 1


def test_exponential_of_much():
    """Beyond the grid it stays above zero; at zero it is one."""
    assert 0 < bound_exp_of_minus(Fraction(10**9)) <= Fraction(1, 1 << 100)
    assert bound_exp_of_minus(Fraction(0)) == 1


@given(
    st.floats(min_value=1e-9, max_value=80),
    st.integers(min_value=2, max_value=1 << 20),
)
def test_loss_of_the_rounded_truth_is_within_the_claim(epsilon, categories):
    """The loss ln(p (k - 1) / (1 - p)) is at most epsilon in exact arithmetic, and not negative."""
    truth = Fraction(truth_numerator(epsilon, categories, 53), 1 << 53)
    odds = truth * (categories - 1) / (1 - truth)
    assert odds >= 1
    assert 1 / odds >= exponential(Fraction(epsilon))


def test_truth_is_below_one_at_any_epsilon():
    """A lie stays possible."""
    assert truth_numerator(1e6, 2, 53) == (1 << 53) - 1


@pytest.mark.parametrize("rate", [Fraction(1, 3000), Fraction(1, 7), Fraction(1), Fraction(60)])
@pytest.mark.parametrize("bits", [10, 62])
def test_weights_fall_no_faster_than_the_rate(rate, bits):
    """Each weight is at most e^rate times the next, never rises, and never ends."""
    weights = falling_weights(rate, 4000, bits).tolist()
    factor = exponential(rate)
    assert weights[0] == 1 << bits
    assert weights[-1] >= 1
    for near, far in itertools.pairwise(weights):
        assert near * factor <= far <= near


def test_weights_follow_the_exponential():
    """Where weights are large they agree with 2^62 e^(-d / 7) to one part in a million."""
    weights = falling_weights(Fraction(1, 7), 150, 62)
    for distance in range(150):
        assert math.isclose(weights[distance], 2.0**62 * math.exp(-distance / 7), rel_tol=1e-6)
