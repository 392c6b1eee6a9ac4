"""What each person adds to the sums of the design `private`, compiled, one person after the other.

Every number of a person is made from that person's rows and from public or released arrays, in a
fixed order, so it is the same bit for bit alone or among others, and equal to the readable
functions of the tests. Totals are whole steps in 64-bit integers: no cut into blocks
and no order changes them. Only where there is no noise (`Clip.most` below 0) are they floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np


class Profiles(NamedTuple):
    """People's rows. offsets: (people + 1,) int64; items: int32 context items; liked: bool, for
    each of them. like_offsets, likes: the same for liked target items. low: weight of a context
    item that is not liked. joint: whether context and target are one domain."""

    offsets: Any
    items: Any
    liked: Any
    like_offsets: Any
    likes: Any
    low: float
    joint: bool

    def total(self, add: Callable[[Profiles], Any]) -> Any:
        """What `add` makes of these people; people in other places sum it over their blocks."""
        return add(self)


class Sparse(NamedTuple):
    """Rows of a CSR matrix, its number of columns in `width`."""

    offsets: Any
    columns: Any
    values: Any
    width: int


class Clip(NamedTuple):
    """One person's whole table: L2 norm, step, and largest squared norm in steps; below 0: no
    clipping and no rounding."""

    norm: float
    resolution: float
    most: int


class Centre(NamedTuple):
    """Released arrays that make tastes: damping (context items,), mean (f,) of the features."""

    damping: Any
    mean: Any


class Map(NamedTuple):
    """A released linear map of tastes: matrix (f, d), and its images of the mean (d,) and of the
    target items' features (target items, d)."""

    matrix: Any
    mean: Any
    targets: Any


class StarRows(NamedTuple):
    """People's ratings. offsets: (people + 1,). places: (ratings,) where each item stands in the
    tables, -1: nowhere. rest: (ratings,) stars above what is expected of the mean person."""

    offsets: Any
    places: Any
    rest: Any


class StarTable(NamedTuple):
    """Released arrays that make people's tastes. loadings: (items, k). variances: (items,) of a
    rating around them. level: 1 / variance of people's levels. moment: weight of second moments."""

    loadings: Any
    variances: Any
    level: float
    moment: float


_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _clip(values: Any, size: int, clip: Any) -> None:
    """`tacit.mechanisms.SumRelease.steps` of values[:size], in place.

    Where one is not finite, which `steps` refuses, the person counts as if they had rated nothing.
    """
    largest = 0.0
    for j in range(size):
        if not np.isfinite(values[j]):
            values[:size] = 0.0
            return
        largest = max(largest, abs(values[j]))
    if largest == 0.0 or clip.most < 0:
        return
    square = 0.0
    for j in range(size):
        values[j] = values[j] / largest
        square += values[j] * values[j]
    scale = min(largest, clip.norm / max(math.sqrt(square), 1.0))
    for j in range(size):
        values[j] = np.trunc(values[j] * scale / clip.resolution)
    while True:
        square = 0.0  # whole numbers below 2^53 in all, so exact
        for j in range(size):
            square += values[j] * values[j]
        if square <= clip.most:
            return
        for j in range(size):
            values[j] -= np.sign(values[j])


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def counts(people: Any, context: int, share: float, presence: float, clip: Any, total: Any) -> None:
    """Adds to total (context + target items + 1,): weights, likes, and one entry for being there.

    context: how many context items have entries of their own, 0 in one domain.
    """
    longest = len(total)
    values, places = np.empty(longest), np.empty(longest, np.int64)
    for u in range(len(people.offsets) - 1):
        size = 0
        if context:
            start, end = people.offsets[u], people.offsets[u + 1]
            square = 0.0
            for j in range(start, end):
                weight = 1.0 if people.liked[j] else people.low
                square += weight * weight
            for j in range(start, end):
                weight = 1.0 if people.liked[j] else people.low
                values[size] = share * (weight / math.sqrt(square))
                places[size] = people.items[j]
                size += 1
        start, end = people.like_offsets[u], people.like_offsets[u + 1]
        for j in range(start, end):
            values[size] = share / math.sqrt(end - start)
            places[size] = context + people.likes[j]
            size += 1
        values[size], places[size] = presence, longest - 1
        size += 1
        _clip(values, size, clip)
        for j in range(size):
            total[places[j]] += values[j]


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _shares(people: Any, u: int, damping: Any, features: Any, shares: Any) -> float:
    """Fills shares (f,) with the person's mean features; gives the sum of weights W."""
    shares[:] = 0.0
    total = 0.0
    for j in range(people.offsets[u], people.offsets[u + 1]):
        item = people.items[j]
        weight = (1.0 if people.liked[j] else people.low) * damping[item]
        total += weight
        for q in range(features.offsets[item], features.offsets[item + 1]):
            shares[features.columns[q]] += weight * features.values[q]
    if total > 0.0:
        for c in range(len(shares)):
            shares[c] /= total
    return total


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def tastes(people: Any, centre: Any, features: Any, everybody: bool, rows: Any) -> None:
    """Fills rows (people, f) with z. everybody: also people without likes in another domain."""
    for u in range(len(people.offsets) - 1):
        total = _shares(people, u, centre.damping, features, rows[u])
        absent = people.like_offsets[u + 1] == people.like_offsets[u] and not people.joint
        if total > 0.0 and (everybody or not absent):
            for c in range(features.width):
                rows[u, c] -= centre.mean[c]
        else:
            rows[u, :] = 0.0


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _mapped(shares: Any, onto: Any, image: Any) -> None:
    image[:] = 0.0
    for c in range(len(shares)):
        if shares[c] != 0.0:
            for d in range(len(image)):
                image[d] += shares[c] * onto.matrix[c, d]


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _without(people: Any, j: int, total: float, damping: Any, least: float) -> float:
    """r of like number j: what its own weight is to the rest. Below 0: the like is left out."""
    if not people.joint:
        return 0.0
    weight = damping[people.likes[j]]
    return weight / (total - weight) if total - weight > least else -1.0


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def products(
    people: Any, centre: Any, context: Any, targets: Any, onto: Any, usual: Any, least: float,
    clip: Any, total: Any,
) -> None:  # fmt: skip
    """Adds to total (f, f) each person's sum over likes of features times tastes without the like,
    less usual (f,) times tastes. Rows are features of target items, columns whitened tastes."""
    width = context.width
    shares, image = np.empty(width), np.empty(width)
    table, sums = np.empty((width, width)), total.ravel()
    flat = table.ravel()
    for u in range(len(people.offsets) - 1):
        start, end = people.like_offsets[u], people.like_offsets[u + 1]
        weights = _shares(people, u, centre.damping, context, shares)
        if weights <= 0.0 or (start == end and not people.joint):
            continue
        _mapped(shares, onto, image)
        for c in range(width):
            for d in range(width):
                table[c, d] = -usual[c] * (image[d] - onto.mean[d])
        for j in range(start, end):
            item, rest = people.likes[j], _without(people, j, weights, centre.damping, least)
            if rest >= 0.0:
                for q in range(targets.offsets[item], targets.offsets[item + 1]):
                    x = targets.values[q] / math.sqrt(end - start)
                    row = table[targets.columns[q]]
                    for d in range(width):
                        own = image[d] - onto.mean[d] + rest * (image[d] - onto.targets[item, d])
                        row[d] += x * own
        _clip(flat, width * width, clip)
        for j in range(width * width):
            sums[j] += flat[j]


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def items(
    people: Any, centre: Any, context: Any, onto: Any, mean: float, least: float, clip: Any,
    total: Any,
) -> None:  # fmt: skip
    """Adds to total (target items + 1, k) each person's tastes without the like at every like, and
    `mean` times their tastes in the last row."""
    k = total.shape[1]
    shares, image = np.empty(context.width), np.empty(k)
    values, places = np.empty(len(total) * k), np.empty(len(total), np.int64)
    for u in range(len(people.offsets) - 1):
        start, end = people.like_offsets[u], people.like_offsets[u + 1]
        weights = _shares(people, u, centre.damping, context, shares)
        if weights <= 0.0 or (start == end and not people.joint):
            continue
        _mapped(shares, onto, image)
        rows = 0
        for j in range(start, end):
            item, rest = people.likes[j], _without(people, j, weights, centre.damping, least)
            if rest >= 0.0:
                for d in range(k):
                    own = image[d] - onto.mean[d] + rest * (image[d] - onto.targets[item, d])
                    values[rows * k + d] = own / math.sqrt(end - start)
                places[rows] = item
                rows += 1
        for d in range(k):
            values[rows * k + d] = mean * (image[d] - onto.mean[d])
        places[rows] = len(total) - 1
        rows += 1
        _clip(values, rows * k, clip)
        for j in range(rows):
            for d in range(k):
                total[places[j], d] += values[j * k + d]


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def star_table(rows: Any, u: int, known: Any, values: Any, places: Any) -> int:
    """Fills values (rows of k, flat) and places with what ONE person adds; gives how many rows.

    At each of the person's items: how far its stars lie above the level that all their OTHER
    ratings have, times the tastes that the others tell; k rows below: the second moment of these
    tastes. All ratings of a person weigh as much as those of another. Tastes and level are means
    given ratings (Bayesian linear regression), each without one rating by Sherman and Morrison.
    """
    k = known.loadings.shape[1]
    width = k + 1
    left, rests = np.zeros((width, 2 * width)), np.zeros(width)
    row, turned, tastes = np.zeros(width), np.zeros(width), np.zeros(width)
    moment = np.zeros((k, k))
    row[0] = 1.0
    for a in range(width):
        left[a, a] = 1.0 if a else known.level
        left[a, width + a] = 1.0
    inside = 0
    for j in range(rows.offsets[u], rows.offsets[u + 1]):
        place = rows.places[j]
        inside += place >= 0
        variance = known.variances[place] if place >= 0 else 1.0
        for a in range(1, width):
            row[a] = known.loadings[place, a - 1] if place >= 0 else 0.0
        for a in range(width):
            rests[a] += row[a] / variance * rows.rest[j]
            for b in range(width):
                left[a, b] += row[a] / variance * row[b]
    for a in range(width):  # Gauss and Jordan: of a positive definite matrix without pivots
        pivot = left[a, a]
        for b in range(2 * width):
            left[a, b] /= pivot
        for c in range(width):
            factor = left[c, a]
            if c != a and factor != 0.0:
                for b in range(2 * width):
                    left[c, b] -= factor * left[a, b]
    size = 0
    for j in range(rows.offsets[u], rows.offsets[u + 1]):
        place = rows.places[j]
        if place < 0:
            continue
        for a in range(1, width):
            row[a] = known.loadings[place, a - 1]
        leverage, misfit = 0.0, rows.rest[j]
        for a in range(width):
            turned[a], tastes[a] = 0.0, 0.0
            for b in range(width):
                turned[a] += left[a, width + b] * row[b]
                tastes[a] += left[a, width + b] * rests[b]
            leverage += turned[a] * row[a]
            misfit -= tastes[a] * row[a]
        variance = known.variances[place]
        misfit /= max(variance - leverage, 1e-3 * variance)
        weight = 1.0 / math.sqrt(inside)
        for a in range(width):
            tastes[a] -= turned[a] * misfit
        for a in range(k):
            values[size * k + a] = weight * (rows.rest[j] - tastes[0]) * tastes[a + 1]
            for b in range(k):
                moment[a, b] += weight * tastes[a + 1] * tastes[b + 1]
        places[size] = place
        size += 1
    if size:
        for a in range(k):
            for b in range(k):
                values[size * k + b] = known.moment * moment[a, b]
            places[size] = len(known.variances) + a
            size += 1
    return size


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def stars(rows: Any, known: Any, clip: Any, total: Any) -> None:
    """Adds to total (items + k, k) everybody's `star_table`, each clipped as a whole."""
    k = total.shape[1]
    values, places = np.empty(total.size), np.empty(len(total), np.int64)
    for u in range(len(rows.offsets) - 1):
        size = star_table(rows, u, known, values, places)
        _clip(values, size * k, clip)
        for j in range(size):
            for a in range(k):
                total[places[j], a] += values[j * k + a]
