"""Mechanisms that answer step by step: a gate for a count, and a running total.

Each is a mechanism that has begun and remembers: it exists once, because it was charged once.

One call of the sampler costs as much as some hundred draws in it, so a running mechanism draws its
discrete Laplace noise in blocks. They grow, so that a short life does not pay for a long one. What
is drawn ahead is noise alone: it depends on no value, is handed out once, and lives and dies with
its owner.

Gate: it tells when a count first passes a threshold, and then stays shut: AboveThreshold.

Source       Dwork and Roth: The algorithmic foundations of differential privacy (2014), Algorithm
             1 and Theorem 3.23. Lyu, Su, Li: Understanding the sparse vector technique (VLDB
             2017), for monotonic counts and for the variants that are broken.
Guarantee    epsilon for all answers together until the gate stops, however many there are.
Sensitivity  the most that ANY one count can change. `monotonic`: a change of the data moves all
             counts in the same direction; half the noise on the counts.
Sampler      exact discrete Laplace on integers: once on the threshold, afresh on each count; a
             running gate draws the counts' in blocks.

Counter: a running total over a stated number of steps: the binary tree counter.

Source       Chan, Shi, Song: Private and continual release of statistics (TISSEC 2011); Dwork,
             Naor, Pitassi, Rothblum: Differential privacy under continual observation (STOC 2010).
Guarantee    epsilon for ALL totals together, over the whole life of the counter, if one step's
             value changes. A person with values in several steps is charged for each of them.
             levels = floor(log2(horizon)) + 1: with log2(horizon) levels the loss would exceed
             the claim (twice it for horizon = 2).
Sensitivity  none is asked for: each value is clamped to [0, bound], so a change moves it by at
             most `bound` and moves at most one node per level.
Sampler      exact discrete Laplace on integers; a running counter draws in blocks.
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.base import float_above
from tacit.accounting.events import Event, Gate, NonPrivate, Tree
from tacit.errors import ConfigError, PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.samplers import MOST_STEPS, check_epsilon, check_whole, one_whole, whole

LARGEST_BLOCK = 256
_GROWTH = 4


class Running:
    """Stays in the process that started it, and cannot be copied, pickled or saved.

    Steps are taken under `_lock`, one at a time, after `_check_process`: a fork may have copied the
    lock while another thread held it.
    Two copies would release more than was charged, with noise that the one shares with the other.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise PrivacyError(
                f"This {type(self).__name__} belongs to another process. Start a new one here, "
                "and charge for it."
            )

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            f"A {type(self).__name__} cannot be copied or saved: two of them would release more "
            "than was charged."
        )


class LaplaceAhead(Running):
    """Blocks of 1, 4, 16, 64 and then 256 draws; none of them is ever handed out twice.

    scale: above 0. Like its owner it stays in its process and cannot be copied or saved: two of it
    would hand out the same noise.
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self._block = 1
        self._left: list[int] = []

    def one(self, needed: int = LARGEST_BLOCK) -> int:
        """The next noise. needed: how many more, this one included, there will be at most."""
        self._check_process()
        with self._lock:
            if not self._left:
                nothing = np.zeros(min(self._block, needed), dtype=np.int64)
                self._left = samplers.discrete_laplace(nothing, self.scale).tolist()[::-1]
                self._block = min(_GROWTH * self._block, LARGEST_BLOCK)
            return self._left.pop()


def _noise(count: int, scale: float) -> list[int]:
    nothing = np.zeros(count, dtype=np.int64)
    return samplers.discrete_laplace(nothing, scale).tolist() if scale > 0 else nothing.tolist()


@dataclass(frozen=True)
class ThresholdGate:
    """Stops at the first count that is, with noise, at or beyond the threshold.

    epsilon: nats for the gate's whole life, or inf for exact comparisons. threshold: a whole
    number. stops: whether it stops at counts "above" or "below" it.
    """

    epsilon: float
    threshold: int
    sensitivity: int = 1
    monotonic: bool = False
    stops: Literal["above", "below"] = "above"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("threshold", self.threshold, least=-MOST_STEPS, most=MOST_STEPS)
        check_whole("sensitivity", self.sensitivity, least=1, most=MOST_STEPS)
        if self.stops not in ("above", "below"):
            raise ConfigError(f'stops is "above" or "below"; got {self.stops!r}.')

    @cached_property
    def threshold_scale(self) -> float:
        """Of the noise on the threshold; 0 for the non-private variant."""
        return self._scale(2)

    @cached_property
    def count_scale(self) -> float:
        """Of the noise on each count; 0 for the non-private variant."""
        return self._scale(2 if self.monotonic else 4)

    @property
    def event(self) -> Event:
        """What the gate's whole life costs."""
        return NonPrivate() if math.isinf(self.epsilon) else Gate(self.epsilon)

    def start(self) -> GateRun:
        """An open gate. Each one started costs `event` again."""
        return GateRun(self)

    def __call__(self, counts: ArrayLike) -> int:
        """How many of the counts (n,), in order, one gate lets pass before it stops; n if all."""
        questions = whole(counts).ravel()
        run = self.start()
        noise = _noise(len(questions), self.count_scale)
        for passed, (count, extra) in enumerate(zip(questions.tolist(), noise, strict=True)):
            if run._stops_at(count, extra):
                return passed
        return len(questions)

    def _scale(self, factor: int) -> float:
        if math.isinf(self.epsilon):
            return 0.0
        return float_above(factor * self.sensitivity / Fraction(self.epsilon))


class GateRun(Running):
    """One life of a gate. drawn: the noisy threshold of a life that goes on, else drawn now."""

    def __init__(self, gate: ThresholdGate, *, drawn: int | None = None) -> None:
        super().__init__()
        self.gate = gate
        self._stopped = False
        self._sign = 1 if gate.stops == "above" else -1
        if drawn is None:
            (noise,) = _noise(1, gate.threshold_scale)
            drawn = self._sign * gate.threshold + noise
        self._threshold = drawn  # never released, never redrawn
        self._ahead = LaplaceAhead(gate.count_scale) if gate.count_scale > 0 else None

    @property
    def stopped(self) -> bool:
        """Whether the gate is shut, for good."""
        return self._stopped

    def stops_at(self, count: int) -> bool:
        """Whether the gate is shut from this count on; once shut, counts are not looked at."""
        self._check_process()
        with self._lock:
            if self._stopped:
                return True
            number = one_whole(count, otherwise="a gate is asked about one count at a time")
            return self._stops_at(number, 0 if self._ahead is None else self._ahead.one())

    def _stops_at(self, count: int, noise: int) -> bool:
        self._stopped = self._sign * count + noise >= self._threshold
        return self._stopped


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
        noise = _noise(len(steps), 0.0 if math.isinf(self.epsilon) else self.scale)
        totals = [
            run._add(value, extra) for value, extra in zip(steps.tolist(), noise, strict=True)
        ]
        return np.array(totals, dtype=np.int64)


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
