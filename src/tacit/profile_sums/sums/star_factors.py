"""Stars, third sum: each item's stars above the person's level times the person's tastes.

Source     private alternating least squares: Chien et al. (ICML 2021), Curmei et al. (2023). Here
           one second moment of tastes serves all items, and a person's tastes leave out the
           rating that they are multiplied with.
Sees       all ratings of the items, and what the sums of means and of the head released.
Releases   for each item the sum of its stars above the person's level times their tastes; and the
           second moment of tastes.
Clips      one person's whole table, by the kernel, as `SumRelease.clip_table` does.
Makes      loadings of all items, and the variance of a rating around them.
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
"""Norm of the clip, as a share of what a usual person's table has."""
_MOMENT_SHARE = 0.1
"""Share of the second moment in the norm of a person's table."""


@dataclass(frozen=True, eq=False)
class StarFactors:
    """Released factors of all items, in stars of five."""

    loadings: Floats
    """(items, k) stars for a unit of taste."""
    variances: Floats
    """(items,) variance of a rating around them."""


def sum_star_factors(
    ratings: Ratings, items: Ints, means: StarMeans, table: StarTable, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum everybody's clipped table, before noise. Not protected: never release it."""
    from tacit.engine.profile_kernels.star_factors import (
        add_star_factors,  # numba is only needed here
    )

    total = mechanism.zero_table()
    add_star_factors(star_rows(ratings, items, means), table, clip_rule(mechanism), total)
    return total


def release_star_factors(
    ratings: RatingsSource, items: Ints, means: StarMeans, head: StarHead, noise_multiplier: float
) -> StarFactors:
    """Release the sum of stars times tastes, with tastes estimated from stars of the head.

    With V diag(s) V' the released second moment of tastes, n the counts, S the released rows of
    items times V, d the deviation of the noise and c the variance of a row's sampling error,
    loadings are

        w n s / (w (n s)^2 + c + d^2) * S, turned back by V'

    where w is the variance of a loading, estimated from S.
    """
    counts, leading = means.counts, head.loadings
    n_items = len(counts)
    k = leading.shape[1]
    loadings = np.zeros((n_items, k))
    loadings[head.items] = leading
    variances = np.full(n_items, REST_VARIANCE + float((leading**2).sum()) / len(head.items))
    variances[head.items] = REST_VARIANCE
    usual_ratings = max(1.0, (float(counts.sum()) / means.people) ** 2)
    taste_square = _usual_taste_square(loadings, variances, counts, usual_ratings)
    usual_norm = math.sqrt(STAR_VARIANCE * taste_square * k)
    moment = _MOMENT_SHARE * usual_norm / (taste_square * math.sqrt(usual_ratings * k))
    norm = _CLIP_SHARE * usual_norm
    mechanism = SumRelease(noise_multiplier, n_items + k, k, norm, resolution_for(norm))
    table = StarTable(loadings, variances, LEVEL_PRECISION, moment)
    add = partial(sum_star_factors, items=items, means=means, mechanism=mechanism, table=table)
    released = mechanism.add_noise(total_over_ratings(ratings, add))
    second_moment = (released[n_items:] + released[n_items:].T) / 2 / moment / counts.sum()
    values, vectors = np.linalg.eigh(second_moment)
    values = np.maximum(values, 1e-3 * max(float(values.max()), 1e-6))
    turned = released[:n_items] @ vectors
    noise_variance = mechanism.deviation**2
    signal = np.outer(counts, values)
    chance = REST_VARIANCE / math.sqrt(usual_ratings) * signal
    beyond_noise = float((turned**2 - noise_variance - chance).sum())
    loading_variance = max(beyond_noise / float((signal**2).sum()), 1e-4)
    gain = loading_variance * signal / (loading_variance * signal**2 + chance + noise_variance)
    unknown = loading_variance * (k - (gain * signal).sum(axis=1))
    return StarFactors((gain * turned) @ vectors.T, REST_VARIANCE + np.maximum(unknown, 0))


def _usual_taste_square(
    loadings: Floats, variances: Floats, counts: Floats, usual_ratings: float
) -> float:
    """Return the mean square of a taste as a usual person's stars tell it.

    That is the mean of i / (1 + i) over the eigenvalues i of the information of `usual_ratings`.
    """
    weights = usual_ratings / counts.sum() * counts / variances
    information = np.linalg.eigvalsh(loadings.T @ (loadings * weights[:, None]))
    return max(float(np.mean(information / (1 + information))), 0.01)
