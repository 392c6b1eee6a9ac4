"""Sum 3: the tastes of the likers of popular items, each without the like itself, and counts."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.clip import clip_person
from tacit.engine.profile_kernels.tastes import map_person, relative_weight_of_like

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _limit_tastes(values: Any, rows: int, k: int, width: int, norm: float) -> None:
    """Scale the first k of `width` columns of a person's table to an L2 norm of at most `norm`.

    This is the first step of the clip of sum 3. `values` has the `rows` rows of the table one after
    the other, and is changed in place.

    With x the entries of these columns and m = max |x|:

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
def _count_likes_in_head(people: Any, u: int, head_places: Any) -> int:
    """Count a person's likes in the head, which are the most popular target items."""
    count = 0
    for j in range(people.like_offsets[u], people.like_offsets[u + 1]):
        if head_places[people.likes[j]] >= 0:
            count += 1
    return count


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

    With H the head (the most popular target items), L a person's likes in it, y = 1 / sqrt(|L|),
    z the person's tastes (f,) as in `fill_tastes`, v = V' z their image (k,), and v_{-t} that image
    without the like t, the rows of the table are

        like t in H:  y v_{-t}, count_weight * y      (k + 1,)
        last row:     mean_row * v, 0                 (k + 1,)

    The first k columns are scaled together to an L2 norm of at most `tastes_norm`; then the whole
    table is clipped. If a person has nothing but the like t, v_{-t} is 0, and the count in its row
    stays. People without tastes (see `map_person`) add nothing.

    Args:
        people: `Profiles`.
        centre: `ProfileCentre`.
        context: `SparseRows` of the context items' features.
        taste_map: `TasteMap` by the directions V (f, k).
        head_places: (target items,) row of each item in the table; -1 outside the head.
        count_weight: Weight of the count column; 0: there is none.
        tastes_norm: Largest L2 norm of the first k columns.
        mean_row: Weight of the last row.
        least: A like counts as all that a person has if the weights of their other items add up to
            at most this.
        clip: `ClipRule` of the whole table; without noise the table is neither scaled nor clipped.
        total: Changed in place.
    """
    width = total.shape[1]
    k = width - 1 if count_weight > 0.0 else width
    shares, image = np.empty(context.width), np.empty(k)
    values, places = np.empty(total.size), np.empty(len(total), np.int64)
    for u in range(len(people.offsets) - 1):
        total_weight = map_person(people, u, centre.damping, context, taste_map, shares, image)
        if total_weight <= 0.0:
            continue
        root_of_likes = math.sqrt(_count_likes_in_head(people, u, head_places))
        row_count = 0
        for j in range(people.like_offsets[u], people.like_offsets[u + 1]):
            item = people.likes[j]
            if head_places[item] < 0:
                continue
            ratio = relative_weight_of_like(people, j, total_weight, centre.damping, least)
            for d in range(k):
                change = ratio * (image[d] - taste_map.targets[item, d])
                taste_without_like = image[d] - taste_map.mean[d] + change
                values[row_count * width + d] = (
                    taste_without_like / root_of_likes if ratio >= 0.0 else 0.0
                )
            if k < width:
                values[row_count * width + k] = count_weight / root_of_likes
            places[row_count] = head_places[item]
            row_count += 1
        for d in range(k):
            values[row_count * width + d] = mean_row * (image[d] - taste_map.mean[d])
        if k < width:
            values[row_count * width + k] = 0.0
        places[row_count] = len(total) - 1
        row_count += 1
        if clip.largest_square >= 0:
            _limit_tastes(values, row_count, k, width, tastes_norm)
        clip_person(values, row_count * width, clip)
        for j in range(row_count):
            for d in range(width):
                total[places[j], d] += values[j * width + d]
