"""PRS, PNSA and PNCF with a sensitivity that holds: the range of a similarity. Proved, costly.

Source   the X-Map paper's mechanisms; constant global sensitivity, candidates that are the whole
         public catalogue, and every draw counted, in place of its similarity-based sensitivity.
Runs at  the platform.
Sees     everybody's ratings.
Releases for every source item an image, for every target item k neighbours with noisy similarities.
Guarantee  (epsilon, delta) for one person's whole profile, added or removed. They can move every
         similarity, so all images and all tables add up, as zCDP or, at delta 0, as pure epsilons.
Why it stays  it shows what the paper's mechanisms cost when they are private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant, ZCDPAccountant, smallest_noise
from tacit.accounting.events import Composed, DiscreteLaplace, Event, Exponential, NonPrivate, TopK
from tacit.designs.xmap.baseliner import baseline
from tacit.designs.xmap.generator import RESOLUTION, Profiles
from tacit.designs.xmap.recommender import ItemNeighbours
from tacit.designs.xmap.theory import SPREAD
from tacit.errors import ConfigError
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.topk import TopSelection
from tacit.randomness import Source

Floats = NDArray[np.float64]
_CELLS = 1 << 22


@dataclass(frozen=True)
class Plan:
    """How a total is dealt out: the same nats for each image and each table of neighbours.

    images, tables: how many are drawn, over all targets; k: neighbours in a table. All public.
    """

    images: int
    tables: int
    k: int
    epsilon: float
    delta: float

    def event(self, each: float) -> Event:
        """Everything, at so many nats for one image or one table (half to draw, half for noise)."""
        if math.isinf(each):
            return NonPrivate()
        parts: list[tuple[Event, int]] = [
            (Exponential(each), self.images),
            (TopK(self.k, each / (2 * self.k)), self.tables),
            (DiscreteLaplace(2 / each), self.tables),
        ]
        return Composed(tuple(part for part in parts if part[1]))

    @property
    def each(self) -> float:
        """Nats for one image or one table."""
        if math.isinf(self.epsilon):
            return math.inf
        accountant = ZCDPAccountant if self.delta else PureAccountant
        noise = smallest_noise(
            lambda noise: self.event(1 / noise),
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=accountant,
        )
        return 1 / noise


def constant_neighbours(
    profiles: Profiles,
    means: Floats,
    *,
    k: int,
    significance: int,
    epsilon: float,
    source: Source,
) -> ItemNeighbours:
    """Every target item's neighbours out of all others. epsilon: nats for ONE item's table."""
    m = len(means)
    if m <= k:
        raise ConfigError(f"k neighbours need more than k target items; got k={k} and {m} items.")
    mechanisms = _mechanisms(m - 1, k, epsilon)
    items, similarities = np.empty((m, k), dtype=np.int32), np.empty((m, k))
    height = max(1, _CELLS // m)
    table = baseline(profiles.stars).table.values
    pattern = profiles.matrix(np.ones(profiles.stars.nnz))
    lengths = np.sqrt(np.bincount(table.indices, table.data**2, minlength=m))
    for start in range(0, m, height):
        part = np.arange(start, min(m, start + height))
        products = lengths[part][:, None] * lengths
        found = np.divide(
            (table[:, part].T @ table).toarray(),
            products,
            out=np.zeros(products.shape),
            where=products > 0,
        )
        if significance:
            both = (pattern[:, part].T @ pattern).toarray()
            found *= np.minimum(both, significance) / significance
        others = np.arange(m) != part[:, None]
        scores = np.clip(found[others].reshape(len(part), m - 1), -1.0, 1.0)
        select, noise = mechanisms
        places = select(scores, source)
        items[part] = places + (places >= part[:, None])  # the item itself is no candidate
        noisy = noise(np.take_along_axis(scores, places, axis=1))
        similarities[part] = np.clip(noisy, -1.0, 1.0)  # after the release, so free
    return ItemNeighbours(means, items, similarities)


def _mechanisms(candidates: int, k: int, epsilon: float) -> tuple[TopSelection, LaplaceRelease]:
    one = Selection(epsilon / (2 * k), candidates, SPREAD, -1.0, 1.0, RESOLUTION)
    noise = LaplaceRelease(epsilon / 2, SPREAD * k, -1.0, 1.0, RESOLUTION, changes=k)
    return TopSelection(k, one), noise
