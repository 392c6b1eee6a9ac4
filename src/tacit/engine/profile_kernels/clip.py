"""The clip of one person's whole table, compiled.

A person's table becomes whole steps, so that totals over people, which callers add up in 64-bit
integers, depend neither on blocks nor on the order of people. Only without noise
(`ClipRule.largest_square` below 0) values stay floats.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from tacit.engine.profile_kernels.types import ClipRule

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


_MAGNITUDE_BITS = np.int64(2**63 - 1)
"""All bits of a float64 but its sign: as whole numbers, magnitudes have the order of floats."""
_INFINITY_BITS = np.int64(0x7FF << 52)
"""Bits of infinity. A value is not finite if the bits of its magnitude are at least as large."""


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator, unused-ignore]
def _sum_squares(values: Any, size: int) -> float:
    """Add up the squares of values[:size], whole numbers.

    The sum is below 2^53, so it is exact in any order, and the compiler may reorder it.
    """
    square = 0.0
    for j in range(size):
        square += values[j] * values[j]
    return square


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def clip_person(values: Any, size: int, clip: ClipRule) -> None:
    """Clip and round values[:size] in place, as `tacit.mechanisms.sums.SumRelease.clip_table` does.

    With x the values, m = max |x|:

        steps = trunc(x / m * min(m, norm / max(|x / m|_2, 1)) / resolution)

    Then all steps move towards 0 by one, again and again until the sum of their squares is at most
    `largest_square`. If `largest_square` is below 0, the values stay. A table with a value that is
    not finite, which `clip_table` refuses, becomes 0.
    """
    largest, bits = np.zeros(1), values.view(np.int64)  # m, and the bits of each value
    largest_bits = np.int64(0)
    for j in range(size):
        largest_bits = max(largest_bits, bits[j] & _MAGNITUDE_BITS)
    if largest_bits >= _INFINITY_BITS:
        values[:size] = 0.0
        return
    largest.view(np.int64)[0] = largest_bits
    if largest_bits == 0 or clip.largest_square < 0:
        return
    for j in range(size):
        values[j] /= largest[0]
    square = 0.0
    for j in range(size):
        square += values[j] * values[j]
    scale = min(largest[0], clip.norm / max(math.sqrt(square), 1.0))
    for j in range(size):
        values[j] = np.trunc(values[j] * scale / clip.resolution)
    while _sum_squares(values, size) > clip.largest_square:
        for j in range(size):
            values[j] -= np.sign(values[j])
