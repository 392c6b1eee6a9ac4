"""Stars, first sum: how far each item's stars lie above the means of the people who rate it.

Sees       all ratings.
Releases   a table (items + 1, 2): for each item the weighted sums of (stars above the person's
           mean, 1), and in the last row those of (the person's mean, 1). The items are the target
           items, and for factors across domains also the context items.
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
"""Largest L2 norm of one person's table: about the norm of a usual person's."""
_COUNT_WEIGHT = 0.25
"""Weight of the entries that count ratings."""
_MEAN_WEIGHT = 0.25
"""Weight of the last row: a person's mean, and the entry that counts people."""
_FEW_PEOPLE = 60.0
"""With fewer people than this times the noise multiplier of the table, the prior is careful."""
_RATING_VARIANCE = 0.1
"""Variance of a rating around its item's effect, times the usual weight of a rating."""
_LEAST_UNCERTAINTY = 1e-12
"""Added to variances, so that 0 is not divided by 0 for an item without ratings or noise."""


@dataclass(frozen=True)
class _EffectPrior:
    """Prior variances of the effects of items, in squared stars of five."""

    item: float
    """Variance of an item's effect around the effect predicted from its features."""
    feature: float
    """Variance of the coefficient of one feature."""


_USUAL_PRIOR = _EffectPrior(item=0.15, feature=0.1)
"""Prior if there are enough people for the noise."""
_CAREFUL_PRIOR = _EffectPrior(item=0.02, feature=0.05)
"""Prior if there are few people for the noise: effects are shrunk more."""


@dataclass(frozen=True, eq=False)
class StarMeans:
    """Mean and effects computed from released tables, in stars of five (see `star_unit`)."""

    mean: float
    """Mean over people of their mean stars, less the middle of the scale."""
    effects: Floats
    """(items,) mean of an item's stars above the rater's own mean."""
    counts: Floats
    """(items,) estimated sums of the weights 1 / sqrt(n) of an item's ratings; at least 1, and at
    least the standard deviation of the noise in an entry of the released table."""
    people: float
    """Noisy number of people with ratings, above 0."""
    few: bool
    """Whether there are few people for this noise."""


def star_unit(scale: RatingScale) -> tuple[float, float]:
    """Return the middle of the scale, and one star of five on it.

    On a scale from 1 to 5, one star of five is 1 star.
    """
    return scale.minimum + scale.span / 2, scale.span / 4


def places_among(items: Ints, n_items: int) -> Ints:
    """Return the place (n_items,) in `items` of each item of the catalogue; -1: not in `items`."""
    places = np.full(n_items, -1)
    places[items] = np.arange(len(items))
    return places


def star_means_mechanism(items: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of the sum of tables. items: number of items."""
    return SumRelease(noise_multiplier, items + 1, 2, MEANS_NORM, resolution_for(MEANS_NORM))


def sum_star_means(ratings: Ratings, items: Ints, mechanism: SumRelease) -> NDArray[Any]:
    """Sum everybody's clipped table, before noise. Not protected: never release it.

    Args:
        ratings: All ratings of some people.
        items: (items,) catalogue numbers of the items of the table.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
    """
    return mechanism.total(contributed_means(ratings, items))


def contributed_means(ratings: Ratings, items: Ints) -> Iterator[Contributions]:
    """Yield everybody's table, a block of people at a time; no table depends on other people.

    With n the number of the person's ratings of `items`, m the mean of all the person's stars and u
    one star of five, the rows of a table are

        rated item:  [(stars - m) / u, _COUNT_WEIGHT] / sqrt(n)
        last row:    [(m - middle of the scale) / u, 1] * _MEAN_WEIGHT

    A person without ratings has no rows.

    Args:
        ratings: All ratings of some people.
        items: (items,) catalogue numbers of the items of the table.
    """
    places = places_among(items, ratings.n_items)
    middle, unit = star_unit(ratings.scale)
    for start in range(0, ratings.n_users, PEOPLE_PER_BLOCK):
        stop = min(start + PEOPLE_PER_BLOCK, ratings.n_users)
        count = stop - start
        rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
        owners = ratings.users[rows].astype(np.int64) - start
        stars = ratings.values[rows]
        rating_counts = np.bincount(owners, minlength=count)
        raters = np.flatnonzero(rating_counts)
        means = np.bincount(owners, stars, count) / np.maximum(rating_counts, 1)
        # From here on only ratings of `items`: n counts these alone.
        row_places = places[ratings.items[rows]]
        is_in_table = row_places >= 0
        owners, stars, row_places = (
            owners[is_in_table],
            stars[is_in_table],
            row_places[is_in_table],
        )
        table_counts = np.maximum(np.bincount(owners, minlength=count), 1)
        weights = 1 / np.sqrt(table_counts)[owners]
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
    """Compute mean and effects from a released table: post-processing.

    Args:
        released: (items + 1, 2) noisy sums of the tables of `contributed_means`.
        noise_multiplier: Noise multiplier of the table; 0: without noise.
        features: (items, f) public features; None without metadata.
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
    """Shrink noisy counts (items,) towards their mean; a count below the mean becomes the mean.

    With c a count, m the mean (at least 0), a = max(c - m, 0) and d the deviation, the result is
    m + a^3 / (a^2 + d^2).

    Args:
        counts: (items,) noisy counts.
        deviation: Standard deviation of their noise; at 0 they are returned unchanged.
    """
    if not deviation:
        return counts
    mean = max(float(counts.mean()), 0.0)
    above_mean = np.maximum(counts - mean, 0)
    return mean + above_mean * (above_mean**2 / (above_mean**2 + deviation**2))


def _shrunk_effects(
    sums: Floats,
    counts: Floats,
    deviation: float,
    features: sparse.csr_array | None,
    prior: _EffectPrior,
) -> Floats:
    """Estimate the effects (items,) of items in stars of five: post-processing.

    With D the rows [features, 1], n the counts, v and w the prior variances of item and feature,
    and q = deviation^2 + 0.1 n + v n^2 + 1e-12, the variance of an item's sum:

        b       = (D' diag(n^2 / q) D + I / w)^-1 D' (n sums / q)
        effects = D b + v n / q (sums - n D b), clipped to -4 .. 4

    An item with few ratings has nearly the effect predicted from its features. If there is too
    little signal for the features, too, this effect is near 0. Without noise q has no term 0.1 n.

    Args:
        sums: (items,) noisy sums of stars above the raters' means, by weight.
        counts: (items,) estimated sums of these weights.
        deviation: Standard deviation of the noise in `sums`; 0 without noise.
        features: (items, f) public features; None without metadata.
        prior: Prior variances.
    """
    ones = np.ones((len(sums), 1))
    design = ones if features is None else np.hstack([features.toarray(), ones])
    rating_variance = _RATING_VARIANCE * counts if deviation else 0.0
    variance = deviation**2 + rating_variance + prior.item * counts**2 + _LEAST_UNCERTAINTY
    weighted = design * (counts / variance)[:, None]
    ridge = np.eye(design.shape[1]) / prior.feature
    precision = weighted.T @ (design * counts[:, None]) + ridge
    predicted = design @ np.linalg.solve(precision, weighted.T @ sums)
    effects: Floats = predicted + prior.item * counts / variance * (sums - counts * predicted)
    return np.clip(effects, -4, 4)
