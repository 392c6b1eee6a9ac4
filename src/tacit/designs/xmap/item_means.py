"""The first two sums: how many ratings each item has, and its stars around people's own means.

Sees       all ratings.
Releases   counts and means of items, and how many people there are, with noise.
Clips      one person's whole column of counts; their counts and stars of the second sum together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.designs.xmap.budget import ReleaseSettings
from tacit.designs.xmap.denoising import (
    Estimate,
    along_popularity,
    shrunk,
    spread_of,
    water_filling,
)
from tacit.designs.xmap.released_state import square, step
from tacit.mechanisms.sums import Contributions, SumRelease

Floats = NDArray[np.float64]
_SPREAD = 0.9  # variance of a rating around the person's mean, on five stars
_PRIOR = 0.25  # variance of the items' means, on five stars, where the budget is poured
_LEAST = 0.02  # and the least that is believed to be left around the line


def count(ratings: Ratings, noise: float, settings: ReleaseSettings) -> Estimate:
    """How often each item was rated, at least 1 and at least the noise."""
    release = SumRelease(noise, ratings.n_items, norm=math.sqrt(settings.usual_ratings))
    ones = np.ones((len(ratings), 1))
    total = release([Contributions(ratings.users, ratings.items, ones)])[:, 0]
    doubt = release.deviation**2
    return Estimate(np.maximum(total, max(1.0, release.deviation)), np.full(ratings.n_items, doubt))


def average(
    ratings: Ratings, noise: float, counted: Estimate, settings: ReleaseSettings
) -> tuple[Estimate, Floats, float]:
    """Means of items in stars, better counts, and the number of people.

    Rare items weigh more in this sum than in the first, so its counts are better for them. Means
    are shrunk towards a line over log counts, by what is known of their noise.
    """
    unit = square(ratings.scale)
    ones = math.sqrt(unit)  # counts weigh as stars do
    counts, usual = counted.values, settings.usual_ratings
    size = math.sqrt(usual / counts.sum() * (_SPREAD * unit + ones**2))
    worth = _PRIOR * unit / (noise * size) ** 2 if noise else math.inf
    weights = water_filling(counts, worth)
    person = 0.3 * size / ones  # weight of the row that counts people
    release = SumRelease(noise, ratings.n_items + 1, 2, 0.9 * size, step(size))
    middle = ratings.scale.minimum + ratings.scale.span / 2
    total = release([_contributions(ratings, weights, ones, person, middle)])
    people = max(1.0, total[-1, 0] / (ones * person))
    level = middle + total[-1, 1] / person / people
    used = weights > 0
    safe = np.where(used, weights, 1)
    doubt = np.where(used, (release.deviation / (ones * safe)) ** 2, math.inf)
    better = _both(counted, Estimate(total[:-1, 0] / (ones * safe), doubt), used)
    found = np.where(used, total[:-1, 1] / safe / better.values, 0)
    chance = (_SPREAD * unit + found**2 * better.variances / better.values) / better.values
    error = np.where(used, (release.deviation / (safe * better.values)) ** 2 + chance, math.inf)
    line = along_popularity(found, error, better.values, _LEAST * unit)
    means = shrunk(found, error, line, spread_of(found, error, line, _LEAST * unit))
    return Estimate(level + means.values, means.variances), better.values, people


def _contributions(
    ratings: Ratings, weights: Floats, ones: float, person: float, middle: float
) -> Contributions:
    """Of a person: at each of their items, (1, stars around their mean), weighted; and a last row
    that counts them and holds their mean."""
    rated = np.flatnonzero(np.diff(ratings.offsets))
    sums = np.bincount(ratings.users, ratings.values, ratings.n_users)
    own = sums / np.maximum(np.diff(ratings.offsets), 1)
    weight = weights[ratings.items]
    around = weight * (ratings.values - own[ratings.users])
    last = np.full(len(rated), ratings.n_items)
    people = np.concatenate([ratings.users, rated])
    places = np.concatenate([ratings.items, last])
    values = np.concatenate(
        [
            np.stack([ones * weight, around], axis=1),
            person * np.stack([np.full(len(rated), ones), own[rated] - middle], axis=1),
        ]
    )
    order = np.lexsort((places, people))
    return Contributions(people[order], places[order], values[order])


def _both(first: Estimate, again: Estimate, used: NDArray[np.bool_]) -> Estimate:
    """Two counts in one. People with many ratings were scaled down differently in the two sums, so
    the first is brought to the level of the second."""
    if not again.variances.any():
        return Estimate(np.maximum(again.values, 1), np.zeros(len(again.values)))
    ratio = max(float(again.values[used].sum()), 1.0) / float(first.values[used].sum())
    trust = np.where(used, 1 / again.variances, 0)
    before = 1 / (first.variances * ratio**2)
    variances = 1 / (trust + before)
    values = variances * (trust * again.values + before * first.values * ratio)
    return Estimate(np.maximum(values, np.maximum(1, 0.7 * np.sqrt(variances))), variances)
