"""Exact discrete Gaussian and discrete Laplace noise for many values at once.

Law      P(N = n) is proportional to exp(-h(|n|)) on all integers. Gaussian: h(n) = a n^2 with
         a = 1 / (2 sigma^2). Laplace: h(n) = a n with a = 1 / scale. `a` is the exact rational of
         the float that is passed.
Method   |N| = 2^b B + J with 0 <= J < 2^b. The block B is drawn by inversion: a uniform number of
         63 bits is compared with integer thresholds floor(2^63 P(B <= k)); at a tie, 64 more bits
         of the same number are drawn. J is uniform on b bits, and the candidate is accepted with
         probability exp(h(2^b B) - h(2^b B + J)). A candidate of -0 is rejected, since zero would
         otherwise be drawn in two ways.
Exact    Thresholds come from lower and upper bounds in integers. Floats decide an acceptance test
         only if the uniform number is farther than 2^-40 from the probability, which is more than
         their proven rounding error; otherwise integer bounds decide it. No exponential, logarithm
         or table in floats is involved.
Source   Since the law is exact, the published proofs hold unchanged: Theorem 4 of Canonne, Kamath,
         Steinke: The discrete Gaussian for differential privacy (NeurIPS 2020), and that of Laplace
         noise.
Time     Does not depend on the values. It does depend on the noise, by how many draws needed a
         search, an exact decision or one more word (docs/known-limitations.md).
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
"""Largest scale of the noise. Up to it, J is an exact double, and takes at most 45 bits of its word
of 64: at least 19 are left for the acceptance test."""
WORD_BITS = 64
UNIFORM_BITS = 63
"""Bits of the uniform number in a word; its lowest bit is the sign."""
GUARD_BITS = 64
"""Additional bits of weights, beyond those of the thresholds. As many are added again until every
threshold is certain."""
EXP_GUARD_BITS = 32
"""Additional bits with which `exp_minus` computes, beyond those of its result."""
CHUNK = 1 << 14
"""Number of values whose noise is drawn together; it bounds the memory."""
GUIDE_BITS = 12
"""Number of leading bits of a uniform number, by which most blocks are found without a search."""
SEARCH_NEEDED = -1
"""In place of a block in the guide, if the leading bits do not determine it."""
FLOAT_MARGIN = 2.0**-40
"""256 times the bound on the rounding error of the float acceptance test (2^-48)."""
INT64 = np.iinfo(np.int64)
"""The range of the results."""


def exp_minus(x: Fraction, precision: int) -> tuple[int, int]:
    """Bound exp(-x) from both sides by integers.

    exp(-x) = exp(-y)^(2^n) with y = x / 2^n below 1/2: a series, then n squarings.

    Args:
        x: At least 0.
        precision: Bits after the binary point.

    Returns:
        `low` and `high` with low <= 2^precision exp(-x) <= high.
    """
    if x >= precision:  # then exp(-x) < 2^-precision
        return 0, 1
    halvings = math.floor(x).bit_length() + 1
    y = x / 2**halvings
    bits = precision + 2 * halvings + EXP_GUARD_BITS
    low, high = taylor_of_exp_minus(y, bits)
    for _ in range(halvings):
        low, high = square_bounds(low, high, bits)
    extra_bits = bits - precision
    return low >> extra_bits, _shift_up(high, extra_bits)


def taylor_of_exp_minus(y: Fraction, bits: int) -> tuple[int, int]:
    """Bound 2^bits exp(-y) from both sides, by the alternating series sum of (-y)^n / n!.

    Args:
        y: From 0 to below 1/2.
        bits: Bits after the binary point.

    Returns:
        The lower bound, from terms that are rounded down where they are added and up where they are
        subtracted, and the upper bound, from the opposite.
    """
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
        term_high = -(-term_high * y.numerator // divisor)  # rounded up
    # The omitted terms alternate in sign and become smaller, so the last term bounds their sum.
    return low - term_high, high + term_high


def square_bounds(low: int, high: int, bits: int) -> tuple[int, int]:
    """Bound the square of a number between low and high from both sides, in units of 2^-bits."""
    return (low * low) >> bits, _shift_up(high * high, bits)


def _shift_up(number: int, bits: int) -> int:
    """Divide by 2^bits and round up."""
    return -((-number) >> bits)


def thresholds(kind: Kind, rate: Fraction, block_bits: int, bits: int, guard: int) -> list[int]:
    """Compute the blocks' cumulative probabilities, floor(2^bits P(B <= k)) for k = 0, 1, ...

    Args:
        kind: Law of the noise.
        rate: `a` of the law.
        block_bits: `b`; a block holds 2^b integers.
        bits: Bits of the thresholds.
        guard: Bits by which weights are more precise than thresholds, at first.

    Returns:
        The thresholds up to the first that is 2^bits - 1. A uniform number that equals it belongs
        to this threshold's block or to a later block; more bits decide.
    """
    while True:
        block_thresholds = certain_thresholds(kind, rate, block_bits, bits, guard)
        if block_thresholds is not None:
            return block_thresholds
        guard += GUARD_BITS


def certain_thresholds(
    kind: Kind, rate: Fraction, block_bits: int, bits: int, guard: int
) -> list[int] | None:
    """Compute `thresholds` with weights of bits + guard bits, if these are enough bits.

    Block B has the weight M_B = exp(-h(2^b B)), and P(B <= k) is M_0 + ... + M_k divided by the sum
    of all weights. Each number has a lower and an upper bound, in units of 2^-(bits + guard).

    Returns:
        The thresholds; None if so few bits do not determine all of them.
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
    if ratio_high >= unit:  # the sum of the omitted weights cannot be bounded
        return None
    # The ratio of two successive weights never grows, so the omitted weights sum up to less than
    # the geometric series weight_high / (1 - ratio_high), rounded up.
    omitted_high = -((-weight_high * unit) // (unit - ratio_high))
    total_low = sum_low
    total_high = sum_high + omitted_high
    largest = (1 << bits) - 1
    thresholds_so_far: list[int] = []
    for low, high in sums:
        threshold_low = (low << bits) // total_high
        threshold_high = min((high << bits) // total_low, largest)
        if threshold_low != threshold_high:
            return None
        thresholds_so_far.append(threshold_low)
        if threshold_low == largest:
            return thresholds_so_far
    return None


@dataclass(frozen=True, eq=False)
class BlockTable:
    """Properties that draws of one law and scale share; public and read-only.

    Attributes:
        kind: Law of the noise.
        rate: `a` of the law, exact.
        block_bits: `b`; a block holds 2^b integers.
        thresholds: (blocks,) floor(2^63 P(B <= k)), uint64.
        guide: (2^12,) for each number of 12 bits, the block of all uniform numbers that begin with
            these bits; `SEARCH_NEEDED` if a threshold is among these numbers.
    """

    kind: Kind
    rate: Fraction
    block_bits: int
    thresholds: Words
    guide: Integers

    def exponent(self, block: int, offset: int) -> Fraction:
        """Return h(2^b B + J) - h(2^b B) exactly, for block B and offset J.

        Laplace: a J. Gaussian: a J (2^(b + 1) B + J).
        """
        multiple_of_rate = offset
        if self.kind == "gaussian":
            multiple_of_rate = offset * ((block << (self.block_bits + 1)) + offset)
        return self.rate * multiple_of_rate


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
    # A block is 1/32 to 1/16 of sigma, or 1/16 to 1/8 of the Laplace scale: so most candidates are
    # accepted, and a table has some hundred blocks. Small scales have blocks of one integer.
    if kind == "gaussian":
        rate = 1 / (2 * exact_scale**2)
        block_bits = max(0, exponent_of_two - 5)
    else:
        rate = 1 / exact_scale
        block_bits = max(0, exponent_of_two - 4)
    block_thresholds = np.array(
        thresholds(kind, rate, block_bits, UNIFORM_BITS, GUARD_BITS + 1), dtype=np.uint64
    )
    guide = make_guide(block_thresholds)
    block_thresholds.setflags(write=False)
    guide.setflags(write=False)
    return BlockTable(kind, rate, block_bits, block_thresholds, guide)


def make_guide(block_thresholds: Words) -> Integers:
    """Find the block of each cell; a cell is all uniform numbers with the same first 12 bits.

    Args:
        block_thresholds: (blocks,) `BlockTable.thresholds`.

    Returns:
        (2^12,) number of thresholds below the cell, or `SEARCH_NEEDED` if one lies in it.
    """
    cells = block_thresholds >> np.uint64(UNIFORM_BITS - GUIDE_BITS)
    guide = np.searchsorted(cells, np.arange(1 << GUIDE_BITS, dtype=np.uint64), "left")
    guide = guide.astype(np.int64)
    guide[cells.astype(np.int64)] = SEARCH_NEEDED
    return guide


def add_noise(values: NDArray[Any], kind: Kind, scale: float) -> Integers:
    """Add independent noise to each value, drawn from the operating system's generator.

    Args:
        values: Integers that int64 can hold, in an array of any shape.
        kind: Law of the noise.
        scale: Sigma of Gaussian noise, or the scale of Laplace noise: above 0, at most 2^48.

    Returns:
        The sums, cut off at the ends of int64; shape of `values`.

    Raises:
        TypeError: The values are not integers of at most 63 bits and a sign.
        ConfigError: There is no such law, or the scale is out of range.
    """
    # `asarray` drops the mask of a masked array, whose masked cells would get no noise.
    integers = np.asarray(values).astype(np.int64, casting="safe")
    noise = draw_noise(block_table(kind, scale), integers.size, randomness.secure())
    return add_clipped(integers.ravel(), noise).reshape(integers.shape)


def add_clipped(values: Integers, noise: NDArray[Any]) -> Integers:
    """Add (n,) noise to (n,) values exactly, and clip the sums to the range of int64."""
    if noise.dtype == object:
        exact = [int(value) + int(draw) for value, draw in zip(values, noise, strict=True)]
        clipped = [min(max(total, INT64.min), INT64.max) for total in exact]
        return np.array(clipped, dtype=np.int64)
    # Unsigned addition wraps around. It did so if the sum is below the value although the noise is
    # positive, or above the value although the noise is negative.
    wrapped_sums = (values.astype(np.uint64) + noise.astype(np.uint64)).astype(np.int64)
    sums = np.where((noise > 0) & (wrapped_sums < values), INT64.max, wrapped_sums)
    return np.where((noise < 0) & (wrapped_sums > values), INT64.min, sums)


def draw_noise(table: BlockTable, count: int, source: Source) -> NDArray[Any]:
    """Draw `count` independent numbers of the table's law.

    Returns:
        (count,) int64; Python integers, of dtype object, if a draw is beyond 2^62.
    """
    starts = range(0, count, CHUNK)
    chunks = [_draw_chunk(table, min(CHUNK, count - start), source) for start in starts]
    return np.concatenate([np.zeros(0, dtype=np.int64), *chunks])


def _draw_chunk(table: BlockTable, count: int, source: Source) -> NDArray[Any]:
    """Draw (count,) numbers by rejection: for each rejected candidate, a new one is drawn."""
    noise: NDArray[Any] = np.zeros(count, dtype=np.int64)
    missing = np.arange(count)
    while missing.size:
        candidates, is_accepted = _draw_candidates(table, missing.size, source)
        if candidates.dtype == object and noise.dtype != object:
            noise = noise.astype(object)
        noise[missing[is_accepted]] = candidates[is_accepted]
        missing = missing[~is_accepted]
    return noise


def _draw_candidates(
    table: BlockTable, count: int, source: Source
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Draw candidates N with |N| = 2^b B + J, and decide which are accepted.

    The first word of a candidate gives its sign and the uniform number of its block B. The second
    gives J in its first b bits, and the uniform number of the acceptance test in the others.

    Returns:
        (count,) candidates, and (count,) whether each is accepted.
    """
    words = source.words(count)
    is_negative = (words & np.uint64(1)).astype(bool)
    blocks = find_blocks(table, words >> np.uint64(1), source)
    offsets = np.zeros(count, dtype=np.int64)
    is_accepted = np.ones(count, dtype=bool)
    if table.block_bits:
        second_words = source.words(count)
        test_bits = WORD_BITS - table.block_bits
        offsets = (second_words >> np.uint64(test_bits)).astype(np.int64)
        uniforms = second_words & np.uint64((1 << test_bits) - 1)
        is_accepted = accept(table, blocks, offsets, uniforms, source)
    magnitudes = _join_block_and_offset(blocks, offsets, table.block_bits)
    is_negative_zero = is_negative & (magnitudes == 0)  # else zero would be twice as likely
    is_accepted &= ~is_negative_zero
    return np.where(is_negative, -magnitudes, magnitudes), is_accepted


def _join_block_and_offset(blocks: Integers, offsets: Integers, block_bits: int) -> NDArray[Any]:
    """Return 2^b B + J, as Python integers if int64 could overflow."""
    if (blocks >= 1 << (62 - block_bits)).any():
        blocks = blocks.astype(object)
        offsets = offsets.astype(object)
    magnitudes: NDArray[Any] = blocks * (1 << block_bits) + offsets
    return magnitudes


def find_blocks(table: BlockTable, uniforms: Words, source: Source) -> Integers:
    """Find the blocks of uniform numbers U: B = number of k with P(B <= k) <= U.

    Args:
        table: The law.
        uniforms: (n,) the first 63 bits of each U.
        source: Randomness for further bits, where a U equals a threshold.

    Returns:
        (n,) blocks.
    """
    leading_bits = (uniforms >> np.uint64(UNIFORM_BITS - GUIDE_BITS)).astype(np.int64)
    blocks = table.guide[leading_bits]
    searched = np.flatnonzero(blocks == SEARCH_NEEDED)
    # Both arrays must be uint64, because NumPy compares uint64 with int64 as floats.
    found_blocks = np.searchsorted(table.thresholds, uniforms[searched], "right").astype(np.int64)
    blocks[searched] = found_blocks
    thresholds_below = table.thresholds[np.maximum(found_blocks - 1, 0)]
    is_tie = (found_blocks > 0) & (thresholds_below == uniforms[searched])
    for index in searched[is_tie]:
        blocks[index] = _settle_tie(table, int(uniforms[index]), source)
    return blocks


def _settle_tie(table: BlockTable, uniform: int, source: Source) -> int:
    """Append words to a uniform number until it equals no threshold; return its block."""
    bits = UNIFORM_BITS
    while True:
        uniform = (uniform << WORD_BITS) | int(source.words(1)[0])
        bits += WORD_BITS
        longer_thresholds = finer_thresholds(table.kind, table.rate, table.block_bits, bits)
        block = bisect_right(longer_thresholds, uniform)
        if block == 0 or longer_thresholds[block - 1] != uniform:
            return block


@lru_cache(maxsize=8)
def finer_thresholds(kind: Kind, rate: Fraction, block_bits: int, bits: int) -> tuple[int, ...]:
    """Compute thresholds of more bits, for a tie; the last eight results are cached."""
    return tuple(thresholds(kind, rate, block_bits, bits, GUARD_BITS))


def accept(
    table: BlockTable, blocks: Integers, offsets: Integers, uniforms: Words, source: Source
) -> NDArray[np.bool_]:
    """Decide U < exp(-G) for each candidate, G = h(2^b B + J) - h(2^b B).

    With g the float of G, the series 1 - g + g^2/2 - g^3/6 is a lower bound of exp(-g), and at most
    g^4/24 too small, for 0 <= g <= 1. If these bounds and a margin for rounding errors do not
    decide, or if g > 1, integers do.

    Args:
        table: The law.
        blocks: (n,) B.
        offsets: (n,) J.
        uniforms: (n,) the first 64 - b bits of U.
        source: Randomness for further bits of U.

    Returns:
        (n,) whether U is below exp(-G).
    """
    uniform_bits = WORD_BITS - table.block_bits
    float_bits = min(uniform_bits, 53)
    leading_bits = (uniforms >> np.uint64(uniform_bits - float_bits)).astype(np.float64)
    uniform_low = leading_bits * 2.0**-float_bits  # U is at least this
    uniform_width = 2.0**-float_bits  # and below uniform_low + uniform_width
    offset = offsets.astype(np.float64)
    exponent = offset * float(table.rate)
    if table.kind == "gaussian":
        twice_start = blocks.astype(np.float64) * 2.0 ** (table.block_bits + 1)
        exponent = offset * (twice_start + offset) * float(table.rate)
    lower = 1 - exponent * (1 - exponent * (0.5 - exponent / 6))
    upper = lower + exponent**2 * exponent**2 / 24
    is_small = exponent <= 1
    is_below = is_small & (uniform_low + uniform_width <= lower - FLOAT_MARGIN)
    is_above = is_small & (uniform_low >= upper + FLOAT_MARGIN)
    for index in np.flatnonzero(~(is_below | is_above)):
        exact = table.exponent(int(blocks[index]), int(offsets[index]))
        is_below[index] = is_below_exp_minus(exact, int(uniforms[index]), uniform_bits, source)
    return is_below


def is_below_exp_minus(exponent: Fraction, uniform: int, bits: int, source: Source) -> bool:
    """Decide U < exp(-exponent) exactly, by bounds in integers.

    Args:
        exponent: At least 0.
        uniform: The first `bits` bits of U, as an integer. Further bits are drawn in words until
            the comparison is certain.
        bits: Number of bits of `uniform`.
        source: Randomness for further words.
    """
    while True:
        low, high = exp_minus(exponent, bits)
        if uniform < low:
            return True
        if uniform >= high:
            return False
        uniform = (uniform << WORD_BITS) | int(source.words(1)[0])
        bits += WORD_BITS
