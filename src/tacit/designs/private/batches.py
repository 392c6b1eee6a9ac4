"""Lists for everyone in a block of ratings, from a released model: each from that person's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.designs.private.lists import scores
from tacit.designs.private.model import Private
from tacit.designs.private.people import BLOCK, Sides, profiles, some

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lists:
    """One row an entry of a list, all columns alike. people: numbers in the block; ranks: from 1;
    items: numbers in `item_ids_`."""

    people: Ints
    ranks: Ints
    items: Ints
    scores: NDArray[np.float64]


def lists_for(ratings: Ratings, model: Private, n: int) -> Lists:
    """The n best items that a person has not rated. ratings: of the items `history_ids_`."""
    known = model.history_ids_
    targets = np.searchsorted(known, model.item_ids_)
    sides = Sides(len(known), np.searchsorted(known, model.context_ids_), targets)
    people = profiles(ratings, sides, model.threshold_, model.settings_.other_weight)
    place = np.full(len(known), -1)
    place[targets] = np.arange(len(targets))
    parts = []
    for start in range(0, ratings.n_users, BLOCK):
        stop = min(start + BLOCK, ratings.n_users)
        made = scores(some(people, start, stop), model.released_, model.context_features_,
                      model.settings_)  # fmt: skip
        rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
        rated = place[ratings.items[rows]]
        made[ratings.users[rows][rated >= 0] - start, rated[rated >= 0]] = -np.inf
        parts.append((start, *_best(made, n)))
    found = [(start + who, *more) for start, who, *more in parts]
    return Lists(*map(np.concatenate, zip(*found, strict=True)))


def _best(made: NDArray[np.float64], n: int) -> tuple[Ints, Ints, Ints, NDArray[np.float64]]:
    """Rows, ranks, columns and values of the n largest, ties by column; none that is -inf."""
    n = min(n, made.shape[1])
    least = np.partition(made, -n, axis=1)[:, -n]
    rows, columns = np.nonzero((made >= least[:, None]) & np.isfinite(made))
    order = np.lexsort((columns, -made[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows) + 1
    kept = ranks <= n
    return rows[kept], ranks[kept], columns[kept], made[rows, columns][kept]
