"""Scores of items and lists for people, from what was released and their own rows.

It spends nothing: each list is made from that person's rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

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
Ints = NDArray[np.int64]
MEAN_BESIDE = 0.3
"""Weight of an item's share of likes beside what top items add."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a person's own items, or a feature of them, and what it adds to an item's score."""

    kind: Literal["item", "feature"]
    name: Any
    score: float


def reasons(
    kind: Literal["item", "feature"], names: Sequence[Any], added: Floats, n: int
) -> Iterator[Reason]:
    """At most n of those that speak for an item, largest first."""
    for place in np.argsort(-added, kind="stable")[:n].tolist():
        if added[place] > 0:
            yield Reason(kind, names[place], float(added[place]))


def scores(people: Profiles, released: Released, settings: Settings) -> Floats:
    """(people, target items)."""
    if not released.serves_lists:
        return np.tile(released.means, (len(people.offsets) - 1, 1))
    share = 1 if isinstance(released.lists, Tastes) else MEAN_BESIDE
    return personal(people, released, settings) + released.means * share


def personal(people: Profiles, released: Released, settings: Settings) -> Floats:
    """(people, target items) what each one's own rows add to popularity."""
    lists = released.lists
    if isinstance(lists, Tastes):
        own = tastes(people, lists.centre, lists.features, everybody=True) @ lists.directions
        return (own * _cut(own, settings)) @ lists.items.T
    added = np.zeros((len(people.offsets) - 1, len(released.means)))
    if isinstance(lists, TopItems):
        unit = rows(people, lists.context, likes=people.joint)
        added[:, lists.targets] = unit @ lists.weights
    return added


def _cut(tastes: Floats, settings: Settings) -> Floats:
    """(people, 1) what brings tastes (people, k) to the largest norm that lists are made from."""
    most = settings.personal_clip * math.sqrt(tastes.shape[1])
    lengths = np.maximum(np.linalg.norm(tastes, axis=1, keepdims=True), 1e-300)
    cut: Floats = np.minimum(1, most / lengths)
    return cut


def parts(
    person: Profiles, item: int, released: Released, settings: Settings
) -> tuple[Ints, Floats, Floats]:
    """Numbers of own context items, what each adds to one target item's score, and what each
    feature adds that the person has more of than most. Empty where all get the same list."""
    lists, nothing = released.lists, (np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    if not released.serves_lists or not len(person.items):
        return nothing
    if isinstance(lists, TopItems):
        column = np.flatnonzero(lists.targets == item)
        if not len(column):
            return nothing
        unit = rows(person, lists.context, likes=person.joint)[0]
        return lists.context, unit * lists.weights[:, column[0]], nothing[2]
    assert isinstance(lists, Tastes)
    pull = lists.directions @ lists.items[item]
    weights = np.where(person.liked, 1.0, person.low) * lists.centre.damping[person.items]
    weights = weights / weights.sum()
    apart = lists.features[person.items].toarray() - lists.centre.mean
    more = weights @ apart
    by_feature = np.where(more > 0, more * pull, 0)  # a reason is what a person has more of
    cut = _cut(more[None] @ lists.directions, settings)[0]
    return person.items, (apart @ pull) * weights * cut, by_feature * cut


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
        made = scores(some(people, start, stop), model.released_, model.settings_)
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
