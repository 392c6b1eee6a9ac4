"""Exact losses: closed forms and enumeration say the same, and what the papers say."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.auditing import exact_losses


def test_randomized_response_is_the_closed_form():
    """Bit release at ln 3: the truth three times out of four, on both bits."""
    truth = {bit: {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)} for bit in (0, 1)}
    assert exact_losses.largest_loss(truth.__getitem__, [(0, 1)]) == pytest.approx(
        math.log(3), rel=1e-12
    )


def test_different_supports_cost_infinity():
    """An outcome that only one neighbour has is infinite, however unlikely."""
    assert exact_losses.exact_loss({0: 10**9, 1: 1}, {0: 1}) == math.inf


def test_within_gives_each_pair_once():
    """Scores 0 and 1 of two candidates: every pair of different vectors is neighbouring."""
    pairs = list(exact_losses.neighbouring_scores(1, 2))
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 6


@pytest.mark.parametrize(
    ("candidates", "known"), [(2, 0.500), (10, 0.897), (100, 0.990), (10_000, 0.9999)]
)
def test_exponential_mechanism_known_numbers(candidates, known):
    """The exponential mechanism at epsilon 1 loses 0.500, 0.897, 0.990, 0.9999."""
    digits = 4 if candidates == 10_000 else 3
    assert round(exact_losses.exponential_loss(1.0, candidates), digits) == known


def exponential(rate, a, b):
    """The loss of two fixed score vectors, P(j) in proportion to e^(rate score)."""
    sums = [np.logaddexp.reduce(rate * np.array(scores)) for scores in (a, b)]
    return float(np.abs(rate * (np.array(a) - np.array(b)) - (sums[0] - sums[1])).max())


@given(st.floats(0.01, 20), st.integers(2, 200))
def test_exponential_closed_form_is_the_fixed_pair(epsilon, candidates):
    """The worst case is one candidate up and all others down."""
    a, b = [1.0] + [0.0] * (candidates - 1), [0.0] + [1.0] * (candidates - 1)
    fixed = exponential(epsilon / 2, a, b)
    assert fixed == pytest.approx(exact_losses.exponential_loss(epsilon, candidates), abs=1e-9)
    assert fixed <= epsilon + 1e-9


@pytest.mark.parametrize("spread", [1, 2, 3])
def test_exponential_closed_form_is_the_worst_pair(spread):
    """Of all neighbouring scores of three candidates none loses more than the closed form says."""
    found = max(exponential(0.5, a, b) for a, b in exact_losses.neighbouring_scores(spread, 3))
    assert found == pytest.approx(exact_losses.exponential_loss(1.0, 3, spread), abs=1e-9)


def test_peeling_costs_each_choice():
    """Two of three candidates with weights one factor e^epsilon apart stay within 2 epsilon."""
    p, q = (
        exact_losses.peeling_distribution([4, 2, 2], 2),
        exact_losses.peeling_distribution([2, 4, 4], 2),
    )
    assert sum(p.values()) == 1
    assert exact_losses.exact_loss(p, q) <= 2 * math.log(4)


def test_gate_keeps_epsilon():
    """AboveThreshold with scales 2 and 4 stays within epsilon 1 on three counts."""
    pairs = [p for p in exact_losses.neighbouring_scores(2, 3) if len(set(p[0])) > 1]
    worst = exact_losses.largest_loss(
        lambda counts: exact_losses.gate_distribution(counts, 1, 2.0, 4.0), pairs
    )
    assert 0.5 < worst <= 1 + 1e-9


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_gate_with_half_the_threshold_noise(epsilon):
    """Ten counts up and the last down show 1.4 of a claim, where three counts show less than it."""
    scales = 1 / epsilon, 4 / epsilon

    def loss(length):
        pair = ((1,) * length + (0,), (0,) * length + (1,))
        return exact_losses.exact_loss(
            *(exact_losses.gate_distribution(counts, 1, *scales) for counts in pair)
        )

    assert loss(3) < epsilon
    assert loss(10) > 1.4 * epsilon


def test_gate_is_a_distribution():
    """The chances of all stopping times sum to one."""
    assert sum(exact_losses.gate_distribution((0, 3, 1), 2, 2.0, 4.0).values()) == pytest.approx(
        1, abs=1e-12
    )
