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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.messages import MICRO, ItemId, Release, Scores
from tacit.designs.standard_scheme.training.ease import Ease
from tacit.engine.ridge import fitted, solve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Profiles:
    """What the recommender knows about items, in levels.

    intercepts   (items,) level of an item for a person about whom nothing is known
    factors      (items, d) item profiles; ridge: penalty of a person's estimate, in levels
    """

    intercepts: Floats
    factors: Floats
    ridge: float

    def estimate(self, released: sparse.csr_array) -> Floats:
        """(people, d) ridge estimates of a (people, items) CSR of released levels."""
        centred = sparse.csr_array(
            (
                released.data - self.intercepts[released.indices],
                released.indices,
                released.indptr,
            ),
            shape=released.shape,
        )
        return solve(centred, self.factors, self.ridge)

    def of_everything(self, released: sparse.csr_array) -> Floats:
        """(people, items) predicted levels of all items."""
        levels: Floats = self.intercepts + self.estimate(released) @ self.factors.T
        return levels

    def predict(self, people: Floats, entries: sparse.csr_array) -> Floats:
        """(entries,) predicted levels at every stored entry of a (people, items) CSR."""
        levels: Floats = self.intercepts[entries.indices] + fitted(entries, people, self.factors)
        return levels


class Server:
    """Answers releases made for one disclosure: levels from the profiles, preferences from EASE."""

    def __init__(
        self, disclosure: str, items: tuple[ItemId, ...], profiles: Profiles, ease: Ease
    ) -> None:
        self._disclosure = disclosure
        self._items = items
        self._number = {item: number for number, item in enumerate(items)}
        self._profiles = profiles
        self._ease = ease

    def score(self, release: Release) -> Scores:
        """Scores of every item; the device leaves out what its owner has seen.

        Raises ValueError for a release that was made for another disclosure, or for items that the
        disclosure does not have.
        """
        released = self._matrix(release)
        levels = self._profiles.of_everything(released)
        preferences = self._ease.preferences(released, levels)[0].tolist()
        micro = np.round(levels[0] * MICRO).astype(np.int64).tolist()
        return Scores(self._disclosure, tuple(zip(self._items, micro, preferences, strict=True)))

    def _matrix(self, release: Release) -> sparse.csr_array:
        if release.disclosure != self._disclosure:
            raise ValueError("the release was made for another disclosure: fetch the current one")
        unknown = [item for item, _ in release.ratings if item not in self._number]
        if unknown:
            raise ValueError(f"item {unknown[0]!r} is none that the disclosure has")
        columns = [self._number[item] for item, _ in release.ratings]
        levels = np.array([level for _, level in release.ratings], dtype=float) / MICRO
        return sparse.csr_array(
            (
                levels,
                np.array(columns, dtype=np.int32),
                np.array([0, len(columns)], dtype=np.int32),
            ),
            shape=(1, len(self._items)),
        )
