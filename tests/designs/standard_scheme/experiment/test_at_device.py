"""Lists at home beside lists from releases: who ranks with what, and who wins for whom."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.experiment.at_device import (
    EVERYBODY,
    FoldLists,
    compare_lists,
    describe_comparison,
    device_list_rows,
)
from tacit.designs.standard_scheme.server import weigh_levels
from tacit.designs.standard_scheme.training.item_embedding import fit_item_embedding
from tacit.designs.standard_scheme.training.item_weights import sum_products

PEOPLE, ITEMS, PENALTY = 200, 30, 60.0


def levels_of_people(seed=0, rare=()):
    """Whole levels of five: everybody rates about half; nobody but the first two a rare item."""
    generator = np.random.default_rng(seed)
    rated = generator.random((PEOPLE, ITEMS)) < 0.5
    rated[2:, list(rare)] = False
    rated[:2, list(rare)] = True
    return sparse.csr_array(np.where(rated, generator.integers(1, 5, (PEOPLE, ITEMS)), 0.0))


def folds_of(advantage):
    """Two folds of ten people; the release's lists are better by `advantage[person]`."""
    folds = []
    for half in np.array_split(np.asarray(advantage, dtype=float), 2):
        people = len(half)
        fold = FoldLists(np.arange(people) % 2, np.arange(people) + 1)
        fold.ndcg = {"popularity": np.full(people, 0.2)}
        fold.ndcg |= {name: np.full(people, 0.4) for name in ("at-device-16", "at-device-32")}
        fold.ndcg["release"] = 0.4 + half
        fold.recall = dict.fromkeys(("popularity", "at-device-16", "at-device-32"), 0.1)
        folds.append(fold)
    return folds


def test_a_whole_embedding_is_the_ridge_regression():
    """With every direction a preference is x G (G + penalty I)^-1, as the formula says."""
    levels = levels_of_people()
    embedding = fit_item_embedding(levels, 5, PENALTY, ITEMS)
    weights = weigh_levels(levels, 5)
    gram = sum_products(weights)
    values, vectors = np.linalg.eigh(gram)
    hat = vectors * (values / (values + PENALTY)) @ vectors.T
    expected = weights.toarray() / 10 @ hat
    np.testing.assert_allclose(embedding.preferences(levels), expected, atol=1e-8)


def test_a_shorter_embedding_is_the_beginning_of_a_longer_one():
    """Sixteen numbers of thirty-two are the embedding of sixteen, up to signs of directions."""
    levels = levels_of_people()
    long = fit_item_embedding(levels, 5, PENALTY, 12).keep_first_numbers(4)
    short = fit_item_embedding(levels, 5, PENALTY, 4)
    np.testing.assert_allclose(long.preferences(levels), short.preferences(levels), atol=1e-8)


def test_an_item_of_two_people_has_no_numbers():
    """Items with few raters have zeros in the public embedding, and come last in lists."""
    levels = levels_of_people(rare=(3, 17))
    embedding = fit_item_embedding(levels, 5, PENALTY, 8)
    assert not embedding.vectors[[3, 17]].any()
    assert embedding.vectors.any(axis=1).sum() == ITEMS - 2
    last = np.argsort(embedding.preferences(levels), axis=1)[:, :2]
    assert set(last[5:].ravel()) == {3, 17}


def test_a_person_without_ratings_gets_popular_items():
    """Nothing rated: items by popularity."""
    embedding = fit_item_embedding(levels_of_people(), 5, PENALTY, 8)
    nobody = sparse.csr_array((1, ITEMS))
    order = np.argsort(-embedding.preferences(nobody)[0], kind="stable")
    assert (embedding.popularity_rank[order] == np.arange(ITEMS)).all()


def test_rows_of_lists_at_home_send_nothing():
    """Each row says what is public and that nothing is shown, and its mean lies in its interval."""
    rows = device_list_rows(folds_of([0.0] * 20))
    assert [(row.release, row.numbers) for row in rows] == [
        ("popularity", 0),
        ("at-device-16", 16),
        ("at-device-32", 32),
    ]
    for row in rows:
        assert row.shown == 0
        assert row.ndcg_low <= row.ndcg <= row.ndcg_high


@pytest.mark.parametrize(("sign", "winner"), [(1, "release"), (-1, "device")])
def test_the_better_list_wins(sign, winner):
    """A list that is .1 better for everybody, with a little noise, is named."""
    noise = np.random.default_rng(1).normal(0, 0.02, 20)
    rows = compare_lists("release", folds_of(sign * 0.1 + noise), ("F", "M"))
    everybody = [row for row in rows if row.group == EVERYBODY]
    assert [row.winner for row in everybody] == [winner, winner]
    assert everybody[0].people == 20


def test_interval_of_a_difference_by_hand():
    """Advantages of 0 and .2, ten of each: a mean of .1, with 1.96 standard errors to either side,
    of a variance that is divided by 19."""
    (row, *_) = compare_lists("release", folds_of([0.0, 0.2] * 10), ("F", "M"))
    half = 1.959963984540054 * math.sqrt(20 * 0.1**2 / 19) / math.sqrt(20)
    assert (row.difference, row.low, row.high) == pytest.approx((0.1, 0.1 - half, 0.1 + half))


def test_a_tie_is_called_a_tie():
    """Where the interval holds 0, neither list wins, and the sentence says so."""
    noise = np.random.default_rng(2).normal(0, 0.1, 10)
    rows = compare_lists("release", folds_of(np.concatenate([noise, -noise])), ("F", "M"))
    assert all(row.winner == "neither" for row in rows if row.group == EVERYBODY)
    assert "is not distinguished from it" in describe_comparison(rows, "at-device-16")


def test_the_sentence_names_for_whom():
    """A release that is better only for people with many ratings is said to be better for them."""
    advantage = [-0.2 + 0.001 * n for n in range(5)] + [0.1 + 0.001 * n for n in range(5)]
    rows = compare_lists("release", folds_of(advantage * 2), ("F", "M"))
    sentence = describe_comparison(rows, "at-device-16")
    assert "16 public numbers" in sentence
    assert "Groups for which the release is better: over 5 ratings." in sentence


def test_people_with_nothing_to_find_do_not_count():
    """A person without a relevant item is in no mean."""
    folds = folds_of([0.1, 0.2] * 10)
    folds[0].ndcg["release"][0] = np.nan
    rows = compare_lists("release", folds, ("F", "M"))
    assert rows[0].people == 19
