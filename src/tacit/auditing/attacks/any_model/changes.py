"""What did a person rate lately? Read off changes of public lists between two fits.

Source   Calandrino, Kilzer, Narayanan, Felten, Shmatikov: You might also like: privacy risks of
         collaborative filtering (S&P 2011), inference from related-items lists.
Knows    half of what each target rated before; and two snapshots of the list that an account with
         one item gets, for every item. Between them the targets, all at once, add half of their
         likes, and one in ten others adds one.
Guess    an item was added if it rose in the lists of many items that the target is known to have.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacit.auditing.attacks.any_model.adapters import Adapted, Answers, Floats
from tacit.auditing.attacks.any_model.game import AttackRow, found_at
from tacit.auditing.attacks.any_model.probes import Person, people_of
from tacit.auditing.attacks.judging import auc
from tacit.data.ratings import Ratings

Ints = NDArray[np.int64]
TARGETS, OTHERS = 20, 0.1


def reconstruction(
    model: Adapted,
    ratings: Ratings,
    *,
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """One row. AUC: of an item that a target added against all items they never rated, mean over
    targets; no bound, since nobody's presence was tossed."""
    generator = np.random.default_rng((seed, 10))
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    able = np.flatnonzero(likes >= 10)
    chosen = np.sort(generator.permutation(able)[: min(TARGETS, len(able) // 2)])
    if not chosen.size:
        return []
    people = people_of(ratings, chosen, seed)
    late = _late(ratings, chosen, people, generator)
    snapshots = []
    for shown in (ratings.where(~late), ratings):
        snapshots.append(_related(model.fit(shown), ratings, length))
        progress(1)
    risen = snapshots[0] - snapshots[1]  # places of (asked item, listed item)
    return [_row(ratings, chosen, people, risen)]


def _late(
    ratings: Ratings, chosen: Ints, people: list[Person], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """(n,) which ratings come between the snapshots."""
    late = np.zeros(len(ratings), dtype=np.bool_)
    for number, person in zip(chosen.tolist(), people, strict=True):
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        late[rows] = np.isin(ratings.items[rows], person.halves[1])
    others = np.setdiff1d(np.flatnonzero(np.diff(ratings.offsets) > 1), chosen)
    for number in generator.permutation(others)[: round(OTHERS * len(others))].tolist():
        late[generator.integers(ratings.offsets[number], ratings.offsets[number + 1])] = True
    return late


def _related(answers: Answers, ratings: Ratings, length: int) -> Floats:
    """(items, items) log of the place in the list for one item; `length` where it is not there."""
    table = np.full((ratings.n_items, ratings.n_items), math.log1p(length))
    for item, name in enumerate(ratings.item_ids.tolist()):
        listed = answers.ranked({name: ratings.scale.maximum}, length)
        table[item, listed] = np.log1p(np.arange(len(listed)))
    return table


def _row(ratings: Ratings, chosen: Ints, people: list[Person], risen: Floats) -> AttackRow:
    areas, labels, scores = [], [], []
    for number, person in zip(chosen.tolist(), people, strict=True):
        old, new = person.halves
        own = ratings.items[ratings.offsets[number] : ratings.offsets[number + 1]]
        added = np.zeros(ratings.n_items, dtype=np.bool_)
        added[new] = True
        judged = added | ~np.isin(np.arange(ratings.n_items), own)
        score = risen[old].sum(axis=0)[judged]
        areas.append(auc(added[judged].astype(np.int64), score))
        labels.append(added[judged])
        scores.append((score - score.mean()) / (score.std() or 1.0))
    middle = float(np.mean(areas))
    half = 0.0
    if len(areas) > 1:
        half = float(stats.t.ppf(0.975, len(areas) - 1)) * float(np.std(areas, ddof=1))
        half /= math.sqrt(len(areas))
    truth, guessed = np.concatenate(labels), np.concatenate(scores)
    return AttackRow(
        "reconstruction-changes", middle, max(0.0, middle - half), min(1.0, middle + half),
        found_at(truth, guessed, 0.001), found_at(truth, guessed, 0.01), None,
    )  # fmt: skip
