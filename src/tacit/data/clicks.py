"""Contexts and clicks, made from ratings or generated: for experiments with vendors of videos.

From ratings   A context is made of the leading singular vectors of the ratings, centred by person,
         each scaled by rank to [0, 1]. A click is a rating of `liked` stars or more. Nothing here
         protects anybody, and contexts are made of the clicks too: results are somewhat too good.
Source   Li, Chu, Langford, Wang: Unbiased offline evaluation of contextual-bandit-based news
         article recommendation algorithms (WSDM 2011), for the replay that these are made for.
Generated   Video k is liked most at its own point c_k of [0, 1]^d:  mean = LOW + h_k b(|x - c_k| /
         w)  with the bump b(r) = (1 + cos(pi r)) / 2 up to r = 1 and 0 beyond. Widths are such that
         the mean is Lipschitz with the constant L. A click comes with that chance. A result on
         generated clicks is no evidence about people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from scipy.stats import rankdata

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, DataError


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Who saw what, and clicked or not; a row for each rating of one of the videos.

    contexts: (users, d) in [0, 1]. users, arms: (n,) numbers; clicks: (n,) 0 or 1.
    videos: the items that arms stand for.
    """

    contexts: NDArray[np.float64]
    users: NDArray[np.int64]
    arms: NDArray[np.int64]
    clicks: NDArray[np.float64]
    videos: tuple[int | str, ...]

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        """Sizes. No person's row."""
        return (
            f"Log({len(self):,} rows of {len(self.contexts):,} people, {len(self.videos)} videos)"
        )

    def chances(self) -> NDArray[np.float64]:
        """(videos,) how often each is in the log: of a logger who looks at nobody."""
        counts = np.bincount(self.arms, minlength=len(self.videos))
        return np.asarray(counts / max(1, len(self)))


def contexts_of(ratings: Ratings, dimension: int) -> NDArray[np.float64]:
    """(users, dimension) in [0, 1]. The same ratings give the same contexts."""
    most = min(ratings.n_users, ratings.n_items) - 1
    if not 1 <= dimension <= most:
        raise ConfigError(f"These ratings have 1 to {most} factors; {dimension} were asked for.")
    matrix = sparse.csr_matrix(ratings.matrix, dtype=np.float64)
    per_person = np.diff(matrix.indptr)
    means = np.asarray(matrix.sum(axis=1)).ravel() / np.maximum(per_person, 1)
    matrix.data = matrix.data - np.repeat(means, per_person)
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    factors, sizes, _ = svds(matrix, k=dimension, v0=start)
    factors = factors[:, np.argsort(-sizes)]
    largest = np.abs(factors).argmax(axis=0)
    factors = factors * np.sign(factors[largest, np.arange(dimension)])  # one of two signs
    # Equal up to rounding is equal: people without a factor stand in the middle together.
    ranks = rankdata(np.round(factors, 9), axis=0)
    return np.asarray((ranks - 0.5) / ratings.n_users, dtype=np.float64)


def log_of(ratings: Ratings, *, videos: int, dimension: int, liked: float = 4.0) -> Log:
    """The ratings of the `videos` items that most people rated, most first."""
    if not 1 <= videos <= ratings.n_items:
        raise ConfigError(f"These ratings have {ratings.n_items} items; {videos} were asked for.")
    counts = np.bincount(ratings.items, minlength=ratings.n_items)
    chosen = np.argsort(-counts, kind="stable")[:videos]
    place = np.full(ratings.n_items, -1)
    place[chosen] = np.arange(videos)
    kept = place[ratings.items] >= 0
    if not kept.any():
        raise DataError("no rating is of one of the videos")
    return Log(
        contexts=contexts_of(ratings, dimension),
        users=np.asarray(ratings.users[kept], dtype=np.int64),
        arms=np.asarray(place[ratings.items[kept]], dtype=np.int64),
        clicks=(ratings.values[kept] >= liked).astype(np.float64),
        videos=tuple(ratings.item_ids[number] for number in chosen.tolist()),
    )


Floats = NDArray[np.float64]
LOW, HIGH = 0.1, 0.9  # chances of a click: far from a video's point, and the largest there may be


@dataclass(frozen=True, eq=False)
class Clicks:
    """Videos of several vendors, none in common. Video v * videos + i is vendor v's i-th.

    centres: (vendors * videos, d) where each is liked most. heights: (vendors * videos,) by how
    much its best mean is above LOW. lipschitz: L, in chance per unit of Euclidean distance.
    """

    vendors: int
    centres: Floats
    heights: Floats
    lipschitz: float

    @property
    def videos(self) -> int:
        """Of each vendor."""
        return len(self.centres) // self.vendors

    @property
    def widths(self) -> Floats:
        """(vendors * videos,) radius of each bump: its slope is at most pi h / (2 w) = L."""
        return math.pi * self.heights / (2 * self.lipschitz)

    def of(self, vendor: int) -> range:
        """Numbers of this vendor's videos."""
        return range(vendor * self.videos, (vendor + 1) * self.videos)

    def means(self, contexts: Floats) -> Floats:
        """(n, vendors * videos) chances of a click. contexts: (n, d)."""
        return np.stack([self.mean(arm, contexts) for arm in range(len(self.centres))], axis=1)

    def mean(self, arms: int | NDArray[np.int64], contexts: Floats) -> Floats:
        """(n,) chances of a click. arms: one video for all, or (n,) one for each of the contexts.

        contexts: (n, d).
        """
        apart = np.linalg.norm(contexts - self.centres[arms], axis=1) / self.widths[arms]
        bump = (1 + np.cos(math.pi * np.minimum(apart, 1.0))) / 2
        return np.asarray(LOW + self.heights[arms] * bump, dtype=np.float64)

    def best(self, contexts: Floats) -> tuple[NDArray[np.int64], Floats]:
        """(n,) the best video of all vendors, the first of equals, and its mean."""
        arms, best = np.zeros(len(contexts), dtype=np.int64), np.full(len(contexts), -np.inf)
        for arm in range(len(self.centres)):
            mean = self.mean(arm, contexts)
            better = mean > best
            arms[better], best[better] = arm, mean[better]
        return arms, best

    def draw(self, arms: int | NDArray[np.int64], contexts: Floats, *, seed: int) -> Floats:
        """(n,) 0 or 1: who clicks; arms and contexts as in `mean`."""
        uniform = np.random.default_rng(seed).random(len(contexts))
        return (uniform < self.mean(arms, contexts)).astype(np.float64)


def generate(
    *,
    vendors: int = 4,
    videos: int = 20,
    dimension: int = 2,
    lipschitz: float = 2.0,
    seed: int,
) -> Clicks:
    """`vendors` times `videos` videos, liked most at random points of the cube.

    The chance of a click is LOW far from a video's point, and at it between half of the way to HIGH
    and all of it. lipschitz: the larger, the narrower a video's audience.
    """
    if min(vendors, videos, dimension) < 1:
        raise ConfigError("Vendors, videos and features are each at least 1.")
    if not (math.isfinite(lipschitz) and lipschitz > 0):
        raise ConfigError(f"lipschitz is a finite number above 0; got {lipschitz}.")
    where, how_high = np.random.SeedSequence(seed).spawn(2)
    count = vendors * videos
    shares = np.random.default_rng(how_high).uniform(0.5, 1.0, count)
    return Clicks(
        vendors=vendors,
        centres=np.random.default_rng(where).random((count, dimension)),
        heights=shares * (HIGH - LOW),
        lipschitz=lipschitz,
    )


def contexts(count: int, dimension: int, *, seed: int, groups: int = 0) -> Floats:
    """(count, dimension) contexts in [0, 1]: uniform, or `groups` clusters of very unequal size.

    Clusters are normal around random points with a spread of 0.08, clipped to the cube; the g-th
    has a share proportional to 1 / g.
    """
    if count < 0 or dimension < 1 or groups < 0:
        raise ConfigError("Contexts are 0 or more, of at least one feature, in 0 or more clusters.")
    generator = np.random.default_rng(seed)
    if groups == 0:
        return generator.random((count, dimension))
    shares = 1 / np.arange(1, groups + 1)
    middles = generator.random((groups, dimension))
    cluster = generator.choice(groups, size=count, p=shares / shares.sum())
    return np.clip(generator.normal(middles[cluster], 0.08), 0.0, 1.0)
