"""The sum of stars times tastes: an item's stars above a person's level, times the person's tastes.

The result is equal bit for bit to that of a readable function of the tests: each number is made by
the same additions in the same order. What saves time changes no rounding: a regression is solved in
place, products with zeros are left out, a person's regression is solved once for all their ratings,
and rows have a fixed width, so that the processor works on several numbers of a row at once.

Runs at   the platform, on raw ratings. Each table is clipped here; the caller draws the noise.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from tacit.engine.profile_kernels.clip import clip_person
from tacit.engine.profile_kernels.types import ClipRule, StarRows, StarTable
from tacit.errors import ConfigError

MOST_TASTES = 15
"""Largest number k of tastes."""
_ROW_WIDTH = MOST_TASTES + 1
"""Number of float64 of a row, laid out as `[level, taste_1 .. taste_k, 0 ..]`."""


_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _set_row(
    typing: Any,
    target: Any,
    target_row: Any,
    base: Any,
    base_row: Any,
    factor: Any,
    source: Any,
    source_row: Any,
) -> Any:
    """Compile `set_row(target, target_row, base, base_row, factor, source, source_row)`.

    Kernels call it to set target[target_row] = base[base_row] + factor * source[source_row]. All
    rows have `_ROW_WIDTH` float64, and bounds are not checked.
    """
    del typing, target_row, base_row, factor, source_row  # the signature does not depend on them

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        row_type = ir.VectorType(ir.DoubleType(), _ROW_WIDTH)
        target_array, target_row, base_array, base_row, factor, source_array, source_row = arguments
        target_type, _, base_type, _, _, source_type, _ = signature.args

        def point_at_row(array_type: Any, array: Any, row: Any) -> Any:
            data = context.make_array(array_type)(context, builder, array).data
            return builder.gep(builder.bitcast(data, ir.PointerType(row_type)), [row])

        target_pointer = point_at_row(target_type, target_array, target_row)
        base_pointer = point_at_row(base_type, base_array, base_row)
        source_pointer = point_at_row(source_type, source_array, source_row)
        factors = ir.Constant(row_type, ir.Undefined)
        for lane in range(_ROW_WIDTH):
            lane_number = ir.Constant(ir.IntType(32), lane)
            factors = builder.insert_element(factors, factor, lane_number)
        added = builder.fmul(factors, builder.load(source_pointer, align=8))
        sums = builder.fadd(builder.load(base_pointer, align=8), added)
        builder.store(sums, target_pointer, align=8)
        return context.get_dummy_value()

    index = types.intp
    return types.void(target, index, base, index, types.float64, source, index), generate


set_row: Any = _set_row


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _gather_evidence(
    rows: Any, u: int, released: Any, lines: Any, line_of: Any, gram: Any, evidence: Any
) -> int:
    """Fill gram (width, _ROW_WIDTH) and evidence (width,) of the regression of person u.

    The width is k + 1. l_j is [1, loadings of the item of rating j], and s_j the item's variance;
    for an item outside the tables, l_j is [1, 0 .. 0] and s_j is 1. `lines` and `line_of` are those
    of `_add_tables`.

        gram     = diag(released.level_precision, 1 .. 1) + sum_j l_j l_j' / s_j
        evidence = sum_j l_j deviation_j / s_j

    Returns:
        The number of the person's ratings of items in the tables.
    """
    width = len(gram)
    for a in range(width):
        evidence[a] = 0.0
        for b in range(_ROW_WIDTH):
            gram[a, b] = 0.0
        gram[a, a] = 1.0 if a else released.level_precision
    rated = 0
    for j in range(rows.offsets[u], rows.offsets[u + 1]):
        place, deviation = rows.places[j], rows.deviations[j]
        rated += place >= 0
        variance = released.variances[place] if place >= 0 else 1.0
        line = line_of[place] if place >= 0 else 0
        if line == 0:
            gram[0, 0] += 1.0 / variance
            evidence[0] += 1.0 / variance * deviation
            continue
        row = lines[line]
        for a in range(width):
            share = row[a] / variance
            evidence[a] += share * deviation
            set_row(gram, a, gram, a, share, lines, line)
    return rated


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _invert(gram: Any) -> None:
    """Invert a positive definite matrix in place, by Gauss and Jordan without row exchanges."""
    width = len(gram)
    for a in range(width):
        pivot = gram[a, a]
        gram[a, a] = 1.0
        for b in range(_ROW_WIDTH):
            gram[a, b] /= pivot
        for c in range(width):
            factor = gram[c, a]
            if c != a and factor != 0.0:
                gram[c, a] = 0.0
                set_row(gram, c, gram, c, -factor, gram, a)


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _multiply(matrix: Any, row: Any, image: Any) -> None:
    """Fill image[:width] with `matrix[:, :width] @ row[:width]`; width is the matrix's height."""
    for a in range(len(matrix)):
        total = 0.0
        for b in range(len(matrix)):
            total += matrix[a, b] * row[b]
        image[a] = total


def add_star_factors(rows: StarRows, released: StarTable, clip: ClipRule, total: Any) -> None:
    """Add each person's table to total (items + k, k), clipped as a whole.

    A person's level and tastes are posterior means given the person's ratings but one, rating j
    (Bayesian linear regression, by the formula of Sherman and Morrison). With l_j, s_j and
    deviation_j of `_gather_evidence`, P = gram^-1 and m = P evidence:

        misfit_j  = (deviation_j - l_j' m) / max(s_j - l_j' P l_j, s_j / 1000)
        tastes_-j = m - P l_j misfit_j                        (level first, then k tastes t_-j)
        item j:    (deviation_j - level_-j) t_-j / sqrt(n)    (k,)
        k rows:    released.moment_weight * sum_j t_-j t_-j' / sqrt(n)        (k, k)

    n is the number of the person's ratings of items in the tables, and j runs over these.

    Args:
        rows: People's ratings around released means.
        released: Loadings and variances.
        clip: Clip of one person's whole table.
        total: Changed in place.

    Raises:
        ConfigError: There are more than `MOST_TASTES` tastes.
    """
    items, k = released.loadings.shape
    if k > MOST_TASTES:
        raise ConfigError(f"A person has at most {MOST_TASTES} tastes; got {k}.")
    informative = np.flatnonzero(released.loadings.any(axis=1))
    lines = np.zeros((len(informative) + 1, _ROW_WIDTH))
    lines[:, 0] = 1
    lines[1:, 1 : k + 1] = released.loadings[informative]
    line_of = np.zeros(items, np.int64)
    line_of[informative] = np.arange(1, len(lines))
    _add_tables(rows, released, lines, line_of, clip, total)


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _add_tables(rows: Any, released: Any, lines: Any, line_of: Any, clip: Any, total: Any) -> None:
    """Add each person's table, as `add_star_factors` says.

    Args:
        rows: `StarRows`.
        released: `StarTable`.
        lines: (lines, _ROW_WIDTH) rows `[1, loadings of an item, 0 ..]`. Line 0 is `[1, 0 ..]`, for
            items whose loadings are all 0.
        line_of: (items,) line of each item.
        clip: `ClipRule`.
        total: Changed in place.
    """
    k = total.shape[1]
    gram, moment = np.empty((k + 1, _ROW_WIDTH)), np.empty((k, _ROW_WIDTH))
    tastes = np.empty((len(total), _ROW_WIDTH))
    evidence, mean = np.zeros(k + 1), np.zeros((1, _ROW_WIDTH))
    images = np.zeros((2, _ROW_WIDTH))  # P l_j: for a level alone, and for the current rating
    values, places = np.empty(total.size), np.empty(len(total), np.int64)
    for u in range(len(rows.offsets) - 1):
        rated = _gather_evidence(rows, u, released, lines, line_of, gram, evidence)
        if rated == 0:
            continue
        _invert(gram)
        _multiply(gram, evidence, mean[0])
        for a in range(k + 1):
            images[0, a] = gram[a, 0]
        weight = 1.0 / math.sqrt(rated)
        # tastes_-j of each rating: level and tastes without it.
        rows_filled = 0
        for j in range(rows.offsets[u], rows.offsets[u + 1]):
            place = rows.places[j]
            if place < 0:
                continue
            line, variance = line_of[place], released.variances[place]
            misfit = rows.deviations[j]
            if line == 0:
                leverage = images[0, 0]
                misfit -= mean[0, 0]
            else:
                leverage = 0.0
                _multiply(gram, lines[line], images[1])
                for a in range(k + 1):
                    leverage += images[1, a] * lines[line, a]
                    misfit -= mean[0, a] * lines[line, a]
            misfit /= max(variance - leverage, 1e-3 * variance)
            set_row(tastes, rows_filled, mean, 0, -misfit, images, np.int64(line > 0))
            places[rows_filled] = place
            rows_filled += 1
        # The rows of the items, and the sum of t_-j t_-j' / sqrt(n) in `moment`.
        for a in range(k):
            for b in range(_ROW_WIDTH):
                moment[a, b] = 0.0
        rows_filled = 0
        for j in range(rows.offsets[u], rows.offsets[u + 1]):
            if rows.places[j] < 0:
                continue
            above_level = weight * (rows.deviations[j] - tastes[rows_filled, 0])
            for a in range(k):
                values[rows_filled * k + a] = above_level * tastes[rows_filled, a + 1]
                set_row(
                    moment, a, moment, a, weight * tastes[rows_filled, a + 1], tastes, rows_filled
                )
            rows_filled += 1
        for a in range(k):
            for b in range(k):
                values[rows_filled * k + b] = released.moment_weight * moment[a, b + 1]
            places[rows_filled] = len(released.variances) + a
            rows_filled += 1
        clip_person(values, rows_filled * k, clip)
        for j in range(rows_filled):
            row = total[places[j]]
            for a in range(k):
                row[a] += values[j * k + a]
