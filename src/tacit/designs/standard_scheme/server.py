"""The recommender half of the standard scheme: a release comes in, scores go out.

`Profiles` predict stars, `Ease` ranks lists, `Server` uses both. Level: number of a star, from 0.

Source      the patent's estimator: argmin_x sum_i (level_i - <profile_i, x>)^2 + ridge |x|^2.
Runs at     the recommender.
Sees        releases; never an attribute, never a true star, never the sender of a release.
Releases    predicted levels without the attribute's effect, which the device adds itself, and
            preferences in thousandths; and the item table, if the consenting people agreed.
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
    weights_of_levels,
)
from tacit.engine.ridge import solve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEIGHT_UNIT = 1000
"""Item-item weights are stored as whole multiples of 1 / WEIGHT_UNIT."""
PREFERENCE_UNIT_OF_DEVICE = LIKED * WEIGHT_UNIT
"""Preferences that a device computes are multiples of 1 / PREFERENCE_UNIT_OF_DEVICE."""
PREFERENCE_UNIT_OF_SERVER = 1000
"""Preferences that the recommender sends are multiples of 1 / PREFERENCE_UNIT_OF_SERVER."""


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
        """Compute (people, d) ridge estimates from a (people, items) CSR of released levels."""
        centred = released.astype(np.float64)
        centred.data -= self.intercepts[released.indices]
        return solve(centred, self.factors, self.ridge)

    def predict_levels(self, released: sparse.csr_array) -> Floats:
        """Predict (people, items) levels of all items from a CSR of released ones.

        level = intercept + <estimate of the person, profile of the item>
        """
        return self.intercepts + self.estimate(released) @ self.factors.T


@dataclass(frozen=True)
class Ease:
    """Item-item weights and the order of items for a person about whom nothing is known."""

    weights: sparse.csc_array
    """(items, items) CSC int64 in thousandths; the column of an item that is left out is empty."""
    popularity_rank: Ints
    """(items,) rank of each item by number of likes, 0 for the most liked."""
    n_levels: int
    """Number of whole levels of the scale."""

    @property
    def has_weights(self) -> NDArray[np.bool_]:
        """(items,) whether each item has weights, by which it is ranked."""
        return np.asarray(np.diff(self.weights.indptr) > 0)

    def preferences(self, levels: sparse.csr_array, predicted_levels: Floats) -> Ints:
        """Compute preferences from released levels.

        preference of item j = sum over shown items i of (weight of i's level) * weights[i, j]

        A person who shows no item with weights gets the items with weights in order of popularity.
        Items without weights come below those with weights, in order of their predicted levels.

        Args:
            levels: (people, items) CSR of released levels.
            predicted_levels: (people, items) predicted levels of all items.

        Returns:
            (people, items) preferences in thousandths.
        """
        has_weights = self.has_weights
        level_weights = weigh_levels(levels, self.n_levels)
        sums = (level_weights @ self._weights_by_row).toarray()  # in 1 / PREFERENCE_UNIT_OF_DEVICE
        # Number of units of the device in one unit of the server.
        device_units = PREFERENCE_UNIT_OF_DEVICE // PREFERENCE_UNIT_OF_SERVER
        preferences: Ints = (sums + device_units // 2) // device_units  # rounded
        shows_no_weighted_item = level_weights @ has_weights.astype(np.int64) == 0
        preferences[shows_no_weighted_item] = -self.popularity_rank

        unweighted = np.flatnonzero(~has_weights)
        lowest = preferences[:, has_weights].min(axis=1, initial=0)
        order = np.argsort(-predicted_levels[:, unweighted], axis=1, kind="stable")
        rank = np.argsort(order, axis=1)  # 0 for the highest predicted level
        preferences[:, unweighted] = lowest[:, None] - 1 - rank
        return preferences

    @cached_property
    def _weights_by_row(self) -> sparse.csr_array:
        """The weights as CSR, which makes products with a few people's rows fast."""
        return sparse.csr_array(self.weights)

    def table(self, disclosure: str) -> ItemTable:
        """Make the item table that devices rank by, for the disclosure with this digest."""
        rows = self.weights.indices.tolist()
        weights = self.weights.data.tolist()
        columns = tuple(
            (tuple(rows[start:end]), tuple(weights[start:end]))
            for start, end in pairwise(self.weights.indptr.tolist())
        )
        return ItemTable(disclosure, weights_of_levels(self.n_levels), columns)


def levels_to_row(levels: Mapping[int, float], n_items: int) -> sparse.csr_array:
    """Make a (1, n_items) CSR float64 of one person's levels, given by item number."""
    data = np.array(list(levels.values()), dtype=float)
    rows = np.zeros(len(levels), dtype=np.int32)
    columns = np.array(list(levels), dtype=np.int32)
    return sparse.csr_array((data, (rows, columns)), (1, n_items))


def weigh_levels(levels: sparse.csr_array, n_levels: int) -> sparse.csr_array:
    """Replace each level by its weight in preferences.

    Args:
        levels: CSR of true or released levels; each is rounded to the nearest whole level.
        n_levels: Number of whole levels of the scale.

    Returns:
        CSR int64 of the same shape, in tenths: see `weights_of_levels`.
    """
    whole_levels = np.clip(np.floor(levels.data + 0.5), 0, n_levels - 1).astype(np.int64)
    weights = np.array(weights_of_levels(n_levels))[whole_levels]
    return sparse.csr_array((weights, levels.indices, levels.indptr), shape=levels.shape)


class Server:
    """Answers releases made for one disclosure: levels by profiles, preferences by weights."""

    def __init__(self, disclosure: Disclosure, profiles: Profiles, ease: Ease) -> None:
        self._disclosure = disclosure
        self._profiles = profiles
        self._ease = ease

    def score(self, release: Release) -> Scores:
        """Score all items for a release; the device leaves out what its owner has rated.

        Raises:
            ValueError: The release was made for another disclosure, or has an unknown item.
        """
        levels, preferences = self.compute_scores(release)
        micro_levels = np.round(levels * MICRO).astype(np.int64).tolist()
        rows = zip(self._disclosure.items, micro_levels, preferences.tolist(), strict=True)
        return Scores(self._disclosure.digest, tuple(rows))

    def compute_scores(self, release: Release) -> tuple[Floats, Ints]:
        """Compute (items,) predicted levels and (items,) preferences, in thousandths.

        `score` sends the same numbers, the levels as whole micro-levels.

        Raises:
            ValueError: As for `score`.
        """
        number_of = self._disclosure.item_number
        if release.disclosure != self._disclosure.digest:
            raise ValueError("the release was made for another disclosure: fetch the current one")
        for item, _ in release.ratings:
            if item not in number_of:
                raise ValueError(f"the disclosure has no item {item!r}")
        shown_levels = {number_of[item]: level / MICRO for item, level in release.ratings}
        released = levels_to_row(shown_levels, len(number_of))
        levels = self._profiles.predict_levels(released)
        return levels[0], self._ease.preferences(released, levels)[0]
