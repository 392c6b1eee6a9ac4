"""Pairs for mechanisms that add noise to numbers or to whole tables, to which a person adds rows.

Moves and scales are read from running code. Claims of Gaussian noise are those of zCDP, which are
the same on every grid; on fine ones the event costs less.

The feature of a Laplace pair is the ideal auditor's: how much nearer the noises are to the one
input than to the other. Of Gaussian noise it is the sum of noises weighted by their moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing.exact_losses import laplace_tail
from tacit.auditing.gaussian import LEAST_STEPS, discrete_epsilon_of, tails
from tacit.auditing.pairs import AuditedMechanism, Pair
from tacit.auditing.rules import GaussianNoise, LaplaceNoise, PrivateValue
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.sums import Contributions, SumRelease

DELTA = 1e-5
_RARE = 1e-8

Numbers = Sequence[Any]
"""Of numbers, or of rows of numbers."""

_JUST_BELOW = math.sqrt(6)  # as a float: squared it is a trifle less than 6, so 5 whole squares fit
_COARSE = 2.0**-3  # a grid on which the exact sum over integers stays short


def laplace_pair(
    name: str,
    call: Callable[[NDArray[Any]], ArrayLike],
    a: Numbers,
    b: Numbers,
    *,
    distance: float,
    share: int,
    at_once: bool = False,
    own_noise: bool = False,
) -> Pair:
    """Make a pair under Laplace noise; the rule gets `distance`, in L1, of all neighbours."""
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    moved = moves(call, first, second)
    whole = int(np.abs(moved.steps).sum())
    taken = moved.steps != 0
    near, far = (
        float(laplace_tail(np.abs(moved.steps[taken]) * away, moved.scales[taken]).prod())
        for away in (0, 1)
    )

    def nearer(releases: NDArray[Any]) -> NDArray[np.float64]:
        """Measure how much nearer the noises are to one input, in steps; at most all moves."""
        noises = moved.noises(releases)
        return np.asarray((np.abs(noises) - np.abs(noises - moved.steps)).sum(axis=1))

    return Pair(
        name,
        lambda data, _: call(data),
        first,
        second,
        laplace_loss(moved),
        ({whole: near}, {whole: far}),
        feature=nearer,
        share=share,
        at_once=at_once,
        own_noise=own_noise,
        rule=PrivateValue() if moved.bare else LaplaceNoise(distance, float(moved.scales.min())),
    )


def gaussian_pair(
    name: str,
    call: Callable[[NDArray[Any]], ArrayLike],
    a: Numbers,
    b: Numbers,
    *,
    share: int,
    at_once: bool = False,
) -> Pair:
    """Make a pair under Gaussian noise: by mu where the grid is fine, else by events at delta."""
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    moved = moves(call, first, second)
    mu = math.sqrt(float(((moved.steps / moved.scales) ** 2).sum()))
    weights = moved.steps / moved.scales**2
    changed = moved.scales[moved.steps != 0]
    finest = float(changed.min(initial=math.inf))
    fine = finest >= LEAST_STEPS
    asked = (moved.steps.tolist(), moved.scales.tolist())
    return Pair(
        name,
        lambda data, _: call(data),
        first,
        second,
        math.inf if moved.bare else discrete_epsilon_of(*asked, DELTA),
        ({}, {}) if fine else _tail_chances(*tails(*asked)),
        at_least=True,
        feature=lambda releases: np.asarray(np.round(moved.noises(releases) @ weights, 9)),
        share=share,
        at_once=at_once,
        mu=mu if fine else None,
        sigma_in_steps=finest,
        rule=PrivateValue() if moved.bare else GaussianNoise(mu, DELTA),
    )


def _tail_chances(
    values: NDArray[Any], p: NDArray[np.float64], q: NDArray[np.float64]
) -> tuple[dict[float, float], dict[float, float]]:
    """Return P(released >= each value) under the two inputs, without values that tell nothing."""
    kept = (p > _RARE) & (q > _RARE) & (p < 1) & (q < 1)
    first, second = (
        dict(zip(values[kept].tolist(), side[kept].tolist(), strict=True)) for side in (p, q)
    )
    return first, second


def _on_grid(kind: Any, noise: float, step: float, settings: dict[str, Any]) -> Any:
    """Make a release of numbers from -8 to 8; the sensitivity is 1 if no other is given."""
    defaults = {"sensitivity": 1.0, "lower": -8, "upper": 8, "resolution": step}
    return kind(noise, **(defaults | settings))


def laplace_release(epsilon: float) -> AuditedMechanism:
    """Put Laplace noise under audit."""

    def pair(name: str, a: Numbers, b: Numbers, share: int = 200, **settings: Any) -> Pair:
        release = _on_grid(LaplaceRelease, epsilon, 1.0, settings)
        distance = release.grid.distance(release.sensitivity, release.changes)
        return laplace_pair(name, release, a, b, distance=distance, share=share, at_once=True)

    pairs = (
        pair("one step", [1], [0], share=8),
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
    """Put Gaussian noise under audit."""

    def pair(name: str, a: Numbers, b: Numbers, share: int = 200, **settings: Any) -> Pair:
        release = _on_grid(GaussianRelease, noise_multiplier, 2.0**-8, settings)
        return gaussian_pair(name, release, a, b, share=share, at_once=True)

    pairs = (
        pair("one apart", [1], [0], share=10),
        pair("at the lower bound", [-8], [-7]),
        pair("clamped", [100], [7]),
        pair("grid of one step", [1], [0], resolution=1.0),
        pair("one of three", [1, 2, 3], [1, 3, 3]),
        pair("four change", [1, 0, 1, 2], [0, 1, 2, 1], sensitivity=2.0, changes=4),
        pair("four round down", [0.99] * 4, [1.0] * 4, sensitivity=0.02, resolution=1.0, changes=4),
    )
    claim = ZCDPAccountant().add(GaussianRelease(noise_multiplier, 1, -8, 8, 1).event)
    adjacent = "as far apart as the sensitivity"
    return AuditedMechanism(
        "gaussian", "number", adjacent, claim.epsilon(DELTA), pairs, delta=DELTA
    )


def gram_release(noise_multiplier: float = 1.0) -> AuditedMechanism:
    """Put noisy products of items under audit."""

    def pair(name: str, a: Numbers, b: Numbers, share: int = 1_000, **settings: Any) -> Pair:
        defaults = {"items": 2, "resolution": _COARSE}
        release = GramRelease(noise_multiplier, **(defaults | settings))
        return gaussian_pair(name, release, a, b, share=share)

    half = math.sqrt(0.5)
    pairs = (
        pair("both items alike", [[half, half]], [[0, 0]], share=200),
        pair("one item", [[1, 0]], [[0, 0]]),
        pair("clipped", [[30, -40]], [[0, 0]]),
        pair(
            "clipped in integers", [[1, 1, 2]], [[0] * 3], items=3, norm=_JUST_BELOW, resolution=1
        ),
        pair("among others", [[0.5, 0.5, 0.5], [1, 0, 0]], [[0, 0, 0], [1, 0, 0]], items=3),
    )
    claim = ZCDPAccountant().add(GramRelease(noise_multiplier, 2).event)
    return AuditedMechanism(
        "gram", "person", "comes or goes", claim.epsilon(DELTA), pairs, delta=DELTA
    )


def sum_release(noise_multiplier: float = 1.0) -> AuditedMechanism:
    """Put noisy sums under audit: inputs are (people, rows, width); zeros alone are no one."""

    def pair(name: str, a: list[Any], b: list[Any], share: int = 1_000, **settings: Any) -> Pair:
        _, rows, width = np.array(a).shape
        defaults = {"rows": rows, "width": width, "resolution": _COARSE}
        release = SumRelease(noise_multiplier, **(defaults | settings))
        return gaussian_pair(name, lambda table: release(_blocks(table)), a, b, share=share)

    someone = [[0.5], [-0.5]]
    nobody = [[0], [0]]
    pairs = (
        pair("one place", [[[1.0]]], [[[0]]], share=100, resolution=2.0**-6),
        pair("one place, coarse", [[[1.0]]], [[[0]]]),
        pair("several places", [[[0.5]] * 4], [[[0]] * 4]),
        pair("two wide", [[[0.5, -0.5], [0.5, 0.5]]], [[[0, 0], [0, 0]]]),
        pair("too long", [[[30], [0], [-40]]], [[[0], [0], [0]]]),
        pair("too long, two wide", [[[3, 4], [12, 0]]], [[[0, 0], [0, 0]]]),
        pair(
            "too long in integers", [[[1], [1], [2]]], [[[0]] * 3], norm=_JUST_BELOW, resolution=1
        ),
        pair("the middle one leaves", [someone] * 3, [someone, nobody, someone]),
    )
    claim = ZCDPAccountant().add(SumRelease(noise_multiplier, 1).event)
    return AuditedMechanism(
        "sums", "person", "comes or goes", claim.epsilon(DELTA), pairs, delta=DELTA
    )


def _blocks(table: NDArray[np.float64]) -> list[Contributions]:
    """Make one block for each person, with the places to which they add something."""
    found = []
    for person, entries in enumerate(table):
        places = np.flatnonzero(entries.any(axis=1))
        found.append(Contributions(np.full(len(places), person), places, entries[places]))
    return found
