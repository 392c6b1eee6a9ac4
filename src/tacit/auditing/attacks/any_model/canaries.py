"""Attacks by planned changes of the ratings: an audit in one run, and a reconstruction of changes.

Audit in one run: guess which made-up people, the canaries, are among those learned from.

Rule     A fair coin decides for each canary whether it joins the ratings. The recommender is fitted
         once.
Canaries There are two kinds. One kind likes ONE rarely rated item, each canary a different one: it
         tests whether counts leak. The other kind likes a few rarely rated items that hardly
         anybody else likes together: it tests whether personal lists remember who likes what
         together.
Sees     the predictions of all items, or whole lists if there are no predictions. They are compared
         with those of fits without any canary, which the auditor makes, and which say nothing about
         the coins.
Source   Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023): the
         bound for (epsilon, delta), exact as in the paper's appendix, with guesses about the
         highest and lowest scores and none between (`least_epsilon` in `attacks/membership.py`).

Reconstruction of changes: guess what people liked lately, from two snapshots of public lists.

Rule     Between the snapshots the targets, all at once, add half of their likes, and one in ten of
         the other people adds one rating.
Knows    the half of each target's likes that was there before; and for every item, the list of an
         account with that item alone. The attacker guesses that the target added an item if it rose
         in the lists of the items in the known half.
Source   Calandrino, Kilzer, Narayanan, Felten, Shmatikov: You might also like: privacy risks of
         collaborative filtering (S&P 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, Answers
from tacit.auditing.attacks.any_model.findings import (
    CONFIDENCE,
    AttackRow,
    check_coins,
    judge,
    make_row,
)
from tacit.auditing.attacks.any_model.membership import Person, split_likes
from tacit.auditing.attacks.auc_bounds import auc
from tacit.auditing.attacks.base import Floats, Ints
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Canaries = list[Ints]
"""For each canary the numbers of the items that it likes."""
GROUP_SIZE = 4
"""Number of items that a canary of the second kind likes."""
REFERENCES = 4
"""Number of fits without any canary."""
TARGETS = 20
"""Most people whose additions are guessed."""
LEAST_LIKES_OF_TARGETS = 10
"""Fewest likes of a person whose additions are guessed."""
SHARE_OF_OTHERS = 0.1
"""Share of the other people who add one rating between the snapshots."""
_STREAM_OF_COINS = 8
"""Second word of the seed that decides which canaries join."""
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
        canaries: Largest number of canaries of each kind.
        delta: Delta at which epsilon is bounded.
        level: Chance with which each row's bound may be wrong.
        seed: Seed of canaries and coins.
        progress: Called with 1 after each fit.

    Raises:
        DataError: There are too few items or canaries, or all canaries of a kind or none of them
            are in.
    """
    canaries_by_attack = draw_canaries(ratings, canaries, seed)
    all_canaries = list(chain.from_iterable(canaries_by_attack.values()))
    is_in = np.random.default_rng((seed, _STREAM_OF_COINS)).random(len(all_canaries)) < 0.5
    start = 0
    for canaries_of_kind in canaries_by_attack.values():
        is_in_of_kind = is_in[start : start + len(canaries_of_kind)]
        check_coins(is_in_of_kind[None], fix="Use another seed, or more canaries.")
        start += len(canaries_of_kind)
    joining = [all_canaries[number] for number in np.flatnonzero(is_in)]
    offers = _measure_offers(model.fit(join_canaries(ratings, joining)), ratings, all_canaries)
    progress(1)
    reference = np.zeros(len(all_canaries))
    for _ in range(REFERENCES):
        answers = model.fit(join_canaries(ratings, []))
        reference += _measure_offers(answers, ratings, all_canaries) / REFERENCES
        progress(1)
    rows = []
    start = 0
    for attack, canaries_of_kind in canaries_by_attack.items():
        part = slice(start, start + len(canaries_of_kind))
        start += len(canaries_of_kind)
        gained = offers[part] - reference[part]
        rows.append(judge(attack, is_in[None, part], gained[None], delta=delta, level=level))
    return rows


def draw_canaries(ratings: Ratings, number: int, seed: int) -> dict[str, Canaries]:
    """Draw canaries of each kind, who like items that are rarely rated.

    The items of single-item canaries are all different, and no group has any of these items.

    Args:
        ratings: Ratings that the canaries will join.
        number: Largest number of canaries of each kind; there are at most a quarter as many as
            items.
        seed: Seed of the draw.

    Returns:
        The canaries of each kind, by the name of the attack.

    Raises:
        DataError: There are too few items or canaries.
    """
    generator = np.random.default_rng((seed, _STREAM_OF_CANARIES))
    counts = np.bincount(ratings.items, minlength=ratings.n_items)
    number = min(number, ratings.n_items // 4)
    rare = np.argsort(counts, kind="stable")[: max(2 * number, ratings.n_items // 2)]
    shuffled = generator.permutation(rare)
    single_items = shuffled[:number]
    group_items = shuffled[number:]
    if min(number, len(group_items)) < GROUP_SIZE:
        raise DataError(
            "there are too few items, or too few canaries, for an audit",
            found=ratings.n_items,
            expected=f"{4 * GROUP_SIZE} items or more, and {GROUP_SIZE} canaries or more",
        )
    groups = [generator.choice(group_items, GROUP_SIZE, replace=False) for _ in range(number)]
    return {
        "one-run-single-items": [np.array([item]) for item in single_items],
        "one-run-groups": groups,
    }


def join_canaries(ratings: Ratings, canaries: Canaries) -> Ratings:
    """Return the ratings, with one more person for each canary.

    This person gives the canary's items the most stars. In the result people's ids are their
    numbers, and canaries have no attributes (None). If there are times, canaries rate at the latest
    one.
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


def _measure_offers(answers: Answers, ratings: Ratings, canaries: Canaries) -> Floats:
    """Return (canaries,) values that say how strongly a canary's items are offered.

    For each item of the canary, `_offer_items` measures how strongly the item is offered to an
    account with all other items of the canary. The value is the mean of the finite ones among these
    measures, or 0 if none of them is finite.
    """
    offers_of_canary: list[list[float]] = [[] for _ in canaries]
    # For each account, by the numbers of its items: pairs (canary's number, item asked for).
    # All canaries of a single item share the account without items.
    lookups_of_account: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for number, items in enumerate(canaries):
        for item in items.tolist():
            other_items = tuple(items[items != item].tolist())
            lookups_of_account.setdefault(other_items, []).append((number, item))
    offers_to_accounts = _offer_items(answers, ratings, list(lookups_of_account))
    for lookups, offers in zip(lookups_of_account.values(), offers_to_accounts, strict=True):
        for number, item in lookups:
            if np.isfinite(offers[item]):
                offers_of_canary[number].append(offers[item])
    return np.array([float(np.mean(offers)) if offers else 0.0 for offers in offers_of_canary])


def _offer_items(
    answers: Answers, ratings: Ratings, accounts: Sequence[tuple[int, ...]]
) -> Iterator[Floats]:
    """Yield for each account (items,) values: how strongly each item is offered to it.

    These are the predictions, or -ln(1 + place in the list) if nothing is predicted; places are
    from 0, and an item that is not listed has the number of all items as its place.

    Args:
        answers: The fitted recommender.
        ratings: Ratings with the ids of items.
        accounts: Numbers of the items that each account has, all with the most stars.
    """
    ids = ratings.item_ids.tolist()
    most_stars = ratings.scale.maximum
    histories = []
    for item_numbers in accounts:
        account_ids = ratings.item_ids[np.asarray(item_numbers, np.int64)]
        histories.append(dict.fromkeys(account_ids.tolist(), most_stars))
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

    There is no row if fewer than two people have at least LEAST_LIKES_OF_TARGETS likes. For each
    target, the AUC compares the items that the target added with those that the target never rated;
    the row has the mean over targets. A target who rated every item has no AUC and is left out; if
    all targets did, there is no row. The row has no bound of epsilon, since no coin was tossed for
    anybody's presence.

    Args:
        model: The recommender.
        ratings: Ratings of the second snapshot; the first snapshot is part of them.
        length: Length of the lists.
        seed: Seed of targets, halves and others' additions.
        progress: Called with 1 after each of the two fits.
    """
    generator = np.random.default_rng((seed, _STREAM_OF_ADDITIONS))
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    attackable = np.flatnonzero(likes >= LEAST_LIKES_OF_TARGETS)
    n_targets = min(TARGETS, len(attackable) // 2)
    chosen = np.sort(generator.permutation(attackable)[:n_targets])
    if not chosen.size:
        return []
    people = split_likes(ratings, chosen, seed)
    is_late = _mask_added_ratings(ratings, chosen, people, generator)
    log_places_before = _log_list_places(model.fit(ratings.where(~is_late)), ratings, length)
    progress(1)
    rises = log_places_before - _log_list_places(model.fit(ratings), ratings, length)
    progress(1)
    areas: list[float] = []
    labels = []
    scores = []
    all_items = np.arange(ratings.n_items)
    for number, person in zip(chosen.tolist(), people, strict=True):
        known_items, new_items = person.halves
        rated_items = ratings.items[ratings.offsets[number] : ratings.offsets[number + 1]]
        is_new = np.isin(all_items, new_items)
        is_candidate = is_new | ~np.isin(all_items, rated_items)
        if is_new[is_candidate].all():  # the target rated every item
            continue
        candidate_scores = rises[known_items].sum(axis=0)[is_candidate]
        areas.append(auc(is_new[is_candidate].astype(np.int64), candidate_scores))
        labels.append(is_new[is_candidate])
        spread = candidate_scores.std() or 1.0
        scores.append((candidate_scores - candidate_scores.mean()) / spread)
    if not areas:
        return []
    return [
        make_row("reconstruction-changes", areas, np.concatenate(labels), np.concatenate(scores))
    ]


def _mask_added_ratings(
    ratings: Ratings, chosen: Ints, people: list[Person], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return (n_ratings,) True for ratings that are added between the snapshots.

    These are the second half of each target's likes. In addition, one in ten of the other people
    with two ratings or more adds one random rating.

    Args:
        ratings: Ratings of the second snapshot.
        chosen: (targets,) numbers of the targets.
        people: The targets with their halves, in the same order.
        generator: Draws the other people and their ratings.
    """
    is_late = np.zeros(len(ratings), dtype=np.bool_)
    for number, person in zip(chosen.tolist(), people, strict=True):
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        is_late[rows] = np.isin(ratings.items[rows], person.halves[1])
    others = np.setdiff1d(np.flatnonzero(np.diff(ratings.offsets) > 1), chosen)
    n_adding = round(SHARE_OF_OTHERS * len(others))
    for number in generator.permutation(others)[:n_adding].tolist():
        is_late[generator.integers(ratings.offsets[number], ratings.offsets[number + 1])] = True
    return is_late


def _log_list_places(answers: Answers, ratings: Ratings, length: int) -> Floats:
    """Return (items, items): ln(1 + place of the column's item in the list for the row's item).

    The list is that of an account with the row's item alone. Places are from 0; an item that is not
    listed has the place `length`.
    """
    table = np.full((ratings.n_items, ratings.n_items), math.log1p(length))
    histories = [{name: ratings.scale.maximum} for name in ratings.item_ids.tolist()]
    for item, listed in enumerate(answers.rank_each(histories, length)):
        table[item, listed] = np.log1p(np.arange(len(listed)))
    return table
