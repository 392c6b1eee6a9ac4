"""Predicted stars: one optional sum, of what items have above people's own means.

Sees       all ratings of target items.
Releases   for each item the sum of (stars above the person's mean, 1), and the same of people's
           means.
Clips      one person's whole table, with `SumRelease`: no more than its norm, whatever a person
           rated; so the sum is 1 / noise-GDP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.columns import RatingScale
from tacit.data.ratings import Ratings
from tacit.data.stored import Given
from tacit.designs.private.people import BLOCK, Sides, catalogue_of, total_of
from tacit.designs.private.settings import step
from tacit.designs.private.tastes import Features
from tacit.mechanisms.sums import Contributions, SumRelease

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NORM = 1.0  # on five stars, about what a person's table has
_COUNT, _MEAN = 0.25, 0.25  # weights of the entries that count, and of a person's mean
_PRIOR, _CAREFUL = (0.15, 0.1), (0.02, 0.05)
"""Variances on five stars: of an item around what its features say, and of what one feature says;
usually, and with few people."""
_FEW = 60.0
"""People over the noise multiplier of this sum: below it there are few."""
_WITHIN = 0.1  # variance of a rating around its item's mean, times its usual weight
_LEVEL = 5.0  # 1 / variance of people's levels


@dataclass(frozen=True, eq=False)
class StarModel:
    """mean: of people's means, stars. effects: (items,) above the person's own level, the target
    items first. loadings: (items, k) stars of five for a unit of taste, which files of before may
    have; now k is 0. variances: (items,) of a rating around them."""

    mean: float
    effects: Floats
    loadings: Floats
    variances: Floats

    def predict(self, own: Floats, items: Ints, targets: int, scale: RatingScale) -> Floats:
        """(targets,) of a person: level and tastes are means given the person's own stars. items:
        where `own` stand here; below 0, or as many as there are: nowhere."""
        unit, inside = scale.span / 4, (items >= 0) & (items < len(self.effects))
        items = np.where(inside, items, -1)
        known = np.where(inside, self.effects[items], 0)
        rows = np.where(inside[:, None], self.loadings[items], 0)
        rows = np.hstack([np.ones((len(own), 1)), rows])
        weighted = rows / np.where(inside, self.variances[items], 1)[:, None]
        prior = np.diag([_LEVEL] + [1.0] * (rows.shape[1] - 1))
        information = weighted.T @ ((own - self.mean - known) / unit)
        tastes = unit * np.linalg.solve(weighted.T @ rows + prior, information)
        made: Floats = (
            self.mean + tastes[0] + self.effects[:targets] + self.loadings[:targets] @ tastes[1:]
        )
        return np.clip(made, scale.minimum, scale.maximum)


def star_model(ratings: Given, sides: Sides, features: Features | None, noise: float) -> StarModel:
    """One event. noise: its multiplier."""
    scale, items = catalogue_of(ratings).scale, sides.targets
    mechanism = SumRelease(noise, len(items) + 1, 2, NORM, step(NORM))
    add = partial(means_total, items=items, mechanism=mechanism)
    total, deviation = mechanism.noisy(total_of(ratings, add)), mechanism.deviation
    people = max(float(total[-1, 1]), max(deviation, 1e-9))
    mean = float(np.clip(total[-1, 0] / people, -2, 2))
    counts = _expected(total[:-1, 1] / _COUNT, deviation / _COUNT)
    few = 0 < people / _MEAN < _FEW * noise
    table, prior = features and features.targets, _CAREFUL if few else _PRIOR
    effects = _effects(total[:-1, 0], counts, deviation, table, prior)
    middle, unit = _centre(scale)
    variances = np.full(len(items), 0.2 if few else 1.0)
    return StarModel(mean * unit + middle, unit * effects, np.zeros((len(items), 0)), variances)


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


def means_total(ratings: Ratings, items: Ints, mechanism: SumRelease) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    return mechanism.total(contributions(ratings, items))


def contributions(ratings: Ratings, items: Ints) -> Iterator[Contributions]:
    """Tables of people in blocks; each is made of that person's own ratings."""
    place = np.full(ratings.n_items, -1)
    place[items] = np.arange(len(items))
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
        places = np.concatenate([at, np.full(len(rated), len(items))])
        order = np.lexsort((places, people))
        yield Contributions(
            people[order] + start, places[order], np.concatenate([values, last])[order]
        )


def _centre(scale: RatingScale) -> tuple[float, float]:
    """The middle of the scale, and what one star of five is on it."""
    return scale.minimum + scale.span / 2, scale.span / 4
