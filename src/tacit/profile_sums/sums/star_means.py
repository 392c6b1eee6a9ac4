"""Stars, first sum: how far each item's stars lie above the means of the people who rate it.

Sees       all ratings of target items, for factors across domains also of context items.
Releases   for each item the sums of (stars above the person's mean, 1), weighted, and in the last
           row the same of (the person's mean, 1).
Clips      one person's whole table.
Makes      the mean of all people and the effect of each item, in stars of five.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.columns import RatingScale
from tacit.data.ratings import Ratings
from tacit.mechanisms.sums import Contributions, SumRelease
from tacit.profile_sums.people import PEOPLE_PER_BLOCK
from tacit.profile_sums.sums.whole_steps import resolution_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MEANS_NORM = 1.0
"""L2 norm of one person's table: on five stars, about what a usual one has."""
_COUNT_WEIGHT = 0.25
"""Weight of the entries that count ratings."""
_MEAN_WEIGHT = 0.25
"""Weight of the last row: a person's mean, and the entry that counts people."""
_FEW_PEOPLE = 60.0
"""With fewer people than this times the noise multiplier of these sums, features say little."""
_RATING_VARIANCE = 0.1
"""Variance of a rating around its item's mean, times its usual weight."""
_LEAST_UNCERTAINTY = 1e-12


@dataclass(frozen=True)
class _EffectPrior:
    """Variances on five stars."""

    item: float
    """Variance of an item around what its features say."""
    feature: float
    """Variance of what one feature says."""


_USUAL_PRIOR = _EffectPrior(item=0.15, feature=0.1)
_CAREFUL_PRIOR = _EffectPrior(item=0.02, feature=0.05)
"""With few people."""


@dataclass(frozen=True, eq=False)
class StarMeans:
    """Means and effects that released tables of means show, in stars of five."""

    mean: float
    """Mean of people's means, from the middle of the scale."""
    effects: Floats
    """(items,) stars above the person's own mean."""
    counts: Floats
    """(items,) expected sums of weights of an item's ratings; at least 1, and at least the standard
    deviation of the noise."""
    people: float
    """Noisy number of people, above 0."""
    few: bool
    """Whether there are few people for this noise."""


def star_unit(scale: RatingScale) -> tuple[float, float]:
    """Return the middle of the scale, and one star of five on it."""
    return scale.minimum + scale.span / 2, scale.span / 4


def places_among(items: Ints, n_items: int) -> Ints:
    """(n_items,) place of each item of the catalogue among `items`; -1: not among them."""
    places = np.full(n_items, -1)
    places[items] = np.arange(len(items))
    return places


def star_means_mechanism(items: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of the sum of stars by item."""
    return SumRelease(noise_multiplier, items + 1, 2, MEANS_NORM, resolution_for(MEANS_NORM))


def sum_star_means(ratings: Ratings, items: Ints, mechanism: SumRelease) -> NDArray[Any]:
    """Sum everybody's clipped table, before noise. Not protected: never release it."""
    return mechanism.total(contributed_means(ratings, items))


def contributed_means(ratings: Ratings, items: Ints) -> Iterator[Contributions]:
    """Tables of people, in blocks; each is made of that person's own ratings.

    With n the person's ratings of `items` and u one star of five, the rows are

        rated item:  [(stars - person's mean) / u, _COUNT_WEIGHT] / sqrt(n)
        last row:    [(person's mean - middle of the scale) / u, 1] * _MEAN_WEIGHT
    """
    places = places_among(items, ratings.n_items)
    middle, unit = star_unit(ratings.scale)
    for start in range(0, ratings.n_users, PEOPLE_PER_BLOCK):
        stop = min(start + PEOPLE_PER_BLOCK, ratings.n_users)
        count = stop - start
        rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
        owners = ratings.users[rows].astype(np.int64) - start
        stars = ratings.values[rows]
        ratings_of = np.bincount(owners, minlength=count)
        raters = np.flatnonzero(ratings_of)
        means = np.bincount(owners, stars, count) / np.maximum(ratings_of, 1)
        row_places = places[ratings.items[rows]]
        inside = row_places >= 0
        owners, stars, row_places = owners[inside], stars[inside], row_places[inside]
        inside_of = np.maximum(np.bincount(owners, minlength=count), 1)
        weights = 1 / np.sqrt(inside_of)[owners]
        above_mean = weights * ((stars - means[owners]) / unit)
        item_rows = np.stack([above_mean, weights * _COUNT_WEIGHT], axis=1)
        person_means = (means[raters] - middle) / unit
        last_rows = _MEAN_WEIGHT * np.stack([person_means, np.ones(len(raters))], axis=1)
        people = np.concatenate([owners, raters])
        all_places = np.concatenate([row_places, np.full(len(raters), len(items))])
        order = np.lexsort((all_places, people))
        values = np.concatenate([item_rows, last_rows])[order]
        yield Contributions(people[order] + start, all_places[order], values)


def read_star_means(
    released: Floats, noise_multiplier: float, features: sparse.csr_array | None
) -> StarMeans:
    """Make means and effects from a released table. Post-processing.

    Args:
        released: (items + 1, 2) noisy sums, with the rows that `contributed_means` describes.
        noise_multiplier: Noise multiplier of the table.
        features: (items, f) public features, if there are any.
    """
    deviation = star_means_mechanism(1, noise_multiplier).deviation
    weight_of_people = max(float(released[-1, 1]), max(deviation, 1e-9))
    people = weight_of_people / _MEAN_WEIGHT
    mean = float(np.clip(released[-1, 0] / weight_of_people, -2, 2))
    counts = _expected_counts(released[:-1, 1] / _COUNT_WEIGHT, deviation / _COUNT_WEIGHT)
    few = 0 < people < _FEW_PEOPLE * noise_multiplier
    prior = _CAREFUL_PRIOR if few else _USUAL_PRIOR
    effects = _shrunk_effects(released[:-1, 0], counts, deviation, features, prior)
    return StarMeans(mean, effects, np.maximum(counts, max(deviation, 1)), people, few)


def _expected_counts(counts: Floats, deviation: float) -> Floats:
    """(items,) their mean, and above it what stands out of the noise. Post-processing."""
    if not deviation:
        return counts
    mean = max(float(counts.mean()), 0.0)
    above = np.maximum(counts - mean, 0)
    return mean + above * (above**2 / (above**2 + deviation**2))


def _shrunk_effects(
    sums: Floats,
    counts: Floats,
    deviation: float,
    features: sparse.csr_array | None,
    prior: _EffectPrior,
) -> Floats:
    """(items,) stars of five above the person's mean. Post-processing.

    With D the rows [features, 1], n the counts, and q = deviation^2 + within + prior.item n^2:

        b = (D' diag(n^2 / q) D + I / prior.feature)^-1 D' (n sums / q)
        effects = D b + prior.item n / q (sums - n D b)

    So features speak where little is known of an item, and ratings where much is; 0, so that the
    means of people remain, where both are noise.
    """
    ones = np.ones((len(sums), 1))
    design = ones if features is None else np.hstack([features.toarray(), ones])
    within = _RATING_VARIANCE * counts if deviation else 0.0
    uncertainty = deviation**2 + within + prior.item * counts**2 + _LEAST_UNCERTAINTY
    weighted = design * (counts / uncertainty)[:, None]
    ridge = np.eye(design.shape[1]) / prior.feature
    precision = weighted.T @ (design * counts[:, None]) + ridge
    guess = design @ np.linalg.solve(precision, weighted.T @ sums)
    effects: Floats = guess + prior.item * counts / uncertainty * (sums - counts * guess)
    return np.clip(effects, -4, 4)
