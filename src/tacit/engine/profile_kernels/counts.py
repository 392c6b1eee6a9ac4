"""Sum 1: how often items are used and liked, and how many people there are."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.clip import clip_person

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def add_counts(
    people: Any, context_items: int, items_norm: float, presence: float, clip: Any, total: Any
) -> None:
    """Add each person's vector to total (context items + target items + 1,).

    With w the weights of a person's context items (1 if liked, else `other_weight`) and L the
    person's likes among the target items, the vector before the clip has

        context item i:  items_norm * w_i / |w|_2    (only if `context_items` is above 0)
        liked target:    items_norm / sqrt(|L|)
        last entry:      presence

    and 0 elsewhere.

    Args:
        people: `Profiles`.
        context_items: Number of context items; 0 if context and target items are the same, so that
            only the entries of targets are filled.
        items_norm: L2 norm of the entries of context items, and L2 norm of the entries of targets.
        presence: The last entry, by which people are counted.
        clip: `ClipRule` of the whole vector.
        total: Changed in place.
    """
    entries = len(total)
    values, places = np.empty(entries), np.empty(entries, np.int64)
    for u in range(len(people.offsets) - 1):
        size = 0
        if context_items:
            start, end = people.offsets[u], people.offsets[u + 1]
            square = 0.0
            for j in range(start, end):
                weight = 1.0 if people.liked[j] else people.other_weight
                square += weight * weight
            for j in range(start, end):
                weight = 1.0 if people.liked[j] else people.other_weight
                values[size] = items_norm * (weight / math.sqrt(square))
                places[size] = people.items[j]
                size += 1
        start, end = people.like_offsets[u], people.like_offsets[u + 1]
        for j in range(start, end):
            values[size] = items_norm / math.sqrt(end - start)
            places[size] = context_items + people.likes[j]
            size += 1
        values[size] = presence
        places[size] = entries - 1
        size += 1
        clip_person(values, size, clip)
        for j in range(size):
            total[places[j]] += values[j]
