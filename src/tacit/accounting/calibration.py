"""Calibration: find the smallest noise that meets a privacy budget."""

from __future__ import annotations

from collections.abc import Callable

from tacit.accounting.base import Accountant, check_delta, check_epsilon
from tacit.accounting.events import Event
from tacit.errors import ConfigError

_LARGEST_MULTIPLIER = 2.0**60


def smallest_noise(
    make_event: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float = 0.0,
    accountant: Callable[[], Accountant],
    precision: float = 1e-9,
) -> float:
    """Find the smallest noise multiplier whose event costs at most (epsilon, delta).

    Args:
        make_event: Maps a noise multiplier to the event of all releases, for example
            `lambda noise: repeat(Gaussian(noise), 10)`. A larger multiplier must cost less. For
            events that take an epsilon: `lambda noise: Gate(1 / noise)`.
        epsilon: The budget, in nats.
        delta: The delta of the budget, from 0 to 1.
        accountant: Makes the accountant that prices the event.
        precision: Relative precision, between 0 and 1: the answer meets the budget, and
            (1 - precision) times the answer does not.

    Raises:
        ConfigError: An argument is out of range, or no multiplier meets the budget, or all do.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if not 0 < precision < 1:
        raise ConfigError(f"precision is a share between 0 and 1; got {precision}.")

    def meets_budget(noise: float) -> bool:
        return accountant().add(make_event(noise)).epsilon(delta) <= epsilon

    low, high = _bracket(meets_budget, epsilon, delta)
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets_budget(middle) else (middle, high)
    return high


def _bracket(
    meets_budget: Callable[[float], bool], epsilon: float, delta: float
) -> tuple[float, float]:
    """Find a multiplier that is too small, and twice as large a one that meets the budget.

    Returns:
        Both, the smaller first.
    """
    high = 1.0
    while not meets_budget(high):
        high *= 2
        if high > _LARGEST_MULTIPLIER:
            raise ConfigError(
                f"No noise reaches epsilon {epsilon:g} at delta {delta:g}: with this accountant "
                "the target is out of reach, or part of the release has no noise."
            )
    low = high / 2
    while meets_budget(low):
        low, high = low / 2, low
        if low < 1 / _LARGEST_MULTIPLIER:
            raise ConfigError(
                "Hardly any noise meets the target already, so that no smallest noise can be found."
            )
    return low, high
