"""Protocols of a comparison: which ratings are held out, who is judged, which items compete.

The splits, by their names, hold out:

random   a share of each person's likes, drawn anew for each seed
time     all ratings after one moment; people without an earlier rating are not judged
last     each person's latest like; ratings that the person gave after it are not used at all
people   a share of the likes of each cold person. Cold people are a random share of all people:
         none of their ratings is trained on, and each one's list is made from their other ratings,
         which are given as a history
folds    one of k folds of each person's likes: for seed s, fold s mod k of a division into folds
         that is drawn by s // k

None of these but "time" holds out a person's only like.

Candidates are all items that the person has not rated in training (a cold person: in the history);
or a given number of these items, drawn at random, and the held-out likes. Sampled candidates make
figures larger and can change the order of recommenders (Krichene and Rendle, On sampled metrics for
item recommendation, KDD 2020). Between two domains there is only the split of `lists`: all ratings
of test people in the target domain are held out, and candidates are items of this domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.splits import check_share, rank_in_person, temporal
from tacit.errors import ConfigError, DataError
from tacit.evaluation.lists import (
    LIST_LENGTH,
    SHARE,
    ListTrial,
    choose_test_people,
    list_trial,
    lists_of,
)
from tacit.recommenders.base import Recommender

SPLITS = ("random", "time", "last", "people", "folds")
"""Names of the splits."""
_STREAM_OF_CANDIDATES = 11
"""Second word of the seed that draws candidates."""
_STREAM_OF_FOLDS = 17
"""Second word of the seed that draws folds."""

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Protocol:
    """Settings of a comparison's protocol."""

    split: str = "random"
    """One of `SPLITS`."""
    share: float = SHARE
    """Share of likes, ratings or people that is held out. "last" does not use it, and "folds" uses
    it only for errors of predicted stars. Between two domains `SHARE` is used instead."""
    folds: int = 5
    """Number of folds of the split "folds"; other splits do not use it."""
    sampled: int | None = None
    """Number of unseen items that are drawn as candidates in addition to the held-out likes; None:
    every unseen item is a candidate."""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ConfigError(f"No split '{self.split}'. Known: {', '.join(SPLITS)}.")
        check_share(self.share)
        if self.folds < 2:
            raise ConfigError(f"Likes are cut into two folds or more; got {self.folds}.")
        if self.sampled is not None and self.sampled < LIST_LENGTH:
            raise ConfigError(f"Draw {LIST_LENGTH} candidates or more; got {self.sampled}.")

    @property
    def has_stars(self) -> bool:
        """Whether errors of predicted stars are measured with this split."""
        return self.split in ("random", "time", "folds")

    def describe(self, *, domains: bool) -> str:
        """Describe the protocol in sentences, for a page.

        Args:
            domains: Whether lists in one domain are made from ratings in another.
        """
        held_out_by_split = {
            "random": f"A random {self.share:.0%} of each person's likes are held out.",
            "time": f"The latest {self.share:.0%} of all ratings are held out: everything after "
            "one moment.",
            "last": "Each person's latest like is held out; what they rated after it is left out.",
            "people": f"{self.share:.0%} of people are not learned from; {self.share:.0%} of each "
            "one's likes are to be found from their other ratings.",
            "folds": f"Each person's likes are held out in {self.folds} folds, one after another.",
        }
        held_out = held_out_by_split[self.split]
        if domains:
            held_out = "All ratings of test people in the target domain are held out."
        items = "items of the target domain" if domains else "items"
        candidates = f"Candidates are all {items} that a person has not rated in training."
        if self.sampled is not None:
            candidates = (
                f"Candidates are {self.sampled} random {items} that a person has not rated, and "
                "the held-out likes: figures are larger than with all items, and the order of "
                "recommenders can differ."
            )
        return f"{held_out} {candidates}"

    def make_trial(
        self, ratings: Ratings, *, source: str | None = None, target: str | None = None, seed: int
    ) -> ProtocolTrial:
        """Make the split of one seed.

        Args:
            ratings: Ratings to split.
            source: Domain that people have rated; None, like `target`, if there is one domain.
            target: Domain that lists are made in.
            seed: Seed of the split.

        Raises:
            ConfigError: The split is not "random" although there are two domains.
            DataError: No test person has a held-out like, or the split needs times and the ratings
                have none.
        """
        if source is not None and self.split != "random":
            raise ConfigError(f"Between domains there is no split '{self.split}'. Leave it out.")
        if source is not None or (self.split == "random" and self.share == SHARE):
            trial = list_trial(ratings, source=source, target=target, seed=seed)
            return self._add_candidates(trial, seed, None)
        split = self._split(ratings, seed)
        people = _choose_people(ratings, split, seed)
        trial = ListTrial(ratings.where(split.train), ratings.where(split.test), people)
        histories = None
        if split.history is not None:
            shown = ratings.where(split.history)
            histories = [shown.history(user) for user in ratings.user_ids[people].tolist()]
        return self._add_candidates(trial, seed, histories)

    def _split(self, ratings: Ratings, seed: int) -> _RatingsSplit:
        """Divide the ratings of one domain into training, held-out ratings and histories."""
        if self.split == "time":
            is_early = _mask_training_by_time(ratings, self.share)
            return _RatingsSplit(is_early, ~is_early)
        if self.split == "folds":
            held_out = self._hold_out_fold(ratings, seed)
            return _RatingsSplit(~held_out, held_out)
        generator = np.random.default_rng(seed)
        if self.split == "last":
            return _split_last_likes(ratings, generator)
        held_out = self._hold_out_share(ratings, generator)
        if self.split == "random":
            return _RatingsSplit(~held_out, held_out)
        is_cold = self._draw_cold_people(ratings, generator)
        is_of_cold_person = is_cold[ratings.users]
        return _RatingsSplit(
            train=~is_of_cold_person,
            test=held_out & is_of_cold_person,
            history=~held_out & is_of_cold_person,
        )

    def _hold_out_fold(self, ratings: Ratings, seed: int) -> Bools:
        """Return a mask (ratings,) of the likes of one fold; a person's only like is in no fold.

        Args:
            ratings: Ratings to split.
            seed: s of the module's text.
        """
        generator = np.random.default_rng((seed // self.folds, _STREAM_OF_FOLDS))
        rank, like_counts = _draw_order_of_likes(ratings, generator)
        is_in_fold = rank % self.folds == seed % self.folds
        has_several_likes = like_counts[ratings.users] > 1
        held_out: Bools = ratings.likes & is_in_fold & has_several_likes
        return held_out

    def _hold_out_share(self, ratings: Ratings, generator: np.random.Generator) -> Bools:
        """Draw a share of each person's likes, and return the mask (ratings,) of these likes.

        Of two likes or more, at least one is drawn and at least one is not. A single like is never
        drawn.
        """
        rank, like_counts = _draw_order_of_likes(ratings, generator)
        most_held_out = np.maximum(like_counts - 1, 0)
        n_held_out = np.clip(np.round(self.share * like_counts), 1, most_held_out)
        return ratings.likes & (rank < n_held_out[ratings.users])

    def _draw_cold_people(self, ratings: Ratings, generator: np.random.Generator) -> Bools:
        """Draw the people who are left out of training, and return their mask (people,)."""
        order = generator.permutation(ratings.n_users)
        n_cold = max(1, round(self.share * ratings.n_users))
        is_cold = np.zeros(ratings.n_users, dtype=bool)
        is_cold[order[:n_cold]] = True
        return is_cold

    def _add_candidates(
        self, trial: ListTrial, seed: int, histories: Sequence[Mapping[Any, float]] | None
    ) -> ProtocolTrial:
        """Add histories to a trial and, if candidates are sampled, each person's drawn candidates.

        Args:
            trial: The split.
            seed: Seed of the split.
            histories: As in `ProtocolTrial`.
        """
        drawn = None
        if self.sampled is not None:
            drawn = _draw_candidates(trial, self.sampled, histories, seed)
        return ProtocolTrial(
            trial.train, trial.test, trial.people, trial.candidates, histories, drawn
        )


USUAL_PROTOCOL = Protocol()
"""Protocol of a comparison whose caller names no protocol."""


class _RatingsSplit(NamedTuple):
    """Parts of the ratings, as masks of shape (ratings,)."""

    train: Bools
    """Ratings to train on."""
    test: Bools
    """Ratings that are held out."""
    history: Bools | None = None
    """Ratings of cold people, from which their lists are made; None: nobody is cold."""


def _choose_people(ratings: Ratings, split: _RatingsSplit, seed: int) -> Ints:
    """Draw at most `MOST_PEOPLE` people with a held-out like and a rating that is not held out.

    Args:
        ratings: Ratings to split.
        split: The split of these ratings.
        seed: Seed of the draw.

    Returns:
        Ascending numbers of people.

    Raises:
        DataError: There are no such people.
    """
    people_with_held_out_like = ratings.users[split.test & ratings.likes]
    is_known = split.train if split.history is None else split.history
    people = np.intersect1d(people_with_held_out_like, ratings.users[is_known])
    if not people.size:
        raise DataError(
            "no test person has a held-out like",
            expected=f"a held-out rating of {ratings.scale.liked_from:g} or more, and one that "
            "is not held out",
            fix="Use more ratings, or another --split.",
        )
    return choose_test_people(people.astype(np.int64), seed)


@dataclass(frozen=True, eq=False)
class ProtocolTrial(ListTrial):
    """A split in which each test person may have a history and candidates of their own."""

    histories: Sequence[Mapping[Any, float]] | None = field(default=None)
    """For each test person the ratings, by item id, from which their list is made; None: their
    ratings in training."""
    drawn: Sequence[Sequence[Any]] | None = field(default=None)
    """For each test person the ids of their sampled candidates; None: `candidates`, for everybody.
    """

    def make_lists(self, recommender: Recommender) -> Ints:
        """Make a list for each test person.

        Args:
            recommender: A recommender that was fitted to `train`.

        Returns:
            Shape (people, `LIST_LENGTH`): item numbers, best first, -1 where a list is shorter.
        """
        if self.histories is None and self.drawn is None:
            return lists_of(recommender, self.train, self.people, candidates=self.candidates)
        number_by_id = {item: number for number, item in enumerate(self.train.item_ids.tolist())}
        lists = np.full((len(self.people), LIST_LENGTH), -1, dtype=np.int64)
        for row, user in enumerate(self.train.user_ids[self.people].tolist()):
            candidates = self.candidates if self.drawn is None else self.drawn[row]
            if self.histories is None:
                recommended = recommender.recommend(user, n=LIST_LENGTH, candidates=candidates)
            else:
                recommended = recommender.recommend(
                    history=self.histories[row], n=LIST_LENGTH, candidates=candidates
                )
            numbers = [number_by_id[item] for item in recommended.item_ids]
            lists[row, : len(numbers)] = numbers
        return lists


def _mask_training_by_time(ratings: Ratings, share: float) -> Bools:
    """Return the mask (ratings,) of the ratings that `temporal` puts into training."""
    train = temporal(ratings, share).train
    assert ratings.timestamps is not None  # `temporal` refuses ratings without times
    assert train.timestamps is not None
    early: Bools = np.asarray(ratings.timestamps <= train.timestamps.max())
    return early


def _split_last_likes(ratings: Ratings, generator: np.random.Generator) -> _RatingsSplit:
    """Hold out each person's latest like; of several at the latest moment, one at random.

    Ratings that the person gave after it are neither trained on nor held out. A person with a
    single like keeps it in training.

    Raises:
        DataError: The ratings have no times.
    """
    if ratings.timestamps is None:
        raise DataError(
            "these ratings have no times to split by",
            fix="Name the column with --time, or take --split random.",
        )
    likes, users, times = ratings.likes, ratings.users, ratings.timestamps
    # Rows by person, then by time, then at random. Of each person's likes, the last row is kept.
    rows_in_order = np.lexsort((generator.random(len(ratings)), times, users))
    rows_of_likes = rows_in_order[likes[rows_in_order]]
    liking_users = users[rows_of_likes].tolist()
    latest_like = dict(zip(liking_users, rows_of_likes.tolist(), strict=True))
    like_counts = np.bincount(users[likes], minlength=ratings.n_users)
    end_of_training = np.full(ratings.n_users, np.iinfo(np.int64).max)
    held_out = np.zeros(len(ratings), dtype=bool)
    for user, row in latest_like.items():
        if like_counts[user] > 1:
            held_out[row] = True
            end_of_training[user] = times[row]
    return _RatingsSplit(~held_out & (times <= end_of_training[users]), held_out)


def _draw_order_of_likes(
    ratings: Ratings, generator: np.random.Generator
) -> tuple[Ints, NDArray[np.int64]]:
    """Draw a random order of each person's ratings, in which likes come first.

    Returns:
        Shape (ratings,): rank of each rating in the order of its person, from 0; and shape
        (people,): number of each person's likes.
    """
    after_all_likes = 2.0  # likes have keys below 1
    keys = np.where(ratings.likes, generator.random(len(ratings)), after_all_likes)
    like_counts = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    return rank_in_person(ratings, keys), like_counts


def _draw_candidates(
    trial: ListTrial, number: int, histories: Sequence[Mapping[Any, float]] | None, seed: int
) -> list[list[Any]]:
    """Draw the candidates of each test person: unseen items, and the held-out likes.

    Args:
        trial: The split.
        number: Number of unseen items to draw for each person; all of them if there are fewer.
        histories: As in `ProtocolTrial`.
        seed: Seed of the split.

    Returns:
        Ids of each test person's candidates, likes first.
    """
    ids = trial.train.item_ids.tolist()
    number_by_id = {item: index for index, item in enumerate(ids)}
    allowed_items = np.arange(len(ids))
    if trial.candidates is not None:
        allowed_items = np.array([number_by_id[item] for item in trial.candidates])
    relevant = trial.relevant
    candidates = []
    for row, person in enumerate(trial.people.tolist()):
        generator = np.random.default_rng((seed, _STREAM_OF_CANDIDATES, person))
        ratings_of_person = slice(trial.train.offsets[person], trial.train.offsets[person + 1])
        seen_items = trial.train.items[ratings_of_person].astype(np.int64)
        if histories is not None:
            seen_items = np.array([number_by_id[item] for item in histories[row]], dtype=np.int64)
        held_out_likes = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        unseen_items = np.setdiff1d(allowed_items, np.union1d(seen_items, held_out_likes))
        drawn_items = generator.permutation(unseen_items)[:number]
        numbers = [*held_out_likes.tolist(), *drawn_items.tolist()]
        candidates.append([ids[item] for item in numbers])
    return candidates
