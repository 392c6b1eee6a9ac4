"""The audit's bench: a mechanism, pairs of neighbouring inputs, and every tool on each of them.

Also exact losses of mechanisms whose output distributions are known. Two distributions with
different supports have an infinite loss; a branch on private data without randomness has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing import claims
from tacit.auditing.claims import Audit, Line, PairResult, where
from tacit.auditing.empirical import ALPHA, Feature, Release, audit, best_known, itself
from tacit.auditing.gaussian import audit_gaussian, epsilon_of, ideal_gaussian
from tacit.auditing.rules import Rule, upper_bound
from tacit.auditing.sampler_spy import Bulk, Tape, differences, intercepted
from tacit.randomness import Source, secure

Chance = int | float | Fraction
Chances = Mapping[Any, Chance]
"""Probabilities of outcomes, or weights."""
Floats = NDArray[np.float64]
T = TypeVar("T")


def loss(p: Chances, q: Chances) -> float:
    """max |ln(P / Q)| over all outcomes; infinite if one side lacks an outcome of the other.

    Each side is divided by its own sum, so both may be weights.
    """
    all_p, all_q = (
        sum((Fraction(chance) for chance in side.values()), Fraction(0)) for side in (p, q)
    )
    worst = 0.0
    for outcome in {*p, *q}:
        at_p, at_q = Fraction(p.get(outcome, 0)) / all_p, Fraction(q.get(outcome, 0)) / all_q
        if at_p == at_q:
            continue
        if at_p == 0 or at_q == 0:
            return math.inf
        worst = max(worst, abs(log(at_p / at_q)))
    return worst


def log(ratio: Fraction) -> float:
    """Natural logarithm of a positive fraction, exact to a float also near 1."""
    off = float(ratio - 1)
    if abs(off) < 0.5:
        return math.log1p(off)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def worst_loss(distribution: Callable[[T], Chances], pairs: Iterable[tuple[T, T]]) -> float:
    """The largest loss over the pairs of neighbouring inputs."""
    return max(loss(distribution(a), distribution(b)) for a, b in pairs)


def within(steps: int, candidates: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of score vectors in {0, ..., steps} of which no entry differs by more than 1."""
    for a in product(range(steps + 1), repeat=candidates):
        for move in product((-1, 0, 1), repeat=candidates):
            b = tuple(score + up for score, up in zip(a, move, strict=True))
            if a < b and min(b) >= 0 and max(b) <= steps:
                yield a, b


def exponential_worst(epsilon: float, candidates: int, spread: float = 1.0) -> float:
    """Exponential mechanism, all neighbours whose scores lie at most `spread` sensitivities apart.

    The worst pair: one candidate at the bottom moves up, all others at the top move down. With
    spread 1, a = epsilon / 2 and N candidates: a + ln[(1 + (N - 1) e^a) / (e^a + N - 1)].
    """
    rate, rest = epsilon / 2, candidates - 1
    step, top = rate * min(spread, 1.0), rate * spread
    # Both sides of the fraction are divided by e^top, so that nothing overflows.
    others = (math.exp(-top) + rest) / (math.exp(step - top) + rest * math.exp(-step))
    return step + math.log(others)


def peeling(weights: Sequence[int], k: int) -> dict[Any, Fraction]:
    """k different candidates in order, each in proportion to its weight among those left."""
    lists: dict[Any, Fraction] = {}
    for chosen in permutations(range(len(weights)), k):
        left, chance = sum(weights), Fraction(1)
        for one in chosen:
            chance *= Fraction(weights[one], left)
            left -= weights[one]
        lists[chosen] = chance
    return lists


def gate(
    counts: Sequence[int], threshold: int, threshold_scale: float, count_scale: float
) -> dict[Any, float]:
    """AboveThreshold with discrete Laplace noise: how many counts pass before it stops.

    Summed over the threshold's noise.
    """
    noise, left = laplace(threshold_scale)
    stops = []
    for count in counts:
        fires = laplace_at_least(threshold + noise - count, count_scale)
        stops.append(float((left * fires).sum()))
        left = left * (1 - fires)
    return dict(enumerate([*stops, float(left.sum())]))


def laplace(scale: float) -> tuple[Floats, Floats]:
    """Steps out to 60 scales, beyond which less than 1e-25 of discrete Laplace noise is left, and
    the chance of each; no noise if the scale is 0."""
    reach = math.ceil(60 * scale)
    steps = np.arange(-reach, reach + 1, dtype=np.float64)
    if scale == 0:
        return steps, np.ones(1)
    return steps, math.tanh(1 / (2 * scale)) * np.exp(-np.abs(steps) / scale)


def laplace_at_least(steps: NDArray[Any], scale: float | Floats) -> Floats:
    """P(noise >= each step) of discrete Laplace noise; of none if the only scale is 0."""
    if np.ndim(scale) == 0 and scale == 0:
        return np.asarray(steps <= 0, dtype=np.float64)
    q = np.exp(-1 / np.asarray(scale))
    above = np.exp(-np.maximum(steps, 1) / scale) / (1 + q)
    below = 1 - np.exp((np.minimum(steps, 0) - 1) / scale) / (1 + q)
    return np.asarray(np.where(steps > 0, above, below))


SAMPLES = 1_000_000
_BULK = 20_000
_FEWEST = 100  # of a mechanism that gets a share of the samples

Call = Callable[[NDArray[Any], Source], ArrayLike]


@dataclass(frozen=True)
class Pair:
    """One shipped mechanism with its parameters, and two neighbouring inputs.

    call: one release, or with `at_once` one for each row. exact: the loss, from what the running
    code draws with. chances: of values of the feature under the two inputs; at_least: of each value
    or a larger one. share: it gets samples / share.
    mu, sigma_in_steps: of Gaussian noise on a fine grid. rule: what the release is made of.
    own_noise: noise is drawn as it is shipped, a running mechanism's in its own blocks; others draw
    theirs in bulk.
    silent: draws may differ, because they follow from the release or provably reveal no more.
    """

    name: str
    call: Call
    a: NDArray[Any]
    b: NDArray[Any]
    exact: float
    chances: tuple[Chances, Chances] = field(default_factory=lambda: ({}, {}))
    at_least: bool = False
    feature: Feature = itself
    share: int = 1
    at_once: bool = False
    mu: float | None = None
    sigma_in_steps: float = 0.0
    rule: Rule | None = None
    own_noise: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Subject:
    """What one line of the table is about. The first pair is the one with the most samples."""

    mechanism: str
    unit: str
    adjacency: str
    epsilon: float
    pairs: tuple[Pair, ...]
    delta: float = 0.0

    @property
    def line(self) -> Line:
        """The claim with a check of each pair."""
        checks = tuple(partial(check, pair, self.delta) for pair in self.pairs)
        claim = (self.mechanism, self.epsilon, checks, self.delta)
        return Line(*claim, unit=self.unit, adjacency=self.adjacency)


def lines(makes: Iterable[Callable[[], Subject]]) -> tuple[Callable[[], Line], ...]:
    """The same for a bench of claims."""

    return tuple(partial(lambda make: make().line, make) for make in makes)


def run(subject: Subject, *, samples: int = SAMPLES, alpha: float = ALPHA) -> Audit:
    """Draw, bound and judge; the pairs share alpha."""
    return claims.run(subject.line, samples=samples, alpha=alpha)


def check(
    pair: Pair, delta: float = 0.0, samples: int = SAMPLES, alpha: float = ALPHA
) -> PairResult:
    """One pair by every tool. An exception is a fault: correct code does not raise here."""
    count = max(samples // pair.share, _FEWEST)
    bounded = None if pair.rule is None else upper_bound(pair.rule)
    try:
        seen = tuple(watched(pair))
        lower_bound, ideal = _sampled_bound(pair, delta, count, alpha)
    except Exception as error:
        return PairResult(pair.name, pair.exact, bounded, 0.0, 0.0, count, failed=where(error))
    most = pair.exact
    if pair.mu is not None and math.isfinite(most):
        # A Gaussian's error rates are those of a continuous one but for a share of mu.
        most = max(most, epsilon_of(pair.mu * (1 + pair.sigma_in_steps**-2 / 24), delta))
    return PairResult(pair.name, pair.exact, bounded, lower_bound, ideal, count, seen, most)


def watched(pair: Pair) -> list[str]:
    """Differences in draws and errors, on the inputs and with one value of both replaced."""

    def release(data: NDArray[Any], tape: Tape) -> object:
        return pair.call(data[None] if pair.at_once else data, tape)

    seen = [] if pair.silent else differences(release, pair.a, pair.b)
    for value in (np.nan, np.inf, 0.3):
        replaced = [data.astype(np.float64) for data in (pair.a, pair.b)]
        for data in replaced:
            data.flat[0] = value  # the first value, which a stream reads before it can stop
        seen += differences(release, *replaced, seeds=(0,))
    return seen


def _sampled_bound(pair: Pair, delta: float, samples: int, alpha: float) -> tuple[float, float]:
    """The lower bound from samples, and that of an ideal auditor."""
    a, b = (_releases(pair, data) for data in (pair.a, pair.b))
    if pair.mu is not None:
        how: dict[str, Any] = {"samples": samples, "delta": delta, "alpha": alpha}
        fine, known = pair.sigma_in_steps, pair.mu**2 / 2
        gauss = audit_gaussian(a, b, sigma_in_steps=fine, known=known, **how)
        return gauss.lower_bound, ideal_gaussian(pair.mu, **how)
    best = best_known(pair.chances, samples, alpha, delta, at_least=pair.at_least)
    evidence = audit(a, b, samples=samples, alpha=alpha, delta=delta, known=best)
    return evidence.lower_bound, best.ideal if best else 0.0


def _releases(pair: Pair, data: NDArray[Any]) -> Release:
    def drawn(n: int) -> NDArray[Any]:
        if pair.at_once:
            copies = np.broadcast_to(data, (n, *data.shape))
            return pair.feature(np.asarray(pair.call(copies, secure())))
        with nullcontext() if pair.own_noise else intercepted(Bulk(min(_BULK, n)).answer):
            return pair.feature(np.array([pair.call(data, secure()) for _ in range(n)]))

    return drawn
