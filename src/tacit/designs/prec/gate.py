"""p-REC's gate: in each round it tests, with noise, whether enough voters are left to hide among.

The paper has no gate: it assumes that a client has at least P peers, a promise that nobody can
check. The sound variant gives each client a gate of their own.

Formula    In round t a client's gate is open if and only if

               survivors_t + noise_t  >  P + slack + threshold_noise

           where survivors_t is the number of voters who still count for the client. If the
           paper's D or R (see `PRecSettings`) is above 0, it is the sum of their credits, divided
           by the credit of one voter at the start and rounded down. A gate that has shut stays
           shut: from then on the client is recommended objects uniformly at random.
Noise      discrete Laplace, P(noise = k) in proportion to e^(-|k| / scale), with the scale
           2 / epsilon (`noise_scale`). `make_gate(...).start()` draws threshold_noise, once, when
           the client joins. `is_open` draws noise_t, anew in each round. Both are drawn by
           the operating system's generator in `mechanisms/gate.py`, and never released.
Epsilon    `epsilon` for all answers of a gate together, however many rounds there are. It is
           `Plan.gate_epsilon`: the part of a client's epsilon that `settings.py` leaves for it.
Delta      the chance that a gate is ever open with fewer than P survivors, counting the voter who
           is to be hidden. `failure_chance` bounds it; `smallest_slack` finds a slack for a delta.
Source     AboveThreshold (Dwork, Roth, 2014, Algorithm 1), with the smaller noise for monotonic
           counts (Lyu, Su, Li, 2017): one voter more raises each count by 0 or 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from tacit.accounting.rounding import round_up
from tacit.errors import ConfigError
from tacit.mechanisms.gate import GateRun, ThresholdGate

_LARGEST_SLACK = 1 << 40
"""Largest slack that is tried, in voters: far more than there can be voters in a run."""


def make_gate(epsilon: float, peers: int, slack: int) -> ThresholdGate:
    """Make the gate that shuts in the first round with about peers + slack survivors or fewer.

    Args:
        epsilon: Nats of all answers of one client's gate together.
        peers: P, the least number of survivors that the gate is for.
        slack: Distance of the threshold above `peers`.
    """
    threshold = peers + slack
    return ThresholdGate(epsilon, threshold, sensitivity=1, monotonic=True, stops="below")


def noise_scale(epsilon: float) -> float:
    """Compute the scale of the noise on counts and on the threshold, 2 / epsilon, rounded up."""
    return make_gate(epsilon, peers=0, slack=0).count_scale


def is_open(gate: GateRun, survivors: int) -> bool:
    """Return whether the gate allows votes to be read in this round, by a test with new noise.

    Once an answer is False, all later answers are False too, and no noise is drawn for them.

    Args:
        gate: The client's gate, started when the client joined.
        survivors: How many voters still count for the client.
    """
    return not gate.stops_at(survivors)


def failure_chance(epsilon: float, slack: int) -> float:
    """Bound the chance that a gate is ever open with fewer than P survivors.

    With P - 1 survivors or fewer, a gate with the threshold P + slack is open only if
    noise_t - threshold_noise exceeds slack + 1, that is, if it is slack + 2 or more. It suffices to
    bound the chance of this in the first round with fewer than P survivors: if the gate shuts
    there, it is never open again. With q = e^(-1 / scale), the difference of two discrete Laplace
    draws is k >= 0 with the chance

        ((1 - q) / (1 + q))^2  q^k  (k + 1 + 2 q^2 / (1 - q^2))

    and the bound is its sum over all k >= slack + 2.

    Args:
        epsilon: Nats of all answers of the gate together.
        slack: Distance of the threshold above P; -1 or more.
    """
    return _failure_chance_at_rate(1 / noise_scale(epsilon), slack)


def _failure_chance_at_rate(rate: float, slack: int) -> float:
    """Sum the series of `failure_chance` for noise of the scale 1 / rate, rounded up; at most 1.

    With q = e^(-rate), the sum over all k >= K = slack + 2 is
    (1 - q) / (1 + q)^2  q^K  (K + 1 + 2 q^2 / (1 - q^2) + q / (1 - q)).
    """
    q = math.exp(-rate)
    one_minus_q = -math.expm1(-rate)
    least_difference = slack + 2
    last_factor = (least_difference + 1 + 2 * q * q / (one_minus_q * (1 + q))) + q / one_minus_q
    chance = one_minus_q / (1 + q) ** 2 * math.exp(-rate * least_difference) * last_factor
    # A relative error of the exponent rate K is rate K times as large in q^K
    return min(1.0, round_up(chance, slack=chance * rate * least_difference))


def smallest_slack(epsilon: float, delta: float) -> int:
    """Find the smallest slack, 0 or more, at which `failure_chance` is at most delta.

    Raises:
        ConfigError: No slack of up to 2^40 voters is enough.
    """
    rate = 1 / noise_scale(epsilon)

    def suffices(slack: int) -> bool:
        return _failure_chance_at_rate(rate, slack) <= delta

    sufficient_slack = 1
    while not suffices(sufficient_slack):
        if sufficient_slack >= _LARGEST_SLACK:
            raise ConfigError("The gate would need more voters than there can be: raise epsilon.")
        sufficient_slack *= 2
    return bisect_left(range(sufficient_slack), True, key=suffices)
