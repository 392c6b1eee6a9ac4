"""Noisy sums of rewards per cell and arm, and what is believed of every one from them alone.

Time     is public: arrivals are numbered, and sums are released after arrivals that were fixed
         beforehand. Whether, where and with what reward an arrival was learned is private.
Epochs   What was learned since the last release goes out once, with noise once. A visit is in one
         release: no factor for the horizon. n releases of a sum have n times the noise.
A visit  adds to one pair of sums (likes, dislikes): a reward r adds r to the one and 1 - r to the
         other, L1 at most 1, so ONE noise of scale 1 / epsilon serves both.
Source   Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006); what else was
         tried, trees among it, is in decision 11.

From noisy sums to means, and how sure they are:
Privacy  All of this is post-processing: it sees released sums, their known noise, and the chances
         with which the policy itself chose.
Model    Rewards of an arm lie around a surface over the cube, which is a Gaussian process: one
         height per arm plus a part whose covariance falls as e^(-distance / reach). So cells with
         few visits, or much noise, borrow from the cells around them. reach 0: every cell alone.
Counts   Nobody knows the number of visits exactly. The noisy count is combined, by inverse
         variances, with what the policy's own chances let expect of the cell's total; a noisy
         count below 0 is taken as 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting import Event, NonPrivate
from tacit.designs.pdap.policy import Arms
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.running import Running, TreeCounter
from tacit.mechanisms.samplers import check_epsilon, finite
from tacit.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = int | Ints

GRAIN = 16
"""A reward is rounded to sixteenths: sums and their noise are whole numbers of these."""


@dataclass(frozen=True)
class SumNoise:
    """Noise of one sum, in grains; the same for both sums of a pair, drawn independently.

    epsilon: of one visit, present or absent.
    """

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def event(self) -> Event:
        """What one visit costs."""
        return NonPrivate() if math.isinf(self.epsilon) else self._laplace.event

    @property
    def variance(self) -> float:
        """In squared rewards; never below the exact one."""
        if math.isinf(self.epsilon):
            return 0.0
        return (self._laplace.scale * math.sqrt(2) / GRAIN) ** 2

    def pairs(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """What visits add to their sums, in grains (..., 2). shares: rewards (...), clamped."""
        liked = np.rint(np.clip(finite(shares), 0.0, 1.0) * GRAIN).astype(np.int64)
        return np.stack([liked, GRAIN - liked], axis=-1)

    def draw(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        nothing = np.zeros(shape, dtype=np.int64)
        if math.isinf(self.epsilon) or nothing.size == 0:
            return nothing
        return samplers.discrete_laplace(nothing, self._laplace.scale)

    @cached_property
    def _laplace(self) -> TreeCounter:
        """It computes scale and price: a tree of one node."""
        return TreeCounter(self.epsilon, horizon=1, bound=GRAIN)


@dataclass(frozen=True, eq=False)
class Observation:
    """Noisy sums (cells, arms), and the variances of their noise, in rewards.

    together: covariance of the noise of the two.
    """

    likes: Floats
    visits: Floats
    likes_noise: float
    visits_noise: float
    together: float

    def with_later(self, later: Observation) -> Observation:
        """The sums of both, and the noise of both."""
        both = zip(vars(self).values(), vars(later).values(), strict=True)
        return Observation(*(one + other for one, other in both))


Seen = tuple[Observation, Floats]
"""A release, and what was counted of it: visits (cells, arms)."""


def widened(one: Seen, arms: int) -> Seen:
    """With so many arms; of the new ones nothing was seen."""
    seen, visits = one
    new = ((0, 0), (0, arms - visits.shape[1]))
    wide = replace(seen, likes=np.pad(seen.likes, new), visits=np.pad(seen.visits, new))
    return wide, np.pad(visits, new)


class EpochSums(Running):
    """Exact sums in grains (cells, arms, 2), which never leave; each visit is in one release."""

    def __init__(self, cells: int, arms: int, noise: SumNoise) -> None:
        super().__init__()
        self._noise = noise
        self._exact = np.zeros((cells, arms, 2), dtype=np.int64)
        self._released = 0

    def add(self, cells: Places, arms: Places, shares: ArrayLike) -> None:
        """Learn rewards, one or many, as shares of the arm's public range: 0 to 1."""
        pairs = self._noise.pairs(np.asarray(shares, dtype=np.float64))
        self._check_process()
        with self._lock:
            np.add.at(self._exact, (np.asarray(cells), np.asarray(arms)), pairs)

    def release(self, arrivals: int) -> Observation:
        """What was learned since the last release; it is forgotten here. Once per epoch.

        arrivals: since the start.
        """
        self._check_process()
        with self._lock:
            if arrivals <= self._released:
                raise PrivacyError("This epoch was released already, and is not released twice.")
            self._released = arrivals
            noisy = self._exact + self._noise.draw(self._exact.shape)
            self._exact[:] = 0
        first, second = noisy[..., 0] / GRAIN, noisy[..., 1] / GRAIN
        one = self._noise.variance
        return Observation(first, first + second, one, 2 * one, one)

    def widen(self) -> None:
        """One more arm."""
        with self._lock:
            self._exact = np.pad(self._exact, ((0, 0), (0, 1), (0, 0)))

    def kept(self) -> tuple[Ints, int]:
        """What was learned since the last release, exactly: (cells, arms, 2); and when that was.

        For a caller that stores it and never continues from one state twice.
        """
        with self._lock:
            return self._exact.copy(), self._released

    def resume(self, exact: Ints, released: int) -> None:
        """Go on from what `kept` gave."""
        with self._lock:
            self._exact, self._released = exact.copy(), released


_TINY = 1e-9


@dataclass(frozen=True)
class Estimates:
    """Before anything was seen, in rewards.

    arms, cells: standard deviations between arms, and of one arm between far places. reach: in
    sides of the cube. chance: variance of a reward around its mean. fading: what is seen of a
    neighbour is worth this share one release later, for the neighbour learns too.
    """

    arms: float = 0.2
    cells: float = 0.2
    reach: float = 1.0
    chance: float = 0.2
    fading: float = 0.5

    def covariance(self, centres: Floats) -> Floats:
        """(cells, cells), of one arm's surface at the centres (cells, d)."""
        distances = np.linalg.norm(centres[:, None] - centres[None], axis=2)
        if self.reach == 0:
            return np.asarray((self.arms**2 + self.cells**2) * (distances == 0), dtype=np.float64)
        return np.asarray(self.arms**2 + self.cells**2 * np.exp(-distances / self.reach))


def counted(seen: Observation, chances: Floats | None) -> Floats:
    """Visits (cells, arms). chances: of each arm in the epoch, or None where unknown."""
    if chances is None:
        return np.maximum(seen.visits, 0.0)
    total = np.maximum(seen.visits.sum(axis=1, keepdims=True), 0.0)
    expected = total * chances
    unsure = expected * (1 - chances) + seen.visits_noise * chances.shape[1] * chances**2 + _TINY
    noise = seen.visits_noise + _TINY
    return np.asarray(np.maximum((expected * noise + seen.visits * unsure) / (unsure + noise), 0.0))


def believed(
    seen: Sequence[Seen],
    beliefs: Estimates,
    covariance: Floats,
    arms: Arms,
    ranges: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Means and variances (cells, arms). seen: oldest first. ranges: see `posterior`.

    A neighbour is taken to be as good as one's own best videos until it shows otherwise.
    """
    theirs = np.array(arms.sides)
    start = np.where(theirs, 1.0, pooled_mean(seen, ~theirs))
    fading = np.where(theirs, beliefs.fading, 1.0)
    found = posterior(seen, covariance, start, fading, ranges, beliefs.chance)
    if not theirs.any():
        return found
    best = found[0][:, arms.own].max(axis=1).mean() if arms.own else 0.5
    start = np.where(theirs, np.clip(best, 0.05, 0.95), start)
    return posterior(seen, covariance, start, fading, ranges, beliefs.chance)


def pooled_mean(seen: Sequence[Seen], arms: NDArray[np.bool_]) -> float:
    """One mean for these arms, from noisy sums; a half while hardly anything was seen."""
    likes = 50.0 + sum(float(one.likes[:, arms].sum()) for one, _ in seen)
    visits = 100.0 + sum(float(one.visits[:, arms].sum()) for one, _ in seen)
    return float(np.clip(likes / max(visits, 100.0), 0.05, 0.95))


def posterior(
    seen: Sequence[Seen],
    covariance: Floats,
    mean: Floats,
    fading: Floats,
    ranges: tuple[Floats, Floats],
    chance: float,
) -> tuple[Floats, Floats]:
    """Means and variances (cells, arms). seen: each with its counts, oldest first.

    mean: (arms,) before anything was seen. fading: (arms,) what an observation is worth one release
    later. ranges: lowest reward and width, each (arms,). chance: see `Estimates`.
    An observation tells likes - mean * visits, whose variance is known: chance times the visits,
    plus its noise. Observations add up by inverse variances, so an early one, whose noise was as
    large but whose visits were few, counts little.
    """
    low, width = ranges
    share = (mean - low) / width
    spread = np.maximum(chance, share * (1 - share) * width**2)
    weight = np.zeros((len(covariance), len(low)))
    evidence = np.zeros_like(weight)
    for one, visits in seen:
        noise = one.likes_noise - 2 * share * one.together + share**2 * one.visits_noise
        variance = visits * spread + noise * width**2 + _TINY
        weight = fading * weight + visits**2 / variance
        evidence = fading * evidence + visits * width * (one.likes - share * one.visits) / variance
    means, variances = _krige(weight, evidence, covariance)
    return mean + means, variances


def _krige(weight: Floats, evidence: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Of a Gaussian process with mean 0, from observations of precision `weight`, arm by arm.

    evidence: precision times observation, so that a precision of 0 needs no observation.
    """
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


@dataclass(frozen=True, eq=False)
class Choices:
    """Many choices: numbers of cells, arms and their chances, each (n,).

    visits: (n,) their numbers, as in `Choice`.
    """

    cells: NDArray[np.int64]
    arms: NDArray[np.int64]
    chances: Floats
    visits: NDArray[np.int64] | None = None


def plan(means: Floats, variances: Floats, allowed: list[int], source: Source) -> NDArray[np.int64]:
    """(cells, arms) in parts that sum to PARTS in each cell; nothing for an arm not allowed.

    Each gets the share of PARTS draws from what is believed in which it was the best (Thompson).
    """
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


def best_of(means: Floats, arms: list[int]) -> NDArray[np.int64]:
    """(cells,) the arm of the largest mean; -1 where there are no arms."""
    if not arms:
        return np.full(len(means), -1)
    return np.asarray(np.array(arms)[means[:, arms].argmax(axis=1)], dtype=np.int64)
