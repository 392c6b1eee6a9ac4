"""A world to count people in: classes of people, clusters of items, chances of a like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blocks:
    """A bipartite stochastic block model.

    people: (K,) shares of the classes of people. items: (L,) shares of the item clusters.
    likes: (K, L) chances that a person likes an item that she rated.
    """

    people: Floats
    items: Floats
    likes: Floats

    def __post_init__(self) -> None:
        for name in ("people", "items", "likes"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        for what, shares in (("people", self.people), ("items", self.items)):
            if shares.ndim != 1 or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
                raise ConfigError(f"Shares of {what} are above 0 and add up to 1.")
        fits = self.likes.shape == (len(self.people), len(self.items))
        if not fits or not ((self.likes >= 0) & (self.likes <= 1)).all():
            raise ConfigError(
                f"Likes are chances, one for each of {len(self.people)} classes of people and "
                f"{len(self.items)} item clusters."
            )

    def rows(self, count: int) -> NDArray[np.int64]:
        """(count,) item labels 0, 0, ..., 1, 1, ...: each cluster has its share, none is empty."""
        ends = np.round(np.cumsum(self.items) * count).astype(np.int64)
        labels = np.searchsorted(ends, np.arange(count), side="right")
        if len(np.unique(labels)) < len(self.items):
            raise ConfigError(f"{count} items are too few for {len(self.items)} clusters.")
        return labels


def example(clusters: int) -> Blocks:
    """As many classes of people as item clusters, all equally large; each class has its favourite.

    Two: [[.9, .2], [.3, .8]]. More: .2, and .4 to .6 more for the favourite, and up to .2 more from
    the first cluster to the last: without such slopes, clusters cannot be told apart.
    """
    if clusters < 2:
        raise ConfigError(f"Clusters are at least 2; got {clusters}.")
    shares = np.full(clusters, 1 / clusters)
    if clusters == 2:
        return Blocks(shares, shares, np.array([[0.9, 0.2], [0.3, 0.8]]))
    slope = 0.2 * np.arange(clusters) / (clusters - 1)
    likes = 0.2 + np.diag(0.4 + slope) + slope
    return Blocks(shares, shares, np.minimum(likes, 1.0))
