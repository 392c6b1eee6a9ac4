"""The smallest noise that meets a target, found by asking an accountant."""

from __future__ import annotations

from collections.abc import Callable

from tacit.accounting.base import Accountant, check_delta, check_epsilon
from tacit.accounting.events import Event
from tacit.errors import ConfigError

_FURTHEST = 2.0**60


def smallest_noise(
    make_event: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float = 0.0,
    accountant: Callable[[], Accountant],
    precision: float = 1e-9,
) -> float:
    """The smallest noise multiplier whose event costs at most (epsilon, delta).

    make_event: noise multiplier -> everything that will be released, e.g.
    `lambda noise: repeat(Gaussian(noise), 10)`; more noise has to cost less. For events that take
    an epsilon, `lambda noise: Gate(1 / noise)`.
    precision: relative. The answer meets the target, and a smaller one by this share does not.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if not 0 < precision < 1:
        raise ConfigError(f"precision is a share between 0 and 1; got {precision}.")

    def enough(noise: float) -> bool:
        return accountant().add(make_event(noise)).epsilon(delta) <= epsilon

    low, high = _bracket(enough, epsilon, delta)
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _bracket(enough: Callable[[float], bool], epsilon: float, delta: float) -> tuple[float, float]:
    high = 1.0
    while not enough(high):
        high *= 2
        if high > _FURTHEST:
            raise ConfigError(
                f"No noise reaches epsilon {epsilon:g} at delta {delta:g}: with this accountant "
                "the target is out of reach, or part of the release has no noise."
            )
    low = high / 2
    while enough(low):
        low, high = low / 2, low
        if low < 1 / _FURTHEST:
            raise ConfigError("Hardly any noise meets the target already: what is to be found?")
    return low, high
