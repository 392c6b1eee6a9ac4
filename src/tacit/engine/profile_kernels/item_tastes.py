"""Sum 3: the tastes of each item's likers, each without the like itself."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.clip import clip_person
from tacit.engine.profile_kernels.tastes import map_person, weight_beside_rest

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def add_item_tastes(
    people: Any,
    centre: Any,
    context: Any,
    taste_map: Any,
    mean_row: float,
    least: float,
    clip: Any,
    total: Any,
) -> None:
    """Add each person's table to total (target items + 1, k).

    With L a person's likes, v = V' z their tastes and v_{-t} those without the like t, the rows of
    the table before the clip are

        liked item t:  v_{-t} / sqrt(|L|)        (k,)
        last row:      mean_row * v              (k,)

    Args:
        people: `Profiles`.
        centre: `ProfileCentre`.
        context: `SparseRows` of the context items' features.
        taste_map: `TasteMap` by the directions V (f, k).
        mean_row: Weight of the last row.
        least: A like is left out where all other weights of the person add up to at most this.
        clip: `ClipRule` of the whole table.
        total: Changed in place.
    """
    k = total.shape[1]
    shares, image = np.empty(context.width), np.empty(k)
    values, places = np.empty(len(total) * k), np.empty(len(total), np.int64)
    for u in range(len(people.offsets) - 1):
        start, end = people.like_offsets[u], people.like_offsets[u + 1]
        weights = map_person(people, u, centre.damping, context, taste_map, shares, image)
        if weights <= 0.0:
            continue
        rows = 0
        for j in range(start, end):
            item = people.likes[j]
            ratio = weight_beside_rest(people, j, weights, centre.damping, least)
            if ratio >= 0.0:
                for d in range(k):
                    beside = ratio * (image[d] - taste_map.targets[item, d])
                    without = image[d] - taste_map.mean[d] + beside
                    values[rows * k + d] = without / math.sqrt(end - start)
                places[rows] = item
                rows += 1
        for d in range(k):
            values[rows * k + d] = mean_row * (image[d] - taste_map.mean[d])
        places[rows] = len(total) - 1
        rows += 1
        clip_person(values, rows * k, clip)
        for j in range(rows):
            for d in range(k):
                total[places[j], d] += values[j * k + d]
