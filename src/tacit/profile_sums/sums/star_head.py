"""Stars, second sum: the Gram matrix of stars of the most rated items.

Sees       all ratings of these items, and what the sum of means released.
Releases   sum over people of x x', where x are a person's stars of the head around their level.
Clips      one person's row x.
Makes      loadings of the head: stars for a unit of each of up to ten tastes.
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
"""1 / variance of people's levels, on five stars."""
STAR_VARIANCE = 0.8
"""Variance of a rating around item and level, on five stars."""
REST_VARIANCE = 0.5
"""Variance of a rating around item, level and factors, on five stars."""
_HEAD_ITEMS = 100
_MOST_FACTORS = 10
_SPIKE_ROUNDS = 20
"""Rounds that fill the diagonal of the Gram matrix, which says nothing of factors."""


@dataclass(frozen=True, eq=False)
class StarHead:
    """Loadings of the most rated items."""

    items: Ints
    """(head,) places of the items in the tables."""
    loadings: Floats
    """(head, k) stars of five for a unit of taste; k is 0 where no factor stands out."""


def star_rows(ratings: Ratings, items: Ints, means: StarMeans) -> StarRows:
    """Everybody's stars of five around released means, each from its own rating."""
    middle, unit = star_unit(ratings.scale)
    places = places_among(items, ratings.n_items)[ratings.items]
    expected = means.mean + np.where(places >= 0, means.effects[places], 0)
    return StarRows(ratings.offsets, places, (ratings.values - middle) / unit - expected)


def contributed_head_rows(rows: StarRows, head: Ints, items: int, share: float) -> Iterator[Floats]:
    """(people, head) rows in blocks: stars around the level of all of a person's stars.

    Args:
        rows: Everybody's stars around released means.
        head: Places of the items of the head.
        items: How many items the tables have.
        share: Share of the head in a usual person's ratings, whose row then has norm 1.
    """
    place_of = places_among(head, items + 1)
    for start in range(0, len(rows.offsets) - 1, PEOPLE_PER_BLOCK):
        offsets = rows.offsets[start : start + PEOPLE_PER_BLOCK + 1]
        count = len(offsets) - 1
        owners = np.repeat(np.arange(count), np.diff(offsets))
        block = slice(int(offsets[0]), int(offsets[-1]))
        places, rest = rows.places[block], rows.rest[block]
        level = np.bincount(owners, rest, count)
        level = level / (np.diff(offsets) + LEVEL_PRECISION * REST_VARIANCE)
        ratings_of = np.maximum(np.bincount(owners[places >= 0], minlength=count), 1)
        inside = place_of[places] >= 0
        table = np.zeros((count, len(head)))
        table[owners[inside], place_of[places[inside]]] = (rest - level[owners])[inside]
        yield table / np.sqrt(STAR_VARIANCE * share * ratings_of)[:, None]


def sum_star_heads(
    ratings: Ratings,
    items: Ints,
    means: StarMeans,
    head: Ints,
    share: float,
    mechanism: GramRelease,
) -> NDArray[Any]:
    """Sum x x' of everybody's clipped row, before noise. Not protected: never release it."""
    rows = star_rows(ratings, items, means)
    return mechanism.total(contributed_head_rows(rows, head, len(items), share))


def release_star_head(
    ratings: RatingsSource, items: Ints, means: StarMeans, noise_multiplier: float
) -> StarHead:
    """Release the Gram matrix of the head and make loadings from it.

    A factor counts where it stands out of the noise, and of the chance correlations of people.
    """
    counts = means.counts
    head = np.argsort(-counts, kind="stable")[:_HEAD_ITEMS].astype(np.int64)
    share = float(counts[head].sum() / counts.sum())
    mechanism = GramRelease(noise_multiplier, len(head), 1.0, resolution_for(1.0))
    add = partial(
        sum_star_heads, items=items, means=means, head=head, share=share, mechanism=mechanism
    )
    gram = mechanism.add_noise(total_over_ratings(ratings, add))
    chance = (float(gram.trace()) / len(head)) ** 2 / means.people
    noise_variance = (mechanism.sigma_off_diagonal * mechanism.resolution**2) ** 2
    edge = 2 * math.sqrt(noise_variance + chance) * math.sqrt(len(head))
    usual_norms = counts[head] / math.sqrt(means.people * STAR_VARIANCE * share)
    return StarHead(head, find_spikes(gram, edge) / usual_norms[:, None])


def find_spikes(gram: Floats, edge: float) -> Floats:
    """Find (items, k) Q with Q Q' near the Gram matrix beside its diagonal.

    Only eigenvalues s above the edge e of the noise count, without what the noise adds to them
    (Benaych-Georges and Nadakuditi 2011): t = (s + sqrt(s^2 - e^2)) / 2 becomes t - (e/2)^2 / t.
    """
    beside = gram - np.diag(np.diag(gram))
    diagonal = np.zeros(len(gram))
    for _ in range(_SPIKE_ROUNDS):
        values, vectors = np.linalg.eigh(beside + np.diag(diagonal))
        values = values[::-1][:_MOST_FACTORS]
        vectors = vectors[:, ::-1][:, :_MOST_FACTORS]
        above = values > max(edge, 1e-9)
        values = values[above]
        vectors = vectors[:, above]
        sizes = (values + np.sqrt(values**2 - edge**2)) / 2
        diagonal = (vectors**2) @ sizes
    spikes: Floats = vectors * np.sqrt(np.maximum(sizes - (edge / 2) ** 2 / sizes, 0))
    return spikes
