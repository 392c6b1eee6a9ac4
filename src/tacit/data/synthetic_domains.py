"""Generated ratings in two domains of items that share people and tastes.

Model    r = m_i + b_u + <q_i, x_u> + noise, rounded to 1..5 stars. x_u: one standard normal taste
         per factor, the same in both domains; q_i: Gaussian, the variance of factor f in proportion
         to f^-decay, all factors together `taste` stars (standard deviation); b_u: how mild a
         person judges.
Who rates what   A person's number of ratings is 5 or more, log-normal above it. They draw items
         without replacement, an item's weight being (rank + shift)^-skew * exp(pull <k_i, x_u>),
         with ranks from 1 within each domain (Zipf-Mandelbrot) and k_i correlated with q_i: people
         rate what they like. A person of one domain only draws from that one.
Popular items are rated a little higher. A result on generated ratings is no evidence about people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.synthetic_labels import check_labels, label_items
from tacit.errors import ConfigError

SCALE = RatingScale(1, 5, 1)
DOMAINS = ("source", "target")
MEAN, MEAN_SPREAD = 3.4, 0.5  # of items, stars
ALONG_FAME = 0.36  # correlation of an item's mean with its log popularity
MILDNESS = 0.42  # sd over people, stars
ALONG_TASTE = 0.6  # correlation of why an item is chosen and how it is liked
FEWEST, ACTIVITY = 5, 0.5  # ratings of the least active; sd of log activity
_CELLS = 2_000_000  # weights held at once while drawing

FILMS: Mapping[str, Any] = {
    "items": (1500, 1500),
    "ratings_per_user": 80.0,
    "pull": 0.35,
    "skew": 1.2,
    "shift": 20.0,
    "labels": 18,
}
"""Of `films`: what differs from the defaults of `generate_domains`."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _World:
    """What people and items are like, before anyone rates."""

    tastes: Floats  # (users, factors)
    profiles: Floats  # (items, factors) stars
    kinds: Floats  # (items, factors) log weight per unit of taste
    means: Floats  # (items,) stars
    popularity: Floats  # (items,) log weight
    counts: Ints  # (users,) ratings each will give
    barred: NDArray[np.int8]  # (users,) the domain a person never rates in, -1 for none
    domain: NDArray[np.int8]  # (items,)


def generate_domains(
    users: int,
    items: tuple[int, int] = (1000, 1000),
    ratings_per_user: float = 30.0,
    *,
    factors: int = 10,
    taste: float = 1.0,
    decay: float = 1.5,
    noise: float = 0.5,
    skew: float = 1.2,
    shift: float = 0.0,
    pull: float = 0.1,
    overlap: float = 1.0,
    labels: int = 0,
    telling: float = 0.8,
    seed: int,
) -> Ratings:
    """Ratings with item_metadata["domain"], "source" for the first items and "target" for the rest.

    ratings_per_user  mean over people, in both domains together
    decay             how fast the factors weaken; 0: all alike
    taste, noise      sd of what the factors and chance add to a rating, stars
    skew, shift       popularity is (rank + shift)^-skew; skew 0: all items alike; shift: about so
                      many items at the top are alike, 0: none
    pull              how far tastes decide what is rated; 0: not at all
    overlap           share of people who rate in both domains; the others are split evenly
    labels            how many labels there are; with 1 or more, item_metadata["genres"] has one to
                      three of each item, joined by '|'. Labels change nothing else
    telling           how much labels say about why items are chosen; 0: nothing, 1: all
    The ids are 0, 1, ...; an item that nobody chose has no rating and still is in the catalogue.
    """
    strengths = (taste, decay, noise, skew, shift, pull)
    _refuse(users, items, ratings_per_user, factors, strengths, overlap)
    check_labels(labels, telling)
    streams = np.random.SeedSequence(seed).spawn(4)
    world = _world(
        users,
        items,
        ratings_per_user,
        factors,
        taste,
        decay,
        (skew, shift),
        pull,
        overlap,
        streams[0],
    )
    rows, columns = _choices(world, np.random.default_rng(streams[1]))
    stars = _stars(world, rows, columns, noise, np.random.default_rng(streams[2]))
    metadata: dict[str, Column] = {"domain": np.array(DOMAINS, dtype=object)[world.domain]}
    if labels:
        metadata["genres"] = label_items(world.kinds, labels, telling, streams[3])
    return Ratings(
        users=rows.astype(np.int32),
        items=columns.astype(np.int32),
        values=stars,
        timestamps=None,
        user_ids=np.arange(users, dtype=np.int64),
        item_ids=np.arange(sum(items), dtype=np.int64),
        scale=SCALE,
        item_metadata=metadata,
    )


def films(users: int, *, seed: int = 1) -> Ratings:
    """The world `FILMS`: choices follow tastes as much as in real catalogues of films."""
    return generate_domains(users, seed=seed, **FILMS)


def _world(
    users: int,
    items: tuple[int, int],
    ratings_per_user: float,
    factors: int,
    taste: float,
    decay: float,
    skewed: tuple[float, float],
    pull: float,
    overlap: float,
    seed: np.random.SeedSequence,
) -> _World:
    person, item = (np.random.default_rng(child) for child in seed.spawn(2))
    kinds = item.standard_normal((sum(items), factors))
    liked = ALONG_TASTE * kinds + np.sqrt(1 - ALONG_TASTE**2) * item.standard_normal(kinds.shape)
    ranks = np.concatenate([item.permutation(number) for number in items])
    skew, shift = skewed
    popularity = -skew * np.log(ranks + 1 + shift)
    fame = (popularity - popularity.mean()) / max(float(popularity.std()), 1e-12)
    own = item.standard_normal(sum(items))
    extra = person.lognormal(-(ACTIVITY**2) / 2, ACTIVITY, users) * (ratings_per_user - FEWEST)
    counts = np.clip(np.round(FEWEST + extra), 1, min(items)).astype(np.int64)
    strengths = np.arange(1, factors + 1, dtype=np.float64) ** -decay
    single = person.random(users) >= overlap
    return _World(
        tastes=person.standard_normal((users, factors)),
        profiles=liked * taste * np.sqrt(strengths / strengths.sum()),
        kinds=pull * kinds,
        means=MEAN + MEAN_SPREAD * (ALONG_FAME * fame + np.sqrt(1 - ALONG_FAME**2) * own),
        popularity=popularity,
        counts=counts,
        barred=np.where(single, person.integers(0, 2, users), -1).astype(np.int8),
        domain=np.repeat(np.arange(2), items).astype(np.int8),
    )


def _choices(world: _World, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows and columns rated, sorted. The k largest of log weight + Gumbel noise are k draws
    without replacement (Vieira, Gumbel-max trick and weighted reservoir sampling, 2014)."""
    items = len(world.popularity)
    block = max(1, _CELLS // items)
    chosen = []
    for start in range(0, len(world.counts), block):
        part = slice(start, start + block)
        keys = world.tastes[part] @ world.kinds.T + world.popularity
        keys -= np.log(generator.standard_exponential(keys.shape))
        keys[world.barred[part, None] == world.domain] = -np.inf
        for row, count in zip(keys, world.counts[part], strict=True):
            chosen.append(np.sort(np.argpartition(row, items - count)[items - count :]))
    return np.repeat(np.arange(len(world.counts)), world.counts), np.concatenate(chosen)


def _stars(
    world: _World, rows: Ints, columns: Ints, noise: float, generator: np.random.Generator
) -> Floats:
    stars = world.means[columns] + noise * generator.standard_normal(len(rows))
    stars += MILDNESS * generator.standard_normal(len(world.counts))[rows]
    for factor in range(world.tastes.shape[1]):  # one at a time: (ratings, factors) would be big
        stars += world.tastes[rows, factor] * world.profiles[columns, factor]
    whole: Floats = np.clip(np.round(stars), SCALE.minimum, SCALE.maximum)
    return whole


def _refuse(
    users: int,
    items: tuple[int, int],
    ratings_per_user: float,
    factors: int,
    strengths: tuple[float, ...],
    overlap: float,
) -> None:
    if users < 1 or len(items) != 2 or min(items) < 1 or factors < 1:
        raise ConfigError("People, the items of either domain and factors are 1 or more.")
    if not FEWEST <= ratings_per_user <= min(items):
        raise ConfigError(
            f"ratings_per_user lies between {FEWEST} and the items of the smaller domain; got "
            f"{ratings_per_user}."
        )
    if not (np.isfinite(strengths).all() and min(strengths) >= 0):
        raise ConfigError(
            "taste, decay, noise, skew, shift and pull are finite numbers of 0 or more."
        )
    if not 0 <= overlap <= 1:
        raise ConfigError(f"overlap is a share between 0 and 1; got {overlap}.")
