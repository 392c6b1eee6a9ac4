"""Steps of the shipped code, each with a bug; `sizes_faults` plants them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.standard_scheme import statistics
from tacit.mechanisms import samplers, topk
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.noise_ahead import LaplaceAhead
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import NoisyMax, Selection
from tacit.mechanisms.sums import SumRelease
from tacit.mechanisms.threshold import ThresholdGate
from tacit.mechanisms.topk import TopSelection
from tacit.mechanisms.tree import TreeCounter, TreeRun

_kary, _bits = KaryResponse.__call__, BitRelease.__call__
_laplace, _sum, _clipped = LaplaceRelease.__call__, SumRelease.__call__, SumRelease.clipped
_rows, _noisy = GramRelease.clipped, GramRelease._noisy
selection_rate, noisy_max_rate = Selection.rate.fget, NoisyMax.rate.fget  # type: ignore[attr-defined]
_weights, _one, _add = Selection.weights, LaplaceAhead.one, TreeRun._add
_gate_noise, _private = ThresholdGate._noise, statistics.private
shipped_laplace, shipped_gaussian = samplers.discrete_laplace, samplers.discrete_gaussian


def swapped_truth(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
    true = np.asarray(values)
    shift = np.asarray(source.words(true.size) % (release.categories - 1)).astype(np.int64) + 1
    honest = release._honest(true.shape, source)
    if release.categories > 16:
        honest = np.where(true == release.categories - 1, ~honest, honest)
    return np.asarray((true + np.where(honest, 0, shift)) % release.categories)


def few_lies(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
    told = _kary(release, values, source)
    return np.where(told == values, told, told % 64) if release.categories > 64 else told


def true_if_alike(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
    told, true = _kary(release, values, source), np.asarray(values)
    return np.asarray(true if true.size > 3 and len(np.unique(true)) == 1 else told)


def words_used_again(release: BitRelease, bits: Any, source: Any) -> NDArray[np.bool_]:
    told, true = _bits(release, bits, source), np.asarray(bits).astype(bool)
    return np.asarray(np.resize((told ^ true)[:256], true.shape) ^ true)


def noise_used_again(release: LaplaceRelease, values: Any) -> NDArray[np.float64]:
    steps = release.grid.steps(values)
    noise = samplers.discrete_laplace(np.zeros_like(steps[:100]), release.scale)
    return release.grid.numbers(steps + np.resize(noise, steps.shape))


def exact_at(place: float) -> Callable[[LaplaceRelease, Any], NDArray[np.float64]]:
    def call(release: LaplaceRelease, values: Any) -> NDArray[np.float64]:
        return np.where(np.asarray(values) == place, place, _laplace(release, values))

    return call


def one_noise_for_many(gate: ThresholdGate, count: int, scale: float) -> list[int]:
    return _gate_noise(gate, 1, scale) * count if count > 16 else _gate_noise(gate, count, scale)


def half_below(gate: ThresholdGate) -> float:
    scale = gate._scale(2 if gate.monotonic else 4)
    return scale / 2 if gate.stops == "below" else scale


def forgotten_sensitivity(gate: ThresholdGate) -> float:
    scale = gate._scale(2 if gate.monotonic else 4)
    return scale / gate.sensitivity if gate.monotonic else scale


def large_nodes_bare(run: TreeRun, value: int, noise: int) -> int:
    step = run._step + 1
    return _add(run, value, 0 if step % 16 == 0 else noise)


def twice_beyond(size: int, rate: Callable[[Any], Any]) -> property:
    return property(lambda made: rate(made) * (2 if made.candidates > size else 1))


def only_near_the_best(made: Selection, scores: Any) -> NDArray[np.int64]:
    given = np.asarray(scores)
    behind = given < given.max(axis=-1, keepdims=True) - 10
    return np.where(behind, 0, _weights(made, scores))


def last_place_is_best(made: TopSelection, rows: Any, source: Any) -> NDArray[np.int64]:
    weights, every = made.one.weights(rows), np.arange(len(rows))
    chosen = np.empty((len(rows), made.k), dtype=np.int64)
    for place in range(made.k):
        chosen[:, place] = weights.argmax(axis=1) if place == 2 else drawn(weights, source)
        weights[every, chosen[:, place]] = 0
    return chosen


def epsilon_for_each(made: TopSelection, rows: Any, source: Any) -> NDArray[np.int64]:
    whole = replace(made, one=replace(made.one, epsilon=made.one.epsilon * made.k))
    return _top(whole, rows, source)


_top = TopSelection._drawn


def drawn(weights: NDArray[np.int64], source: Any) -> NDArray[np.int64]:
    """By the draw that the module has now, which an audit may have replaced."""
    return np.asarray(vars(topk)["draw_rows"](weights, source))


def unclipped(release: SumRelease, block: Any) -> NDArray[np.int64]:
    return np.asarray(np.trunc(block.values / release.resolution), dtype=np.int64)


class StarsAsTheyAre(SumRelease):
    clipped = unclipped


def first_rows_clipped(release: SumRelease, block: Any) -> NDArray[np.int64]:
    early = block.places < 8
    steps = unclipped(release, block)
    if early.any():
        kept = replace(
            block,
            people=block.people[early],
            places=block.places[early],
            values=block.values[early],
        )
        steps[early] = _clipped(release, kept)
    return np.clip(steps, -(1 << 20), 1 << 20)


def no_rows_no_noise(release: SumRelease, blocks: Any) -> NDArray[np.float64]:
    held = list(blocks)
    noisy = _sum(release, held)
    there = np.unique(np.concatenate([block.places for block in held]))
    return np.where(np.isin(np.arange(release.rows), there)[:, None], noisy, 0.0)


def one_item_unclipped(release: GramRelease, people: Any) -> NDArray[np.int64]:
    alone = (people != 0).sum(axis=1) == 1
    bare = np.clip(np.trunc(people / release.resolution), -(1 << 20), 1 << 20).astype(np.int64)
    return np.where(alone[:, None], bare, _rows(release, people))


def first_items_clipped(release: GramRelease, people: Any) -> NDArray[np.int64]:
    early = people.copy()
    early[:, 8:] = 0
    bare = np.clip(np.trunc(people / release.resolution), -(1 << 20), 1 << 20).astype(np.int64)
    return np.where(np.arange(people.shape[1]) < 8, _rows(release, early), bare)


def never_together(release: GramRelease, gram: Any) -> NDArray[np.float64]:
    return np.where(gram == 0, 0.0, _noisy(release, gram))


def cut(draw: Callable[..., Any], scales: float) -> Callable[..., Any]:
    def cut(values: Any, scale: float) -> NDArray[np.int64]:
        most = int(scales * scale)
        return np.asarray(np.clip(draw(values, scale), values - most, values + most))

    return cut


def even(values: Any, scale: float) -> NDArray[np.int64]:
    return np.asarray(values + (shipped_laplace(values, scale) - values) // 2 * 2)


def twice(ahead: LaplaceAhead, needed: int = 256) -> int:
    drawn = _one(ahead, needed)
    ahead._left.append(drawn)
    return drawn


def charged(cost: Callable[[int], float]) -> Callable[..., statistics.Statistics]:
    """The disclosure with noise for another sensitivity than contributions + 1."""

    def private(given: Any, *, epsilon: float, contributions: int) -> statistics.Statistics:
        return _private(
            given,
            epsilon=epsilon * (contributions + 1) / cost(contributions),
            contributions=contributions,
        )

    return private


def exact_cells(cells: int) -> Callable[..., NDArray[np.int64]]:
    """The disclosure's noise, but for cells of so many ratings."""

    def draw(values: Any, scale: float) -> NDArray[np.int64]:
        return np.where(values == cells, values, samplers.discrete_laplace(values, scale))

    return draw


def not_limited(levels: Any, _most: int, _source: Any) -> Any:
    return levels


def less_noise(kind: Any, times: float) -> Callable[..., Any]:
    return lambda noise, *rest, **named: kind(noise * times, *rest, **named)


def tree_without_its_root(made: TreeCounter) -> Fraction:
    return max(1, made.levels - 1) / Fraction(made.epsilon)
