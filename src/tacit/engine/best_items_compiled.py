"""Kernels of `best_items`: one pass over a person's scores keeps the n best in order.

A run of scores is compared with the least score of the list at once, which the processor does
several at a time. Only a run that holds a better one is looked at one by one.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")

RUN = 64
"""Scores that are compared with the least of the list at once."""


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _insert(value: float, place: int, count: int, values: Any, places: Any) -> int:
    """Insert into a list in descending order, after its equals, and return the list's new length.

    Args:
        value: Larger than the last of a full list.
        place: Above all places of equal values in the list.
        count: Length of the list; n where it is full.
        values: (n,) changed in place.
        places: (n,) likewise.
    """
    at = min(count, len(values) - 1)
    while at > 0 and values[at - 1] < value:
        values[at] = values[at - 1]
        places[at] = places[at - 1]
        at -= 1
    values[at] = value
    places[at] = place
    return min(count + 1, len(values))


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _scan_row(scores: Any, values: Any, places: Any) -> int:
    """Keep the n largest of (items,) scores above -inf; returns how many there are.

    Args:
        scores: (items,)
        values: (n,) filled with them, largest first, ties by place.
        places: (n,) filled with their places.
    """
    n = len(values)
    count = 0
    least = scores.dtype.type(-np.inf)
    for start in range(0, len(scores), RUN):
        run = scores[start : start + RUN]
        better = 0
        for j in range(len(run)):
            better += run[j] > least
        if better > 0:
            for j in range(len(run)):
                if run[j] > least:
                    count = _insert(run[j], start + j, count, values, places)
                    if count == n:
                        least = values[n - 1]
    return count


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def scan_scores(scores: Any, offsets: Any, rated: Any, places: Any, best: Any) -> None:
    """Fill lists of a block of people; a list that stays short is left as it was.

    Args:
        scores: (people, items) float64.
        offsets: (people + 1,) where each person's rated items begin in `rated`.
        rated: Places of rated items, which are not listed.
        places: (people, n) filled.
        best: (people, n) filled with their scores.
    """
    n = places.shape[1]
    row = np.empty(scores.shape[1], scores.dtype)
    values = np.empty(n, scores.dtype)
    found = np.empty(n, np.int64)
    for u in range(len(scores)):
        row[:] = scores[u]
        row[rated[offsets[u] : offsets[u + 1]]] = -np.inf
        if _scan_row(row, values, found) == n:
            places[u] = found
            best[u] = values


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def scan_products(
    scores: Any,
    errors: Any,
    people: Any,
    items: Any,
    offsets: Any,
    rated: Any,
    places: Any,
    best: Any,
) -> None:
    """Fill lists of a block of people from rounded products, scored again where it matters.

    With e the error of a rounded product, each of the n best has a rounded product of at least the
    n-th largest rounded product less 2 e.

    Args:
        scores: (people, items) float32 products; changed in place.
        errors: (people,) largest error of a person's products.
        people: (people, k) float64.
        items: (items, k) float64.
        offsets: (people + 1,) where each person's rated items begin in `rated`.
        rated: Places of rated items, which are not listed.
        places: (people, n) filled as far as there are items.
        best: (people, n) likewise, with their scores.
    """
    n = places.shape[1]
    values = np.empty(n, scores.dtype)
    found = np.empty(n, np.int64)
    for u in range(len(scores)):
        row = scores[u]
        row[rated[offsets[u] : offsets[u + 1]]] = -np.inf
        count = _scan_row(row, values, found)
        least = np.float64(-np.inf)
        if count == n:
            least = np.float64(values[n - 1]) - 2.0 * errors[u]
        below_least = np.nextafter(np.float32(least), np.float32(-np.inf))
        listed = 0
        for start in range(0, len(row), RUN):
            run = row[start : start + RUN]
            near = 0
            for j in range(len(run)):
                near += run[j] >= below_least
            if near > 0:
                for j in range(len(run)):
                    if run[j] > -np.inf and run[j] >= least:
                        product = 0.0
                        for c in range(items.shape[1]):
                            product += people[u, c] * items[start + j, c]
                        if listed < n or product > best[u, n - 1]:
                            listed = _insert(product, start + j, listed, best[u], places[u])
