"""A generated population that likes items by class and cluster: a bipartite stochastic block model.

Model    Each person belongs to one class and each item to one cluster; a person has rated a random
         set of items, all sets of the size equally likely, and likes a rated item with a chance
         that depends on their class and the item's cluster alone.
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
_CELLS = 1_000_000  # numbers of items held at once


@dataclass(frozen=True, eq=False)
class Blocks:
    """A bipartite stochastic block model.

    people: (K,) shares of the classes of people. items: (L,) shares of the item clusters.
    likes: (K, L) chances that a person likes an item that they rated.
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
    the first cluster to the last: without such slopes, clusters cannot be distinguished.
    """
    if clusters < 2:
        raise ConfigError(f"Clusters are at least 2; got {clusters}.")
    shares = np.full(clusters, 1 / clusters)
    if clusters == 2:
        return Blocks(shares, shares, np.array([[0.9, 0.2], [0.3, 0.8]]))
    slope = 0.2 * np.arange(clusters) / (clusters - 1)
    likes = 0.2 + np.diag(0.4 + slope) + slope
    return Blocks(shares, shares, np.minimum(likes, 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class Likes:
    """What people like. items[starts[u]:starts[u + 1]]: item numbers of person u, in no order.

    starts: (users + 1,) int64; items: int64; classes: (users,) class of each person; rated: (users,
    rated) int64, the items that each has rated, in random order.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    classes: NDArray[np.int64]
    rated: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        """Sizes. No person's likes."""
        return f"Likes({len(self.items):,} likes of {len(self):,} people)"


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
    again = rated * (rated - 1) <= 2 * len(labels)  # then at least one set in e is kept
    most = max(1, min(users, _CELLS // (rated if again else len(labels))))
    # Any order of the items is as good a start as any other: one array serves all parts.
    order = None if again else np.tile(np.arange(len(labels), dtype=np.int32), (most, 1))
    chances = blocks.likes[:, labels].ravel().astype(np.float32)
    for start in range(0, users, most):
        part = min(most, users - start)
        if order is None:
            chosen = _drawn_again(len(labels), (part, rated), generator)
        else:
            chosen = _swapped(order[:part], rated, generator)
        classes = np.searchsorted(np.cumsum(blocks.people), generator.random(part), side="right")
        classes = np.minimum(classes, len(blocks.people) - 1)
        own = chosen if len(blocks.people) == 1 else chosen + classes[:, None] * len(labels)
        liked = generator.random(chosen.shape, dtype=np.float32) < chances[own]
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(liked, axis=1))])
        rated_items = chosen.astype(np.int64)
        yield Likes(starts, rated_items[liked], classes, rated_items)


def _drawn_again(
    items: int, shape: tuple[int, int], generator: np.random.Generator
) -> NDArray[np.int32]:
    """Random sets of a few items, all equally likely: numbers are drawn with replacement, and again
    for a person who got one of them twice. What is left is as random as before."""
    chosen = np.empty(shape, dtype=np.int32)
    open_rows = np.arange(shape[0])
    while len(open_rows):
        drawn = generator.integers(items, size=(len(open_rows), shape[1]), dtype=np.int32)
        chosen[open_rows] = drawn
        drawn.sort(axis=1)
        open_rows = open_rows[(drawn[:, 1:] == drawn[:, :-1]).any(axis=1)]
    return chosen


def _swapped(
    order: NDArray[np.int32], count: int, generator: np.random.Generator
) -> NDArray[np.int32]:
    """The same for many of the items, by the swaps of Fisher and Yates; order: (people, items)."""
    rows = np.arange(len(order))
    if count < order.shape[1]:
        for place in range(count):
            other = generator.integers(place, order.shape[1], size=len(order))
            order[rows, other], order[:, place] = order[:, place].copy(), order[rows, other]
    return order[:, :count]
