"""The least noise that meets a budget."""

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
        make_event: Maps a noise multiplier to everything that will be released, for example
            `lambda noise: repeat(Gaussian(noise), 10)`; more noise has to cost less. For events
            that take an epsilon: `lambda noise: Gate(1 / noise)`.
        epsilon: Largest loss, in nats.
        delta: The chance at which it holds, from 0 to 1.
        accountant: Makes the accountant that prices the event.
        precision: Relative, between 0 and 1. The answer meets the target, and a multiplier that
            is smaller by this share does not.

    Raises:
        ConfigError: An argument is out of range, or no multiplier meets the target, or any does.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if not 0 < precision < 1:
        raise ConfigError(f"precision is a share between 0 and 1; got {precision}.")

    def meets_target(noise: float) -> bool:
        return accountant().add(make_event(noise)).epsilon(delta) <= epsilon

    low, high = _bracket(meets_target, epsilon, delta)
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets_target(middle) else (middle, high)
    return high


def _bracket(
    meets_target: Callable[[float], bool], epsilon: float, delta: float
) -> tuple[float, float]:
    """Find one multiplier that is too small and one, twice as large, that is not."""
    high = 1.0
    while not meets_target(high):
        high *= 2
        if high > _LARGEST_MULTIPLIER:
            raise ConfigError(
                f"No noise reaches epsilon {epsilon:g} at delta {delta:g}: with this accountant "
                "the target is out of reach, or part of the release has no noise."
            )
    low = high / 2
    while meets_target(low):
        low, high = low / 2, low
        if low < 1 / _LARGEST_MULTIPLIER:
            raise ConfigError("Hardly any noise meets the target already: what is to be found?")
    return low, high
