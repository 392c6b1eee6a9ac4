"""Splits into training and test ratings, each with what it lets the training side know too much.

Both halves keep all people and items under the same numbers, so that one model serves both.
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
    """Ratings to learn from and ratings to be judged on."""

    train: Ratings
    test: Ratings


def random_per_user(
    ratings: Ratings, share: float = 0.2, *, seed: int, among: NDArray[np.bool_] | None = None
) -> Split:
    """Hold out a random share of each person's ratings: at least one, never all.

    among: (n,) only these ratings, such as likes, are held out or counted; None: all. A person with
    a single one of them keeps it for training.
    Leaks: time. Later ratings help to predict earlier ones, a person's own and other people's, so
    accuracy looks better than it will be in use. Every test person is known from training.
    """
    refuse_share(share)
    keys = np.random.default_rng(seed).random(len(ratings))
    if among is None:
        counts = np.diff(ratings.offsets)
    else:
        counts = np.bincount(ratings.users[among], minlength=ratings.n_users)
        keys = np.where(among, keys, 2)  # last among the person's own
    held = np.clip(np.round(share * counts), 1, np.maximum(counts - 1, 0)).astype(np.int64)
    return _split(ratings, rank_in_person(ratings, keys) < held[ratings.users])


def temporal(ratings: Ratings, share: float = 0.2) -> Split:
    """Hold out everything after one moment, the same for all, with about `share` after it.

    Ratings of the very moment of the cut stay in training. DataError without different times.
    Leaks: nothing backwards in time. But people without late ratings have no test ratings, and
    people who came late no training ratings.
    """
    refuse_share(share)
    if ratings.timestamps is None:
        raise DataError(
            "these ratings have no times to split by",
            fix="Name the column with --time, or split at random per user.",
        )
    times = np.sort(ratings.timestamps)
    cut = times[min(len(times) - 1, int(np.ceil((1 - share) * len(times))) - 1)]
    if cut == times[-1]:  # a tie at the end: cut before it rather than hold out nothing
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
    """Yield (training, test) user numbers, (k,) each, sorted; all are test people in one fold.

    people: ratings, or how many people there are. labels: one per person; every fold then has its
    share of each label to within one person.
    Leaks: item statistics. Test people are unseen, but items are known from training people of the
    same time and later.

    Raises:
        ConfigError: There are fewer people than folds, or fewer folds than two.
    """
    number = people if isinstance(people, int) else people.n_users
    if not 2 <= folds <= number:
        raise ConfigError(f"{number} people make 2 to {number} folds; got {folds}.")
    order = np.random.default_rng(seed).permutation(number)
    if labels is not None:
        if len(labels) != number:
            raise ConfigError(f"{number} people need as many labels; got {len(labels)}.")
        kinds = {kind: place for place, kind in enumerate(dict.fromkeys(labels))}
        coded = np.array([kinds[kind] for kind in labels])
        order = order[np.argsort(coded[order], kind="stable")]
    fold = np.empty(number, dtype=np.int64)
    fold[order] = np.arange(number) % folds  # in turn, one label after the other
    return ((np.flatnonzero(fold != at), np.flatnonzero(fold == at)) for at in range(folds))


def _split(ratings: Ratings, test: NDArray[np.bool_]) -> Split:
    return Split(train=ratings.where(~test), test=ratings.where(test))


def rank_in_person(ratings: Ratings, keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) place of each rating among the person's own, from 0, by increasing key."""
    order = np.lexsort((keys, ratings.users))
    rank = np.empty(len(ratings), dtype=np.int64)
    rank[order] = np.arange(len(ratings)) - ratings.offsets[ratings.users]
    return rank


def refuse_share(share: float) -> None:
    """ConfigError unless something is held out and something is left."""
    if not 0 < share < 1:
        raise ConfigError(f"The held-out share lies between 0 and 1; got {share}.")
