"""A running total over a stated number of steps: the binary tree counter.

Source       Chan, Shi, Song: Private and continual release of statistics (TISSEC 2011); Dwork,
             Naor, Pitassi, Rothblum: Differential privacy under continual observation (STOC 2010).
Guarantee    epsilon for ALL totals together, over the whole life of the counter, if one step's
             value changes. A person with values in several steps is charged for each of them.
             levels = floor(log2(horizon)) + 1: noise for only log2(horizon) levels would lose
             more than epsilon (for horizon = 2, twice epsilon).
Sensitivity  no assumption: each value is clamped to [0, bound], so a change of one value changes
             at most one node on each level, by at most `bound`.
Sampler      exact discrete Laplace on integers; `TreeRun` draws its noise in blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event, NonPrivate, Tree
from tacit.accounting.rounding import float_above
from tacit.errors import PrivacyError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.runs import LaplaceBlocks, MechanismRun, laplace_noise
from tacit.mechanisms.sensitive_values import MOST_STEPS, clamped_integer, clamped_integers

_LARGEST_TOTAL = (1 << 63) - 1
"""Totals are clipped to it on either side of zero, because the noise of several nodes may add up to
more."""


@dataclass(frozen=True)
class TreeCounter:
    """A counter that releases a noisy total after each whole number that is added."""

    epsilon: float
    """Loss of all totals together, in nats; inf gives exact totals."""
    horizon: int
    """Number of steps after which nothing more is released."""
    bound: int = 1
    """The largest value of one step."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("horizon", self.horizon, least=1, most=MOST_STEPS)
        check_whole("bound", self.bound, least=1, most=MOST_STEPS // self.horizon)

    @property
    def levels(self) -> int:
        """Largest number of nodes that include one step's value: floor(log2(horizon)) + 1."""
        return self.horizon.bit_length()

    @cached_property
    def scale(self) -> float:
        """Scale of each node's noise, rounded up; OverflowError if epsilon is infinite."""
        return float_above(self.noise_multiplier * self.bound)

    @property
    def noise_multiplier(self) -> Fraction:
        """Scale / bound, rounded up; OverflowError if epsilon is infinite.

        The noise is computed from this rounded number, so the event's loss is the real one.
        """
        return Fraction(float_above(self.levels / Fraction(self.epsilon)))

    @property
    def event(self) -> Event:
        """The cost of all totals of one counter."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return Tree(self.levels, float(self.noise_multiplier))

    def start(self) -> TreeRun:
        """Start a new count at zero. Each call costs another `event`."""
        return TreeRun(self)

    def __call__(self, values: ArrayLike) -> NDArray[np.int64]:
        """Start a new count, add all `values` (steps,), and return the total after each (steps,).

        Raises:
            DataError: A value is not a finite whole number.
            PrivacyError: There are more values than the horizon.
        """
        numbers = clamped_integers(values).ravel().tolist()
        if len(numbers) > self.horizon:
            raise PrivacyError(f"This counter was promised at most {self.horizon} steps.")
        run = self.start()
        noises = laplace_noise(len(numbers), 0.0 if math.isinf(self.epsilon) else self.scale)
        totals = []
        for number, noise in zip(numbers, noises, strict=True):
            totals.append(run.take_step(number, noise))
        return np.array(totals, dtype=np.int64)


class TreeRun(MechanismRun):
    """One count, from zero to the horizon."""

    def __init__(self, counter: TreeCounter) -> None:
        super().__init__()
        self.counter = counter
        self._step = 0
        self._blocks = None if math.isinf(counter.epsilon) else LaplaceBlocks(counter.scale)
        # For each level, the exact and the noisy sum of its last complete node; 0 if that node is a
        # part of a complete node on a higher level.
        self._exact = [0] * counter.levels
        self._noisy = [0] * counter.levels

    @property
    def step(self) -> int:
        """Number of values added so far."""
        return self._step

    def add(self, value: int) -> int:
        """Add a value, clamped to [0, bound], and return the noisy total of all values so far.

        Raises:
            DataError: The value is not one whole number.
            PrivacyError: The counter has made all its steps, or another process started it.
        """
        self._check_process()
        with self._lock:
            steps_left = self.counter.horizon - self._step
            if steps_left == 0:
                raise PrivacyError(
                    f"This counter has made its {self.counter.horizon} steps and releases no more. "
                    "Start another one, and charge for it."
                )
            number = clamped_integer(value, shape_error="a step of a counter is one number")
            noise = 0 if self._blocks is None else self._blocks.next_noise(steps_left)
            return self.take_step(number, noise)

    def take_step(self, value: int, noise: int) -> int:
        """Add a value and its noise, and return the noisy total.

        Step t completes a node on the level of the lowest 1 in the binary form of t. The node's sum
        is this value plus the nodes on all lower levels, which are then set to 0. The total is the
        sum of the nodes that are left: one for each 1 in the binary form of t.

        This method neither locks nor draws noise: its callers `add` and `TreeCounter.__call__` do.
        """
        self._step += 1
        level = (self._step & -self._step).bit_length() - 1
        clamped = min(max(value, 0), self.counter.bound)
        self._exact[level] = clamped + sum(self._exact[:level])
        self._noisy[level] = self._exact[level] + noise  # drawn once for the node's whole life
        self._exact[:level] = [0] * level
        self._noisy[:level] = [0] * level
        return max(-_LARGEST_TOTAL, min(sum(self._noisy), _LARGEST_TOTAL))
