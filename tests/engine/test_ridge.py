"""The compiled ridge equals the readable one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tacit.engine.ridge import fitted_values, solve
from tacit.errors import ConfigError

WIDTHS = (1, 2, 3, 4, 5, 7, 8, 13, 20, 33)  # each rounded width is compiled once


@st.composite
def problems(draw):
    """Sparse ratings with empty rows among them, item profiles, and a penalty for each row."""
    rows, items = draw(st.integers(1, 12)), draw(st.integers(1, 40))
    width = draw(st.sampled_from(WIDTHS))
    density = draw(st.sampled_from([0.0, 0.05, 0.4, 1.0]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    shown = generator.random((rows, items)) < density
    shown[generator.integers(rows)] = False
    ratings = sparse.csr_array(np.where(shown, generator.normal(1, 2, (rows, items)), 0.0))
    factors = generator.normal(0, 1, (items, width))
    return ratings, factors, 10 ** generator.uniform(-2, 2, rows)


def solve_reference(ratings, factors, penalties):
    """One person at a time in plain NumPy: what `solve` must equal."""
    solutions = np.zeros((ratings.shape[0], factors.shape[1]))
    identity = np.eye(factors.shape[1])
    for row in range(ratings.shape[0]):
        rated = slice(ratings.indptr[row], ratings.indptr[row + 1])
        profile = factors[ratings.indices[rated]]
        solutions[row] = np.linalg.solve(
            profile.T @ profile + penalties[row] * identity, profile.T @ ratings.data[rated]
        )
    return solutions


@given(problems())
@settings(max_examples=60)
def test_equals_the_reference(problem):
    """On any sparse ratings, profiles and penalties, both solutions agree to 1e-9."""
    ratings, factors, penalties = problem
    np.testing.assert_allclose(
        solve(ratings, factors, penalties),
        solve_reference(ratings, factors, penalties),
        rtol=1e-7,
        atol=1e-9,
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_width_of_the_solution(width):
    """The padding of odd widths does not show: (people, width), and zeros for an empty row."""
    ratings = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))
    factors = np.random.default_rng(width).normal(size=(2, width))
    solutions = solve(ratings, factors, 1.0)
    assert solutions.shape == (2, width)
    assert (solutions[1] == 0).all()


def test_one_penalty_serves_all():
    """A single penalty means the same for each row."""
    ratings = sparse.csr_array(np.random.default_rng(1).normal(size=(5, 9)))
    factors = np.random.default_rng(2).normal(size=(9, 3))
    np.testing.assert_array_equal(
        solve(ratings, factors, 0.3), solve(ratings, factors, np.full(5, 0.3))
    )


def test_solution_is_the_minimum():
    """Any step away from a solution costs more: it is the minimum of the stated sum."""
    generator = np.random.default_rng(3)
    ratings = sparse.csr_array(generator.normal(size=(1, 9)))
    factors = generator.normal(size=(9, 3))

    def loss(p):
        return np.sum((ratings.data - factors @ p) ** 2) + 0.7 * p @ p

    best = solve(ratings, factors, 0.7)[0]
    for step in generator.normal(0, 0.01, (50, 3)):
        assert loss(best + step) > loss(best)


def test_stored_zeros_are_ratings():
    """A stored zero counts as a rating of zero, an absent entry as none."""
    stored = sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), (1, 2))
    absent = sparse.csr_array((np.array([1.0]), np.array([0]), np.array([0, 1])), (1, 2))
    factors = np.ones((2, 1))
    assert solve(stored, factors, 1.0)[0, 0] == pytest.approx(1 / 3)
    assert solve(absent, factors, 1.0)[0, 0] == pytest.approx(1 / 2)


def test_fitted_values_come_in_the_order_of_the_entries():
    """<v_i, p_u> stands where the rating of u for i stands."""
    ratings = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 3.0]]))
    people, factors = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[5.0, 7.0], [11.0, 13.0]])
    np.testing.assert_array_equal(fitted_values(ratings, people, factors), [11.0, 14.0, 26.0])


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.nan, np.inf, np.array([1.0, 0.0])])
def test_penalty_is_above_zero(penalty):
    """A penalty of zero or less, or none at all, is refused: the sum may have no minimum."""
    with pytest.raises(ConfigError, match="penalty"):
        solve(sparse.csr_array(np.ones((2, 3))), np.ones((3, 1)), penalty)


def test_profiles_match_the_items():
    """Ratings of three items with profiles of two are refused, with both numbers."""
    with pytest.raises(ConfigError, match=r"3 items.*got 2"):
        solve(sparse.csr_array(np.ones((2, 3))), np.ones((2, 1)), 1.0)
