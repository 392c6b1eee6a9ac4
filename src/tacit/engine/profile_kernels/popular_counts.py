"""A second count of the likes of the most popular items, which may replace sums 2a, 2b and 3."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.clip import clip_person

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def add_popular_counts(people: Any, head_places: Any, clip: Any, total: Any) -> None:
    """Add each person's vector to total (head,).

    With L a person's likes in the head (the most popular target items), the vector before the clip
    has 1 / sqrt(|L|) for each item of L, and 0 for the others.

    Args:
        people: `Profiles`.
        head_places: (target items,) row of each item in the vector; -1 outside the head.
        clip: `ClipRule` of the whole vector.
        total: Changed in place.
    """
    values, places = np.empty(len(total)), np.empty(len(total), np.int64)
    for u in range(len(people.offsets) - 1):
        size = 0
        for j in range(people.like_offsets[u], people.like_offsets[u + 1]):
            place = head_places[people.likes[j]]
            if place >= 0:
                places[size] = place
                size += 1
        for j in range(size):
            values[j] = 1.0 / math.sqrt(size)
        clip_person(values, size, clip)
        for j in range(size):
            total[places[j]] += values[j]
