"""Lists without privacy: votes of the items that are rated together, and neighbour tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.recommender import find_item_neighbours, recency_weights
from tacit.designs.xmap.sparse_rows import sparse_from_lists
from tacit.designs.xmap.voting_lists import make_voting_table, mark_likes, mark_rated
from tacit.engine import Engine, Table

ENGINE = Engine()


def stars(rows):
    return sparse.csr_array(np.array(rows, dtype=float))


def together(rows, targets, among):
    """`rated_together` of everyone's stars."""
    matrix = stars(rows)
    raters = np.bincount(matrix.indices, minlength=matrix.shape[1])
    numbers = (np.array(each, dtype=np.int32) for each in (targets, among))
    return make_voting_table(mark_rated(matrix), raters, *numbers, ENGINE)


def test_weight_is_the_cosine_of_raters():
    """People who rated both, over the root of the product of both numbers of raters."""
    made = together([[5, 0, 1], [2, 3, 4], [0, 4, 0], [1, 0, 0]], targets=[2], among=[0, 1])
    assert made.votes_of.toarray()[:, 0].tolist() == pytest.approx(
        [2 / math.sqrt(3 * 2), 1 / math.sqrt(2 * 2), 0]
    )


def test_popularity_is_a_share_of_the_target_ratings():
    """Of all ratings of target items; items outside the target domain do not count."""
    made = together([[5, 2, 1], [2, 0, 4], [0, 0, 3]], targets=[1, 2], among=[0])
    assert made.popularity.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(("rows", "popularity"), [([[5, 0]], 0), ([[5, 2]], 1)])
def test_popularity_of_hardly_rated_targets(rows, popularity):
    """No rating of the target domain is no division by zero, and one rating is all of them."""
    assert together(rows, targets=[1], among=[0]).popularity.tolist() == [popularity]


def test_score_adds_votes_and_orders_ties_by_popularity():
    """The sum of the weights of liked items, and a millionth of the popularity."""
    made = together([[5, 2, 1], [2, 0, 4], [0, 0, 3]], targets=[1, 2], among=[0])
    scores = made.count_votes(stars([[1, 0, 0], [0, 0, 0]]))
    votes = [1 / math.sqrt(2), 2 / math.sqrt(2 * 3)]
    assert scores[0].tolist() == pytest.approx(
        [v + p for v, p in zip(votes, (25e-8, 75e-8), strict=True)]
    )
    assert scores[1].tolist() == pytest.approx([25e-8, 75e-8], rel=1e-12)


def test_at_most_200_items_vote_for_one():
    """Of 206 items that the same person rated."""
    rows = np.ones((1, 207))
    made = together(rows, targets=[206], among=np.arange(206))
    assert made.companions.shape == (1, 200)


def test_no_item_can_vote():
    """Without any other item the table is empty, and popularity alone orders the list."""
    made = together([[5, 2]], targets=[0, 1], among=[])
    assert made.companions.tolist() == [[-1], [-1]]
    assert made.count_votes(stars([[1, 1]])).tolist() == [[5e-7, 5e-7]]


def test_likes_are_ratings_of_at_least_the_mean():
    """A rating equal to the person's mean is a like; others stay with 0."""
    found = mark_likes(stars([[1, 3, 5], [2, 0, 2]]))
    assert found.toarray().tolist() == [[0, 1, 1], [1, 0, 1]]
    assert found.nnz == 5


def test_missing_neighbours_have_no_place_in_the_matrix():
    """An entry of -1 is left out, whatever its value."""
    made = sparse_from_lists(np.array([[0, -1]], dtype=np.int32), np.array([[0.5, 9.0]]), width=2)
    assert made.toarray().tolist() == [[0.5, 0.0]]


def test_a_similarity_of_zero_makes_no_neighbour():
    """Two items whose centred stars are orthogonal are no neighbours, and keep no number."""
    values = stars([[1, 1, 2], [1, -1, 1], [0, 0, 1]])
    table = Table(values, values.data >= 0)
    found = find_item_neighbours(table, np.zeros(3), k=2, significance=0, engine=ENGINE)
    assert found.items.tolist() == [[2, -1], [2, -1], [0, 1]]
    assert found.similarities[:2, 1].tolist() == [0, 0]


def test_recency_of_more_people_than_items():
    """Each person has ranks of their own, however many people there are."""
    rows = stars([[5, 4], [3, 2], [1, 0], [2, 2]])
    given = Profiles(rows, rows.data, np.array([1, 2, 50, 40, 7, 3, 3]))
    assert recency_weights(given, 1.0).tolist() == pytest.approx(
        [math.exp(-1), 1, 1, math.exp(-1), 1, 1, 1]
    )
