"""Generated contexts and clicks with a known best video, for experiments with vendors of videos.

Model    A context x is a point of [0, 1]^d. Video k is liked most at its own point c_k; its chance
         of a click is LOW + h_k b(|x - c_k| / w_k), with the height h_k and the bump
         b(r) = (1 + cos(pi r)) / 2 for r <= 1, else 0. The width w_k is chosen such that the chance
         changes by at most L per unit of distance: it is Lipschitz with the constant L.
Rewards  A reward is a click (1) with that chance, independent of everything else.
Limits   A result on generated clicks is no evidence about people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError

Floats = NDArray[np.float64]
LOW = 0.1
"""Chance of a click far from a video's point."""
HIGH = 0.9
"""Largest chance of a click that a video may have."""
CLUSTER_SPREAD = 0.08
"""Standard deviation of contexts around the centre of their cluster."""


@dataclass(frozen=True, eq=False)
class Clicks:
    """Chances of clicks on the videos of several vendors, which have no video in common.

    Video number `v * videos + i` is the i-th video of vendor v; i and v count from 0. In the words
    of bandits, a video is an arm and a click its reward.
    """

    vendors: int
    """Number of vendors."""
    centres: Floats
    """(vendors * videos, d) the context in which each video is liked most."""
    heights: Floats
    """(vendors * videos,) h_k, a video's chance of a click at its centre, less LOW."""
    lipschitz: float
    """L: the largest change of a chance per unit of Euclidean distance."""

    @property
    def videos(self) -> int:
        """Number of videos of each vendor."""
        return len(self.centres) // self.vendors

    @property
    def widths(self) -> Floats:
        """(vendors * videos,) w_k, the radius of each bump, such that pi h_k / (2 w_k) = L.

        The left side is the steepest slope of the chance of a click.
        """
        return math.pi * self.heights / (2 * self.lipschitz)

    def videos_of(self, vendor: int) -> range:
        """List the numbers of this vendor's videos."""
        return range(vendor * self.videos, (vendor + 1) * self.videos)

    def means(self, contexts: Floats) -> Floats:
        """Compute every video's chance of a click in each context.

        Args:
            contexts: (n, d).

        Returns:
            (n, vendors * videos) chances.
        """
        return np.stack([self.mean(arm, contexts) for arm in range(len(self.centres))], axis=1)

    def mean(self, arms: int | NDArray[np.int64], contexts: Floats) -> Floats:
        """Compute the chance of a click on one video in each context.

        Args:
            arms: The number of one video for all contexts, or (n,) the number of one for each.
            contexts: (n, d).

        Returns:
            (n,) chances.
        """
        distances = np.linalg.norm(contexts - self.centres[arms], axis=1) / self.widths[arms]
        bump = (1 + np.cos(math.pi * np.minimum(distances, 1.0))) / 2
        return np.asarray(LOW + self.heights[arms] * bump, dtype=np.float64)

    def best(self, contexts: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Find the video with the highest chance of a click in each context.

        Args:
            contexts: (n, d).

        Returns:
            (n,) numbers of videos of any vendor, the smallest of equally good ones, and (n,) their
            chances.
        """
        arms = np.zeros(len(contexts), dtype=np.int64)
        highest = np.full(len(contexts), -np.inf)
        for arm in range(len(self.centres)):
            mean = self.mean(arm, contexts)
            is_better = mean > highest
            arms[is_better] = arm
            highest[is_better] = mean[is_better]
        return arms, highest

    def draw(self, arms: int | NDArray[np.int64], contexts: Floats, *, seed: int) -> Floats:
        """Draw rewards (n,), 1 for a click and 0 for none; arms and contexts as in `mean`."""
        uniform = np.random.default_rng(seed).random(len(contexts))
        return (uniform < self.mean(arms, contexts)).astype(np.float64)


def generate(
    *, vendors: int = 4, videos: int = 20, dimension: int = 2, lipschitz: float = 2.0, seed: int
) -> Clicks:
    """Generate the videos of all vendors, each liked most at a random point of the cube [0, 1]^d.

    A video's chance of a click is LOW far from its point. The chance at the point is drawn
    uniformly from (LOW + HIGH) / 2 to HIGH.

    Args:
        vendors: Number of vendors.
        videos: Number of videos of each vendor.
        dimension: Number of features of a context.
        lipschitz: L of the module's docstring: the larger it is, the narrower are the bumps.
        seed: Seed of the points and chances.

    Raises:
        ConfigError: `vendors`, `videos` or `dimension` is below 1, or `lipschitz` is not a finite
            number above 0.
    """
    if min(vendors, videos, dimension) < 1:
        raise ConfigError("Vendors, videos and features are each at least 1.")
    if not (math.isfinite(lipschitz) and lipschitz > 0):
        raise ConfigError(f"lipschitz is a finite number above 0; got {lipschitz}.")
    centre_seed, height_seed = np.random.SeedSequence(seed).spawn(2)
    count = vendors * videos
    height_shares = np.random.default_rng(height_seed).uniform(0.5, 1.0, count)
    return Clicks(
        vendors=vendors,
        centres=np.random.default_rng(centre_seed).random((count, dimension)),
        heights=height_shares * (HIGH - LOW),
        lipschitz=lipschitz,
    )


def contexts(count: int, dimension: int, *, seed: int, clusters: int = 0) -> Floats:
    """Draw contexts in the cube [0, 1]^d, uniformly or in clusters.

    A cluster is a normal distribution around a random centre, clipped to the cube. The share of
    the g-th cluster is in proportion to 1 / g.

    Args:
        count: Number of contexts.
        dimension: Number d of features.
        seed: Seed of the draws.
        clusters: Number of clusters; 0: uniform contexts.

    Returns:
        (count, dimension) contexts.

    Raises:
        ConfigError: A number is too small.
    """
    if count < 0 or dimension < 1 or clusters < 0:
        raise ConfigError("Contexts are 0 or more, of at least one feature, in 0 or more clusters.")
    generator = np.random.default_rng(seed)
    if clusters == 0:
        return generator.random((count, dimension))
    shares = 1 / np.arange(1, clusters + 1)
    centres = generator.random((clusters, dimension))
    cluster_of_context = generator.choice(clusters, size=count, p=shares / shares.sum())
    return np.clip(generator.normal(centres[cluster_of_context], CLUSTER_SPREAD), 0.0, 1.0)
