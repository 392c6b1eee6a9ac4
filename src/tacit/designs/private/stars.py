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
_PRIOR, _CAREFUL = (0.2, 0.1), (0.05, 0.05)
"""Variances on five stars: of an item around what its features say, and of what one feature says;
usually, and with few people."""
_FEW = 60
"""People over the noise multiplier of this sum, below which there are few."""
_WITHIN = 0.1  # variance of a rating around its item's mean, times its usual weight
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
    deviation = mechanism.deviation
    people = max(float(total[-1, 1]), max(deviation, 1e-9))
    mean = float(np.clip(total[-1, 0] / people, -2, 2)) * unit + middle
    counts = _expected(total[:-1, 1] / _COUNT, deviation / _COUNT)
    few = 0 < people / _MEAN < _FEW * noise
    prior = _CAREFUL if few else _PRIOR
    return StarMeans(mean, unit * _effects(total[:-1, 0], counts, deviation, features, prior))


def _expected(counts: Floats, deviation: float) -> Floats:
    """(items,) their mean, and above it what stands out of the noise. Post-processing."""
    if not deviation:
        return counts
    mean = max(float(counts.mean()), 0.0)
    above = np.maximum(counts - mean, 0)
    return mean + above * (above**2 / (above**2 + deviation**2))


def _effects(
    sums: Floats,
    counts: Floats,
    deviation: float,
    features: sparse.csr_array | None,
    prior: tuple[float, float],
) -> Floats:
    """(items,) stars above the person's mean, on five stars: what features say where little is
    known of an item, and what was given where much is; 0, so that the means of people remain,
    where both are noise. Post-processing."""
    spread, said = prior
    ones = np.ones((len(sums), 1))
    design = ones if features is None else np.hstack([features.toarray(), ones])
    within = _WITHIN * counts if deviation else 0.0
    doubt = deviation**2 + within + spread * counts**2 + 1e-12
    known = design * (counts / doubt)[:, None]
    ridge = np.eye(design.shape[1]) / said
    guess = design @ np.linalg.solve(known.T @ (design * counts[:, None]) + ridge, known.T @ sums)
    made: Floats = guess + spread * counts / doubt * (sums - counts * guess)
    return np.clip(made, -4, 4)


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
