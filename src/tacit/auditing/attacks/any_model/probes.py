"""What an account that holds half of a person's items sees of the other half.

A place is counted against the list of an account without ratings, from which the same items are
left out: what an item gains by being popular is no evidence. Where nobody else rated both halves,
the hidden one rises only if the person was there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import Answers, Floats
from tacit.data.ratings import Ratings

Ints = NDArray[np.int64]
LISTS, SCORES = "lists", "predictions"


@dataclass(frozen=True)
class Person:
    """Two halves of what a person likes, and their stars by item number."""

    halves: tuple[Ints, Ints]
    stars: Mapping[int, float]

    @classmethod
    def drawn(cls, items: Ints, stars: Floats, likes: NDArray[np.bool_], seed: Any) -> Person:
        """Likes are halved at random."""
        mixed = np.random.default_rng(seed).permutation(items[likes])
        own = dict(zip(items.tolist(), stars.tolist(), strict=True))
        return cls((mixed[::2], mixed[1::2]), own)


def people_of(ratings: Ratings, numbers: Ints, seed: int) -> list[Person]:
    """The people of these numbers."""
    found = []
    for number in numbers.tolist():
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        items = ratings.items[rows].astype(np.int64)
        found.append(
            Person.drawn(items, ratings.values[rows], ratings.likes[rows], (seed, 5, number))
        )
    return found


class Prober:
    """One fitted recommender, asked about people. length: of the lists."""

    def __init__(self, answers: Answers, ids: Sequence[Any], length: int) -> None:
        self.answers, self.ids, self.length = answers, ids, length
        self._before = np.full(len(ids), len(ids), dtype=np.int64)
        popular = answers.ranked({}, len(ids))
        self._before[popular] = np.arange(len(popular))

    def about(self, people: Sequence[Person], view: str) -> Floats:
        """(people,) how much the hidden half is favoured, both halves in turn."""
        one = self._by_list if view == LISTS else self._by_score
        return np.array(
            [
                np.mean(
                    [value for known, hidden in _turns(each) for value in one(each, known, hidden)]
                    or [0.0]
                )
                for each in people
            ]
        )

    def _by_list(self, person: Person, known: Ints, hidden: Ints) -> Floats:
        listed = self.answers.ranked(self._history(person, known), self.length)
        after = np.full(len(self.ids), self.length, dtype=np.int64)
        after[listed] = np.arange(len(listed))
        ahead = np.sort(self._before[known])
        places = self._before[hidden]
        before = np.minimum(places - np.searchsorted(ahead, places), self.length)
        gained: Floats = np.log1p(before) - np.log1p(after[hidden])
        return gained

    def _by_score(self, person: Person, known: Ints, hidden: Ints) -> Floats:
        scores = self.answers.scores(self._history(person, known))
        found: Floats = np.zeros(0) if scores is None else scores[hidden]
        return found[np.isfinite(found)]

    def _history(self, person: Person, known: Ints) -> dict[Any, float]:
        return {self.ids[item]: person.stars[item] for item in known.tolist()}


def _turns(person: Person) -> tuple[tuple[Ints, Ints], ...]:
    one, other = person.halves
    return ((one, other), (other, one))
