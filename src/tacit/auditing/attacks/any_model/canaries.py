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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, Answers
from tacit.auditing.attacks.any_model.findings import CONFIDENCE, AttackRow, judge, make_row
from tacit.auditing.attacks.any_model.membership import Person, split_likes
from tacit.auditing.attacks.auc_bounds import auc
from tacit.auditing.attacks.base import Floats, Ints
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Canaries = list[Ints]
"""Item numbers that each canary likes."""
GROUP_SIZE = 4
"""Items that a canary of a group likes."""
REFERENCES = 4
"""Fits without any canary."""
TARGETS = 20
"""People whose additions are guessed."""
OTHERS = 0.1
"""Share of the other people who add one rating between the snapshots."""
_STREAM_OF_COINS = 8
"""Second word of the seed that tosses which canaries join."""
_STREAM_OF_CANARIES = 9
"""Second word of the seed that draws the items of canaries."""
_STREAM_OF_ADDITIONS = 10
"""Second word of the seed of targets, and of what people add between two snapshots."""


def audit_in_one_run(
    model: AdaptedModel,
    ratings: Ratings,
    *,
    canaries: int = 400,
    delta: float = 1e-6,
    level: float = (1 - CONFIDENCE) / 2,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """Guess which canaries were in one fit: a row for each kind of canary.

    Args:
        model: The recommender.
        ratings: Ratings that the canaries join.
        canaries: At most so many canaries of each kind.
        delta: Delta at which epsilon is bounded.
        level: Chance with which each row's bound may be wrong.
        seed: Seed of canaries and coins.
        progress: Called with 1 after each fit.
    """
    canaries_of_kind = draw_canaries(ratings, canaries, seed)
    everyone = list(chain.from_iterable(canaries_of_kind.values()))
    inside = np.random.default_rng((seed, _STREAM_OF_COINS)).random(len(everyone)) < 0.5
    joining = [everyone[number] for number in np.flatnonzero(inside)]
    seen = _observe(model.fit(join_canaries(ratings, joining)), ratings, everyone)
    progress(1)
    before = np.zeros(len(everyone))
    for _ in range(REFERENCES):
        before += _observe(model.fit(join_canaries(ratings, [])), ratings, everyone) / REFERENCES
        progress(1)
    rows = []
    start = 0
    for name, kind in canaries_of_kind.items():
        part = slice(start, start + len(kind))
        start += len(kind)
        gained = seen[part] - before[part]
        rows.append(judge(name, inside[None, part], gained[None], delta=delta, level=level))
    return rows


def draw_canaries(ratings: Ratings, number: int, seed: int) -> dict[str, Canaries]:
    """Draw canaries of each kind from the items that are rated least.

    Single items are all different, and in no group. Small catalogues have fewer: a quarter of the
    items are single, a quarter in groups.

    Args:
        ratings: Ratings that the canaries will join.
        number: At most so many of each kind.
        seed: Seed of the draw.

    Returns:
        The items of each canary, by the name of the attack.

    Raises:
        DataError: There are too few items.
    """
    generator = np.random.default_rng((seed, _STREAM_OF_CANARIES))
    counts = np.bincount(ratings.items, minlength=ratings.n_items)
    number = min(number, ratings.n_items // 4)
    rare = np.argsort(counts, kind="stable")[: max(2 * number, ratings.n_items // 2)]
    shuffled = generator.permutation(rare)
    singles = shuffled[:number]
    others = shuffled[number:]
    if min(number, len(others)) < GROUP_SIZE:
        raise DataError(
            "there are too few items for an audit",
            found=ratings.n_items,
            expected="20 items or more",
        )
    groups = [generator.choice(others, GROUP_SIZE, replace=False) for _ in range(number)]
    return {
        "one-run-single-items": [np.array([item]) for item in singles],
        "one-run-groups": groups,
    }


def join_canaries(ratings: Ratings, canaries: Canaries) -> Ratings:
    """Add one person for each of the canaries to the ratings; they give the most stars.

    People's ids are their numbers; nothing is known of the canaries' attributes.
    """
    people = ratings.n_users + len(canaries)
    sizes = [len(items) for items in canaries]
    items = np.concatenate([ratings.items, *map(np.sort, canaries)])
    users = np.concatenate([ratings.users, np.repeat(np.arange(ratings.n_users, people), sizes)])
    values = np.concatenate([ratings.values, np.full(sum(sizes), ratings.scale.maximum)])
    times = ratings.timestamps
    if times is not None:
        times = np.concatenate([times, np.full(sum(sizes), times.max(), dtype=np.int64)])
    unknown = np.full(len(canaries), None, dtype=object)
    attributes = {}
    for name, column in ratings.user_attributes.items():
        attributes[name] = np.concatenate([column, unknown])
    return replace(
        ratings,
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        values=values,
        timestamps=times,
        user_ids=np.arange(people),
        user_attributes=attributes,
    )


def _observe(answers: Answers, ratings: Ratings, canaries: Canaries) -> Floats:
    """Return (canaries,) how much an account with all but one item is offered that one, in mean."""
    values: list[list[float]] = [[] for _ in canaries]
    # By the items of an account: whose value is looked up there, a canary's number and an item.
    hidden_items: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for number, items in enumerate(canaries):
        for item in items.tolist():
            known = tuple(items[items != item].tolist())
            hidden_items.setdefault(known, []).append((number, item))
    offers = _offers(answers, ratings, list(hidden_items))
    for lookups, offered in zip(hidden_items.values(), offers, strict=True):
        for number, item in lookups:
            if np.isfinite(offered[item]):
                values[number].append(offered[item])
    return np.array([float(np.mean(of_canary)) if of_canary else 0.0 for of_canary in values])


def _offers(
    answers: Answers, ratings: Ratings, accounts: Sequence[tuple[int, ...]]
) -> Iterator[Floats]:
    """Yield for each account (items,) how much it is offered each item.

    That is the prediction, or minus the log of the place in the list where nothing is predicted.

    Args:
        answers: The fitted recommender.
        ratings: Ratings with the ids of items.
        accounts: Numbers of the items that each account has, all with the most stars.
    """
    ids = ratings.item_ids.tolist()
    ids_of_accounts = [ratings.item_ids[np.asarray(items, np.int64)] for items in accounts]
    most = ratings.scale.maximum
    histories = [dict.fromkeys(owned.tolist(), most) for owned in ids_of_accounts]
    predicts = bool(histories) and answers.scores(histories[0]) is not None
    if predicts:
        for scores in answers.scores_each(histories):
            assert scores is not None
            yield scores
        return
    for listed in answers.rank_each(histories, len(ids)):
        places = np.full(len(ids), len(ids), dtype=np.int64)
        places[listed] = np.arange(len(listed))
        yield np.asarray(-np.log1p(places))


def reconstruct_changes(
    model: AdaptedModel,
    ratings: Ratings,
    *,
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """Guess what people added between two snapshots of public lists: one row, or none.

    AUC is that of an item which a target added against all items they never rated, in mean over
    targets. There is no bound, since nobody's presence was tossed.

    Args:
        model: The recommender.
        ratings: Ratings of the second snapshot.
        length: Length of the lists.
        seed: Seed of targets, halves and others' additions.
        progress: Called with 1 after each of the two fits.
    """
    generator = np.random.default_rng((seed, _STREAM_OF_ADDITIONS))
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    able = np.flatnonzero(likes >= 10)
    chosen = np.sort(generator.permutation(able)[: min(TARGETS, len(able) // 2)])
    if not chosen.size:
        return []
    people = split_likes(ratings, chosen, seed)
    is_late = _rated_between_snapshots(ratings, chosen, people, generator)
    before = _list_places(model.fit(ratings.where(~is_late)), ratings, length)
    progress(1)
    risen = before - _list_places(model.fit(ratings), ratings, length)
    progress(1)
    areas: list[float] = []
    labels = []
    scores = []
    for number, person in zip(chosen.tolist(), people, strict=True):
        known, new = person.halves
        own = ratings.items[ratings.offsets[number] : ratings.offsets[number + 1]]
        added = np.isin(np.arange(ratings.n_items), new)
        candidate = added | ~np.isin(np.arange(ratings.n_items), own)
        score = risen[known].sum(axis=0)[candidate]
        areas.append(auc(added[candidate].astype(np.int64), score))
        labels.append(added[candidate])
        scores.append((score - score.mean()) / (score.std() or 1.0))
    all_labels, all_scores = np.concatenate(labels), np.concatenate(scores)
    return [make_row("reconstruction-changes", areas, all_labels, all_scores)]


def _rated_between_snapshots(
    ratings: Ratings, chosen: Ints, people: list[Person], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return (n,) which ratings come between the snapshots."""
    late = np.zeros(len(ratings), dtype=np.bool_)
    for number, person in zip(chosen.tolist(), people, strict=True):
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        late[rows] = np.isin(ratings.items[rows], person.halves[1])
    others = np.setdiff1d(np.flatnonzero(np.diff(ratings.offsets) > 1), chosen)
    for number in generator.permutation(others)[: round(OTHERS * len(others))].tolist():
        late[generator.integers(ratings.offsets[number], ratings.offsets[number + 1])] = True
    return late


def _list_places(answers: Answers, ratings: Ratings, length: int) -> Floats:
    """Return (items, items) log of the place of the second item in the list for the first.

    The place is `length` where it is not listed.
    """
    table = np.full((ratings.n_items, ratings.n_items), math.log1p(length))
    histories = [{name: ratings.scale.maximum} for name in ratings.item_ids.tolist()]
    for item, listed in enumerate(answers.rank_each(histories, length)):
        table[item, listed] = np.log1p(np.arange(len(listed)))
    return table
