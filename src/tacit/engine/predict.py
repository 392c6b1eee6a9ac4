"""Predictions and lists from item neighbours, readable: what faster engines must equal.

A sum over a person's rated items adds their terms one by one, in the order of the items. Scores are
then compared as they are: equal ones are ranked by the smaller item number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.base import Floats, Numbers
from tacit.errors import ConfigError


def predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array, cells: int
) -> Floats:
    """`Engine.predictions`, with dense blocks of at most `cells` beside the answer."""
    check_predictions(deviations, weights, similar)
    weighted = sparse.csr_array(
        (weights.data * deviations.data, deviations.indices, deviations.indptr), deviations.shape
    )
    towards, sizes = similar.T.tocsr(), abs(similar).T.tocsr()
    answer: Floats = np.zeros(deviations.shape)
    for rows in blocks(deviations.shape, cells):
        totals = (weights[rows] @ sizes).toarray()
        np.divide((weighted[rows] @ towards).toarray(), totals, out=answer[rows], where=totals > 0)
    return answer


def top(
    histories: sparse.csr_array,
    similar: sparse.csr_array,
    n: int,
    exclude: sparse.csr_array | None,
    cells: int,
) -> tuple[Numbers, Floats]:
    """`Engine.top`, with dense blocks of at most `cells`."""
    exclude = histories if exclude is None else exclude
    check_top(histories, similar, n, exclude)
    items = np.full((histories.shape[0], n), -1, dtype=np.int32)
    scores = np.zeros((histories.shape[0], n))
    reaches = _pattern(similar)
    for rows in blocks(histories.shape, cells):
        values = (histories[rows] @ similar).toarray()
        # A sum of zero is a candidate, an item that nothing leads to is none.
        candidates = (_pattern(histories[rows]) @ reaches).toarray() > 0
        candidates &= _pattern(exclude[rows]).toarray() == 0
        order = np.argsort(np.where(candidates, -values, np.inf), axis=1, kind="stable")[:, :n]
        kept = np.take_along_axis(candidates, order, axis=1)
        width = order.shape[1]
        items[rows, :width] = np.where(kept, order, -1)
        scores[rows, :width] = np.where(kept, np.take_along_axis(values, order, axis=1), 0.0)
    return items, scores


def check_predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
) -> None:
    """Refuse shapes that do not fit together."""
    _check_square(similar, deviations.shape[1])
    if (
        weights.shape != deviations.shape
        or not np.array_equal(weights.indptr, deviations.indptr)
        or not np.array_equal(weights.indices, deviations.indices)
    ):
        raise ConfigError("Deviations and weights are stored for the same people and items.")
    if len(weights.data) and weights.data.min() < 0:
        raise ConfigError("A weight of a rating is 0 or more.")


def check_top(
    histories: sparse.csr_array, similar: sparse.csr_array, n: int, exclude: sparse.csr_array
) -> None:
    """Refuse shapes that do not fit together, and lists of nothing."""
    _check_square(similar, histories.shape[1])
    if exclude.shape != histories.shape:
        raise ConfigError("What is left out has a row for each person and a column for each item.")
    if n < 1:
        raise ConfigError(f"A list has one item or more; got n={n}.")


def _check_square(similar: sparse.csr_array, items: int) -> None:
    if similar.shape != (items, items):
        raise ConfigError(
            f"{items} items need similarities of {items} by {items}; got "
            f"{similar.shape[0]} by {similar.shape[1]}."
        )


def blocks(shape: tuple[int, int], cells: int) -> list[slice]:
    """Runs of rows of at most `cells` cells together, one row at least."""
    height = max(1, cells // max(1, shape[1]))
    return [slice(start, start + height) for start in range(0, shape[0], height)]


def _pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    """1 at each stored entry, zeros included."""
    ones: NDArray[np.int32] = np.ones(matrix.nnz, dtype=np.int32)
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), matrix.shape)
