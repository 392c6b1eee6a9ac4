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
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.designs.pdap.policies.joint.noise import GRAIN, NodeNoise
from tacit.errors import ConfigError, PrivacyError
from tacit.mechanisms.running import Running

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = int | Ints


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
        return Observation(
            self.likes + later.likes,
            self.visits + later.visits,
            self.likes_noise + later.likes_noise,
            self.visits_noise + later.visits_noise,
            self.together + later.together,
        )

    def recut(self, parents: Ints) -> Observation:
        """Of cells that lie in these: each has an equal share of its parent's, noise and all.

        Shares of one noise are taken for independent ones of the same variance together.
        """
        children = np.bincount(parents)[parents][:, None]
        noises = (self.likes_noise, self.visits_noise, self.together)
        return Observation(
            self.likes[parents] / children,
            self.visits[parents] / children,
            *(_of_children(noise, parents, children) for noise in noises),
        )


Seen = tuple[Observation, Floats]
"""A release, and what was counted of it: visits (cells, arms)."""


def widened(one: Seen, arms: int) -> Seen:
    """With so many arms; of the new ones nothing was seen."""
    seen, visits = one
    new = ((0, 0), (0, arms - visits.shape[1]))
    wide = replace(seen, likes=np.pad(seen.likes, new), visits=np.pad(seen.visits, new))
    return wide, np.pad(visits, new)


def _of_children(variance: float | Floats, parents: Ints, children: Ints) -> Floats:
    cells = np.broadcast_to(np.asarray(variance, dtype=np.float64), (parents.max() + 1, 1))
    return np.asarray(cells[parents] / children)


class Sums(Protocol):
    """Either kind of release. cumulative: a release replaces the one before."""

    cumulative: bool

    def add(self, cells: Places, arms: Places, shares: ArrayLike) -> None:
        """Learn rewards, one or many, as shares of the arm's public range: 0 to 1."""

    def release(self, arrivals: int) -> Observation:
        """What is known after so many arrivals since the start."""

    def widen(self) -> None:
        """One more arm."""

    def recut(self, cells: int) -> None:
        """Other cells from now on, so many. Only right after a release, when nothing is held."""


class _Exact(Running):
    """What both kinds share: exact sums in grains (cells, arms, 2), which never leave."""

    def __init__(self, cells: int, arms: int, noise: NodeNoise) -> None:
        super().__init__()
        self._noise = noise
        self._exact = np.zeros((cells, arms, 2), dtype=np.int64)

    def add(self, cells: Places, arms: Places, shares: ArrayLike) -> None:
        pairs = self._noise.pairs(np.asarray(shares, dtype=np.float64))
        self._check_process()
        with self._lock:
            np.add.at(self._exact, (np.asarray(cells), np.asarray(arms)), pairs)

    def _observed(self, sums: Ints, parts: int) -> Observation:
        first, second = sums[..., 0] / GRAIN, sums[..., 1] / GRAIN
        one = parts * self._noise.variance
        if self._noise.pair == "visits and likes":
            return Observation(second, first, one, one, 0.0)
        return Observation(first, first + second, one, 2 * one, one)


class EpochSums(_Exact):
    """Each visit in one release."""

    cumulative = False

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

    def widen(self) -> None:
        with self._lock:
            self._exact = np.pad(self._exact, ((0, 0), (0, 1), (0, 0)))


class TreeSums(_Exact):
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
        with self._lock:
            self._exact = np.pad(self._exact, ((0, 0), (0, 1), (0, 0)))
            cells = len(self._exact)
            for level, (number, drawn) in self._blocks.items():
                column = self._noise.draw((cells, 1, 2))
                self._blocks[level] = number, np.concatenate([drawn, column], axis=1)

    def recut(self, cells: int) -> None:
        raise ConfigError("The cells of a tree stay: its blocks reach over many releases.")

    def _block(self, level: int, number: int) -> Ints:
        """Noise of the block that ends at `number` << `level`; the one before is out of reach."""
        known = self._blocks.get(level)
        if known is None or known[0] != number:
            known = self._blocks[level] = number, self._noise.draw(self._exact.shape)
        return known[1]


@dataclass(frozen=True, eq=False)
class JointState:
    """Of one moment. `exact` is private: it is released with noise, once, and by nobody twice.

    sides (arms,): whether an arm is a neighbour, of all that ever were; own, neighbours: arms now.
    next: arrivals at the next release; inf after the last one. released: arrivals at the last one.
    seen: releases, oldest first, each with what was counted of it (cells, arms).
    exact (cells, arms, 2): grains since the last release. means, parts (cells, arms): what is
    believed, and the chances of this epoch. waiting: see `Unanswered`.
    """

    own: tuple[int, ...]
    neighbours: tuple[int, ...]
    sides: tuple[bool, ...]
    arrivals: int
    length: int
    next: float
    planned: bool
    began: int
    released: int
    seen: tuple[Seen, ...]
    exact: Ints
    means: Floats
    parts: Ints
    waiting: NDArray[np.bool_]
