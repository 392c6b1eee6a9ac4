"""Noisy sums of rewards per cell and arm, and what is believed of every one from them alone.

Time     is public: arrivals are numbered, and sums are released after arrivals that were fixed
         beforehand. Whether, where and with what reward an arrival was learned is private.
Epochs   What was learned since the last release goes out once, with noise once. A visit is in one
         release: no factor for the horizon. n releases of a sum have n times the noise.
A visit  adds to one pair of sums (likes, dislikes): a reward r adds r to the one and 1 - r to the
         other, L1 at most 1, so ONE noise of scale 1 / epsilon serves both.
Source   Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006); what else was
         tried, trees among it, is in decision 10.
Means    are post-processing of released sums, their known noise, and the policy's own chances.
         Rewards of an arm lie around a surface over the cube, which is a Gaussian process: one
         height per arm plus a part whose covariance falls as e^-distance, in sides of the cube. So
         cells with few visits, or much noise, borrow from the cells around them.
Counts   of visits are noisy. They are combined, by inverse variances, with what the policy's own
         chances let expect of the cell's total; a noisy count below 0 is taken as 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.base import Policy
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.checks import finite_floats
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.runs import MechanismRun
from tacit.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRAIN = 16
"""A reward is rounded to sixteenths: sums and their noise are whole numbers of these."""


@dataclass(frozen=True)
class SumNoise(TreeCounter):
    """Noise in grains, a tree of one node. epsilon: of one visit, present or absent."""

    horizon: int = 1
    bound: int = GRAIN

    @property
    def variance(self) -> float:
        """In squared rewards; never below the exact one."""
        return 0.0 if math.isinf(self.epsilon) else (self.scale * math.sqrt(2) / GRAIN) ** 2

    def pair(self, share: float) -> Ints:
        """What a visit adds to its sums, in grains (2,). share: its reward, clamped to 0 to 1."""
        liked = np.rint(np.clip(finite_floats(np.float64(share)), 0.0, 1.0) * GRAIN).astype(
            np.int64
        )
        return np.stack([liked, GRAIN - liked], axis=-1)

    def draw(self, shape: tuple[int, ...]) -> Ints:
        nothing = np.zeros(shape, dtype=np.int64)
        if math.isinf(self.epsilon) or nothing.size == 0:
            return nothing
        return samplers.discrete_laplace(nothing, self.scale)


class EpochSums(MechanismRun):
    """Exact sums in grains (cells, arms, 2), which never leave; each visit is in one release."""

    def __init__(self, cells: int, arms: int, noise: SumNoise) -> None:
        super().__init__()
        self._noise = noise
        self._exact = np.zeros((cells, arms, 2), dtype=np.int64)
        self._released = 0

    def add(self, cell: int, arm: int, share: float) -> None:
        """Learn a reward, as a share of the arm's public range: 0 to 1."""
        pair = self._noise.pair(share)
        self._check_process()
        with self._lock:
            self._exact[cell, arm] += pair

    def release(self, arrivals: int) -> tuple[Floats, Floats]:
        """Likes and visits (cells, arms) learned since the last release, which are forgotten here.
        arrivals: since the start. PrivacyError for a second release of an epoch."""
        self._check_process()
        with self._lock:
            if arrivals <= self._released:
                raise PrivacyError("This epoch was released already, and is not released twice.")
            self._released = arrivals
            noisy = self._exact + self._noise.draw(self._exact.shape)
            self._exact[:] = 0
        likes, dislikes = noisy[..., 0] / GRAIN, noisy[..., 1] / GRAIN
        return likes, likes + dislikes

    def widen(self) -> None:
        with self._lock:
            self._exact = np.pad(self._exact, ((0, 0), (0, 1), (0, 0)))

    def export_state(self) -> tuple[Ints, int]:
        """What was learned since the last release, exactly: (cells, arms, 2); and when that was."""
        with self._lock:
            return self._exact.copy(), self._released

    def resume(self, exact: Ints, released: int) -> None:
        with self._lock:
            self._exact, self._released = exact.copy(), released


@dataclass(frozen=True, eq=False)
class Observation:
    """A release (cells, arms): noisy sums of likes and of visits, and visits as they are counted.
    noise: variance of the noise of likes, in rewards, and its covariance with that of visits, whose
    variance is twice as much."""

    likes: Floats
    visits: Floats
    counts: Floats
    noise: float

    def with_later(self, later: Observation) -> Observation:
        both = zip(vars(self).values(), vars(later).values(), strict=True)
        return Observation(*(one + other for one, other in both))

    def widened(self) -> Observation:
        """With one arm more, of which nothing was seen."""
        likes, visits, counts = (
            np.pad(table, ((0, 0), (0, 1))) for table in (self.likes, self.visits, self.counts)
        )
        return Observation(likes, visits, counts, self.noise)


_TINY = 1e-9
BETWEEN_ARMS = 0.2
"""Standard deviation of rewards between arms, and of one arm between far places."""
CHANCE = 0.2
"""Variance of a reward around its mean."""
FADING = 0.5
"""What is seen of a neighbour is worth this share one release later, for it learns too."""


def covariance_of(centres: Floats) -> Floats:
    """(cells, cells), of one arm's surface at the centres (cells, d)."""
    distances = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    return np.asarray(BETWEEN_ARMS**2 * (1 + np.exp(-distances)))


def counted(visits: Floats, noise: float, chances: Floats | None) -> Floats:
    """Visits (cells, arms) from noisy ones. noise: their variance. chances: of each arm, or
    None."""
    if chances is None:
        return np.maximum(visits, 0.0)
    total = np.maximum(visits.sum(axis=1, keepdims=True), 0.0)
    expected = total * chances
    unsure = expected * (1 - chances) + noise * chances.shape[1] * chances**2 + _TINY
    combined = (expected * (noise + _TINY) + visits * unsure) / (unsure + noise + _TINY)
    return np.asarray(np.maximum(combined, 0.0))


def believed(
    seen: Sequence[Observation], covariance: Floats, arms: Policy, ranges: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Means and variances (cells, arms), as of `posterior`. Before anything was seen, all own
    videos have one mean, that of all, a half at first; a neighbour that of one's own best
    videos."""
    theirs = np.array(arms.is_neighbour)
    likes = 50.0 + sum(float(one.likes[:, ~theirs].sum()) for one in seen)
    visits = 100.0 + sum(float(one.visits[:, ~theirs].sum()) for one in seen)
    pooled = float(np.clip(likes / max(visits, 100.0), 0.05, 0.95))
    start, fading = np.where(theirs, 1.0, pooled), np.where(theirs, FADING, 1.0)
    beliefs = posterior(seen, covariance, start, fading, ranges)
    if not theirs.any():
        return beliefs
    best = beliefs[0][:, arms.own].max(axis=1).mean() if arms.own else 0.5
    start = np.where(theirs, np.clip(best, 0.05, 0.95), start)
    return posterior(seen, covariance, start, fading, ranges)


def posterior(
    seen: Sequence[Observation],
    covariance: Floats,
    mean: Floats,
    fading: Floats,
    ranges: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Means and variances (cells, arms). seen: oldest first.

    mean: (arms,) before anything was seen. fading: (arms,) weight of an observation one release
    later. ranges: lowest reward and width, each (arms,). An observation tells likes - mean *
    visits, whose variance is known: `CHANCE` times the visits, plus its noise. Observations add up
    by inverse variances, so an early one, with few visits and as large a noise, counts little.
    """
    low, width = ranges
    share = (mean - low) / width
    spread = np.maximum(CHANCE, share * (1 - share) * width**2)
    weight = np.zeros((len(covariance), len(low)))
    evidence = np.zeros_like(weight)
    for one in seen:
        noise = one.noise * (1 - 2 * share + 2 * share**2)
        variance = one.counts * spread + noise * width**2 + _TINY
        weight = fading * weight + one.counts**2 / variance
        weighted = one.counts * width * (one.likes - share * one.visits)
        evidence = fading * evidence + weighted / variance
    means, variances = _krige(weight, evidence, covariance)
    return mean + means, variances


def _krige(weight: Floats, evidence: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Of a Gaussian process with mean 0, from observations of precision `weight`, arm by arm.
    evidence: precision times observation, so that a precision of 0 needs no observation."""
    root = np.sqrt(weight).T
    inner = np.eye(len(covariance)) + root[:, :, None] * covariance * root[:, None, :]
    reached = covariance[None] * root[:, None, :]
    pulled = np.divide(evidence.T, root, out=np.zeros_like(root), where=root > 0)
    turned = reached.transpose(0, 2, 1)
    solved = np.linalg.solve(inner, np.concatenate([pulled[:, :, None], turned], axis=2))
    means = np.einsum("aij,aj->ai", reached, solved[:, :, 0])
    explained = np.einsum("aij,aji->ai", reached, solved[:, :, 1:])
    variances = np.maximum(np.diag(covariance)[None] - explained, _TINY)
    return means.T, variances.T


PARTS = 1 << 10
"""Chances are whole multiples of 1 / PARTS."""


def plan(means: Floats, variances: Floats, allowed: list[int], source: Source) -> Ints:
    """(cells, arms) in parts that sum to PARTS in each cell: the share of draws from what is
    believed in which an arm was the best of those allowed (Thompson)."""
    parts = np.zeros(means.shape, dtype=np.int64)
    spread = np.sqrt(variances[:, allowed])
    places = np.array(allowed)
    cells = np.arange(len(means))
    # These draws explore; they are no noise that protects anybody.
    normal = np.random.Generator(np.random.Philox(key=source.words(2)))
    for _ in range(PARTS // 64):
        drawn = normal.standard_normal((64, *spread.shape)) * spread + means[:, allowed]
        best = drawn.argmax(axis=2)
        np.add.at(parts, (np.broadcast_to(cells, best.shape), places[best]), 1)
    return parts


def best_of(means: Floats, arms: list[int]) -> Ints:
    """(cells,) the arm of the largest mean; -1 where there are no arms."""
    if not arms:
        return np.full(len(means), -1)
    return np.asarray(np.array(arms)[means[:, arms].argmax(axis=1)], dtype=np.int64)
