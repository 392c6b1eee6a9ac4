"""Stars, third sum: each item's stars above the person's level times the person's tastes.

Source     private alternating least squares: Chien et al. (ICML 2021), Curmei et al. (2023).
           Deviations: one second moment of tastes is used for all items, and a person's tastes are
           computed without the rating that they are multiplied by.
Sees       all ratings of the items, and the releases of the sums of means and of the head.
Releases   for each item the sum of its stars above the person's level times their tastes (k,), and
           a sum of second moments of tastes (k, k).
Clips      one person's whole table, by the kernel, as `SumRelease.clip_table` does.
Makes      loadings of all items, and the variance of a rating around its prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.stored_ratings import RatingsSource
from tacit.engine.profile_kernels.types import StarTable
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.people import total_over_ratings
from tacit.profile_sums.sums.star_head import (
    LEVEL_PRECISION,
    REST_VARIANCE,
    STAR_VARIANCE,
    StarHead,
    star_rows,
)
from tacit.profile_sums.sums.star_means import StarMeans
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CLIP_SHARE = 0.7
"""Norm of the clip, as a share of the norm of a usual person's table."""
_MOMENT_SHARE = 0.1
"""Norm of the second moment in a usual person's table, as a share of the norm of its item rows."""


@dataclass(frozen=True, eq=False)
class StarFactors:
    """Released factors of all items, in stars of five (see `release_stars.StarModel`)."""

    loadings: Floats
    """(items, k) stars per unit of each taste."""
    variances: Floats
    """(items,) variance of a rating around its prediction."""


def sum_star_factors(
    ratings: Ratings, items: Ints, means: StarMeans, table: StarTable, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum everybody's clipped table (items + k, k), before noise. Not protected: never release it.

    Args:
        ratings: All ratings of a block of people.
        items: (items,) catalogue numbers of the items that the tables have.
        means: Means and effects of the first sum.
        table: Loadings and variances from which people's tastes are estimated.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
    """
    from tacit.engine.profile_kernels.star_factors import (
        add_star_factors,  # numba is only needed here
    )

    total = mechanism.zero_table()
    add_star_factors(star_rows(ratings, items, means), table, clip_rule(mechanism), total)
    return total


def release_star_factors(
    ratings: RatingsSource, items: Ints, means: StarMeans, head: StarHead, noise_multiplier: float
) -> StarFactors:
    """Release the sum of stars times tastes, and compute the factors of all items from it.

    People's tastes are estimated from their ratings and the loadings of the head.

    Args:
        ratings: All ratings, in memory or stored.
        items: (items,) catalogue numbers of the items that the tables have.
        means: Means and effects of the first sum.
        head: Loadings of the most rated items, made from the second sum.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
    """
    counts = means.counts
    n_items = len(counts)
    k = head.loadings.shape[1]
    loadings = np.zeros((n_items, k))
    loadings[head.items] = head.loadings
    # The loadings of items outside the head are unknown: their squares add to the variance.
    mean_square = float((head.loadings**2).sum()) / len(head.items)
    variances = np.full(n_items, REST_VARIANCE + mean_square)
    variances[head.items] = REST_VARIANCE
    # A person with n ratings adds n / sqrt(n) = sqrt(n) to all counts together.
    usual_ratings = max(1.0, (float(counts.sum()) / means.people) ** 2)
    taste_square = _usual_taste_square(loadings, variances, counts, usual_ratings)
    usual_norm = math.sqrt(STAR_VARIANCE * taste_square * k)
    moment_weight = _MOMENT_SHARE * usual_norm / (taste_square * math.sqrt(usual_ratings * k))
    norm = _CLIP_SHARE * usual_norm
    mechanism = SumRelease(noise_multiplier, n_items + k, k, norm, resolution_for(norm))
    table = StarTable(loadings, variances, LEVEL_PRECISION, moment_weight)
    add = partial(sum_star_factors, items=items, means=means, mechanism=mechanism, table=table)
    released = mechanism.add_noise(total_over_ratings(ratings, add))
    second_moment = (released[n_items:] + released[n_items:].T) / 2 / moment_weight / counts.sum()
    return _fit_factors(
        released[:n_items], second_moment, counts, usual_ratings, mechanism.deviation
    )


def _fit_factors(
    products: Floats,
    second_moment: Floats,
    counts: Floats,
    usual_ratings: float,
    deviation: float,
) -> StarFactors:
    """Compute the loadings and variances of items from the released sum: post-processing.

    With V diag(s) V' the second moment of tastes, S (items, k) the products in the directions V, n
    an item's count, d the standard deviation of the noise, and e = 0.5 n s / sqrt(usual ratings)
    the variance of the sampling error of S:

        w        = variance of a loading: (sum of S^2 - d^2 - e) / (sum of (n s)^2), at least 1e-4
        gain     = w n s / (w (n s)^2 + e + d^2)
        loadings = (gain * S) V'
        variance = 0.5 + max(w (k - sum over directions of gain n s), 0)

    Args:
        products: (items, k) released sums of stars times tastes.
        second_moment: (k, k) released mean of t t' over ratings, with t the person's tastes.
        counts: (items,) expected sums of weights of an item's ratings.
        usual_ratings: Number of ratings of a usual person.
        deviation: Standard deviation of the noise in an entry of `products`.
    """
    k = products.shape[1]
    values, vectors = np.linalg.eigh(second_moment)
    values = np.maximum(values, 1e-3 * max(float(values.max()), 1e-6))
    turned = products @ vectors
    noise_variance = deviation**2
    signal = np.outer(counts, values)
    sampling_variance = REST_VARIANCE / math.sqrt(usual_ratings) * signal
    beyond_noise = float((turned**2 - noise_variance - sampling_variance).sum())
    loading_variance = max(beyond_noise / float((signal**2).sum()), 1e-4)
    variance_of_product = loading_variance * signal**2 + sampling_variance + noise_variance
    gain = loading_variance * signal / variance_of_product
    unknown_variance = loading_variance * (k - (gain * signal).sum(axis=1))
    return StarFactors((gain * turned) @ vectors.T, REST_VARIANCE + np.maximum(unknown_variance, 0))


def _usual_taste_square(
    loadings: Floats, variances: Floats, counts: Floats, usual_ratings: float
) -> float:
    """Return the mean square of a taste that is estimated from a usual person's ratings.

    It is the mean of i / (1 + i) over the eigenvalues i of the information (k, k) about tastes in
    `usual_ratings` ratings, which are spread over items like the counts; at least 0.01.

    Args:
        loadings: (items, k) loadings of the head, 0 outside.
        variances: (items,) variance of a rating around its prediction from the loadings.
        counts: (items,) expected sums of weights of an item's ratings.
        usual_ratings: Number of ratings of a usual person.
    """
    weights = usual_ratings / counts.sum() * counts / variances
    information = np.linalg.eigvalsh(loadings.T @ (loadings * weights[:, None]))
    return max(float(np.mean(information / (1 + information))), 0.01)
