"""Contexts and clicks from ratings: who a person is, in a few numbers, and what they liked.

Context  the leading singular vectors of the people x items matrix of ratings, centred by person,
         each scaled by rank to [0, 1]: every feature is uniform, whatever the factors look like.
Click    a rating of `liked` stars or more.
Source   Li, Chu, Langford, Wang: Unbiased offline evaluation of contextual-bandit-based news
         article recommendation algorithms (WSDM 2011), for the replay that these are made for.
Use      Experiments. Contexts are made of ratings without noise, the clicks among them: nothing
         here protects anybody, and results on them are somewhat too good.
"""

from __future__ import annotations

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
