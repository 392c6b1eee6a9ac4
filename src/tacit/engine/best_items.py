"""The n best of many scores, by selection instead of sorting; ties go to the lower place.

`rank_best` serves one person and is the reference of the compiled kernels, which serve blocks.
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
"""From a run of people to (people, items) scores, which the caller may change."""

BLOCK_BYTES = 1 << 23
"""Bytes of the scores that are held at once: a few of these blocks fit in the last cache."""
LONGEST_SCANNED = 200
"""Longest list that the compiled kernels keep in order by insertion."""
_FLOAT32_ROUNDING = 2.0**-24
"""Largest relative error of rounding a number to float32."""


@dataclass(frozen=True, eq=False)
class BestItems:
    """A list for each of many people."""

    places: Ints
    """(people, n) places of items, best first; -1 where a list is shorter."""
    scores: Floats
    """(people, n) their scores; NaN where a list is shorter."""

    def renumber(self, places: Ints) -> BestItems:
        """Give the items other places. places: (items,) new place of each."""
        if not len(places):
            return self
        return BestItems(np.where(self.places < 0, -1, places[self.places]), self.scores)


def rank_best(scores: Floats, n: int) -> Ints:
    """Give the places of the n largest scores, largest first, ties by place; NaN comes last.

    Args:
        scores: (items,)
        n: Number of places, at least 1; all places if there are fewer.
    """
    descending = -scores
    if n < len(scores):
        last = np.partition(descending, n - 1)[n - 1]
        if not np.isnan(last):
            places = np.flatnonzero(descending <= last)
            return places[np.argsort(descending[places], kind="stable")][:n]
    return np.argsort(descending, kind="stable")[:n]


def best_of_scores(score: Scorer, rated: sparse.csr_array, n: int) -> BestItems:
    """Make each person's list from dense scores, a block of people at a time.

    Args:
        score: Scores a run of people.
        rated: (people, items) what is stored in a person's row is not listed.
        n: Length of a list.
    """
    from tacit.engine.best_items_compiled import scan_scores

    made = _no_lists(rated.shape[0], n)
    for block in _blocks(rated.shape, np.dtype(np.float64).itemsize):
        scores = np.array(score(block), dtype=np.float64)
        offsets = rated.indptr[block.start : block.stop + 1]
        if n <= LONGEST_SCANNED:
            scan_scores(scores, offsets, rated.indices, made.places[block], made.scores[block])
        _rank_unfinished(made, block, scores, rated)
    return made


def best_of_products(people: Floats, items: Floats, rated: sparse.csr_array, n: int) -> BestItems:
    """Make each person's list from scores that are inner products.

    Products are made in float32. Places that its rounding error leaves in question are scored again
    in float64, so that lists are those of float64 scores.

    Args:
        people: (people, k) finite.
        items: (items, k) finite.
        rated: (people, items) what is stored in a person's row is not listed.
        n: Length of a list.
    """
    if n > LONGEST_SCANNED:
        return best_of_scores(lambda block: people[block] @ items.T, rated, n)
    from tacit.engine.best_items_compiled import scan_products

    made = _no_lists(len(people), n)
    items = np.ascontiguousarray(items)
    columns = np.ascontiguousarray(items.T, dtype=np.float32)
    longest = np.linalg.norm(items, axis=1).max(initial=0.0)
    error_of_unit = (items.shape[1] + 4) * _FLOAT32_ROUNDING * longest
    for block in _blocks(rated.shape, columns.itemsize):
        rows = np.ascontiguousarray(people[block])
        scan_products(
            rows.astype(np.float32) @ columns,
            np.linalg.norm(rows, axis=1) * error_of_unit,
            rows,
            items,
            rated.indptr[block.start : block.stop + 1],
            rated.indices,
            made.places[block],
            made.scores[block],
        )
    return made


def _no_lists(people: int, n: int) -> BestItems:
    return BestItems(np.full((people, n), -1, dtype=np.int64), np.full((people, n), np.nan))


def _blocks(shape: tuple[int, int], itemsize: int) -> Iterator[slice]:
    """Cut people into runs whose scores take `BLOCK_BYTES`, one person at least."""
    height = max(1, BLOCK_BYTES // (itemsize * max(1, shape[1])))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


def _rank_unfinished(
    made: BestItems, block: slice, scores: Floats, rated: sparse.csr_array
) -> None:
    """Rank the rows that the kernel left short: few items are left, or scores are not finite."""
    n = made.places.shape[1]
    for row in np.flatnonzero(made.places[block, -1] < 0).tolist():
        person = block.start + row
        own = rated.indices[rated.indptr[person] : rated.indptr[person + 1]]
        order = rank_best(scores[row], min(scores.shape[1], n + len(own)))
        listed = order[~np.isin(order, own)][:n]
        made.places[person, : len(listed)] = listed
        made.scores[person, : len(listed)] = scores[row, listed]
