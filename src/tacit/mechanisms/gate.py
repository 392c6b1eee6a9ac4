"""A gate that tells when a count first reaches a threshold, and then stays shut: AboveThreshold.

Source       Dwork and Roth: The algorithmic foundations of differential privacy (2014), Algorithm
             1 and Theorem 3.23. Lyu, Su, Li: Understanding the sparse vector technique (VLDB
             2017), for monotonic counts and for the variants that are broken.
Guarantee    epsilon for all answers together until the gate stops, however many there are.
Sensitivity  the most that ANY one count can change. `monotonic`: a change of the data moves all
             counts in the same direction; half the noise on the counts.
Sampler      exact discrete Laplace on integers: once on the threshold, afresh on each count; a
             running gate draws the counts' in blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from numpy.typing import ArrayLike

from tacit.accounting.events import Event, Gate, NonPrivate
from tacit.accounting.rounding import float_above
from tacit.errors import ConfigError
from tacit.mechanisms.checks import (
    MOST_STEPS,
    check_epsilon,
    check_whole,
    clamped_integer,
    clamped_integers,
)
from tacit.mechanisms.runs import LaplaceBlocks, MechanismRun, laplace_noise


@dataclass(frozen=True)
class ThresholdGate:
    """A gate that stops at the first count that is, with noise, at or beyond the threshold."""

    epsilon: float
    """Loss of the gate's whole life, in nats; inf compares exactly."""
    threshold: int
    """Whole number that counts are compared with."""
    sensitivity: int = 1
    """The most that any one count can change."""
    monotonic: bool = False
    """Whether a change of the data moves all counts in the same direction."""
    stops: Literal["above", "below"] = "above"
    """The side of the threshold at which the gate stops."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("threshold", self.threshold, least=-MOST_STEPS, most=MOST_STEPS)
        check_whole("sensitivity", self.sensitivity, least=1, most=MOST_STEPS)
        if self.stops not in ("above", "below"):
            raise ConfigError(f'stops is "above" or "below"; got {self.stops!r}.')

    @cached_property
    def threshold_scale(self) -> float:
        """Scale of the threshold's noise; 0 for the non-private variant."""
        return self._scale(2)

    @cached_property
    def count_scale(self) -> float:
        """Scale of each count's noise; 0 for the non-private variant."""
        return self._scale(2 if self.monotonic else 4)

    @property
    def event(self) -> Event:
        """The cost of the gate's whole life."""
        return NonPrivate() if math.isinf(self.epsilon) else Gate(self.epsilon)

    def start(self) -> GateRun:
        """Open a gate. Each one started costs `event` again."""
        return GateRun(self)

    def __call__(self, counts: ArrayLike) -> int:
        """Count how many of `counts` (n,), in order, one gate lets pass before it stops; n if all.

        Raises:
            DataError: A count is not whole.
        """
        questions = clamped_integers(counts).ravel().tolist()
        run = self.start()
        noise = laplace_noise(len(questions), self.count_scale)
        for passed, count in enumerate(questions):
            if run.compare(count, noise[passed]):
                return passed
        return len(questions)

    def _scale(self, factor: int) -> float:
        if math.isinf(self.epsilon):
            return 0.0
        return float_above(factor * self.sensitivity / Fraction(self.epsilon))


class GateRun(MechanismRun):
    """One life of a gate."""

    def __init__(
        self, gate: ThresholdGate, *, noisy_threshold: int | None = None, has_stopped: bool = False
    ) -> None:
        """Begin a life, or go on with one.

        Args:
            gate: Parameters of the gate.
            noisy_threshold: The noisy threshold of a life that goes on; None draws it now.
            has_stopped: Whether the gate of a life that goes on is shut.
        """
        super().__init__()
        self.gate = gate
        self._stopped = has_stopped
        self._sign = 1 if gate.stops == "above" else -1
        if noisy_threshold is None:
            (noise,) = laplace_noise(1, gate.threshold_scale)
            noisy_threshold = self._sign * gate.threshold + noise
        self._threshold = noisy_threshold  # never released, never redrawn
        self._blocks = LaplaceBlocks(gate.count_scale) if gate.count_scale > 0 else None

    @property
    def noisy_threshold(self) -> int:
        """The noisy threshold, for the file of a run that goes on; never to be released."""
        return self._threshold

    @property
    def has_stopped(self) -> bool:
        """Whether the gate is shut, for good."""
        return self._stopped

    def stops_at(self, count: int) -> bool:
        """Say whether the gate is shut from this count on; once shut, counts are not looked at.

        Raises:
            DataError: The count is not one whole number.
        """
        self._check_process()
        with self._lock:
            if self._stopped:
                return True
            number = clamped_integer(count, otherwise="a gate is asked about one count at a time")
            noise = 0 if self._blocks is None else self._blocks.next_noise()
            return self.compare(number, noise)

    def compare(self, count: int, noise: int) -> bool:
        """Compare a count plus its noise with the noisy threshold; shut the gate if it is reached.

        It neither locks nor draws: `stops_at` and `ThresholdGate` do.
        """
        self._stopped = self._sign * count + noise >= self._threshold
        return self._stopped
