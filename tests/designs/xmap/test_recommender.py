"""Predictions from items and from people, against the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.xmap.baseliner import make_baseline
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.published_variant import PersonRatings, TargetModel
from tacit.designs.xmap.recommender import (
    ItemNeighbours,
    find_item_neighbours,
    recency_weights,
)
from tacit.engine import Engine

ENGINE = Engine()


def profiles(rows, means, times=None):
    matrix = sparse.csr_array(np.array(rows, dtype=float))
    means = np.asarray(means, dtype=float)
    return Profiles(
        matrix,
        matrix.data - means[matrix.indices],
        None if times is None else np.array(times),
    )


def model(means, lists):
    """An item-based model of (n, k) lists of (item, similarity)."""
    items = np.array([[j for j, _ in row] for row in lists], dtype=np.int32)
    similar = np.array([[s for _, s in row] for row in lists])
    return ItemNeighbours(np.asarray(means, dtype=float), items, similar)


NONE = (-1, 0.0)


def test_item_based_formula():
    """The mean plus the weighted deviations of the rated neighbours, divided by |similarities|."""
    items = model([3, 2, 4], [[(1, 0.5), (2, -0.2)], [NONE, NONE], [NONE, NONE]])
    found = items.predict(profiles([[0, 5, 3]], [3, 2, 4]), 0.0, ENGINE)
    assert found[0, 0] == pytest.approx(3 + (0.5 * 3 + -0.2 * -1) / 0.7)


def test_item_based_without_a_rated_neighbour():
    """An empty neighbourhood gives the item's mean."""
    items = model([3, 2, 4], [[(1, 0.5), NONE], [NONE, NONE], [NONE, NONE]])
    assert items.predict(profiles([[0, 0, 3]], [3, 2, 4]), 0.0, ENGINE)[0, 0] == 3


def test_predictions_are_not_rounded():
    """A prediction may lie between two stars."""
    items = model([3, 2, 4], [[(1, 1.0), NONE], [(0, 0.1), (2, 0.3)], [NONE, NONE]])
    found = items.predict(profiles([[4, 0, 5]], [3, 2, 4]), 0.0, ENGINE)[0, 1]
    assert found == pytest.approx(2 + (0.1 * 1 + 0.3 * 1) / 0.4)
    assert items.predict(profiles([[4, 0, 1]], [3, 2, 4]), 0.0, ENGINE)[0, 1] % 1 != 0


def test_recent_ratings_weigh_more():
    """A weight is e^(-alpha rank), with the dense rank of times from the latest on."""
    rows = profiles([[5, 4, 3, 2]], [0] * 4, times=[10, 500, 10, 900])
    assert recency_weights(rows, 0.3).tolist() == pytest.approx(
        [math.exp(-0.6), math.exp(-0.3), math.exp(-0.6), 1]
    )


def test_recency_ranks_each_person_alone():
    """Another person's times change nothing."""
    both = profiles([[5, 4], [3, 2]], [0, 0], times=[1, 2, 50, 40])
    assert recency_weights(both, 1.0).tolist() == pytest.approx([math.exp(-1), 1, 1, math.exp(-1)])


def test_alpha_zero_switches_time_off():
    """All weights are 1, as without times."""
    rows = profiles([[5, 4]], [0, 0], times=[1, 2])
    assert recency_weights(rows, 0.0).tolist() == [1, 1]
    assert recency_weights(profiles([[5, 4]], [0, 0]), 2.0).tolist() == [1, 1]


def test_time_enters_the_prediction():
    """With alpha, the later of two contradicting neighbours has its way."""
    items = model([3, 3, 3], [[(1, 0.5), (2, 0.5)], [NONE, NONE], [NONE, NONE]])
    rows = profiles([[0, 5, 1]], [3, 3, 3], times=[100, 200])
    assert items.predict(rows, 0.0, ENGINE)[0, 0] == pytest.approx(3)
    weights = np.exp([-2.0, 0.0])
    expected = 3 + (weights @ [2, -2]) / weights.sum()
    assert items.predict(rows, 2.0, ENGINE)[0, 0] == pytest.approx(expected)


def test_time_enters_what_lists_are_ranked_by():
    """With an alpha of ln 2, a neighbour rated one rank earlier supports an item half as much."""
    means = np.full(4, 3.0)
    fitted = TargetModel(
        targets=np.arange(4, dtype=np.int32),
        images=np.full(4, -1, dtype=np.int32),
        item_means=means,
        neighbours=model(means, [[NONE], [NONE], [(0, 0.5)], [(1, 0.5)]]),
        alpha=math.log(2),
        lowest=1.0,
        engine=ENGINE,
        votes=None,
    )
    stars = sparse.csr_array(np.array([[3.0, 3.0, 0.0, 0.0]]))
    person = PersonRatings({0: 3.0, 1: 3.0}, stars, np.array([100, 200]))
    np.testing.assert_allclose(fitted.score(person), [0, 0, 0.5, 1.0])


@pytest.mark.parametrize("k", [1, 3, 8])
def test_neighbours_are_the_largest_positive(k):
    """However many negative similarities are stronger, exactly the k largest positive are kept."""
    generator = np.random.default_rng(4)
    stars = generator.integers(1, 6, (12, 9)) * (generator.random((12, 9)) < 0.7)
    table = make_baseline(sparse.csr_array(stars.astype(float))).table
    every = np.arange(9, dtype=np.int32)
    dense = ENGINE.neighbours(table, items=every, candidates=every, k=9)
    found = find_item_neighbours(table, np.zeros(9), k=k, significance=0, engine=ENGINE)
    for item in range(9):
        positive = [
            (-s, j)
            for j, s in zip(dense.neighbours[item], dense.similarities[item], strict=True)
            if s > 0
        ]
        expected = [j for _, j in sorted(positive)][:k]
        assert found.items[item].tolist() == expected + [-1] * (k - len(expected))


def test_significance_scales_thin_pairs_down():
    """A pair with 2 co-raters has 2 / 10 of its similarity at a significance of 10."""
    table = make_baseline(profiles([[5, 4, 1], [1, 2, 5], [3, 0, 4]], [3, 3, 3]).stars).table
    full, scaled = (
        find_item_neighbours(
            table,
            np.full(3, 3.0),
            k=1,
            significance=n,
            engine=ENGINE,
        )
        for n in (0, 10)
    )
    assert full.items[1, 0] == scaled.items[1, 0] == 0
    assert scaled.similarities[1, 0] == pytest.approx(full.similarities[1, 0] * 0.2)
