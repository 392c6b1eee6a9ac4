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


_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


_MAGNITUDE, _INFINITE = np.int64(2**63 - 1), np.int64(0x7FF << 52)
"""Of a float64 as a whole number: all but the sign, and the least that is not finite."""


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator, unused-ignore]
def _squares(values: Any, size: int) -> float:
    """Sum of squares of whole numbers, below 2^53 in all: exact, so the compiler may reorder it."""
    square = 0.0
    for j in range(size):
        square += values[j] * values[j]
    return square


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def clip_person(values: Any, size: int, clip: Any) -> None:
    """`tacit.mechanisms.sums.SumRelease.clip_table` of values[:size], in place.

    Where one is not finite, which `steps` refuses, the person counts as if they had rated nothing.
    """
    largest, patterns = np.zeros(1), values.view(np.int64)
    most = np.int64(0)  # as whole numbers, magnitudes of floats have the same order
    for j in range(size):
        most = max(most, patterns[j] & _MAGNITUDE)
    if most >= _INFINITE:
        values[:size] = 0.0
        return
    largest.view(np.int64)[0] = most
    if most == 0 or clip.most < 0:
        return
    for j in range(size):
        values[j] /= largest[0]
    square = 0.0
    for j in range(size):
        square += values[j] * values[j]
    scale = min(largest[0], clip.norm / max(math.sqrt(square), 1.0))
    for j in range(size):
        values[j] = np.trunc(values[j] * scale / clip.resolution)
    while _squares(values, size) > clip.most:
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
        clip_person(values, size, clip)
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
def _image(
    people: Any, u: int, damping: Any, context: Any, onto: Any, shares: Any, image: Any
) -> float:
    """Fills image (d,) with what the map makes of the person's shares; gives the sum of weights.

    0: the person adds nothing.
    """
    total = _shares(people, u, damping, context, shares)
    if people.like_offsets[u] == people.like_offsets[u + 1] and not people.joint:
        return 0.0
    image[:] = 0.0
    for c in range(len(shares)):
        if shares[c] != 0.0:
            for d in range(len(image)):
                image[d] += shares[c] * onto.matrix[c, d]
    return total


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
        weights = _image(people, u, centre.damping, context, onto, shares, image)
        if weights <= 0.0:
            continue
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
        clip_person(flat, width * width, clip)
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
        weights = _image(people, u, centre.damping, context, onto, shares, image)
        if weights <= 0.0:
            continue
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
        clip_person(values, rows * k, clip)
        for j in range(rows):
            for d in range(k):
                total[places[j], d] += values[j * k + d]
