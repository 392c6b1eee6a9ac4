"""A sweep: everybody's tastes, as told by their own ratings, times their ratings of every item.

Source     Chien et al.: Private alternating least squares (ICML 2021), Curmei et al. (2023). Here
           one second moment of the tastes serves all items, a person's taste leaves out the rating
           it is multiplied with, and what is released corrects what was known before.
Sees       all ratings.
Releases   for every item the sum of (residual times (1, tastes)), and the tastes' second moment.
Clips      one person's whole table, the second moment included.
Why        A table of items x factors instead of items x items, and tastes that are known from few
           ratings are small: both keep the noise low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.designs.xmap.budget import ReleaseSettings
from tacit.designs.xmap.denoising import shrunk, updated, water_filling
from tacit.designs.xmap.item_model import ItemModel
from tacit.designs.xmap.released_state import ReleasedState, model_of, square, step
from tacit.mechanisms.sums import Contributions, SumRelease

Floats = NDArray[np.float64]
_BLOCK = 4096  # people at once
_SPREAD = 0.8  # variance of a residual, on five stars


@dataclass(frozen=True, eq=False)
class _Weights:
    """items: (items,). mean: of the residual itself, beside its products with tastes. moment: of a
    person's second moment."""

    items: Floats
    mean: float
    moment: float


def sweep(
    ratings: Ratings, noise: float, known: ReleasedState, settings: ReleaseSettings
) -> ReleasedState:
    """The same knowledge after one more sum."""
    unit, width = square(ratings.scale), settings.factors + 1
    model = model_of(known, settings, ratings.scale)
    typical = _typical_square(model, known.people)
    size = math.sqrt(_SPREAD * unit / known.people * typical * width)
    told = float(known.factors.prior.mean()) * typical**2
    worth = settings.worth * told / (noise * size) ** 2 if noise else math.inf
    even = math.inf if settings.evenly else worth
    weights = _Weights(
        water_filling(known.counts, even),
        math.sqrt(typical),
        0.1 * size / (settings.usual_ratings * settings.factors * typical),
    )
    norm = settings.clip * size
    release = SumRelease(noise, ratings.n_items + width, width, norm, step(norm))
    total = release(_contributions(ratings, model, weights))
    items, shared = total[: ratings.n_items], total[ratings.n_items :] / weights.moment
    number = max(float(shared[0, 0]), 1.0)  # of ratings, each scaled as its person was
    second = (shared[1:, 1:] + shared[1:, 1:].T) / 2 / number + 1e-6 * np.eye(settings.factors)
    used = weights.items > 0
    counts = known.counts * number / known.counts.sum()
    scale = np.where(used, weights.items, 1) * counts
    seen, deviation = items / scale[:, None], release.deviation / scale
    chance = settings.noise * unit / counts
    means = shrunk(
        known.means.values + seen[:, 0] / weights.mean,
        np.where(used, (deviation / weights.mean) ** 2 + chance, math.inf),
        known.means.values,
        known.means.variances,
    )
    factors = updated(
        known.factors,
        known.factors.means @ second + seen[:, 1:],
        second,
        np.where(used, deviation**2, math.inf),
        chance,
    )
    return replace(known, means=means, factors=factors)


def _typical_square(model: ItemModel, people: float) -> float:
    """Mean square of a factor of a person's known tastes, from released numbers alone: what their
    ratings tell if each item is among them as often as it was counted."""
    share = model.counts / people / model.variances
    told = np.linalg.eigvalsh((model.factors * share[:, None]).T @ model.factors)
    return max(float(np.mean(told / (1 + told))), 0.01)


def _contributions(
    ratings: Ratings, model: ItemModel, weights: _Weights
) -> Iterator[Contributions]:
    for start in range(0, ratings.n_users, _BLOCK):
        stop = min(start + _BLOCK, ratings.n_users)
        yield _block(_people(ratings, start, stop), model, weights, start)


def _people(ratings: Ratings, start: int, stop: int) -> Ratings:
    """Those with numbers from start to below stop, renumbered from 0."""
    rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
    return replace(
        ratings,
        users=ratings.users[rows] - np.int32(start),
        items=ratings.items[rows],
        values=ratings.values[rows],
        timestamps=None,
        user_ids=ratings.user_ids[start:stop],
        user_attributes={},
    )


def _block(some: Ratings, model: ItemModel, weights: _Weights, first: int) -> Contributions:
    """What some people add: at each of their items, and below them their second moment."""
    tastes, residuals = _leave_one_out(some, model)
    loaded = np.hstack([np.full((len(some), 1), weights.mean), tastes])
    own = (weights.items[some.items] * residuals)[:, None] * loaded
    rated = np.flatnonzero(np.diff(some.offsets))
    moments = _moments(np.hstack([np.ones((len(some), 1)), tastes]), some.offsets[rated])
    width = tastes.shape[1] + 1
    people = np.concatenate([some.users, np.repeat(rated, width)])
    below = np.arange(some.n_items, some.n_items + width)
    places = np.concatenate([some.items, np.tile(below, len(rated))])
    values = np.concatenate([own, weights.moment * moments.reshape(-1, width)])
    order = np.lexsort((places, people))
    return Contributions(people[order] + first, places[order], values[order])


def _moments(ones: Floats, starts: NDArray[np.int64]) -> Floats:
    """(people, 1 + d, 1 + d) sums of ones ones^T over each person's ratings, from `starts` on."""
    width = ones.shape[1]
    above, beside = np.triu_indices(width)
    sums = np.empty((len(starts), width, width))
    if len(starts):
        half = np.add.reduceat(ones[:, above] * ones[:, beside], starts, axis=0)
        sums[:, above, beside] = sums[:, beside, above] = half
    return sums


def _leave_one_out(some: Ratings, model: ItemModel) -> tuple[Floats, Floats]:
    """(ratings, d) the person's tastes as all their OTHER ratings tell them, and (ratings,) stars
    around what those predict. With the rating itself in them, every item would seem to fit."""
    persons, covariances = model.persons(some.matrix)
    loadings = model.loadings[some.items]
    turned = np.einsum("rij,rj->ri", covariances[some.users], loadings)
    lever = (turned * loadings).sum(axis=1)
    centred = some.values - model.means[some.items]
    misfit = centred - (persons[some.users] * loadings).sum(axis=1)
    left = np.maximum(model.variances[some.items] - lever, 1e-3 * model.variances[some.items])
    without = persons[some.users] - turned * (misfit / left)[:, None]
    return without[:, 1:], centred - (without * loadings).sum(axis=1)
