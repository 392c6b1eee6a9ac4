"""Lists by weights in closed form: against the textbook, across domains, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data import Ratings, generate
from tacit.data.synthetic_worlds import generate_domains
from tacit.errors import ConfigError
from tacit.recommenders.baselines import EASE, Popularity, Ridge


def likes_of(ratings: Ratings) -> np.ndarray:
    table = np.zeros((ratings.n_users, ratings.n_items))
    table[ratings.users, ratings.items] = ratings.values >= 4
    return table


def test_textbook() -> None:
    """The weights of an item are the ridge regression of its likes on all others' likes."""
    ratings = generate(users=60, items=20, ratings=700, seed=1)
    likes = likes_of(ratings)
    weights = EASE(penalty=7.0).fit(ratings).weights_
    for item in (0, 5, 19):
        others = np.delete(np.arange(20), item)
        on = likes[:, others]
        expected = np.linalg.solve(on.T @ on + 7 * np.eye(19), on.T @ likes[:, item])
        assert weights[others, item] == pytest.approx(expected)
        assert weights[item, item] == 0


def test_scores_are_sums_over_likes() -> None:
    """A rating below a like adds nothing; likes add their weights."""
    ratings = generate(users=60, items=20, ratings=700, seed=1)
    model = EASE(penalty=7.0).fit(ratings)
    scores = model.predict(list(range(1, 21)), history={1: 5.0, 2: 4.0, 3: 3.0})
    assert scores == pytest.approx(model.weights_[0] + model.weights_[1])


def test_likes_follow_the_scale() -> None:
    """On half stars from 0.5 a 4 is a like and a 3.5 is none, also of a loaded model's history."""
    made = Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], [4, 4, 4, 0.5])
    model = EASE(penalty=1.0).fit(made)
    assert model.predict([2], history={1: 3.5})[0] == 0
    assert model.predict([2], history={1: 4.0})[0] == pytest.approx(1 / 3)


def test_ridge_is_the_normal_equation() -> None:
    """Weights from source ratings (1 for a like, .4 else) to target likes, and 0 elsewhere."""
    ratings = generate_domains(80, (12, 9), 8.0, seed=1)
    model = Ridge(source="source", target="target", penalty=3.0).fit(ratings)
    likes = likes_of(ratings)
    rated = np.zeros_like(likes)
    rated[ratings.users, ratings.items] = 1
    known = np.where(likes > 0, 1.0, 0.4 * rated)[:, :12]
    expected = np.linalg.solve(known.T @ known + 3 * np.eye(12), known.T @ likes[:, 12:])
    scores = model.predict(list(range(21)), history={0: 5.0, 1: 2.0, 15: 5.0})
    assert scores[12:] == pytest.approx(expected[0] + 0.4 * expected[1])
    assert not scores[:12].any()


@pytest.mark.parametrize("penalty", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_penalties_are_refused(penalty: float) -> None:
    """A penalty is a finite number above 0."""
    with pytest.raises(ConfigError):
        EASE(penalty=penalty)


def test_too_many_items_are_refused() -> None:
    """Before anything is computed, and the message names what to use instead."""
    many = Ratings.from_arrays([1] * 30_001, range(30_001), np.full(30_001, 5))
    with pytest.raises(ConfigError, match="item-item"):
        EASE().fit(many)


def test_popularity_of_likes() -> None:
    """With likes, only ratings that are likes are counted."""
    made = Ratings.from_arrays([1, 2, 3, 3], [7, 7, 7, 8], [5, 1, 2, 5])
    assert Popularity().fit(made).counts_.tolist() == [3, 1]
    assert Popularity(likes=True).fit(made).counts_.tolist() == [1, 1]
