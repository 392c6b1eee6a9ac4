"""Item-item weights, by which lists are ranked: EASE.

Source      Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019), as in
            `tacit.engine.ridge`.
Runs at     the recommender.
Sees        the consenting people's ratings in the clear.
Releases    nothing by itself. Anyone who has the weights can compute X'X from them: how many
            people like two items. So X'X is rounded to multiples of 5 first, items with few raters
            are left out, weights are rounded to 1/1000, and at most LARGEST_COLUMN weights of an
            item are stored.
Guarantee   none for the consenting people: weights are fitted to their ratings.
Cost        one dense array of float64, of MOST_ITEMS^2 at most; while the penalty is chosen, two of
            ITEMS_TO_CHOOSE_ON^2 at most.
Deviations  an entry of X is 1 for a star in the top two fifths of the scale and 0.3 for any other
            star; in the paper it is 1 for each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.designs.standard_scheme.messages import (
    CONTINUOUS_LEVELS,
    LARGEST_COLUMN,
    LIKED,
    weights_of_levels,
)
from tacit.designs.standard_scheme.server import WEIGHT_UNIT, Ease, weigh_levels
from tacit.designs.standard_scheme.training.estimates import ROUNDED_TO, round_counts
from tacit.designs.standard_scheme.training.people import (
    Floats,
    Ints,
    Statistics,
    select_entries,
)
from tacit.designs.standard_scheme.training.tables import FEWEST
from tacit.engine.ridge import gram, item_weights

Simulate = Callable[[sparse.csr_array, Ints], sparse.csr_array]
"""From (people, items) levels of some people, and the (people,) numbers of these people, to the
levels that their devices would release."""

PENALTIES = (50, 150, 400, 500, 1000, 2000)
"""Penalties that are tried."""
HIDDEN_SHARE = 0.3
"""Chance that a rating of a person on whom penalties are judged is hidden."""
MOST_ITEMS = 10_000
"""Largest number of items with weights: the most liked ones."""
ITEMS_TO_CHOOSE_ON = 2_000
"""Largest number of items, the most liked ones, on which the penalty is chosen. That is enough,
because the best penalty depends on the number of people and not on that of items."""
LIST_LENGTH = 10
"""Length of the lists by which a penalty is judged."""


def fit_ease(levels: sparse.csr_array, n_levels: int, simulate: Simulate, *, seed: int = 0) -> Ease:
    """Fit item-item weights to all people, with the penalty that `choose_penalty` chooses.

    Args:
        levels: (people, items) CSR of true levels.
        n_levels: Number of whole levels of the scale; 0 on a continuous scale.
        simulate: Simulates the releases of people on whom penalties are judged.
        seed: Seed by which these people and their hidden ratings are drawn.
    """
    n_levels = n_levels or CONTINUOUS_LEVELS + 1
    with threadpool_limits(1):
        penalty = choose_penalty(levels, n_levels, simulate, seed=seed)
        return fit_ease_at_penalty(levels, n_levels, penalty)


def fit_ease_at_penalty(levels: sparse.csr_array, n_levels: int, penalty: float) -> Ease:
    """Fit item-item weights with a given penalty.

    Args:
        levels: (people, items) CSR of true levels.
        n_levels: Number of whole levels of the scale, 1 or more.
        penalty: Penalty of squared weights.
    """
    weights = weigh_levels(levels, n_levels)
    columns = list_eligible_items(weights, MOST_ITEMS)
    dense = item_weights(sum_products(weights[:, columns]), penalty)
    return Ease(_keep_largest(dense, columns, levels.shape[1]), rank_by_likes(weights), n_levels)


def choose_penalty(
    levels: sparse.csr_array, n_levels: int, simulate: Simulate, *, seed: int = 0
) -> int:
    """Choose the one of PENALTIES with the best NDCG@10; of equally good ones the largest.

    A fifth of the people, 500 at most, are left out of the weights: the test people. Each of their
    ratings is hidden with chance HIDDEN_SHARE. Lists are made from a simulated release of their
    other ratings, and judged by the hidden likes.

    Args:
        levels: (people, items) CSR of true levels.
        n_levels: Number of whole levels of the scale, 1 or more.
        simulate: Simulates the releases of the test people.
        seed: Seed by which these people and their hidden ratings are drawn.
    """
    generator = np.random.default_rng(seed)
    n_people = levels.shape[0]
    test_people = generator.permutation(n_people)[: min(500, n_people // 5)]
    other_people = np.setdiff1d(np.arange(n_people), test_people)
    weights = weigh_levels(levels, n_levels)
    columns = list_eligible_items(weights, ITEMS_TO_CHOOSE_ON)
    products = sum_products(weights[other_people][:, columns])
    test_levels = levels[test_people]
    is_hidden = generator.random(test_levels.nnz) < HIDDEN_SHARE
    seen = select_entries(test_levels, ~is_hidden)
    hidden = select_entries(test_levels, is_hidden)
    released = weigh_levels(simulate(seen, test_people), n_levels)[:, columns].astype(float)
    is_liked = weigh_levels(hidden, n_levels)[:, columns].toarray() == LIKED
    is_seen = seen[:, columns].astype(bool).toarray()

    def judge_penalty(penalty: int) -> tuple[float, int]:
        """Return the NDCG at a penalty, and the penalty, by which `max` decides between equals."""
        scores = released @ item_weights(products.copy(order="F"), penalty)
        return _ndcg(np.where(is_seen, -np.inf, scores), is_liked), penalty

    return max(PENALTIES, key=judge_penalty)


def list_eligible_items(weights: sparse.csr_array, most: int) -> Ints:
    """List the numbers of the most liked items that have FEWEST raters or more, ascending.

    Args:
        weights: (people, items) CSR of the weights of levels.
        most: Largest number of items to list.
    """
    raters = np.bincount(weights.indices, minlength=weights.shape[1])
    order = _order_by_likes(weights)
    return np.sort(order[raters[order] >= FEWEST][:most])


def rank_by_likes(weights: sparse.csr_array) -> Ints:
    """Return (items,) the rank of each item by likes, 0 for the most liked."""
    ranks = np.empty(weights.shape[1], dtype=np.int64)
    ranks[_order_by_likes(weights)] = np.arange(weights.shape[1])
    return ranks


def rank_by_noisy_likes(noisy: Statistics) -> Ints:
    """Return (items,) the rank of each item by the likes in a private release, 0 for the most.

    This is post-processing of the release, unlike `rank_by_likes`.

    Args:
        noisy: Released sums with a histogram.
    """
    assert noisy.histogram is not None  # a private release needs whole stars
    histogram = noisy.histogram.sum(axis=(0, 1))
    is_like = np.array(weights_of_levels(histogram.shape[-1])) == LIKED
    order = np.lexsort((-histogram.sum(axis=-1), -histogram[:, is_like].sum(axis=-1)))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def sum_products(weights: sparse.csr_array) -> Floats:
    """Return (items, items) X'X in Fortran order, rounded to multiples of ROUNDED_TO.

    An entry of X is 1 for a like and 0.3 for another rating: `weights` are ten times as large.
    """
    products = gram(weights / LIKED)
    products /= ROUNDED_TO  # in place, since the array is large
    np.round(products, out=products)
    products *= ROUNDED_TO
    return products


def _keep_largest(dense: Floats, columns: Ints, n_items: int) -> sparse.csc_array:
    """Keep each item's weights of the largest absolute values, LARGEST_COLUMN at most.

    Args:
        dense: (columns, columns) weights of the items in `columns`.
        columns: (columns,) numbers of these items.
        n_items: Number of all items.

    Returns:
        (n_items, n_items) CSC of whole multiples of 1 / WEIGHT_UNIT, without those that are
        rounded to 0; the columns of other items are empty.
    """
    empty = np.empty(0, np.int64)  # concatenated where no item is eligible
    rows = [empty]
    weights = [empty]
    # ends[i + 1] is how many weights item i has; summed up below.
    ends = np.zeros(n_items + 1, dtype=np.int64)
    for column, item in enumerate(columns):
        in_units = np.round(dense[:, column] * WEIGHT_UNIT).astype(np.int64)
        largest = np.argsort(-np.abs(in_units), kind="stable")[:LARGEST_COLUMN]
        largest = np.sort(largest[in_units[largest] != 0])
        rows.append(columns[largest])
        weights.append(in_units[largest])
        ends[item + 1] = len(largest)
    stored = (np.concatenate(weights), np.concatenate(rows), np.cumsum(ends))
    return sparse.csc_array(stored, shape=(n_items, n_items))


def _order_by_likes(weights: sparse.csr_array) -> Ints:
    """Sort the numbers of all items by likes, and then by raters, the most first.

    Both are rounded to multiples of ROUNDED_TO. Items with equal numbers keep their order.
    """
    size = weights.shape[1]
    likes = np.bincount(weights.indices, weights.data == LIKED, minlength=size).astype(float)
    raters = np.bincount(weights.indices, minlength=size).astype(float)
    return np.lexsort((-round_counts(raters), -round_counts(likes)))


def _ndcg(scores: Floats, is_liked: NDArray[np.bool_]) -> float:
    """Return the mean NDCG@10 over the people with a hidden like; 0 if there is none.

    Args:
        scores: (people, items) scores by which lists are ranked.
        is_liked: (people, items) whether an item is a hidden like.
    """
    discounts = 1.0 / np.log2(np.arange(2, LIST_LENGTH + 2))[: scores.shape[1]]
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LIST_LENGTH]
    # Discounted gain of each list, and of the best possible one: all hidden likes at the top.
    gained = np.take_along_axis(is_liked, best, axis=1) @ discounts
    n_reachable = np.minimum(is_liked.sum(axis=1), len(discounts))
    possible = np.append(0.0, np.cumsum(discounts))[n_reachable]
    likes_something = possible > 0
    if not likes_something.any():
        return 0.0
    return float((gained[likes_something] / possible[likes_something]).mean())
