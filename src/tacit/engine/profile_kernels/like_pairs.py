"""Pairs of likes, released together with sum 3: which popular items are liked together."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def add_like_pairs(people: Any, head_places: Any, weights_by_likes: Any, total: Any) -> None:
    """Add each person's pairs of likes to `total`.

    `total` is the upper triangle, row by row and without the diagonal, of a matrix over the most
    popular items (the head). With L a person's likes in the head, each pair of L gets
    weights_by_likes[|L|], all other pairs 0. With h the number of items of the head, the index in
    `total` of the pair of the places a < b is a * (2 h - a - 1) / 2 + b - a - 1.

    Args:
        people: `Profiles`; nobody has a like twice.
        head_places: (target items,) place of each item in the head; -1 outside.
        weights_by_likes: (head + 1,) what a pair gets, by the person's number of likes in the head.
            These weights must keep a person's norm within the limit of the sum, since nothing is
            clipped here.
        total: (head * (head - 1) / 2,) changed in place.
    """
    head = len(weights_by_likes) - 1
    liked_places = np.empty(head, np.int64)
    for u in range(len(people.like_offsets) - 1):
        likes = 0
        for j in range(people.like_offsets[u], people.like_offsets[u + 1]):
            place = head_places[people.likes[j]]
            if place >= 0:
                liked_places[likes] = place
                likes += 1
        weight = weights_by_likes[likes]
        for i in range(1, likes):
            for j in range(i):
                first = min(liked_places[i], liked_places[j])
                second = max(liked_places[i], liked_places[j])
                total[first * (2 * head - first - 1) // 2 + second - first - 1] += weight
