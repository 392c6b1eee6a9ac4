"""Alternating ridge regressions find what was planted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from tacit.engine.ridge import alternating_ridge, fitted_values
from tacit.errors import ConfigError


@pytest.fixture
def planted():
    """40 % of a (120, 80) matrix of rank 3, and the whole of it."""
    generator = np.random.default_rng(4)
    whole = generator.normal(size=(120, 3)) @ generator.normal(size=(3, 80))
    return sparse.csr_array(np.where(generator.random(whole.shape) < 0.4, whole, 0.0)), whole


def objective(ratings, users, items, penalty):
    errors = ratings.data - fitted_values(ratings, users, items)
    return np.sum(errors**2) + penalty * (np.sum(users**2) + np.sum(items**2))


def test_every_sweep_lowers_the_objective(planted):
    """More sweeps never fit worse, and the first ones fit better."""
    ratings, _ = planted
    losses = [
        objective(
            ratings,
            *alternating_ridge(ratings, factors=3, penalty=1.0, sweeps=sweeps, seed=0),
            penalty=1.0,
        )
        for sweeps in range(1, 8)
    ]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(losses))
    assert losses[-1] < 0.9 * losses[0]


def test_recovers_a_planted_matrix(planted):
    """Entries that were never shown are found to 1 % when the rank is right and noise absent."""
    ratings, whole = planted
    users, items = alternating_ridge(ratings, factors=3, penalty=1e-3, sweeps=60, seed=0)
    hidden = ratings.toarray() == 0
    error = np.sqrt(np.mean((users @ items.T - whole)[hidden] ** 2))
    assert error < 0.01 * whole.std()


def test_too_small_a_rank_does_not(planted):
    """The same test fails with two factors: it can tell a recovery from none."""
    ratings, whole = planted
    users, items = alternating_ridge(ratings, factors=2, penalty=1e-3, sweeps=60, seed=0)
    hidden = ratings.toarray() == 0
    assert np.sqrt(np.mean((users @ items.T - whole)[hidden] ** 2)) > 0.2 * whole.std()


def test_empty_rows_and_columns_get_zeros():
    """Whoever rated nothing, and what nobody rated, has a profile of zeros."""
    ratings = sparse.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    users, items = alternating_ridge(ratings, factors=2, penalty=1.0, sweeps=2, seed=0)
    assert not users[1].any()
    assert not items[2].any()


def test_penalty_per_rating_is_paid_once_for_each(planted):
    """Rows of n ratings with penalty p per rating are rows with penalty n p."""
    ratings = sparse.csr_array(np.random.default_rng(5).normal(size=(7, 7)))
    each = alternating_ridge(ratings, factors=2, penalty=0.1, sweeps=3, seed=0, per_rating=True)
    whole = alternating_ridge(ratings, factors=2, penalty=0.7, sweeps=3, seed=0)
    for one, other in zip(each, whole, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("wrong", [{"factors": 0}, {"sweeps": 0}, {"penalty": 0.0}])
def test_settings_in_range(planted, wrong):
    """No factors, no sweeps or no penalty is a mistake in the settings."""
    settings = {"factors": 2, "penalty": 1.0, "sweeps": 1, "seed": 0} | wrong
    with pytest.raises(ConfigError):
        alternating_ridge(planted[0], **settings)
