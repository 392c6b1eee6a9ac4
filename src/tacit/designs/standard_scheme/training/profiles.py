"""Item profiles that stars are predicted by: latent factors, explicit features, or both.

Source      US patent application "Privacy protection against curious recommenders": profiles are
            "a combination of matrix factorization (latent) and explicit functions of the movie
            descriptors (such as genres)"; its numbers are those of `PUBLISHED`.
Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear, and the public catalogue.
Releases    nothing by itself.
Guarantee   none for the consenting people: factors are fitted to their exact ratings.
Deviations  alternating ridge regressions where the patent uses 20 rounds of gradient descent. In
            the sound variant item means are taken out first, so that a ridge pulls towards the
            item's mean and not to 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.server import Profiles
from tacit.designs.standard_scheme.training.people import Floats, Ints, entry_people, replace_data
from tacit.designs.standard_scheme.training.tables import FEWEST, Tables
from tacit.engine.ridge import fitted_values, solve

ProfileKind = Literal["latent", "features", "latent+features"]
PROFILE_KINDS: tuple[ProfileKind, ...] = get_args(ProfileKind)

MEAN_PSEUDO_RATINGS = 5.0
"""Ratings of the overall mean that an item's mean is shrunk by, in the sound variant."""
START_SPREAD = 0.1
"""Standard deviation of the factors that the first sweep starts from."""


@dataclass(frozen=True)
class Penalties:
    """Numbers of the factorisation and of a person's estimate."""

    factors: float
    """Penalty of the factorisation, in squared stars of a scale of five."""
    per_rating: bool
    """Whether that penalty is paid once for each rating, as gradient descent over ratings pays
    it."""
    sweeps: int
    """Rounds of the factorisation."""
    ridge: float
    """Penalty of a person's estimate, in the same unit."""


PUBLISHED = Penalties(factors=0.02, per_rating=True, sweeps=20, ridge=0.1)
"""The patent's numbers, whatever the scale."""
SOUND = Penalties(factors=10.0, per_rating=False, sweeps=10, ridge=10.0)
"""For five whole stars; on other scales they grow like a rating."""


@dataclass(frozen=True)
class ProfileSettings:
    """Choices of item profiles."""

    kind: ProfileKind = "latent"
    """What describes an item: "latent" factors, known "features", or "latent+features"."""
    factors: int = 20
    """Number of latent factors of an item."""
    published: bool = False
    """Whether the patent's numbers and stars as they are are taken."""
    seed: int = 0
    """Seed of the start of the factorisation."""


def train_profiles(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    n_levels: int,
    *,
    lowest: float,
    settings: ProfileSettings,
    features: Floats | None = None,
) -> Profiles:
    """Fit item profiles to r - x0 v0 of consenting people.

    Sound: item means, shrunk by `MEAN_PSEUDO_RATINGS`, are taken out first. Items with few raters
    share one mean and have no factors: a mean of their own would be the star of a single rater.
    Published: stars as they are, and factors for every item.

    Args:
        levels: (people, items) CSR of levels.
        labels: (people, attributes) row of each person in each of the tables.
        tables: One for each attribute.
        n_levels: Whole levels of the scale, 0 on a continuous one.
        lowest: The lowest star, in levels.
        settings: What describes an item, and the variant.
        features: (items, d) explicit features; needed unless profiles are latent.
    """
    residuals = subtract_offsets(levels, labels, tables)
    n_items = levels.shape[1]
    growth = ((n_levels or 5) - 1) / 4
    if settings.published:
        penalties = PUBLISHED
        growth = 1.0
        intercepts = np.full(n_items, -lowest)
        common = np.ones(n_items, dtype=bool)
    else:
        penalties = SOUND
        intercepts, common = item_means(levels.indices, residuals, n_items)
    matrix = replace_data(levels, residuals - intercepts[levels.indices])
    known = np.zeros((n_items, 0))
    if settings.kind != "latent":
        assert features is not None  # the caller read them
        known = math.sqrt(growth) * features  # like factors, which share a rating with tastes
    profiles = known
    if settings.kind != "features":
        factors = np.zeros((n_items, settings.factors))
        factors[common] = factorize_beside(
            matrix[:, np.flatnonzero(common)],
            known[common],
            factors=settings.factors,
            penalty=growth * penalties.factors,
            sweeps=penalties.sweeps,
            per_rating=penalties.per_rating,
            seed=settings.seed,
        )
        profiles = np.hstack([known, factors])
    return Profiles(intercepts, profiles, ridge=growth * penalties.ridge)


def subtract_offsets(levels: sparse.csr_array, labels: Ints, tables: Sequence[Tables]) -> Floats:
    """(ratings,) levels without what the public offsets say a person's attributes add."""
    people = entry_people(levels)
    residuals: Floats = levels.data.copy()
    for position, table in enumerate(tables):
        residuals -= table.offsets[labels[people, position], levels.indices] / MICRO
    return residuals


def factorize_beside(
    ratings: sparse.csr_array,
    features: Floats,
    *,
    factors: int,
    penalty: float,
    sweeps: int,
    per_rating: bool,
    seed: int,
) -> Floats:
    """Fit latent factors of items to what known features leave, by alternating ridge regressions.

    In each sweep a person's weights of features and tastes are estimated together; then each item's
    factors are, from what the features do not explain. Without features this is
    `tacit.engine.ridge.alternating_ridge`.

    Args:
        ratings: (people, items) CSR, centred.
        features: (items, d) known columns of the profiles; d may be 0.
        factors: How many columns are fitted beside them.
        penalty: Penalty of weights and factors, in squared units of the ratings.
        sweeps: Rounds, 1 or more.
        per_rating: Whether the penalty is paid once for each entry of a row or column.
        seed: Places the start.

    Returns:
        (items, factors) fitted columns.
    """
    by_item = sparse.csr_array(ratings.T.tocsr())
    person_penalty: float | Floats = penalty
    item_penalty: float | Floats = penalty
    if per_rating:
        person_penalty = penalty * np.maximum(np.diff(ratings.indptr), 1)
        item_penalty = penalty * np.maximum(np.diff(by_item.indptr), 1)
    n_features = features.shape[1]
    latent = np.random.default_rng(seed).normal(0.0, START_SPREAD, (ratings.shape[1], factors))
    for _ in range(sweeps):
        people = solve(ratings, np.hstack([features, latent]), person_penalty)
        explained = fitted_values(by_item, features, people[:, :n_features])
        unexplained = replace_data(by_item, by_item.data - explained)
        latent = solve(unexplained, people[:, n_features:], item_penalty)
    return latent


def item_means(items: Ints, residuals: Floats, n_items: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Mean level of each item, and which items have enough raters for a mean of their own."""
    counts = np.bincount(items, minlength=n_items).astype(float)
    sums = np.bincount(items, residuals, minlength=n_items)
    common = counts >= FEWEST
    counts[~common] = counts[~common].sum()
    sums[~common] = sums[~common].sum()
    pseudo_sum = MEAN_PSEUDO_RATINGS * float(residuals.mean())
    return (sums + pseudo_sum) / (counts + MEAN_PSEUDO_RATINGS), common
