"""Scores of items for people, and reasons for these scores.

Both are computed from the release and the person's own rows, so lists cost no epsilon.
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
"""Weight of an item's share of likes in mode 'top-items', where the personal part has weight 1."""
_LEAST_LENGTH = 1e-300
"""Lower limit of a norm in a denominator, so that 0 is not divided by 0."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a person's own items, or a feature of these items, that raises an item's score."""

    kind: ReasonKind
    """Whether the reason is an item or a feature."""
    name: Any
    """Id of the item, or name of the feature."""
    score: float
    """Amount that it adds to the score."""


class Reasons(tuple[Reason, ...], Tabular):
    """Reasons for one item's score: items, then features, each largest first."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns kind, name (as text) and score, for a data frame."""
        return {
            "kind": [reason.kind for reason in self],
            "name": [str(reason.name) for reason in self],
            "score": [reason.score for reason in self],
        }


def score_items(people: Profiles, released: ReleasedLists, settings: Settings) -> Floats:
    """Compute the scores (people, target items) by which lists are ranked."""
    if not released.serves_personal_lists:
        return np.tile(released.means, (len(people.offsets) - 1, 1))
    is_taste = isinstance(released.personal, TasteModel)
    weight = 1 if is_taste else POPULARITY_WEIGHT_OF_TOP_ITEMS
    return personal_scores(people, released, settings) + released.means * weight


def personal_scores(people: Profiles, released: ReleasedLists, settings: Settings) -> Floats:
    """Compute the part of the scores (people, target items) that each person's own rows add.

    A person has z (f,), their tastes in features, and x, their row of likes of norm 1. clip(z V) is
    z V, shortened to a norm of at most `personal_clip` sqrt(k). V and B are those of `TasteModel`,
    b_0 and K those of `OwnLikesMap`. P has the vectors of `PairVectors`, which are 0 but for the
    items with most likes, and mu the shares of likes. E are the weights learned from consenting
    people, if any.

        tastes, one domain:      (clip(z V) + (x B - b_0) K) B' + x E
        tastes, across domains:  clip(z V) B'
        with pairs of likes:     clip(z V) B' + (x P - mu P) P'
        top items:               r W, with W the weights of `TopItemsModel`, and r the person's row
                                 of its context items (in one domain, of likes) of norm 1
        popularity:              0

    The terms (x B - b_0) K and x P - mu P are 0 for a person without likes.
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
    """Vectors of people and items whose inner products are the scores.

    The columns are k tastes, d coordinates by pairs of likes if there are any, and one column for
    popularity: 1 for each person, the share of likes for each item.
    """

    people: Floats
    """(people, k + d + 1) vectors of people."""
    items: Floats
    """(target items, k + d + 1) vectors of items."""


def people_factors(people: Profiles, released: ReleasedLists, settings: Settings) -> Factors | None:
    """Return factors whose inner products are the scores of `score_items`.

    Returns:
        The factors; None in mode 'top-items', and if there are weights from consenting people: such
        scores have no factors.
    """
    model = released.personal
    count = len(people.offsets) - 1
    if not released.serves_personal_lists:
        return Factors(np.ones((count, 1)), released.means[:, None])
    if not isinstance(model, TasteModel) or released.consented is not None:
        return None
    people_parts = [_served_tastes(people, model, settings)]
    item_parts = [model.items]
    if model.pairs is not None:
        targets = len(model.items)
        people_parts.append(model.pairs.coordinates(unit_like_rows(people, targets)))
        item_parts.append(model.pairs.vectors_of_all(targets))
    return Factors(
        np.column_stack([*people_parts, np.ones(count)]),
        np.column_stack([*item_parts, released.means]),
    )


def people_tastes_of_lists(people: Profiles, released: ReleasedLists, settings: Settings) -> Floats:
    """Return the tastes (people, k) that lists are made from, in a release of mode 'taste'."""
    assert isinstance(released.personal, TasteModel)
    return _served_tastes(people, released.personal, settings)


def _served_tastes(people: Profiles, model: TasteModel, settings: Settings) -> Floats:
    """Compute the tastes (people, k) that lists are made from: clip(z V) + (x B - b_0) K.

    Across domains, and with pairs of likes, there is only the first term. `personal_scores` defines
    the symbols.
    """
    feature_tastes = people_tastes(people, model.centre, model.features, everybody=True)
    tastes = feature_tastes @ model.directions
    tastes = tastes * _clip_factor(tastes, settings)
    if model.own_likes is None:
        return tastes
    unit_likes = unit_like_rows(people, len(model.items))
    return tastes + model.own_likes.addition_to_taste(unit_likes, model.items)


def _clip_factor(tastes: Floats, settings: Settings) -> Floats:
    """Return factors (people, 1) that shorten tastes (people, k) to norm `personal_clip` sqrt(k).

    Tastes of a smaller norm have the factor 1.
    """
    largest = settings.personal_clip * math.sqrt(tastes.shape[1])
    lengths = np.maximum(np.linalg.norm(tastes, axis=1, keepdims=True), _LEAST_LENGTH)
    factor: Floats = np.minimum(1, largest / lengths)
    return factor


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """Two ways to split the personal part of one item's score: by items, and by features."""

    items: Ints
    """(n,) places of context items."""
    added_by_item: Floats
    """(n,) amount that each of these items adds to the score."""
    added_by_feature: Floats
    """(f,) amount that each feature adds to the score; 0 for a feature of which the person's
    profile has no more than the average profile. In mode 'top-items' there are no entries."""


_NO_PARTS = ScoreParts(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def split_score(
    person: Profiles, item: int, released: ReleasedLists, settings: Settings
) -> ScoreParts:
    """Split the score of one target item into the parts that the person's own items add.

    Context items are those from which people's profiles are made; target items are listed.

    There are no parts if everybody gets the same list, if the person has no context items, or if
    the item is outside the head of mode 'top-items'.

    Args:
        person: Profile of one person.
        item: Place of the target item.
        released: The release.
        settings: Choices of the fit.
    """
    model = released.personal
    if not released.serves_personal_lists or not len(person.items):
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
    """Split a score of mode 'top-items' by the context items of the head."""
    column = np.flatnonzero(model.targets == item)
    if not len(column):
        return _NO_PARTS
    row = unit_rows(person, model.context, likes=person.one_domain)[0]
    return ScoreParts(model.context, row * model.weights[:, column[0]], np.zeros(0))


def _split_by_tastes(
    person: Profiles, item: int, model: TasteModel, settings: Settings
) -> ScoreParts:
    """Split a score of mode 'taste' by the person's items, and by features.

    With w the weights of the person's context items, which add up to 1, F their features, m the
    mean features of a profile, b the tastes of the target item and c the factor of the clip:

        part of item i:     c w_i (F_i - m) V b, and if it is liked, its part by own likes or pairs
        part of feature j:  c z_j (V b)_j where z_j > 0, with z = sum_i w_i (F_i - m)

    Args:
        person: Profile of one person with at least one context item.
        item: Place of the target item.
        model: The released tastes.
        settings: Choices of the fit.
    """
    score_per_feature = model.directions @ model.items[item]
    weights = np.where(person.liked, 1.0, person.other_weight) * model.centre.damping[person.items]
    weights = weights / weights.sum()
    differences = model.features[person.items].toarray() - model.centre.mean
    surplus = weights @ differences
    tastes = surplus[None] @ model.directions
    clip_factor = _clip_factor(tastes, settings)[0]
    added_by_item = (differences @ score_per_feature) * weights * clip_factor
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
        added_by_feature=np.where(surplus > 0, surplus * score_per_feature, 0) * clip_factor,
    )


def largest_reasons(
    kind: ReasonKind, names: Sequence[Any], added: Floats, n: int
) -> Iterator[Reason]:
    """Yield at most n reasons that raise a score, largest first.

    Args:
        kind: Kind of all these reasons.
        names: (m,) ids of items, or names of features.
        added: (m,) amount that each adds to the score.
        n: Largest number of reasons.
    """
    for place in np.argsort(-added, kind="stable")[:n].tolist():
        if added[place] > 0:
            yield Reason(kind, names[place], float(added[place]))
