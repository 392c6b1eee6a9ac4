"""Lists for many people at once, from their own rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.engine.best_items import BestItems, best_of_products, best_of_scores
from tacit.engine.profile_kernels.types import Profiles
from tacit.profile_sums.catalogue import ItemSides
from tacit.profile_sums.fitted_lists import FittedLists
from tacit.profile_sums.people import PEOPLE_PER_BLOCK, people_between, profiles_of_rows
from tacit.profile_sums.scoring import Factors, people_factors, score_items

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
    best = best_of_people(ratings.matrix, fitted, n)
    people, entries = np.nonzero(best.places >= 0)
    return Lists(
        people=people,
        ranks=entries + 1,
        items=best.places[people, entries],
        scores=best.scores[people, entries],
    )


def best_of_people(
    rows: sparse.csr_array, fitted: FittedLists, n: int, allowed: Ints | None = None
) -> BestItems:
    """Make each person's list of the n best items that they have not rated.

    Args:
        rows: (people, items of `fitted.history_ids`) stars.
        fitted: What lists are made from.
        n: Length of a list.
        allowed: Places of the target items that may be listed, ascending; None: all.
    """
    sides = _sides_of(fitted)
    people = profiles_of_rows(rows, sides, fitted.threshold, fitted.settings.other_weight)
    if allowed is None:
        allowed = np.arange(len(sides.targets))
    rated = rows if len(allowed) == sides.n_items else rows[:, sides.targets[allowed]]
    blocks = []
    for start in range(0, rows.shape[0], PEOPLE_PER_BLOCK):
        stop = min(start + PEOPLE_PER_BLOCK, rows.shape[0])
        block = people_between(people, start, stop)
        blocks.append(_best_of_block(block, rated[start:stop], fitted, n, allowed))
    if not blocks:
        return BestItems(np.zeros((0, n), np.int64), np.zeros((0, n)))
    places = np.concatenate([block.places for block in blocks])
    return BestItems(places, np.concatenate([block.scores for block in blocks])).renumber(allowed)


def read_factors(rows: sparse.csr_array, fitted: FittedLists) -> Factors | None:
    """Write these people's scores as inner products; None if they are no inner products."""
    sides = _sides_of(fitted)
    people = profiles_of_rows(rows, sides, fitted.threshold, fitted.settings.other_weight)
    return people_factors(people, fitted.released, fitted.settings)


def _sides_of(fitted: FittedLists) -> ItemSides:
    """Context and target items among those of a history."""
    history_ids = fitted.history_ids
    context = np.searchsorted(history_ids, fitted.context_ids)
    return ItemSides(len(history_ids), context, np.searchsorted(history_ids, fitted.item_ids))


def _best_of_block(
    people: Profiles, rated: sparse.csr_array, fitted: FittedLists, n: int, allowed: Ints
) -> BestItems:
    """Make the lists of a block of people. rated: (people, allowed items)."""
    factors = people_factors(people, fitted.released, fitted.settings)
    if factors is not None:
        return best_of_products(factors.people, factors.items[allowed], rated, n)

    def score(run: slice) -> Floats:
        some = people_between(people, run.start, run.stop)
        return score_items(some, fitted.released, fitted.settings)[:, allowed]

    return best_of_scores(score, rated, n)
