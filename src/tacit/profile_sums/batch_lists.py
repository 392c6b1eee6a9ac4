"""Lists for many people at once, from their own rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.profile_sums.catalogue import ItemSides
from tacit.profile_sums.fitted_lists import FittedLists
from tacit.profile_sums.people import PEOPLE_PER_BLOCK, people_between, read_profiles
from tacit.profile_sums.scoring import score_items

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of many people: one row for each entry of a list, all columns alike."""

    people: Ints
    """Number of the person in the ratings."""
    ranks: Ints
    """From 1."""
    items: Ints
    """Number of the item in `FittedLists.item_ids`."""
    scores: Floats


def list_people(ratings: Ratings, fitted: FittedLists, n: int) -> Lists:
    """Make each person's list: the n best items that they have not rated.

    Args:
        ratings: Rows of whole people; its items are `fitted.history_ids`.
        fitted: What lists are made from.
        n: Length of a list.
    """
    history_ids = fitted.history_ids
    targets = np.searchsorted(history_ids, fitted.item_ids)
    context = np.searchsorted(history_ids, fitted.context_ids)
    sides = ItemSides(len(history_ids), context, targets)
    people = read_profiles(ratings, sides, fitted.threshold, fitted.settings.other_weight)
    target_places = np.full(len(history_ids), -1)
    target_places[targets] = np.arange(len(targets))
    blocks = []
    for start in range(0, ratings.n_users, PEOPLE_PER_BLOCK):
        stop = min(start + PEOPLE_PER_BLOCK, ratings.n_users)
        block = people_between(people, start, stop)
        scores = score_items(block, fitted.released, fitted.settings)
        rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
        owners, rated = ratings.users[rows] - start, target_places[ratings.items[rows]]
        scores[owners[rated >= 0], rated[rated >= 0]] = -np.inf
        blocks.append(_best_entries(scores, n, first_person=start))
    return Lists(
        people=np.concatenate([block.people for block in blocks]),
        ranks=np.concatenate([block.ranks for block in blocks]),
        items=np.concatenate([block.items for block in blocks]),
        scores=np.concatenate([block.scores for block in blocks]),
    )


def _best_entries(scores: Floats, n: int, *, first_person: int) -> Lists:
    """Pick each row's n largest scores, ties by column; none that is -inf."""
    n = min(n, scores.shape[1])
    least = np.partition(scores, -n, axis=1)[:, -n]
    people, items = np.nonzero((scores >= least[:, None]) & np.isfinite(scores))
    order = np.lexsort((items, -scores[people, items], people))
    people, items = people[order], items[order]
    ranks = np.arange(len(people)) - np.searchsorted(people, people) + 1
    listed = ranks <= n
    return Lists(
        people=first_person + people[listed],
        ranks=ranks[listed],
        items=items[listed],
        scores=scores[people, items][listed],
    )
