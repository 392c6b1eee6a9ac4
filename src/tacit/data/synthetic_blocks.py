"""A generated population that likes items by class and cluster: a bipartite stochastic block model.

Model    Each person belongs to one class and each item to one cluster; a person has rated a random
         set of items, all sets of the size equally likely, and likes a rated item with a chance
         that depends on her class and the item's cluster alone.
Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), section 2.
Use      Experiments. A result on generated people is no evidence about people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError

Floats = NDArray[np.float64]
_CELLS = 4_000_000  # places in the orders held at once


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

    def labels(self, count: int) -> NDArray[np.int64]:
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


@dataclass(frozen=True, eq=False)
class Likes:
    """What people like. items[starts[u]:starts[u + 1]]: item numbers of person u, in no order.

    starts: (users + 1,) int64; items: int64; classes: (users,) class of each person.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)


def draw(
    blocks: Blocks,
    labels: NDArray[np.int64],
    *,
    users: int,
    rated: int,
    seed: int | tuple[int, ...],
) -> Iterator[Likes]:
    """`users` people in parts of some thousands, so that memory does not grow with their number.

    labels: (items,) cluster of each item. rated: items each person has rated.
    """
    if users < 1 or not 1 <= rated <= len(labels):
        raise ConfigError(
            f"People are at least 1 and rate 1 to {len(labels)} items; got {users} and {rated}."
        )
    generator = np.random.default_rng(seed)
    size = max(1, min(users, _CELLS // len(labels)))
    # Any order of the items is as good a start as any other: one array serves all parts.
    order = np.tile(np.arange(len(labels), dtype=np.int64), (size, 1))
    for start in range(0, users, size):
        part = min(size, users - start)
        chosen = _subset(order[:part], rated, generator)
        classes = np.searchsorted(np.cumsum(blocks.people), generator.random(part), side="right")
        classes = np.minimum(classes, len(blocks.people) - 1)
        liked = generator.random(chosen.shape) < blocks.likes[classes[:, None], labels[chosen]]
        starts = np.concatenate([[0], np.cumsum(liked.sum(axis=1))])
        yield Likes(starts, chosen[liked], classes)


def _subset(
    order: NDArray[np.int64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """(rows, count) the first of each row after so many swaps of Fisher and Yates, in place."""
    width, rows = order.shape[1], np.arange(len(order))
    if count < width:
        for place in range(count):
            other = generator.integers(place, width, size=len(order))
            order[rows, other], order[:, place] = order[:, place].copy(), order[rows, other]
    return order[:, :count]
