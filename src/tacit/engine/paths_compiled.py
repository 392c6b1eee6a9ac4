"""Sums over layered paths, and predictions from item neighbours, compiled.

Paths are followed depth first up to the last stage, collected in parts, and sorted by the place
that they reached. A place is the position of an item in its layer. The last stage, which is nine
tenths of the work if each place has ten edges, is then one loop over the edges of a place, which
stay in the fastest cache. The tests compare results with those of a readable version, to the last
bit.

Letters are those of `Engine.paths`: an edge has the similarity S, the agreements a and the share F;
a path has the similarity s and the certainty c.
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
"""Number of paths that are collected before the last stage; that many fit in a cache."""


def paths(stages: Sequence[Stage], starts: Numbers) -> tuple[Floats, Floats]:
    """Do what `Engine.paths` says; it copies the edges of all stages once."""
    check_paths(stages, starts)
    # The edges and offsets of all stages are put into one array each.
    first_edges = np.cumsum([0] + [len(stage.targets) for stage in stages])
    first_offsets = np.cumsum([0] + [len(stage.offsets) for stage in stages])
    sums = np.zeros((2, len(starts), stages[-1].width))
    offsets = [stage.offsets + first for stage, first in zip(stages, first_edges, strict=False)]
    _sum_paths(
        np.concatenate(offsets),
        first_offsets,
        np.concatenate([stage.targets for stage in stages]).astype(np.uint32),
        np.concatenate([stage.agreements * stage.similarities for stage in stages]),
        np.concatenate([stage.agreements for stage in stages]),
        np.concatenate([stage.shares for stage in stages]),
        np.asarray(starts, dtype=np.int64),
        *sums,
    )
    return sums[0], sums[1]


def check_paths(stages: Sequence[Stage], starts: Numbers) -> None:
    """Raise ConfigError for stages or starts that do not fit together."""
    if not stages:
        raise ConfigError("A path needs at least one stage; got none.")
    layers = [len(stage.offsets) - 1 for stage in stages]
    next_layers = [*layers[1:], stages[-1].width]
    for stage, following in zip(stages, next_layers, strict=True):
        arrays = stage.targets, stage.similarities, stage.agreements, stage.shares
        if {int(stage.offsets[-1])} != {len(array) for array in arrays}:
            raise ConfigError("A stage's arrays need one entry for each of its edges.")
        are_in_range = ((stage.targets >= 0) & (stage.targets < stage.width)).all()
        if stage.width != following or not are_in_range:
            raise ConfigError(
                f"A stage leads to {stage.width} places, but an edge leads outside of them, or the "
                f"next stage begins with {following} places."
            )
    if len(starts) and not 0 <= starts.min() <= starts.max() < layers[0]:
        raise ConfigError(f"A path starts outside the {layers[0]} places of the first layer.")


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sum_paths(
    offsets: Any,
    first_offsets: Any,
    targets: Any,
    weighted: Any,
    agreements: Any,
    shares: Any,
    starts: Any,
    numerators: Any,
    denominators: Any,
) -> None:
    """Add up all paths through the stages, for each start.

    Args:
        offsets: The offsets of all stages, one stage after the other, as indices of edges.
        first_offsets: (stages + 1,) where the offsets of each stage begin, then their number.
        targets: (edges,) the place that each edge leads to, of all stages.
        weighted: (edges,) agreements times similarities, a S.
        agreements: (edges,) a.
        shares: (edges,) F.
        starts: (starts,) places in the first layer.
        numerators: (starts, places of the last layer) zeros, to which sum(c * s) is added.
        denominators: (starts, places of the last layer) zeros, to which sum(c) is added.
    """
    last = len(first_offsets) - 2
    # Depth first: for each stage, the edge that is followed next, and the end of its place's edges.
    edge, stop = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    # Of the path that has reached each stage: sum(a S), sum(a), and product(F).
    weighted_sums, agreement_sums = np.zeros(last + 1), np.zeros(last + 1)
    certainties = np.ones(last + 1)
    # For each collected path: the place before the last stage, and these three numbers.
    reached, gathered = np.empty(PART, np.int64), np.empty((PART, 3))
    last_offsets = offsets[first_offsets[last] : first_offsets[last + 1]]
    begin = last_offsets[0]
    firsts = last_offsets - begin
    # Sums for each edge of the last stage, and for each of its places.
    by_edge, by_place = np.zeros(len(targets) - begin), np.zeros(len(last_offsets) - 1)
    bounds, ordered = np.empty(len(last_offsets), np.int64), np.empty((PART, 3))
    arrays = bounds, ordered, firsts, weighted[begin:], agreements[begin:], by_edge, by_place
    for row in range(len(starts)):
        size, stage = 0, 0
        edge[0], stop[0] = offsets[starts[row]], offsets[starts[row] + 1]
        if last == 0:
            reached[0], size, stage = starts[row], 1, -1
            gathered[0, 0], gathered[0, 1], gathered[0, 2] = 0.0, 0.0, 1.0
        while stage >= 0:
            if edge[stage] == stop[stage]:
                stage -= 1
                continue
            e = edge[stage]
            edge[stage] += 1
            weighted_sum = weighted_sums[stage] + weighted[e]
            agreement_sum = agreement_sums[stage] + agreements[e]
            certainty = certainties[stage] * shares[e]
            place = np.int64(targets[e])
            if stage + 1 == last:
                reached[size] = place
                gathered[size, 0] = weighted_sum
                gathered[size, 1] = agreement_sum
                gathered[size, 2] = certainty
                size += 1
                if size == PART:
                    _add_last_stage(reached, gathered, size, *arrays)
                    size = 0
                continue
            stage += 1
            weighted_sums[stage] = weighted_sum
            agreement_sums[stage] = agreement_sum
            certainties[stage] = certainty
            first = first_offsets[stage] + place
            edge[stage], stop[stage] = offsets[first], offsets[first + 1]
        _add_last_stage(reached, gathered, size, *arrays)
        above, below = numerators[row], denominators[row]
        _add_to_targets(firsts, targets[begin:], shares[begin:], by_edge, by_place, above, below)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _add_last_stage(
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
    """Extend the collected paths by the edges of the last stage, and add them to its sums.

    Args:
        reached: (PART,) place of each path before the last stage.
        gathered: (PART, 3) sum(a S), sum(a) and product(F) of each path.
        size: Number of paths.
        bounds: (places + 1,) scratch: where the paths of each place begin or end in `ordered`.
        ordered: (PART, 3) scratch: `gathered`, sorted by place.
        offsets: (places + 1,) where each place's edges begin.
        weighted: (edges,) a S.
        agreements: (edges,) a.
        by_edge: (edges,) to which c s of the paths that end with the edge is added, where c leaves
            out the share of the edge.
        by_place: (places,) to which c of the paths that reached the place is added.
    """
    # A counting sort of the paths by the place that they reached.
    bounds[:] = 0
    for t in range(size):
        bounds[reached[t] + 1] += 1
    for place in range(len(bounds) - 1):
        bounds[place + 1] += bounds[place]
    for t in range(size):
        position = bounds[reached[t]]
        bounds[reached[t]] = position + 1
        ordered[position, 0], ordered[position, 1] = gathered[t, 0], gathered[t, 1]
        ordered[position, 2] = gathered[t, 2]
    first = 0
    for place in range(len(bounds) - 1):
        begin, end = offsets[place], offsets[place + 1]
        sums, weights, totals = by_edge[begin:end], weighted[begin:end], agreements[begin:end]
        for t in range(first, bounds[place]):
            weighted_sum, agreement_sum = ordered[t, 0], ordered[t, 1]
            certainty = ordered[t, 2]
            by_place[place] += certainty
            for e in range(np.uintp(len(sums))):
                similarity = (weighted_sum + weights[e]) / (agreement_sum + totals[e])
                sums[e] += certainty * similarity
        first = bounds[place]


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _add_to_targets(
    offsets: Any,
    targets: Any,
    shares: Any,
    by_edge: Any,
    by_place: Any,
    above: Any,
    below: Any,
) -> None:
    """Add the sums of the last stage's edges and places to its targets; set these sums to 0.

    Args:
        offsets: (places + 1,) where each place's edges begin.
        targets: (edges,) places of the last layer.
        shares: (edges,) F.
        by_edge: (edges,) sums of `_add_last_stage`; set to 0 here.
        by_place: (places,) sums of `_add_last_stage`; set to 0 here.
        above: (places of the last layer,) a row of the numerators, to which sum(c * s) is added.
        below: (places of the last layer,) a row of the denominators, to which sum(c) is added.
    """
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
    """Do what `Engine.predictions` says; it copies the similarities once."""
    check_predictions(deviations, weights, similar)
    by_rated_item = similar.T.tocsr()  # row j has the items i to which j is similar
    result: Floats = np.zeros(deviations.shape)
    _predict(
        deviations.indptr,
        _unsigned_columns(deviations),
        deviations.data.astype(np.float64, copy=False),
        weights.data.astype(np.float64, copy=False),
        by_rated_item.indptr,
        _unsigned_columns(by_rated_item),
        by_rated_item.data.astype(np.float64, copy=False),
        np.zeros(deviations.shape[1]),
        result,
    )
    return result


def check_predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
) -> None:
    """Raise ConfigError if the matrices do not fit together, or a weight is negative."""
    items = deviations.shape[1]
    if similar.shape != (items, items):
        raise ConfigError(
            f"{items} items need similarities of {items} by {items}; got {similar.shape}."
        )
    same_people = np.array_equal(weights.indptr, deviations.indptr)
    same_items = np.array_equal(weights.indices, deviations.indices)
    if weights.shape != deviations.shape or not (same_people and same_items):
        raise ConfigError("Deviations and weights must be stored for the same people and items.")
    if len(weights.data) and weights.data.min() < 0:
        raise ConfigError("The weight of a rating must be 0 or more; one is below 0.")


def _unsigned_columns(matrix: sparse.csr_array) -> Any:
    """Return a matrix's column numbers as unsigned integers, whose sign a kernel need not test."""
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
    """Fill `answer` (people, items), zeros before, with predictions; `totals` (items,) is scratch.

    The other arguments are arrays of CSR matrices. `offsets`, `rated`, `deviations` and `weights`
    are of each person's rated items. `similar_offsets`, `similar` and `similarities` are of the
    items to which each rated item is similar.
    """
    for person in range(len(offsets) - 1):
        sums = answer[person]
        totals[:] = 0.0
        for t in range(offsets[person], offsets[person + 1]):
            weight, contribution = weights[t], weights[t] * deviations[t]
            item = np.int64(rated[t])
            begin, end = similar_offsets[item], similar_offsets[item + 1]
            others, values = similar[begin:end], similarities[begin:end]
            for e in range(np.uintp(len(others))):
                sums[others[e]] += contribution * values[e]
                totals[others[e]] += weight * abs(values[e])
        for column in range(len(totals)):
            sums[column] = sums[column] / totals[column] if totals[column] > 0.0 else 0.0
