"""Scores of items and lists for people, from what was released and their own rows.

It spends nothing: each list is made from that person's rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.private.fitting import Released, Tastes
from tacit.designs.private.people import BLOCK, Sides, profiles, some
from tacit.designs.private.popular import TopItems, rows
from tacit.designs.private.settings import Settings
from tacit.designs.private.tastes import tastes
from tacit.engine.profile_sums_compiled import Profiles

if TYPE_CHECKING:
    from tacit.designs.private.model import Private

Floats = NDArray[np.float64]
MEAN_BESIDE = 0.3
"""Weight of an item's share of likes beside what top items add."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a person's own items, or a feature of them, and what it adds to an item's score."""

    kind: Literal["item", "feature"]
    name: Any
    score: float


def best(reasons: Iterable[Reason], n: int) -> list[Reason]:
    """At most n that speak for an item, largest first."""
    ordered = sorted(reasons, key=lambda reason: -reason.score)[:n]
    return [reason for reason in ordered if reason.score > 0]


def scores(
    people: Profiles, released: Released, context: sparse.csr_array | None, settings: Settings
) -> Floats:
    """(people, target items). context: (context items, f) features, None where there are none."""
    if not released.serves_lists:
        return np.tile(released.means, (len(people.offsets) - 1, 1))
    added = personal(people, released, context, settings)
    return added + released.means * (1 if isinstance(released.lists, Tastes) else MEAN_BESIDE)


def personal(
    people: Profiles, released: Released, context: sparse.csr_array | None, settings: Settings
) -> Floats:
    """(people, target items) what each one's own rows add to popularity."""
    lists = released.lists
    if isinstance(lists, Tastes) and context is not None:
        own = tastes(people, lists.centre, context, everybody=True) @ lists.directions
        most = settings.personal_clip * math.sqrt(own.shape[1])
        lengths = np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-300)
        cut: Floats = own * np.minimum(1, most / lengths)
        return cut @ lists.items.T
    added = np.zeros((len(people.offsets) - 1, len(released.means)))
    if isinstance(lists, TopItems):
        unit = rows(people, lists.context, likes=people.joint)
        added[:, lists.targets] = unit @ lists.weights
    return added


def parts(
    person: Profiles,
    item: int,
    released: Released,
    context: sparse.csr_array | None,
    settings: Settings,
) -> tuple[list[tuple[int, float]], Floats]:
    """What each own context item adds to one target item's score, and each feature that the person
    has more of than most. Nothing where everybody gets the same list."""
    found = released.lists
    numbers = [int(number) for number in person.items]
    if not released.serves_lists or not numbers:
        return [], np.zeros(0)
    if isinstance(found, TopItems):
        places = {int(head): column for column, head in enumerate(found.targets)}
        if item not in places:
            return [], np.zeros(0)
        added = rows(person, found.context, likes=person.joint)[0] * found.weights[:, places[item]]
        return list(zip(found.context.tolist(), added.tolist(), strict=True)), np.zeros(0)
    assert isinstance(found, Tastes)
    assert context is not None
    pull = found.directions @ found.items[item]
    weights = np.where(person.liked, 1.0, person.low) * found.centre.damping[person.items]
    weights = weights / weights.sum()
    apart = context[person.items].toarray() - found.centre.mean
    own = (apart @ pull) * weights
    lean = weights @ apart
    by_feature = np.where(lean > 0, lean * pull, 0)  # a reason is what a person has more of
    taste = lean @ found.directions
    most = settings.personal_clip * math.sqrt(len(taste))
    cut = min(1.0, most / max(float(np.linalg.norm(taste)), 1e-300))
    return list(zip(numbers, (own * cut).tolist(), strict=True)), by_feature * cut


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
