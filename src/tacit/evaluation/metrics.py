"""How good recommendations are: lists by held-out likes, stars by their errors, labels of items.

A list holds up to n items, best first. A held-out item is relevant if its gain is above 0. With g_k
the gain of the item at rank k (0 where it is not relevant or the list has ended) and R the person's
relevant items:

  NDCG@n       sum_k g_k / log2(k + 1), divided by the same sum for the person's n largest gains:
               gains as they are, not as 2^gain - 1 (Järvelin and Kekäläinen, 2002)
  recall@n     relevant items in the list / |R|; below 1 by necessity where |R| > n
  precision@n  relevant items in the list / n, also where the list is shorter than n
  MRR@n        1 / rank of the first relevant item, 0 where none is in the list
  hit rate@n   1 where a relevant item is in the list, else 0
  MAP@n        mean over R's items of the precision at the rank of each, 0 for one not in the list
  coverage@n   share of the catalogue that is in at least one list, everybody's
  Gini@n       Gini coefficient of the numbers of lists that the catalogue's items are in: 0 where
               all are in as many, near 1 where few are in nearly all
  novelty@n    mean of -log2((raters + 1) / (people + 1)) over listed items (Zhou and others, 2010)
  diversity@n  mean of 1 - cosine over pairs of items in a list, of the columns of training ratings
               as 0 and 1 (Ziegler and others, 2005); people with fewer than two items are left out
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tacit.errors import DataError

Floats = NDArray[np.float64]
LISTS_AT_A_TIME = 200
"""Lists whose sums over training people are held at once."""
Lists = NDArray[np.integer]
"""(n_users, n) item numbers, best first; -1 = no item at this rank."""


@dataclass(frozen=True, slots=True)
class RankingMetrics:
    """Metrics of lists; all but coverage are means over people with at least one relevant item."""

    n: int
    """Length of a list."""
    ndcg: float
    """NDCG@n."""
    recall: float
    """Recall@n."""
    precision: float
    """Precision@n."""
    mrr: float
    """MRR@n."""
    hit_rate: float
    """Hit rate@n."""
    mean_average_precision: float
    """MAP@n."""
    coverage: float
    """Coverage@n."""
    users: int
    """People with at least one relevant item."""
    users_left_out: int
    """People without one."""


def ranking_metrics(recommended: Lists, relevant: sparse.csr_array) -> RankingMetrics:
    """Compute all metrics of one table of lists.

    Args:
        recommended: Shape (people, n): item numbers, best first, -1 for no item.
        relevant: Shape (people, items): CSR of gains of 0 or more; a gain of 0 is as good as none.

    Raises:
        DataError: Nobody has a relevant item, or a table is not of these shapes.
    """
    by_person = ranking_by_person(recommended, relevant)
    judged = np.isfinite(by_person["ndcg"])
    if not judged.any():
        raise DataError(
            "nobody has a relevant held-out item",
            expected="at least one gain above 0",
            fix="Hold out more ratings, or lower the threshold of relevance.",
        )
    means = {name: float(values[judged].mean()) for name, values in by_person.items()}
    return RankingMetrics(
        n=np.asarray(recommended).shape[1],
        ndcg=means["ndcg"],
        recall=means["recall"],
        precision=means["precision"],
        mrr=means["mrr"],
        hit_rate=means["hit_rate"],
        mean_average_precision=means["map"],
        coverage=coverage(recommended, relevant.shape[1]),
        users=int(judged.sum()),
        users_left_out=int((~judged).sum()),
    )


def ranking_by_person(recommended: Lists, relevant: sparse.csr_array) -> dict[str, Floats]:
    """Compute every metric that each person has of their own.

    Args:
        recommended: Shape (people, n): item numbers, best first, -1 for no item.
        relevant: Shape (people, items): CSR of gains of 0 or more.

    Returns:
        "ndcg", "recall", "precision", "mrr", "map" and "hit_rate", each of shape (people,); NaN for
        people without a relevant item.

    Raises:
        DataError: A table is not of these shapes.
    """
    gains, held_out = _gains(recommended, relevant)
    n = gains.shape[1]
    n_relevant = np.diff(held_out.indptr)
    hits = gains > 0
    in_list = hits.sum(axis=1)
    ranks = np.arange(1, n + 1)
    precision_at_hits = np.where(hits, hits.cumsum(axis=1) / ranks, 0.0).sum(axis=1)
    first_rank = 1 + hits.argmax(axis=1)
    judged = n_relevant > 0
    return {
        "ndcg": _divide(_dcg(gains), _ideal_dcg(held_out, n), judged),
        "recall": _divide(in_list, n_relevant, judged),
        "precision": _divide(in_list, np.full(len(judged), n), judged),
        "mrr": _divide(in_list > 0, first_rank, judged),
        "map": _divide(precision_at_hits, n_relevant, judged),
        "hit_rate": np.where(judged, in_list > 0, np.nan),
    }


def _divide(parts: NDArray[Any], wholes: NDArray[Any], judged: NDArray[np.bool_]) -> Floats:
    """Divide by person; NaN for people who are not judged."""
    shares: Floats = np.full(len(judged), np.nan)
    np.divide(parts, wholes, out=shares, where=judged)
    return shares


def coverage(recommended: Lists, n_items: int) -> float:
    """Compute the share of the catalogue that is in at least one list.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        n_items: Size of the catalogue.

    Raises:
        DataError: The catalogue is smaller than what was recommended.
    """
    shown = np.unique(_checked_lists(recommended))
    shown = shown[shown >= 0]
    if n_items < max(1, len(shown)):
        raise DataError(
            "the catalogue is smaller than what was recommended from it",
            found=n_items,
            expected=f"at least {max(1, len(shown))} items",
        )
    return len(shown) / n_items


def gini(recommended: Lists, n_items: int) -> float:
    """Compute the Gini coefficient of how many lists each item of the catalogue is in.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        n_items: Size of the catalogue.

    Raises:
        DataError: The catalogue is smaller than what was recommended.
    """
    coverage(recommended, n_items)  # refuses a catalogue that is too small
    listed = np.asarray(recommended)
    counts = np.unique(listed[listed >= 0], return_counts=True)[1]
    ordered = np.zeros(n_items)
    if not counts.size:
        return 0.0
    ordered[-len(counts) :] = np.sort(counts)
    places = np.arange(1, n_items + 1)
    return float((2 * places - n_items - 1) @ ordered / (n_items * ordered.sum()))


def novelty(recommended: Lists, raters: NDArray[np.integer], people: int) -> float:
    """Compute the mean surprise of listed items, in bits; 0 where nothing is listed.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        raters: Shape (items,): how many people rated each item.
        people: Number of people who could have rated it.
    """
    surprise = -np.log2((raters + 1) / (people + 1))
    listed = np.asarray(recommended)
    listed = listed[listed >= 0]
    return float(surprise[listed].mean()) if listed.size else 0.0


def diversity(recommended: Lists, rated: sparse.csr_array) -> float:
    """Compute the mean of 1 - cosine over pairs of items that a list holds.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        rated: Shape (training people, items): above 0 where a person rated an item. An item that
            nobody rated has a cosine of 0 with every other.

    Returns:
        Mean over lists of two items or more; 0 where there is none.
    """
    columns = sparse.csc_array(rated.astype(np.float64))
    columns.data[:] = columns.data > 0
    norms = np.sqrt(np.asarray(columns.sum(axis=0)).ravel())
    scales = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    unit = sparse.csc_array(columns * scales)
    unit_rows = sparse.csr_array(unit.T)
    lists = np.asarray(recommended)
    found = []
    for start in range(0, len(lists), LISTS_AT_A_TIME):
        block = lists[start : start + LISTS_AT_A_TIME]
        rows, ranks = np.nonzero(block >= 0)
        items = block[rows, ranks]
        shape = (len(block), len(norms))
        membership = sparse.csr_array((np.ones(len(items)), (rows, items)), shape=shape)
        # The squared length of the sum of unit columns is the sum of all their cosines.
        sums = membership @ unit_rows
        total = np.asarray(sums.multiply(sums).sum(axis=1)).ravel()
        own = membership @ (scales > 0).astype(np.float64)
        lengths = np.bincount(rows, minlength=len(block))
        pairs = lengths * (lengths - 1)
        has_pairs = pairs > 0
        found.append(1 - (total - own)[has_pairs] / pairs[has_pairs])
    of_lists = np.concatenate([np.zeros(0), *found])
    return float(of_lists.mean()) if of_lists.size else 0.0


def _gains(recommended: Lists, relevant: sparse.csr_array) -> tuple[Floats, sparse.csr_array]:
    """Return the gain at every rank, shape (people, n), and the gains above 0, columns in order."""
    lists = _checked_lists(recommended)
    held_out = sparse.csr_array(relevant.astype(np.float64))  # a copy
    held_out.sum_duplicates()
    if not np.isfinite(held_out.data).all() or (held_out.data < 0).any():
        raise DataError("a gain is negative or not finite", expected="numbers of 0 or more")
    held_out.eliminate_zeros()
    n_users, n_items = held_out.shape
    if lists.shape[0] != n_users:
        raise DataError(
            "lists and held-out gains are of different numbers of people",
            found=(lists.shape[0], n_users),
        )
    if lists.max() >= n_items:
        raise DataError(
            "a recommended item has no column in the held-out gains",
            found=int(lists.max()),
            expected=f"an item number below {n_items}",
        )
    rows = np.repeat(np.arange(n_users, dtype=np.int64), np.diff(held_out.indptr))
    keys = np.append(rows * n_items + held_out.indices, np.iinfo(np.int64).max)  # sorted
    recommended_keys = np.arange(n_users, dtype=np.int64)[:, None] * n_items + lists
    recommended_keys[lists < 0] = -1
    places = np.searchsorted(keys, recommended_keys)
    gains = np.append(held_out.data, 0.0)[places]
    return np.where(keys[places] == recommended_keys, gains, 0.0), held_out


def _checked_lists(recommended: Lists) -> NDArray[np.int64]:
    table = np.asarray(recommended)
    if table.ndim != 2 or table.size == 0 or table.dtype.kind not in "iu":
        raise DataError(
            "recommended lists are a table of whole item numbers",
            found=f"shape {table.shape}, {table.dtype}",
            expected="shape (people, n) of integers, -1 for no item",
        )
    lists: NDArray[np.int64] = table.astype(np.int64)
    if lists.min() < -1:
        raise DataError("an item number is negative", found=int(lists.min()), expected="-1 or more")
    in_order = np.sort(lists, axis=1)
    twice = ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)).any(axis=1)
    if twice.any():
        raise DataError("a list holds an item twice", row=int(np.argmax(twice)) + 1)
    return lists


def _dcg(gains: Floats) -> Floats:
    return np.asarray(gains @ (1.0 / np.log2(np.arange(2, gains.shape[1] + 2))), dtype=np.float64)


def _ideal_dcg(held_out: sparse.csr_array, n: int) -> Floats:
    """Compute the DCG of each person's n largest gains in falling order, shape (people,)."""
    best = np.zeros((held_out.shape[0], n))
    for row, (first, last) in enumerate(pairwise(held_out.indptr)):
        largest = np.sort(held_out.data[first:last])[::-1][:n]
        best[row, : len(largest)] = largest
    return _dcg(best)


def rmse(truth: Floats, prediction: Floats) -> float:
    """Compute the root of the mean squared error, in stars; every rating weighs the same.

    Args:
        truth: Shape (ratings,): true stars.
        prediction: Shape (ratings,): predicted stars.

    Raises:
        DataError: Shapes differ, there is no rating, or a number is not finite.
    """
    return float(np.sqrt(np.mean(_errors(truth, prediction) ** 2)))


def mae(truth: Floats, prediction: Floats) -> float:
    """Compute the mean absolute error, in stars; every rating weighs the same.

    Args:
        truth: Shape (ratings,): true stars.
        prediction: Shape (ratings,): predicted stars.

    Raises:
        DataError: Shapes differ, there is no rating, or a number is not finite.
    """
    return float(np.mean(np.abs(_errors(truth, prediction))))


def _errors(truth: Floats, prediction: Floats) -> Floats:
    true = np.asarray(truth, np.float64)
    predicted = np.asarray(prediction, np.float64)
    if true.shape != predicted.shape or true.size == 0:
        raise DataError(
            "truth and prediction differ in shape, or there is no rating to compare with",
            found=(true.shape, predicted.shape),
            expected="one prediction per rating, and at least one",
        )
    finite = np.isfinite(true) & np.isfinite(predicted)
    if not finite.all():
        raise DataError(
            "a true rating or a prediction is not a finite number",
            row=int(np.argmin(finite)) + 1,
            expected="a number for every rating",
            fix="Leave out what cannot be predicted, or predict the item's mean.",
        )
    return predicted - true


def label_accuracy(predicted: ArrayLike, true: ArrayLike) -> float:
    """Compute the share of items with the right label under the best one-to-one naming of clusters.

    Args:
        predicted: Shape (items,): labels that were found.
        true: Shape (items,): labels that are right.

    Raises:
        DataError: Shapes differ, or there is no item.
    """
    from scipy.optimize import linear_sum_assignment

    table = _label_counts(predicted, true)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


def adjusted_rand(predicted: ArrayLike, true: ArrayLike) -> float:
    """Compute the adjusted Rand index (Hubert and Arabie, 1985).

    It is 1 for equal partitions, and 0 in the mean for unrelated ones.

    Args:
        predicted: Shape (items,): labels that were found.
        true: Shape (items,): labels that are right.

    Raises:
        DataError: Shapes differ, or there is no item.
    """
    table = _label_counts(predicted, true)
    pairs_in_both = _pairs(table)
    pairs_found = _pairs(table.sum(axis=1))
    pairs_true = _pairs(table.sum(axis=0))
    size = float(table.sum())
    by_chance = pairs_found * pairs_true / (size * (size - 1) / 2) if size > 1 else 0.0
    most = (pairs_found + pairs_true) / 2
    if most == by_chance:
        return 1.0
    return (pairs_in_both - by_chance) / (most - by_chance)


def _pairs(counts: NDArray[np.int64]) -> float:
    """Count the pairs of items within groups of these sizes."""
    return float((counts * (counts - 1) / 2).sum())


def _label_counts(predicted: ArrayLike, true: ArrayLike) -> NDArray[np.int64]:
    """Count the items with each pair of labels, shape (labels found, labels that are right)."""
    from scipy.stats.contingency import crosstab

    ours, theirs = np.asarray(predicted), np.asarray(true)
    if ours.ndim != 1 or ours.shape != theirs.shape or ours.size == 0:
        raise DataError("labels to compare are two lists of one length, with an entry or more")
    return np.asarray(crosstab(ours, theirs).count, dtype=np.int64)
