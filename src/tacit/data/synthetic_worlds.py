"""Generated ratings: of one population with classes and clusters, and in two domains of items.

Populations, a bipartite stochastic block model: each person belongs to one class and each item to
one cluster. A person has rated a random set of items, all sets of the size equally likely, and
likes a rated item with a chance that depends on class and cluster alone.
Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), section 2.

Two domains of items that share people and tastes:
Model    r = m_i + b_u + <q_i, x_u> + noise, rounded to 1..5 stars. x_u: one standard normal taste
         per factor, the same in both domains; q_i: Gaussian, the variance of factor f in proportion
         to f^-DECAY, all factors together one star (standard deviation); b_u: how mild a person
         judges. Popular items are rated a little higher.
Who rates what   A person's number of ratings is 5 or more, log-normal above it. They draw items
         without replacement, an item's weight being (rank + shift)^-SKEW * exp(pull <k_i, x_u>),
         with ranks from 1 within each domain (Zipf-Mandelbrot) and k_i correlated with q_i: people
         rate what they like. A person of one domain only draws from that one.
A result on generated people is no evidence about people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.synthetic import draw_items, label_items
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Items = NDArray[np.int32]
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
        shape = (len(self.people), len(self.items))
        if self.likes.shape != shape or not ((self.likes >= 0) & (self.likes <= 1)).all():
            raise ConfigError(
                f"Likes are chances, one for each of {shape[0]} classes of people and {shape[1]} "
                "item clusters."
            )

    def labels(self, count: int) -> Ints:
        """(count,) item labels 0, 0, ..., 1, 1, ...: each cluster has its share, none is empty."""
        ends = np.round(np.cumsum(self.items) * count).astype(np.int64)
        labels = np.searchsorted(ends, np.arange(count), side="right")
        if len(np.unique(labels)) < len(self.items):
            raise ConfigError(f"{count} items are too few for {len(self.items)} clusters.")
        return labels


def example(clusters: int) -> Blocks:
    """Make as many classes of people as item clusters, all equally large, each with a favourite.

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
    """Likes of people. items[starts[u]:starts[u + 1]]: item numbers of person u, in no order.

    starts: (users + 1,) int64; items: int64; classes: (users,) class of each person; rated: (users,
    rated) int64, the items that each has rated, in random order.
    """

    starts: Ints
    items: Ints
    classes: Ints
    rated: Ints

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        """Sizes. No person's likes."""
        return f"Likes({len(self.items):,} likes of {len(self):,} people)"


def draw(
    blocks: Blocks, labels: Ints, *, users: int, rated: int, seed: int | tuple[int, ...]
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
            chosen = _draw_few_items(len(labels), (part, rated), generator)
        else:
            chosen = _draw_many_items(order[:part], rated, generator)
        classes = np.searchsorted(np.cumsum(blocks.people), generator.random(part), side="right")
        classes = np.minimum(classes, len(blocks.people) - 1)
        own = chosen if len(blocks.people) == 1 else chosen + classes[:, None] * len(labels)
        liked = generator.random(chosen.shape, dtype=np.float32) < chances[own]
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(liked, axis=1))])
        rated_items = chosen.astype(np.int64)
        yield Likes(starts, rated_items[liked], classes, rated_items)


def _draw_few_items(items: int, shape: tuple[int, int], generator: np.random.Generator) -> Items:
    """Draw random sets of a few items, all equally likely.

    Numbers are drawn with replacement, and again for a person who got one of them twice.
    """
    chosen = np.empty(shape, dtype=np.int32)
    open_rows = np.arange(shape[0])
    while len(open_rows):
        drawn = generator.integers(items, size=(len(open_rows), shape[1]), dtype=np.int32)
        chosen[open_rows] = drawn
        drawn.sort(axis=1)
        open_rows = open_rows[(drawn[:, 1:] == drawn[:, :-1]).any(axis=1)]
    return chosen


def _draw_many_items(order: Items, count: int, generator: np.random.Generator) -> Items:
    """Draw random sets of many of the items, by the swaps of Fisher and Yates.

    order: (people, items) numbers of all items, changed in place.
    """
    rows = np.arange(len(order))
    if count < order.shape[1]:
        for place in range(count):
            other = generator.integers(place, order.shape[1], size=len(order))
            order[rows, other], order[:, place] = order[:, place].copy(), order[rows, other]
    return order[:, :count]


SCALE = RatingScale(1, 5, 1)
DOMAINS = ("source", "target")
MEAN, MEAN_SPREAD, NOISE = 3.4, 0.5, 0.5  # of items; sd of what chance adds: stars
FACTORS, DECAY = 10, 1.5  # of tastes; how fast they weaken
SKEW = 1.2  # of popularity
ALONG_FAME = 0.36  # correlation of an item's mean with its log popularity
MILDNESS = 0.42  # sd over people, stars
ALONG_TASTE = 0.6  # correlation of why an item is chosen and how it is liked
FEWEST, ACTIVITY = 5, 0.5  # ratings of the least active; sd of log activity

FILMS: Mapping[str, Any] = {
    "items": (1500, 1500),
    "ratings_per_user": 80.0,
    "pull": 0.35,
    "shift": 20.0,
    "labels": 18,
}
"""Of `films`: what differs from the defaults of `generate_domains`."""


def generate_domains(
    users: int,
    items: tuple[int, int] = (1000, 1000),
    ratings_per_user: float = 30.0,
    *,
    shift: float = 0.0,
    pull: float = 0.1,
    overlap: float = 1.0,
    labels: int = 0,
    seed: int,
) -> Ratings:
    """Ratings with item_metadata["domain"], "source" for the first items and "target" for the rest.

    ratings_per_user  mean over people, in both domains together
    shift             about so many items at the top are equally popular; 0: none
    pull              how far tastes decide what is rated; 0: not at all
    overlap           share of people who rate in both domains; the others are split evenly
    labels            how many labels there are; with 1 or more, item_metadata["genres"] has one to
                      three of each item, joined by '|'. Labels change nothing else
    The ids are 0, 1, ...; an item that nobody chose has no rating and still is in the catalogue.
    """
    if users < 1 or len(items) != 2 or min(items) < 1 or labels < 0:
        raise ConfigError("People and items of either domain are 1 or more, labels 0 or more.")
    if not FEWEST <= ratings_per_user <= min(items):
        raise ConfigError(
            f"ratings_per_user lies between {FEWEST} and the items of the smaller domain; got "
            f"{ratings_per_user}."
        )
    if not (np.isfinite([shift, pull]).all() and min(shift, pull) >= 0 and 0 <= overlap <= 1):
        raise ConfigError("shift and pull are finite and 0 or more, overlap is a share of 1.")
    of_world, of_choices, of_stars, of_labels = np.random.SeedSequence(seed).spawn(4)
    person, item = map(np.random.default_rng, of_world.spawn(2))
    kinds = item.standard_normal((sum(items), FACTORS))
    pulls = pull * kinds  # log weight per unit of taste
    liked = ALONG_TASTE * kinds + np.sqrt(1 - ALONG_TASTE**2) * item.standard_normal(kinds.shape)
    ranks = np.concatenate([item.permutation(number) for number in items])
    popularity = -SKEW * np.log(ranks + 1 + shift)
    fame = (popularity - popularity.mean()) / max(float(popularity.std()), 1e-12)
    means = ALONG_FAME * fame + np.sqrt(1 - ALONG_FAME**2) * item.standard_normal(sum(items))
    extra = person.lognormal(-(ACTIVITY**2) / 2, ACTIVITY, users) * (ratings_per_user - FEWEST)
    counts = np.clip(np.round(FEWEST + extra), 1, min(items)).astype(np.int64)
    weakening = np.arange(1, FACTORS + 1, dtype=np.float64) ** -DECAY
    profiles = liked * np.sqrt(weakening / weakening.sum())  # stars per unit of taste
    single = person.random(users) >= overlap
    tastes = person.standard_normal((users, FACTORS))
    barred = np.where(single, person.integers(0, 2, users), -1)  # never rated in
    domain = np.repeat(np.arange(2), items)

    def keys(part: slice) -> Floats:
        weights: Floats = tastes[part] @ pulls.T + popularity
        weights[barred[part, None] == domain] = -np.inf
        return weights

    columns = draw_items(keys, sum(items), counts, of_choices, in_order=True)
    rows = np.repeat(np.arange(users), counts)
    generator = np.random.default_rng(of_stars)
    stars = (MEAN + MEAN_SPREAD * means)[columns] + NOISE * generator.standard_normal(len(rows))
    stars += MILDNESS * generator.standard_normal(users)[rows]
    for factor in range(FACTORS):  # one at a time: (ratings, factors) would be big
        stars += tastes[rows, factor] * profiles[columns, factor]
    metadata: dict[str, Column] = {"domain": np.array(DOMAINS, dtype=object)[domain]}
    if labels:
        metadata["genres"] = label_items(pulls, labels, of_labels)
    return Ratings(
        users=rows.astype(np.int32),
        items=columns.astype(np.int32),
        values=np.clip(np.round(stars), SCALE.minimum, SCALE.maximum),
        timestamps=None,
        user_ids=np.arange(users, dtype=np.int64),
        item_ids=np.arange(sum(items), dtype=np.int64),
        scale=SCALE,
        item_metadata=metadata,
    )


def films(users: int, *, seed: int = 1) -> Ratings:
    """The world `FILMS`: choices follow tastes as much as in real catalogues of films."""
    return generate_domains(users, seed=seed, **FILMS)
