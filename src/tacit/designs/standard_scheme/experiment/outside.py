"""Attackers who know more than releases: items known to be rated, their number, earlier letters.

None of them is part of the panel. They show what a release does not protect from, and that a
letter never says more than the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.base import Floats, Ints, Labels, Seen
from tacit.auditing.attacks.features import space_of
from tacit.auditing.attacks.modern import boosting, log_odds

SURE = 1e6
"""Stands for infinite log odds."""


@dataclass(frozen=True)
class KnownItems:
    """Log odds of label 1 from some items known to be rated; `certain`: nothing else is possible.

    Nothing is learned: the chances to be shown are public.
    """

    scores: Floats
    certain: NDArray[np.bool_]


def known_items(
    rated: sparse.csr_array, shown: sparse.csr_array, keep: Floats, number: int, seed: int
) -> KnownItems:
    """rated, shown: (people, items) CSR of the same people; keep: (2, items) chances by label.

    The attacker knows `number` of each person's items, drawn at random (all, of people with fewer).
    """
    rows, items = _drawn(rated, number, seed)
    there = _places(shown, rows, items)
    ratio = np.where(there, _log_ratio(keep[:, items]), _log_ratio(1 - keep[:, items]))
    undecided = keep[:, items].max(axis=0) == 0  # never shown, no matter who rated it
    ratio = np.where(undecided & ~there, 0.0, ratio)
    finite = np.clip(ratio, -SURE, SURE)
    sums = np.bincount(rows, finite, minlength=rated.shape[0])
    certain = np.bincount(rows[np.abs(finite) == SURE], minlength=rated.shape[0]) > 0
    return KnownItems(sums.astype(np.float64), certain)


class KnownCount:
    """Boosted trees on summaries, where the number of rated items is known.

    Under each value v the sum of 1 / keep_v over shown items estimates that number; under the right
    value it comes near.
    """

    def fit(self, seen: Seen, counts: Ints, keep: Floats, labels: Labels) -> Self:
        """counts: (people,) rated items; keep: (tables, 2, items) chances by label."""
        self._space = space_of(seen)
        (self._model,) = boosting(labels)
        self._model.fit(self._features(seen, counts, keep), labels)
        return self

    def score(self, seen: Seen, counts: Ints, keep: Floats) -> Floats:
        return log_odds(self._model, self._features(seen, counts, keep))

    def _features(self, seen: Seen, counts: Ints, keep: Floats) -> Floats:
        """Summaries, and how far each estimate lies from the number, plain and in its sd."""
        rows, people = seen.rows, seen.ratings.shape[0]
        columns = []
        for label in (0, 1):
            chance = np.maximum(keep[seen.table[rows], label, seen.ratings.indices], 1e-6)
            away = np.bincount(rows, 1 / chance, minlength=people) - counts
            variance = np.bincount(rows, (1 - chance) / chance**2, minlength=people)
            columns += [away / np.maximum(counts, 1), away / np.sqrt(1 + variance)]
        return np.hstack([np.stack(columns, axis=1), self._space.blocks(seen).summaries()])


@dataclass(frozen=True)
class Vanished:
    """What vanished: (people,) events, and scores, higher = more likely label 1."""

    events: Ints
    scores: Floats


def vanished(letters: Sequence[sparse.csr_array], log_keep: Floats) -> Vanished:
    """Items of a letter that are missing from a later one, or have another star there.

    letters: (people, items) CSR each, in order of time. log_keep: (items,) log of the chance to be
    shown under label 1 over that under label 0. An item vanishes where its chance is low, so each
    speaks for the label with the lower one. Under the rule none ever vanishes.
    """
    people = letters[0].shape[0]
    events, scores = np.zeros(people, dtype=np.int64), np.zeros(people)
    for before, after in pairwise(letters):
        rows = np.repeat(np.arange(people), np.diff(before.indptr))
        gone = _values(after, rows, before.indices) != before.data
        events += np.bincount(rows[gone], minlength=people)
        signs = np.sign(log_keep[before.indices[gone]])
        scores -= np.bincount(rows[gone], signs, minlength=people)
    return Vanished(events, scores)


def _drawn(rated: sparse.csr_array, number: int, seed: int) -> tuple[Ints, Ints]:
    rows = np.repeat(np.arange(rated.shape[0]), np.diff(rated.indptr))
    order = np.lexsort((np.random.default_rng(seed).random(len(rows)), rows))
    rank = np.arange(len(rows)) - rated.indptr[rows[order]]
    chosen = order[rank < number]
    return rows[chosen], rated.indices[chosen]


def _values(matrix: sparse.csr_array, rows: Ints, items: Ints) -> Floats:
    """Stored entries at these places, NaN where nothing is stored."""
    width = matrix.shape[1]
    places = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) * width + matrix.indices
    order = np.argsort(places)
    known = np.append(places[order], -1)
    at = np.searchsorted(known[:-1], rows * width + items)
    values = np.append(matrix.data[order], np.nan)
    found: Floats = np.where(known[at] == rows * width + items, values[at], np.nan)
    return found


def _places(matrix: sparse.csr_array, rows: Ints, items: Ints) -> NDArray[np.bool_]:
    stored: NDArray[np.bool_] = np.isfinite(_values(matrix, rows, items))
    return stored


def _log_ratio(chances: Floats) -> Floats:
    """Log of the second over the first; 0 where both are 0, infinite where one is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(chances[1]) - np.log(chances[0])
    cleaned: Floats = np.nan_to_num(ratio, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return cleaned
