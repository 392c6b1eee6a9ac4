"""Protocols of a comparison: what is held out, who is judged, and which items compete.

random   a share of each person's likes, drawn anew for each seed
time     everything after one moment, the same for all; who has no earlier rating is not judged
last     each person's latest like; what they rated after it is in neither half
people   a share of people is not learned from; a share of each one's likes is hidden, and the rest
         of their ratings is their history: cold users
folds    each person's likes in k folds; seed s holds out fold s mod k of the drawing s // k

Candidates are all items that the person has not rated in training, or that many of them drawn at
random beside the held-out likes. Sampled candidates make figures larger and can change the order
of recommenders (Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020).
Between two domains there is one split, that of `lists`: test people lose the target domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.splits import rank_in_person, refuse_share, temporal
from tacit.errors import ConfigError, DataError
from tacit.evaluation.lists import LIST_LENGTH, MOST_PEOPLE, SHARE, ListTrial, list_trial, lists_of
from tacit.recommenders.base import Recommender

SPLITS = ("random", "time", "last", "people", "folds")
_STREAM_OF_CANDIDATES = 11
"""Second word of the seed by which candidates are drawn."""

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Protocol:
    """Settings of a comparison's protocol."""

    split: str = "random"
    """One of `SPLITS`."""
    share: float = SHARE
    """Share of likes, ratings or people that is held out; not of "last" and "folds"."""
    folds: int = 5
    """Number of folds, of "folds" alone."""
    sampled: int | None = None
    """Number of candidates that are drawn beside the held-out likes; None: every unseen item."""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ConfigError(f"No split '{self.split}'. Known: {', '.join(SPLITS)}.")
        refuse_share(self.share)
        if self.folds < 2:
            raise ConfigError(f"Likes are cut into two folds or more; got {self.folds}.")
        if self.sampled is not None and self.sampled < LIST_LENGTH:
            raise ConfigError(f"Draw {LIST_LENGTH} candidates or more; got {self.sampled}.")

    @property
    def has_stars(self) -> bool:
        """Whether errors of stars are measured: where likes alone are hidden they would mislead."""
        return self.split in ("random", "time", "folds")

    def describe(self, *, domains: bool) -> str:
        """Describe the protocol in sentences, for a page."""
        held_out = {
            "random": f"A random {self.share:.0%} of each person's likes are held out.",
            "time": f"The latest {self.share:.0%} of all ratings are held out: everything after "
            "one moment.",
            "last": "Each person's latest like is held out; what they rated after it is left out.",
            "people": f"{self.share:.0%} of people are not learned from; {self.share:.0%} of each "
            "one's likes are to be found from their other ratings.",
            "folds": f"Each person's likes are held out in {self.folds} folds, one after another.",
        }[self.split]
        if domains:
            held_out = "Test people lose all ratings in the target domain."
        candidates = "Candidates are all items that a person has not rated in training."
        if self.sampled is not None:
            candidates = (
                f"Candidates are {self.sampled} random items that a person has not rated, beside "
                "the held-out likes: figures are larger than with all items, and the order of "
                "recommenders can be another."
            )
        return f"{held_out} {candidates}"

    def make_trial(
        self, ratings: Ratings, *, source: str | None = None, target: str | None = None, seed: int
    ) -> ProtocolTrial:
        """Make one split.

        Args:
            ratings: Ratings to split.
            source: Domain that people have rated; None together with `target`: one domain.
            target: Domain that lists are made in.
            seed: Seed of the split.

        Raises:
            ConfigError: This split cannot be made between domains.
            DataError: No test person has a held-out like, or ratings have no times.
        """
        if source is not None and self.split != "random":
            raise ConfigError(f"Between domains there is no split '{self.split}'. Leave it out.")
        if source is not None or (self.split == "random" and self.share == SHARE):
            trial = list_trial(ratings, source=source, target=target, seed=seed)
            return self._with_candidates(trial, seed, None)
        train, test, histories = self._split(ratings, seed)
        people = self._choose_people(ratings, train, test, histories, seed)
        trial = ListTrial(ratings.where(train), ratings.where(test), people)
        test_histories = None
        if histories is not None:
            seen = ratings.where(histories)
            test_histories = [seen.history(user) for user in ratings.user_ids[people].tolist()]
        return self._with_candidates(trial, seed, test_histories)

    def _split(self, ratings: Ratings, seed: int) -> tuple[Bools, Bools, Bools | None]:
        """Say which ratings are trained on, held out, and shown of cold people.

        Each of shape (ratings,); the last is None where everybody is learned from.
        """
        likes = ratings.likes
        generator = np.random.default_rng(seed)
        if self.split == "time":
            early = _find_early(ratings, self.share)
            return early, ~early, None
        if self.split == "last":
            return (*_split_last_likes(ratings, generator), None)
        rank, count = _draw_order_of_likes(ratings, generator)
        if self.split == "folds":
            order, count = _draw_order_of_likes(
                ratings, np.random.default_rng((seed // self.folds, 17))
            )
            in_fold = order % self.folds == seed % self.folds
            held = likes & in_fold & (count[ratings.users] > 1)
            return ~held, held, None
        hidden = np.clip(np.round(self.share * count), 1, np.maximum(count - 1, 0))
        held = likes & (rank < hidden[ratings.users])
        if self.split == "random":
            return ~held, held, None
        order_of_people = generator.permutation(ratings.n_users)
        left_out = np.zeros(ratings.n_users, dtype=bool)
        left_out[order_of_people[: max(1, round(self.share * ratings.n_users))]] = True
        cold = left_out[ratings.users]
        return ~cold, held & cold, ~held & cold

    def _choose_people(
        self, ratings: Ratings, train: Bools, test: Bools, histories: Bools | None, seed: int
    ) -> Ints:
        """Choose at most `MOST_PEOPLE` people with a held-out like and an earlier rating."""
        people = np.unique(ratings.users[test & ratings.likes])
        people = np.intersect1d(people, ratings.users[train if histories is None else histories])
        if not people.size:
            raise DataError(
                "no test person has a held-out like",
                expected=f"a held-out rating of {ratings.scale.liked_from:g} or more, and one that "
                "is not held out",
                fix="Use more ratings, or another --split.",
            )
        chosen = np.random.default_rng((seed, 1)).permutation(people)[:MOST_PEOPLE]
        return np.sort(chosen).astype(np.int64)

    def _with_candidates(
        self, trial: ListTrial, seed: int, histories: Sequence[Mapping[Any, float]] | None
    ) -> ProtocolTrial:
        """Draw the candidates of each test person, where they are sampled."""
        drawn = None
        if self.sampled is not None:
            drawn = _draw_candidates(trial, self.sampled, histories, seed)
        return ProtocolTrial(
            trial.train, trial.test, trial.people, trial.candidates, histories, drawn
        )


USUAL_PROTOCOL = Protocol()
"""Protocol of a comparison that names none."""


@dataclass(frozen=True, eq=False)
class ProtocolTrial(ListTrial):
    """A split whose people may have histories and candidates of their own."""

    histories: Sequence[Mapping[Any, float]] | None = field(default=None)
    """History of each test person who was not learned from; None: all were."""
    drawn: Sequence[Sequence[Any]] | None = field(default=None)
    """Ids of each test person's candidates; None: `candidates` holds for all."""

    def make_lists(self, recommender: Recommender) -> Ints:
        """Make a list for each test person with a fitted recommender, as `lists_of` has it."""
        if self.histories is None and self.drawn is None:
            return lists_of(recommender, self.train, self.people, candidates=self.candidates)
        numbers = {item: number for number, item in enumerate(self.train.item_ids.tolist())}
        lists = np.full((len(self.people), LIST_LENGTH), -1, dtype=np.int64)
        for row, user in enumerate(self.train.user_ids[self.people].tolist()):
            chosen = self.candidates if self.drawn is None else self.drawn[row]
            if self.histories is None:
                listed = recommender.recommend(user, n=LIST_LENGTH, candidates=chosen)
            else:
                history = self.histories[row]
                listed = recommender.recommend(history=history, n=LIST_LENGTH, candidates=chosen)
            lists[row, : len(listed.item_ids)] = [numbers[item] for item in listed.item_ids]
        return lists


def _find_early(ratings: Ratings, share: float) -> Bools:
    """Say which ratings are trained on, as `temporal` cuts."""
    train = temporal(ratings, share).train
    assert ratings.timestamps is not None  # `temporal` refuses ratings without times
    assert train.timestamps is not None
    early: Bools = np.asarray(ratings.timestamps <= train.timestamps.max())
    return early


def _split_last_likes(ratings: Ratings, generator: np.random.Generator) -> tuple[Bools, Bools]:
    """Hold out each person's latest like; of several at one moment, one by chance.

    Nothing later of that person is trained on. Who has a single like keeps it.
    """
    if ratings.timestamps is None:
        raise DataError(
            "these ratings have no times to split by",
            fix="Name the column with --time, or take --split random.",
        )
    likes, users, times = ratings.likes, ratings.users, ratings.timestamps
    order = np.lexsort((generator.random(len(ratings)), times, users))
    liked = order[likes[order]]
    latest: dict[int, int] = dict(zip(users[liked].tolist(), liked.tolist(), strict=True))
    counts = np.bincount(users[likes], minlength=ratings.n_users)
    moment = np.full(ratings.n_users, np.iinfo(np.int64).max)
    held = np.zeros(len(ratings), dtype=bool)
    for user, row in latest.items():
        if counts[user] > 1:
            held[row] = True
            moment[user] = times[row]
    return ~held & (times <= moment[users]), held


def _draw_order_of_likes(
    ratings: Ratings, generator: np.random.Generator
) -> tuple[Ints, NDArray[np.int64]]:
    """Draw the order of each person's likes.

    Returns:
        Place of each rating among the person's own, likes first, shape (ratings,); and the number
        of each person's likes, shape (people,).
    """
    keys = np.where(ratings.likes, generator.random(len(ratings)), 2.0)
    counts = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    return rank_in_person(ratings, keys), counts


def _draw_candidates(
    trial: ListTrial, number: int, histories: Sequence[Mapping[Any, float]] | None, seed: int
) -> list[list[Any]]:
    """Draw the candidates of each test person: unseen items, and the held-out likes."""
    ids = trial.train.item_ids.tolist()
    place = {item: number for number, item in enumerate(ids)}
    allowed = np.arange(len(ids))
    if trial.candidates is not None:
        allowed = np.array([place[item] for item in trial.candidates])
    relevant = trial.relevant
    drawn = []
    for row, person in enumerate(trial.people.tolist()):
        generator = np.random.default_rng((seed, _STREAM_OF_CANDIDATES, person))
        rows = slice(trial.train.offsets[person], trial.train.offsets[person + 1])
        seen = trial.train.items[rows].astype(np.int64)
        if histories is not None:
            seen = np.array([place[item] for item in histories[row]], dtype=np.int64)
        likes = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        others = np.setdiff1d(allowed, np.union1d(seen, likes))
        chosen = generator.permutation(others)[:number]
        drawn.append([ids[item] for item in [*likes.tolist(), *chosen.tolist()]])
    return drawn
