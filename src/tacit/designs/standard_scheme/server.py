"""The recommender half of the standard scheme: a release comes in, scores go out.

Source      the patent's estimator: p = argmin sum_i (y_i - <v_i, x>)^2 + ridge |x|^2.
Runs at     the recommender.
Sees        releases; never an attribute, never a true star, never who sent it.
Releases    predicted levels without the attribute's effect, to which the device adds its own, and
            preferences in thousandths.
Deviations  ridge 10 instead of 0.1 on centred levels in the sound variant (0.1 overfits: its error
            on left-out people is larger than the item mean's on MovieLens 100K).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.messages import (
    LIKED,
    MICRO,
    ItemTable,
    Release,
    Scores,
    liked_levels,
)
from tacit.engine.ridge import solve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNIT = 1000
"""Parts of 1 in which weights are stored."""
AT_HOME = LIKED * UNIT
"""Parts of 1 in which a device gives a preference."""
SERVED = 1000
"""Parts of 1 in which the recommender gives a preference."""


@dataclass(frozen=True)
class Profiles:
    """Item profiles, by which the recommender predicts stars, in levels."""

    intercepts: Floats
    """(items,) level of an item for a person about whom nothing is known."""
    factors: Floats
    """(items, d) item profiles."""
    ridge: float
    """Penalty of a person's estimate."""

    def estimate(self, released: sparse.csr_array) -> Floats:
        """(people, d) ridge estimates of a (people, items) CSR of released levels."""
        centred = released.astype(np.float64)
        centred.data -= self.intercepts[released.indices]
        return solve(centred, self.factors, self.ridge)

    def predict_levels(self, released: sparse.csr_array) -> Floats:
        """(people, items) predicted levels of all items."""
        return self.intercepts + self.estimate(released) @ self.factors.T


@dataclass(frozen=True)
class Ease:
    """Item-item weights and the order of items for a person about whom nothing is known."""

    weights: sparse.csc_array
    """(items, items) CSC int64 in 1/1000; the column of an item left out is empty."""
    popularity: Ints
    """(items,) place of each item by likes, 0 for the most liked."""
    n_levels: int
    """Whole levels of the scale."""

    @property
    def has_weights(self) -> NDArray[np.bool_]:
        """(items,) which items are ranked by weights."""
        return np.asarray(np.diff(self.weights.indptr) > 0)

    def preferences(self, levels: sparse.csr_array, stars: Floats) -> Ints:
        """Compute preferences from what people show.

        Where a person shows no item that has weights, items are ordered by popularity.

        Args:
            levels: (people, items) CSR of released levels.
            stars: (people, items) predicted levels; they order the items left out, below all
                others.

        Returns:
            (people, items) thousandths.
        """
        has_weights = self.has_weights
        shown = weigh_levels(levels, self.n_levels)
        sums = (shown @ self._rows).toarray()
        preferences: Ints = (sums + AT_HOME // SERVED // 2) // (AT_HOME // SERVED)
        preferences[shown @ has_weights.astype(np.int64) == 0] = -self.popularity
        unweighted = np.flatnonzero(~has_weights)
        lowest = preferences[:, has_weights].min(axis=1, initial=0)
        order = np.argsort(-stars[:, unweighted], axis=1, kind="stable")
        preferences[:, unweighted] = lowest[:, None] - 1 - np.argsort(order, axis=1)
        return preferences

    @cached_property
    def _rows(self) -> sparse.csr_array:
        """The weights in the order in which a few people's preferences are summed."""
        return sparse.csr_array(self.weights)

    def table(self, disclosure: str) -> ItemTable:
        """Item table that devices rank with, for the disclosure with this digest."""
        rows = self.weights.indices.tolist()
        weights = self.weights.data.tolist()
        columns = tuple(
            (tuple(rows[start:end]), tuple(weights[start:end]))
            for start, end in pairwise(self.weights.indptr.tolist())
        )
        return ItemTable(disclosure, liked_levels(self.n_levels), columns)


def levels_to_row(levels: Mapping[int, float], n_items: int) -> sparse.csr_array:
    """(1, n_items) CSR float64 of levels by number of the item."""
    columns = (np.zeros(len(levels), dtype=np.int32), np.array([*levels], dtype=np.int32))
    return sparse.csr_array((np.array([*levels.values()], float), columns), (1, n_items))


def weigh_levels(levels: sparse.csr_array, n_levels: int) -> sparse.csr_array:
    """CSR int64 of what each level counts for, in tenths; released levels count as the nearest."""
    whole = np.clip(np.floor(levels.data + 0.5), 0, n_levels - 1).astype(np.int64)
    counts = np.array(liked_levels(n_levels))[whole]
    return sparse.csr_array((counts, levels.indices, levels.indptr), shape=levels.shape)


class Server:
    """Answers releases made for one disclosure: levels from the profiles, preferences from EASE."""

    def __init__(self, disclosure: Disclosure, profiles: Profiles, ease: Ease) -> None:
        self._disclosure = disclosure
        self._profiles = profiles
        self._ease = ease

    def score(self, release: Release) -> Scores:
        """Scores of every item; the device leaves out what its owner has seen.

        Raises ValueError for a release that was made for another disclosure, or for items that the
        disclosure does not have.
        """
        digest = self._disclosure.digest
        items = self._disclosure.items
        number = self._disclosure.item_number
        if release.disclosure != digest:
            raise ValueError("the release was made for another disclosure: fetch the current one")
        for item, _ in release.ratings:
            if item not in number:
                raise ValueError(f"the disclosure has no item {item!r}")
        shown = {number[item]: level / MICRO for item, level in release.ratings}
        released = levels_to_row(shown, len(items))
        levels = self._profiles.predict_levels(released)
        preferences = self._ease.preferences(released, levels)[0].tolist()
        micro = np.round(levels[0] * MICRO).astype(np.int64).tolist()
        return Scores(digest, tuple(zip(items, micro, preferences, strict=True)))
