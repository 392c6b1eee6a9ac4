"""Predictions and lists from item neighbours, compiled: equal to the last bit to `predict`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from scipy import sparse

from tacit.engine.base import Floats, Numbers
from tacit.engine.predict import check_predictions, check_top


def predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
) -> Floats:
    """`Engine.predictions`; beside the answer, one copy of the similarities."""
    check_predictions(deviations, weights, similar)
    towards = similar.T.tocsr()
    answer: Floats = np.zeros(deviations.shape)
    _predict(
        deviations.indptr, _unsigned(deviations), deviations.data.astype(np.float64, copy=False),
        weights.data.astype(np.float64, copy=False),
        towards.indptr, _unsigned(towards), towards.data.astype(np.float64, copy=False),
        np.zeros(deviations.shape[1]), answer,
    )  # fmt: skip
    return answer


def top(
    histories: sparse.csr_array,
    similar: sparse.csr_array,
    n: int,
    exclude: sparse.csr_array | None,
) -> tuple[Numbers, Floats]:
    """`Engine.top`; beside the answer, one number for each item."""
    exclude = histories if exclude is None else exclude
    check_top(histories, similar, n, exclude)
    items = np.full((histories.shape[0], n), -1, dtype=np.int32)
    scores = np.zeros((histories.shape[0], n))
    count = histories.shape[1]
    _list(
        histories.indptr, _unsigned(histories), histories.data.astype(np.float64, copy=False),
        similar.indptr, _unsigned(similar), similar.data.astype(np.float64, copy=False),
        exclude.indptr, _unsigned(exclude),
        np.zeros(count), np.zeros(count, np.bool_), items, scores,
    )  # fmt: skip
    return items, scores


def _unsigned(matrix: sparse.csr_array) -> Any:
    """Column numbers without a sign, so that the kernel need not look for negative ones."""
    return matrix.indices.view(np.uint32 if matrix.indices.dtype == np.int32 else np.uint64)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _predict(
    offsets: Any, rated: Any, deviations: Any, weights: Any,
    similar_offsets: Any, similar: Any, similarities: Any, totals: Any, answer: Any,
) -> None:  # fmt: skip
    for person in range(len(offsets) - 1):
        sums = answer[person]
        totals[:] = 0.0
        for t in range(offsets[person], offsets[person + 1]):
            weight, contribution = weights[t], weights[t] * deviations[t]
            near = np.int64(rated[t])
            begin, end = similar_offsets[near], similar_offsets[near + 1]
            reached, values = similar[begin:end], similarities[begin:end]
            for e in range(np.uintp(len(reached))):
                sums[reached[e]] += contribution * values[e]
                totals[reached[e]] += weight * abs(values[e])
        for item in range(len(totals)):
            sums[item] = sums[item] / totals[item] if totals[item] > 0.0 else 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _list(
    offsets: Any, liked: Any, values: Any, similar_offsets: Any, similar: Any, similarities: Any,
    exclude_offsets: Any, excluded: Any, sums: Any, reached: Any, items: Any, scores: Any,
) -> None:  # fmt: skip
    n = items.shape[1]
    for person in range(len(offsets) - 1):
        for t in range(offsets[person], offsets[person + 1]):
            near, value = np.int64(liked[t]), values[t]
            begin, end = similar_offsets[near], similar_offsets[near + 1]
            targets, weights = similar[begin:end], similarities[begin:end]
            for e in range(np.uintp(len(targets))):
                sums[targets[e]] += value * weights[e]
                reached[targets[e]] = True
        for t in range(exclude_offsets[person], exclude_offsets[person + 1]):
            reached[excluded[t]] = False
            sums[excluded[t]] = 0.0
        line, marks = items[person], scores[person]
        size = 0
        # In the order of the numbers: a later item moves up only past smaller scores.
        for item in range(len(sums)):
            if not reached[item]:
                continue
            score = sums[item]
            reached[item], sums[item] = False, 0.0
            if size == n and score <= marks[n - 1]:
                continue
            at = size if size < n else n - 1
            size = min(size + 1, n)
            while at > 0 and marks[at - 1] < score:
                line[at], marks[at] = line[at - 1], marks[at - 1]
                at -= 1
            line[at], marks[at] = item, score
