"""Generated contexts and clicks, with a known optimum: for experiments with vendors of videos.

Model    Video k is liked most at its own point c_k of [0, 1]^d:  mean = LOW + h_k b(|x - c_k| / w)
         with the bump b(r) = (1 + cos(pi r)) / 2 up to r = 1 and 0 beyond. Widths are such that the
         mean changes by at most L per unit of distance: it is Lipschitz with the constant L.
Rewards  a click with that chance, independent of everything else. A result on generated clicks is
         no evidence about people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError

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
        """Number of videos of each vendor."""
        return len(self.centres) // self.vendors

    @property
    def widths(self) -> Floats:
        """(vendors * videos,) radius of each bump: its slope is at most pi h / (2 w) = L."""
        return math.pi * self.heights / (2 * self.lipschitz)

    def videos_of(self, vendor: int) -> range:
        """List the numbers of this vendor's videos."""
        return range(vendor * self.videos, (vendor + 1) * self.videos)

    def means(self, contexts: Floats) -> Floats:
        """(n, vendors * videos) chances of a click. contexts: (n, d)."""
        return np.stack([self.mean(arm, contexts) for arm in range(len(self.centres))], axis=1)

    def mean(self, arms: int | NDArray[np.int64], contexts: Floats) -> Floats:
        """(n,) chances of a click. arms: one video for all, or (n,) one for each of (n, d)."""
        apart = np.linalg.norm(contexts - self.centres[arms], axis=1) / self.widths[arms]
        bump = (1 + np.cos(math.pi * np.minimum(apart, 1.0))) / 2
        return np.asarray(LOW + self.heights[arms] * bump, dtype=np.float64)

    def best(self, contexts: Floats) -> tuple[NDArray[np.int64], Floats]:
        """(n,) the best video of all vendors, the first of equals, and its mean."""
        arms = np.zeros(len(contexts), dtype=np.int64)
        best = np.full(len(contexts), -np.inf)
        for arm in range(len(self.centres)):
            mean = self.mean(arm, contexts)
            better = mean > best
            arms[better] = arm
            best[better] = mean[better]
        return arms, best

    def draw(self, arms: int | NDArray[np.int64], contexts: Floats, *, seed: int) -> Floats:
        """(n,) 0 or 1: who clicks; arms and contexts as in `mean`."""
        uniform = np.random.default_rng(seed).random(len(contexts))
        return (uniform < self.mean(arms, contexts)).astype(np.float64)


def generate(
    *, vendors: int = 4, videos: int = 20, dimension: int = 2, lipschitz: float = 2.0, seed: int
) -> Clicks:
    """Generate `vendors` times `videos` videos, liked most at random points of the cube.

    The chance of a click is LOW far from a video's point, and at it between half of the way to HIGH
    and all of it.

    Args:
        vendors: Number of vendors.
        videos: Number of videos of each vendor.
        dimension: Number of features of a context.
        lipschitz: The larger, the narrower a video's audience.
        seed: Seed of the points and chances.

    Raises:
        ConfigError: A number is not at least 1, or `lipschitz` is not above 0.
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
    """Draw (count, dimension) contexts in [0, 1], uniformly or in `groups` clusters.

    Clusters are normal around random points with a spread of 0.08, clipped to the cube; the g-th
    has a share in proportion to 1 / g.
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
