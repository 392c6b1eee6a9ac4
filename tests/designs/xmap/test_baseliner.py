"""Centring and means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.xmap.baseliner import make_baseline, mean_stars_of_items
from tacit.engine import Engine


def stars(rows):
    """(people, items) CSR; None = unrated."""
    entries = [(p, i, v) for p, row in enumerate(rows) for i, v in enumerate(row) if v is not None]
    people, items, values = map(list, zip(*entries, strict=True))
    return sparse.csr_array((np.array(values, float), (people, items)), (len(rows), len(rows[0])))


def test_ratings_are_centred_by_person():
    """A person's centred ratings sum to zero, and a rating at her mean stays a rating."""
    base = make_baseline(stars([[5, 3, 1], [4, None, 4]]))
    assert base.table.values.toarray().tolist() == [[2, 0, -2], [0, 0, 0]]
    assert base.table.values.nnz == 5


def test_likes_are_at_least_the_items_mean():
    """A rating of exactly the item's mean is a like; items count their raters."""
    given = stars([[5, 2], [3, 2], [4, None]])
    base = make_baseline(given)
    assert mean_stars_of_items(given).tolist() == [4, 2]
    assert base.table.likes.tolist() == [True, True, False, True, True]
    assert base.raters.tolist() == [3, 2]


def test_unrated_item_has_the_overall_mean():
    """An item that nobody rated is given the mean of all ratings."""
    matrix = sparse.csr_array(([4.0, 1.0], ([0, 1], [0, 0])), shape=(2, 2))
    assert mean_stars_of_items(matrix).tolist() == [2.5, 2.5]


def test_norms_are_over_all_raters():
    """The cosine of two items divides by all their raters, not by the co-raters alone."""
    base = make_baseline(stars([[5, 4, 1], [1, None, 4], [None, 3, 1]]))
    found = Engine().neighbours(
        base.table,
        items=np.array([0], dtype=np.int32),
        candidates=np.array([1], dtype=np.int32),
        k=1,
    )
    centred = base.table.values.toarray()
    expected = (
        centred[0, 0]
        * centred[0, 1]
        / (np.linalg.norm(centred[:, 0]) * np.linalg.norm(centred[:, 1]))
    )
    assert found.similarities[0, 0] == pytest.approx(expected)
