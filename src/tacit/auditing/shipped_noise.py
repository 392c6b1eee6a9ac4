"""Audits of mechanisms that add noise to numbers, to a Gram matrix or to sums over people.

By how much each noise's centre moves between the two inputs of a pair, and the scale of the noise,
are read from the running code. The claim for Gaussian noise is the zCDP bound, which holds on any
grid. (An accountant's event for noise on a fine grid may cost less; that is not claimed here.)

The feature of a pair, a number of each release, is the one that tells the two inputs apart best.
For Laplace noise, it is how much nearer the release is to the first input than to the second, in
steps; for Gaussian noise, the sum of the noises, each weighted by its move over the square of its
scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing.exact_losses import laplace_tail
from tacit.auditing.gaussian import LEAST_STEPS, TailChances, discrete_epsilon_of, tails
from tacit.auditing.pairs import AuditedMechanism, Pair
from tacit.auditing.rules import GaussianNoise, LaplaceNoise, PrivateValue, Rule
from tacit.auditing.sampler_spy import laplace_loss, measure_moves
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.sums import Contributions, SumRelease

DELTA = 1e-5
"""The delta of the claims about Gaussian noise."""
_RARE = 1e-8
"""An event is tested only if its chance is above this under both inputs."""

Numbers = Sequence[Any]
"""A sequence of numbers, or of rows of numbers."""

_ROOT_OF_6 = math.sqrt(6)
"""A norm whose square, in floats, is slightly below 6: on a grid of whole numbers, a row of squared
norm 6 must be clipped to one of 5.
"""
_COARSE = 2.0**-3
"""Resolution of a grid on which the exact sum over integers is short."""


def laplace_pair(
    name: str,
    call: Callable[[NDArray[Any]], ArrayLike],
    a: Numbers,
    b: Numbers,
    *,
    distance: float,
    sample_divisor: int,
    at_once: bool = False,
    draws_its_own_noise: bool = False,
) -> Pair:
    """Make a pair of inputs of a mechanism with Laplace noise.

    Args:
        name: Name of the pair.
        call: The mechanism.
        a: The first input.
        b: The second input.
        distance: Largest L1 distance of all neighbouring inputs, in steps, for the rule engine.
        sample_divisor: As in `Pair`.
        at_once: As in `Pair`.
        draws_its_own_noise: As in `Pair`.
    """
    first = np.array(a, dtype=np.float64)
    second = np.array(b, dtype=np.float64)
    moves = measure_moves(call, first, second)
    is_moved = moves.steps != 0
    steps = np.abs(moves.steps[is_moved])
    scales = moves.scales[is_moved]
    # A move goes from the second input's centre to the first's.
    # Under the first input, the feature has its largest value if each noise is at least 0 in the
    # direction of its move; under the second input, if each noise is at least as large as its move.
    largest_value = int(steps.sum())
    chance_in_first = float(laplace_tail(np.zeros_like(steps), scales).prod())
    chance_in_second = float(laplace_tail(steps, scales).prod())

    def distance_difference(releases: NDArray[Any]) -> NDArray[np.float64]:
        """Return for releases (n, ...) how much nearer each is to the first input, in steps."""
        noises = moves.noises(releases)
        return np.asarray((np.abs(noises) - np.abs(noises - moves.steps)).sum(axis=1))

    rule: Rule = PrivateValue()
    if not moves.is_unprotected:
        rule = LaplaceNoise(distance, float(moves.scales.min()))
    return Pair(
        name,
        lambda data, _source: call(data),
        first,
        second,
        exact=laplace_loss(moves),
        chances=({largest_value: chance_in_first}, {largest_value: chance_in_second}),
        feature=distance_difference,
        sample_divisor=sample_divisor,
        at_once=at_once,
        draws_its_own_noise=draws_its_own_noise,
        rule=rule,
    )


def gaussian_pair(
    name: str,
    call: Callable[[NDArray[Any]], ArrayLike],
    a: Numbers,
    b: Numbers,
    *,
    sample_divisor: int,
    at_once: bool = False,
) -> Pair:
    """Make a pair of inputs of a mechanism with Gaussian noise.

    If the grid is fine, so that the noise can be treated as continuous, the pair is audited by mu,
    the distance of the inputs in units of sigma; on a coarse grid by the exact chances of events.

    Args:
        name: Name of the pair.
        call: The mechanism.
        a: The first input.
        b: The second input.
        sample_divisor: As in `Pair`.
        at_once: As in `Pair`.
    """
    first = np.array(a, dtype=np.float64)
    second = np.array(b, dtype=np.float64)
    moves = measure_moves(call, first, second)
    mu = math.sqrt(float(((moves.steps / moves.scales) ** 2).sum()))
    weights = moves.steps / moves.scales**2
    smallest_sigma = float(moves.scales[moves.steps != 0].min(initial=math.inf))
    is_fine = smallest_sigma >= LEAST_STEPS
    steps = moves.steps.tolist()
    sigmas = moves.scales.tolist()
    exact = math.inf
    rule: Rule = PrivateValue()
    if not moves.is_unprotected:
        exact = discrete_epsilon_of(steps, sigmas, DELTA)
        rule = GaussianNoise(mu, DELTA)
    return Pair(
        name,
        lambda data, _source: call(data),
        first,
        second,
        exact=exact,
        chances=({}, {}) if is_fine else _event_chances(tails(steps, sigmas)),
        at_least=True,
        feature=lambda releases: np.asarray(np.round(moves.noises(releases) @ weights, 9)),
        sample_divisor=sample_divisor,
        at_once=at_once,
        mu=mu if is_fine else None,
        sigma_in_steps=smallest_sigma,
        rule=rule,
    )


def _event_chances(tests: TailChances) -> tuple[dict[float, float], dict[float, float]]:
    """Return the chances of values at or above each threshold, under the first and second input.

    A threshold is left out if, under one of the inputs, such values are too rare or certain.
    """
    p = tests.moved
    q = tests.unmoved
    is_useful = (p > _RARE) & (q > _RARE) & (p < 1) & (q < 1)
    thresholds = tests.thresholds[is_useful].tolist()
    first = dict(zip(thresholds, p[is_useful].tolist(), strict=True))
    second = dict(zip(thresholds, q[is_useful].tolist(), strict=True))
    return first, second


def _release_on_grid(
    release_class: Any, noise: float, step: float, settings: dict[str, Any]
) -> Any:
    """Make a release of numbers from -8 to 8, with sensitivity 1 and `step` as resolution.

    Args:
        release_class: Class of the release.
        noise: Its first field: epsilon, or the noise multiplier.
        step: The resolution.
        settings: Fields that replace these values, and further fields.
    """
    defaults = {"sensitivity": 1.0, "lower": -8, "upper": 8, "resolution": step}
    return release_class(noise, **(defaults | settings))


def laplace_release(epsilon: float) -> AuditedMechanism:
    """Make the audit of `LaplaceRelease`."""

    def pair(name: str, a: Numbers, b: Numbers, sample_divisor: int = 200, **settings: Any) -> Pair:
        """Make a pair of inputs `a` and `b` of a release with these settings."""
        release = _release_on_grid(LaplaceRelease, epsilon, 1.0, settings)
        distance = release.grid.distance(release.sensitivity, release.changes)
        return laplace_pair(
            name, release, a, b, distance=distance, sample_divisor=sample_divisor, at_once=True
        )

    pairs = (
        pair("one step", [1], [0], sample_divisor=8),
        pair("at the lower bound", [-8], [-7]),
        pair("clamped", [100], [7]),
        pair("off the grid", [0.3], [0.0], sensitivity=0.3, resolution=0.25),
        pair("one of five", [1, 2, 3, 4, 5], [1, 2, 4, 4, 5]),
        pair("three change", [1, 0, -1], [0, 1, 0], sensitivity=3.0, changes=3),
        pair("three round down", [0.9] * 3, [1.0] * 3, sensitivity=0.3, changes=3),
        pair("fine grid", [0.5], [0.0], sensitivity=0.5, resolution=2.0**-10),
    )
    return AuditedMechanism("laplace", "number", "as far apart as the sensitivity", epsilon, pairs)


def gaussian_release(noise_multiplier: float = 1.0) -> AuditedMechanism:
    """Make the audit of `GaussianRelease`."""

    def pair(name: str, a: Numbers, b: Numbers, sample_divisor: int = 200, **settings: Any) -> Pair:
        """Make a pair of inputs `a` and `b` of a release with these settings."""
        release = _release_on_grid(GaussianRelease, noise_multiplier, 2.0**-8, settings)
        return gaussian_pair(name, release, a, b, sample_divisor=sample_divisor, at_once=True)

    pairs = (
        pair("one apart", [1], [0], sample_divisor=10),
        pair("at the lower bound", [-8], [-7]),
        pair("clamped", [100], [7]),
        pair("grid of one step", [1], [0], resolution=1.0),
        pair("one of three", [1, 2, 3], [1, 3, 3]),
        pair("four change", [1, 0, 1, 2], [0, 1, 2, 1], sensitivity=2.0, changes=4),
        pair("four round down", [0.99] * 4, [1.0] * 4, sensitivity=0.02, resolution=1.0, changes=4),
    )
    release_of_steps = GaussianRelease(
        noise_multiplier, sensitivity=1, lower=-8, upper=8, resolution=1
    )
    cost = ZCDPAccountant().add(release_of_steps.event)
    adjacency = "as far apart as the sensitivity"
    return AuditedMechanism(
        "gaussian", "number", adjacency, cost.epsilon(DELTA), pairs, delta=DELTA
    )


def gram_release(noise_multiplier: float = 1.0) -> AuditedMechanism:
    """Make the audit of `GramRelease`."""

    def pair(
        name: str, a: Numbers, b: Numbers, sample_divisor: int = 1_000, **settings: Any
    ) -> Pair:
        """Make a pair of matrices (people, items) `a` and `b` of a release with these settings."""
        defaults = {"items": 2, "resolution": _COARSE}
        release = GramRelease(noise_multiplier, **(defaults | settings))
        return gaussian_pair(name, release, a, b, sample_divisor=sample_divisor)

    half = math.sqrt(0.5)
    pairs = (
        pair("both items alike", [[half, half]], [[0, 0]], sample_divisor=200),
        pair("one item", [[1, 0]], [[0, 0]]),
        pair("clipped", [[30, -40]], [[0, 0]]),
        pair("clipped in integers", [[1, 1, 2]], [[0] * 3], items=3, norm=_ROOT_OF_6, resolution=1),
        pair("among others", [[0.5, 0.5, 0.5], [1, 0, 0]], [[0, 0, 0], [1, 0, 0]], items=3),
    )
    cost = ZCDPAccountant().add(GramRelease(noise_multiplier, 2).event)
    return AuditedMechanism(
        "gram", "person", "comes or goes", cost.epsilon(DELTA), pairs, delta=DELTA
    )


def sum_release(noise_multiplier: float = 1.0) -> AuditedMechanism:
    """Make the audit of `SumRelease`.

    Inputs are (people, rows, width) tables; a person whose table is zero contributes nothing.
    """

    def pair(
        name: str, a: list[Any], b: list[Any], sample_divisor: int = 1_000, **settings: Any
    ) -> Pair:
        """Make a pair of tables `a` and `b` of a release with these settings."""
        _, rows, width = np.array(a).shape
        defaults = {"rows": rows, "width": width, "resolution": _COARSE}
        release = SumRelease(noise_multiplier, **(defaults | settings))
        return gaussian_pair(
            name, lambda table: release(_blocks(table)), a, b, sample_divisor=sample_divisor
        )

    contribution = [[0.5], [-0.5]]
    no_contribution = [[0], [0]]
    pairs = (
        pair("one place", [[[1.0]]], [[[0]]], sample_divisor=100, resolution=2.0**-6),
        pair("one place, coarse", [[[1.0]]], [[[0]]]),
        pair("several places", [[[0.5]] * 4], [[[0]] * 4]),
        pair("two wide", [[[0.5, -0.5], [0.5, 0.5]]], [[[0, 0], [0, 0]]]),
        pair("too long", [[[30], [0], [-40]]], [[[0], [0], [0]]]),
        pair("too long, two wide", [[[3, 4], [12, 0]]], [[[0, 0], [0, 0]]]),
        pair("too long in integers", [[[1], [1], [2]]], [[[0]] * 3], norm=_ROOT_OF_6, resolution=1),
        pair(
            "the middle one leaves",
            [contribution] * 3,
            [contribution, no_contribution, contribution],
        ),
    )
    cost = ZCDPAccountant().add(SumRelease(noise_multiplier, 1).event)
    return AuditedMechanism(
        "sums", "person", "comes or goes", cost.epsilon(DELTA), pairs, delta=DELTA
    )


def _blocks(tables: NDArray[np.float64]) -> list[Contributions]:
    """Convert tables (people, rows, width) to a block of contributions for each person."""
    blocks = []
    for person, entries in enumerate(tables):
        places = np.flatnonzero(entries.any(axis=1))
        blocks.append(Contributions(np.full(len(places), person), places, entries[places]))
    return blocks
