"""The gate before each round: whether enough voters are left to hide one among them.

Source     AboveThreshold (Dwork, Roth, 2014), monotonic (Lyu, Su, Li, 2017), asked about the
           survivors of one client's run. The paper takes a promise about them in its place, which
           nobody can check.
Guarantee  All answers cost the gate's epsilon. Except with chance delta, a gate that is open has
           at least `peers` survivors without any one voter: see `failure`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Self

from tacit.accounting.rounding import above
from tacit.errors import ConfigError
from tacit.mechanisms.threshold import GateRun, ThresholdGate

_MOST_SLACK = 1 << 40


class Gate(GateRun):
    """One life of a gate; `threshold` and `stopped` go into the run's file and nowhere else."""

    @classmethod
    def opened(cls, *, epsilon: float, threshold: int) -> Self:
        """Stops at the first count that is, with noise, at or below the threshold."""
        return cls(_asked(epsilon, threshold))

    @classmethod
    def resumed(cls, *, epsilon: float, threshold: int, drawn: int, stopped: bool) -> Self:
        """The same gate in another process. The one it was taken from must not go on.

        Noise that it had drawn ahead for counts was never used, and is drawn anew.
        """
        gate = cls(_asked(epsilon, threshold), drawn=drawn)
        gate._stopped = stopped
        return gate

    @property
    def drawn(self) -> int:
        """The threshold with its noise. It is secret: it would reveal counts behind the gate."""
        return self._threshold


@lru_cache(maxsize=64)
def _asked(epsilon: float, threshold: int) -> ThresholdGate:
    """One for all clients of a run: its scales are computed once."""
    return ThresholdGate(epsilon, threshold, monotonic=True, stops="below")


def failure(epsilon: float, slack: int) -> float:
    """At most the chance that a gate ever is open while fewer than `peers` are left.

    The gate's threshold is peers + slack. Asked about a count of peers - 1 or less, it is open by
    mistake if the noise on the threshold less the noise on the count comes to slack + 2 or more.
    That is the first such round: later ones add nothing, as they come after it. With
    q = e^(-1/scale) the difference of two discrete Laplace draws is k >= 0 with chance
    ((1-q)/(1+q))^2 q^k (k + 1 + 2 q^2 / (1 - q^2)); here is the sum from slack + 2 on.
    """
    rate = 1 / ThresholdGate(epsilon, 0, monotonic=True).count_scale
    q, rest = math.exp(-rate), -math.expm1(-rate)
    first = slack + 2
    terms = (first + 1 + 2 * q * q / (rest * (1 + q))) + q / rest
    chance = rest / (1 + q) ** 2 * math.exp(-rate * first) * terms
    return min(1.0, above(chance, slack=chance * rate * first))


def smallest_slack(epsilon: float, delta: float) -> int:
    """The least slack at which the gate fails with chance at most delta."""
    low, high = -1, 1
    while failure(epsilon, high) > delta:
        low, high = high, 2 * high
        if high > _MOST_SLACK:
            raise ConfigError("The gate would need more voters than there can be: raise epsilon.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if failure(epsilon, middle) > delta else (low, middle)
    return high
