"""Populations with a planted attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse


@dataclass(frozen=True)
class LinearPopulation:
    """Ratings that follow the linear model exactly, and all that made them."""

    ratings: sparse.csr_array
    labels: np.ndarray
    centres: np.ndarray
    half_gaps: np.ndarray
    profiles: np.ndarray
    noise: float

    def without_attribute(self) -> sparse.csr_array:
        """Each rating less its attribute's part: what the unrounded scheme releases."""
        signs = np.repeat(2.0 * self.labels - 1, np.diff(self.ratings.indptr))
        data = self.ratings.data - signs * self.half_gaps[self.ratings.indices]
        return sparse.csr_array(
            (data, self.ratings.indices, self.ratings.indptr), shape=self.ratings.shape
        )


def linear_population(seed=0, n_users=900, n_items=150, rated=50, d=4, gap=0.25, noise=0.8):
    """Everybody rates a random set; only how they rate tells the attribute."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(n_users) < 0.6).astype(np.int64)
    profiles = generator.normal(0, 0.6, size=(n_items, d))
    half_gaps = generator.normal(0, gap, size=n_items)
    centres = generator.normal(3.5, 0.4, size=n_items)
    columns = np.sort(np.argsort(generator.random((n_users, n_items)), axis=1)[:, :rated])
    tastes = generator.normal(size=(n_users, d))
    values = (
        centres[columns]
        + np.einsum("urd,ud->ur", profiles[columns], tastes)
        + (2.0 * labels - 1)[:, None] * half_gaps[columns]
        + generator.normal(0, noise, size=columns.shape)
    )
    ratings = sparse.csr_array(
        (values.ravel(), columns.ravel(), np.arange(0, n_users * rated + 1, rated)),
        shape=(n_users, n_items),
    )
    return LinearPopulation(ratings, labels, centres, half_gaps, profiles, noise)


def stars_population(seed=0, n_users=500, n_items=120):
    """One to five stars; the attribute shifts which items are rated and how."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(n_users) < 0.6).astype(np.int64)
    signs = (2.0 * labels - 1)[:, None]
    chances = 0.25 * np.exp(signs * generator.normal(0, 0.3, size=n_items))
    rated = generator.random((n_users, n_items)) < chances
    stars = 3.5 + signs * generator.normal(0, 0.4, n_items) + generator.normal(size=rated.shape)
    return sparse.csr_array(np.where(rated, np.clip(np.round(stars), 1, 5), 0.0)), labels


@pytest.fixture(scope="session")
def linear():
    """A linear population of 900 people."""
    return linear_population()


@pytest.fixture(scope="session")
def stars():
    """(ratings, labels) of 500 people."""
    return stars_population()
