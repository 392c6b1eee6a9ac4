"""Item kNN equals its formula written out, on one domain and on two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import container
from tacit.data import Ratings, RatingScale, generate, of_domain, with_domains
from tacit.engine import Engine
from tacit.errors import ConfigError, ModelFileError
from tacit.recommenders import load_model
from tacit.recommenders.baselines import ItemKNN


def by_hand(stars: np.ndarray, history: np.ndarray, k: int, significance: int) -> np.ndarray:
    """(items,) predictions, from (people, items) stars and one person's, NaN where unrated."""
    known = ~np.isnan(stars)
    centred = np.where(known, stars - np.nanmean(stars, axis=1, keepdims=True), 0.0)
    likes = stars >= np.nanmean(stars, axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    means = np.nanmean(stars, axis=0)
    predicted = means.copy()
    for i in range(stars.shape[1]):
        near = []
        for j in range(stars.shape[1]):
            both = known[:, i] & known[:, j]
            agree = (likes[both, i] == likes[both, j]).any()
            if j == i or not norms[i] * norms[j] or (significance and not agree):
                continue
            s = centred[:, i] @ centred[:, j] / (norms[i] * norms[j])
            s *= min(both.sum(), significance) / significance if significance else 1
            if s > 0:
                near.append((-s, j))
        near = [(-s, j) for s, j in sorted(near)[:k] if not math.isnan(history[j])]
        if near:
            total = sum(s for s, _ in near)
            predicted[i] += sum(s * (history[j] - means[j]) for s, j in near) / total
    return predicted


@pytest.mark.parametrize("significance", [0, 4])
@given(seed=st.integers(0, 200), k=st.integers(1, 9))
def test_predictions_are_those_of_the_formula(significance: int, seed: int, k: int) -> None:
    """Adjusted cosine, the k most alike, deviations from item means."""
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 6, (12, 8)) + rng.normal(0, 1e-3, (12, 8))  # no two similarities tie
    stars[rng.random((12, 8)) < 0.4] = np.nan
    stars[0] = np.where(np.isnan(stars[0]), 3.0, stars[0])  # every item is rated
    stars[np.isnan(stars).all(axis=1), 0] = 2.0  # and everybody rates
    users, items = np.nonzero(~np.isnan(stars))
    ratings = Ratings.from_arrays(users, items, stars[users, items], scale=RatingScale(0, 6, 0))
    model = ItemKNN(k=k, significance=significance).fit(ratings)
    found = model.predict(list(range(8)), user=1)
    expected = by_hand(stars, stars[1], k, significance)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_one_domain_knows_nothing_of_the_other() -> None:
    """Restricted to a domain, it predicts as if fitted to that domain's ratings alone, and an item
    of the other domain is unknown."""
    ratings = generate(users=40, items=30, ratings=700, seed=3)
    ratings = with_domains(ratings, {i: "ab"[i % 2] for i in ratings.item_ids.tolist()})
    inside = [i for i in ratings.item_ids.tolist() if i % 2]
    one = ItemKNN(k=4, domain="b").fit(ratings)
    alone = ItemKNN(k=4).fit(of_domain(ratings, "b").compact())
    np.testing.assert_array_equal(one.predict(inside, user=2), alone.predict(inside, user=2))
    assert np.isnan(one.predict([2], user=2)).all()


def test_a_longer_search_changes_nothing() -> None:
    """The k most alike are the same whether the first list was long enough or had to grow."""
    ratings = generate(users=40, items=30, ratings=500, seed=4)
    everything = ItemKNN(k=15, significance=0).fit(ratings).similar_
    few = ItemKNN(k=1, significance=0).fit(ratings).similar_
    best = [row.max() if row.nnz else 0.0 for row in (everything[[i]] for i in range(30))]
    assert (few.data > 0).all()
    np.testing.assert_array_equal(few.sum(axis=1), best)


def test_another_engine_is_used() -> None:
    """The engine given is the one asked, for similarities and for predictions."""
    asked = []

    class Counting(Engine):
        def neighbours(self, *given, **named):
            asked.append("neighbours")
            return super().neighbours(*given, **named)

        def predictions(self, *given, **named):
            asked.append("predictions")
            return super().predictions(*given, **named)

    model = ItemKNN(engine=Counting()).fit(generate(users=20, items=10, ratings=100, seed=1))
    model.predict([1], history={2: 3.0})
    assert set(asked) == {"neighbours", "predictions"}


@pytest.mark.parametrize("wrong", [{"k": 0}, {"significance": -1}])
def test_senseless_settings_are_refused(wrong: dict[str, int]) -> None:
    """There is at least one neighbour."""
    with pytest.raises(ConfigError):
        ItemKNN(**wrong)


def test_a_file_with_neighbours_outside_the_catalogue_is_refused(tmp_path) -> None:
    """Item numbers of a model file are checked before a compiled kernel follows them."""
    model = ItemKNN().fit(generate(users=20, items=10, ratings=100, seed=1))
    model.save(tmp_path / "good")
    header, arrays = container.read(tmp_path / "good")
    columns = arrays["similar columns"].copy()
    columns[0] = 10
    container.write(tmp_path / "bad", header, {**arrays, "similar columns": columns})
    with pytest.raises(ModelFileError, match="cannot be used"):
        load_model(tmp_path / "bad")
