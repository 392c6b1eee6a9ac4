"""Checks of public parameters."""

from __future__ import annotations

import math

from tacit.errors import ConfigError

SMALLEST_EPSILON = 1e-9
"""Smallest epsilon: below it, rounding a probability to a multiple of 2**-53 would not be
negligible."""


def check_epsilon(epsilon: float) -> None:
    """Raise ConfigError unless epsilon is at least `SMALLEST_EPSILON`; infinity is allowed."""
    if math.isnan(epsilon) or epsilon < SMALLEST_EPSILON:
        raise ConfigError(
            f"epsilon is a number of at least {SMALLEST_EPSILON:g}, or inf for the non-private "
            f"variant; got {epsilon}."
        )


def check_positive(name: str, value: float) -> None:
    """Raise ConfigError unless the parameter's value is finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} is a finite number above 0; got {value}.")


def check_scale(scale: float) -> None:
    """Raise ConfigError if the scale of noise, in steps, is infinite after an overflow, or NaN."""
    if not math.isfinite(scale):
        raise ConfigError(
            "The noise would have no finite scale: take less noise, or a coarser resolution for "
            "this sensitivity."
        )


def check_multiplier(noise_multiplier: float) -> None:
    """Raise ConfigError unless a noise multiplier is finite and at least 0."""
    if not (math.isfinite(noise_multiplier) and noise_multiplier >= 0):
        raise ConfigError(
            "noise_multiplier is a finite number above 0, or 0 for the non-private variant; "
            f"got {noise_multiplier}."
        )


def check_whole(name: str, value: int, *, least: int, most: int | None = None) -> None:
    """Raise ConfigError unless the parameter's value is an integer from `least` to `most`."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or value < least or (most is not None and value > most):
        top = "" if most is None else f" and at most {most}"
        raise ConfigError(f"{name} is a whole number, at least {least}{top}; got {value!r}.")
