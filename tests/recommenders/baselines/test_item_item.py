"""Lists by votes of similar items: known answers, neighbours, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tacit.data import Ratings, generate
from tacit.errors import ConfigError
from tacit.evaluation.lists import judge_lists, list_trial
from tacit.recommenders.baselines import ItemItem, ItemKNN, Popularity
from tacit.recommenders.baselines.item_item import bm25_weights, cosine_weights, nearest_items

LIKES = sparse.csr_array(np.array([[1.0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]]))


def test_cosines() -> None:
    """The cosine of two columns of likes is their common people over the root of the product."""
    found = nearest_items(cosine_weights(LIKES), 4).toarray()
    assert found[0, 1] == pytest.approx(2 / math.sqrt(3 * 2))
    assert found[1, 2] == pytest.approx(1 / math.sqrt(2))
    assert found[2, 3] == 0
    assert not found.diagonal().any()


def test_bm25() -> None:
    """An entry is 2.2 / (1 + 1.2 (.9 + .1 c / mean c)) times log(items / (1 + likes))."""
    found = bm25_weights(LIKES).toarray()
    average = 7 / 4
    expected = 2.2 / (1 + 1.2 * (0.9 + 0.1 * 3 / average)) * math.log(4 / 3)
    assert found[0, 0] == pytest.approx(expected)
    assert found[1, 2] == pytest.approx(2.2 / (1 + 1.2 * (0.9 + 0.1 / average)) * math.log(4 / 4))


def test_each_item_keeps_its_own_nearest() -> None:
    """With k = 1 a column holds its largest product alone, whatever other columns hold."""
    generator = np.random.default_rng(0)
    dense = generator.random((30, 700)) * (generator.random((30, 700)) < 0.4)
    products = dense.T @ dense
    np.fill_diagonal(products, 0)
    found = nearest_items(sparse.csr_array(dense), 1)
    assert np.array_equal(np.diff(sparse.csc_array(found).indptr), np.ones(700))
    assert found.max(axis=0).toarray().ravel() == pytest.approx(products.max(axis=0))


def test_scores_are_votes() -> None:
    """What a person likes votes with its similarity; a rating below a like has no vote."""
    ratings = Ratings.from_arrays(
        [1, 1, 2, 2, 2, 3, 3], [10, 20, 10, 20, 30, 10, 40], np.full(7, 5)
    )
    model = ItemItem(k=3).fit(ratings)
    votes = model.predict([20, 30, 40], history={10: 5.0, 30: 1.0})
    expected = [2 / math.sqrt(6), 1 / math.sqrt(3), 1 / math.sqrt(3)]
    assert votes == pytest.approx(expected, abs=1e-6)


def test_a_newcomer_gets_the_popular_items() -> None:
    """Without a vote, items come in the order of their likes."""
    ratings = generate(users=60, items=30, ratings=900, seed=1)
    popular = Popularity(likes=True).fit(ratings).recommend(history={}, n=5)
    found = ItemItem().fit(ratings).recommend(history={}, n=5)
    assert found.item_ids == popular.item_ids


def test_votes_make_better_lists_than_predicted_stars() -> None:
    """On generated likes lists by votes find more than lists by predicted stars and popularity."""
    trial = list_trial(generate(users=300, items=150, ratings=9000, seed=1), seed=0)
    votes, stars, popular = (
        judge_lists(model, trial).ndcg for model in (ItemItem(), ItemKNN(), Popularity(likes=True))
    )
    assert votes > popular > stars


@pytest.mark.parametrize("bad", [{"k": 0}, {"weighting": "tf-idf"}])
def test_impossible_settings_are_refused(bad: dict[str, Any]) -> None:
    """No neighbours, and a weighting that there is not."""
    with pytest.raises(ConfigError):
        ItemItem(**bad)
