"""Pairs of neighbouring inputs of a mechanism, and their audit with all tools."""

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
from tacit.auditing.empirical import (
    ALPHA,
    Feature,
    Release,
    audit,
    best_known_event,
    identity_feature,
)
from tacit.auditing.exact_losses import Chances
from tacit.auditing.gaussian import audit_gaussian, epsilon_of_mu, ideal_gaussian
from tacit.auditing.rules import Rule, upper_bound
from tacit.auditing.sampler_spy import BulkNoise, Tape, differences, intercept_samplers
from tacit.randomness import Source, secure

SAMPLES = 1_000_000
"""Number of releases of each input, before it is divided by a pair's `sample_divisor`."""
_BULK = 20_000
"""`size` of `BulkNoise`, if at least so many releases are made at once."""
_FEWEST_SAMPLES = 100
"""Fewest releases of each input of a pair, whatever its sample_divisor."""
_UNUSUAL_VALUES = (np.nan, np.inf, 0.3)
"""Values that the grey-box audit puts into both inputs, to compare the errors."""

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
    """The second input, neighbouring to the first."""
    exact: float
    """Exact loss in nats, from the weights, chances or scales with which the running code draws."""
    chances: tuple[Chances, Chances] = field(default_factory=lambda: ({}, {}))
    """Chances of values of the feature under the two inputs; empty if they are not known."""
    at_least: bool = False
    """Whether the chance of each value in `chances` is that of this value or any larger one."""
    feature: Feature = identity_feature
    """Maps releases to one number each."""
    sample_divisor: int = 1
    """The pair is audited with samples / sample_divisor releases of each input, 100 at least."""
    at_once: bool = False
    """Whether one call makes many releases, one for each row."""
    mu: float | None = None
    """L2 distance of the inputs over sigma, if the noise is Gaussian on a fine grid; else None."""
    sigma_in_steps: float = 0.0
    """Sigma of Gaussian noise in steps of its grid."""
    rule: Rule | None = None
    """Describes the release for the rule engine; None if no rule can."""
    draws_its_own_noise: bool = False
    """Without `at_once`: whether the mechanism draws its own noise, as shipped. If not, noise of
    the shipped samplers is drawn in bulk and handed to it, which is quicker. With `at_once` it
    always draws its own."""
    draws_may_differ: bool = False
    """Whether the grey-box audit accepts different draws on the two inputs, because they follow
    from the release, or are proved to reveal no more than it does."""


@dataclass(frozen=True)
class AuditedMechanism:
    """A mechanism under audit with its pairs of inputs: one line of the table."""

    mechanism: str
    """Name of the mechanism."""
    unit: str
    """What neighbouring inputs differ in."""
    adjacency: str
    """How they differ in it."""
    epsilon: float
    """The claim, in nats."""
    pairs: tuple[Pair, ...]
    """Pairs of neighbouring inputs, at least one."""
    delta: float = 0.0
    """The delta of the claim."""

    @property
    def claim(self) -> AuditedClaim:
        """The claim, with a check of each pair."""
        return AuditedClaim(
            self.mechanism,
            self.epsilon,
            checks=tuple(partial(check_pair, pair, self.delta) for pair in self.pairs),
            delta=self.delta,
            unit=self.unit,
            adjacency=self.adjacency,
        )


def claim_makers(
    makers: Iterable[Callable[[], AuditedMechanism]],
) -> tuple[Callable[[], AuditedClaim], ...]:
    """Convert functions that return an `AuditedMechanism` to functions that return its claim."""
    return tuple(partial(_make_claim, make) for make in makers)


def _make_claim(make: Callable[[], AuditedMechanism]) -> AuditedClaim:
    """Make a mechanism under audit, and return its claim."""
    return make().claim


def check_pair(
    pair: Pair, delta: float = 0.0, samples: int = SAMPLES, alpha: float = ALPHA
) -> PairResult:
    """Audit one pair by rules, by its draws and errors (grey box), and by samples.

    An exception of the sampled releases counts as a fault: correct code raises none on `a` or `b`.

    Args:
        pair: The mechanism with two inputs.
        delta: The delta of the claim.
        samples: Number of releases of each input, before it is divided by the pair's
            `sample_divisor`.
        alpha: Largest chance that correct code is called broken.
    """
    count = max(samples // pair.sample_divisor, _FEWEST_SAMPLES)
    rule_bound = None if pair.rule is None else upper_bound(pair.rule)
    try:
        found_differences = tuple(grey_box_differences(pair))
        lower_bound, ideal = _sampled_bound(pair, delta, count, alpha)
    except Exception as error:
        return PairResult(
            pair.name,
            exact=pair.exact,
            rule_bound=rule_bound,
            lower_bound=0.0,
            ideal=0.0,
            samples=count,
            failed=error_place(error),
        )
    largest_loss = pair.exact
    if pair.mu is not None and math.isfinite(largest_loss):
        # The audit treats discrete noise as continuous: mu changes by a share of 1 / (24 sigma^2).
        largest_mu = pair.mu * (1 + pair.sigma_in_steps**-2 / 24)
        largest_loss = max(largest_loss, epsilon_of_mu(largest_mu, delta))
    return PairResult(
        pair.name,
        exact=pair.exact,
        rule_bound=rule_bound,
        lower_bound=lower_bound,
        ideal=ideal,
        samples=count,
        differences=found_differences,
        most=largest_loss,
    )


def grey_box_differences(pair: Pair) -> list[str]:
    """Return the differences between the two inputs in draws and errors, as sentences.

    The inputs are compared as they are, unless `draws_may_differ`. In any case they are compared,
    on one seed, with each of _UNUSUAL_VALUES in place of the first value of both inputs.
    """

    def call_once(data: NDArray[Any], tape: Tape) -> object:
        return pair.call(data[None] if pair.at_once else data, tape)

    sentences = [] if pair.draws_may_differ else differences(call_once, pair.a, pair.b)
    for value in _UNUSUAL_VALUES:
        a = _replace_first(pair.a, value)
        b = _replace_first(pair.b, value)
        sentences += differences(call_once, a, b, seeds=(0,))
    return sentences


def _replace_first(data: NDArray[Any], value: float) -> NDArray[np.float64]:
    """Return a copy whose first value is `value`.

    The first value is replaced because a mechanism on a stream may stop before it reads the others.
    """
    copy = data.astype(np.float64)
    copy.flat[0] = value
    return copy


def _sampled_bound(pair: Pair, delta: float, samples: int, alpha: float) -> tuple[float, float]:
    """Return the lower bound on epsilon from samples, and the ideal (`PairResult.ideal`)."""
    release_a = _make_release(pair, pair.a)
    release_b = _make_release(pair, pair.b)
    if pair.mu is not None:
        evidence = audit_gaussian(
            release_a,
            release_b,
            samples=samples,
            delta=delta,
            alpha=alpha,
            sigma_in_steps=pair.sigma_in_steps,
            known_threshold=pair.mu**2 / 2,  # halfway between the centres, 0 and mu^2
        )
        ideal = ideal_gaussian(pair.mu, samples=samples, delta=delta, alpha=alpha)
        return evidence.lower_bound, ideal
    known_event = best_known_event(pair.chances, samples, alpha, delta, at_least=pair.at_least)
    bound = audit(
        release_a, release_b, samples=samples, alpha=alpha, delta=delta, known_event=known_event
    ).lower_bound
    return bound, known_event.ideal if known_event else 0.0


def _make_release(pair: Pair, data: NDArray[Any]) -> Release:
    """Return a function that makes n releases of one input, and maps them by the feature."""

    def sample_feature(n: int) -> NDArray[Any]:
        """Make n releases, and return the feature (n,) of each."""
        if pair.at_once:
            copies = np.broadcast_to(data, (n, *data.shape))
            return pair.feature(np.asarray(pair.call(copies, secure())))
        bulk = BulkNoise(min(_BULK, n))
        # Noise drawn in bulk is quicker. It replaces the samplers' own draws, unless the mechanism
        # is to be audited with these.
        with nullcontext() if pair.draws_its_own_noise else intercept_samplers(bulk.answer):
            return pair.feature(np.array([pair.call(data, secure()) for _ in range(n)]))

    return sample_feature
