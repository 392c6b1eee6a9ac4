"""Attacks by planned changes of the ratings: an audit in one run, and what lists add up to.

One run  many made-up people, each in or out by a fair coin, and guesses about all.
Source   Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023): its
         bound for (epsilon, delta), exact as in its appendix, with guesses at both ends and
         abstention between them (`membership.least_epsilon`).
Canaries One kind likes ONE rarely rated item, each its own: it shows counts. The other likes a few
         rarely rated items that nobody else likes together: it shows what personal lists remember.
Sees     all answers: predictions of all items if there are any, else whole lists. What a canary
         gains is counted against fits without any canary, which the auditor makes and which tell
         nothing about the coins.
Changes  What did a person rate lately? Read off two snapshots of public lists: Calandrino, Kilzer,
         Narayanan, Felten, Shmatikov: You might also like: privacy risks of collaborative filtering
         (S&P 2011). Known are half of what each target rated before, and the list that an account
         with one item gets, for every item. Between the snapshots the targets, all at once, add
         half of their likes, and one in ten others adds one. An item was added, says the guess, if
         it rose in the lists of many items that the target is known to have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import Adapted, Answers
from tacit.auditing.attacks.any_model.game import (
    CONFIDENCE,
    AttackRow,
    Person,
    judged,
    people_of,
    row,
)
from tacit.auditing.attacks.base import Floats, Ints
from tacit.auditing.attacks.judging import auc
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Canaries = list[Ints]
"""Items of each."""
FEW = 4
REFERENCES = 4

TARGETS, OTHERS = 20, 0.1


def one_run(
    model: Adapted,
    ratings: Ratings,
    *,
    canaries: int = 400,
    delta: float = 1e-6,
    level: float = (1 - CONFIDENCE) / 2,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """A row for each kind, its bound wrong with a chance of `level`."""
    made = drawn(ratings, canaries, seed)
    everyone = [each for kind in made.values() for each in kind]
    inside = np.random.default_rng((seed, 8)).random(len(everyone)) < 0.5
    there = [each for each, tossed in zip(everyone, inside, strict=True) if tossed]
    seen = _seen(model.fit(joined(ratings, there)), ratings, everyone)
    progress(1)
    before = np.zeros(len(everyone))
    for _ in range(REFERENCES):
        before += _seen(model.fit(joined(ratings, [])), ratings, everyone) / REFERENCES
        progress(1)
    rows, start = [], 0
    for name, kind in made.items():
        part = slice(start, start := start + len(kind))
        gained = seen[part] - before[part]
        rows.append(judged(name, inside[None, part], gained[None], delta=delta, level=level))
    return rows


def drawn(ratings: Ratings, number: int, seed: int) -> dict[str, Canaries]:
    """Canaries of each kind. Single items are all different, and in no group; all are rated least.

    Small catalogues have fewer: a quarter of the items are single, a quarter in groups.
    """
    generator = np.random.default_rng((seed, 9))
    counts = np.bincount(ratings.items, minlength=ratings.n_items)
    number = min(number, ratings.n_items // 4)
    rare = np.argsort(counts, kind="stable")[: max(2 * number, ratings.n_items // 2)]
    mixed = generator.permutation(rare)
    singles, others = mixed[:number], mixed[number:]
    if min(number, len(others)) < FEW:
        raise DataError(
            "there are too few items for an audit",
            found=ratings.n_items,
            expected="20 items or more",
        )
    groups = [generator.choice(others, FEW, replace=False) for _ in range(number)]
    return {
        "one-run-single-items": [np.array([item]) for item in singles],
        "one-run-groups": groups,
    }


def joined(ratings: Ratings, canaries: Canaries) -> Ratings:
    """The ratings with one more person for each of the canaries, who gives the most stars.

    People's ids are their numbers; nothing is known of the canaries' attributes.
    """
    people, sizes = ratings.n_users + len(canaries), [len(each) for each in canaries]
    items = np.concatenate([ratings.items, *(np.sort(each) for each in canaries)])
    users = np.concatenate([ratings.users, np.repeat(np.arange(ratings.n_users, people), sizes)])
    values = np.concatenate([ratings.values, np.full(sum(sizes), ratings.scale.maximum)])
    times = ratings.timestamps
    if times is not None:
        times = np.concatenate([times, np.full(sum(sizes), times.max(), dtype=np.int64)])
    return replace(
        ratings,
        users=users.astype(np.int32), items=items.astype(np.int32), values=values, timestamps=times,
        user_ids=np.arange(people),
        user_attributes={
            name: np.concatenate([column, np.full(len(canaries), None, dtype=object)])
            for name, column in ratings.user_attributes.items()
        },
    )  # fmt: skip


def _seen(answers: Answers, ratings: Ratings, canaries: Canaries) -> Floats:
    """What the answers hold of each one's items, to an account that has the others."""
    ids, top = ratings.item_ids.tolist(), ratings.scale.maximum

    @cache
    def favour(known: tuple[int, ...]) -> Floats:
        history = {ids[item]: top for item in known}
        if (scores := answers.scores(history)) is not None:
            return scores
        listed = answers.ranked(history, len(ids))
        places = np.full(len(ids), len(ids), dtype=np.int64)
        places[listed] = np.arange(len(listed))
        return np.asarray(-np.log1p(places))

    found = []
    for items in canaries:
        own = items.tolist()
        values = [favour(tuple(other for other in own if other != item))[item] for item in own]
        kept = [value for value in values if np.isfinite(value)]
        found.append(float(np.mean(kept)) if kept else 0.0)
    return np.array(found)


def reconstruction(
    model: Adapted,
    ratings: Ratings,
    *,
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """One row. AUC: of an item that a target added against all items they never rated, mean over
    targets; no bound, since nobody's presence was tossed.
    """
    generator = np.random.default_rng((seed, 10))
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    able = np.flatnonzero(likes >= 10)
    chosen = np.sort(generator.permutation(able)[: min(TARGETS, len(able) // 2)])
    if not chosen.size:
        return []
    people = people_of(ratings, chosen, seed)
    late = _late(ratings, chosen, people, generator)
    before = _related(model.fit(ratings.where(~late)), ratings, length)
    progress(1)
    risen = before - _related(model.fit(ratings), ratings, length)  # places of (asked, listed)
    progress(1)
    areas, labels, scores = [], [], []
    for number, person in zip(chosen.tolist(), people, strict=True):
        old, new = person.halves
        own = ratings.items[ratings.offsets[number] : ratings.offsets[number + 1]]
        added = np.isin(np.arange(ratings.n_items), new)
        judged = added | ~np.isin(np.arange(ratings.n_items), own)
        score = risen[old].sum(axis=0)[judged]
        areas.append(auc(added[judged].astype(np.int64), score))
        labels.append(added[judged])
        scores.append((score - score.mean()) / (score.std() or 1.0))
    return [row("reconstruction-changes", areas, np.concatenate(labels), np.concatenate(scores))]


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
