"""Item-item weights: the textbook's formula, who is in them, and what is kept of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.messages import LIKED, SHOWN, weights_of_levels
from tacit.designs.standard_scheme.server import WEIGHT_UNIT, Ease, weigh_levels
from tacit.designs.standard_scheme.training import item_weights as module
from tacit.designs.standard_scheme.training.item_weights import (
    choose_penalty,
    fit_ease,
    fit_ease_at_penalty,
    sum_products,
)
from tacit.engine import ridge as engine
from tacit.engine.ridge import gram


def some_levels(people=300, items=40, seed=0, share=0.5):
    """(people, items) CSR of whole levels 0 to 4; every second item goes with the next one."""
    generator = np.random.default_rng(seed)
    dense = generator.integers(0, 5, (people, items)).astype(float)
    rated = generator.random((people, items)) < share
    rated[:, 1::2] = rated[:, ::2]
    dense[:, 1::2] = dense[:, ::2]
    rows, columns = np.nonzero(rated)
    return sparse.csr_array((dense[rows, columns], (rows, columns)), shape=dense.shape)


def textbook(levels, penalty):
    """B one column at a time: the ridge regression of an item on all others (Steck, 2019), from
    sums of products in fives."""
    weights = np.zeros(levels.shape)
    for row in range(levels.shape[0]):
        for at in range(levels.indptr[row], levels.indptr[row + 1]):
            weights[row, levels.indices[at]] = 1.0 if levels.data[at] >= 3 else 0.3
    together = 5 * np.round(weights.T @ weights / 5)
    found = np.zeros((levels.shape[1],) * 2)
    for item in range(levels.shape[1]):
        others = np.delete(np.arange(levels.shape[1]), item)
        normal = together[np.ix_(others, others)] + penalty * np.eye(len(others))
        found[others, item] = np.linalg.solve(normal, together[others, item])
    return found


def as_released(now, who):
    return now


def stars_of(levels):
    return np.zeros(levels.shape)


@pytest.mark.parametrize("penalty", [1.0, 50.0, 2000.0])
def test_textbook(penalty):
    """The stored weights are those of one ridge regression an item, to half a unit."""
    levels = some_levels()
    stored = fit_ease_at_penalty(levels, 5, penalty).weights.toarray()
    assert np.abs(stored - WEIGHT_UNIT * textbook(levels, penalty)).max() <= 0.5 + 1e-6


def test_blocks(monkeypatch):
    """X'X is the same whatever the size of the blocks it is made in."""
    weights = weigh_levels(some_levels(), 5)
    whole = gram(weights)
    monkeypatch.setattr(engine, "_ITEMS_PER_BLOCK", 7)
    assert np.array_equal(gram(weights), whole)


@pytest.mark.parametrize(
    ("levels", "liked"), [(2, 1), (3, 1), (4, 1), (5, 2), (6, 2), (10, 4), (11, 4)]
)
def test_weights_of_levels(levels, liked):
    """The top two fifths of a scale are liked, and one level at least."""
    assert weights_of_levels(levels) == (SHOWN,) * (levels - liked) + (LIKED,) * liked


def test_few_raters_are_left_out():
    """An item with fewer than 10 raters is in no weight, neither as a row nor as a column."""
    levels = some_levels(people=60).tolil()
    for item, raters in ((3, 9), (4, 1), (5, 10)):
        levels[:, item] = 0
        levels[:raters, item] = 4
    made = fit_ease_at_penalty(sparse.csr_array(levels), 5, 50)
    assert not made.has_weights[[3, 4]].any()
    assert made.has_weights[5]
    assert not made.weights.toarray()[[3, 4]].any()


def test_sole_raters_profile():
    """What one item with a single rater is answered with is the same whoever that rater is."""
    answers = []
    for rater in (0, 1):
        levels = some_levels(people=60).tolil()
        levels[:, 4] = 0
        levels[rater, 4] = 4
        made = fit_ease_at_penalty(sparse.csr_array(levels), 5, 50)
        asked = sparse.csr_array((np.array([4.0]), ([0], [4])), shape=(1, 40))
        rest = np.delete(np.arange(40), 4)
        answers.append(made.preferences(asked, stars_of(asked))[0, rest])
    assert np.array_equal(*answers)


def test_largest_weights_are_stored(monkeypatch):
    """Only the largest weights of a column are kept, by their size without the sign."""
    monkeypatch.setattr(module, "LARGEST_COLUMN", 3)
    levels = some_levels()
    stored = fit_ease_at_penalty(levels, 5, 50).weights.toarray()
    exact = np.abs(textbook(levels, 50))
    for item in range(40):
        assert set(np.flatnonzero(stored[:, item])) <= set(np.argsort(-exact[:, item])[:4])
        assert np.count_nonzero(stored[:, item]) == 3


def test_most_items(monkeypatch):
    """Above the bound, 10,000 as in decision 3, the most liked items are ranked by weights, and the
    rest is left out."""
    assert module.MOST_ITEMS == 10_000
    monkeypatch.setattr(module, "MOST_ITEMS", 10)
    levels = some_levels()
    likes = np.bincount(levels.indices, levels.data >= 3)
    inside = fit_ease_at_penalty(levels, 5, 50).has_weights
    assert inside.sum() == 10
    assert likes[inside].min() >= likes[~inside].max()


def test_preferences_by_hand():
    """Preferences are sums of weights, 1 for a like and .3 for another star, in thousandths."""
    weights = sparse.csc_array(np.array([[0, 400, 0], [200, 0, 0], [0, 100, 0]]))
    made = Ease(weights, np.arange(3), 5)
    shown = sparse.csr_array(
        (np.array([4.0, 0.2]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3)
    )
    assert made.preferences(shown, np.zeros((1, 3)))[0, 1] == 400 + 30


def test_left_out_come_last_by_stars():
    """Items without weights stand below all others, in the order of their predicted stars."""
    levels = some_levels(people=60).tolil()
    levels[:, [3, 7, 9]] = 0
    made = fit_ease_at_penalty(sparse.csr_array(levels), 5, 50)
    stars = np.zeros((1, 40))
    stars[0, [3, 7, 9]] = 1.0, 3.0, 1.0
    asked = sparse.csr_array((np.array([4.0]), ([0], [0])), shape=(1, 40))
    order = np.argsort(-made.preferences(asked, stars)[0], kind="stable")
    assert order[-3:].tolist() == [7, 3, 9]


def test_nobody_known():
    """Somebody who shows nothing gets the most liked items first, by likes in fives."""
    levels = some_levels()
    nothing = sparse.csr_array((1, 40))
    made = fit_ease_at_penalty(levels, 5, 50)
    likes = 5 * np.round(np.bincount(levels.indices, levels.data >= 3) / 5)
    order = np.argsort(-made.preferences(nothing, stars_of(nothing))[0])
    assert (np.diff(likes[order]) <= 0).all()


def test_no_item_has_enough_raters():
    """Where too few people rated everything, lists are those of the star model."""
    levels = some_levels(people=8)
    made = fit_ease(levels, 5, as_released)
    stars = np.random.default_rng(0).normal(size=(8, 40))
    assert not made.has_weights.any()
    found = np.argsort(-made.preferences(levels, stars), axis=1)
    assert np.array_equal(found, np.argsort(-stars, axis=1))


def test_penalty_is_chosen_on_what_is_released():
    """The people left out are simulated: their releases, and not their stars, choose."""
    asked = []

    def simulate(now, who):
        asked.append((now.shape[0], len(who)))
        return now

    assert choose_penalty(some_levels(), 5, simulate) in module.PENALTIES
    assert asked == [(60, 60)]


def test_people_left_out_are_not_trained_on(monkeypatch):
    """The penalty is chosen by weights of the other 240 of 300 people."""
    trained = []

    def sum_and_note(weights):
        trained.append(weights.shape[0])
        return sum_products(weights)

    monkeypatch.setattr(module, "sum_products", sum_and_note)
    choose_penalty(some_levels(), 5, as_released)
    assert trained == [240]


def test_penalty_is_chosen_by_lists_without_rated_items(monkeypatch):
    """Weights that rank what was rated first, and then what will be liked, are best. Others put
    five items that nobody likes before that: they would win if lists held what was rated."""
    likes = np.arange(20) < 15
    levels = np.full((200, 20), np.nan)
    levels[:150, likes] = 4.0
    levels[150:, ~likes] = 0.0
    rows, columns = np.nonzero(np.isfinite(levels))
    rated = sparse.csr_array((levels[rows, columns], (rows, columns)), shape=levels.shape)

    def weights_at(together, penalty):
        if penalty == 400:
            return np.tile(likes.astype(float), (20, 1)) + 100 * np.eye(20)
        return np.tile(np.where(likes, 1.0, 2.0), (20, 1))

    monkeypatch.setattr(module, "item_weights", weights_at)
    assert choose_penalty(rated, 5, as_released) == 400


def test_penalty_finds_what_goes_together():
    """With pairs of items always liked together, the list of left-out people finds the other."""
    levels = some_levels(people=400)
    made = fit_ease(levels, 5, as_released)
    half = levels.toarray()
    rated = sparse.csr_array(levels.astype(bool)).toarray()
    evens = np.zeros_like(rated)
    evens[:, ::2] = rated[:, ::2]
    asked = sparse.csr_array(
        (half[evens], np.nonzero(evens)[1], np.append(0, np.cumsum(evens.sum(axis=1)))),
        shape=half.shape,
    )
    found = made.preferences(asked, stars_of(asked)).astype(float)
    found[:, ::2] = -np.inf
    best = found.argmax(axis=1)
    assert rated[np.arange(400), best].mean() > 0.95


def test_same_data_same_model():
    """Fitting twice gives the same weights."""
    first, second = (fit_ease(some_levels(), 5, as_released, seed=3) for _ in range(2))
    assert np.array_equal(first.weights.toarray(), second.weights.toarray())


def test_continuous_scale():
    """On a continuous scale the nearest of five whole levels counts."""
    levels = some_levels()
    levels.data = levels.data + 0.3
    assert np.array_equal(
        fit_ease(levels, 0, as_released).weights.toarray(),
        fit_ease(some_levels(), 5, as_released).weights.toarray(),
    )


def test_penalties_that_are_tried_grow():
    """From a weak one to one under which items hardly speak of one another, by steps."""
    assert list(module.PENALTIES) == sorted(set(module.PENALTIES))
    assert module.PENALTIES[-1] >= 40 * module.PENALTIES[0]
