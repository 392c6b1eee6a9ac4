"""A gate that tells when a count first passes a threshold, and then stays shut: AboveThreshold.

Source       Dwork and Roth: The algorithmic foundations of differential privacy (2014), Algorithm
             1 and Theorem 3.23. Lyu, Su, Li: Understanding the sparse vector technique (VLDB
             2017), for monotonic counts and for the variants that are broken.
Guarantee    epsilon for all answers together until the gate stops, however many there are.
Sensitivity  the most that ANY one count can change. `monotonic`: a change of the data moves all
             counts in the same direction; half the noise on the counts.
Sampler      OpenDP's discrete Laplace on integers: once on the threshold, afresh on each count; a
             running gate draws the counts' in blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tacit.accounting.events import Event, Gate, NonPrivate
from tacit.accounting.rounding import float_above
from tacit.errors import ConfigError
from tacit.mechanisms import samplers
from tacit.mechanisms.grid import MOST_STEPS, check_epsilon, check_whole, one_whole, whole
from tacit.mechanisms.running import LaplaceAhead, Running


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
        noise = self._noise(len(questions), self.count_scale)
        for passed, (count, extra) in enumerate(zip(questions.tolist(), noise, strict=True)):
            if run._stops_at(count, extra):
                return passed
        return len(questions)

    def _scale(self, factor: int) -> float:
        if math.isinf(self.epsilon):
            return 0.0
        return float_above(factor * self.sensitivity / Fraction(self.epsilon))

    def _noise(self, count: int, scale: float) -> list[int]:
        nothing = np.zeros(count, dtype=np.int64)
        return samplers.discrete_laplace(nothing, scale).tolist() if scale > 0 else [0] * count


class GateRun(Running):
    """One life of a gate. drawn: the noisy threshold of a life that goes on, else drawn now."""

    def __init__(self, gate: ThresholdGate, *, drawn: int | None = None) -> None:
        super().__init__()
        self.gate = gate
        self._stopped = False
        self._sign = 1 if gate.stops == "above" else -1
        if drawn is None:
            (noise,) = gate._noise(1, gate.threshold_scale)
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
