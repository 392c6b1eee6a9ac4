"""Counts of likes with Laplace noise, and the same list for everybody.

Source      Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006).
Runs at     the curator.
Sees        all ratings.
Releases    one count of each item, once.
Guarantee   epsilon for a person's whole profile, added or removed: a person counts with at most
            `most` likes, so that the counts of two neighbours differ by `most` in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Event
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, Baseline
from tacit.recommenders.headers import read_array

_PEOPLE = 2**40
"""Public: no count is larger."""


class NoisyTop(Baseline):
    """epsilon: for a person's whole profile. most: likes of a person that count, their first."""

    kind = "noisy-top"
    settings = ("epsilon", "most")

    def __init__(self, *, epsilon: float = 1.0, most: int = 10) -> None:
        if most < 1:
            raise ConfigError(f"most is at least 1; got {most}.")
        self.epsilon, self.most = epsilon, most

    @property
    def release(self) -> LaplaceRelease:
        """The one road for epsilon: `fit` draws with it, and the card composes its event."""
        return LaplaceRelease(self.epsilon, self.most, 0, _PEOPLE, 1, changes=self.most)

    @property
    def event(self) -> Event:
        return self.release.event

    def fit(self, ratings: Ratings) -> NoisyTop:
        self._learn_items(ratings)
        self.counts_: Floats = self.release(self.counts(ratings))
        return self

    def counts(self, ratings: Ratings) -> NDArray[np.int64]:
        """(n_items,) likes, of each person at most `most`, by the order of items."""
        likes = ratings.where(ratings.likes)
        place = np.arange(len(likes)) - likes.offsets[likes.users]
        return np.bincount(likes.items[place < self.most], minlength=ratings.n_items)

    def _score(self, history: History) -> Floats:
        return self.counts_

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (card(self),)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"counts": self.counts_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.counts_ = read_array(arrays, "counts", len(self.item_ids_))


def card(model: NoisyTop) -> Guarantee:
    """What a fit with these settings promises."""
    from tacit.accounting import PureAccountant

    epsilon = PureAccountant().add(model.event).epsilon(0.0)
    return Guarantee(
        name="Noisy top: one noisy count of likes",
        sentence=f"The list is {epsilon:g}-differentially private for each person's whole profile.",
        protects="one person's whole profile, present or absent",
        adjacency=Adjacency("user", "add or remove"),
        against="everybody who has the list or the model file and knows all other ratings",
        trust=Trust.PLATFORM,
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=0.0,
        lifetime="per fit: fitting again on the same people spends again",
        assumptions=("The list of items is public.",),
        not_covered=("What the platform itself knows.",),
        sources=("Dwork, McSherry, Nissim, Smith (TCC 2006)",),
    )
