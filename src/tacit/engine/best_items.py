"""The n items with the highest scores, found without sorting all scores.

A place is the column of an item in a matrix of scores. Of items with equal scores, the one with the
lower place comes first. `rank_best` ranks the scores of one person and is the reference for the
compiled kernels, which `best_of_scores` and `best_of_products` use for many people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scorer = Callable[[slice], Floats]
"""Computes the scores (people of the slice, items) of a slice of the people."""

BLOCK_BYTES = 1 << 23
"""Largest number of bytes of a block of scores of several people; a few blocks fit in the
last-level cache."""
LONGEST_SCANNED = 200
"""Largest length of a list for which the compiled kernels are used. They insert item by item, which
is slow for longer lists."""
_FLOAT32_ROUNDING = 2.0**-24
"""Largest relative error of rounding a number to float32."""
_FLOAT32_SMALLEST = 2.0**-126
"""Largest error of rounding a number to float32 that is too small for the relative error."""
_FLOAT32_LARGEST = 2.0**127
"""A limit below which neither a factor nor a sum of products overflows in float32."""


@dataclass(frozen=True, eq=False)
class BestItems:
    """The n best items of each of many people."""

    places: Ints
    """(people, n) places of items, the best first. If a list has fewer than n items, it ends with
    places of -1."""
    scores: Floats
    """(people, n) scores of these items; NaN for a place of -1."""

    def renumber(self, places: Ints) -> BestItems:
        """Return the lists with another place for each item; places of -1 stay.

        Args:
            places: (items,) the new place of each item. If it is empty, the lists stay as they are.
        """
        if not len(places):
            return self
        return BestItems(np.where(self.places < 0, -1, places[self.places]), self.scores)


def rank_best(scores: Floats, n: int) -> Ints:
    """Return the places of the n largest scores, the largest first.

    Args:
        scores: (items,) scores. Equal ones are ranked by place; NaN is ranked last.
        n: Number of places, at least 1; if there are fewer items, the places of all items are
            returned.
    """
    negative = -scores
    if n < len(scores):
        last = np.partition(negative, n - 1)[n - 1]
        if not np.isnan(last):
            places = np.flatnonzero(negative <= last)
            return places[np.argsort(negative[places], kind="stable")][:n]
    return np.argsort(negative, kind="stable")[:n]


def best_of_scores(score: Scorer, excluded: sparse.csr_array, n: int) -> BestItems:
    """Make each person's list of the n items with the highest scores, a block of people at a time.

    Args:
        score: Computes the scores of a slice of the people.
        excluded: (people, items) with an entry for each item to leave out of a person's list.
        n: Length of a list, at least 1.
    """
    from tacit.engine.best_items_compiled import scan_scores

    lists = _make_empty_lists(excluded.shape[0], n)
    for block in _cut_people(excluded.shape, np.dtype(np.float64).itemsize):
        scores = np.array(score(block), dtype=np.float64)
        offsets = excluded.indptr[block.start : block.stop + 1]
        if n <= LONGEST_SCANNED:  # `_finish_lists` makes longer lists
            scan_scores(scores, offsets, excluded.indices, lists.places[block], lists.scores[block])
        _finish_lists(lists, block, scores, excluded)
    return lists


def best_of_products(
    people: Floats, items: Floats, excluded: sparse.csr_array, n: int
) -> BestItems:
    """Make each person's list from scores that are inner products of factors.

    Products are computed in float32, which is fast. Each item whose product is large enough for the
    list, up to the rounding error, is scored again in float64: lists are those of float64 scores.
    If float32 may overflow, all products are computed in float64.

    Args:
        people: (people, k) finite factors of people.
        items: (items, k) finite factors of items.
        excluded: (people, items) with an entry for each item to leave out of a person's list.
        n: Length of a list, at least 1.
    """
    k = items.shape[1]
    largest_of_people = _largest_absolute(people)
    largest_of_items = _largest_absolute(items)
    largest_sum = k * largest_of_people * largest_of_items
    largest = max(largest_of_people, largest_of_items, largest_sum)
    if n > LONGEST_SCANNED or largest >= _FLOAT32_LARGEST:
        return best_of_scores(lambda block: people[block] @ items.T, excluded, n)
    from tacit.engine.best_items_compiled import scan_products

    lists = _make_empty_lists(len(people), n)
    items = np.ascontiguousarray(items)
    columns = np.ascontiguousarray(items.T, dtype=np.float32)
    longest = np.linalg.norm(items, axis=1).max(initial=0.0)
    # The error of <p, q> in float32 is at most (k + 4) 2^-24 |p| |q|, without underflow. Each of
    # the k terms adds at most 2^-126 (2 + max |p_c| + max |q_c|) if factors, products or sums
    # underflow.
    error_per_length = (k + 4) * _FLOAT32_ROUNDING * longest
    underflow_error = k * _FLOAT32_SMALLEST * (2 + largest_of_people + largest_of_items)
    for block in _cut_people(excluded.shape, columns.itemsize):
        rows = np.ascontiguousarray(people[block])
        scan_products(
            rows.astype(np.float32) @ columns,
            np.linalg.norm(rows, axis=1) * error_per_length + underflow_error,
            rows,
            items,
            excluded.indptr[block.start : block.stop + 1],
            excluded.indices,
            lists.places[block],
            lists.scores[block],
        )
    return lists


def _largest_absolute(factors: Floats) -> float:
    """Return the largest absolute value of a matrix; 0 if it has no entries."""
    return float(max(factors.max(initial=0.0), -factors.min(initial=0.0)))


def _make_empty_lists(people: int, n: int) -> BestItems:
    """Make lists of n places without an item: places of -1, and scores of NaN."""
    return BestItems(np.full((people, n), -1, dtype=np.int64), np.full((people, n), np.nan))


def _cut_people(shape: tuple[int, int], itemsize: int) -> Iterator[slice]:
    """Cut people into slices whose scores take at most `BLOCK_BYTES`, or into single people.

    Args:
        shape: Numbers of people and of items.
        itemsize: Bytes of a score.
    """
    height = max(1, BLOCK_BYTES // (itemsize * max(1, shape[1])))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


def _finish_lists(
    lists: BestItems, block: slice, scores: Floats, excluded: sparse.csr_array
) -> None:
    """Make the lists of a block that have fewer than n items so far.

    These are lists of more than `LONGEST_SCANNED` items, which the kernel does not make, and lists
    of people who have fewer than n items that are not excluded and have a score above -inf.

    Args:
        lists: The lists of all people, changed in place.
        block: The people of the block.
        scores: (people of the block, items) scores.
        excluded: (people, items) with an entry for each item to leave out of a person's list.
    """
    n = lists.places.shape[1]
    for row in np.flatnonzero(lists.places[block, -1] < 0).tolist():
        person = block.start + row
        left_out = excluded.indices[excluded.indptr[person] : excluded.indptr[person + 1]]
        order = rank_best(scores[row], min(scores.shape[1], n + len(left_out)))
        listed = order[~np.isin(order, left_out)][:n]
        lists.places[person, : len(listed)] = listed
        lists.scores[person, : len(listed)] = scores[row, listed]
