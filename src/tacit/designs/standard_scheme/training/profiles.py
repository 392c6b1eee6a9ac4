"""Item profiles, by which stars are predicted: latent factors, explicit features, or both.

Source      US patent application "Privacy protection against curious recommenders": profiles are
            "a combination of matrix factorization (latent) and explicit functions of the movie
            descriptors (such as genres)". `PUBLISHED` holds the patent's penalties and rounds.
Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear, and the public catalogue.
Releases    nothing by itself.
Guarantee   none for the consenting people: factors are fitted to their exact ratings.
Deviations  alternating ridge regressions where the patent uses 20 rounds of gradient descent. In
            the sound variant item means are subtracted first, so that the ridge pulls predictions
            towards the item's mean and not towards 0 stars.
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
"""Number of ratings at the overall mean by which an item's mean is shrunk, in the sound variant."""
START_SPREAD = 0.1
"""Standard deviation of the factors that the first sweep starts from."""


@dataclass(frozen=True)
class Penalties:
    """Penalties of the factorisation and of a person's estimate."""

    factors: float
    """Penalty of factors in the factorisation."""
    per_rating: bool
    """Whether that penalty is multiplied by the number of a person's or item's ratings, as it is in
    gradient descent over ratings."""
    sweeps: int
    """Number of rounds of the factorisation."""
    ridge: float
    """Penalty of a person's estimate."""


PUBLISHED = Penalties(factors=0.02, per_rating=True, sweeps=20, ridge=0.1)
"""The patent's penalties, which are the same on every scale."""
SOUND = Penalties(factors=10.0, per_rating=False, sweeps=10, ridge=10.0)
"""Penalties of the sound variant on a scale of five levels. On other scales they are multiplied by
(levels - 1) / 4."""


@dataclass(frozen=True)
class ProfileSettings:
    """Choices of item profiles."""

    kind: ProfileKind = "latent"
    """What describes an item: "latent" factors, explicit "features", or "latent+features"."""
    factors: int = 20
    """Number of latent factors of an item."""
    published: bool = False
    """Whether to use `PUBLISHED`, and to subtract no item means from stars."""
    seed: int = 0
    """Seed of the factors with which the factorisation starts."""


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
    """Fit item profiles to consenting people's levels minus the offsets.

    Sound: item means, shrunk by MEAN_PSEUDO_RATINGS, are subtracted as well. Items with fewer than
    FEWEST raters share one mean and have no latent factors, since their own mean could be the stars
    of a single rater. Published: the offsets alone are subtracted from stars, and every item has
    factors.

    Args:
        levels: (people, items) CSR of true levels.
        labels: (people, attributes) row of each person's value in the tables of each attribute.
        tables: The tables of each attribute, in the same order.
        n_levels: Number of whole levels of the scale; 0 on a continuous scale.
        lowest: The scale's minimum in units of a level; added to a level, it gives stars in this
            unit.
        settings: What describes an item, the variant, the number of factors and their seed.
        features: (items, d) explicit features; None only if profiles are latent.
    """
    residuals = subtract_offsets(levels, labels, tables)
    n_items = levels.shape[1]
    growth = ((n_levels or 5) - 1) / 4  # relative to five levels; a continuous scale has as many
    if settings.published:
        penalties = PUBLISHED
        growth = 1.0
        intercepts = np.full(n_items, -lowest)
        common = np.ones(n_items, dtype=bool)
    else:
        penalties = SOUND
        intercepts, common = item_means(levels.indices, residuals, n_items)
    matrix = replace_data(levels, residuals - intercepts[levels.indices])
    scaled_features = np.zeros((n_items, 0))
    if settings.kind != "latent":
        assert features is not None  # the caller read them
        # A level is approximately a factor times a weight. If levels grow, both grow with the
        # square root, and features have to grow like the factors beside them.
        scaled_features = math.sqrt(growth) * features
    profiles = scaled_features
    if settings.kind != "features":
        factors = np.zeros((n_items, settings.factors))
        factors[common] = factorize_beside(
            matrix[:, np.flatnonzero(common)],
            scaled_features[common],
            factors=settings.factors,
            penalty=growth * penalties.factors,
            sweeps=penalties.sweeps,
            per_rating=penalties.per_rating,
            seed=settings.seed,
        )
        profiles = np.hstack([scaled_features, factors])
    return Profiles(intercepts, profiles, ridge=growth * penalties.ridge)


def subtract_offsets(levels: sparse.csr_array, labels: Ints, tables: Sequence[Tables]) -> Floats:
    """Return (ratings,) levels minus the public offsets of the person's attribute values."""
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
    """Fit latent factors of items beside explicit features, by alternating ridge regressions.

    In each sweep, first each person's weights of features and of factors are estimated together.
    Then each item's factors are estimated from what features and people's weights do not explain.
    Without features this is `tacit.engine.ridge.alternating_ridge`.

    Args:
        ratings: (people, items) CSR of centred levels, or of stars minus offsets (published).
        features: (items, d) explicit features, the first columns of the profiles; d may be 0.
        factors: Number of latent factors of an item.
        penalty: Ridge penalty of weights and of factors. If all ratings are multiplied by c, the
            same fit needs c times the penalty; weights and factors are then sqrt(c) times as large.
        sweeps: Number of rounds, 1 or more.
        per_rating: Whether the penalty is multiplied by the number of a person's or item's ratings.
        seed: Seed of the factors with which the first sweep starts.

    Returns:
        (items, factors) latent factors.
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
    """Compute the mean level of each item, shrunk by MEAN_PSEUDO_RATINGS towards the overall mean.

    Items with fewer than FEWEST ratings get the mean of all ratings of such items, also shrunk.

    Args:
        items: (ratings,) item numbers.
        residuals: (ratings,) levels minus offsets.
        n_items: Number of items.

    Returns:
        (items,) means, and (items,) whether an item has enough ratings for a mean of its own.
    """
    counts = np.bincount(items, minlength=n_items).astype(float)
    sums = np.bincount(items, residuals, minlength=n_items)
    common = counts >= FEWEST
    # Every rare item gets the count and the sum of all rare items together.
    counts[~common] = counts[~common].sum()
    sums[~common] = sums[~common].sum()
    pseudo_sum = MEAN_PSEUDO_RATINGS * float(residuals.mean())
    return (sums + pseudo_sum) / (counts + MEAN_PSEUDO_RATINGS), common
