"""LinUCB: rewards linear in the context, and an optimistic choice; with privacy, and without.

Source   Li, Chu, Langford, Schapire: A contextual-bandit approach to personalized news article
         recommendation (WWW 2010), disjoint models. Shariff and Sheffet: Differentially private
         contextual linear bandits (NeurIPS 2018), for the private one.
Privacy  (epsilon, delta) for one visit, present or absent, against all others (joint privacy; a
         visit replaced by another costs twice that). Each visit adds v v^T to the matrix of its
         arm, v = (features, reward), length at most sqrt 2. All arms' matrices are released
         through a binary tree on public time, so a visit is in floor(log2 batches) + 1 blocks, each
         with symmetric Gaussian noise. All choices are made from those.
Differs  from the source: matrices are released every `batch` visits, noise is on a grid of
         integers, the shift that keeps them positive is chosen from the noise's known size, and
         what is still negative is cut, which costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting import DiscreteGaussian, Event, NonPrivate, ZCDPAccountant, smallest_noise
from tacit.accounting.events import repeat
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.running import Running
from tacit.mechanisms.samplers import check_epsilon, check_positive, check_whole
from tacit.mechanisms.sums import GramRelease
from tacit.recommenders.base import KEPT, Unanswered

Floats = NDArray[np.float64]
_NORM = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class LinearChoice:
    """One decision. cell: the features, which a linear model has instead of cells.

    visit: its number; one answer is learned to each.
    """

    arm: int
    phase: Literal["explore", "exploit"]
    cell: tuple[float, ...]
    chance: float | None = 1.0
    visit: int | None = None


@dataclass(frozen=True, eq=False)
class LinearChoices:
    """Many decisions: features (n, d + 1), arms (n,) and numbers of the visits (n,)."""

    features: Floats
    arms: NDArray[np.int64]
    visits: NDArray[np.int64] | None = None


class LinUCB:
    """epsilon inf: without privacy, and exact. delta: above 0 if epsilon is finite.

    videos, neighbours: arms 0 to videos - 1, then neighbours. horizon: visits after which nothing
    is learned. batch: visits between two releases; None: a 256th of the horizon. width: of the
    confidence bound, in its standard deviations. neighbour_range: rewards a neighbour may send.
    sums: PRIVATE but for what it has released; weights: (arms, d + 1), of that alone.
    """

    def __init__(
        self,
        *,
        videos: int,
        neighbours: int,
        dimension: int,
        horizon: int,
        epsilon: float,
        delta: float = 1e-6,
        batch: int | None = None,
        ridge: float = 1.0,
        width: float = 1.0,
        neighbour_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        check_epsilon(epsilon)
        check_whole("videos", videos, least=0)
        check_whole("neighbours", neighbours, least=0 if videos else 1)
        check_whole("dimension", dimension, least=1)
        check_whole("horizon", horizon, least=1)
        check_positive("ridge", ridge)
        if not (math.isinf(epsilon) or 0 < delta < 1):
            raise ConfigError(f"Gaussian noise needs a delta between 0 and 1; got {delta}.")
        if not neighbour_range[0] < neighbour_range[1]:
            raise ConfigError("neighbour_range is a lower and a higher number.")
        self.epsilon = epsilon
        self.delta = 0.0 if math.isinf(epsilon) else delta
        self.dimension = dimension
        self.horizon = horizon
        self.batch = max(1, horizon // 256) if batch is None else batch
        check_whole("batch", self.batch, least=1)
        self.ridge, self.width, self.neighbour_range = ridge, width, neighbour_range
        self._sides = [False] * videos + [True] * neighbours
        self._left: set[int] = set()
        self.sums = GramTrees(len(self._sides), dimension + 2, self.levels, epsilon, self.delta)
        self.arrivals = 0
        self._unanswered = Unanswered()
        self._read(0)

    @property
    def name(self) -> str:
        return "linucb" if math.isinf(self.epsilon) else "private-linucb"

    @property
    def n_own(self) -> int:
        return sum(not self._sides[arm] for arm in self._joined())

    @property
    def n_neighbours(self) -> int:
        return len(self._joined()) - self.n_own

    @property
    def event(self) -> Event:
        """What one visit costs."""
        return self.sums.event

    def select(self, context: ArrayLike, arms: Sequence[int] | None = None) -> LinearChoice:
        self.until_release()
        features = self._features(np.asarray(context, dtype=np.float64)[None, :])
        allowed = self._joined() if arms is None else sorted(arms)
        if not allowed or not set(allowed) <= set(self._joined()):
            raise ConfigError("The arms to choose from are one or more of those that have joined.")
        visit = self.arrivals
        self.arrivals += 1
        self._unanswered.begin_one(visit)
        means, bounds = self._scores(features, allowed)
        best = int(bounds[0].argmax())
        phase: Literal["explore", "exploit"] = (
            "exploit" if best == int(means[0].argmax()) else "explore"
        )
        return LinearChoice(allowed[best], phase, tuple(features[0].tolist()), visit=visit)

    def settle(
        self, context: ArrayLike, arms: Sequence[int], *, instead: LinearChoice | None = None
    ) -> LinearChoice:
        """Another arm for a visit that has its choice, which came to nothing; no visit of its own:
        public time must not tell whose choice that was.

        instead: of that choice. Whichever of the two is answered, it is one visit.
        """
        features = self._features(np.asarray(context, dtype=np.float64)[None, :])
        means, _ = self._scores(features, list(arms))
        best, visit = arms[int(means[0].argmax())], None if instead is None else instead.visit
        return LinearChoice(best, "exploit", tuple(features[0].tolist()), visit=visit)

    def update(self, choice: LinearChoice, reward: float) -> None:
        """Learn from a visit; each once. After the horizon nothing is learned."""
        visit = None if choice.visit is None else np.array([choice.visit])
        self.update_many(
            LinearChoices(np.array([choice.cell]), np.array([choice.arm]), visit),
            np.array([reward]),
        )

    def select_many(self, contexts: Floats) -> LinearChoices:
        """`select` for (n, d) contexts at once; n <= `until_release()`."""
        if len(contexts) > (left := self.until_release()):
            raise ConfigError(f"At most {left} visits can be answered before the next release.")
        features, arms = self._features(contexts), self._joined()
        visits = self._unanswered.begin(self.arrivals, len(contexts))
        self.arrivals += len(contexts)
        _, bounds = self._scores(features, arms)
        return LinearChoices(features, np.array(arms)[bounds.argmax(axis=1)], visits)

    def update_many(self, choices: LinearChoices, rewards: Floats) -> None:
        """`update` for as many rewards, clamped to their arm's range."""
        if not np.isfinite(rewards).all():
            raise DataError("a reward is not a finite number", expected="a number, such as 0 or 1")
        kept = self._unanswered.end(choices.visits, self.arrivals)
        if self.arrivals > self.horizon:
            return
        low, high = self.neighbour_range
        theirs = np.array(self._sides)[choices.arms]
        shares = np.where(theirs, (rewards - low) / (high - low), rewards)
        rows = np.column_stack([choices.features, np.clip(shares, 0.0, 1.0)])
        self.sums.add(choices.arms[kept], rows[kept])

    def until_release(self) -> int:
        """How many visits can be answered together; what is due is released first."""
        if self.arrivals >= self._next and self.arrivals <= self.horizon:
            self._read(self.arrivals // self.batch)
        if self.arrivals >= self.horizon:
            return KEPT
        return min(KEPT, min(self._next, self.horizon) - self.arrivals)

    def serve_many(self, contexts: Floats) -> NDArray[np.int64]:
        """(n,) own videos believed best, for others' users; nothing is learned of it."""
        own = [arm for arm in self._joined() if not self._sides[arm]]
        means, _ = self._scores(self._features(contexts), own)
        return np.asarray(np.array(own)[means.argmax(axis=1)])

    def add_arm(self, *, neighbour: bool = False) -> int:
        self._sides.append(neighbour)
        self.sums.widen()
        self._solve()
        return len(self._sides) - 1

    def remove_arm(self, arm: int) -> None:
        if arm not in self._joined() or len(self._joined()) == 1:
            raise ConfigError(f"Arm {arm} cannot leave: it never joined, has left, or is the last.")
        self._left.add(arm)

    @property
    def levels(self) -> int:
        """Blocks of the tree that a visit is in, at most."""
        return max(1, self.horizon // self.batch).bit_length()

    def _joined(self) -> list[int]:
        return [arm for arm in range(len(self._sides)) if arm not in self._left]

    def _features(self, contexts: Floats) -> Floats:
        """(n, d + 1), of length at most 1."""
        if contexts.ndim != 2 or contexts.shape[1] != self.dimension:
            raise DataError("the context has another shape", expected=f"({self.dimension},)")
        if contexts.size and not (contexts.min() >= 0 and contexts.max() <= 1):
            raise DataError("the context holds a number outside the cube", expected="0 to 1")
        ones = np.ones((len(contexts), 1))
        return np.column_stack([ones, contexts]) / math.sqrt(1 + self.dimension)

    def _read(self, batches: int) -> None:
        self.sums.release(batches)
        self._next = self.arrivals + self.batch
        self._solve()

    def _solve(self) -> None:
        noisy = self.sums.released()
        shift = self.ridge + 2 * self.sums.deviation * math.sqrt(self.dimension + 2)
        values, vectors = np.linalg.eigh(noisy[:, :-1, :-1])
        values = np.maximum(values + shift, self.ridge)
        self._inverse = np.einsum("aij,aj,akj->aik", vectors, 1 / values, vectors)
        self.weights = np.einsum("aij,aj->ai", self._inverse, noisy[:, :-1, -1])

    def _scores(self, features: Floats, arms: list[int]) -> tuple[Floats, Floats]:
        """Means, and upper bounds, of rewards (n, arms)."""
        low, high = self.neighbour_range
        theirs = np.array(self._sides)[arms]
        means = features @ self.weights[arms].T
        spread = np.sqrt(np.einsum("ni,aij,nj->na", features, self._inverse[arms], features))
        bounds = means + self.width * spread
        slope, start = np.where(theirs, high - low, 1.0), np.where(theirs, low, 0.0)
        return start + slope * means, start + slope * bounds


class GramTrees(Running):
    """One binary tree of matrices per arm, on public time; blocks are drawn when first read.

    exact: (arms, size, size), the sums so far: PRIVATE.
    """

    def __init__(self, arms: int, size: int, levels: int, epsilon: float, delta: float) -> None:
        super().__init__()
        self.levels = levels
        self.exact: Floats = np.zeros((arms, size, size), dtype=np.float64)
        self._multiplier = 0.0
        if not math.isinf(epsilon):
            self._multiplier = smallest_noise(
                lambda noise: repeat(DiscreteGaussian(noise), levels),
                epsilon=epsilon,
                delta=delta,
                accountant=ZCDPAccountant,
            )
        self._gram = GramRelease(self._multiplier, size, norm=_NORM)
        self._blocks: dict[int, tuple[int, Floats]] = {}
        self._batches = 0
        self._noisy: Floats = self.exact.copy()

    @property
    def event(self) -> Event:
        if self._multiplier == 0:
            return NonPrivate()
        return repeat(DiscreteGaussian(self._multiplier), self.levels)

    @property
    def deviation(self) -> float:
        """Of the noise in the diagonal of a released matrix, at most."""
        return self._gram.sigma * self._gram.resolution**2 * math.sqrt(self.levels)

    def add(self, arms: NDArray[np.int64], rows: Floats) -> None:
        self._check_process()
        if self._multiplier > 0:
            steps = self._gram.clipped(rows)
            rows = np.asarray(steps * self._gram.resolution, dtype=np.float64)
        with self._lock:
            np.add.at(self.exact, arms, rows[:, :, None] * rows[:, None, :])

    def release(self, batches: int) -> None:
        """After so many batches."""
        self._check_process()
        with self._lock:
            if batches >= 1 << self.levels or batches < self._batches:
                raise PrivacyError("This tree has made all its steps, or time went back.")
            self._batches = batches
            self._noisy = self.exact.copy()
            for level in range(self.levels):
                if batches >> level & 1:
                    self._noisy += self._block(level, batches >> level)

    def released(self) -> Floats:
        """(arms, size, size), as last released."""
        return self._noisy

    def widen(self) -> None:
        with self._lock:
            size = self.exact.shape[1]
            self.exact = np.concatenate([self.exact, np.zeros((1, size, size))])
            for level, (number, drawn) in self._blocks.items():
                self._blocks[level] = number, np.concatenate([drawn, self._drawn(1)])
            # Nothing was seen of the new one, whatever noise its blocks will have.
            self._noisy = np.concatenate([self._noisy, np.zeros((1, size, size))])

    def _block(self, level: int, number: int) -> Floats:
        known = self._blocks.get(level)
        if known is None or known[0] != number:
            known = self._blocks[level] = number, self._drawn(len(self.exact))
        return known[1]

    def _drawn(self, arms: int) -> Floats:
        """Noise of `GramRelease` for so many matrices: symmetric, sigma on the diagonal."""
        size, sigma = self.exact.shape[1], self._gram.sigma
        noise = np.zeros((arms, size, size))
        if sigma > 0:
            place = np.arange(size)
            noise[:, place, place] = _gaussian(arms, size, sigma)
            above = np.triu_indices(size, 1)
            noise[:, above[0], above[1]] = _gaussian(arms, len(above[0]), sigma / math.sqrt(2))
            noise[:, above[1], above[0]] = noise[:, above[0], above[1]]
        return np.asarray(noise * self._gram.resolution**2, dtype=np.float64)


def _gaussian(rows: int, columns: int, sigma: float) -> NDArray[np.int64]:
    return samplers.discrete_gaussian(np.zeros((rows, columns), dtype=np.int64), sigma)
