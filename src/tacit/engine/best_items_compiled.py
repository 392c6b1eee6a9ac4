"""Compiled kernels of `best_items`: passes over a person's scores that keep the n best in order.

`scan_scores` makes one pass over exact scores. `scan_products` makes one pass over rounded
products, and a second one that computes the exact products of the items that may be listed.

A run is `RUN` consecutive scores of a person. Vector instructions first compare all scores of a run
with a bound, such as the lowest score of the list. The scores are looked at one by one only if one
of them can enter the list.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")

RUN = 64
"""Number of scores that are compared with a bound at once."""


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _insert(value: float, place: int, count: int, values: Any, places: Any) -> int:
    """Insert an item into a list in descending order, after items of the same value.

    Args:
        value: The item's value; if the list is full, larger than the last value in it.
        place: The item's place; larger than the places of listed items of the same value.
        count: Number of items in the list.
        values: (n,) values of the list, changed in place.
        places: (n,) places of the list, changed in place.

    Returns:
        The new number of items in the list, at most n.
    """
    position = min(count, len(values) - 1)
    while position > 0 and values[position - 1] < value:
        values[position] = values[position - 1]
        places[position] = places[position - 1]
        position -= 1
    values[position] = value
    places[position] = place
    return min(count + 1, len(values))


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _scan_row(scores: Any, values: Any, places: Any) -> int:
    """Find the n largest scores above -inf, and their places; scores of NaN are skipped.

    Args:
        scores: (items,) scores.
        values: (n,) filled with the largest scores, in descending order.
        places: (n,) filled with their places; equal scores are in the order of places.

    Returns:
        The number of entries that were filled: n, or fewer if there are fewer scores above -inf.
    """
    n = len(values)
    count = 0
    lowest = scores.dtype.type(-np.inf)  # -inf until the list is full, then its lowest score
    for start in range(0, len(scores), RUN):
        run = scores[start : start + RUN]
        higher_count = 0
        for j in range(len(run)):
            higher_count += run[j] > lowest
        if higher_count > 0:
            for j in range(len(run)):
                if run[j] > lowest:
                    count = _insert(run[j], start + j, count, values, places)
                    if count == n:
                        lowest = values[n - 1]
    return count


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def scan_scores(scores: Any, offsets: Any, excluded: Any, places: Any, best_scores: Any) -> None:
    """Make the lists of a block of people; lists of fewer than n items are not filled.

    Args:
        scores: (people, items) float64 scores.
        offsets: (people + 1,) where each person's items begin in `excluded`.
        excluded: Places of the items to leave out, one person's after the other's.
        places: (people, n) filled with the places of the lists.
        best_scores: (people, n) filled with the scores of the lists.
    """
    n = places.shape[1]
    row = np.empty(scores.shape[1], scores.dtype)
    row_scores = np.empty(n, scores.dtype)
    row_places = np.empty(n, np.int64)
    for u in range(len(scores)):
        row[:] = scores[u]
        row[excluded[offsets[u] : offsets[u + 1]]] = -np.inf
        if _scan_row(row, row_scores, row_places) == n:
            places[u] = row_places
            best_scores[u] = row_scores


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def scan_products(
    scores: Any,
    errors: Any,
    people: Any,
    items: Any,
    offsets: Any,
    excluded: Any,
    places: Any,
    best_scores: Any,
) -> None:
    """Make the lists of a block of people from rounded products.

    If no rounded product is off by more than e, each of the n best items has a rounded product of
    at least the n-th largest one minus 2 e. The exact products of all items with such a rounded
    product are computed and ranked.

    Args:
        scores: (people, items) float32 products; changed in place.
        errors: (people,) largest error e of a person's products.
        people: (people, k) float64 factors of people.
        items: (items, k) float64 factors of items.
        offsets: (people + 1,) where each person's items begin in `excluded`.
        excluded: Places of the items to leave out, one person's after the other's.
        places: (people, n) filled with the places of the lists. The entries after the last item of
            a list stay as they were.
        best_scores: (people, n) filled with the scores of the lists, in the same way.
    """
    n = places.shape[1]
    approximate_scores = np.empty(n, scores.dtype)
    approximate_places = np.empty(n, np.int64)
    for u in range(len(scores)):
        row = scores[u]
        row[excluded[offsets[u] : offsets[u + 1]]] = -np.inf
        count = _scan_row(row, approximate_scores, approximate_places)
        bound = np.float64(-np.inf)  # no item with a smaller rounded product is listed
        if count == n:
            bound = np.float64(approximate_scores[n - 1]) - 2.0 * errors[u]
        # The next smaller float32, so that the first comparison, in float32, excludes no item.
        float32_bound = np.nextafter(np.float32(bound), np.float32(-np.inf))
        listed = 0
        for start in range(0, len(row), RUN):
            run = row[start : start + RUN]
            candidates = 0
            for j in range(len(run)):
                candidates += run[j] >= float32_bound
            if candidates > 0:
                for j in range(len(run)):
                    if run[j] > -np.inf and run[j] >= bound:
                        product = 0.0
                        for c in range(items.shape[1]):
                            product += people[u, c] * items[start + j, c]
                        if listed < n or product > best_scores[u, n - 1]:
                            listed = _insert(product, start + j, listed, best_scores[u], places[u])
