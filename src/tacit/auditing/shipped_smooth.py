"""Pairs for noise whose scale follows the data, and is proved to tell no more than its delta.

The exact loss compares the two noises that the running code asks for, centre and scale, at delta.
The grey-box audit leaves the draws out: that the scale differs is what the proof is about.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacit.auditing.bench import Chances, Pair, Subject
from tacit.auditing.tap import tapped
from tacit.mechanisms.smooth_cosine import SmoothCosineRelease

_DELTA = 1e-5
_REACH = 60  # scales; beyond, less than 1e-25 is left


def smooth_cosine_release(epsilon: float) -> Subject:
    alike = np.ones((2, 40), dtype=np.int64)
    mixed = np.array([[1, 1, -1, 0], [1, -1, 1, 1]])

    def pair(
        name: str, people: NDArray[Any], one: list[int], bound: int = 1, share: int = 500
    ) -> Pair:
        release = SmoothCosineRelease(epsilon, _DELTA, bound=bound, halves=64)
        person = np.hstack([people, np.array(one)[:, None]])
        p, q = _two_noises([_asked(release, data) for data in (people, person)])
        return Pair(
            name,
            lambda ratings, _: release(ratings),
            people,
            person,
            _epsilon_of(p, q),
            (_tails(p), _tails(q)),
            feature=lambda cosines: np.asarray(np.rint(cosines * 64)),
            share=share,
            silent=True,
        )

    pairs = (
        pair("nobody, then one", np.zeros((2, 1), dtype=np.int64), [1, 1], share=50),
        pair("forty alike, one against", alike, [1, -1]),
        pair("few and mixed", mixed, [-1, 1]),
        pair("one item only", mixed, [1, 0]),
        pair("clamped", alike[:, :8], [7, -9]),
        pair("bound 2", 2 * alike, [2, -2], bound=2),
    )
    return Subject("smooth-cosine", "person", "comes or goes", epsilon, pairs, delta=_DELTA)


def _asked(release: SmoothCosineRelease, data: NDArray[Any]) -> tuple[int, float]:
    with tapped() as heard:
        release(data)
    (asked,) = heard
    return int(asked.values[0]), asked.scale


def _two_noises(
    asked: list[tuple[int, float]],
) -> tuple[dict[int, float], dict[int, float]]:
    reach = math.ceil(_REACH * max(scale for _, scale in asked))
    ks = np.arange(-reach, reach + 1)
    found = []
    for centre, scale in asked:
        step = math.exp(-1 / scale)
        chances = (1 - step) / (1 + step) * np.exp(-np.abs(ks - centre) / scale)
        found.append(dict(zip(ks.tolist(), chances.tolist(), strict=True)))
    return found[0], found[1]


def _epsilon_of(p: dict[int, float], q: dict[int, float]) -> float:
    """The smallest epsilon at delta, the worse of the two directions."""
    one, other = np.array(list(p.values())), np.array(list(q.values()))

    def over(epsilon: float) -> float:
        factor = math.exp(epsilon)
        sides = (one - factor * other, other - factor * one)
        return max(float(np.maximum(side, 0).sum()) for side in sides) - _DELTA

    return 0.0 if over(0.0) <= 0 else float(optimize.brentq(over, 0.0, 100.0, xtol=1e-12))


def _tails(chances: dict[int, float]) -> Chances:
    """P(released >= k)."""
    reached = np.cumsum(list(chances.values())[::-1])[::-1]
    return dict(zip(chances, np.minimum(reached, 1.0).tolist(), strict=True))
