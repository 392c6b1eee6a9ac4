"""What the public fields of a mechanism must look like, refused in one sentence otherwise."""

from __future__ import annotations

import math

from tacit.errors import ConfigError

SMALLEST_EPSILON = 1e-9
"""Below it, rounding a chance to a multiple of 2**-53 would no longer be negligible."""


def check_epsilon(epsilon: float) -> None:
    """A loss in nats, or infinity for the non-private variant."""
    if math.isnan(epsilon) or epsilon < SMALLEST_EPSILON:
        raise ConfigError(
            f"epsilon is a number of at least {SMALLEST_EPSILON:g}, or inf for the non-private "
            f"variant; got {epsilon}."
        )


def check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} is a finite number above 0; got {value}.")


def check_scale(scale: float) -> None:
    """Of noise, in steps; 0 for the non-private variant."""
    if not math.isfinite(scale):
        raise ConfigError(
            "The noise would have no finite scale: take less of it, or a coarser resolution for "
            "this sensitivity."
        )


def check_whole(name: str, value: int, *, least: int, most: int | None = None) -> None:
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or value < least
        or (most is not None and value > most)
    ):
        top = "" if most is None else f" and at most {most}"
        raise ConfigError(f"{name} is a whole number, at least {least}{top}; got {value!r}.")
