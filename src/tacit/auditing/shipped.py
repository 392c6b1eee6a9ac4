"""The mechanisms of this library on the audit's bench, each through its own public call.

For each: two neighbouring inputs that are the worst, or near it; the exact chances of an event
that tells them apart, computed from the parameters the mechanism really uses; and releases drawn
by calling it. Mechanisms that make one OpenDP call per release get fewer samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing import exact
from tacit.auditing.empirical import ALPHA, Feature, Release, audit, ideal_bound, itself
from tacit.auditing.gaussian import audit_gaussian, epsilon_of, ideal_gaussian
from tacit.auditing.verdicts import Audit, judge
from tacit.mechanisms.cosine import CosineRelease
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import NoisyMax, Selection
from tacit.mechanisms.threshold import ThresholdGate
from tacit.mechanisms.topk import TopSelection
from tacit.mechanisms.tree import TreeCounter
from tacit.randomness import secure

SAMPLES = 1_000_000
LEAST_SAMPLES = 1_000
EPSILONS = (0.5, 1.0, 2.0, 4.0)
_DELTA = 1e-5
_FEWEST = 100  # of a mechanism that gets a share of the samples

Chances = Mapping[Hashable, exact.Chance]


@dataclass(frozen=True)
class Subject:
    """One mechanism with its parameters and one pair of neighbouring inputs.

    exact: the loss of this pair, or of all pairs where a closed form covers them. chances: of
    events under the two inputs. share: it gets samples / share. mu: of a Gaussian mechanism.
    """

    mechanism: str
    unit: str
    adjacency: str
    epsilon: float
    exact: float
    releases: tuple[Release, Release]
    chances: tuple[Chances, Chances] | None = None
    feature: Feature = itself
    share: int = 1
    delta: float = 0.0
    mu: float | None = None


def run(subject: Subject, *, samples: int = SAMPLES, alpha: float = ALPHA) -> Audit:
    """Draw, bound and judge."""
    count = max(samples // subject.share, _FEWEST)
    found, ideal = _found(subject, count, alpha)
    return Audit(
        subject.mechanism,
        subject.unit,
        subject.adjacency,
        subject.epsilon,
        subject.delta,
        subject.exact,
        found,
        count,
        alpha,
        judge(subject.epsilon, exact=subject.exact, lower_bound=found, ideal=ideal),
    )


def _found(subject: Subject, samples: int, alpha: float) -> tuple[float, float]:
    """The bound, and what an ideal auditor reaches."""
    a, b = (_seen(release, subject.feature) for release in subject.releases)
    if subject.mu is not None:
        gauss = audit_gaussian(a, b, samples=samples, delta=subject.delta, alpha=alpha)
        ideal = ideal_gaussian(subject.mu, samples=samples, delta=subject.delta, alpha=alpha)
        return gauss.lower_bound, ideal
    evidence = audit(a, b, samples=samples, alpha=alpha)
    return evidence.lower_bound, best_ideal(subject.chances or ({}, {}), samples, alpha)


def best_ideal(chances: tuple[Chances, Chances], samples: int, alpha: float) -> float:
    """The largest ideal bound over the events whose chances are given."""
    first, second = chances
    pairs = [(float(first[event]), float(second.get(event, 0))) for event in first]
    pairs += [(q, p) for p, q in pairs]
    return max(
        (ideal_bound(p, q, samples=samples, alpha=alpha) for p, q in pairs if p > q), default=0.0
    )


def bit_release(epsilon: float) -> Subject:
    release = BitRelease(epsilon)
    p = release.truth
    return Subject(
        "bit-release",
        "bit",
        "0 or 1",
        epsilon,
        exact.response(p),
        _pair(lambda bits: release(bits, secure()), [1], [0]),
        ({1: p, 0: 1 - p}, {1: 1 - p, 0: p}),
        feature=np.ravel,
    )


def kary_response(epsilon: float, categories: int = 10) -> Subject:
    release = KaryResponse(epsilon, categories)
    lie = (1 - release.truth) / (categories - 1)
    return Subject(
        "kary-response",
        "answer",
        f"any two of {categories} answers",
        epsilon,
        exact.response(release.truth, categories),
        _pair(lambda values: release(values, secure()), [0], [1]),
        ({0: release.truth, 1: lie}, {0: lie, 1: release.truth}),
        feature=np.ravel,
    )


def laplace_release(epsilon: float) -> Subject:
    release = LaplaceRelease(epsilon, sensitivity=1, lower=-8, upper=8, resolution=1)
    reached = _laplace_reaches(release.scale, 0), _laplace_reaches(release.scale, 1)
    return Subject(
        "laplace",
        "number",
        "1 apart",
        epsilon,
        exact.laplace(1, release.scale),
        _pair(release, [1.0], [0.0]),
        ({"at least 1": reached[0]}, {"at least 1": reached[1]}),
        feature=np.ravel,
        share=4,
    )


def gaussian_release(noise_multiplier: float = 1.0) -> Subject:
    release = GaussianRelease(noise_multiplier, 1, lower=-8, upper=8, resolution=2**-8)
    mu = 2**8 / release.sigma
    return Subject(
        "gaussian",
        "number",
        "1 apart",
        ZCDPAccountant().add(release.event).epsilon(_DELTA),
        epsilon_of(mu, _DELTA),
        _pair(release, [1.0], [0.0]),
        feature=np.ravel,
        share=5,
        delta=_DELTA,
        mu=mu,
    )


def selection(epsilon: float, candidates: int = 10) -> Subject:
    release = Selection(epsilon, candidates, sensitivity=1, lower=0, upper=1, resolution=1)
    up, down = _one_up(candidates)
    weights = _weights(release, up), _weights(release, down)
    return Subject(
        "selection",
        "scores",
        "each 1 apart",
        epsilon,
        exact.loss(*weights),
        _pair(lambda scores: release(scores, secure()), up, down),
        (_shares(weights[0]), _shares(weights[1])),
        share=4,
    )


def top_selection(epsilon: float) -> Subject:
    one = Selection(epsilon / 2, 4, sensitivity=1, lower=0, upper=1, resolution=1)
    release = TopSelection(2, one)
    a, b = [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]
    lists = (
        exact.peeling(list(_weights(one, a).values()), 2),
        exact.peeling(list(_weights(one, b).values()), 2),
    )
    return Subject(
        "top-selection",
        "scores",
        "each 1 apart",
        epsilon,
        exact.loss(*lists),
        _pair(lambda scores: release(scores, secure()), a, b),
        lists,
        feature=lambda lists: np.asarray(lists @ np.array([4, 1])),
        share=4,
    )


def noisy_max(epsilon: float, candidates: int = 4) -> Subject:
    release = NoisyMax(epsilon, candidates, sensitivity=1, lower=0, upper=1, resolution=1)
    up, down = _one_up(candidates)
    chosen = [exact.permute_and_flip(float(release.rate), scores) for scores in (up, down)]
    return Subject(
        "noisy-max",
        "scores",
        "each 1 apart",
        epsilon,
        exact.loss(*chosen),
        _pair(release, up, down),
        (chosen[0], chosen[1]),
        share=100,
    )


def tree_counter(epsilon: float) -> Subject:
    counter = TreeCounter(epsilon, horizon=2)
    one, none = (_laplace_reaches(counter.scale, k) ** 2 for k in (0, 1))
    return Subject(
        "tree-counter",
        "step",
        "its value 0 or 1",
        epsilon,
        exact.tree(counter.levels, 1, counter.scale),
        _one_by_one(counter, [1, 0], [0, 0]),
        ({"both at least 1": one}, {"both at least 1": none}),
        feature=lambda totals: np.asarray(totals.min(axis=1)),
        share=100,
    )


def threshold_gate(epsilon: float) -> Subject:
    gate = ThresholdGate(epsilon, threshold=1)
    a, b = (1, 1, 1, 0), (0, 0, 0, 1)
    stops = [exact.gate(counts, 1, gate.threshold_scale, gate.count_scale) for counts in (a, b)]
    return Subject(
        "threshold-gate",
        "counts",
        "each 1 apart",
        epsilon,
        exact.loss(*stops),
        _one_by_one(gate, a, b),
        (stops[0], stops[1]),
        share=100,
    )


def gram_release(noise_multiplier: float = 1.0) -> Subject:
    release = GramRelease(noise_multiplier, items=2)
    row = [[math.sqrt(0.5), math.sqrt(0.5)]]
    length = int((release.clipped(np.array(row)) ** 2).sum())
    mu = length / release.sigma  # all four entries move by length / 2, the diagonal has sigma
    return Subject(
        "gram",
        "person",
        "comes or goes",
        ZCDPAccountant().add(release.event).epsilon(_DELTA),
        epsilon_of(mu, _DELTA),
        _one_by_one(release, row, [[0.0, 0.0]]),
        feature=lambda matrices: np.asarray(matrices.sum(axis=(1, 2))),
        share=200,
        delta=_DELTA,
        mu=mu,
    )


def cosine_release(epsilon: float) -> Subject:
    release = CosineRelease(epsilon, bound=1, halves=4)
    without = np.ones((2, 20), dtype=np.int64)
    person = np.hstack([without, [[1], [-1]]])
    # the integer weights that the call draws from
    weights = [
        _weights(release._selection, (-release.changes(pair)).tolist())
        for pair in (without, person)
    ]
    return Subject(
        "cosine",
        "person",
        "comes or goes",
        epsilon,
        exact.loss(*weights),
        _one_by_one(lambda pair: release(pair, secure()), without, person),
        (_shares(weights[0]), _shares(weights[1])),
        share=100,
    )


BENCH: Mapping[str, tuple[Callable[[], Subject], ...]] = {
    "bit-release": tuple(partial(bit_release, epsilon) for epsilon in EPSILONS),
    "kary-response": tuple(partial(kary_response, epsilon) for epsilon in EPSILONS),
    "laplace": (partial(laplace_release, 1.0),),
    "gaussian": (gaussian_release,),
    "selection": (partial(selection, 1.0),),
    "top-selection": (partial(top_selection, 1.0),),
    "noisy-max": (partial(noisy_max, 1.0),),
    "tree-counter": (partial(tree_counter, 1.0),),
    "threshold-gate": (partial(threshold_gate, 4.0),),
    "gram": (gram_release,),
    "cosine": (partial(cosine_release, 4.0),),
}
"""Every shipped mechanism that is audited, and with which parameters."""


def _pair(
    call: Callable[[NDArray[np.float64]], ArrayLike], a: object, b: object
) -> tuple[Release, Release]:
    """Releases of many copies of two inputs, drawn by one call each."""

    def drawn(value: object) -> Release:
        row = np.asarray(value, dtype=np.float64)
        return lambda n: np.asarray(call(np.tile(row, (n, 1))))

    return drawn(a), drawn(b)


def _seen(release: Release, feature: Feature) -> Release:
    return lambda n: feature(release(n))


def _one_by_one(
    call: Callable[[ArrayLike], ArrayLike], a: object, b: object
) -> tuple[Release, Release]:
    """The same for a mechanism that makes one release per call."""

    def drawn(value: object) -> Release:
        row = np.asarray(value)
        return lambda n: np.array([call(row) for _ in range(n)])

    return drawn(a), drawn(b)


def _one_up(candidates: int) -> tuple[list[float], list[float]]:
    return [1.0] + [0.0] * (candidates - 1), [0.0] + [1.0] * (candidates - 1)


def _weights(choice: Selection, scores: list[float]) -> dict[Hashable, int]:
    return dict(enumerate(choice.weights(scores).tolist()))


def _shares(weights: Mapping[Hashable, int]) -> dict[Hashable, float]:
    whole = sum(weights.values())
    return {candidate: weight / whole for candidate, weight in weights.items()}


def _laplace_reaches(scale: float, k: int) -> float:
    """P(noise >= k) of discrete Laplace noise; k is 0 or more."""
    return math.exp(-k / scale) / (1 + math.exp(-1 / scale))
