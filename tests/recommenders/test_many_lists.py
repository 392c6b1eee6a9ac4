"""Lists of many people are those that each gets alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit import ItemMean, Popularity, Private, XMap
from tacit.data.domains import with_domains
from tacit.data.synthetic import generate
from tacit.errors import DataError
from tacit.recommenders.baselines.als import ALS
from tacit.recommenders.baselines.averages import UserItemMean
from tacit.recommenders.baselines.ease import EASE, Ridge
from tacit.recommenders.baselines.item_item import ItemItem
from tacit.recommenders.baselines.item_knn import ItemKNN
from tacit.recommenders.baselines.matrix_factorization import MatrixFactorization
from tacit.recommenders.baselines.popularity import PrivatePopularity
from tacit.recommenders.baselines.remote_user import RemoteUser
from tests.support.planted_models import ReversedFactors, ReversedMeans

DOMAINS = {"source": "books", "target": "films"}


@pytest.fixture(scope="module")
def ratings():
    """Ratings with genres, and items in two domains."""
    made = generate(users=60, items=40, ratings=900, seed=3)
    ids = made.item_ids.tolist()
    names = {item: "films" if item % 2 else "books" for item in ids}
    genres = np.array([f"g{item % 3}|h{item % 5}" for item in ids], dtype=object)
    made = replace(made, item_metadata={"genres": genres})
    return with_domains(made, names)


def make_als():
    """Make alternating least squares, where its package is installed."""
    pytest.importorskip("implicit.als")
    return ALS(factors=4)


MODELS = {
    "popularity": lambda: Popularity(likes=True),
    "private popularity": lambda: PrivatePopularity(epsilon=1.0),
    "item mean": lambda: ItemMean(),
    "user-item mean": lambda: UserItemMean(),
    "ease": lambda: EASE(penalty=20.0),
    "ridge": lambda: Ridge(**DOMAINS, penalty=20.0),
    "als": lambda: make_als(),
    "remote user": lambda: RemoteUser(**DOMAINS, k=10),
    "matrix factorization": lambda: MatrixFactorization(factors=3),
    "item-item": lambda: ItemItem(),
    "item-knn": lambda: ItemKNN(k=5, significance=0),
    "private, one domain": lambda: Private(epsilon=np.inf, mode="taste"),
    "private, top items": lambda: Private(epsilon=np.inf, mode="top-items"),
    "private, two domains": lambda: Private(epsilon=np.inf, **DOMAINS),
    "X-Map, sound": lambda: XMap(epsilon=np.inf, **DOMAINS),
    "X-Map, published": lambda: XMap(epsilon=np.inf, variant="published", **DOMAINS),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, ratings):
    """One fitted recommender of each kind."""
    return MODELS[request.param]().fit(ratings)


def same(made, alone):
    """Tell whether two lists have the same items, and scores but for the last bits."""
    if made.item_ids != alone.item_ids:
        return False
    return np.allclose([row.score for row in made], [row.score for row in alone], rtol=1e-9)


@pytest.mark.parametrize("n", [1, 10, 100])
def test_lists_of_many_histories_are_those_of_each(model, ratings, n):
    """`recommend_many` gives what `recommend` gives for each history, unknown items included."""
    histories = [ratings.history(user) for user in ratings.user_ids[:20].tolist()]
    histories += [{}, {10**6: 5.0, int(ratings.item_ids[0]): 5.0}]
    many = model.recommend_many(histories, n=n)
    for place, (history, made) in enumerate(zip(histories, many, strict=True)):
        assert same(made, model.recommend(place, history=history, n=n))
        assert [row.rank for row in made] == list(range(1, len(made) + 1))
        assert {row.user_id for row in made} <= {place}


@pytest.mark.parametrize("changed", [ReversedMeans, ReversedFactors])
def test_a_changed_score_counts_for_many_people(changed, ratings):
    """Code that scores many people fast is left out where a subclass replaced `_score` alone."""
    model = changed().fit(ratings)
    histories = [ratings.history(user) for user in ratings.user_ids[:5].tolist()]
    for place, made in enumerate(model.recommend_many(histories)):
        assert same(made, model.recommend(place, history=histories[place]))


def test_factors_score_many_people_as_each_alone(ratings):
    """To the last bit, so that no list depends on who else gets one."""
    model = MatrixFactorization(factors=3).fit(ratings)
    users = ratings.user_ids[:20].tolist()
    best = model.list_users(users, n=8)
    for row, user in enumerate(users):
        alone = model.predict(model.item_ids_[best.places[row]].tolist(), user)
        assert np.array_equal(best.scores[row], alone)


def test_lists_of_histories_that_are_none(model):
    """Nobody's ratings are looked up by a history's place, and a list is as long as the items."""
    (made,) = model.recommend_many([None], n=10**12)
    assert made.item_ids == model.recommend(history={}, n=len(model.item_ids_)).item_ids


@pytest.mark.parametrize("some", [False, True])
def test_lists_of_many_users_are_those_of_each(model, ratings, some):
    """`list_users` gives the places of what `recommend` gives for each person fitted to."""
    users = [*ratings.user_ids[:20].tolist(), 10**6]
    candidates = ratings.item_ids[::3].tolist() if some else None
    best = model.list_users(users, n=8, candidates=candidates)
    for row, user in enumerate(users):
        alone = model.recommend(user, n=8, candidates=candidates)
        places = best.places[row, : len(alone)]
        assert model.item_ids_[places].tolist() == alone.item_ids
        assert (best.places[row, len(alone) :] == -1).all()


def test_lists_of_unknown_users_are_those_of_empty_histories(model):
    """`list_users` reads no ratings where it knows none of the people."""
    best = model.list_users([10**6, 10**6 + 1], n=8)
    for row in range(2):
        assert (
            model.item_ids_[best.places[row]].tolist() == model.recommend(history={}, n=8).item_ids
        )


def test_a_history_is_no_id_of_one_of_many_people(model):
    """`list_users` refuses a history in place of an id, wherever among the people it stands."""
    with pytest.raises(DataError, match="the first argument is the id of a person"):
        model.list_users([1, 2, {7: 4.0}], n=8)
