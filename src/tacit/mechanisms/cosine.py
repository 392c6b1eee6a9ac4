"""The cosine of two items' ratings with noise by smooth sensitivity.

Source       Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis
             (STOC 2007), for noise by the data at hand, which shrinks as the ratings become many.
Guarantee    (epsilon, delta), no pure epsilon, for one cosine under add/remove of one person with
             both their ratings (docs/mechanisms/smooth-cosine.md has the proof, for integers);
             replacing them costs twice that.
Sensitivity  none is asked for: ratings are clamped to [-bound, bound]. If they are centred, then by
             the person's own or a public mean.
Sampler      OpenDP's discrete Laplace on integers. Its scale follows the data, and is one of a
             public ladder of scales, on which one person moves it by at most one rung.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.base import MARGIN
from tacit.accounting.events import Event, NonPrivate, SmoothSensitivity
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.samplers import check_epsilon, check_whole, whole

_MOST_DELTA = 0.5  # the proof needs ln(2 / delta) >= 1
_LEAST_SHARE = 2.0**-14  # between two rungs; below, the ladder has hundreds of thousands
_MOST_SHARE = 2.0**10  # rungs may lie closer than they have to; no product of them overflows
_NEAREST = 2  # units by which one person moves a cosine at least, as it is bounded here


def rating_pair(ratings: ArrayLike) -> NDArray[np.int64]:
    """Two rows of whole numbers, refused if they are anything else."""
    pair = whole(ratings)
    if pair.ndim != 2 or len(pair) != 2:
        raise DataError("the ratings have another shape", expected="(2, people)")
    return pair


def turns(pair: NDArray[np.int64], bound: int, count: int) -> NDArray[np.float64]:
    """How far one more person can turn both rows after k went, k below `count`; 2 or more: round.

    Radians, or rather the tangents of the angles: larger, and made of operations whose rounding
    keeps their order, so that a longer row never seems to turn further.
    """
    gone = np.arange(1, count + 1) * bound**2  # k people less, squared lengths fall by this
    steps = np.zeros(count)
    for row in pair:
        left = int((row**2).sum()) - gone
        steps += np.where(left > 0, bound / np.sqrt(np.maximum(left, 1)), 2.0)
    return steps


def cosine(pair: NDArray[np.int64]) -> float:
    """0 where a row is zero. In floats, which hold these sums of whole numbers exactly."""
    one, other = pair.astype(np.float64)
    lengths = math.sqrt(one @ one) * math.sqrt(other @ other)
    return float(one @ other) / lengths if lengths > 0 else 0.0


@dataclass(frozen=True)
class SmoothCosineRelease:
    """The cosine plus noise, a multiple of 1 / halves, and not clamped to [-1, 1].

    epsilon: nats for one cosine, or inf for the exact one. delta: above 0, at most 1/2. bound: the
    largest rating in whole steps, such as half stars around a mean.
    """

    epsilon: float
    delta: float
    bound: int
    halves: int = 1 << 20

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0 < self.delta <= _MOST_DELTA:
            raise ConfigError(f"delta is above 0 and at most {_MOST_DELTA}; got {self.delta}.")
        check_whole("bound", self.bound, least=1, most=1 << 10)
        check_whole("halves", self.halves, least=1, most=1 << 30)
        if self.share < _LEAST_SHARE:
            raise ConfigError(
                f"At delta {self.delta:g}, epsilon is at least "
                f"{_LEAST_SHARE * 2 * math.log(2 / self.delta):.2g}; got {self.epsilon:g}."
            )

    @property
    def share(self) -> float:
        """By how much one person changes the scale at most: epsilon / (2 ln(2 / delta))."""
        return self.epsilon / (2 * math.log(2 / self.delta))

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """The ladder, in units: each scale is at most 1 + share times the one below it."""
        step = (1 + min(self.share, _MOST_SHARE)) * (
            1 - MARGIN
        )  # so that no rounded product is above
        lowest = 2 * _NEAREST / self.epsilon
        rungs = math.ceil(math.log(self.halves + 1) / math.log(step)) + 2
        ladder = np.multiply.accumulate(np.concatenate([[lowest], np.full(rungs, step)]))
        ladder.setflags(write=False)
        return ladder

    @cached_property
    def reaches(self) -> NDArray[np.float64]:
        """How many units a cosine may move at each scale: scale epsilon / 2, or a trifle less."""
        return self.scales * (self.epsilon / 2 * (1 - MARGIN))

    @property
    def event(self) -> Event:
        """What ONE cosine costs."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return SmoothSensitivity(self.epsilon, self.delta)

    def __call__(self, ratings: ArrayLike) -> float:
        """Two rows of whole numbers (2, people), zero where a person has not rated."""
        pair = rating_pair(ratings)
        if math.isinf(self.epsilon):
            return cosine(pair)
        clamped = np.clip(pair, -self.bound, self.bound)
        here = np.array([round(cosine(clamped) * self.halves)])
        noisy = samplers.discrete_laplace(here, float(self.scales[self.rung(clamped)]))
        return int(noisy[0]) / self.halves

    def rung(self, pair: NDArray[np.int64]) -> int:
        """Of the ladder, for clamped ratings. It moves by at most one if one person comes or goes.

        The largest over k of: the rung that one person more or less needs after k others went,
        less k.
        """
        count = len(self.scales)
        moves = np.minimum(turns(pair, self.bound, count), 2.0) * self.halves
        needed = np.searchsorted(self.reaches, np.ceil(moves) + 1)
        return int((needed - np.arange(count)).max())
