"""Predicted stars: three optional sums, of means alone, or with factors where these are a gain.

Sees       all ratings of target items, with factors also of context items.
Releases   means: for each item the sum of (stars above the person's mean, 1), and the same of
           people's means. With factors also the Gram matrix of stars of the most rated items, and
           for each item its stars above the person's level times the person's tastes.
Clips      one person's whole table in each sum, with `SumRelease` and `GramRelease`: no more than
           their norm, whatever a person rated; so each sum is 1 / noise-GDP.
Chosen     by the noisy number of people, before the first of them. With too few for factors, or if
           the Gram matrix shows none, the sums that are left ask for the means once more: the same
           events with the same noise, so means alone lose nothing.
Source     private alternating least squares: Chien et al. (ICML 2021), Curmei et al. (2023). Here
           one second moment of tastes serves all items, and a person's tastes leave out the
           rating that they are multiplied with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.columns import RatingScale
from tacit.data.ratings import Ratings
from tacit.data.stored import Given
from tacit.designs.private.fitting import Features
from tacit.designs.private.people import BLOCK, Sides, catalogue_of, total_of
from tacit.designs.private.popular import clip_of
from tacit.designs.private.settings import overall, step
from tacit.engine import stars_compiled as kernels
from tacit.engine.stars_compiled import StarRows, StarTable
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NORM = 1.0  # on five stars, about what a person's table of means has
_COUNT, _MEAN = 0.25, 0.25  # weights of the entries that count, and of a person's mean
_PRIOR, _CAREFUL = (0.15, 0.1), (0.02, 0.05)
"""Variances on five stars: of an item around what its features say, and of what one feature says;
usually, and with few people."""
_FEW, MANY = 60.0, 2000.0
"""People over the noise multiplier of these sums: below the first there are few, from the second on
factors are a gain. They take as many people at least where noise is small."""
_WITHIN = 0.1  # variance of a rating around its item's mean, times its usual weight
_LEVEL = 5.0  # 1 / variance of people's levels
_FACTORS, _HEAD = 10, 100
_SPREAD, _LEFT = 0.8, 0.5  # variances of a rating: around item and level; around factors, too
_CLIP = 0.7  # of what is usual
_MOMENT = 0.1  # share of a second moment in the norm of a person's table


@dataclass(frozen=True, eq=False)
class StarModel:
    """mean: of people's means, stars. effects: (items,) above the person's own level, the target
    items first. loadings: (items, k) stars of five for a unit of taste. variances: (items,) of a
    rating around them."""

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


@dataclass(frozen=True, eq=False)
class _Means:
    """In stars of five. mean: from the middle of the scale. counts: (items,) expected sums of
    weights. people: how many. few: whether they are."""

    mean: float
    effects: Floats
    counts: Floats
    people: float
    few: bool

    def model(self, scale: RatingScale, loadings: Floats, variances: Floats) -> StarModel:
        middle, unit = _centre(scale)
        return StarModel(self.mean * unit + middle, unit * self.effects, loadings, variances)


def star_model(
    ratings: Given, sides: Sides, features: Features | None, noises: Sequence[float],
    people: float,
) -> StarModel:  # fmt: skip
    """Three events. noises: of each. people: noisy number of them."""
    scale = catalogue_of(ratings).scale
    factors = people >= MANY * max(overall(noises), 1)
    across = factors and not sides.joint
    items = np.concatenate([sides.targets, sides.context]) if across else sides.targets
    table = features and features.targets
    if features and across:
        table = sparse.vstack([features.targets, features.context]).tocsr()
    sums = [SumRelease(noise, len(items) + 1, 2, NORM, step(NORM)) for noise in noises]
    total = total_of(ratings, partial(means_total, items=items, mechanism=sums[0]))
    drawn = {0: sums[0].add_noise(total)}  # tables of means, by the event that each was drawn for
    others = [1, 2] if noises[0] else []
    if factors:
        known = _means(drawn[0], noises[0], table)
        head, loadings = _head(ratings, items, known, noises[1])
        if loadings.shape[1]:
            return known.model(scale, *_factors(ratings, items, known, head, loadings, noises[2]))
        others = others[1:]
    drawn |= {event: sums[event].add_noise(total) for event in others}
    noise = overall([noises[event] for event in drawn])
    mixed = np.zeros_like(drawn[0])
    for event, means in drawn.items():
        mixed += means * ((noise / noises[event]) ** 2 if noise else 1.0)
    known = _means(mixed, noise, table)
    variances = np.full(len(items), 0.2 if known.few else 1.0)
    return known.model(scale, np.zeros((len(items), 0)), variances)


def _means(total: Floats, noise: float, features: sparse.csr_array | None) -> _Means:
    """From a released table. Post-processing."""
    deviation = SumRelease(noise, 1, 1, NORM, step(NORM)).deviation
    people = max(float(total[-1, 1]), max(deviation, 1e-9))
    mean = float(np.clip(total[-1, 0] / people, -2, 2))
    counts = _expected(total[:-1, 1] / _COUNT, deviation / _COUNT)
    few = 0 < people / _MEAN < _FEW * noise
    prior = _CAREFUL if few else _PRIOR
    effects = _effects(total[:-1, 0], counts, deviation, features, prior)
    return _Means(mean, effects, np.maximum(counts, max(deviation, 1)), people / _MEAN, few)


def _expected(counts: Floats, deviation: float) -> Floats:
    """(items,) their mean, and above it what stands out of the noise. Post-processing."""
    if not deviation:
        return counts
    mean = max(float(counts.mean()), 0.0)
    above = np.maximum(counts - mean, 0)
    return mean + above * (above**2 / (above**2 + deviation**2))


def _effects(
    sums: Floats, counts: Floats, deviation: float, features: sparse.csr_array | None,
    prior: tuple[float, float],
) -> Floats:  # fmt: skip
    """(items,) stars above the person's mean, on five stars: what features say where little is
    known of an item, and what was given where much is; 0, so that the means of people remain,
    where both are noise. Post-processing."""
    spread, feature_variance = prior
    ones = np.ones((len(sums), 1))
    design = ones if features is None else np.hstack([features.toarray(), ones])
    within = _WITHIN * counts if deviation else 0.0
    doubt = deviation**2 + within + spread * counts**2 + 1e-12
    known = design * (counts / doubt)[:, None]
    ridge = np.eye(design.shape[1]) / feature_variance
    guess = design @ np.linalg.solve(known.T @ (design * counts[:, None]) + ridge, known.T @ sums)
    made: Floats = guess + spread * counts / doubt * (sums - counts * guess)
    return np.clip(made, -4, 4)


def means_total(ratings: Ratings, items: Ints, mechanism: SumRelease) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    return mechanism.total(contributions(ratings, items))


def contributions(ratings: Ratings, items: Ints) -> Iterator[Contributions]:
    """Tables of people in blocks; each is made of that person's own ratings."""
    place = _places(items, ratings.n_items)
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


def _places(items: Ints, n_items: int) -> Ints:
    """(n_items,) where each stands among `items`; -1: nowhere."""
    place = np.full(n_items, -1)
    place[items] = np.arange(len(items))
    return place


def _rows(ratings: Ratings, items: Ints, known: _Means) -> StarRows:
    """Everybody's stars around released means, each from its own rating."""
    middle, unit = _centre(ratings.scale)
    at = _places(items, ratings.n_items)[ratings.items]
    expected = known.mean + np.where(at >= 0, known.effects[at], 0)
    return StarRows(ratings.offsets, at, (ratings.values - middle) / unit - expected)


def head_rows(rows: StarRows, head: Ints, items: int, share: float) -> Iterator[Floats]:
    """(people, head) in blocks: stars around the level that all of a person's stars have, of norm
    1 for a usual person, whose ratings are in the head by the given share."""
    place = _places(head, items + 1)
    for start in range(0, len(rows.offsets) - 1, BLOCK):
        offsets = rows.offsets[start : start + BLOCK + 1]
        count = len(offsets) - 1
        owner = np.repeat(np.arange(count), np.diff(offsets))
        part = slice(int(offsets[0]), int(offsets[-1]))
        at, rest = rows.places[part], rows.rest[part]
        level = np.bincount(owner, rest, count) / (np.diff(offsets) + _LEVEL * _LEFT)
        given = np.maximum(np.bincount(owner[at >= 0], minlength=count), 1)
        inside = place[at] >= 0
        made = np.zeros((count, len(head)))
        made[owner[inside], place[at[inside]]] = (rest - level[owner])[inside]
        yield made / np.sqrt(_SPREAD * share * given)[:, None]


def head_total(
    ratings: Ratings, items: Ints, known: _Means, head: Ints, share: float, mechanism: GramRelease
) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    return mechanism.total(head_rows(_rows(ratings, items, known), head, len(items), share))


def _head(ratings: Given, items: Ints, known: _Means, noise: float) -> tuple[Ints, Floats]:
    """The most rated items and their loadings, (head, k): of what stands out of the noise, and of
    chance. k may be 0."""
    counts = known.counts
    head = np.argsort(-counts, kind="stable")[:_HEAD].astype(np.int64)
    share = float(counts[head].sum() / counts.sum())
    mechanism = GramRelease(noise, len(head), 1.0, step(1.0))
    add = partial(head_total, items=items, known=known, head=head, share=share, mechanism=mechanism)
    gram = mechanism.add_noise(total_of(ratings, add))
    chance = (float(gram.trace()) / len(head)) ** 2 / known.people
    doubt = math.sqrt((mechanism.sigma_off_diagonal * mechanism.resolution**2) ** 2 + chance)
    sizes = counts[head] / math.sqrt(known.people * _SPREAD * share)
    return head, spiked(gram, 2 * doubt * math.sqrt(len(head))) / sizes[:, None]


def spiked(gram: Floats, edge: float) -> Floats:
    """(items, k) Q with Q Q' beside the diagonal, which says nothing: what is above the edge of
    the noise, without what the noise adds (Benaych-Georges and Nadakuditi 2011)."""
    table, low = gram - np.diag(np.diag(gram)), np.zeros(len(gram))
    for _ in range(20):
        values, vectors = np.linalg.eigh(table + np.diag(low))
        values, vectors = values[::-1][:_FACTORS], vectors[:, ::-1][:, :_FACTORS]
        above = values > max(edge, 1e-9)
        values, vectors = values[above], vectors[:, above]
        sizes = (values + np.sqrt(values**2 - edge**2)) / 2
        low = (vectors**2) @ sizes
    made: Floats = vectors * np.sqrt(np.maximum(sizes - (edge / 2) ** 2 / sizes, 0))
    return made


def factors_total(
    ratings: Ratings, items: Ints, known: _Means, table: StarTable, mechanism: SumRelease
) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    total = mechanism.zero_table()
    kernels.stars(_rows(ratings, items, known), table, clip_of(mechanism), total)
    return total


def _factors(
    ratings: Given, numbers: Ints, known: _Means, head: Ints, leading: Floats,
    noise: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """(items, k) loadings and (items,) variances of all items, from one sum: of people's tables of
    tastes, clipped as a whole by the kernel, as `SumRelease.clip_table` does."""
    counts, (items, k) = known.counts, (len(known.counts), leading.shape[1])
    loadings = np.zeros((items, k))
    loadings[head] = leading
    variances = np.full(items, _LEFT + float((leading**2).sum()) / len(head))
    variances[head] = _LEFT
    usual = max(1.0, (float(counts.sum()) / known.people) ** 2)  # ratings of a person
    weights = usual / counts.sum() * counts / variances
    information = np.linalg.eigvalsh(loadings.T @ (loadings * weights[:, None]))
    # Of a taste as a person's stars tell it.
    square = max(float(np.mean(information / (1 + information))), 0.01)
    size = math.sqrt(_SPREAD * square * k)
    moment = _MOMENT * size / (square * math.sqrt(usual * k))
    mechanism = SumRelease(noise, items + k, k, _CLIP * size, step(_CLIP * size))
    add = partial(
        factors_total, items=numbers, known=known, mechanism=mechanism,
        table=StarTable(loadings, variances, _LEVEL, moment),
    )  # fmt: skip
    noisy = mechanism.add_noise(total_of(ratings, add))
    second = (noisy[items:] + noisy[items:].T) / 2 / moment / counts.sum()
    values, vectors = np.linalg.eigh(second)
    values = np.maximum(values, 1e-3 * max(float(values.max()), 1e-6))
    seen, doubt = noisy[:items] @ vectors, mechanism.deviation**2
    signal = np.outer(counts, values)
    chance = _LEFT / math.sqrt(usual) * signal
    above = float((seen**2 - doubt - chance).sum())
    spread = max(above / float((signal**2).sum()), 1e-4)  # variance of a loading
    gain = spread * signal / (spread * signal**2 + chance + doubt)
    unknown = spread * (k - (gain * signal).sum(axis=1))
    return (gain * seen) @ vectors.T, _LEFT + np.maximum(unknown, 0)


def _centre(scale: RatingScale) -> tuple[float, float]:
    """The middle of the scale, and what one star of five is on it."""
    return scale.minimum + scale.span / 2, scale.span / 4
