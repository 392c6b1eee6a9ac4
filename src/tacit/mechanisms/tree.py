"""A running total over a stated number of steps: the binary tree counter.

Source       Chan, Shi, Song: Private and continual release of statistics (TISSEC 2011); Dwork,
             Naor, Pitassi, Rothblum: Differential privacy under continual observation (STOC 2010).
Guarantee    epsilon for ALL totals together, over the whole life of the counter, if one step's
             value changes. A person with values in several steps is charged for each of them.
             levels = floor(log2(horizon)) + 1: with log2(horizon) levels the loss would exceed
             the claim (twice it for horizon = 2).
Sensitivity  none is asked for: each value is clamped to [0, bound], so a change moves it by at
             most `bound` and moves at most one node per level.
Sampler      OpenDP's discrete Laplace on integers; a running counter draws in blocks.
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
from tacit.mechanisms import samplers
from tacit.mechanisms.grid import MOST_STEPS, check_epsilon, check_whole, one_whole, whole
from tacit.mechanisms.running import LaplaceAhead, Running

_FURTHEST = (1 << 63) - 1  # immense noise in several nodes must not pass what 64 bits hold


@dataclass(frozen=True)
class TreeCounter:
    """Whole numbers come in one by one, and after each the noisy total so far goes out.

    epsilon: nats for the whole life, or inf for exact totals. horizon: the number of steps after
    which nothing more is released. bound: the largest value of one step.
    """

    epsilon: float
    horizon: int
    bound: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("horizon", self.horizon, least=1, most=MOST_STEPS)
        check_whole("bound", self.bound, least=1, most=MOST_STEPS // self.horizon)

    @property
    def levels(self) -> int:
        """How many nodes, at most, hold one step's value: floor(log2(horizon)) + 1."""
        return self.horizon.bit_length()

    @cached_property
    def scale(self) -> float:
        """Of the noise of each node; epsilon is finite."""
        return float_above(self.noise_multiplier * self.bound)

    @property
    def noise_multiplier(self) -> Fraction:
        """Never above scale / bound, the other way round than a float division might be."""
        return Fraction(float_above(self.levels / Fraction(self.epsilon)))

    @property
    def event(self) -> Event:
        """What the whole life costs."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return Tree(self.levels, float(self.noise_multiplier))

    def start(self) -> TreeRun:
        """A counter at zero. Each one started costs `event` again."""
        return TreeRun(self)

    def __call__(self, values: ArrayLike) -> NDArray[np.int64]:
        """The totals after each of at most `horizon` values (steps,), all at once."""
        steps = whole(values).ravel()
        if len(steps) > self.horizon:
            raise PrivacyError(f"This counter was promised at most {self.horizon} steps.")
        run = self.start()
        noise = self._noise(len(steps)).tolist()
        totals = [
            run._add(value, extra) for value, extra in zip(steps.tolist(), noise, strict=True)
        ]
        return np.array(totals, dtype=np.int64)

    def _noise(self, count: int) -> NDArray[np.int64]:
        nothing = np.zeros(count, dtype=np.int64)
        if math.isinf(self.epsilon):
            return nothing
        return samplers.discrete_laplace(nothing, self.scale)


class TreeRun(Running):
    """One life of a counter."""

    def __init__(self, counter: TreeCounter) -> None:
        super().__init__()
        self.counter = counter
        self._step = 0
        self._ahead = None if math.isinf(counter.epsilon) else LaplaceAhead(counter.scale)
        self._exact = [0] * counter.levels
        self._noisy = [0] * counter.levels

    @property
    def step(self) -> int:
        """How many values were counted so far."""
        return self._step

    def add(self, value: int) -> int:
        """Count `value`, clamped to [0, bound]; the noisy total of everything so far."""
        self._check_process()
        with self._lock:
            left = self.counter.horizon - self._step
            if left == 0:
                raise PrivacyError(
                    f"This counter has made its {self.counter.horizon} steps and releases no more. "
                    "Start another one, and charge for it."
                )
            number = one_whole(value, otherwise="a step of a counter is one number")
            return self._add(number, 0 if self._ahead is None else self._ahead.one(left))

    def _add(self, value: int, noise: int) -> int:
        """Close the node that ends at this step; it takes in all lower ones, which are done."""
        self._step += 1
        level = (self._step & -self._step).bit_length() - 1
        within = min(max(value, 0), self.counter.bound)
        self._exact[level] = within + sum(self._exact[:level])
        self._noisy[level] = self._exact[level] + noise  # once: never drawn again for this node
        self._exact[:level] = self._noisy[:level] = [0] * level
        # A node is 0 unless the binary form of the step number names it.
        return max(-_FURTHEST, min(sum(self._noisy), _FURTHEST))
