"""The release of stars: the order of its three sums, and the model that predicts stars.

Three events are charged, with the same noise multipliers in all cases below. If the noisy number of
people is small, each event pays for a draw of the means (without noise one draw is exact). If it is
large, the first two pay for the means and for the Gram matrix of the head, the most rated items. If
a factor stands out in this matrix, the third event pays for the factors, and otherwise for a second
draw of the means.
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
"""Least number of people, per unit of the noise multiplier of all sums of stars, at which factors
improve predictions. A multiplier below 1 counts as 1."""
_VARIANCE_OF_FEW = 0.2
"""Variance of a rating around released means if there are few people. It is smaller than the usual
1, so that a person's own level counts more."""


@dataclass(frozen=True, eq=False)
class StarModel:
    """Released means and factors from which a person's stars are predicted.

    "Stars of five" are stars on a scale from 1 to 5, to which other scales are stretched. The items
    are the target items, then, if there were enough people for factors, the context items of other
    domains.
    """

    mean: float
    """Mean over people of their mean stars, on the model's scale."""
    effects: Floats
    """(items,) mean of the stars above the rater's own mean, on the model's scale."""
    loadings: Floats
    """(items, k) stars of five per unit of each taste."""
    variances: Floats
    """(items,) variance of a rating around its prediction, in squares of stars of five."""

    def predict(self, stars: Floats, items: Ints, targets: int, scale: RatingScale) -> Floats:
        """Predict one person's stars from the posterior means of their level and tastes.

        With l_j = [1, loadings of item j], s_j its variance and y_j the person's stars for it less
        mean and effect, in stars of five:

            [level, tastes] = (diag(LEVEL_PRECISION, 1 .. 1) + sum_j l_j l_j' / s_j)^-1
                              sum_j l_j y_j / s_j

        Args:
            stars: (n,) the person's own stars.
            items: (n,) places of the rated items in this model; an item whose place is below 0 or
                past the end is not in the model and has effect 0, loadings 0 and variance 1.
            targets: Number of items to predict, from the first of this model.
            scale: The scale of the stars.

        Returns:
            (targets,) stars, clipped to the scale.
        """
        unit = scale.span / 4
        is_in_model = (items >= 0) & (items < len(self.effects))
        items = np.where(is_in_model, items, -1)
        effects = np.where(is_in_model, self.effects[items], 0)
        loadings = np.where(is_in_model[:, None], self.loadings[items], 0)
        rows = np.hstack([np.ones((len(stars), 1)), loadings])
        weighted_rows = rows / np.where(is_in_model, self.variances[items], 1)[:, None]
        prior = np.diag([LEVEL_PRECISION] + [1.0] * (rows.shape[1] - 1))
        evidence = weighted_rows.T @ ((stars - self.mean - effects) / unit)
        level_and_tastes = unit * np.linalg.solve(weighted_rows.T @ rows + prior, evidence)
        level = self.mean + level_and_tastes[0]
        by_tastes = self.loadings[:targets] @ level_and_tastes[1:]
        predicted: Floats = level + self.effects[:targets] + by_tastes
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
        ratings: All ratings, in memory or stored.
        sides: Context and target items.
        features: Public features; None if there are too few.
        noises: Noise multipliers of the three events; zeros without noise.
        people: Noisy number of people, from sum 1 of lists (`sums/counts.py`).
    """
    scale = checked_catalogue(ratings).scale
    with_factors = people >= PEOPLE_FOR_FACTORS * max(combined_noise(noises), 1)
    with_context = with_factors and not sides.one_domain
    items = np.concatenate([sides.targets, sides.context]) if with_context else sides.targets
    item_features = _features_of_items(features, with_context=with_context)
    mechanisms = [star_means_mechanism(len(items), noise) for noise in noises]
    add = partial(sum_star_means, items=items, mechanism=mechanisms[0])
    total = total_over_ratings(ratings, add)
    tables_of_means = {0: mechanisms[0].add_noise(total)}  # number of the event to its draw
    further_events = [1, 2] if noises[0] else []  # without noise one draw is exact
    if with_factors:
        means = read_star_means(tables_of_means[0], noises[0], item_features)
        head = release_star_head(ratings, items, means, noises[1])
        if head.loadings.shape[1]:
            factors = release_star_factors(ratings, items, means, head, noises[2])
            return _star_model(means, factors, scale)
        further_events = further_events[1:]
    for event in further_events:
        tables_of_means[event] = mechanisms[event].add_noise(total)
    means = _combine_tables(tables_of_means, noises, item_features)
    variance = _VARIANCE_OF_FEW if means.few else 1.0
    no_factors = StarFactors(np.zeros((len(items), 0)), np.full(len(items), variance))
    return _star_model(means, no_factors, scale)


def _features_of_items(
    features: FeatureTables | None, *, with_context: bool
) -> sparse.csr_array | None:
    """Return features (items, f) of the target items, then of the context items if asked for."""
    if features is None:
        return None
    if not with_context:
        return features.targets
    return sparse.vstack([features.targets, features.context]).tocsr()


def _combine_tables(
    tables: Mapping[int, Floats], noises: Sequence[float], features: sparse.csr_array | None
) -> StarMeans:
    """Average released tables of means, weighed by precision, and compute the means from them.

    Args:
        tables: Number of the event (0 to 2) to the table (items + 1, 2) that was drawn for it.
        noises: Noise multipliers of the three events.
        features: (items, f) public features; None if there are too few.
    """
    noise = combined_noise([noises[event] for event in tables])
    mean = np.zeros_like(tables[0])
    for event, table in tables.items():
        weight = (noise / noises[event]) ** 2 if noise else 1.0
        mean += table * weight
    return read_star_means(mean, noise, features)


def _star_model(means: StarMeans, factors: StarFactors, scale: RatingScale) -> StarModel:
    """Combine means and factors; convert mean and effects from stars of five to the scale."""
    middle, unit = star_unit(scale)
    return StarModel(
        mean=means.mean * unit + middle,
        effects=unit * means.effects,
        loadings=factors.loadings,
        variances=factors.variances,
    )
