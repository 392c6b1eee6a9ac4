"""Generated ratings of two kinds: likes by classes of people, and stars in two domains of items.

Likes are drawn from a bipartite stochastic block model: each person belongs to one class and each
item to one cluster. A person has rated a random set of items, all sets of the same size equally
likely, and likes a rated item with a chance that depends only on the class and the cluster.
Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), section 2.

Stars are given in two domains of items, by the same people with the same tastes:
Model    r = m_i + b_u + <q_i, x_u> + noise, rounded to 1..5 stars. x_u: one standard normal taste
         per factor, the same in both domains; q_i: Gaussian, the variance of factor f in proportion
         to f^-DECAY, all factors together one star (standard deviation); b_u: how mildly a person
         judges. Popular items are rated a little higher.
Who rates what   A person's number of ratings is 5 plus a log-normal number. They draw items
         without replacement, with weights (rank + shift)^-SKEW * exp(pull <k_i, x_u>). Ranks
         count from 1 within each domain (Zipf-Mandelbrot), and k_i is correlated with q_i: people
         rate what they like. `shift`, `pull` and `overlap` are arguments of `generate_domains`.
         With an overlap below 1, some people rate in one domain only.
Limits   A result on generated people is no evidence about people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.synthetic import draw_items, label_items, mix_correlated
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Items = NDArray[np.int32]
_ITEM_NUMBERS_AT_ONCE = 1_000_000
"""Number of item numbers that are in memory at once while likes are drawn."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A bipartite stochastic block model.

    Raises:
        ConfigError: A share is not above 0, shares do not add up to 1, or chances have another
            shape or lie outside [0, 1].
    """

    people: Floats
    """(K,) share of the people that each class has; the shares add up to 1."""
    items: Floats
    """(L,) share of the items that each cluster has; the shares add up to 1."""
    likes: Floats
    """(K, L) chance that a person of a class likes a rated item of a cluster."""

    def __post_init__(self) -> None:
        for name in ("people", "items", "likes"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        for what, shares in (("people", self.people), ("items", self.items)):
            if shares.ndim != 1 or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
                raise ConfigError(f"Shares of {what} are above 0 and add up to 1.")
        shape = (len(self.people), len(self.items))
        if self.likes.shape != shape or not ((self.likes >= 0) & (self.likes <= 1)).all():
            raise ConfigError(
                f"Likes are chances from 0 to 1, one for each pair of one of {shape[0]} classes of "
                f"people and one of {shape[1]} item clusters."
            )

    def labels(self, count: int) -> Ints:
        """Assign `count` items to the clusters, each of which gets its share.

        Returns:
            (count,) the cluster of each item, sorted: 0, 0, ..., 1, 1, ...

        Raises:
            ConfigError: A cluster would have no item.
        """
        ends = np.round(np.cumsum(self.items) * count).astype(np.int64)
        labels = np.searchsorted(ends, np.arange(count), side="right")
        if len(np.unique(labels)) < len(self.items):
            raise ConfigError(f"{count} items are too few for {len(self.items)} clusters.")
        return labels


def example_blocks(clusters: int) -> Blocks:
    """Make a model in which each class of people has a favourite item cluster.

    There are as many classes as clusters, all of the same size. With two, the chances of a like
    are [[.9, .2], [.3, .8]]. With more, the chance in cluster l is .2 + s_l, and .6 + 2 s_l for the
    class whose favourite it is, where s_l grows evenly over the clusters from 0 to .2. If all
    clusters had the same chances, they could not be distinguished.

    Args:
        clusters: Number of classes and of clusters.

    Raises:
        ConfigError: There are fewer than two clusters.
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
    """Likes of some people: person u likes items[starts[u]:starts[u + 1]]."""

    starts: Ints
    """(users + 1,) where each person's likes start in `items`, then the number of all likes."""
    items: Ints
    """(likes,) numbers of liked items, one person after the other. A person's are in random order,
    or ascending if everybody has rated all items."""
    classes: Ints
    """(users,) class of each person."""
    rated: Ints
    """(users, rated) numbers of the items that each person has rated, in random order, or ascending
    if these are all items."""

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        """Show the sizes, but no person's likes."""
        return f"Likes({len(self.items):,} likes of {len(self):,} people)"


def draw_likes(
    blocks: Blocks, labels: Ints, *, users: int, rated: int, seed: int | tuple[int, ...]
) -> Iterator[Likes]:
    """Draw people and their likes, a part of the people at a time.

    The parts are of limited size, so that the memory does not grow with the number of people.

    Args:
        blocks: The model.
        labels: (items,) cluster of each item.
        users: Number of people.
        rated: Number of items that each person has rated.
        seed: Seed of the draws.

    Yields:
        The likes of the next people; all parts together have `users` people.

    Raises:
        ConfigError: A number is out of its range.
    """
    if users < 1 or not 1 <= rated <= len(labels):
        raise ConfigError(
            f"People are at least 1 and rate 1 to {len(labels)} items; got {users} and {rated}."
        )
    generator = np.random.default_rng(seed)
    # A draw with replacement has no repeats with a chance of about
    # exp(-rated (rated - 1) / (2 items)). If this is at least 1 / e, drawing again is cheap.
    are_few = rated * (rated - 1) <= 2 * len(labels)
    numbers_per_person = rated if are_few else len(labels)
    people_at_once = max(1, min(users, _ITEM_NUMBERS_AT_ONCE // numbers_per_person))
    # A shuffle may start from any order of the items, so one array serves all parts of the people.
    order = None
    if not are_few:
        order = np.tile(np.arange(len(labels), dtype=np.int32), (people_at_once, 1))
    chances = blocks.likes[:, labels].ravel().astype(np.float32)  # (K * items,)
    for start in range(0, users, people_at_once):
        people = min(people_at_once, users - start)
        if order is None:
            chosen = _draw_few_items(len(labels), (people, rated), generator)
        else:
            chosen = _draw_many_items(order[:people], rated, generator)
        classes = np.searchsorted(np.cumsum(blocks.people), generator.random(people), side="right")
        classes = np.minimum(classes, len(blocks.people) - 1)
        indices = chosen  # into `chances`; with one class these are the numbers of the items
        if len(blocks.people) > 1:
            indices = chosen + classes[:, None] * len(labels)
        is_liked = generator.random(chosen.shape, dtype=np.float32) < chances[indices]
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(is_liked, axis=1))])
        rated_items = chosen.astype(np.int64)
        yield Likes(starts, rated_items[is_liked], classes, rated_items)


def _draw_few_items(items: int, shape: tuple[int, int], generator: np.random.Generator) -> Items:
    """Draw a random set of a few items for each person, all sets equally likely.

    Numbers are drawn with replacement, and drawn again for a person who got a number twice.

    Args:
        items: Number of items.
        shape: Number of people, and of items in a set.
        generator: Source of random numbers.

    Returns:
        (people, items in a set) numbers of items, in random order.
    """
    chosen = np.empty(shape, dtype=np.int32)
    rows_to_draw = np.arange(shape[0])
    while len(rows_to_draw):
        drawn = generator.integers(items, size=(len(rows_to_draw), shape[1]), dtype=np.int32)
        chosen[rows_to_draw] = drawn
        drawn.sort(axis=1)
        has_repeat = (drawn[:, 1:] == drawn[:, :-1]).any(axis=1)
        rows_to_draw = rows_to_draw[has_repeat]
    return chosen


def _draw_many_items(order: Items, count: int, generator: np.random.Generator) -> Items:
    """Draw a random set of many items for each person, by the swaps of Fisher and Yates.

    Args:
        order: (people, items) in each row the numbers of all items, in any order; changed in place.
        count: Number of items in a set.
        generator: Source of random numbers.

    Returns:
        (people, count) numbers of items, a view of `order`. They are in random order, unless
        `count` is the number of all items.
    """
    rows = np.arange(len(order))
    if count < order.shape[1]:
        for place in range(count):
            other = generator.integers(place, order.shape[1], size=len(order))
            order[rows, other], order[:, place] = order[:, place].copy(), order[rows, other]
    return order[:, :count]


SCALE = RatingScale(1, 5, 1)
"""Scale of the stars of `generate_domains`."""
DOMAINS = ("source", "target")
"""Names of the two domains of `generate_domains`."""
MEAN = 3.4
"""Mean over items of m_i, in stars."""
MEAN_SPREAD = 0.5
"""Standard deviation over items of m_i, in stars."""
NOISE = 0.5
"""Standard deviation of the noise of a single rating, in stars."""
FACTORS = 10
"""Number of latent factors of tastes."""
DECAY = 1.5
"""The variance of factor f is in proportion to f^-DECAY."""
SKEW = 1.2
"""The popularity of an item is in proportion to (rank + shift)^-SKEW."""
FAME_CORRELATION = 0.36
"""Correlation of m_i with the logarithm of the item's popularity."""
MILDNESS = 0.42
"""Standard deviation over people of b_u, in stars."""
TASTE_CORRELATION = 0.6
"""Correlation of k_i, by which an item is chosen, with q_i, by which it is liked."""
FEWEST_RATINGS = 5
"""Least number of ratings of a person."""
ACTIVITY_SPREAD = 0.5
"""Standard deviation over people of the logarithm of their number of ratings above the fewest."""

FILMS: Mapping[str, Any] = {
    "items": (1500, 1500),
    "ratings_per_user": 80.0,
    "pull": 0.35,
    "shift": 20.0,
    "labels": 18,
}
"""Arguments with which `films` calls `generate_domains`; the other ones have their defaults."""


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
    """Generate ratings in two domains of items.

    The item metadata "domain" is "source" for the first items and "target" for the others. Ids are
    0, 1, ... An item that nobody chose is in the catalogue without a rating.

    Args:
        users: Number of people.
        items: Number of items in the source and in the target domain.
        ratings_per_user: Mean number of ratings of a person, in both domains together. A person has
            at most as many ratings as the smaller domain has items; this limit lowers the mean.
        shift: Number of items at the top of each domain that are about equally popular.
        pull: How much tastes affect which items are rated; 0: not at all.
        overlap: Chance that a person chooses among the items of both domains. Each of the others
            rates in one domain, drawn at random.
        labels: Number of different labels in the item metadata "genres", one to three for each
            item, joined by '|'; 0: no such metadata. Labels do not change the ratings.
        seed: Seed of all draws.

    Raises:
        ConfigError: A number is out of its range.
    """
    if users < 1 or len(items) != 2 or min(items) < 1 or labels < 0:
        raise ConfigError("People and items of either domain are 1 or more, labels 0 or more.")
    if not FEWEST_RATINGS <= ratings_per_user <= min(items):
        raise ConfigError(
            f"ratings_per_user lies between {FEWEST_RATINGS} and the number of items of the "
            f"smaller domain; got {ratings_per_user}."
        )
    if not (np.isfinite([shift, pull]).all() and min(shift, pull) >= 0 and 0 <= overlap <= 1):
        raise ConfigError("shift and pull are finite and 0 or more, overlap is from 0 to 1.")
    population_seed, choice_seed, star_seed, label_seed = np.random.SeedSequence(seed).spawn(4)
    person_rng, item_rng = map(np.random.default_rng, population_seed.spawn(2))
    item_factors = item_rng.standard_normal((sum(items), FACTORS))
    attraction = pull * item_factors  # pull k_i, log weight per unit of taste
    liked_factors = mix_correlated(
        item_factors, item_rng.standard_normal(item_factors.shape), TASTE_CORRELATION
    )
    ranks = np.concatenate([item_rng.permutation(number) for number in items])
    popularity = -SKEW * np.log(ranks + 1 + shift)  # log weight
    fame = (popularity - popularity.mean()) / max(float(popularity.std()), 1e-12)
    means = mix_correlated(fame, item_rng.standard_normal(sum(items)), FAME_CORRELATION)
    # The mean of a log-normal number with mean -s^2 / 2 and variance s^2 of its logarithm is 1.
    activity = person_rng.lognormal(-(ACTIVITY_SPREAD**2) / 2, ACTIVITY_SPREAD, users)
    extra = activity * (ratings_per_user - FEWEST_RATINGS)
    counts = np.clip(np.round(FEWEST_RATINGS + extra), 1, min(items)).astype(np.int64)
    variances = np.arange(1, FACTORS + 1, dtype=np.float64) ** -DECAY
    profiles = liked_factors * np.sqrt(variances / variances.sum())  # q_i, stars per unit of taste
    rates_in_one = person_rng.random(users) >= overlap
    tastes = person_rng.standard_normal((users, FACTORS))
    # The domain in which a person rates nothing; -1: they rate in both.
    skipped_domain = np.where(rates_in_one, person_rng.integers(0, 2, users), -1)
    domain = np.repeat(np.arange(2), items)

    def log_weights(part: slice) -> Floats:
        """Compute the log weights of all items for some people: (people, items)."""
        weights: Floats = tastes[part] @ attraction.T + popularity
        weights[skipped_domain[part, None] == domain] = -np.inf
        return weights

    columns = draw_items(log_weights, sum(items), counts, choice_seed, in_order=True)
    rows = np.repeat(np.arange(users), counts)
    generator = np.random.default_rng(star_seed)
    stars = (MEAN + MEAN_SPREAD * means)[columns] + NOISE * generator.standard_normal(len(rows))
    stars += MILDNESS * generator.standard_normal(users)[rows]
    for factor in range(FACTORS):  # one at a time: (ratings, factors) numbers need much memory
        stars += tastes[rows, factor] * profiles[columns, factor]
    metadata: dict[str, Column] = {"domain": np.array(DOMAINS, dtype=object)[domain]}
    if labels:
        metadata["genres"] = label_items(attraction, labels, label_seed)
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
    """Generate ratings in two domains in which choices follow tastes, as in catalogues of films.

    Args:
        users: Number of people.
        seed: Seed of all draws.
    """
    return generate_domains(users, seed=seed, **FILMS)
