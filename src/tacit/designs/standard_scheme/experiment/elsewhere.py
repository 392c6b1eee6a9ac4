"""The standard scheme in `tacit demo` and in `tacit compare`.

Attackers who know more than releases: items known to be rated, their number, earlier letters.

None of them is part of the panel. They show what a release does not protect from, and that a
letter never says more than the last one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks import LogisticRegression, auc
from tacit.auditing.attacks.base import Floats, Ints, Labels, Seen
from tacit.auditing.attacks.features import space_of
from tacit.auditing.attacks.modern import boosting, log_odds
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.design import Comparison, Entry, Tour
from tacit.designs.standard_scheme import StandardScheme
from tacit.recommenders.base import Recommendations

PEOPLE, ITEMS, RATINGS, SEED = 2500, 300, 150_000, 1
ASKERS = 500
"""People whom neither the recommender nor the attacker has seen."""
UNIT = "an attribute of the person who asks: measured, no epsilon"
AGAINST = "the service that gets the releases"


def tour() -> Tour:
    """One device's bytes, and an attack before and after."""
    ratings = generate(users=PEOPLE, items=ITEMS, ratings=RATINGS, seed=SEED)
    order = np.random.default_rng(SEED).permutation(ratings.n_users)
    others, askers = ratings.of_users(order[ASKERS:]), ratings.of_users(order[:ASKERS])
    model = StandardScheme(service_sees_items=False).fit(others)
    attacker = LogisticRegression().fit(others.matrix, _women(others))
    shown = _releases(model, askers)
    before, after = (auc(_women(askers), attacker.score(each)) for each in (askers.matrix, shown))
    history = askers.history(askers.user_ids[0])
    own = {"gender": str(askers.attribute("gender")[0])}
    made = model.exchange(history, own, n=3)
    sent = made.release.encode()
    return Tour(
        asked=f"{ASKERS} people ask for lists and want to keep their gender to themselves; "
        f"{PEOPLE - ASKERS:,} others agreed to train the recommender. One of them gets "
        f"{', '.join(f'item {row.item_id}' for row in made.recommendations)}.",
        left=f"{len(sent):,} bytes: {len(made.release.ratings)} of {len(history)} rated items with "
        f"slightly changed stars, no gender, no id. They begin {sent[:60].decode()} ...",
        learned="An attacker who knows the training people's genders ranks a woman above a man "
        f"with an AUC of {before:.2f} from true stars and {after:.2f} from what was sent. 0.5 is "
        "guessing. Attackers who retrain on releases read more: see the page.",
        cost="No epsilon: this is measured, not proved. It holds only for services that do not "
        "learn in another way what people rated.",
        read_on="docs/standard-scheme.md",
        figures={"auc_before": before, "auc_after": after, "bytes": len(sent)},
    )


def _women(people: Ratings) -> Any:
    return (people.attribute("gender") == "F").astype(np.int64)


def _releases(model: StandardScheme, people: Ratings) -> sparse.csr_array:
    """(people, items) CSR of released stars, one device each, secure randomness."""
    rows, columns, stars = [], [], []
    for number, user in enumerate(people.user_ids.tolist()):
        own = {"gender": str(people.attribute("gender")[number])}
        for item, level in model.device(own).release(people.history(user), 0).ratings:
            rows.append(number)
            columns.append(people.item_number(item))
            stars.append(people.scale.minimum + people.scale.step * level / 1_000_000)
    shape = (people.n_users, people.n_items)
    return sparse.csr_array(sparse.coo_array((stars, (rows, columns)), shape=shape).tocsr())


class OnReleases:
    """Everybody whose attribute is known consents to training; a list for anyone else is made from
    true stars, and so is everybody's without `hides`."""

    def __init__(self, *, attribute: str, hides: bool) -> None:
        self.attribute, self.hides = attribute, hides

    def fit(self, ratings: Ratings) -> OnReleases:
        self.model_ = StandardScheme(attributes=(self.attribute,), service_sees_items=False).fit(
            ratings
        )
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """Made from the release of a person's device."""
        value: Any = self.ratings_.attribute(self.attribute)[self.ratings_.user_number(user)]
        return self.model_.recommend(
            user,
            history=self.ratings_.history(user),
            attributes={self.attribute: value} if self.hides and value is not None else None,
            n=n,
            candidates=candidates,
        )


def contenders(asked: Comparison) -> tuple[Entry, ...] | str:
    """Where an attribute of two values is known."""
    attribute = next(
        (
            name
            for name, column in sorted(asked.ratings.user_attributes.items())
            if len({value for value in column.tolist() if value is not None}) == 2
        ),
        None,
    )
    if attribute is None:
        return "needs a user attribute of two values to hide: name a file with --users"
    if not asked.ratings.scale.discrete or asked.source is not None:
        return "works in one domain, on stars with steps"
    return tuple(
        Entry(
            "standard-scheme",
            "sound" if hides else "non-private",
            None if hides else math.inf,
            f"{attribute}: {UNIT}",
            AGAINST,
            f"{__name__}:OnReleases",
            {"attribute": attribute, "hides": hides},
            attacked=False,
        )
        for hides in (True, False)
    )


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
