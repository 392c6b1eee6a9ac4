"""Generated ratings: exact counts, the laws of the strengths, and likeness to real ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from tacit.data import Ratings, generate
from tacit.errors import ConfigError


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(1, 40), st.data())
def test_counts_are_exact(users: int, items: int, data: st.DataObject) -> None:
    """As many ratings and people as asked, at least 20 each where possible, any feasible size."""
    ratings = data.draw(st.integers(users, users * items))
    made = generate(users=users, items=items, ratings=ratings, seed=3)
    assert (len(made), made.n_users) == (ratings, users)
    assert np.diff(made.offsets).min() >= min(20, ratings // users)
    assert made.n_items == items or ratings < items


def test_the_same_seed_gives_the_same_ratings() -> None:
    """And another seed others."""
    first, second, other = (generate(users=50, items=60, ratings=1500, seed=s) for s in (1, 1, 2))
    assert first.digest == second.digest != other.digest
    assert first.attribute("gender").tolist() == second.attribute("gender").tolist()


def test_no_strength_means_no_effect() -> None:
    """With which=how=0 the ratings are the same whoever has which value."""
    few, many = (
        generate(users=80, items=60, ratings=2000, which=0, how=0, share=share, seed=5)
        for share in (0.1, 0.9)
    )
    assert few.digest == many.digest
    assert few.attribute("gender").tolist().count("F") == 8
    assert many.attribute("gender").tolist().count("F") == 72


@pytest.mark.parametrize("strength", ["which", "how"])
def test_each_strength_alone_has_an_effect(strength: str) -> None:
    """Who has which value matters as soon as one strength is not 0."""
    both = {"which": 0.0, "how": 0.0, strength: 1.0}
    few, many = (
        generate(users=80, items=60, ratings=2000, share=share, seed=5, **both)  # type: ignore[arg-type]
        for share in (0.1, 0.9)
    )
    assert few.digest != many.digest


def test_how_alone_changes_stars_only() -> None:
    """The gap in stars has no say in who rates what."""
    plain, gapped = (
        generate(users=80, items=60, ratings=2000, which=0, how=how, seed=5) for how in (0.0, 1.0)
    )
    assert (plain.items == gapped.items).all()
    assert (plain.values != gapped.values).any()


@pytest.mark.parametrize(
    "bad",
    [
        {"ratings": 5},
        {"ratings": 301},
        {"users": 0},
        {"share": 1.5},
        {"which": -1},
        {"how": float("nan")},
    ],
)
def test_impossible_worlds_are_refused(bad: dict[str, object]) -> None:
    """Each parameter out of its range is a configuration error."""
    with pytest.raises(ConfigError):
        generate(**({"users": 10, "items": 30, "ratings": 300, "seed": 1} | bad))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made() -> Ratings:
    """As many people, items and ratings as MovieLens 100K."""
    return generate(users=943, items=1682, ratings=100_000, seed=1)


def test_stars_spread_as_in_movielens(made: Ratings) -> None:
    """Mean about 3.5, standard deviation about 1.1, about 1.0 around the item means."""
    sums = np.bincount(made.items, made.values)
    means = sums / np.bincount(made.items)
    around = np.sqrt(np.mean((made.values - means[made.items]) ** 2))
    assert 3.4 < made.values.mean() < 3.65
    assert 1.05 < made.values.std() < 1.2
    assert 0.95 < around < 1.05


def test_counts_have_long_tails(made: Ratings) -> None:
    """Few items and people have most ratings, as in MovieLens."""
    items = np.sort(np.bincount(made.items))
    people = np.sort(np.diff(made.offsets))
    assert items[-168:].sum() > 0.3 * len(made)
    assert people[-94:].sum() > 0.3 * len(made)
    assert people[-1] > 5 * np.median(people)


def auc(ratings: Ratings, seed: int = 0) -> float:
    labels = ratings.attribute("gender") == "F"
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    model = LogisticRegression(C=0.003, max_iter=1000)
    scores = cross_val_score(model, ratings.matrix, labels, cv=folds, scoring="roc_auc")
    return float(scores.mean())


def test_an_attacker_reads_the_attribute_as_in_movielens(made: Ratings) -> None:
    """Logistic regression on raw stars reaches 0.75 to 0.80, as on the real ratings."""
    assert 0.75 <= auc(made) <= 0.80


def test_an_attacker_reads_nothing_without_strength() -> None:
    """With which=how=0 the same attacker is blind. 0.1 is four standard errors of such an AUC."""
    blind = generate(users=943, items=1682, ratings=100_000, which=0, how=0, seed=1)
    assert abs(auc(blind) - 0.5) < 0.1


def test_there_is_taste_to_learn(made: Ratings) -> None:
    """Two people's residuals agree more on items of like profiles: the first singular values of
    the residual matrix stand out from those of the same residuals shuffled within each item."""
    means = np.bincount(made.items, made.values) / np.bincount(made.items)
    residuals = made.values - means[made.items]
    people = np.bincount(made.users, residuals) / np.diff(made.offsets)
    residuals = residuals - people[made.users]
    shuffled = residuals.copy()
    np.random.default_rng(0).shuffle(shuffled)

    def strength(values: np.ndarray) -> float:
        dense = np.zeros((made.n_users, made.n_items))
        dense[made.users, made.items] = values
        return float(np.linalg.norm(dense, 2))

    assert strength(residuals) > 1.1 * strength(shuffled)


def test_labels_change_nothing_else() -> None:
    """With labels every item has genres, and ratings and times are the same to the last bit."""
    plain, labelled = (
        generate(users=50, items=60, ratings=1500, labels=labels, seed=1) for labels in (0, 5)
    )
    assert plain.digest == labelled.digest
    assert list(plain.item_metadata) == ["title"]
    assert all(labelled.item_metadata["genres"].tolist())
