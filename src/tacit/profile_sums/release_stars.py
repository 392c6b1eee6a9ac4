"""The order of the sums of stars, and what stars are predicted from.

There are three events. Which sums they are is decided by the noisy number of people, before the
first: with enough of them means, head and factors, otherwise means three times. If the head shows
no factors, the third sum asks for the means once more: the same events with the same noise, so that
nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.columns import RatingScale
from tacit.data.stored_ratings import RatingsSource
from tacit.profile_sums.catalogue import ItemSides, checked_catalogue
from tacit.profile_sums.events import combined_noise
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import total_over_ratings
from tacit.profile_sums.sums.star_factors import StarFactors, release_star_factors
from tacit.profile_sums.sums.star_head import LEVEL_PRECISION, release_star_head
from tacit.profile_sums.sums.star_means import (
    StarMeans,
    read_star_means,
    star_means_mechanism,
    star_unit,
    sum_star_means,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PEOPLE_FOR_FACTORS = 2000.0
"""From so many people over the noise multiplier of these sums on, factors are a gain. They take as
many people at least where noise is small."""
_VARIANCE_OF_FEW = 0.2
"""Variance of a rating around the means of few people, which are trusted the more."""


@dataclass(frozen=True, eq=False)
class StarModel:
    """Released means and factors from which a person's stars are predicted."""

    mean: float
    """Mean of people's means, in stars."""
    effects: Floats
    """(items,) stars above the person's own level, the target items first."""
    loadings: Floats
    """(items, k) stars of five for a unit of taste."""
    variances: Floats
    """(items,) variance of a rating around them, on five stars."""

    def predict(self, stars: Floats, items: Ints, targets: int, scale: RatingScale) -> Floats:
        """Predict one person's stars; level and tastes are means given the person's own stars.

        With l_j = [1, loadings of item j], s_j its variance and y_j the person's stars of five
        above mean and effect, [level, tastes] = (diag(LEVEL_PRECISION, 1 .. 1) +
        sum l_j l_j' / s_j)^-1 sum l_j y_j / s_j.

        Args:
            stars: (n,) the person's own stars.
            items: (n,) places of the rated items here; below 0 or past the end: in no table.
            targets: How many of the items are predicted, from the first on.
            scale: The scale of the stars.

        Returns:
            (targets,) stars, on the scale.
        """
        unit = scale.span / 4
        inside = (items >= 0) & (items < len(self.effects))
        items = np.where(inside, items, -1)
        effects = np.where(inside, self.effects[items], 0)
        loadings = np.where(inside[:, None], self.loadings[items], 0)
        rows = np.hstack([np.ones((len(stars), 1)), loadings])
        weighted = rows / np.where(inside, self.variances[items], 1)[:, None]
        prior = np.diag([LEVEL_PRECISION] + [1.0] * (rows.shape[1] - 1))
        evidence = weighted.T @ ((stars - self.mean - effects) / unit)
        tastes = unit * np.linalg.solve(weighted.T @ rows + prior, evidence)
        level = self.mean + tastes[0]
        predicted: Floats = level + self.effects[:targets] + self.loadings[:targets] @ tastes[1:]
        return np.clip(predicted, scale.minimum, scale.maximum)


def release_stars(
    ratings: RatingsSource,
    sides: ItemSides,
    features: FeatureTables | None,
    noises: Sequence[float],
    people: float,
) -> StarModel:
    """Release the three sums of stars.

    Args:
        ratings: All ratings.
        sides: Context and target items.
        features: Public features, if there are any.
        noises: Noise multipliers of the three events.
        people: Noisy number of people.
    """
    scale = checked_catalogue(ratings).scale
    with_factors = people >= PEOPLE_FOR_FACTORS * max(combined_noise(noises), 1)
    with_context = with_factors and not sides.one_domain
    items = np.concatenate([sides.targets, sides.context]) if with_context else sides.targets
    table = _features_of_items(features, with_context=with_context)
    mechanisms = [star_means_mechanism(len(items), noise) for noise in noises]
    add = partial(sum_star_means, items=items, mechanism=mechanisms[0])
    total = total_over_ratings(ratings, add)
    tables_of_means = {0: mechanisms[0].add_noise(total)}  # by the event that each was drawn for
    further_events = [1, 2] if noises[0] else []
    if with_factors:
        means = read_star_means(tables_of_means[0], noises[0], table)
        head = release_star_head(ratings, items, means, noises[1])
        if head.loadings.shape[1]:
            factors = release_star_factors(ratings, items, means, head, noises[2])
            return _star_model(means, factors, scale)
        further_events = further_events[1:]
    for event in further_events:
        tables_of_means[event] = mechanisms[event].add_noise(total)
    means = _combine_tables(tables_of_means, noises, table)
    variance = _VARIANCE_OF_FEW if means.few else 1.0
    no_factors = StarFactors(np.zeros((len(items), 0)), np.full(len(items), variance))
    return _star_model(means, no_factors, scale)


def _features_of_items(
    features: FeatureTables | None, *, with_context: bool
) -> sparse.csr_array | None:
    if features is None:
        return None
    if not with_context:
        return features.targets
    return sparse.vstack([features.targets, features.context]).tocsr()


def _combine_tables(
    tables: Mapping[int, Floats], noises: Sequence[float], features: sparse.csr_array | None
) -> StarMeans:
    """Average released tables of means by precision, and read them."""
    noise = combined_noise([noises[event] for event in tables])
    mean = np.zeros_like(tables[0])
    for event, table in tables.items():
        weight = (noise / noises[event]) ** 2 if noise else 1.0
        mean += table * weight
    return read_star_means(mean, noise, features)


def _star_model(means: StarMeans, factors: StarFactors, scale: RatingScale) -> StarModel:
    middle, unit = star_unit(scale)
    return StarModel(
        mean=means.mean * unit + middle,
        effects=unit * means.effects,
        loadings=factors.loadings,
        variances=factors.variances,
    )
