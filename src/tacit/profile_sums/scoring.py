"""Scores of items for people, and reasons for them, from the release and a person's own rows alone.

A list spends nothing: it is made from what was released and that person's own rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.engine.profile_kernels.types import Profiles
from tacit.profile_sums.release import ReleasedLists, TasteModel
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.moment import people_tastes
from tacit.profile_sums.sums.top_items import TopItemsModel, unit_like_rows, unit_rows
from tacit.recommenders.base import Tabular

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ReasonKind = Literal["item", "feature"]

POPULARITY_WEIGHT_OF_TOP_ITEMS = 0.3
"""Weight of an item's share of likes beside what top items add."""
_LEAST_LENGTH = 1e-300


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a person's own items, or a feature of them, that speaks for an item."""

    kind: ReasonKind
    name: Any
    """Id of the item, or name of the feature."""
    score: float
    """What it adds to the item's score."""


class Reasons(tuple[Reason, ...], Tabular):
    """Reasons of one entry of a list, the largest first of each kind."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns kind, name (as text) and score, for a data frame."""
        return {
            "kind": [reason.kind for reason in self],
            "name": [str(reason.name) for reason in self],
            "score": [reason.score for reason in self],
        }


def score_items(people: Profiles, released: ReleasedLists, settings: Settings) -> Floats:
    """(people, target items) scores that lists are ranked by."""
    if not released.serves_lists:
        return np.tile(released.means, (len(people.offsets) - 1, 1))
    is_taste = isinstance(released.personal, TasteModel)
    weight = 1 if is_taste else POPULARITY_WEIGHT_OF_TOP_ITEMS
    return personal_scores(people, released, settings) + released.means * weight


def personal_scores(people: Profiles, released: ReleasedLists, settings: Settings) -> Floats:
    """(people, target items) what each person's own rows add to popularity.

    Tastes, with x the unit row of likes and E what consenting people gave, if any:
    (cut(z V) + (x B - b_0) K) B' + x E; across domains the first term alone. With the vectors P of
    pairs of likes, which act on the head alone: cut(z V) B' + (x P - mu P) P'. Top items: unit row
    W. 0 where only popularity was released.
    """
    model = released.personal
    if isinstance(model, TasteModel):
        added: Floats = _served_tastes(people, model, settings) @ model.items.T
        if model.pairs is not None:
            coordinates = model.pairs.coordinates(unit_like_rows(people, len(model.items)))
            added[:, model.pairs.items] += coordinates @ model.pairs.vectors.T
        if released.consented is not None:
            added += (unit_like_rows(people, len(model.items)) @ released.consented).toarray()
        return added
    scores = np.zeros((len(people.offsets) - 1, len(released.means)))
    if isinstance(model, TopItemsModel):
        rows = unit_rows(people, model.context, likes=people.one_domain)
        scores[:, model.targets] = rows @ model.weights
    return scores


@dataclass(frozen=True, eq=False)
class Factors:
    """Scores as inner products of people and target items; the last column is popularity."""

    people: Floats
    """(people, k + 1), with vectors of pairs (people, k + d + 1)"""
    items: Floats
    """(target items, the same)"""


def people_factors(people: Profiles, released: ReleasedLists, settings: Settings) -> Factors | None:
    """Write what `score_items` computes as inner products; None if it is no inner product."""
    model = released.personal
    count = len(people.offsets) - 1
    if not released.serves_lists:
        return Factors(np.ones((count, 1)), released.means[:, None])
    if not isinstance(model, TasteModel) or released.consented is not None:
        return None
    of_people = [_served_tastes(people, model, settings)]
    of_items = [model.items]
    if model.pairs is not None:
        targets = len(model.items)
        of_people.append(model.pairs.coordinates(unit_like_rows(people, targets)))
        of_items.append(model.pairs.vectors_of_all(targets))
    return Factors(
        np.column_stack([*of_people, np.ones(count)]),
        np.column_stack([*of_items, released.means]),
    )


def people_tastes_of_lists(people: Profiles, released: ReleasedLists, settings: Settings) -> Floats:
    """(people, k) tastes that lists are made from; the release is of tastes."""
    assert isinstance(released.personal, TasteModel)
    return _served_tastes(people, released.personal, settings)


def _served_tastes(people: Profiles, model: TasteModel, settings: Settings) -> Floats:
    """(people, k) tastes that lists are made from: cut(z V) + (x B - b_0) K.

    The first term alone across domains, and where vectors of pairs take the place of the second.
    """
    features = people_tastes(people, model.centre, model.features, everybody=True)
    tastes = features @ model.directions
    tastes = tastes * _cut_factor(tastes, settings)
    if model.own_likes is None:
        return tastes
    unit_likes = unit_like_rows(people, len(model.items))
    return tastes + model.own_likes.addition_to_taste(unit_likes, model.items)


def _cut_factor(tastes: Floats, settings: Settings) -> Floats:
    """(people, 1) factor that brings tastes (people, k) to the largest norm that lists use."""
    largest = settings.personal_clip * math.sqrt(tastes.shape[1])
    lengths = np.maximum(np.linalg.norm(tastes, axis=1, keepdims=True), _LEAST_LENGTH)
    factor: Floats = np.minimum(1, largest / lengths)
    return factor


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """Parts of one item's score beyond popularity."""

    items: Ints
    """(n,) places of context items."""
    added_by_item: Floats
    """(n,) what each of them adds."""
    added_by_feature: Floats
    """(f,) what each feature adds that the person has more of than most."""


_NO_PARTS = ScoreParts(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def split_score(
    person: Profiles, item: int, released: ReleasedLists, settings: Settings
) -> ScoreParts:
    """Split the score of one target item into parts; no parts where everybody gets the same list.

    Args:
        person: Profile of one person.
        item: Place of the target item.
        released: The release.
        settings: Choices of the fit.
    """
    model = released.personal
    if not released.serves_lists or not len(person.items):
        return _NO_PARTS
    if isinstance(model, TopItemsModel):
        return _split_by_top_items(person, item, model)
    assert isinstance(model, TasteModel)
    parts = _split_by_tastes(person, item, model, settings)
    if released.consented is None or not person.liked.any():
        return parts
    by_likes = released.consented[:, [item]].toarray()[person.items, 0] * person.liked
    return replace(
        parts, added_by_item=parts.added_by_item + by_likes / math.sqrt(person.liked.sum())
    )


def _split_by_top_items(person: Profiles, item: int, model: TopItemsModel) -> ScoreParts:
    column = np.flatnonzero(model.targets == item)
    if not len(column):
        return _NO_PARTS
    row = unit_rows(person, model.context, likes=person.one_domain)[0]
    return ScoreParts(model.context, row * model.weights[:, column[0]], np.zeros(0))


def _split_by_tastes(
    person: Profiles, item: int, model: TasteModel, settings: Settings
) -> ScoreParts:
    """Split by own items, and by those features that the person has more of than most.

    An own item adds its part of the person's taste, and if it is liked, what its released tastes or
    its vector of pairs add beside that.
    """
    pull = model.directions @ model.items[item]
    weights = np.where(person.liked, 1.0, person.other_weight) * model.centre.damping[person.items]
    weights = weights / weights.sum()
    differences = model.features[person.items].toarray() - model.centre.mean
    surplus = weights @ differences
    tastes = surplus[None] @ model.directions
    cut = _cut_factor(tastes, settings)[0]
    added_by_item = (differences @ pull) * weights * cut
    if person.liked.any():
        likes = person.liked / math.sqrt(person.liked.sum())
        if model.own_likes is not None:
            by_likes = model.items[person.items] @ model.own_likes.matrix @ model.items[item]
            added_by_item = added_by_item + by_likes * likes
        if model.pairs is not None:
            by_pairs = model.pairs.products_with(item, len(model.items))[person.items]
            added_by_item = added_by_item + by_pairs * likes
    return ScoreParts(
        items=person.items,
        added_by_item=added_by_item,
        added_by_feature=np.where(surplus > 0, surplus * pull, 0) * cut,
    )


def largest_reasons(
    kind: ReasonKind, names: Sequence[Any], added: Floats, n: int
) -> Iterator[Reason]:
    """Give at most n reasons that speak for an item, largest first."""
    for place in np.argsort(-added, kind="stable")[:n].tolist():
        if added[place] > 0:
            yield Reason(kind, names[place], float(added[place]))
