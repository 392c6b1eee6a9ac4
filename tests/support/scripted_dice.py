"""Dice for tests: what a device draws, chosen beforehand."""

from __future__ import annotations

from collections import deque

import numpy as np


def never(item):
    raise AssertionError(f"{item} was decided again")


def always(number):
    """Every draw is this, or as near as its bound allows."""
    return lambda item: lambda bound: min(number, bound - 1)


def seeded(seed):
    """Draws that repeat."""
    generator = np.random.default_rng(seed)
    return lambda item: lambda bound: int(generator.integers(bound))


def script(waiting):
    """These draws, one after the other."""
    waiting = deque(waiting)
    return lambda item: lambda bound: waiting.popleft()
