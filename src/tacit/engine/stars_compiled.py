"""What each person adds to the sum of tastes of the design `private`, compiled.

Equal bit for bit to a readable function of the tests: each number is made by the same additions in
the same order. What is saved does not round: a regression is solved in place, products with zeros
are left out, a person's own tastes are computed once, and rows have a fixed width, so that several
numbers of a row are in work at once.

Runs at   the platform, on raw ratings. Each table is clipped here; noise is drawn by the caller.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from tacit.engine.profile_sums_compiled import Clip, clip_person
from tacit.errors import ConfigError

MOST_TASTES = 15
_WIDE = MOST_TASTES + 1
"""Of a row: a person's level, their tastes, zeros."""


class StarRows(NamedTuple):
    """People's ratings. offsets: (people + 1,). places: (ratings,) where each item stands in the
    tables, -1: nowhere. rest: (ratings,) stars above what is expected of the mean person."""

    offsets: Any
    places: Any
    rest: Any


class StarTable(NamedTuple):
    """Released arrays that make people's tastes. loadings: (items, k), k at most `MOST_TASTES`.
    variances: (items,) of a rating around them. level: 1 / variance of people's levels. moment:
    weight of second moments."""

    loadings: Any
    variances: Any
    level: float
    moment: float


_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _set_row(
    typing: Any, target: Any, line: Any, base: Any, of: Any, factor: Any, source: Any, other: Any
) -> Any:
    """In a kernel `set_row(target, line, base, of, factor, source, other)`: target[line] = base[of]
    + factor * source[other], all with rows of `_WIDE` float64, without a check of the bounds."""
    del typing, line, of, factor, other  # the signature does not depend on them

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        row = ir.VectorType(ir.DoubleType(), _WIDE)

        def place(array: int) -> Any:
            data = context.make_array(signature.args[array])(context, builder, arguments[array])
            rows = builder.bitcast(data.data, ir.PointerType(row))
            return builder.gep(rows, [arguments[array + 1]])

        factors = ir.Constant(row, ir.Undefined)
        for lane in range(_WIDE):
            number = ir.Constant(ir.IntType(32), lane)
            factors = builder.insert_element(factors, arguments[4], number)
        added = builder.fmul(factors, builder.load(place(5), align=8))
        sums = builder.fadd(builder.load(place(2), align=8), added)
        builder.store(sums, place(0), align=8)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(target, whole, base, whole, types.float64, source, whole), generate


set_row: Any = _set_row


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _learn(rows: Any, u: int, known: Any, lines: Any, line: Any, gram: Any, rests: Any) -> int:
    """Fills gram (width, _WIDE) and rests (width,) with what ONE person's ratings say; gives how
    many of them are of items."""
    width = len(gram)
    for a in range(width):
        rests[a] = 0.0
        for b in range(_WIDE):
            gram[a, b] = 0.0
        gram[a, a] = 1.0 if a else known.level
    inside = 0
    for j in range(rows.offsets[u], rows.offsets[u + 1]):
        place, rest = rows.places[j], rows.rest[j]
        inside += place >= 0
        variance = known.variances[place] if place >= 0 else 1.0
        at = line[place] if place >= 0 else 0
        if at == 0:
            gram[0, 0] += 1.0 / variance
            rests[0] += 1.0 / variance * rest
            continue
        row = lines[at]
        for a in range(width):
            share = row[a] / variance
            rests[a] += share * rest
            set_row(gram, a, gram, a, share, lines, at)
    return inside


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _invert(gram: Any) -> None:
    """In place, by Gauss and Jordan: of a positive definite matrix without pivots."""
    width = len(gram)
    for a in range(width):
        pivot = gram[a, a]
        gram[a, a] = 1.0
        for b in range(_WIDE):
            gram[a, b] /= pivot
        for c in range(width):
            factor = gram[c, a]
            if c != a and factor != 0.0:
                gram[c, a] = 0.0
                set_row(gram, c, gram, c, -factor, gram, a)


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _times(matrix: Any, row: Any, image: Any) -> None:
    for a in range(len(matrix)):
        total = 0.0
        for b in range(len(matrix)):
            total += matrix[a, b] * row[b]
        image[a] = total


def stars(rows: StarRows, known: StarTable, clip: Clip, total: Any) -> None:
    """Adds to total (items + k, k) everybody's table, each clipped as a whole.

    At each of the person's items: how far its stars lie above the level that all their OTHER
    ratings have, times the tastes that the others tell; k rows below: the second moment of these
    tastes. All ratings of a person weigh as much as those of another. Tastes and level are means
    given ratings (Bayesian linear regression), each without one rating by Sherman and Morrison.
    """
    items, k = known.loadings.shape
    if k > MOST_TASTES:
        raise ConfigError(f"A person has at most {MOST_TASTES} tastes; got {k}.")
    informative = np.flatnonzero(known.loadings.any(axis=1))
    line, lines = np.zeros(items, np.int64), np.zeros((len(informative) + 1, _WIDE))
    line[informative], lines[:, 0] = np.arange(1, len(lines)), 1
    lines[1:, 1 : k + 1] = known.loadings[informative]
    _stars(rows, known, lines, line, clip, total)


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _stars(rows: Any, known: Any, lines: Any, line: Any, clip: Any, total: Any) -> None:
    """lines: (items with loadings + 1, _WIDE) level and loadings, those of all others first. line:
    (items,) which of them is an item's."""
    k = total.shape[1]
    gram, moment = np.empty((k + 1, _WIDE)), np.empty((k, _WIDE))
    tastes = np.empty((len(total), _WIDE))
    rests, mean, turned = np.zeros(k + 1), np.zeros((1, _WIDE)), np.zeros((2, _WIDE))
    values, places = np.empty(total.size), np.empty(len(total), np.int64)
    for u in range(len(rows.offsets) - 1):
        inside = _learn(rows, u, known, lines, line, gram, rests)
        if inside == 0:
            continue
        _invert(gram)
        _times(gram, rests, mean[0])
        for a in range(k + 1):
            turned[0, a] = gram[a, 0]
        weight, size = 1.0 / math.sqrt(inside), 0
        for j in range(rows.offsets[u], rows.offsets[u + 1]):
            place = rows.places[j]
            if place < 0:
                continue
            at, variance, misfit = line[place], known.variances[place], rows.rest[j]
            if at == 0:
                leverage, misfit = turned[0, 0], misfit - mean[0, 0]
            else:
                leverage = 0.0
                _times(gram, lines[at], turned[1])
                for a in range(k + 1):
                    leverage += turned[1, a] * lines[at, a]
                    misfit -= mean[0, a] * lines[at, a]
            misfit /= max(variance - leverage, 1e-3 * variance)
            set_row(tastes, size, mean, 0, -misfit, turned, np.int64(at > 0))
            places[size] = place
            size += 1
        for a in range(k):
            for b in range(_WIDE):
                moment[a, b] = 0.0
        size = 0
        for j in range(rows.offsets[u], rows.offsets[u + 1]):
            if rows.places[j] < 0:
                continue
            above = weight * (rows.rest[j] - tastes[size, 0])
            for a in range(k):
                values[size * k + a] = above * tastes[size, a + 1]
                set_row(moment, a, moment, a, weight * tastes[size, a + 1], tastes, size)
            size += 1
        for a in range(k):
            for b in range(k):
                values[size * k + b] = known.moment * moment[a, b + 1]
            places[size] = len(known.variances) + a
            size += 1
        clip_person(values, size * k, clip)
        for j in range(size):
            row = total[places[j]]
            for a in range(k):
                row[a] += values[j * k + a]
