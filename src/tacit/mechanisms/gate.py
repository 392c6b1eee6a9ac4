"""AboveThreshold: a gate that says when a count first reaches a threshold, and then stays shut.

Source       Dwork and Roth: The algorithmic foundations of differential privacy (2014), Algorithm
             1 and Theorem 3.23. Lyu, Su, Li: Understanding the sparse vector technique (VLDB
             2017), for monotonic counts and for the variants that are broken.
Guarantee    epsilon for all answers together until the gate stops, however many there are.
Sensitivity  the most by which ANY one count differs between neighbours. If `monotonic`, all counts
             change in the same direction, and half the noise on the counts is enough.
Sampler      exact discrete Laplace on integers: one draw for the threshold, and a new draw for each
             count; `GateRun` draws those for the counts in blocks.
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
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.runs import LaplaceBlocks, MechanismRun, laplace_noise
from tacit.mechanisms.sensitive_values import MOST_STEPS, clamped_integer, clamped_integers


@dataclass(frozen=True)
class ThresholdGate:
    """A gate that stops at the first count that is, with noise, at or beyond the threshold."""

    epsilon: float
    """Loss of all answers together, in nats; inf compares exactly."""
    threshold: int
    """Whole number that counts are compared with."""
    sensitivity: int = 1
    """The most by which any one count differs between neighbouring inputs."""
    monotonic: bool = False
    """Whether all counts change in the same direction between neighbouring inputs."""
    stops: Literal["above", "below"] = "above"
    """With "above", the gate stops at a count at or above the threshold; with "below", at or below
    it."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("threshold", self.threshold, least=-MOST_STEPS, most=MOST_STEPS)
        check_whole("sensitivity", self.sensitivity, least=1, most=MOST_STEPS)
        if self.stops not in ("above", "below"):
            raise ConfigError(f'stops is "above" or "below"; got {self.stops!r}.')

    @cached_property
    def threshold_scale(self) -> float:
        """Scale of the noise on the threshold; 0 for the non-private variant."""
        return self._scale(2)

    @cached_property
    def count_scale(self) -> float:
        """Scale of the noise on each count; 0 for the non-private variant."""
        return self._scale(2 if self.monotonic else 4)

    @property
    def event(self) -> Event:
        """The cost of all answers of one gate, until it stops."""
        return NonPrivate() if math.isinf(self.epsilon) else Gate(self.epsilon)

    def start(self) -> GateRun:
        """Open a new gate. Each call costs another `event`."""
        return GateRun(self)

    def __call__(self, counts: ArrayLike) -> int:
        """Open a new gate, and return the index in `counts` (n,) at which it stops, or else n.

        Raises:
            DataError: A count is not a finite whole number.
        """
        numbers = clamped_integers(counts).ravel().tolist()
        run = self.start()
        noises = laplace_noise(len(numbers), self.count_scale)
        for index, (number, noise) in enumerate(zip(numbers, noises, strict=True)):
            if run.compare(number, noise):
                return index
        return len(numbers)

    def _scale(self, factor: int) -> float:
        """Return factor * sensitivity / epsilon, rounded up; 0 for the non-private variant."""
        if math.isinf(self.epsilon):
            return 0.0
        return float_above(factor * self.sensitivity / Fraction(self.epsilon))


class GateRun(MechanismRun):
    """One gate, from its opening until it stops."""

    def __init__(
        self, gate: ThresholdGate, *, noisy_threshold: int | None = None, has_stopped: bool = False
    ) -> None:
        """Open a new gate, or restore one that was stored.

        Args:
            gate: Parameters of the gate.
            noisy_threshold: The noisy threshold of a stored gate; None draws a new one.
            has_stopped: Whether a stored gate has stopped.
        """
        super().__init__()
        self.gate = gate
        self._stopped = has_stopped
        # A gate that stops below compares negated counts with the negated threshold.
        self._sign = 1 if gate.stops == "above" else -1
        if noisy_threshold is None:
            (noise,) = laplace_noise(1, gate.threshold_scale)
            noisy_threshold = self._sign * gate.threshold + noise
        self._threshold = noisy_threshold  # never released, and never drawn again
        self._blocks = LaplaceBlocks(gate.count_scale) if gate.count_scale > 0 else None

    @property
    def noisy_threshold(self) -> int:
        """The noisy threshold, to be stored with the gate; it must never be released.

        For a gate that stops below, it is the negated threshold plus noise.
        """
        return self._threshold

    @property
    def has_stopped(self) -> bool:
        """Whether the gate has stopped; it never opens again."""
        return self._stopped

    def stops_at(self, count: int) -> bool:
        """Say whether the gate stops at this count, or has stopped before.

        Raises:
            DataError: The count is not one whole number.
            PrivacyError: Another process opened the gate.
        """
        self._check_process()
        with self._lock:
            if self._stopped:
                return True
            number = clamped_integer(count, shape_error="a gate is asked about one count at a time")
            noise = 0 if self._blocks is None else self._blocks.next_noise()
            return self.compare(number, noise)

    def compare(self, count: int, noise: int) -> bool:
        """Compare a count plus its noise with the noisy threshold; stop the gate if it is reached.

        This method neither locks nor draws: its callers `stops_at` and `ThresholdGate.__call__` do.

        Returns:
            Whether the gate has stopped.
        """
        self._stopped = self._sign * count + noise >= self._threshold
        return self._stopped
