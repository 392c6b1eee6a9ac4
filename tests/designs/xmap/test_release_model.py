"""Item numbers in, one person's own ratings in, expected stars out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.xmap.item_model import ItemModel
from tacit.errors import DataError


@pytest.fixture
def model() -> ItemModel:
    generator = np.random.default_rng(5)
    return ItemModel(
        means=3 + generator.normal(size=6) / 3,
        factors=generator.normal(size=(6, 2)) / 2,
        variances=np.linspace(0.4, 0.8, 6),
        counts=np.array([50.0, 40, 30, 20, 10, 5]),
        mildness=0.2,
        scale=(1.0, 5.0),
    )


def test_stars_are_the_conditional_mean(model):
    """Of a Gaussian with covariance Q Q^T + mildness + diagonal, conditioned the textbook way."""
    own, stars = np.array([4, 1, 0]), np.array([5.0, 2.0, 4.0])
    covariance = model.factors @ model.factors.T + model.mildness
    seen = covariance[np.ix_(own, own)] + np.diag(model.variances[own])
    expected = model.means + covariance[:, own] @ np.linalg.solve(seen, stars - model.means[own])
    np.testing.assert_allclose(model.predict(own, stars), np.clip(expected, 1, 5), atol=1e-10)


def test_without_ratings_the_means(model):
    """Somebody who rated nothing gets what is known of everybody."""
    found = model.predict(np.array([], dtype=int), np.array([]))
    np.testing.assert_allclose(found, model.means)


def test_many_are_each_for_themselves(model):
    """A person's predictions are the same alone and in company; a rating of 0 is a rating."""
    values, columns = np.array([5.0, 1.0, 0.0]), np.array([0, 3, 2])
    both = sparse.csr_array((values, columns, np.array([0, 2, 3])), shape=(2, 6))
    many = model.predict_many(both)
    np.testing.assert_allclose(many[0], model.predict(np.array([0, 3]), np.array([5.0, 1.0])))
    np.testing.assert_allclose(many[1], model.predict(np.array([2]), np.array([0.0])))


def test_ranking_prefers_the_known_among_equals(model):
    """With equal expectations lists go by popularity; a much better item still comes first."""
    same = ItemModel(
        np.array([3.0, 3.0, 4.8]),
        np.zeros((3, 1)),
        np.full(3, 0.5),
        np.array([10.0, 20.0, 15.0]),
        0.2,
        (1.0, 5.0),
    )
    scores = same.ranking(np.array([], dtype=int), np.array([]))
    assert np.argsort(-scores).tolist() == [2, 1, 0]


def test_similar_is_a_cosine(model):
    """1 with itself, within -1 and 1, 0 where nothing is known."""
    blank = ItemModel(
        model.means, model.factors * (np.arange(6) > 0)[:, None], *list(vars(model).values())[2:]
    )
    found = blank.similar(3)
    assert found[3] == pytest.approx(1)
    assert (np.abs(found) <= 1 + 1e-12).all()
    assert found[0] == 0


def test_arrays_and_back(model):
    """What is saved gives the same predictions."""
    again = ItemModel.from_arrays(model.arrays())
    own, stars = np.array([2]), np.array([5.0])
    assert (again.predict(own, stars) == model.predict(own, stars)).all()


@pytest.mark.parametrize(
    ("numbers", "stars"), [([6], [3.0]), ([-1], [3.0]), ([0, 1], [3.0]), ([0], [np.nan])]
)
def test_wrong_ratings_are_refused(model, numbers, stars):
    """An item that is not there, columns of two lengths, no number."""
    with pytest.raises(DataError):
        model.predict(np.array(numbers), np.array(stars))


def test_arrays_fit_together(model):
    """A model of different numbers of items is no model."""
    with pytest.raises(DataError):
        ItemModel(model.means[:5], model.factors, model.variances, model.counts, 0.2, model.scale)
