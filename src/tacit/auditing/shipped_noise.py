"""Pairs for mechanisms that add noise to numbers or to whole tables, to which a person adds rows.

Moves and scales are read from running code. Claims of Gaussian noise are those of zCDP, which are
the same on every grid; on fine ones the event costs less.

The feature of a Laplace pair is the ideal auditor's: how much nearer the noises are to the one
input than to the other. Of Gaussian noise it is the sum of noises weighted by their moves.

Pairs for cosines with noise whose scale follows the data.

It is proved to tell no more than its delta. Its exact loss compares the two noises that the
running code asks for, centre and scale, at delta. The rule holds them against the proof: half of
epsilon for the centre, half for the scale. On no small pair both halves are used up, so the rule
refuses too little noise where the loss cannot. The grey-box audit leaves the draws out: that the
scale differs is what the proof is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from tacit.accounting.concentrated import ZCDPAccountant
from tacit.auditing.bench import Chances, Pair, Subject, laplace_at_least
from tacit.auditing.gaussian import LEAST_STEPS, discrete_epsilon_of, tails
from tacit.auditing.rules import Following, Gauss, Noised, Private, Rule
from tacit.auditing.sampler_spy import Moves, laplace_loss, moves, tapped
from tacit.mechanisms.cosine import SmoothCosineRelease
from tacit.mechanisms.noise import GaussianRelease, LaplaceRelease
from tacit.mechanisms.sums import Contributions, GramRelease, SumRelease

DELTA = 1e-5
_RARE, _THRESHOLDS = 1e-8, 300

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
    untapped: bool = False,
) -> Pair:
    """distance: L1, of all neighbours, before noise; an input of the rule."""
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    moved = moves(call, first, second)
    whole = int(np.abs(moved.steps).sum())
    taken = moved.steps != 0
    reached = [
        float(laplace_at_least(np.abs(moved.steps[taken]) * far, moved.scales[taken]).prod())
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
    asked = (moved.steps.tolist(), moved.scales.tolist())
    return Pair(
        name,
        lambda data, _: call(data),
        first,
        second,
        math.inf if moved.bare else discrete_epsilon_of(*asked, DELTA),
        ({}, {}) if fine else thinned(*tails(*asked)),
        at_least=True,
        feature=lambda releases: np.asarray(np.round(moved.noises(releases) @ weights, 9)),
        share=share,
        at_once=at_once,
        mu=mu if fine else None,
        sigma_in_steps=finest,
        rule=Private() if moved.bare else Gauss(mu, DELTA),
    )


def thinned(
    values: NDArray[Any], p: NDArray[np.float64], q: NDArray[np.float64]
) -> tuple[Chances, Chances]:
    """A few hundred of many thresholds: P(released >= each) under the two inputs, falling."""
    likely = np.flatnonzero((p > _RARE) & (q > _RARE) & (p < 1) & (q < 1))
    kept = np.unique(np.linspace(0, len(likely) - 1, _THRESHOLDS).astype(np.int64))
    few = likely[kept].tolist() if len(likely) else []
    return {values[k].item(): float(p[k]) for k in few}, {
        values[k].item(): float(q[k]) for k in few
    }


def _on_grid(kind: Any, noise: float, step: float, settings: dict[str, Any]) -> Any:
    """Of numbers from -8 to 8; the sensitivity is 1 if no other is given."""
    usual = {"sensitivity": 1.0, "lower": -8, "upper": 8, "resolution": step}
    return kind(noise, **(usual | settings))


def laplace_release(epsilon: float) -> Subject:
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
    return Subject("laplace", "number", "as far apart as the sensitivity", epsilon, pairs)


def gaussian_release(noise_multiplier: float = 1.0) -> Subject:
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
    return Subject("gaussian", "number", adjacent, claim.epsilon(DELTA), pairs, delta=DELTA)


def gram_release(noise_multiplier: float = 1.0) -> Subject:
    def pair(name: str, a: Numbers, b: Numbers, share: int = 1_000, **settings: Any) -> Pair:
        usual = {"items": 2, "resolution": _COARSE}
        release = GramRelease(noise_multiplier, **(usual | settings))
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
    return Subject("gram", "person", "comes or goes", claim.epsilon(DELTA), pairs, delta=DELTA)


def sum_release(noise_multiplier: float = 1.0) -> Subject:
    """Inputs are (people, rows, width); who contributes nothing at all is not there."""

    def pair(name: str, a: list[Any], b: list[Any], share: int = 1_000, **settings: Any) -> Pair:
        _, rows, width = np.array(a).shape
        usual = {"rows": rows, "width": width, "resolution": _COARSE}
        release = SumRelease(noise_multiplier, **(usual | settings))
        return gaussian_pair(name, lambda table: release(_blocks(table)), a, b, share=share)

    someone, nobody = [[0.5], [-0.5]], [[0], [0]]
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
    return Subject("sums", "person", "comes or goes", claim.epsilon(DELTA), pairs, delta=DELTA)


def _blocks(table: NDArray[np.float64]) -> list[Contributions]:
    """One block for each person, with the places to which they add something."""
    found = []
    for person, entries in enumerate(table):
        places = np.flatnonzero(entries.any(axis=1))
        found.append(Contributions(np.full(len(places), person), places, entries[places]))
    return found


_REACH = 60  # scales; beyond, less than 1e-25 is left
_MOST_LOSS = 100.0

Noise = tuple[int, float]
"""Centre and scale, in units."""


def smooth_cosine_release(epsilon: float, delta: float, halves: int) -> Subject:
    mixed = np.array([[1, 1, -1, 0], [1, -1, 1, 1]])

    def pair(name: str, people: Any, one: list[int], bound: int = 1, share: int = 1_000) -> Pair:
        release = SmoothCosineRelease(epsilon, delta, bound=bound, halves=halves)
        return smooth_pair(name, release, np.array(people), one, share=share)

    pairs = (
        pair("faint, then loud", [[1], [1]], [10, -10], bound=10, share=100),
        pair("opposite, then both for", [[1, 2], [-1, -2]], [2, 2], bound=2),
        pair("nobody, then one", np.zeros((2, 1), dtype=np.int64), [1, 1]),
        pair("two alike, then a third", [[1, 1], [1, 1]], [1, 1]),
        pair("forty alike, one against", np.ones((2, 40), dtype=np.int64), [1, -1]),
        pair("few and mixed", mixed, [-1, 1]),
        pair("one item only", mixed, [1, 0]),
        pair("clamped", np.ones((2, 8), dtype=np.int64), [7, -9]),
        pair("bound 2", np.full((2, 40), 2), [2, -2], bound=2),
        pair("one who rated little", [[2, 1, 1], [2, 0, 0]], [-2, 2], bound=2),
    )
    return Subject("smooth-cosine", "person", "comes or goes", epsilon, pairs, delta=delta)


def smooth_pair(
    name: str,
    release: SmoothCosineRelease,
    people: NDArray[np.int64],
    one: list[int],
    *,
    share: int = 500,
) -> Pair:
    """`people` (2, n) without and with one more."""
    person = np.hstack([people, np.array(one)[:, None]])
    a, b = (_asked(release, data) for data in (people, person))
    ks, p, q = noise_chances(a, b)
    return Pair(
        name,
        lambda ratings, _: release(ratings),
        people,
        person,
        epsilon_between(p, q, release.delta),
        thinned(ks, _at_least(p), _at_least(q)),
        at_least=True,
        feature=lambda cosines: np.asarray(np.rint(cosines * release.halves)),
        share=share,
        silent=True,
        rule=_followed(release, a, b),
    )


def _asked(release: SmoothCosineRelease, data: NDArray[Any]) -> Noise:
    with tapped() as heard:
        release(data)
    (asked,) = heard
    return int(asked.values[0]), asked.scale


def _followed(release: SmoothCosineRelease, a: Noise, b: Noise) -> Following:
    """As far as these two centres are apart; the scales as they are, or as rungs are."""
    small, large = sorted(scale for _, scale in (a, b))
    growth = max(large / small, float((release.scales[1:] / release.scales[:-1]).max()))
    return Following(abs(a[0] - b[0]), small, growth, release.delta)


def noise_chances(
    a: Noise, b: Noise
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The whole numbers that either noise may reach, and the chances of each."""
    reach = math.ceil(_REACH * max(a[1], b[1]))
    ks = np.arange(min(a[0], b[0]) - reach, max(a[0], b[0]) + reach + 1)
    p, q = (
        math.tanh(1 / (2 * scale)) * np.exp(-np.abs(ks - centre) / scale)
        for centre, scale in (a, b)
    )
    return ks, p, q


def epsilon_between(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> float:
    """The smallest epsilon at delta, the worse of the two directions; from 100 on infinite."""

    def over(epsilon: float) -> float:
        factor = math.exp(epsilon)
        sides = (p - factor * q, q - factor * p)
        return max(float(np.maximum(side, 0).sum()) for side in sides) - delta

    if over(0.0) <= 0:
        return 0.0
    if over(_MOST_LOSS) > 0:
        return math.inf
    return float(optimize.brentq(over, 0.0, _MOST_LOSS, xtol=1e-12))


def _at_least(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(released >= k)."""
    return np.asarray(np.minimum(np.cumsum(chances[::-1])[::-1], 1.0))
