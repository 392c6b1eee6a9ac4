"""Sum 2b: features of a person's likes times their tastes without the like."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.clip import clip_person
from tacit.engine.profile_kernels.tastes import map_person, relative_weight_of_like

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def add_feature_products(
    people: Any,
    centre: Any,
    context: Any,
    targets: Any,
    taste_map: Any,
    mean_likes: Any,
    least: float,
    clip: Any,
    total: Any,
) -> None:
    """Add each person's table to total (f, f).

    With L a person's likes, F_t the features of item t, z the person's tastes as in `fill_tastes`,
    a = A' z their whitened tastes and a_{-t} their whitened tastes without the like t, the table
    before the clip is

        sum_{t in L} F_t a_{-t}' / sqrt(|L|)  -  mean_likes a'        (f, f)

    People without tastes (see `map_person`) add nothing.

    Args:
        people: `Profiles`.
        centre: `ProfileCentre`.
        context: `SparseRows` of the context items' features.
        targets: `SparseRows` of the target items' features.
        taste_map: `TasteMap` by the whitening A (f, f).
        mean_likes: (f,) mean features of likes.
        least: A like is left out if the weights of the person's other items add up to at most this.
        clip: `ClipRule` of the whole table.
        total: Changed in place.
    """
    width = context.width
    shares, image = np.empty(width), np.empty(width)
    table, sums = np.empty((width, width)), total.ravel()
    flat = table.ravel()
    for u in range(len(people.offsets) - 1):
        start, end = people.like_offsets[u], people.like_offsets[u + 1]
        total_weight = map_person(people, u, centre.damping, context, taste_map, shares, image)
        if total_weight <= 0.0:
            continue
        for c in range(width):
            for d in range(width):
                table[c, d] = -mean_likes[c] * (image[d] - taste_map.mean[d])
        for j in range(start, end):
            item = people.likes[j]
            ratio = relative_weight_of_like(people, j, total_weight, centre.damping, least)
            if ratio >= 0.0:
                for q in range(targets.offsets[item], targets.offsets[item + 1]):
                    weight = targets.values[q] / math.sqrt(end - start)
                    row = table[targets.columns[q]]
                    for d in range(width):
                        change = ratio * (image[d] - taste_map.targets[item, d])
                        row[d] += weight * (image[d] - taste_map.mean[d] + change)
        clip_person(flat, width * width, clip)
        for j in range(width * width):
            sums[j] += flat[j]
