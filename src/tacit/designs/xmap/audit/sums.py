"""The sound X-Map on the bench: whole fits, replayed with and without one person.

The release is that of the design `private`, which has a bench of its own for each of its modes;
here it is fitted by XMap, in the mode that so few people lead to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import Line
from tacit.auditing.replays import replay_check
from tacit.data.ratings import Ratings
from tacit.designs.private.audit.faults import (
    Planted,
    Steps,
    head_by_true_counts,
    liked_above_the_mean,
    shares_forgotten,
)
from tacit.designs.private.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    World,
    answers,
    arrays_of,
    tables,
)
from tacit.designs.xmap import XMap, model
from tacit.designs.xmap.audit.tables import SOURCE, TARGET
from tacit.designs.xmap.catalogue import Catalogue, Routes, catalogue


def fit(epsilon: float) -> Callable[[Ratings], dict[str, NDArray[Any]]]:
    """The shipped recommender with stars; all that it released."""

    def fitted(table: Ratings) -> dict[str, NDArray[Any]]:
        made = XMap(source=SOURCE, target=TARGET, epsilon=epsilon, delta=DELTA, stars=True)
        lists = made.fit(table).sound_
        assert lists is not None
        return arrays_of(lists)

    return fitted


@dataclass(frozen=True)
class Sound(World):
    """The same as a world of the design `private`, so that its planted bugs can be used."""

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        return fit(EPSILON)(table)


WORLD = Sound("top-items", True, stars=True)
MOST = "likes two rare items"
"""Who moves few numbers far: most of the samples are spent on them."""


def sums() -> Line:
    """All sums of one fit together, as a reader of all of them sees them."""
    checks = []
    for name, person in PERSONS.items():
        entries, share = (12, 8) if name == MOST else (1, 1_000)
        checks.append(
            replay_check(
                name, WORLD.fit, tables(person),
                entries=entries, share=share, delta=DELTA, noise=answers(),
            )
        )  # fmt: skip
    return Line("x-map-sound", EPSILON, tuple(checks), delta=DELTA)


def rated_items_alone() -> Steps:
    """Items that nobody rated leave the public catalogue."""

    def rated(ratings: Ratings, column: str, chosen: Routes) -> tuple[Ratings, Catalogue]:
        kept = np.bincount(ratings.items, minlength=ratings.n_items) > 0
        domains = ratings.item_metadata[column].copy()
        domains[~kept] = None
        metadata = {**ratings.item_metadata, column: domains}
        return catalogue(replace(ratings, item_metadata=metadata), column, chosen)

    return {model: {"catalogue": rated}}


BUGS = (
    Planted("items that nobody rated left out", rated_items_alone, "likes two rare items", WORLD),
    Planted("popular items by true counts", head_by_true_counts, world=WORLD),
    Planted("each sum with the noise of the whole budget", shares_forgotten, world=WORLD),
    Planted("likes above the mean of all", liked_above_the_mean, world=WORLD),
)
"""Each fails on the shipped fit with one step replaced; it is compared with the shipped fit."""
