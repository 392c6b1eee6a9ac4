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
    """Lists of many people, as columns (entries,): one entry for each item of each list."""

    people: Ints
    """Number of the person in the ratings."""
    ranks: Ints
    """Rank of the item in the person's list, from 1."""
    items: Ints
    """Place of the item in `FittedLists.item_ids`."""
    scores: Floats
    """Score of the item for the person."""


def list_people(ratings: Ratings, fitted: FittedLists, n: int) -> Lists:
    """Make each person's list of the n best items that they have not rated.

    Args:
        ratings: All rows of each person; its items are `fitted.history_ids`.
        fitted: The fit that lists are made from.
        n: Length of a list; it is shorter where fewer items are left.
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
        rows: (people, items of `fitted.history_ids`) stars; an item without an entry is not rated.
        fitted: The fit that lists are made from.
        n: Length of a list.
        allowed: Places in `fitted.item_ids` of the items that may be listed, ascending; None: all.

    Returns:
        (people, n) places in `fitted.item_ids`, and their scores.
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
    """Return factors whose inner products are these people's scores; None if there are none.

    Args:
        rows: (people, items of `fitted.history_ids`) stars.
        fitted: The fit that lists are made from.
    """
    sides = _sides_of(fitted)
    people = profiles_of_rows(rows, sides, fitted.threshold, fitted.settings.other_weight)
    return people_factors(people, fitted.released, fitted.settings)


def _sides_of(fitted: FittedLists) -> ItemSides:
    """Number the context and target items by their places in `fitted.history_ids`."""
    history_ids = fitted.history_ids
    context = np.searchsorted(history_ids, fitted.context_ids)
    targets = np.searchsorted(history_ids, fitted.item_ids)
    return ItemSides(len(history_ids), context, targets)


def _best_of_block(
    people: Profiles, rated: sparse.csr_array, fitted: FittedLists, n: int, allowed: Ints
) -> BestItems:
    """Make the lists of a block of people.

    Args:
        people: Their profiles.
        rated: (people, allowed items) with an entry for each rated item, which is left out.
        fitted: The fit that lists are made from.
        n: Length of a list.
        allowed: (allowed items,) places in `fitted.item_ids`.

    Returns:
        (people, n) places among the allowed items, and their scores.
    """
    factors = people_factors(people, fitted.released, fitted.settings)
    if factors is not None:
        return best_of_products(factors.people, factors.items[allowed], rated, n)

    def score(people_slice: slice) -> Floats:
        """Return (people of the slice, allowed items) scores."""
        scored_people = people_between(people, people_slice.start, people_slice.stop)
        return score_items(scored_people, fitted.released, fitted.settings)[:, allowed]

    return best_of_scores(score, rated, n)
