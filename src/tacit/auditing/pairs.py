"""Pairs of neighbouring inputs of a mechanism, and every tool on each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing.claims import AuditedClaim, PairResult, error_place
from tacit.auditing.empirical import ALPHA, Feature, Release, audit, best_known, itself
from tacit.auditing.exact_losses import Chances
from tacit.auditing.gaussian import audit_gaussian, epsilon_of_mu, ideal_gaussian
from tacit.auditing.rules import Rule, upper_bound
from tacit.auditing.sampler_spy import BulkNoise, Tape, differences, intercept_samplers
from tacit.randomness import Source, secure

SAMPLES = 1_000_000
"""Releases of each input of a pair that gets all of them."""
_BULK = 20_000
_FEWEST = 100
"""Releases of a mechanism that gets a share of the samples, at least."""
_ODD_VALUES = (np.nan, np.inf, 0.3)

Call = Callable[[NDArray[Any], Source], ArrayLike]
"""Makes one release, or several at once, from an input and a source of randomness."""


@dataclass(frozen=True)
class Pair:
    """One shipped mechanism with its parameters, and two neighbouring inputs."""

    name: str
    """Name of the pair."""
    call: Call
    """Makes one release; with `at_once`, one for each row."""
    a: NDArray[Any]
    """The first input."""
    b: NDArray[Any]
    """The second input, neighbouring."""
    exact: float
    """Loss of the pair, from what the running code draws with, in nats."""
    chances: tuple[Chances, Chances] = field(default_factory=lambda: ({}, {}))
    """Chances of values of the feature under the two inputs."""
    at_least: bool = False
    """Whether `chances` are those of each value or a larger one."""
    feature: Feature = itself
    """Turns releases into one number each."""
    share: int = 1
    """The pair gets samples / share."""
    at_once: bool = False
    """Whether one call makes many releases, one for each row."""
    mu: float | None = None
    """Distance / sigma of Gaussian noise on a fine grid; None for other noise."""
    sigma_in_steps: float = 0.0
    """sigma of Gaussian noise in steps of its grid."""
    rule: Rule | None = None
    """What the release is made of, for the rule engine."""
    own_noise: bool = False
    """Whether noise is drawn as it is shipped, a running mechanism's in its own blocks; others
    draw theirs in bulk."""
    silent: bool = False
    """Whether draws may differ, because they follow from the release or provably reveal no more."""


@dataclass(frozen=True)
class AuditedMechanism:
    """A mechanism under audit, with its pairs: one line of the table."""

    mechanism: str
    """Name of the mechanism."""
    unit: str
    """The thing that neighbouring inputs differ in."""
    adjacency: str
    """How they differ in it."""
    epsilon: float
    """The claim, in nats."""
    pairs: tuple[Pair, ...]
    """Pairs of inputs; the first has the most samples."""
    delta: float = 0.0
    """The chance at which epsilon is claimed."""

    @property
    def claim(self) -> AuditedClaim:
        """The claim with a check of each pair."""
        return AuditedClaim(
            self.mechanism,
            self.epsilon,
            tuple(partial(check_pair, pair, self.delta) for pair in self.pairs),
            self.delta,
            unit=self.unit,
            adjacency=self.adjacency,
        )


def claim_makers(
    makers: Iterable[Callable[[], AuditedMechanism]],
) -> tuple[Callable[[], AuditedClaim], ...]:
    """Turn functions that make a mechanism under audit into ones that make its claim."""
    return tuple(partial(_make_claim, make) for make in makers)


def _make_claim(make: Callable[[], AuditedMechanism]) -> AuditedClaim:
    return make().claim


def check_pair(
    pair: Pair, delta: float = 0.0, samples: int = SAMPLES, alpha: float = ALPHA
) -> PairResult:
    """Audit one pair with every tool. An exception is a fault: correct code does not raise here.

    Args:
        pair: The mechanism with two inputs.
        delta: The chance at which epsilon is claimed.
        samples: Releases of each input, before the pair's share.
        alpha: The chance that correct code is called broken.
    """
    count = max(samples // pair.share, _FEWEST)
    rule_bound = None if pair.rule is None else upper_bound(pair.rule)
    try:
        seen = tuple(grey_box_differences(pair))
        lower_bound, ideal = _sampled_bound(pair, delta, count, alpha)
    except Exception as error:
        return PairResult(
            pair.name, pair.exact, rule_bound, 0.0, 0.0, count, failed=error_place(error)
        )
    most = pair.exact
    if pair.mu is not None and math.isfinite(most):
        # A Gaussian's error rates are those of a continuous one but for a share of mu.
        most = max(most, epsilon_of_mu(pair.mu * (1 + pair.sigma_in_steps**-2 / 24), delta))
    return PairResult(pair.name, pair.exact, rule_bound, lower_bound, ideal, count, seen, most)


def grey_box_differences(pair: Pair) -> list[str]:
    """List differences in draws and errors, on the inputs and with one value of both replaced."""

    def release(data: NDArray[Any], tape: Tape) -> object:
        return pair.call(data[None] if pair.at_once else data, tape)

    seen = [] if pair.silent else differences(release, pair.a, pair.b)
    for value in _ODD_VALUES:
        a = _replace_first(pair.a, value)
        b = _replace_first(pair.b, value)
        seen += differences(release, a, b, seeds=(0,))
    return seen


def _replace_first(data: NDArray[Any], value: float) -> NDArray[np.float64]:
    """Replace the first value, which a stream reads before it can stop."""
    replaced = data.astype(np.float64)
    replaced.flat[0] = value
    return replaced


def _sampled_bound(pair: Pair, delta: float, samples: int, alpha: float) -> tuple[float, float]:
    """Return the lower bound from samples, and that of an ideal auditor."""
    a = _releases(pair, pair.a)
    b = _releases(pair, pair.b)
    if pair.mu is not None:
        evidence = audit_gaussian(
            a,
            b,
            samples=samples,
            delta=delta,
            alpha=alpha,
            sigma_in_steps=pair.sigma_in_steps,
            known=pair.mu**2 / 2,
        )
        ideal = ideal_gaussian(pair.mu, samples=samples, delta=delta, alpha=alpha)
        return evidence.lower_bound, ideal
    best = best_known(pair.chances, samples, alpha, delta, at_least=pair.at_least)
    lower_bound = audit(a, b, samples=samples, alpha=alpha, delta=delta, known=best).lower_bound
    return lower_bound, best.ideal if best else 0.0


def _releases(pair: Pair, data: NDArray[Any]) -> Release:
    """Return a function that makes that many releases of one input, turned into the feature."""

    def draw(n: int) -> NDArray[Any]:
        if pair.at_once:
            copies = np.broadcast_to(data, (n, *data.shape))
            return pair.feature(np.asarray(pair.call(copies, secure())))
        bulk = BulkNoise(min(_BULK, n))
        with nullcontext() if pair.own_noise else intercept_samplers(bulk.answer):
            return pair.feature(np.array([pair.call(data, secure()) for _ in range(n)]))

    return draw
