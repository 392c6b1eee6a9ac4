"""Pairs for cosines with noise whose scale follows the data.

It is proved to tell no more than its delta. Its exact loss compares the two noises that the
running code asks for, centre and scale, at delta. The rule holds them against the proof: half of
epsilon for the centre, half for the scale. On no small pair both halves are used up, so the rule
refuses too little noise where the loss cannot. The grey-box audit leaves the draws out: that the
scale differs is what the proof is about.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacit.auditing.bench import Pair, Subject
from tacit.auditing.rules import Following
from tacit.auditing.sampler_spy import tapped
from tacit.auditing.shipped_noise import thinned
from tacit.mechanisms.cosine import SmoothCosineRelease

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
    ks, p, q = _chances(a, b)
    return Pair(
        name,
        lambda ratings, _: release(ratings),
        people,
        person,
        _epsilon_of(p, q, release.delta),
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


def _chances(
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


def _epsilon_of(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> float:
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
