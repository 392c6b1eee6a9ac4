"""Layered path aggregation and predictions from item neighbours, compiled.

Paths are followed depth first up to the last stage, gathered in parts, and sorted by the place they
reached: the last stage, nine tenths of the work at ten edges a place, is then one loop over a
place's edges, which stay in the nearest cache. Equal to the last bit to a readable version of the
tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from scipy import sparse

from tacit.engine.types import Floats, Numbers, Stage
from tacit.errors import ConfigError

PART = 2**14
"""Paths gathered before they take the last stage: their places, sums and shares fit in a cache."""


def paths(stages: Sequence[Stage], starts: Numbers) -> tuple[Floats, Floats]:
    """`Engine.paths`: beside the answer it needs one copy of the edges."""
    check_paths(stages, starts)
    edges = np.cumsum([0] + [len(stage.targets) for stage in stages])
    places = np.cumsum([0] + [len(stage.offsets) for stage in stages])
    sums = np.zeros((2, len(starts), stages[-1].width))
    # One array for all stages: where an edge goes is counted from the first stage's first.
    offsets = [stage.offsets + first for stage, first in zip(stages, edges, strict=False)]
    _sum_paths(
        np.concatenate(offsets),
        places,
        np.concatenate([stage.targets for stage in stages]).astype(np.uint32),
        np.concatenate([stage.agreements * stage.similarities for stage in stages]),
        np.concatenate([stage.agreements for stage in stages]),
        np.concatenate([stage.shares for stage in stages]),
        np.asarray(starts, dtype=np.int64),
        *sums,
    )
    return sums[0], sums[1]


def check_paths(stages: Sequence[Stage], starts: Numbers) -> None:
    """Refuse stages that do not fit together."""
    if not stages:
        raise ConfigError("A path has at least one stage.")
    layers = [len(stage.offsets) - 1 for stage in stages]
    for stage, following in zip(stages, [*layers[1:], stages[-1].width], strict=True):
        arrays = stage.targets, stage.similarities, stage.agreements, stage.shares
        if {int(stage.offsets[-1])} != {len(array) for array in arrays}:
            raise ConfigError("A stage's arrays have one entry for each of its edges.")
        inside = ((stage.targets >= 0) & (stage.targets < stage.width)).all()
        if stage.width != following or not inside:
            raise ConfigError(
                f"A stage of {stage.width} places leads outside of them, or to a layer of "
                f"{following}."
            )
    if len(starts) and not 0 <= starts.min() <= starts.max() < layers[0]:
        raise ConfigError(f"A path starts outside the {layers[0]} places of the first layer.")


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sum_paths(
    offsets: Any,
    places: Any,
    targets: Any,
    weighted: Any,
    agreements: Any,
    shares: Any,
    starts: Any,
    numerators: Any,
    denominators: Any,
) -> None:
    last = len(places) - 2
    edge, stop = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    # What the path gathered before each stage.
    sums, totals = np.zeros(last + 1), np.zeros(last + 1)
    certainties = np.ones(last + 1)
    # Where the paths of a part stand before the last stage, and what they gathered.
    reached, gathered = np.empty(PART, np.int64), np.empty((PART, 3))
    ends = offsets[places[last] : places[last + 1]]
    begin = ends[0]
    firsts = ends - begin
    by_edge, by_place = np.zeros(len(targets) - begin), np.zeros(len(ends) - 1)
    bounds, ordered = np.empty(len(ends), np.int64), np.empty((PART, 3))
    room = bounds, ordered, firsts, weighted[begin:], agreements[begin:], by_edge, by_place
    for line in range(len(starts)):
        size, stage = 0, 0
        edge[0], stop[0] = offsets[starts[line]], offsets[starts[line] + 1]
        if last == 0:
            reached[0], size, stage = starts[line], 1, -1
            gathered[0, 0], gathered[0, 1], gathered[0, 2] = 0.0, 0.0, 1.0
        while stage >= 0:
            if edge[stage] == stop[stage]:
                stage -= 1
                continue
            e = edge[stage]
            edge[stage] += 1
            a, s = sums[stage] + weighted[e], totals[stage] + agreements[e]
            c, place = certainties[stage] * shares[e], np.int64(targets[e])
            if stage + 1 == last:
                reached[size] = place
                gathered[size, 0], gathered[size, 1], gathered[size, 2] = a, s, c
                size += 1
                if size == PART:
                    _last_stage(reached, gathered, size, *room)
                    size = 0
                continue
            stage += 1
            sums[stage], totals[stage], certainties[stage] = a, s, c
            first = places[stage] + place
            edge[stage], stop[stage] = offsets[first], offsets[first + 1]
        _last_stage(reached, gathered, size, *room)
        above, below = numerators[line], denominators[line]
        _collect(firsts, targets[begin:], shares[begin:], by_edge, by_place, above, below)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _last_stage(
    reached: Any,
    gathered: Any,
    size: Any,
    bounds: Any,
    ordered: Any,
    offsets: Any,
    weighted: Any,
    agreements: Any,
    by_edge: Any,
    by_place: Any,
) -> None:
    """Add a part's paths to the sums of the edges they end with, and of their places."""
    bounds[:] = 0
    for t in range(size):
        bounds[reached[t] + 1] += 1
    for place in range(len(bounds) - 1):
        bounds[place + 1] += bounds[place]
    for t in range(size):
        at = bounds[reached[t]]
        bounds[reached[t]] = at + 1
        ordered[at, 0], ordered[at, 1] = gathered[t, 0], gathered[t, 1]
        ordered[at, 2] = gathered[t, 2]
    first = 0
    for place in range(len(bounds) - 1):
        begin, end = offsets[place], offsets[place + 1]
        sums, weights, totals = by_edge[begin:end], weighted[begin:end], agreements[begin:end]
        for t in range(first, bounds[place]):
            a, s, c = ordered[t, 0], ordered[t, 1], ordered[t, 2]
            by_place[place] += c
            for e in range(np.uintp(len(sums))):
                sums[e] += c * ((a + weights[e]) / (s + totals[e]))
        first = bounds[place]


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _collect(
    offsets: Any,
    targets: Any,
    shares: Any,
    by_edge: Any,
    by_place: Any,
    above: Any,
    below: Any,
) -> None:
    """Empty the sums of edges and places into those of the ends."""
    for place in range(len(by_place)):
        certainty = by_place[place]
        if certainty == 0.0:
            continue
        by_place[place] = 0.0
        for e in range(offsets[place], offsets[place + 1]):
            above[targets[e]] += by_edge[e] * shares[e]
            below[targets[e]] += certainty * shares[e]
            by_edge[e] = 0.0


def predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
) -> Floats:
    """`Engine.predictions`; beside the answer, one copy of the similarities."""
    check_predictions(deviations, weights, similar)
    towards = similar.T.tocsr()
    answer: Floats = np.zeros(deviations.shape)
    _predict(
        deviations.indptr,
        _unsigned_columns(deviations),
        deviations.data.astype(np.float64, copy=False),
        weights.data.astype(np.float64, copy=False),
        towards.indptr,
        _unsigned_columns(towards),
        towards.data.astype(np.float64, copy=False),
        np.zeros(deviations.shape[1]),
        answer,
    )
    return answer


def check_predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
) -> None:
    """Refuse shapes that do not fit together."""
    items = deviations.shape[1]
    if similar.shape != (items, items):
        raise ConfigError(
            f"{items} items need similarities of {items} by {items}; got {similar.shape}."
        )
    same_people = np.array_equal(weights.indptr, deviations.indptr)
    same_items = np.array_equal(weights.indices, deviations.indices)
    if weights.shape != deviations.shape or not (same_people and same_items):
        raise ConfigError("Deviations and weights are stored for the same people and items.")
    if len(weights.data) and weights.data.min() < 0:
        raise ConfigError("A weight of a rating is 0 or more.")


def _unsigned_columns(matrix: sparse.csr_array) -> Any:
    """Return column numbers without a sign; the kernel then need not look for negative ones."""
    return matrix.indices.view(np.uint32 if matrix.indices.dtype == np.int32 else np.uint64)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _predict(
    offsets: Any,
    rated: Any,
    deviations: Any,
    weights: Any,
    similar_offsets: Any,
    similar: Any,
    similarities: Any,
    totals: Any,
    answer: Any,
) -> None:
    for person in range(len(offsets) - 1):
        sums = answer[person]
        totals[:] = 0.0
        for t in range(offsets[person], offsets[person + 1]):
            weight, contribution = weights[t], weights[t] * deviations[t]
            near = np.int64(rated[t])
            begin, end = similar_offsets[near], similar_offsets[near + 1]
            reached, values = similar[begin:end], similarities[begin:end]
            for e in range(np.uintp(len(reached))):
                sums[reached[e]] += contribution * values[e]
                totals[reached[e]] += weight * abs(values[e])
        for item in range(len(totals)):
            sums[item] = sums[item] / totals[item] if totals[item] > 0.0 else 0.0
