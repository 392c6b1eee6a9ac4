"""Selection of the best items equals sorting, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from tacit.engine import best_items
from tacit.engine.best_items import best_of_products, best_of_scores, rank_best

SMALL_NUMBERS = st.integers(-3, 3).map(float)
SCORES_WITH_HOLES = st.one_of(SMALL_NUMBERS, st.just(np.nan), st.just(-np.inf))


def sort_all(scores, own, n):
    """List the n best by a stable sort of everything, without the places in own."""
    order = np.argsort(-scores, kind="stable")
    return [place for place in order.tolist() if place not in own][:n]


def read(best, person):
    """Read one person's places out of the lists of many."""
    return [place for place in best.places[person].tolist() if place >= 0]


@given(arrays.arrays(float, st.integers(1, 90), elements=SCORES_WITH_HOLES), st.integers(1, 100))
def test_one_persons_ranking_is_the_start_of_a_stable_sort(scores, n):
    """`rank_best` gives the first n places of a stable sort, with ties, NaN and -inf."""
    assert rank_best(scores, n).tolist() == np.argsort(-scores, kind="stable")[:n].tolist()


@given(st.data())
@settings(deadline=None)
def test_lists_from_scores_are_those_of_sorting(data):
    """Lists of a block of people equal a stable sort, whatever ties, holes and rated items are."""
    people, items = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 150))
    shape = (people, items)
    scores = data.draw(arrays.arrays(float, shape, elements=SCORES_WITH_HOLES))
    rated = data.draw(arrays.arrays(bool, shape))
    n = data.draw(st.sampled_from((1, 3, 10, 300)))
    best = best_of_scores(lambda block: scores[block], sparse.csr_array(rated), n)
    for person in range(people):
        own = set(np.flatnonzero(rated[person]).tolist())
        expected = sort_all(scores[person], own, n)
        assert read(best, person) == expected
        np.testing.assert_array_equal(
            best.scores[person, : len(expected)], scores[person, expected]
        )


@given(st.data())
@settings(deadline=None)
def test_lists_from_products_are_those_of_sorting(data):
    """Where products are exact, lists equal a stable sort of them, ties by place."""
    people, items, k = (data.draw(st.integers(1, most)) for most in (4, 150, 3))
    left = data.draw(arrays.arrays(float, (people, k), elements=SMALL_NUMBERS))
    right = data.draw(arrays.arrays(float, (items, k), elements=SMALL_NUMBERS))
    rated = data.draw(arrays.arrays(bool, (people, items)))
    n = data.draw(st.sampled_from((1, 3, 10, 300)))
    best = best_of_products(left, right, sparse.csr_array(rated), n)
    scores = left @ right.T
    for person in range(people):
        own = set(np.flatnonzero(rated[person]).tolist())
        assert read(best, person) == sort_all(scores[person], own, n)


def test_products_closer_than_float32_are_ranked_by_float64():
    """Scores that float32 cannot tell apart are in the order of float64."""
    items = np.column_stack([np.ones(400), 1e-9 * np.random.default_rng(0).permutation(400)])
    best = best_of_products(np.ones((1, 2)), items, sparse.csr_array((1, 400)), 7)
    assert best.places[0].tolist() == np.argsort(-items[:, 1])[:7].tolist()


@pytest.mark.parametrize(
    ("person", "items"),
    [
        ([1e-23, 1e-23], [[6e-23, 6e-23], [8e-23, 0]]),  # products underflow
        ([1e-60, 1e-60], [[1e30, 1e30], [1.5e30, 0]]),  # factors underflow
        ([2.0**66, 2.0**66], [[2.0**66, -(2.0**66)], [-1, 0]]),  # products overflow
        ([1e-60, 1e-60], [[1e60, 1e60], [1.5e60, 0]]),  # factors overflow
        ([1e150, 1e150], [[1e150, 1e150], [1.5e150, 0]]),  # squares of norms may overflow
    ],
)
def test_products_outside_the_range_of_float32_are_ranked_by_float64(person, items):
    """Factors too small or too large for float32 give the lists of float64 products."""
    best = best_of_products(np.array([person]), np.array(items), sparse.csr_array((1, 2)), 1)
    assert best.places.tolist() == [[0]]
    assert best.scores[0] == pytest.approx(np.array(items)[0] @ np.array(person))


@pytest.mark.parametrize("block_bytes", [1, 4000, 1 << 23])
def test_blocks_change_nothing(block_bytes, monkeypatch):
    """However many people are scored at once, their lists are the same."""
    monkeypatch.setattr(best_items, "BLOCK_BYTES", block_bytes)
    generator = np.random.default_rng(1)
    left, right = generator.normal(size=(30, 5)), generator.normal(size=(200, 5))
    rated = sparse.random_array((30, 200), density=0.1, format="csr", rng=generator)
    best = best_of_products(left, right, rated, 10)
    scores = left @ right.T
    for person in range(30):
        own = set(rated[[person]].indices.tolist())
        assert read(best, person) == sort_all(scores[person], own, 10)
