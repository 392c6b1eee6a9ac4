"""The cosine of two items' ratings, with noise that shrinks as the ratings become many.

Source       Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis
             (STOC 2007), for noise by the data at hand; Asi and Duchi: Instance-optimality in
             differential privacy via approximate inverse sensitivity mechanisms (NeurIPS 2020),
             for the way used here, which needs no delta.
Guarantee    epsilon for one cosine under add/remove of one person with both their ratings
             (docs/mechanisms/cosine.md has the proof); replacing them costs twice that.
Sensitivity  none is asked for: ratings are clamped to [-bound, bound]. If they are centred, then by
             the person's own or a public mean.
Sampler      our own exponential mechanism, exact on integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event
from tacit.errors import DataError
from tacit.mechanisms.grid import whole
from tacit.mechanisms.parameters import check_epsilon, check_whole
from tacit.mechanisms.selection import Selection
from tacit.randomness import Source

_UNIT = 1 << 40  # cosines and their changes are compared in integers of 2**-40
_FAR = 1 << 14  # changes counted at most; beyond, an output is about equally unlikely


@dataclass(frozen=True)
class CosineRelease:
    """One of the cosines -1, -1 + 1 / m, ..., 1, likelier the fewer people it takes to get there.

    epsilon: nats for one cosine, or inf for the exact one. bound: the largest rating in whole
    steps, such as half stars around a mean. halves: m.
    """

    epsilon: float
    bound: int
    halves: int = 500

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("bound", self.bound, least=1, most=1 << 10)
        check_whole("halves", self.halves, least=1, most=1 << 16)

    @cached_property
    def _selection(self) -> Selection:
        return Selection(self.epsilon, 2 * self.halves + 1, 1.0, float(-_FAR), 0.0, 1.0)

    @property
    def event(self) -> Event:
        """What ONE cosine costs."""
        return self._selection.event

    def __call__(self, ratings: ArrayLike, source: Source) -> float:
        """Two rows of whole numbers (2, people), zero where a person has not rated."""
        pair = rating_pair(ratings)
        if math.isinf(self.epsilon):
            return cosine(pair)
        chosen = int(self._selection(-self.changes(pair), source))
        return (chosen - self.halves) / self.halves

    def changes(self, ratings: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each output, how many people must come or go, at least, to make it the cosine.

        It moves by at most one if one person comes or goes.
        """
        pair = np.clip(ratings, -self.bound, self.bound)
        here = round(cosine(pair) * _UNIT)
        outputs = np.arange(-self.halves, self.halves + 1) * _UNIT // self.halves
        return np.searchsorted(self._reach(pair), np.abs(outputs - here)).astype(np.int64)

    def _reach(self, pair: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far k people can move the cosine, at most, for k = 0, 1, ...; in units."""
        steps = np.minimum(turns(pair, self.bound, _FAR), 2.0)
        # 2 units more cover the rounding of two cosines to units.
        units = np.ceil(steps * _UNIT).astype(np.int64) + 2
        return np.concatenate([[0], np.cumsum(units)])


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
