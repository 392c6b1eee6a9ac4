"""Predicted stars: an optional fifth sum, of means of people and of items.

Sees       all ratings of target items, and each person's own mean.
Releases   for each target item the sum of (stars above the person's mean, 1), and the same of
           people's means; all ratings of one person weigh as much as those of another.
Clips      one person's whole table, with `SumRelease`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.scales import RatingScale
from tacit.designs.private.people import BLOCK
from tacit.designs.private.settings import step
from tacit.mechanisms.sums import Contributions, SumRelease

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NORM = 1.0  # on five stars, about what a person's table has
_COUNT, _MEAN = 0.25, 0.25  # weights of the entries that count, and of a person's mean
_SPREAD = 0.2  # variance on five stars of an item's mean around what its features say
_RIDGE = 1.0
_OWN = 5.0  # ratings of the mean person that a person's own mean is shrunk with


@dataclass(frozen=True, eq=False)
class StarMeans:
    """mean: of people's means, stars. effects: (target items,) above the person's own mean."""

    mean: float
    effects: Floats

    def predict(self, own: Floats, items: Ints, scale: RatingScale) -> Floats:
        """(target items,) of a person. own: stars; items: their target numbers, -1: no target."""
        known = np.where(items >= 0, self.effects[np.maximum(items, 0)], 0)
        level = (float((own - known).sum()) + _OWN * self.mean) / (len(own) + _OWN)
        return np.clip(level + self.effects, scale.minimum, scale.maximum)


def star_means(
    ratings: Ratings, targets: Ints, features: sparse.csr_array | None, noise: float
) -> StarMeans:
    """One release. features: (target items, f), public; None without."""
    mechanism = SumRelease(noise, len(targets) + 1, 2, NORM, step(NORM))
    total = mechanism(contributions(ratings, targets))
    middle, unit = _centre(ratings.scale)
    least = max(mechanism.deviation, 1e-9)
    counts = np.maximum(total[:, 1] / _COUNT, least / _COUNT)
    people = max(float(total[-1, 1]), least)
    mean = float(np.clip(total[-1, 0] / people, -2, 2)) * unit + middle
    raw = np.clip(total[:-1, 0] / counts[:-1], -4, 4)
    doubt = (mechanism.deviation / counts[:-1]) ** 2 + 1e-9
    guess = _guessed(raw, doubt, features)
    return StarMeans(mean, unit * (guess + (raw - guess) * _SPREAD / (_SPREAD + doubt)))


def contributions(ratings: Ratings, targets: Ints) -> Iterator[Contributions]:
    """Tables of people in blocks; each is made of that person's own ratings."""
    place = np.full(ratings.n_items, -1)
    place[targets] = np.arange(len(targets))
    middle, unit = _centre(ratings.scale)
    for start in range(0, ratings.n_users, BLOCK):
        stop = min(start + BLOCK, ratings.n_users)
        rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
        owner, stars = ratings.users[rows].astype(np.int64) - start, ratings.values[rows]
        given = np.bincount(owner, minlength=stop - start)
        rated = np.flatnonzero(given)
        means = np.bincount(owner, stars, stop - start) / np.maximum(given, 1)
        at = place[ratings.items[rows]]
        inside = at >= 0
        of, stars, at = owner[inside], stars[inside], at[inside]
        weights = 1 / np.sqrt(np.maximum(np.bincount(of, minlength=stop - start), 1))[of]
        values = np.stack([weights * ((stars - means[of]) / unit), weights * _COUNT], axis=1)
        last = _MEAN * np.stack([(means[rated] - middle) / unit, np.ones(len(rated))], axis=1)
        people = np.concatenate([of, rated])
        places = np.concatenate([at, np.full(len(rated), len(targets))])
        order = np.lexsort((places, people))
        yield Contributions(
            people[order] + start, places[order], np.concatenate([values, last])[order]
        )


def _centre(scale: RatingScale) -> tuple[float, float]:
    """The middle of the scale, and what one star of five is on it."""
    return scale.minimum + scale.span / 2, scale.span / 4


def _guessed(raw: Floats, doubt: Floats, features: sparse.csr_array | None) -> Floats:
    """(items,) what the features say, by ridge regression with known noise. Post-processing."""
    ones = np.ones((len(raw), 1))
    design = ones if features is None else np.hstack([features.toarray(), ones])
    weighted = design / (doubt + _SPREAD)[:, None]
    ridge = _RIDGE * np.eye(design.shape[1])
    guess: Floats = design @ np.linalg.solve(design.T @ weighted + ridge, weighted.T @ raw)
    return guess
