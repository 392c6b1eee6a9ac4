"""The closed formulas, on the numbers they are known by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.auditing.exact_losses import exact_loss, exponential_loss
from tacit.designs.xmap import theory

NAN = math.nan


@pytest.mark.parametrize(
    ("candidates", "nats"), [(2, 0.5), (10, 0.897), (100, 0.990), (10_000, 0.9999)]
)
def test_loss_of_one_replacement(candidates, nats):
    """At epsilon 1 the exact loss comes near 1 as candidates grow, and never reaches it."""
    found = theory.replacement_loss(1.0, candidates)
    assert found == pytest.approx(nats, abs=5e-4)
    assert found < 1


@given(st.floats(0.01, 20), st.integers(2, 500))
def test_loss_of_one_replacement_is_the_auditors(epsilon, candidates):
    """The formula is the auditor's closed form of the exponential mechanism."""
    expected = exponential_loss(epsilon, candidates)
    assert theory.replacement_loss(epsilon, candidates) == pytest.approx(expected)


@given(st.floats(0.1, 5), st.integers(2, 6))
def test_loss_of_one_replacement_is_attained(epsilon, candidates):
    """One image from -1 to 1 and all others from 1 to -1: exactly the loss that is stated."""
    first = np.array([-1.0] + [1.0] * (candidates - 1))
    weights = [np.exp(epsilon * side / (2 * theory.SPREAD)) for side in (first, -first)]
    chances = [each / each.sum() for each in weights]
    found = exact_loss(*(dict(enumerate(side)) for side in chances))
    assert found == pytest.approx(theory.replacement_loss(epsilon, candidates), rel=1e-6)


def test_a_table_of_replacements_adds_up():
    """165 images at epsilon .1 cost 3.19 nats at delta 1e-6 in zCDP."""
    assert theory.concentrated_composition(165, 0.1, 1e-6) == pytest.approx(3.19, abs=0.01)


@pytest.mark.parametrize(("n", "candidates", "measured"), [(5, 5, 3.93), (20, 50, 19.29)])
def test_one_person_moves_every_image(n, candidates, measured):
    """What two people were measured to make of a claim of 1.0 lies just below n exact losses."""
    most = n * theory.replacement_loss(1.0, candidates)
    assert 0.98 * most < measured < most


def test_largest_change_of_a_similarity():
    """Centred (2, 2) beside another's (.25, -.25): the similarity goes from -1 to .969."""
    before, after = (
        theory.similarity(np.array(i), np.array(j))
        for i, j in (([0.25], [-0.25]), ([0.25, 2.0], [-0.25, 2.0]))
    )
    assert before == pytest.approx(-1)
    assert after == pytest.approx(0.969, abs=5e-4)


@pytest.mark.parametrize(
    ("i", "j", "printed", "true"),
    [
        ([-1, -2, 2, -2], [-2, 1, -1, 1], 0.333, 0.581),
        ([-0.5, -1.5, -2], [0.5, 2, 0.5], -0.0388, 0.2112),
    ],
)
def test_printed_sensitivity_is_no_bound(i, j, printed, true):
    """One person changes a similarity by more than Theorem 2 says."""
    a, b = np.array(i, dtype=float), np.array(j, dtype=float)
    assert theory.similarity_sensitivity(a, b) == pytest.approx(printed, abs=5e-4)
    assert theory.largest_change(a, b) == pytest.approx(true, abs=5e-4)


def test_a_person_who_rated_one_item_matters():
    """People (2,2), (1,1), (2,-): without the third the similarity goes from .745 to 1."""
    i, j = np.array([2.0, 1.0, 2.0]), np.array([2.0, 1.0, NAN])
    assert theory.similarity(i, j) == pytest.approx(0.745, abs=5e-4)
    assert theory.similarity(i[:2], j[:2]) == pytest.approx(1)


def test_printed_sensitivity_fails_often():
    """Of small random instances more than half break it (3 to 6 people, no zero ratings)."""
    generator = np.random.default_rng(0)
    broken = judged = 0
    for _ in range(600):
        values = generator.choice([-2.0, -1.0, 1.0, 2.0, NAN], size=(2, generator.integers(3, 7)))
        printed = theory.similarity_sensitivity(*values)
        if np.isfinite(printed):
            judged += 1
            broken += theory.largest_change(*values) > printed + 1e-12
    assert broken > judged / 2


@given(st.lists(st.tuples(st.floats(0.1, 5), st.floats(0.1, 5)), min_size=3, max_size=8))
def test_printed_sensitivity_holds_for_co_raters_of_positive_stars(rows):
    """For positive ratings and people who rated both items it is a bound, as its proof assumes."""
    a, b = np.array(rows).T
    assert theory.largest_change(a, b) <= theory.similarity_sensitivity(a, b) + 1e-9


@pytest.mark.parametrize(
    ("k", "epsilon", "candidates", "width"),
    [(50, 0.8, 3000, 7102), (5, 1.0, 3000, 477), (1, 8.0, 100, 6.9)],
)
def test_width_of_the_truncation(k, epsilon, candidates, width):
    """With a constant sensitivity w is above every similarity: Theorems 3 and 4 say nothing."""
    found = theory.truncation(math.inf, k, theory.SPREAD, epsilon, candidates, 0.1)
    assert found == pytest.approx(width, rel=2e-3)
    assert theory.truncation(0.4, k, theory.SPREAD, epsilon, candidates, 0.1) == 0.4


def test_truncation_where_nothing_is_cut():
    """|v| not above k: the k-th similarity itself, as printed also below 0."""
    assert theory.truncation(0.4, 5, 0.1, 1.0, 5, 0.1) == 0.4
    assert theory.truncation(-0.4, 5, 0.1, 1.0, 5, 0.1) == -0.4


def test_nothing_is_similar_to_nothing():
    """A norm of 0 makes a similarity of 0, and without people nothing changes it."""
    assert theory.similarity(np.array([NAN, 0.0]), np.array([1.0, 2.0])) == 0
    assert theory.largest_change(np.empty(0), np.empty(0)) == 0


@pytest.mark.parametrize(
    ("kth", "k", "sensitivity", "epsilon", "candidates", "rho", "w"),
    [
        (9.0, 1, 0.25, 1.0, 2, math.exp(-1), 1.0),
        (9.0, 2, 0.25, 2.0, 5, 6 / math.e, 1.0),
        (0.5, 2, 0.25, 2.0, 5, 6 / math.e, 0.5),
        (-0.5, 2, 0.25, 2.0, 5, 6 / math.e, -0.5),
    ],
)
def test_width_by_hand(kth, k, sensitivity, epsilon, candidates, rho, w):
    """4 k SS / epsilon' times a logarithm of 1, cut at the k-th similarity, even below 0."""
    found = theory.truncation(kth, k, sensitivity, epsilon, candidates, rho)
    assert found == pytest.approx(w)


def test_exponents_by_hand():
    """Two of four, the widest sensitivity .02: w is .16 * .3125 = .05 below the second largest
    similarity, and each is divided by 8 times its own sensitivity."""
    found = theory.neighbour_exponents(
        np.array([0.1, 0.9, 0.8, 0.7]),
        np.array([0.01, 0.02, 0.005, 0.01]),
        2,
        1.0,
        4,
        4 * math.exp(-0.3125),
    )
    assert found == pytest.approx([0.75 / 0.08, 0.9 / 0.16, 0.8 / 0.04, 0.75 / 0.08])


def test_exponents_without_a_sensitivity():
    """0 is raised to a millionth; three places for two candidates cut nothing."""
    found = theory.neighbour_exponents(np.array([0.5, 0.4]), np.zeros(2), 3, 1.0, 2, 0.1)
    assert found == pytest.approx([0.5 / 12e-6, 0.4 / 12e-6])
