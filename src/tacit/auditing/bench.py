"""The audit's bench: a mechanism, pairs of neighbouring inputs, and every tool on each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing import claims, exact
from tacit.auditing.claims import Audit, Checked, Line, where
from tacit.auditing.empirical import ALPHA, Feature, Release, audit, best_known, itself
from tacit.auditing.gaussian import audit_gaussian, epsilon_of, ideal_gaussian
from tacit.auditing.rules import Rule, upper_bound
from tacit.auditing.sampler_spy import Bulk, Tape, differences, tapped
from tacit.randomness import Source, secure

SAMPLES = 1_000_000
_BULK = 20_000
_FEWEST = 100  # of a mechanism that gets a share of the samples

Chances = Mapping[Hashable, exact.Chance]
Call = Callable[[NDArray[Any], Source], ArrayLike]


@dataclass(frozen=True)
class Pair:
    """One shipped mechanism with its parameters, and two neighbouring inputs.

    call: one release, or with `at_once` one for each row. exact: the loss, from what the running
    code draws with. chances: of values of the feature under the two inputs; at_least: of each value
    or a larger one. share: it gets samples / share.
    mu, sigma_in_steps: of Gaussian noise on a fine grid. rule: what the release is made of.
    untapped: noise is drawn as it is shipped, a running mechanism's in its own blocks; others draw
    theirs in bulk.
    silent: draws may differ, because they follow from the release or are proved to tell no more.
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
    untapped: bool = False
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

    def line(make: Callable[[], Subject]) -> Line:
        return make().line

    return tuple(partial(line, make) for make in makes)


def run(subject: Subject, *, samples: int = SAMPLES, alpha: float = ALPHA) -> Audit:
    """Draw, bound and judge; the pairs share alpha."""
    return claims.run(subject.line, samples=samples, alpha=alpha)


def check(pair: Pair, delta: float = 0.0, samples: int = SAMPLES, alpha: float = ALPHA) -> Checked:
    """One pair by every tool. An exception is a finding: whatever works does not raise here."""
    count = max(samples // pair.share, _FEWEST)
    bounded = None if pair.rule is None else upper_bound(pair.rule)
    try:
        seen = tuple(watched(pair))
        found, ideal = _found(pair, delta, count, alpha)
    except Exception as error:
        return Checked(pair.name, pair.exact, bounded, 0.0, 0.0, count, failed=where(error))
    most = _most(pair, delta)
    return Checked(pair.name, pair.exact, bounded, found, ideal, count, seen, most)


def _most(pair: Pair, delta: float) -> float:
    """What the samples can show of the noise that was asked for.

    A Gaussian's error rates are those of a continuous one but for 1 / (24 sigma^2) of mu.
    """
    if pair.mu is None or math.isinf(pair.exact):
        return pair.exact
    return max(pair.exact, epsilon_of(pair.mu * (1 + pair.sigma_in_steps**-2 / 24), delta))


def watched(pair: Pair) -> list[str]:
    """What draws and errors tell, on the inputs and on the same inputs spoilt in one place."""

    def release(data: NDArray[Any], tape: Tape) -> object:
        return pair.call(data[None] if pair.at_once else data, tape)

    found = [] if pair.silent else differences(release, pair.a, pair.b)
    for spoilt in (np.nan, np.inf, 0.3):
        found += differences(release, _spoilt(pair.a, spoilt), _spoilt(pair.b, spoilt), seeds=(0,))
    return found


def _spoilt(data: NDArray[Any], value: float) -> NDArray[np.float64]:
    """The first entry replaced: where a stream looks first, so that nothing depends on a stop."""
    numbers = data.astype(np.float64)
    numbers.flat[0] = value
    return numbers


def _found(pair: Pair, delta: float, samples: int, alpha: float) -> tuple[float, float]:
    """The bound, and what an ideal auditor reaches."""
    a, b = (_releases(pair, data) for data in (pair.a, pair.b))
    if pair.mu is not None:
        gauss = audit_gaussian(
            a,
            b,
            samples=samples,
            delta=delta,
            alpha=alpha,
            sigma_in_steps=pair.sigma_in_steps,
            known=pair.mu**2 / 2,
        )
        return gauss.lower_bound, ideal_gaussian(pair.mu, samples=samples, delta=delta, alpha=alpha)
    known = best_known(pair.chances, samples, alpha, delta, at_least=pair.at_least)
    evidence = audit(a, b, samples=samples, alpha=alpha, delta=delta, known=known)
    return evidence.lower_bound, known.ideal if known else 0.0


def _releases(pair: Pair, data: NDArray[Any]) -> Release:
    def drawn(n: int) -> NDArray[Any]:
        if pair.at_once:
            copies = np.broadcast_to(data, (n, *data.shape))
            return pair.feature(np.asarray(pair.call(copies, secure())))
        if pair.untapped:
            return pair.feature(np.array([pair.call(data, secure()) for _ in range(n)]))
        with tapped(Bulk(min(_BULK, n)).answer):
            return pair.feature(np.array([pair.call(data, secure()) for _ in range(n)]))

    return drawn
