"""Splits: nothing lost, nothing twice, and the order of time kept where promised."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import (
    Ratings,
    Split,
    generate,
    k_fold_users,
    random_per_user,
    temporal,
)
from tacit.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """A small population with times."""
    return generate(users=40, items=50, ratings=1200, seed=1)


def pairs(ratings: Ratings) -> set[tuple[int, int]]:
    return set(zip(ratings.users.tolist(), ratings.items.tolist(), strict=True))


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.99])
def test_random_per_user_cuts_everybody(ratings: Ratings, share: float) -> None:
    """Each person has her share in the test, at least one, never all; nothing is lost."""
    split = random_per_user(ratings, share, seed=3)
    held, all_of = np.diff(split.test.offsets), np.diff(ratings.offsets)
    expected = np.clip(np.round(share * all_of), 1, all_of - 1)
    assert held.tolist() == expected.tolist()
    assert pairs(split.train) | pairs(split.test) == pairs(ratings)
    assert not pairs(split.train) & pairs(split.test)


def test_random_per_user_follows_its_seed(ratings: Ratings) -> None:
    """The same seed, the same split."""
    first, second, other = (random_per_user(ratings, seed=s).test.digest for s in (1, 1, 2))
    assert first == second != other


def test_random_per_user_chooses_at_random(ratings: Ratings) -> None:
    """Every rating is held out in some of 60 splits, none in most. A given rating stays out of
    all with probability 0.8^60, below 1e-5 for each of 1,200."""
    times = np.zeros(len(ratings))
    for seed in range(60):
        held = pairs(random_per_user(ratings, seed=seed).test)
        rows = zip(ratings.users.tolist(), ratings.items.tolist(), strict=True)
        times += [row in held for row in rows]
    assert times.min() >= 1
    assert times.max() < 40


def test_a_single_rating_stays_in_training() -> None:
    """Somebody with one rating is not tested."""
    split = random_per_user(Ratings.from_arrays([1, 2, 2], [1, 1, 2], [1, 2, 3]), seed=1)
    assert split.train.history(1) == {1: 1.0}
    assert (len(split.train), len(split.test)) == (2, 1)


def test_temporal_cuts_at_one_moment(ratings: Ratings) -> None:
    """Every test rating is later than every training rating, and the share is right."""
    split = temporal(ratings, 0.2)
    assert split.train.timestamps is not None
    assert split.test.timestamps is not None
    assert split.train.timestamps.max() < split.test.timestamps.min()
    assert len(split.test) == 240


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40), st.floats(0.01, 0.99))
def test_temporal_with_ties(times: list[int], share: float) -> None:
    """Ratings of one moment stay together, and both halves have ratings."""
    rows = range(len(times))
    ratings = Ratings.from_arrays([1] * len(times), list(rows), [3] * len(times), times)
    if len(set(times)) == 1:
        with pytest.raises(DataError, match="all ratings have the same time"):
            temporal(ratings, share)
        return
    split = temporal(ratings, share)
    assert len(split.train) + len(split.test) == len(times)
    assert split.train.timestamps.max() < split.test.timestamps.min()  # type: ignore[union-attr]


def test_temporal_needs_times() -> None:
    """Without times the error names the way out."""
    with pytest.raises(DataError, match=r"no times.*--time.*random per user"):
        temporal(Ratings.from_arrays([1], [1], [1]))


def test_temporal_needs_ratings(ratings: Ratings) -> None:
    """Of no ratings there is no later half."""
    with pytest.raises(DataError, match="no ratings to split"):
        temporal(ratings.where(np.zeros(len(ratings), dtype=bool)))


def test_both_halves_keep_the_numbers(ratings: Ratings) -> None:
    """One model serves both halves: same people, same items."""
    split = temporal(ratings)
    assert isinstance(split, Split)
    for half in (split.train, split.test):
        assert (half.n_users, half.n_items) == (ratings.n_users, ratings.n_items)


@pytest.mark.parametrize("share", [0, 1, -0.1, 2, float("nan")])
def test_a_share_out_of_range_is_refused(ratings: Ratings, share: float) -> None:
    """A share lies strictly between 0 and 1."""
    with pytest.raises(ConfigError):
        random_per_user(ratings, share, seed=1)
    with pytest.raises(ConfigError):
        temporal(ratings, share)


@given(st.integers(2, 60), st.integers(2, 10), st.integers(0, 2**32), st.data())
def test_folds_partition_the_people(
    number: int, folds: int, seed: int, data: st.DataObject
) -> None:
    """Everybody is tested once, folds differ by one person at most, in each label too."""
    folds = min(folds, number)
    labels = data.draw(
        st.none() | st.lists(st.sampled_from(["F", "M", None]), min_size=number, max_size=number)
    )
    made = list(k_fold_users(number, folds, seed=seed, labels=labels))
    assert sorted(np.concatenate([test for _, test in made]).tolist()) == list(range(number))
    for train, test in made:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(number))
    sizes = [len(test) for _, test in made]
    assert max(sizes) - min(sizes) <= 1
    for label in set(labels or ()):
        counts = [sum(labels[person] == label for person in test) for _, test in made]
        assert max(counts) - min(counts) <= 1


def test_folds_follow_their_seed(ratings: Ratings) -> None:
    """The same seed gives the same folds, from ratings as from a number."""
    first = [test.tolist() for _, test in k_fold_users(ratings, 5, seed=1)]
    same = [test.tolist() for _, test in k_fold_users(40, 5, seed=1)]
    other = [test.tolist() for _, test in k_fold_users(40, 5, seed=2)]
    assert first == same != other
    assert any(b - a > 1 for a, b in pairwise(first[0]))


@pytest.mark.parametrize("folds", [1, 41])
def test_too_many_or_too_few_folds_are_refused(ratings: Ratings, folds: int) -> None:
    """At least two folds, at most one per person, said at once and not at the first fold."""
    with pytest.raises(ConfigError):
        k_fold_users(ratings, folds, seed=1)


def test_labels_are_one_per_person(ratings: Ratings) -> None:
    """A list of labels of another length is refused."""
    with pytest.raises(ConfigError, match="as many labels"):
        k_fold_users(ratings, seed=1, labels=["F"])
