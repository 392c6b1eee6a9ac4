"""Sum 3: the tastes of the likers of popular items, each without the like itself, and counts."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.clip import clip_person
from tacit.engine.profile_kernels.tastes import map_person, weight_beside_rest

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _limit_tastes(values: Any, rows: int, k: int, width: int, norm: float) -> None:
    """Clip a person's tastes, the first k of `width` columns together: step 1 of sum 3's clip.

    With x their entries and m = max |x|:

        x := x / m * min(m, norm / max(|x / m|_2, 1))
    """
    largest = 0.0
    for j in range(rows):
        for d in range(k):
            largest = max(largest, abs(values[j * width + d]))
    if largest == 0.0:
        return
    square = 0.0
    for j in range(rows):
        for d in range(k):
            values[j * width + d] /= largest
            square += values[j * width + d] * values[j * width + d]
    scale = min(largest, norm / max(math.sqrt(square), 1.0))
    for j in range(rows):
        for d in range(k):
            values[j * width + d] *= scale


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _likes_inside(people: Any, u: int, head_places: Any) -> int:
    """Count a person's likes among the items of the head."""
    inside = 0
    for j in range(people.like_offsets[u], people.like_offsets[u + 1]):
        if head_places[people.likes[j]] >= 0:
            inside += 1
    return inside


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def add_item_tastes(
    people: Any,
    centre: Any,
    context: Any,
    taste_map: Any,
    head_places: Any,
    count_weight: float,
    tastes_norm: float,
    mean_row: float,
    least: float,
    clip: Any,
    total: Any,
) -> None:
    """Add each person's table to total (head + 1, k + 1), or without a count column (head + 1, k).

    With H the head, L a person's likes in it, y = 1 / sqrt(|L|), v = V' z their tastes and v_{-t}
    those without the like t, the rows of the table are

        like t in H:  y v_{-t}, count_weight * y      (k + 1,)
        last row:     mean_row * v, 0                 (k + 1,)

    The first k columns are scaled together to `tastes_norm` at most; then the whole is clipped.
    Where a like is all that a person has, v_{-t} is 0 and y stays.

    Args:
        people: `Profiles`.
        centre: `ProfileCentre`.
        context: `SparseRows` of the context items' features.
        taste_map: `TasteMap` by the directions V (f, k).
        head_places: (target items,) row of each item in the table; -1 outside the head.
        count_weight: Weight of the count column; 0: there is none.
        tastes_norm: Largest norm of the first k columns.
        mean_row: Weight of the last row.
        least: A like stands alone where the weights of the person's others add up to at most this.
        clip: `ClipRule` of the whole table; without noise neither scaling nor clipping is done.
        total: Changed in place.
    """
    width = total.shape[1]
    k = width - 1 if count_weight > 0.0 else width
    shares, image = np.empty(context.width), np.empty(k)
    values, places = np.empty(total.size), np.empty(len(total), np.int64)
    for u in range(len(people.offsets) - 1):
        weights = map_person(people, u, centre.damping, context, taste_map, shares, image)
        if weights <= 0.0:
            continue
        length = math.sqrt(_likes_inside(people, u, head_places))
        rows = 0
        for j in range(people.like_offsets[u], people.like_offsets[u + 1]):
            item = people.likes[j]
            if head_places[item] < 0:
                continue
            ratio = weight_beside_rest(people, j, weights, centre.damping, least)
            for d in range(k):
                beside = ratio * (image[d] - taste_map.targets[item, d])
                without = image[d] - taste_map.mean[d] + beside
                values[rows * width + d] = without / length if ratio >= 0.0 else 0.0
            if k < width:
                values[rows * width + k] = count_weight / length
            places[rows] = head_places[item]
            rows += 1
        for d in range(k):
            values[rows * width + d] = mean_row * (image[d] - taste_map.mean[d])
        if k < width:
            values[rows * width + k] = 0.0
        places[rows] = len(total) - 1
        rows += 1
        if clip.largest_square >= 0:
            _limit_tastes(values, rows, k, width, tastes_norm)
        clip_person(values, rows * width, clip)
        for j in range(rows):
            for d in range(width):
                total[places[j], d] += values[j * width + d]
