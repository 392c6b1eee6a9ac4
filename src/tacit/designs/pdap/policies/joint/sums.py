"""Sums of rewards per cell and arm, of which only noisy versions ever leave.

Time     is public: arrivals are numbered, and sums are released after arrivals that were fixed
         beforehand. Whether, where and with what reward an arrival was learned is private.
Epochs   What was learned since the last release goes out once, with noise once. A visit is in one
         release: no factor for the horizon. n releases of a sum have n times the noise.
Tree     The total goes out as dyadic blocks of steps (the binary mechanism); a step is one arrival,
         or a fixed number of them. A visit is in floor(log2 steps) + 1 blocks; a total after t
         steps has noise of as many blocks as t has binary ones. Every cell's and arm's tree steps
         with the arrivals, visited or not, or the number of its steps would be the number of
         visits. A block is drawn when it is first read: blocks never read need no noise, and the
         others are drawn once and kept while they can be read again. One step's visits are in one
         cell and arm each, so the trees of all cells together cost what one of them would.
A visit  adds to one pair of sums, and a sum is released in at most `nodes` parts. A pair is either
         (likes, dislikes): a reward r adds r to the one and 1 - r to the other, L1 and L2 at most
         1, so ONE noise of scale nodes / epsilon serves both; or (visits, likes), L1 2, L2 sqrt(2).
Source   Dwork, Naor, Pitassi, Rothblum (STOC 2010) and Chan, Shi, Song (TISSEC 2011), for trees;
         Bun and Steinke (TCC 2016) with Canonne, Kamath, Steinke (NeurIPS 2020), for a delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting import DiscreteGaussian, Event, NonPrivate, ZCDPAccountant, smallest_noise
from tacit.accounting.events import repeat
from tacit.errors import ConfigError, PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.gaussian import MARGIN
from tacit.mechanisms.grid import check_epsilon, check_whole, finite
from tacit.mechanisms.running import Running
from tacit.mechanisms.tree import TreeCounter

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = int | Ints
Pair = Literal["likes and dislikes", "visits and likes"]

GRAIN = 16
"""A reward is rounded to sixteenths: sums and their noise are whole numbers of these."""


@dataclass(frozen=True)
class NodeNoise:
    """Noise of one node, in grains; the same for both sums of a pair, drawn independently.

    epsilon, delta: of one visit, present or absent, in all nodes together. delta 0: Laplace.
    """

    epsilon: float
    delta: float
    nodes: int
    pair: Pair

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("nodes", self.nodes, least=1)

    @property
    def event(self) -> Event:
        """What one visit costs."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        if self.delta == 0:
            return self._laplace.event
        return repeat(DiscreteGaussian(self._multiplier), self.nodes)

    @property
    def variance(self) -> float:
        """Of one node's noise, in squared rewards; never below the exact one."""
        if math.isinf(self.epsilon):
            return 0.0
        scale = self._sigma if self.delta > 0 else self._laplace.scale * math.sqrt(2)
        return (scale / GRAIN) ** 2

    def pairs(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """What visits add to their sums, in grains (..., 2). shares: rewards (...), clamped."""
        liked = np.rint(np.clip(finite(shares), 0.0, 1.0) * GRAIN).astype(np.int64)
        if self.pair == "visits and likes":
            return np.stack([np.full_like(liked, GRAIN), liked], axis=-1)
        return np.stack([liked, GRAIN - liked], axis=-1)

    def draw(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        nothing = np.zeros(shape, dtype=np.int64)
        if math.isinf(self.epsilon) or nothing.size == 0:
            return nothing
        if self.delta > 0:
            return samplers.discrete_gaussian(nothing, self._sigma)
        return samplers.discrete_laplace(nothing, self._laplace.scale)

    @cached_property
    def _laplace(self) -> TreeCounter:
        """It computes scale and price: `nodes` levels, each moved by a visit's L1 distance."""
        distance = GRAIN if self.pair == "likes and dislikes" else 2 * GRAIN
        return TreeCounter(self.epsilon, horizon=1 << (self.nodes - 1), bound=distance)

    @cached_property
    def _multiplier(self) -> float:
        """sigma / L2 distance."""
        return smallest_noise(
            lambda noise: repeat(DiscreteGaussian(noise), self.nodes),
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=ZCDPAccountant,
        )

    @property
    def _sigma(self) -> float:
        distance = GRAIN if self.pair == "likes and dislikes" else GRAIN * math.sqrt(2)
        return self._multiplier * distance * MARGIN


@dataclass(frozen=True, eq=False)
class Observation:
    """Noisy sums (cells, arms), and the variances of their noise, in rewards.

    together: covariance of the noise of the two. Variances are one number, or (cells, 1).
    """

    likes: Floats
    visits: Floats
    likes_noise: float | Floats
    visits_noise: float | Floats
    together: float | Floats

    def with_later(self, later: Observation) -> Observation:
        """The sums of both, and the noise of both."""
        both = zip(vars(self).values(), vars(later).values(), strict=True)
        return Observation(*(one + other for one, other in both))

    def recut(self, parents: Ints) -> Observation:
        """Of cells that lie in these: each has an equal share of its parent's, noise and all.

        Shares of one noise are taken for independent ones of the same variance together.
        """
        children = np.bincount(parents)[parents][:, None]
        one = (parents.max() + 1, 1)
        noises = (self.likes_noise, self.visits_noise, self.together)
        return Observation(
            self.likes[parents] / children,
            self.visits[parents] / children,
            *(np.broadcast_to(noise, one)[parents] / children for noise in noises),
        )


Seen = tuple[Observation, Floats]
"""A release, and what was counted of it: visits (cells, arms)."""


def widened(one: Seen, arms: int) -> Seen:
    """With so many arms; of the new ones nothing was seen."""
    seen, visits = one
    new = ((0, 0), (0, arms - visits.shape[1]))
    wide = replace(seen, likes=np.pad(seen.likes, new), visits=np.pad(seen.visits, new))
    return wide, np.pad(visits, new)


class Sums(Running):
    """Either kind of release: exact sums in grains (cells, arms, 2), which never leave.

    cumulative: a release replaces the one before.
    """

    cumulative = False

    def __init__(self, cells: int, arms: int, noise: NodeNoise) -> None:
        super().__init__()
        self._noise = noise
        self._exact = np.zeros((cells, arms, 2), dtype=np.int64)

    def add(self, cells: Places, arms: Places, shares: ArrayLike) -> None:
        """Learn rewards, one or many, as shares of the arm's public range: 0 to 1."""
        pairs = self._noise.pairs(np.asarray(shares, dtype=np.float64))
        self._check_process()
        with self._lock:
            np.add.at(self._exact, (np.asarray(cells), np.asarray(arms)), pairs)

    def release(self, arrivals: int) -> Observation:
        """What is known after so many arrivals since the start."""
        raise NotImplementedError

    def recut(self, cells: int) -> None:
        """Other cells from now on, so many. Only right after a release, when nothing is held."""
        raise NotImplementedError

    def widen(self) -> None:
        """One more arm."""
        with self._lock:
            self._exact = np.pad(self._exact, ((0, 0), (0, 1), (0, 0)))

    def _observed(self, sums: Ints, parts: int) -> Observation:
        first, second = sums[..., 0] / GRAIN, sums[..., 1] / GRAIN
        one = parts * self._noise.variance
        if self._noise.pair == "visits and likes":
            return Observation(second, first, one, one, 0.0)
        return Observation(first, first + second, one, 2 * one, one)


class EpochSums(Sums):
    """Each visit in one release."""

    def __init__(self, cells: int, arms: int, noise: NodeNoise) -> None:
        super().__init__(cells, arms, noise)
        self._released = 0

    def release(self, arrivals: int) -> Observation:
        """What was learned since the last release; it is forgotten here. Once per epoch."""
        self._check_process()
        with self._lock:
            if arrivals <= self._released:
                raise PrivacyError("This epoch was released already, and is not released twice.")
            self._released = arrivals
            noisy = self._exact + self._noise.draw(self._exact.shape)
            self._exact[:] = 0
        return self._observed(noisy, 1)

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

    def recut(self, cells: int) -> None:
        with self._lock:
            self._exact = np.zeros((cells, *self._exact.shape[1:]), dtype=np.int64)


class TreeSums(Sums):
    """The binary mechanism for every cell and arm, on public time.

    horizon: arrivals, in all. step: arrivals in one step of the tree; the last one may be shorter.
    """

    cumulative = True

    def __init__(
        self, cells: int, arms: int, noise: NodeNoise, horizon: int, *, step: int = 1
    ) -> None:
        super().__init__(cells, arms, noise)
        self._horizon = horizon
        self._step = step
        self._blocks: dict[int, tuple[int, Ints]] = {}
        """Per level, the block that can be read now, by its number, and its noise."""
        self._released = 0
        self._last: Observation | None = None

    def release(self, arrivals: int) -> Observation:
        """All totals after so many arrivals, at the end of a step. Asked again, the same again."""
        self._check_process()
        with self._lock:
            if arrivals > self._horizon:
                raise PrivacyError(f"This tree was promised at most {self._horizon} arrivals.")
            if arrivals == self._released and self._last is not None:
                return self._last
            if arrivals <= self._released:
                raise PrivacyError("Time does not go back: this total was released already.")
            if arrivals % self._step and arrivals != self._horizon:
                raise PrivacyError(f"This tree is read after every {self._step} arrivals only.")
            self._released = arrivals
            steps = -(-arrivals // self._step)
            levels = [level for level in range(steps.bit_length()) if steps >> level & 1]
            noisy = self._exact.copy()
            for level in levels:
                noisy += self._block(level, steps >> level)
            self._last = self._observed(noisy, len(levels))
        return self._last

    def widen(self) -> None:
        super().widen()
        cells = len(self._exact)
        with self._lock:
            for level, (number, drawn) in self._blocks.items():
                column = self._noise.draw((cells, 1, 2))
                self._blocks[level] = number, np.concatenate([drawn, column], axis=1)

    def recut(self, cells: int) -> None:
        raise ConfigError("The cells of a tree stay: its blocks reach over many releases.")

    def _block(self, level: int, number: int) -> Ints:
        """Noise of the block that ends at `number` << `level`; the one before is out of reach."""
        if level not in self._blocks or self._blocks[level][0] != number:
            self._blocks[level] = number, self._noise.draw(self._exact.shape)
        return self._blocks[level][1]
