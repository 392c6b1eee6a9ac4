"""Exact discrete Gaussian and discrete Laplace noise for many values at once.

Law      P(N = n) is proportional to exp(-h(|n|)) on all integers. Gaussian: h(n) = a n^2 with
         a = 1 / (2 sigma^2). Laplace: h(n) = a n with a = 1 / scale. `a` is the exact rational of
         the float that is passed.
Method   |N| = 2^b B + J with 0 <= J < 2^b. The block B is drawn by inversion: a uniform number of
         63 bits is compared with integer thresholds floor(2^63 P(B <= k)); a tie looks at 64 more
         bits of the same number. J is uniform on b bits, and the candidate is kept with
         probability exp(h(2^b B) - h(2^b B + J)). Negative zero is refused, since zero would have
         two representations.
Exact    Thresholds and the acceptance test are decided by integer bounds on both sides. Floats
         only settle acceptances that are farther than 2^-40 from the boundary, by a proven bound
         of their rounding error; no exponential, logarithm or table in floats is involved.
Source   Theorem 4 of Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy
         (NeurIPS 2020) and the proof of Laplace noise hold unchanged, since the law is exact.
Time     Does not depend on the values. Which places needed a search, an exact decision or one more
         word depends on the noise (docs/known-limitations.md).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit import randomness
from tacit.errors import ConfigError
from tacit.randomness import Source

Kind = Literal["gaussian", "laplace"]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

LARGEST_SCALE = 2.0**48
"""Up to here J is an exact double and 19 bits of its word are left for the acceptance test."""
WORD_BITS = 64
UNIFORM_BITS = 63
"""A word holds a sign in its lowest bit and a uniform number in the others."""
GUARD_BITS = 64
"""Bits of the weights beyond those of the thresholds; as many again until all are certain."""
EXP_GUARD_BITS = 32
"""Bits beyond those asked for, in which the rounding of `exp_minus` happens."""
CHUNK = 1 << 14
"""Values whose noise is drawn together: bounds the memory."""
GUIDE_BITS = 12
"""Leading bits of the uniform number that find most blocks without a search."""
SEARCH_NEEDED = -1
FLOAT_MARGIN = 2.0**-40
"""256 times the bound on the rounding error of the float acceptance test (2^-48)."""
INT64 = np.iinfo(np.int64)


def exp_minus(x: Fraction, precision: int) -> tuple[int, int]:
    """Bound exp(-x) from both sides by integers.

    Args:
        x: At least 0.
        precision: Bits after the point.

    Returns:
        `low` and `high` with low <= 2^precision exp(-x) <= high.
    """
    if x >= precision:
        return 0, 1
    halvings = math.floor(x).bit_length() + 1
    y = x / 2**halvings
    bits = precision + 2 * halvings + EXP_GUARD_BITS
    low, high = taylor_of_exp_minus(y, bits)
    for _ in range(halvings):
        low, high = square_bounds(low, high, bits)
    spare = bits - precision
    return low >> spare, _shift_up(high, spare)


def taylor_of_exp_minus(y: Fraction, bits: int) -> tuple[int, int]:
    """Bound 2^bits exp(-y) for 0 <= y < 1/2 by the alternating series sum of (-y)^n / n!."""
    term_low = term_high = 1 << bits
    low = high = 0
    n = 0
    while True:
        if n % 2 == 0:
            low += term_low
            high += term_high
        else:
            low -= term_high
            high -= term_low
        if term_low == 0:
            break
        n += 1
        divisor = y.denominator * n
        term_low = term_low * y.numerator // divisor
        term_high = -(-term_high * y.numerator // divisor)
    # The terms that are left out alternate in sign and fall, so the last one bounds their sum.
    return low - term_high, high + term_high


def square_bounds(low: int, high: int, bits: int) -> tuple[int, int]:
    """Bound the square of a number between low and high, all in units of 2^-bits."""
    return (low * low) >> bits, _shift_up(high * high, bits)


def _shift_up(number: int, bits: int) -> int:
    """Divide by 2^bits and round up."""
    return -((-number) >> bits)


def thresholds(kind: Kind, rate: Fraction, block_bits: int, bits: int, guard: int) -> list[int]:
    """Cumulative probabilities of the blocks, floor(2^bits P(B <= k)) for k = 0, 1, ...

    Args:
        kind: Law of the noise.
        rate: `a` of the law.
        block_bits: `b`; a block holds 2^b integers.
        bits: Bits of the thresholds.
        guard: Bits of the weights beyond those of the thresholds, to begin with.

    Returns:
        The thresholds up to the first 2^bits - 1, which stands for "this block or a later one":
        a uniform number that equals it needs more bits.
    """
    while True:
        certain = certain_thresholds(kind, rate, block_bits, bits, guard)
        if certain is not None:
            return certain
        guard += GUARD_BITS


def certain_thresholds(
    kind: Kind, rate: Fraction, block_bits: int, bits: int, guard: int
) -> list[int] | None:
    """Compute `thresholds` with weights of bits + guard bits, if these are enough.

    Block B has the weight M_B = exp(-h(2^b B)), and P(B <= k) is M_0 + ... + M_k over the sum of
    all weights. Every number has a lower and an upper bound, in units of 2^-(bits + guard).

    Returns:
        The thresholds; None if the two bounds of any threshold differ.
    """
    precision = bits + guard
    unit = 1 << precision
    if kind == "gaussian":
        # M_(B+1) / M_B = exp(-(2 B + 1) a 4^b): each ratio is exp(-2 a 4^b) times the one before.
        ratio_low, ratio_high = exp_minus(rate * 4**block_bits, precision)
        change_low, change_high = square_bounds(ratio_low, ratio_high, precision)
    else:  # M_(B+1) / M_B = exp(-a 2^b), the same for all blocks.
        ratio_low, ratio_high = exp_minus(rate * 2**block_bits, precision)
        change_low, change_high = unit, unit
    weight_low, weight_high = unit, unit
    sum_low = sum_high = 0
    sums: list[tuple[int, int]] = []
    while weight_low > 0:
        sum_low += weight_low
        sum_high += weight_high
        sums.append((sum_low, sum_high))
        weight_low = (weight_low * ratio_low) >> precision
        weight_high = _shift_up(weight_high * ratio_high, precision)
        ratio_low = (ratio_low * change_low) >> precision
        ratio_high = _shift_up(ratio_high * change_high, precision)
    if ratio_high >= unit:  # the weights that are left out cannot be bounded
        return None
    # Ratios of weights never rise: what is left out is below a geometric series.
    rest_high = -((-weight_high * unit) // (unit - ratio_high))
    total_low, total_high = sum_low, sum_high + rest_high
    last = (1 << bits) - 1
    found: list[int] = []
    for low, high in sums:
        from_below = (low << bits) // total_high
        from_above = min((high << bits) // total_low, last)
        if from_below != from_above:
            return None
        found.append(from_below)
        if from_below == last:
            return found
    return None


@dataclass(frozen=True, eq=False)
class BlockTable:
    """Facts that a law and a scale fix before any draw; public, read-only.

    Attributes:
        kind: Law of the noise.
        rate: `a` of the law, exact.
        block_bits: `b`; a block holds 2^b integers.
        thresholds: (blocks,) floor(2^63 P(B <= k)), uint64.
        guide: (2^12,) block of all uniform numbers that begin with these 12 bits, or
            `SEARCH_NEEDED`.
    """

    kind: Kind
    rate: Fraction
    block_bits: int
    thresholds: Words
    guide: Integers

    def exponent(self, block: int, offset: int) -> Fraction:
        """Return h(2^b B + J) - h(2^b B), exactly."""
        steps = offset
        if self.kind == "gaussian":
            steps = offset * ((block << (self.block_bits + 1)) + offset)
        return self.rate * steps


@lru_cache(maxsize=128)
def block_table(kind: Kind, scale: float) -> BlockTable:
    """Build the table of one law.

    Args:
        kind: Law of the noise.
        scale: Sigma of Gaussian noise, or the scale of Laplace noise: above 0, at most 2^48.

    Raises:
        ConfigError: There is no such law, or the scale is out of range.
    """
    if kind not in ("gaussian", "laplace") or not 0 < scale <= LARGEST_SCALE:
        raise ConfigError(
            f"Noise in blocks is gaussian or laplace, of a scale above 0 and at most 2^48; got "
            f"{kind!r} and {scale}."
        )
    exact_scale = Fraction(scale)
    exponent_of_two = math.frexp(scale)[1]
    if kind == "gaussian":
        rate = 1 / (2 * exact_scale**2)
        block_bits = max(0, exponent_of_two - 5)
    else:
        rate = 1 / exact_scale
        block_bits = max(0, exponent_of_two - 4)
    found = thresholds(kind, rate, block_bits, UNIFORM_BITS, GUARD_BITS + 1)
    table = np.array(found, dtype=np.uint64)
    guide = guide_of(table)
    table.setflags(write=False)
    guide.setflags(write=False)
    return BlockTable(kind, rate, block_bits, table, guide)


def guide_of(table: Words) -> Integers:
    """Find the block of each cell of uniform numbers that share their first 12 bits.

    Returns:
        (2^12,) number of thresholds below the cell, or `SEARCH_NEEDED` where one lies in it.
    """
    cells = table >> np.uint64(UNIFORM_BITS - GUIDE_BITS)
    guide = np.searchsorted(cells, np.arange(1 << GUIDE_BITS, dtype=np.uint64), "left")
    guide = guide.astype(np.int64)
    guide[cells.astype(np.int64)] = SEARCH_NEEDED
    return guide


def add_noise(values: NDArray[Any], kind: Kind, scale: float) -> Integers:
    """Add independent noise of the operating system's randomness.

    Args:
        values: Integers of any shape that int64 can hold.
        kind: Law of the noise.
        scale: Sigma of Gaussian noise, or the scale of Laplace noise: above 0, at most 2^48.

    Returns:
        The sums, cut off at the ends of int64; shape of `values`.

    Raises:
        TypeError: The values are no integers of at most 63 bits and a sign.
    """
    # A masked array would keep its masked cells without noise.
    integers = np.asarray(values).astype(np.int64, casting="safe")
    noise = draw_noise(block_table(kind, scale), integers.size, randomness.secure())
    return add_clipped(integers.ravel(), noise).reshape(integers.shape)


def add_clipped(values: Integers, noise: NDArray[Any]) -> Integers:
    """Add (n,) noise to (n,) values exactly, then cut off at the ends of int64."""
    if noise.dtype == object:
        exact = [int(value) + int(draw) for value, draw in zip(values, noise, strict=True)]
        return np.array([min(max(each, INT64.min), INT64.max) for each in exact], dtype=np.int64)
    wrapped = (values.astype(np.uint64) + noise.astype(np.uint64)).astype(np.int64)
    sums = np.where((noise > 0) & (wrapped < values), INT64.max, wrapped)
    return np.where((noise < 0) & (wrapped > values), INT64.min, sums)


def draw_noise(table: BlockTable, count: int, source: Source) -> NDArray[Any]:
    """Draw `count` independent numbers of the table's law.

    Returns:
        (count,) int64, or Python integers where a draw is beyond 2^62.
    """
    starts = range(0, count, CHUNK)
    chunks = [_draw_chunk(table, min(CHUNK, count - start), source) for start in starts]
    return np.concatenate([np.zeros(0, dtype=np.int64), *chunks])


def _draw_chunk(table: BlockTable, count: int, source: Source) -> NDArray[Any]:
    """Fill all places; a place whose candidate is refused is drawn wholly anew."""
    noise: NDArray[Any] = np.zeros(count, dtype=np.int64)
    open_places = np.arange(count)
    while open_places.size:
        candidates, kept = _draw_candidates(table, open_places.size, source)
        if candidates.dtype == object and noise.dtype != object:
            noise = noise.astype(object)
        noise[open_places[kept]] = candidates[kept]
        open_places = open_places[~kept]
    return noise


def _draw_candidates(
    table: BlockTable, count: int, source: Source
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Draw one candidate for each of `count` places, and whether it is kept."""
    words = source.words(count)
    negative = (words & np.uint64(1)).astype(bool)
    blocks = find_blocks(table, words >> np.uint64(1), source)
    offsets = np.zeros(count, dtype=np.int64)
    kept = np.ones(count, dtype=bool)
    if table.block_bits:
        within = source.words(count)
        rest_bits = WORD_BITS - table.block_bits
        offsets = (within >> np.uint64(rest_bits)).astype(np.int64)
        rests = within & np.uint64((1 << rest_bits) - 1)
        kept = accept(table, blocks, offsets, rests, source)
    magnitudes = _join(blocks, offsets, table.block_bits)
    kept &= ~(negative & (magnitudes == 0))
    return np.where(negative, -magnitudes, magnitudes), kept


def _join(blocks: Integers, offsets: Integers, block_bits: int) -> NDArray[Any]:
    """Return 2^b B + J; as Python integers where int64 could overflow."""
    if (blocks >= 1 << (62 - block_bits)).any():
        blocks, offsets = blocks.astype(object), offsets.astype(object)
    magnitudes: NDArray[Any] = blocks * (1 << block_bits) + offsets
    return magnitudes


def find_blocks(table: BlockTable, uniforms: Words, source: Source) -> Integers:
    """Invert the distribution of blocks: B = number of k with P(B <= k) <= U."""
    blocks = table.guide[(uniforms >> np.uint64(UNIFORM_BITS - GUIDE_BITS)).astype(np.int64)]
    searched = np.flatnonzero(blocks == SEARCH_NEEDED)
    # Both sides are uint64: beside int64, NumPy would compare them as floats.
    found = np.searchsorted(table.thresholds, uniforms[searched], "right").astype(np.int64)
    blocks[searched] = found
    below = table.thresholds[np.maximum(found - 1, 0)]
    tied = searched[(found > 0) & (below == uniforms[searched])]
    for place in tied:
        blocks[place] = _settle_tie(table, int(uniforms[place]), source)
    return blocks


def _settle_tie(table: BlockTable, uniform: int, source: Source) -> int:
    """Append words to one uniform number until it equals no threshold."""
    bits = UNIFORM_BITS
    while True:
        uniform = (uniform << WORD_BITS) | int(source.words(1)[0])
        bits += WORD_BITS
        finer = finer_thresholds(table.kind, table.rate, table.block_bits, bits)
        block = bisect_right(finer, uniform)
        if block == 0 or finer[block - 1] != uniform:
            return block


@lru_cache(maxsize=8)
def finer_thresholds(kind: Kind, rate: Fraction, block_bits: int, bits: int) -> tuple[int, ...]:
    """Keep the thresholds of more bits, which a tie needs."""
    return tuple(thresholds(kind, rate, block_bits, bits, GUARD_BITS))


def accept(
    table: BlockTable, blocks: Integers, offsets: Integers, rests: Words, source: Source
) -> NDArray[np.bool_]:
    """Decide U < exp(-G) for each candidate, G = h(2^b B + J) - h(2^b B).

    `rests` are the first 64 - b bits of U.

    With g the float of G, the series 1 - g + g^2/2 - g^3/6 <= exp(-g) is at most g^4/24 too
    small for 0 <= g <= 1. What lies within the margin of either bound is decided by integers.
    """
    rest_bits = WORD_BITS - table.block_bits
    float_bits = min(rest_bits, 53)
    leading = (rests >> np.uint64(rest_bits - float_bits)).astype(np.float64)
    uniform = leading * 2.0**-float_bits
    last_unit = 2.0**-float_bits
    offset = offsets.astype(np.float64)
    exponent = offset * float(table.rate)
    if table.kind == "gaussian":
        twice_start = blocks.astype(np.float64) * 2.0 ** (table.block_bits + 1)
        exponent = offset * (twice_start + offset) * float(table.rate)
    lower = 1 - exponent * (1 - exponent * (0.5 - exponent / 6))
    upper = lower + exponent**2 * exponent**2 / 24
    small = exponent <= 1
    yes = small & (uniform + last_unit <= lower - FLOAT_MARGIN)
    no = small & (uniform >= upper + FLOAT_MARGIN)
    for place in np.flatnonzero(~(yes | no)):
        exact = table.exponent(int(blocks[place]), int(offsets[place]))
        yes[place] = is_below_exp_minus(exact, int(rests[place]), rest_bits, source)
    return yes


def is_below_exp_minus(exponent: Fraction, uniform: int, bits: int, source: Source) -> bool:
    """Decide U < exp(-exponent) by true bounds alone.

    Args:
        exponent: At least 0.
        uniform: The first `bits` bits of U; words are appended while they do not decide.
        bits: Number of bits of `uniform`.
        source: Where further words come from.
    """
    while True:
        low, high = exp_minus(exponent, bits)
        if uniform < low:
            return True
        if uniform >= high:
            return False
        uniform = (uniform << WORD_BITS) | int(source.words(1)[0])
        bits += WORD_BITS
