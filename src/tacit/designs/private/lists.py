"""Scores of items for people, from what was released and their own rows. It spends nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.private.fitting import Released, Tastes
from tacit.designs.private.settings import Settings
from tacit.designs.private.tastes import tastes
from tacit.designs.private.top_items import TopItems, rows
from tacit.engine.profile_sums_compiled import Profiles

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


def in_words(released: Released) -> str:
    """Effective population, mode, and whether lists are worth it; all of it released."""
    useful = released.usefulness
    if useful.effective is None:
        return f"Mode: {released.mode}."
    said = (
        f"Effective population {useful.effective:,.0f} (about {useful.people:,.0f} people divided "
        f"by the noise multiplier). Mode: {released.mode}."
    )
    if useful.worthwhile:
        return f"{said} Personal lists are expected to beat popularity."
    lacking = f" About {useful.missing:,} more people are needed." if useful.missing else ""
    served = (
        "They are served still: they beat the popularity that this release knows."
        if released.serves_lists
        else "Everybody gets the same list of popular items, made privately."
    )
    return f"{said} Personal lists are not expected to beat exact popularity.{lacking} {served}"
