"""Pairs for mechanisms that add noise to numbers; moves and scales are read from running code.

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
from tacit.auditing import exact_gaussian
from tacit.auditing.bench import Chances, Pair, Subject
from tacit.auditing.gaussian import LEAST_STEPS
from tacit.auditing.noiseless_sensitivity import Moves, laplace_loss, moves
from tacit.auditing.rules import Gauss, Noised, Private, Rule
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.laplace import LaplaceRelease

DELTA = 1e-5
_RARE, _THRESHOLDS = 1e-8, 300

Numbers = Sequence[float] | Sequence[Sequence[float]]


def laplace_pair(
    name: str,
    call: Callable[[NDArray[Any]], ArrayLike],
    a: Numbers,
    b: Numbers,
    *,
    distance: float,
    share: int,
    at_once: bool = False,
    untapped: bool = False,
) -> Pair:
    """distance: L1, of all neighbours, before noise; an input of the rule."""
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    moved = moves(call, first, second)
    whole = int(np.abs(moved.steps).sum())
    reached = [
        math.prod(
            laplace_reaches(scale, abs(step) * far)
            for step, scale in zip(moved.steps.tolist(), moved.scales, strict=True)
            if step
        )
        for far in (0, 1)
    ]
    return Pair(
        name,
        lambda data, _: call(data),
        first,
        second,
        laplace_loss(moved),
        ({whole: reached[0]}, {whole: reached[1]}),
        feature=lambda releases: _nearer(moved, releases),
        share=share,
        at_once=at_once,
        untapped=untapped,
        rule=_noised(moved, distance),
    )


def _nearer(moved: Moves, releases: NDArray[Any]) -> NDArray[np.float64]:
    """In steps; at most the sum of all moves, where every noise is at or beyond its move."""
    noises = moved.noises(releases)
    return np.asarray((np.abs(noises) - np.abs(noises - moved.steps)).sum(axis=1))


def _noised(moved: Moves, distance: float) -> Rule:
    return Private() if moved.bare else Noised(distance, float(moved.scales.min()))


def laplace_reaches(scale: float, k: int) -> float:
    """P(noise >= k) of discrete Laplace noise; k is 0 or more."""
    return math.exp(-k / scale) / (1 + math.exp(-1 / scale))


def gaussian_pair(
    name: str,
    call: Callable[[NDArray[Any]], ArrayLike],
    a: Numbers,
    b: Numbers,
    *,
    share: int,
    at_once: bool = False,
) -> Pair:
    """By error rates and mu where the grid is fine, by events at delta where it is not."""
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    moved = moves(call, first, second)
    mu = math.sqrt(float(((moved.steps / moved.scales) ** 2).sum()))
    weights = moved.steps / moved.scales**2
    changed = moved.scales[moved.steps != 0]
    finest = float(changed.min(initial=math.inf))
    fine = finest >= LEAST_STEPS
    return Pair(
        name,
        lambda data, _: call(data),
        first,
        second,
        math.inf
        if moved.bare
        else exact_gaussian.epsilon_of(moved.steps.tolist(), moved.scales.tolist(), DELTA),
        ({}, {}) if fine else _tails(moved),
        feature=lambda releases: np.asarray(np.round(moved.noises(releases) @ weights, 9)),
        share=share,
        at_once=at_once,
        mu=mu if fine else None,
        sigma_in_steps=finest,
        rule=Private() if moved.bare else Gauss(mu, DELTA),
    )


def _tails(moved: Moves) -> tuple[Chances, Chances]:
    """Of the noises weighted by their moves, at some of the values that samples reach."""
    both = exact_gaussian.tails(moved.steps.tolist(), moved.scales.tolist())
    return thinned(*both)


def thinned(p: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[Chances, Chances]:
    """A few hundred of many thresholds: P(released >= each) under the two inputs, falling."""
    likely = np.flatnonzero((p > _RARE) & (q > _RARE) & (p < 1) & (q < 1))
    kept = np.unique(np.linspace(0, len(likely) - 1, _THRESHOLDS).astype(np.int64))
    few = likely[kept].tolist() if len(likely) else []
    return {k: float(p[k]) for k in few}, {k: float(q[k]) for k in few}


def laplace_release(epsilon: float) -> Subject:
    def pair(
        name: str,
        a: list[float],
        b: list[float],
        share: int = 200,
        sensitivity: float = 1.0,
        resolution: float = 1.0,
        changes: int = 1,
    ) -> Pair:
        release = LaplaceRelease(epsilon, sensitivity, -8, 8, resolution, changes)
        distance = release.grid.distance(sensitivity, changes)
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
    return Subject("laplace", "number", "as far apart as the sensitivity", epsilon, pairs)


def gaussian_release(noise_multiplier: float = 1.0) -> Subject:
    def pair(
        name: str,
        a: list[float],
        b: list[float],
        share: int = 200,
        sensitivity: float = 1.0,
        resolution: float = 2.0**-8,
        changes: int = 1,
    ) -> Pair:
        release = GaussianRelease(noise_multiplier, sensitivity, -8, 8, resolution, changes)
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
    return Subject(
        "gaussian",
        "number",
        "as far apart as the sensitivity",
        claim.epsilon(DELTA),
        pairs,
        delta=DELTA,
    )
