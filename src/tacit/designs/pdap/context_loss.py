"""The exact loss of one draw by scores in [0, 1] mixed with a uniform one, and its inverse.

Scores may be anything in two cells. The chance of an arm is largest where it alone has score 1 and
smallest where it alone has score 0, so with weights up to e^a and K arms the loss is ln(p / q) with
p = (1 - s) e^a / (e^a + K - 1) + s / K   and   q = (1 - s) / (1 + (K - 1) e^a) + s / K.
Without exploring, s = 0: a + ln((1 + (K - 1) e^a) / (e^a + K - 1)), always below 2 a.
"""

from __future__ import annotations

import math

from tacit.accounting.rounding import above
from tacit.errors import ConfigError

_HALVINGS = 200


def loss(exponent: float, arms: int, explore: float) -> float:
    """Nats, rounded up. exponent: a. explore: s, chance of a uniform arm."""
    if arms < 1 or not 0 <= explore < 1 or exponent < 0:
        raise ConfigError("A draw has an arm or more, explores with a chance below 1, and a >= 0.")
    if arms == 1:
        return 0.0
    lower = math.exp(-exponent)
    likely = (1 - explore) / (1 + (arms - 1) * lower) + explore / arms
    unlikely = (1 - explore) * lower / (lower + arms - 1) + explore / arms
    return above(math.log(likely / unlikely), slack=1.0)


def exponent_for(epsilon: float, arms: int, explore: float) -> float:
    """The largest a whose loss is at most epsilon, but not above 30: exploring alone bounds it."""
    if arms == 1:
        return epsilon
    low, high = epsilon / 2, 30.0
    if loss(high, arms, explore) <= epsilon:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if loss(middle, arms, explore) <= epsilon else (low, middle)
    return low
