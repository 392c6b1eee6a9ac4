"""Bugs that no bench of small, chosen pairs sees, each one step of the shipped code replaced.

Four kinds: a size beyond the usual, a branch that is rarely taken, a support that depends on the
data, and a release that is not charged for.

    python -m tests.support.sizes_faults [--seed 1]

audits every artefact at random sizes, and then shows that the bugs are caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from inspect import getattr_static
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import plant
from tacit.designs.standard_scheme.training import people as training
from tacit.designs.standard_scheme.training import tables
from tacit.mechanisms import gate, runs, samplers, topk
from tacit.mechanisms.counter import TreeCounter, TreeRun
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.runs import LaplaceBlocks
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.sums import SumRelease
from tacit.mechanisms.topk import TopSelection
from tacit.profile_sums.sums import popular_counts, star_means, top_items
from tests.support.sizes import Found, examine
from tests.support.sizes_artefacts import BENCH, BY_NAME

Kind = Literal["size", "branch", "support", "composition"]
Step = TypeVar("Step")


@dataclass(frozen=True)
class Fault:
    """steps: what replaces the shipped methods and functions, by class or module and name."""

    name: str
    kind: Kind
    artefact: str
    steps: Mapping[Any, Mapping[str, Any]]

    def found(self, seed: int) -> Found:
        """The profile's verdict on the faulty code. Of the cases of five audits: some branches are
        in one case of twelve, and one audit in fifty would miss a bug there."""
        profile = BY_NAME[self.artefact]
        with plant(self.steps):
            return examine(profile, seed=seed, cases=5 * profile.cases)


FAULTS: list[Fault] = []
_SCHEME, _XMAP = "standard scheme, private disclosure", "x-map, sound fit"
_LAPLACE = "Laplace sampler"
_kary, _bits = KaryResponse.__call__, BitRelease.__call__
_laplace, _sum, _clipped = LaplaceRelease.__call__, SumRelease.__call__, SumRelease.clip_block
_rows, _noisy, _noisy_sum = (
    GramRelease.clip_rows,
    GramRelease._add_symmetric_noise,
    SumRelease.add_noise,
)
_selection_rate = Selection.rate.fget  # type: ignore[attr-defined]
_weights, _one, _add, _top = (
    Selection.weights,
    LaplaceBlocks.next_noise,
    TreeRun.take_step,
    TopSelection._draw,
)
_gate_noise, _private = runs.laplace_noise, training.add_noise
_shipped_laplace, _shipped_gaussian = samplers.discrete_laplace, samplers.discrete_gaussian


def _fault(kind: Kind, artefact: str, place: Any, step: str, name: str) -> Callable[[Step], Step]:
    """The decorated function replaces that step or property of a class or module."""
    is_property = isinstance(getattr_static(place, step), property | cached_property)

    def decorated(faulty: Step) -> Step:
        stand_in = property(cast(Any, faulty)) if is_property else faulty
        FAULTS.append(Fault(name, kind, artefact, {place: {step: stand_in}}))
        return faulty

    return decorated


@_fault(
    "size", "kary-response", KaryResponse, "__call__",
    "truth and lie swapped for the last of more than 16 answers",
)  # fmt: skip
def swapped_truth(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
    true = np.asarray(values)
    shift = np.asarray(source.words(true.size) % (release.categories - 1)).astype(np.int64) + 1
    honest = release.draw_honesty(true.shape, source)
    if release.categories > 16:
        honest = np.where(true == release.categories - 1, ~honest, honest)
    return np.asarray((true + np.where(honest, 0, shift)) % release.categories)


@_fault("size", "kary-response", KaryResponse, "__call__", "lies among the first 64 answers only")
def few_lies(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
    answered = _kary(release, values, source)
    return (
        np.where(answered == values, answered, answered % 64)
        if release.categories > 64
        else answered
    )


@_fault(
    "branch", "kary-response", KaryResponse, "__call__", "truth where many answers are all alike"
)
def true_if_alike(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
    answered, true = _kary(release, values, source), np.asarray(values)
    return np.asarray(true if true.size > 3 and len(np.unique(true)) == 1 else answered)


@_fault("size", "bit-release", BitRelease, "__call__", "bits beyond 256 share their words")
def words_used_again(release: BitRelease, bits: Any, source: Any) -> NDArray[np.bool_]:
    answered, true = _bits(release, bits, source), np.asarray(bits).astype(bool)
    return np.asarray(np.resize((answered ^ true)[:256], true.shape) ^ true)


@_fault("size", "laplace", LaplaceRelease, "__call__", "noise of 100 numbers used for more")
def noise_used_again(release: LaplaceRelease, values: Any) -> NDArray[np.float64]:
    steps = release.grid.to_steps(values)
    noise = samplers.discrete_laplace(np.zeros_like(steps[:100]), release.scale)
    return release.grid.to_numbers(steps + np.resize(noise, steps.shape))


@_fault("branch", "laplace", LaplaceRelease, "__call__", "no noise on a number at its upper bound")
def exact_at_bound(release: LaplaceRelease, values: Any) -> NDArray[np.float64]:
    return np.where(np.asarray(values) == 8.0, 8.0, _laplace(release, values))


@_fault("branch", "laplace", LaplaceRelease, "__call__", "no noise on zero")
def exact_at_zero(release: LaplaceRelease, values: Any) -> NDArray[np.float64]:
    return np.where(np.asarray(values) == 0, 0.0, _laplace(release, values))


@_fault("composition", "laplace", LaplaceRelease, "_distance", "many roundings counted as one")
def rounding_once(release: LaplaceRelease) -> int:
    return release.grid.distance(release.sensitivity)


@_fault(
    "size", "threshold-gate", gate, "laplace_noise",
    "one noise for a batch of more than 16 counts",
)  # fmt: skip
def one_noise_for_many(count: int, scale: float) -> list[int]:
    return _gate_noise(1, scale) * count if count > 16 else _gate_noise(count, scale)


@_fault(
    "branch", "threshold-gate", ThresholdGate, "count_scale",
    "half the noise on a gate that stops below",
)  # fmt: skip
def half_below(gate: ThresholdGate) -> float:
    scale = gate._scale(2 if gate.monotonic else 4)
    return scale / 2 if gate.stops == "below" else scale


@_fault(
    "branch", "threshold-gate", ThresholdGate, "count_scale",
    "sensitivity forgotten by monotonic gates",
)  # fmt: skip
def forgotten_sensitivity(gate: ThresholdGate) -> float:
    scale = gate._scale(2 if gate.monotonic else 4)
    return scale / gate.sensitivity if gate.monotonic else scale


@_fault("size", "tree-counter", TreeRun, "take_step", "a node of 16 steps without noise")
def large_nodes_bare(run: TreeRun, value: int, noise: int) -> int:
    step = run._step + 1
    return _add(run, value, 0 if step % 16 == 0 else noise)


@_fault(
    "composition", "tree-counter", TreeCounter, "noise_multiplier",
    "a tree without its root's level",
)  # fmt: skip
def tree_without_its_root(counter: TreeCounter) -> Fraction:
    return max(1, counter.levels - 1) / Fraction(counter.epsilon)


@_fault("size", "selection", Selection, "rate", "selection of more than 50 at twice the rate")
def twice_beyond_50(choice: Selection) -> Fraction:
    rate: Fraction = _selection_rate(choice)
    return rate * (2 if choice.candidates > 50 else 1)


@_fault("support", "selection", Selection, "weights", "candidates dropped by their true score")
def only_near_the_best(made: Selection, scores: Any) -> NDArray[np.int64]:
    given = np.asarray(scores)
    behind = given < given.max(axis=-1, keepdims=True) - 10
    return np.where(behind, 0, _weights(made, scores))


@_fault("support", "top-selection", TopSelection, "_draw", "a list's third place is the true best")
def last_place_is_best(made: TopSelection, rows: Any, source: Any) -> NDArray[np.int64]:
    draw = vars(topk)["draw_rows"]  # as the module has it now, which an audit may have replaced
    weights, every = made.choice.weights(rows), np.arange(len(rows))
    chosen = np.empty((len(rows), made.k), dtype=np.int64)
    for place in range(made.k):
        chosen[:, place] = weights.argmax(axis=1) if place == 2 else draw(weights, source)
        weights[every, chosen[:, place]] = 0
    return chosen


@_fault("composition", "top-selection", TopSelection, "_draw", "epsilon of a list for each place")
def epsilon_for_each(made: TopSelection, rows: Any, source: Any) -> NDArray[np.int64]:
    whole = replace(made, choice=replace(made.choice, epsilon=made.choice.epsilon * made.k))
    return _top(whole, rows, source)


def unclipped(release: SumRelease, block: Any) -> NDArray[np.int64]:
    return np.asarray(np.trunc(block.values / release.resolution), dtype=np.int64)


@_fault("branch", _XMAP, star_means, "SumRelease", "stars of a person not clipped")
class StarsAsTheyAre(SumRelease):
    clip_block = unclipped


@_fault("size", "sums", SumRelease, "clip_block", "a person's rows clipped up to the eighth")
def first_rows_clipped(release: SumRelease, block: Any) -> NDArray[np.int64]:
    early = block.places < 8
    steps = unclipped(release, block)
    if early.any():
        kept = {name: values[early] for name, values in vars(block).items()}
        steps[early] = _clipped(release, replace(block, **kept))
    return np.clip(steps, -(1 << 20), 1 << 20)


@_fault("support", _XMAP, SumRelease, "add_noise", "items that nobody rated keep an exact zero")
def no_total_no_noise(release: SumRelease, total: NDArray[Any]) -> NDArray[np.float64]:
    there = np.any(np.asarray(total) != 0, axis=1)
    return np.where(there[:, None], _noisy_sum(release, total), 0.0)


@_fault("support", "sums", SumRelease, "__call__", "rows that nobody contributed to stay zero")
def no_rows_no_noise(release: SumRelease, blocks: Any) -> NDArray[np.float64]:
    held = list(blocks)
    noisy = _sum(release, held)
    there = np.unique(np.concatenate([block.places for block in held]))
    return np.where(np.isin(np.arange(release.rows), there)[:, None], noisy, 0.0)


def bare(release: GramRelease, people: Any) -> NDArray[np.int64]:
    steps = np.clip(np.trunc(people / release.resolution), -(1 << 20), 1 << 20)
    return np.asarray(steps, dtype=np.int64)


@_fault("branch", "gram", GramRelease, "clip_rows", "a person with one item not clipped")
def one_item_unclipped(release: GramRelease, people: Any) -> NDArray[np.int64]:
    alone = (people != 0).sum(axis=1) == 1
    return np.where(alone[:, None], bare(release, people), _rows(release, people))


@_fault(
    "size", "gram", GramRelease, "clip_rows",
    "rows of the Gram matrix clipped up to the eighth item",
)  # fmt: skip
def first_items_clipped(release: GramRelease, people: Any) -> NDArray[np.int64]:
    early = people.copy()
    early[:, 8:] = 0
    place = np.arange(people.shape[1])
    return np.where(place < 8, _rows(release, early), bare(release, people))


@_fault(
    "support", "gram", GramRelease, "_add_symmetric_noise", "items never rated together stay zero"
)
def never_together(release: GramRelease, gram: Any) -> NDArray[np.float64]:
    return np.where(gram == 0, 0.0, _noisy(release, gram))


def cut(draw: Callable[..., Any], scales: float, values: Any, scale: float) -> NDArray[np.int64]:
    most = int(scales * scale)
    return np.asarray(np.clip(draw(values, scale), values - most, values + most))


@_fault("support", _LAPLACE, samplers, "discrete_laplace", "Laplace noise cut at 12 scales")
def cut_laplace(values: Any, scale: float) -> NDArray[np.int64]:
    return cut(_shipped_laplace, 12, values, scale)


@_fault(
    "support", "Gaussian sampler", samplers, "discrete_gaussian", "Gaussian noise cut at 6 sigmas"
)
def cut_gaussian(values: Any, scale: float) -> NDArray[np.int64]:
    return cut(_shipped_gaussian, 6, values, scale)


@_fault("support", _LAPLACE, samplers, "discrete_laplace", "Laplace noise that is always even")
def even(values: Any, scale: float) -> NDArray[np.int64]:
    return np.asarray(values + (_shipped_laplace(values, scale) - values) // 2 * 2)


@_fault("composition", _LAPLACE, LaplaceBlocks, "next_noise", "noise drawn ahead handed out twice")
def twice(ahead: LaplaceBlocks, needed: int = 256) -> int:
    drawn = _one(ahead, needed)
    ahead._unused.append(drawn)
    return drawn


@_fault(
    "composition", _SCHEME, tables, "add_noise",
    "the head count left out of the disclosure's sensitivity",
)  # fmt: skip
def without_head_count(given: Any, *, epsilon: float, contributions: int) -> training.Statistics:
    more = epsilon * (contributions + 1) / contributions
    return _private(given, epsilon=more, contributions=contributions)


@_fault("composition", _SCHEME, tables, "add_noise", "one rating charged for all of a person's")
def one_rating_charged(given: Any, *, epsilon: float, contributions: int) -> training.Statistics:
    more = epsilon * (contributions + 1) / 2
    return _private(given, epsilon=more, contributions=contributions)


@_fault("composition", _SCHEME, tables, "limit_contributions", "contributions not limited")
def not_limited(levels: Any, _most: int, _source: Any) -> Any:
    return levels


def _but_for(cells: int, values: Any, scale: float) -> NDArray[np.int64]:
    return np.where(values == cells, values, samplers.discrete_laplace(values, scale))


@_fault("branch", _SCHEME, training, "discrete_laplace", "no noise on cells of one rating")
def exact_ones(values: Any, scale: float) -> NDArray[np.int64]:
    return _but_for(1, values, scale)


@_fault(
    "support", _SCHEME, training, "discrete_laplace", "empty cells of the disclosure stay empty"
)
def exact_zeros(values: Any, scale: float) -> NDArray[np.int64]:
    return _but_for(0, values, scale)


@_fault("composition", _XMAP, top_items, "GramRelease", "half of the Gram matrix's noise")
def half_the_noise(noise: float, *rest: Any, **named: Any) -> GramRelease:
    return GramRelease(noise / 2, *rest, **named)


@_fault(
    "composition", _XMAP, top_items, "SumRelease",
    "a tenth of the noise on products across domains",
)  # fmt: skip
def a_tenth_of_the_noise(noise: float, *rest: Any, **named: Any) -> SumRelease:
    return SumRelease(noise / 10, *rest, **named)


@_fault("composition", _XMAP, popular_counts, "SumRelease", "a tenth of the noise on later counts")
def a_tenth_of_the_later_noise(noise: float, *rest: Any, **named: Any) -> SumRelease:
    return SumRelease(noise / 10, *rest, **named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    failed = False
    for profile in BENCH:
        found = examine(profile, seed=seed)
        failed |= found.violation
        verdict = found.failed or ("violation" if found.violation else "no violation found")
        print(f"{found.artefact}: {found.worst:.3f} of the claim in {found.cases} cases, {verdict}")
    for fault in FAULTS:
        found = fault.found(seed)
        caught = found.violation and not found.failed
        failed |= not caught
        print(f"{fault.kind}, {fault.name}: {'caught' if caught else 'MISSED'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
