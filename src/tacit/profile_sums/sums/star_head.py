"""Stars, second sum: the Gram matrix of stars of the most rated items (the head).

Sees       all ratings, and the release of the sum of means.
Releases   the sum over people of x x' (head, head), where x are a person's stars of the head less
           the released effects and the person's level.
Clips      one person's row x.
Makes      loadings of the head: stars per unit of each of up to ten tastes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.stored_ratings import RatingsSource
from tacit.engine.profile_kernels.types import StarRows
from tacit.mechanisms.gram import GramRelease
from tacit.profile_sums.people import PEOPLE_PER_BLOCK, total_over_ratings
from tacit.profile_sums.sums.star_means import StarMeans, places_among, star_unit
from tacit.profile_sums.sums.whole_steps import resolution_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVEL_PRECISION = 5.0
"""1 / variance of people's levels, in stars of five (see `release_stars.StarModel`)."""
STAR_VARIANCE = 0.8
"""Variance of a rating around the item's effect and the person's level, in stars of five."""
REST_VARIANCE = 0.5
"""Variance of a rating around effect, level and factors together, in stars of five."""
_HEAD_ITEMS = 100
"""Number of items in the head."""
_MOST_FACTORS = 10
"""Largest number of factors."""
_SPIKE_ROUNDS = 20
"""Number of times that the diagonal of the Gram matrix is replaced by that of the factors. The
released diagonal also holds the variance of ratings, so it is not used."""


@dataclass(frozen=True, eq=False)
class StarHead:
    """Loadings of the most rated items."""

    items: Ints
    """(head,) places of the items in the tables."""
    loadings: Floats
    """(head, k) stars of five per unit of each taste; k is 0 if no factor stands out."""


def star_rows(ratings: Ratings, items: Ints, means: StarMeans) -> StarRows:
    """Subtract the released mean and effects from everybody's stars, in stars of five.

    Args:
        ratings: All ratings of some people.
        items: (items,) catalogue numbers of the items of the tables; others have effect 0.
        means: Released mean and effects.
    """
    middle, unit = star_unit(ratings.scale)
    places = places_among(items, ratings.n_items)[ratings.items]
    expected = means.mean + np.where(places >= 0, means.effects[places], 0)
    return StarRows(ratings.offsets, places, (ratings.values - middle) / unit - expected)


def contributed_head_rows(rows: StarRows, head: Ints, items: int, share: float) -> Iterator[Floats]:
    """Yield everybody's rows x (people of a block, head), a block of people at a time.

    With y_i the person's stars of item i in `rows`, N the number of all their ratings and n the
    number of those whose item is in the tables:

        level = sum of y / (N + LEVEL_PRECISION * REST_VARIANCE)
        x_i   = (y_i - level) / sqrt(STAR_VARIANCE * share * n)      0 for an item without rating

    Args:
        rows: Everybody's stars less released mean and effects.
        head: (head,) places of the items of the head in the tables.
        items: Number of items of the tables.
        share: Share of the head in a usual person's ratings; their row then has about norm 1.
    """
    # A place of -1 reads the last entry of this array, which is -1, too.
    head_place_of = places_among(head, items + 1)
    for start in range(0, len(rows.offsets) - 1, PEOPLE_PER_BLOCK):
        offsets = rows.offsets[start : start + PEOPLE_PER_BLOCK + 1]
        count = len(offsets) - 1
        owners = np.repeat(np.arange(count), np.diff(offsets))
        block = slice(int(offsets[0]), int(offsets[-1]))
        places, stars = rows.places[block], rows.deviations[block]
        levels = np.bincount(owners, stars, count)
        levels = levels / (np.diff(offsets) + LEVEL_PRECISION * REST_VARIANCE)
        rating_counts = np.maximum(np.bincount(owners[places >= 0], minlength=count), 1)
        is_in_head = head_place_of[places] >= 0
        head_places = head_place_of[places[is_in_head]]
        table = np.zeros((count, len(head)))
        table[owners[is_in_head], head_places] = (stars - levels[owners])[is_in_head]
        yield table / np.sqrt(STAR_VARIANCE * share * rating_counts)[:, None]


def sum_star_heads(
    ratings: Ratings,
    items: Ints,
    means: StarMeans,
    head: Ints,
    share: float,
    mechanism: GramRelease,
) -> NDArray[Any]:
    """Sum x x' of everybody's clipped row, before noise. Not protected: never release it.

    Args:
        ratings: All ratings of some people.
        items: (items,) catalogue numbers of the items of the tables.
        means: Released mean and effects.
        head: (head,) places of the items of the head in the tables.
        share: Share of the head in a usual person's ratings.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
    """
    rows = star_rows(ratings, items, means)
    return mechanism.total(contributed_head_rows(rows, head, len(items), share))


def release_star_head(
    ratings: RatingsSource, items: Ints, means: StarMeans, noise_multiplier: float
) -> StarHead:
    """Release the Gram matrix of the head, and compute loadings from it.

    A factor is kept if its eigenvalue exceeds the largest one of the noise and of the correlations
    that this number of people has by chance.

    Args:
        ratings: All ratings, in memory or stored.
        items: (items,) catalogue numbers of the items of the tables.
        means: Release of the sum of means.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
    """
    counts = means.counts
    head = np.argsort(-counts, kind="stable")[:_HEAD_ITEMS].astype(np.int64)
    share = float(counts[head].sum() / counts.sum())
    mechanism = GramRelease(noise_multiplier, len(head), 1.0, resolution_for(1.0))
    add = partial(
        sum_star_heads, items=items, means=means, head=head, share=share, mechanism=mechanism
    )
    gram = mechanism.add_noise(total_over_ratings(ratings, add))
    chance_variance = (float(gram.trace()) / len(head)) ** 2 / means.people
    noise_variance = (mechanism.sigma_off_diagonal * mechanism.resolution**2) ** 2
    edge = 2 * math.sqrt(noise_variance + chance_variance) * math.sqrt(len(head))
    # The expected Gram matrix is scales_i scales_j times the product of the items' loadings.
    scales = counts[head] / math.sqrt(means.people * STAR_VARIANCE * share)
    return StarHead(head, find_spikes(gram, edge) / scales[:, None])


def find_spikes(gram: Floats, edge: float) -> Floats:
    """Find Q (n, k) with Q Q' near a noisy Gram matrix off its diagonal; k is 10 at most.

    Eigenvalues s above the edge e of the noise are kept. t = (s + sqrt(s^2 - e^2)) / 2 is the
    eigenvalue without the part that noise adds (Benaych-Georges and Nadakuditi 2011), and column j
    of Q is the eigenvector times sqrt(t_j - (e / 2)^2 / t_j). The diagonal of the matrix is
    replaced, in rounds, by that of the kept part.

    Args:
        gram: (n, n) symmetric matrix; its diagonal is not used.
        edge: e, the largest eigenvalue that noise may have.
    """
    off_diagonal = gram - np.diag(np.diag(gram))
    diagonal = np.zeros(len(gram))
    for _ in range(_SPIKE_ROUNDS):
        values, vectors = np.linalg.eigh(off_diagonal + np.diag(diagonal))
        values = values[::-1][:_MOST_FACTORS]
        vectors = vectors[:, ::-1][:, :_MOST_FACTORS]
        is_above_noise = values > max(edge, 1e-9)
        values = values[is_above_noise]
        vectors = vectors[:, is_above_noise]
        sizes = (values + np.sqrt(values**2 - edge**2)) / 2
        diagonal = (vectors**2) @ sizes
    spikes: Floats = vectors * np.sqrt(np.maximum(sizes - (edge / 2) ** 2 / sizes, 0))
    return spikes
