"""Splits of ratings into training and test ratings, and of people into folds.

Training and test ratings keep all people and items under the same numbers, so that one model serves
both. "Leaks" in a docstring names what training ratings reveal that a recommender in use cannot
know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, DataError


@dataclass(frozen=True, slots=True)
class Split:
    """Ratings to fit a recommender to, and ratings to evaluate it on."""

    train: Ratings
    """Ratings to fit to."""
    test: Ratings
    """Held-out ratings."""


def random_per_user(
    ratings: Ratings, share: float = 0.2, *, seed: int, among: NDArray[np.bool_] | None = None
) -> Split:
    """Hold out a random share of each person's ratings: at least one, never all.

    The share is rounded to whole ratings. A person with a single rating that can be held out keeps
    it for training.
    Leaks: time. Later ratings help to predict earlier ones, a person's own and other people's, so
    accuracy looks better than it will be in use. Every test person is known from training.

    Args:
        ratings: Ratings to split.
        share: Share of a person's ratings to hold out, above 0 and below 1.
        seed: Seed of the draw.
        among: (n,) which ratings, such as likes, can be held out; the share, "at least one" and
            "never all" are of these ratings alone. None: all ratings.

    Raises:
        ConfigError: The share is not above 0 and below 1.
    """
    check_share(share)
    keys = np.random.default_rng(seed).random(len(ratings))
    if among is None:
        counts = np.diff(ratings.offsets)
    else:
        counts = np.bincount(ratings.users[among], minlength=ratings.n_users)
        keys = np.where(among, keys, 2)  # above all draws, so these rank last and are not held out
    test_counts = np.clip(np.round(share * counts), 1, np.maximum(counts - 1, 0)).astype(np.int64)
    return _split(ratings, rank_in_person(ratings, keys) < test_counts[ratings.users])


def temporal(ratings: Ratings, share: float = 0.2) -> Split:
    """Hold out the latest ratings: all after one time, which is the same for all people.

    About `share` of all ratings are held out, unless many have the same time: ratings at the time
    of the cut stay in training.
    Leaks: nothing, since training ratings are never later than test ratings. But people without
    late ratings have no test ratings, and people without early ratings have no training ratings.

    Args:
        ratings: Ratings with times.
        share: Share of all ratings to hold out, above 0 and below 1.

    Raises:
        ConfigError: The share is not above 0 and below 1.
        DataError: There are no ratings, they have no times, or all have the same time.
    """
    check_share(share)
    if ratings.timestamps is None:
        raise DataError(
            "these ratings have no times to split by",
            fix="Name the column with --time, or split at random per user.",
        )
    if not len(ratings):
        raise DataError("there are no ratings to split", expected="two or more, of different times")
    times = np.sort(ratings.timestamps)
    cut = times[min(len(times) - 1, int(np.ceil((1 - share) * len(times))) - 1)]
    if cut == times[-1]:  # nothing is later, so cut before the ratings of this time
        earlier = times[times < cut]
        if not earlier.size:
            raise DataError("all ratings have the same time", fix="Split at random per user.")
        cut = earlier[-1]
    return _split(ratings, ratings.timestamps > cut)


def k_fold_users(
    people: Ratings | int,
    folds: int = 10,
    *,
    seed: int,
    labels: Sequence[Any] | NDArray[Any] | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Split people into folds; each person is a test person in exactly one fold.

    Leaks: item statistics. Test people are unseen, but items are known from training people of the
    same time and later.

    Args:
        people: Ratings, or the number of people.
        folds: Number of folds.
        seed: Seed of the draw.
        labels: (people,) a label for each person, such as an attribute. The people who have the
            same label are spread evenly over the folds, to within one person. None: people are
            spread evenly, at random.

    Returns:
        For each fold, the sorted numbers of the training people, and of the test people.

    Raises:
        ConfigError: There are fewer people than folds or fewer than two folds, or the number of
            labels is not that of the people.
    """
    number = people if isinstance(people, int) else people.n_users
    if not 2 <= folds <= number:
        raise ConfigError(
            f"The number of folds must be from 2 to the number of people, {number}; got {folds}."
        )
    order = np.random.default_rng(seed).permutation(number)
    if labels is not None:
        if len(labels) != number:
            raise ConfigError(f"{number} people need as many labels; got {len(labels)}.")
        codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        coded = np.array([codes[label] for label in labels])
        order = order[np.argsort(coded[order], kind="stable")]
    # People go to the folds in turn: first all with one label, then all with the next.
    fold_of_person = np.empty(number, dtype=np.int64)
    fold_of_person[order] = np.arange(number) % folds
    return (
        (np.flatnonzero(fold_of_person != fold), np.flatnonzero(fold_of_person == fold))
        for fold in range(folds)
    )


def _split(ratings: Ratings, is_test: NDArray[np.bool_]) -> Split:
    """Hold out the ratings for which a mask (n,) is True."""
    return Split(train=ratings.where(~is_test), test=ratings.where(is_test))


def rank_in_person(ratings: Ratings, keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rank each rating among the ratings of the same person, from 0, by increasing key.

    Args:
        ratings: The ratings.
        keys: (n,) a number for each rating.

    Returns:
        (n,) ranks.
    """
    order = np.lexsort((keys, ratings.users))
    rank = np.empty(len(ratings), dtype=np.int64)
    # Ratings are sorted by person, so the k-th place of `order` holds a rating of the person of row
    # k.
    rank[order] = np.arange(len(ratings)) - ratings.offsets[ratings.users]
    return rank


def check_share(share: float) -> None:
    """Raise ConfigError unless the share to hold out is above 0 and below 1."""
    if not 0 < share < 1:
        raise ConfigError(f"The held-out share lies between 0 and 1; got {share}.")
