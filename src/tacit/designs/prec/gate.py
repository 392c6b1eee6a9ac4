"""How the gate before each round can fail, and how far above `peers` its threshold has to stand.

Source     AboveThreshold (Dwork, Roth, 2014), monotonic (Lyu, Su, Li, 2017): `mechanisms.gate`.
           `settings.Plan.mechanism` sets its threshold, `clients.Run.passes` asks it about the
           survivors of one client's run, and the curator withholds the votes of a round that it
           stops. The paper takes a promise about survivors in its place, which nobody can check.
Guarantee  All answers cost the gate's epsilon. Except with chance delta, while a gate is open
           `peers` survivors are left even if any one voter is taken away: see `failure_chance`.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from tacit.accounting.rounding import round_up
from tacit.errors import ConfigError
from tacit.mechanisms.gate import ThresholdGate

_MOST_SLACK = 1 << 40


def failure_chance(epsilon: float, slack: int) -> float:
    """Bound the chance that a gate ever is open while fewer than `peers` are left.

    The gate's threshold is peers + slack. Asked about a count of peers - 1 or less, it is open by
    mistake if the noise on the threshold less the noise on the count comes to slack + 2 or more.
    The chance is that of the first such round: a gate that is open by mistake later was so before.
    With
    q = e^(-1/scale) the difference of two discrete Laplace draws is k >= 0 with chance
    ((1-q)/(1+q))^2 q^k (k + 1 + 2 q^2 / (1 - q^2)); here is the sum from slack + 2 on.
    """
    return _failure_chance_at(1 / ThresholdGate(epsilon, 0, monotonic=True).count_scale, slack)


def _failure_chance_at(rate: float, slack: int) -> float:
    """Bound the chance of `failure_chance` from the rate, 1 / scale."""
    q = math.exp(-rate)
    rest = -math.expm1(-rate)
    first = slack + 2
    terms = (first + 1 + 2 * q * q / (rest * (1 + q))) + q / rest
    chance = rest / (1 + q) ** 2 * math.exp(-rate * first) * terms
    return min(1.0, round_up(chance, slack=chance * rate * first))


def smallest_slack(epsilon: float, delta: float) -> int:
    """Find the least slack at which the gate fails with chance at most delta.

    Raises:
        ConfigError: There is none below 2^40.
    """
    rate = 1 / ThresholdGate(epsilon, 0, monotonic=True).count_scale

    def suffices(slack: int) -> bool:
        return _failure_chance_at(rate, slack) <= delta

    enough = 1
    while not suffices(enough):
        if enough >= _MOST_SLACK:
            raise ConfigError("The gate would need more voters than there can be: raise epsilon.")
        enough *= 2
    return bisect_left(range(enough), True, key=suffices)
