"""Metrics of recommendations: of lists by held-out gains, of predicted stars, of labels of items.

A list holds up to n items, best first. A held-out item is relevant if its gain is above 0. With g_k
the gain of the item at rank k (0 if it is not relevant, or if the list is shorter than k) and R the
person's relevant items:

  NDCG@n       sum_k g_k / log2(k + 1), divided by the same sum for the person's n largest gains in
               falling order; gains are used as they are, not as 2^gain - 1 (Järvelin and
               Kekäläinen, 2002)
  recall@n     relevant items in the list / |R|; it is below 1 if |R| > n
  precision@n  relevant items in the list / n, also if the list is shorter than n
  MRR@n        1 / rank of the first relevant item in the list, 0 if there is none
  hit rate@n   1 if a relevant item is in the list, else 0
  MAP@n        mean over the items of R of the precision at the item's rank, which is 0 for an item
               that is not in the list
  coverage@n   share of the catalogue that is in at least one person's list
  Gini@n       Gini coefficient, over the items of the catalogue, of the number of lists that hold
               the item: 0 if all items are in equally many lists, near 1 if few items fill nearly
               all lists
  novelty@n    mean of -log2((raters + 1) / (people + 1)) over entries of lists (Zhou and others,
               2010)
  diversity@n  mean of 1 - cosine over pairs of items in a list, of the columns of training ratings
               as 0 and 1 (Ziegler and others, 2005); people with fewer than two items are left out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tacit.errors import DataError

Floats = NDArray[np.float64]
ITEMS_AT_A_TIME = 256
"""Number of items whose products with all items are held in memory at once."""
ENTRIES_AT_A_TIME = 100_000
"""Number of entries of lists whose products are summed at once."""
Lists = NDArray[np.integer]
"""Shape (people, n): item numbers, best first; -1: no item at this rank."""


@dataclass(frozen=True, slots=True)
class RankingMetrics:
    """Metrics of lists. Metrics of single people are means over people with a relevant item."""

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
    """Number of people with at least one relevant item."""
    users_left_out: int
    """Number of people without a relevant item."""


def ranking_metrics(recommended: Lists, relevant: sparse.csr_array) -> RankingMetrics:
    """Compute the metrics of one table of lists: all but Gini, novelty and diversity.

    Args:
        recommended: Shape (people, n): item numbers, best first, -1 for no item.
        relevant: Shape (people, items): CSR of gains of 0 or more; an item with a gain of 0 is not
            relevant.

    Raises:
        DataError: Nobody has a relevant item, or lists or gains are not valid (`_find_gains`).
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
    """Compute the metrics that each person has: all but coverage, Gini, novelty and diversity.

    Args:
        recommended: Shape (people, n): item numbers, best first, -1 for no item.
        relevant: Shape (people, items): CSR of gains of 0 or more.

    Returns:
        "ndcg", "recall", "precision", "mrr", "map" and "hit_rate", each of shape (people,); NaN for
        people without a relevant item.

    Raises:
        DataError: Lists or gains are not valid (`_find_gains`).
    """
    gains, held_out = _find_gains(recommended, relevant)
    n = gains.shape[1]
    n_relevant = np.diff(held_out.indptr)
    hits = gains > 0
    n_hits = hits.sum(axis=1)
    has_hit = n_hits > 0
    ranks = np.arange(1, n + 1)
    precision_at_hits = np.where(hits, hits.cumsum(axis=1) / ranks, 0.0).sum(axis=1)
    rank_of_first_hit = 1 + hits.argmax(axis=1)  # 1 for a list without a hit
    judged = n_relevant > 0
    return {
        "ndcg": _divide(_compute_dcg(gains), _compute_ideal_dcg(held_out, n), judged),
        "recall": _divide(n_hits, n_relevant, judged),
        "precision": _divide(n_hits, np.full(len(judged), n), judged),
        "mrr": _divide(has_hit, rank_of_first_hit, judged),
        "map": _divide(precision_at_hits, n_relevant, judged),
        "hit_rate": np.where(judged, has_hit, np.nan),
    }


def _divide(
    numerators: NDArray[Any], denominators: NDArray[Any], judged: NDArray[np.bool_]
) -> Floats:
    """Divide arrays of shape (people,); NaN for people who are not judged.

    Args:
        numerators: Shape (people,).
        denominators: Shape (people,), above 0 for people who are judged.
        judged: Shape (people,): whether the person is judged.
    """
    quotients: Floats = np.full(len(judged), np.nan)
    np.divide(numerators, denominators, out=quotients, where=judged)
    return quotients


def coverage(recommended: Lists, n_items: int) -> float:
    """Compute the share of the catalogue that is in at least one list.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        n_items: Size of the catalogue.

    Raises:
        DataError: The lists are not valid, or hold more different items than the catalogue.
    """
    shown = np.unique(_check_lists(recommended))
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
        DataError: The lists are not valid, or hold more different items than the catalogue.
    """
    coverage(recommended, n_items)  # raises DataError if the catalogue is too small
    lists = np.asarray(recommended)
    _, list_counts = np.unique(lists[lists >= 0], return_counts=True)
    if not list_counts.size:
        return 0.0
    # With x_1 <= .. <= x_N the number of lists of each of the N items:
    # Gini = sum_i (2 i - N - 1) x_i / (N sum_i x_i)
    rising_counts = np.zeros(n_items)  # items in no list come first
    rising_counts[-len(list_counts) :] = np.sort(list_counts)
    positions = np.arange(1, n_items + 1)
    return float((2 * positions - n_items - 1) @ rising_counts / (n_items * rising_counts.sum()))


def novelty(recommended: Lists, raters: NDArray[np.integer], people: int) -> float:
    """Compute the mean surprise of listed items, -log2((raters + 1) / (people + 1)), in bits.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        raters: Shape (items,): number of people who rated each item.
        people: Number of people who could have rated an item.

    Returns:
        Mean over all entries of all lists; 0 if all lists are empty.
    """
    surprise = -np.log2((raters + 1) / (people + 1))
    lists = np.asarray(recommended)
    listed_items = lists[lists >= 0]
    return float(surprise[listed_items].mean()) if listed_items.size else 0.0


def diversity(recommended: Lists, rated: sparse.csr_array) -> float:
    """Compute the mean of 1 - cosine over pairs of items in the same list.

    Args:
        recommended: Shape (people, n): item numbers, -1 for no item.
        rated: Shape (training people, items): above 0 if the person rated the item. An item that
            nobody rated has a cosine of 0 with every other item.

    Returns:
        Mean over the lists with two items or more; 0 if there is no such list.
    """
    lists = np.asarray(recommended)
    is_listed = lists >= 0
    listed_items, listed_places = np.unique(lists[is_listed], return_inverse=True)
    # Places of the entries in `listed_items`; its length stands for no item.
    places = np.full(lists.shape, len(listed_items))
    places[is_listed] = listed_places
    # Column u_i of item i: 1 for people who rated it, divided by the column's Euclidean length.
    columns = sparse.csc_array(rated)[:, listed_items].astype(np.float64)
    columns.data[:] = columns.data > 0
    lengths = np.sqrt(np.asarray(columns.sum(axis=0)).ravel())
    inverse_lengths = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unit_columns = sparse.csc_array(columns * inverse_lengths)
    # For each list: sum over i != j of cos(i, j) = sum over i, j of u_i u_j - sum_i |u_i|^2
    all_cosines = _sum_products_in_lists(places, unit_columns)
    squared_lengths = np.append(inverse_lengths > 0, 0.0)  # a column has length 1, or 0
    cosines_with_themselves = squared_lengths[places].sum(axis=1)
    list_lengths = is_listed.sum(axis=1)
    n_pairs = list_lengths * (list_lengths - 1)
    has_pairs = n_pairs > 0
    if not has_pairs.any():
        return 0.0
    mean_cosines = (all_cosines - cosines_with_themselves)[has_pairs] / n_pairs[has_pairs]
    return float((1 - mean_cosines).mean())


def _sum_products_in_lists(places: NDArray[np.int64], columns: sparse.csc_array) -> Floats:
    """Sum the products u_i u_j over all ordered pairs (i, j) of entries of each list.

    A pair of an entry with itself counts, too. The products of a block of items with all items are
    computed at once, and then looked up for all entries in the block.

    Args:
        places: Shape (lists, n): the column of each entry; `items` for an entry without an item.
        columns: Shape (people, items): the columns u.

    Returns:
        Shape (lists,): the sums.
    """
    n_items = columns.shape[1]
    sums = np.zeros(len(places))
    rows = sparse.csr_array(columns)
    for first in range(0, n_items, ITEMS_AT_A_TIME):
        block = sparse.csr_array(columns[:, first : first + ITEMS_AT_A_TIME].T)
        products = np.zeros((block.shape[0], n_items + 1))  # the last column is for no item
        products[:, :n_items] = (block @ rows).toarray()
        is_in_block = (places >= first) & (places < first + block.shape[0])
        list_of_entry, rank_of_entry = np.nonzero(is_in_block)
        for start in range(0, len(list_of_entry), ENTRIES_AT_A_TIME):
            some_entries = slice(start, start + ENTRIES_AT_A_TIME)
            list_numbers = list_of_entry[some_entries]
            items = places[list_numbers, rank_of_entry[some_entries]]
            # Shape (entries, n): products of each entry with all entries of its list.
            products_in_list = products[(items - first)[:, None], places[list_numbers]]
            entry_sums = products_in_list.sum(axis=1)
            sums += np.bincount(list_numbers, weights=entry_sums, minlength=len(places))
    return sums


def _find_gains(recommended: Lists, relevant: sparse.csr_array) -> tuple[Floats, sparse.csr_array]:
    """Check lists and held-out gains, and find the gain at every rank of the lists.

    Returns:
        Gains, shape (people, n), 0 at ranks without a relevant item; and a copy of the held-out
        gains above 0, shape (people, items), with the items of each person in rising order.

    Raises:
        DataError: The lists are not valid (`_check_lists`), the gains are for a different
            number of people, a gain is negative or not finite, or an item number is too large.
    """
    lists = _check_lists(recommended)
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
    # Person u and item i have the key u * n_items + i. The keys of held-out gains are sorted. An
    # entry of a list has a gain if its key is among them. The appended key is larger than all, so
    # that `searchsorted` finds a position for every key.
    people = np.arange(n_users, dtype=np.int64)
    people_of_gains = np.repeat(people, np.diff(held_out.indptr))
    held_out_keys = people_of_gains * n_items + held_out.indices
    held_out_keys = np.append(held_out_keys, np.iinfo(np.int64).max)
    recommended_keys = people[:, None] * n_items + lists
    recommended_keys[lists < 0] = -1
    positions = np.searchsorted(held_out_keys, recommended_keys)
    gains = np.append(held_out.data, 0.0)[positions]
    is_held_out = held_out_keys[positions] == recommended_keys
    return np.where(is_held_out, gains, 0.0), held_out


def _check_lists(recommended: Lists) -> NDArray[np.int64]:
    """Return the lists as int64.

    Raises:
        DataError: They are not (people, n) integers of -1 or more, or a list holds an item twice.
    """
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
    rising = np.sort(lists, axis=1)
    is_repeated = (rising[:, 1:] == rising[:, :-1]) & (rising[:, 1:] >= 0)
    has_repeated = is_repeated.any(axis=1)
    if has_repeated.any():
        raise DataError("a list holds an item twice", row=int(np.argmax(has_repeated)) + 1)
    return lists


def _compute_dcg(gains: Floats) -> Floats:
    """Compute for each row of (people, n) gains sum_k gain_k / log2(k + 1), with k from 1."""
    ranks = np.arange(1, gains.shape[1] + 1)
    discounts = 1.0 / np.log2(ranks + 1)
    return np.asarray(gains @ discounts, dtype=np.float64)


def _compute_ideal_dcg(held_out: sparse.csr_array, n: int) -> Floats:
    """Compute the DCG of each person's n largest gains in falling order, shape (people,)."""
    n_relevant = np.diff(held_out.indptr)
    rows = np.repeat(np.arange(len(n_relevant)), n_relevant)
    falling = held_out.data[np.lexsort((-held_out.data, rows))]
    ranks = np.arange(held_out.nnz) - np.repeat(held_out.indptr[:-1], n_relevant)
    is_listed = ranks < n
    best = np.zeros((len(n_relevant), n))
    best[rows[is_listed], ranks[is_listed]] = falling[is_listed]
    return _compute_dcg(best)


def rmse(truth: Floats, prediction: Floats) -> float:
    """Compute the root of the mean squared error, in stars; every rating weighs the same.

    Args:
        truth: Shape (ratings,): true stars.
        prediction: Shape (ratings,): predicted stars.

    Raises:
        DataError: Shapes differ, there is no rating, or a number is not finite.
    """
    return float(np.sqrt(np.mean(_compute_errors(truth, prediction) ** 2)))


def mae(truth: Floats, prediction: Floats) -> float:
    """Compute the mean absolute error, in stars; every rating weighs the same.

    Args:
        truth: Shape (ratings,): true stars.
        prediction: Shape (ratings,): predicted stars.

    Raises:
        DataError: Shapes differ, there is no rating, or a number is not finite.
    """
    return float(np.mean(np.abs(_compute_errors(truth, prediction))))


def _compute_errors(truth: Floats, prediction: Floats) -> Floats:
    """Check truth and prediction, and return prediction minus truth, shape (ratings,).

    Raises:
        DataError: Shapes differ, there is no rating, or a number is not finite.
    """
    true = np.asarray(truth, np.float64)
    predicted = np.asarray(prediction, np.float64)
    if true.shape != predicted.shape or true.size == 0:
        raise DataError(
            "truth and prediction differ in shape, or there is no rating to compare with",
            found=(true.shape, predicted.shape),
            expected="one prediction per rating, and at least one",
        )
    is_finite = np.isfinite(true) & np.isfinite(predicted)
    if not is_finite.all():
        raise DataError(
            "a true rating or a prediction is not a finite number",
            row=int(np.argmin(is_finite)) + 1,
            expected="a number for every rating",
            fix="Leave out what cannot be predicted, or predict the item's mean.",
        )
    return predicted - true


def label_accuracy(predicted: ArrayLike, true: ArrayLike) -> float:
    """Compute the share of items with the right label, after clusters are matched to labels.

    Numbers of clusters have no meaning. So each cluster is matched to at most one label, and each
    label to at most one cluster, by the matching with which the most items agree.

    Args:
        predicted: Shape (items,): predicted cluster of each item.
        true: Shape (items,): right label of each item.

    Raises:
        DataError: Shapes differ, or there is no item.
    """
    from scipy.optimize import linear_sum_assignment

    table = _count_labels(predicted, true)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


def adjusted_rand(predicted: ArrayLike, true: ArrayLike) -> float:
    """Compute the adjusted Rand index (Hubert and Arabie, 1985).

    It is 1 for equal partitions, and 0 on average for unrelated ones.

    Args:
        predicted: Shape (items,): predicted cluster of each item.
        true: Shape (items,): right label of each item.

    Raises:
        DataError: Shapes differ, or there is no item.
    """
    # A pair of items agrees if it is together in both partitions. The index is
    # (agreeing - expected) / (most - expected): `expected` is the mean number of agreeing pairs of
    # unrelated partitions with the same group sizes, `most` the mean, over both partitions, of the
    # number of pairs that are together.
    table = _count_labels(predicted, true)
    agreeing_pairs = _count_pairs(table)
    predicted_pairs = _count_pairs(table.sum(axis=1))
    true_pairs = _count_pairs(table.sum(axis=0))
    all_pairs = _count_pairs(table.sum(keepdims=True))
    expected_pairs = predicted_pairs * true_pairs / all_pairs if all_pairs else 0.0
    most_pairs = (predicted_pairs + true_pairs) / 2
    if most_pairs == expected_pairs:
        return 1.0
    return (agreeing_pairs - expected_pairs) / (most_pairs - expected_pairs)


def _count_pairs(counts: NDArray[np.int64]) -> float:
    """Count the pairs of items within groups of these sizes."""
    return float((counts * (counts - 1) / 2).sum())


def _count_labels(predicted: ArrayLike, true: ArrayLike) -> NDArray[np.int64]:
    """Count the items with each pair of labels, shape (predicted labels, true labels).

    Raises:
        DataError: The labels are not two lists of one length, or there is no item.
    """
    from scipy.stats.contingency import crosstab

    predicted_labels = np.asarray(predicted)
    true_labels = np.asarray(true)
    is_list = predicted_labels.ndim == 1 and predicted_labels.size > 0
    if not is_list or predicted_labels.shape != true_labels.shape:
        raise DataError("labels to compare are two lists of one length, with one entry at least")
    return np.asarray(crosstab(predicted_labels, true_labels).count, dtype=np.int64)
