"""Sums of rewards per cell and arm, of which only noisy versions ever leave.

Time     is public: arrivals are numbered, and sums are released after arrivals that were fixed
         beforehand. Whether, where and with what reward an arrival was learned is private.
Epochs   What was learned since the last release goes out once, with noise once. A visit is in one
         release: no factor for the horizon. n releases of a sum have n times the noise.
A visit  adds to one pair of sums (likes, dislikes): a reward r adds r to the one and 1 - r to the
         other, L1 at most 1, so ONE noise of scale 1 / epsilon serves both.
Source   Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006); what else was
         tried, trees among it, is in decision 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting import Event, NonPrivate
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.grid import check_epsilon, finite
from tacit.mechanisms.running import Running
from tacit.mechanisms.tree import TreeCounter

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
