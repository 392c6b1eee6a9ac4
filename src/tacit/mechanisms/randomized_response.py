"""Bit release and k-ary randomized response: the truth with a stated chance, or else a lie.

Source       Warner: Randomized response (JASA 1965). Kairouz, Oh, Viswanath: Extremal mechanisms
             for local differential privacy (NeurIPS 2014): no other answer is more useful at the
             same epsilon when there are two answers, or k of them at a large epsilon.
Guarantee    epsilon for one answer, whatever the true values are. The chance of the truth is
             e^epsilon / (e^epsilon + k - 1) rounded DOWN to a multiple of 2^-53, so the real
             loss never exceeds epsilon, and the event states the chance that is really used.
Sensitivity  none: any two values may be neighbours. Who may be replaced by whom is the caller's;
             n answers about one person cost n times epsilon.
Sampler      our own, integers only: a uniform 53-bit integer against a threshold, and for k > 2 a
             uniform integer below k - 1 that names the lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event, NonPrivate, RandomizedResponse
from tacit.errors import DataError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.weights import truth_below
from tacit.randomness import Source, bernoulli, integers_below

_BITS = 53
"""Bits of a chance: every multiple of 2**-53 is a float, so that the event's chance is exact."""
MOST_CATEGORIES = 1 << 20
"""Largest number of possible answers."""


@dataclass(frozen=True)
class KaryResponse:
    """Answers in {0, ..., categories - 1}; every lie is equally likely."""

    epsilon: float
    """Loss of one answer, in nats; inf releases the truth."""
    categories: int
    """Number of possible answers: from the question, not from the answers that occur."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("categories", self.categories, least=2, most=MOST_CATEGORIES)

    @cached_property
    def truth(self) -> Fraction:
        """The exact chance of the true answer."""
        if math.isinf(self.epsilon):
            return Fraction(1)
        return Fraction(truth_below(self.epsilon, self.categories, _BITS), 1 << _BITS)

    @property
    def event(self) -> Event:
        """The cost of ONE answer."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return RandomizedResponse(self.categories, float(self.truth))

    def __call__(self, values: ArrayLike, source: Source) -> NDArray[np.int64]:
        """Answer for each entry with its own randomness; same shape as `values`.

        Raises:
            DataError: A value is no integer from 0 to categories - 1.
        """
        true = answers_below(values, self.categories)
        if math.isinf(self.epsilon):
            return true
        # Both draws are made for every entry, so that the time does not tell who lied.
        shift = integers_below(source, self.categories - 1, true.size).reshape(true.shape) + 1
        honest = self.draw_honesty(true.shape, source)
        return (true + np.where(honest, 0, shift)) % self.categories

    def draw_honesty(self, shape: tuple[int, ...], source: Source) -> NDArray[np.bool_]:
        """Draw for each entry of an array whether its answer is the truth."""
        chance = np.broadcast_to(np.int64(self.truth * (1 << _BITS)), shape)
        return bernoulli(source, chance, 1 << _BITS)


@dataclass(frozen=True)
class BitRelease:
    """Bits, each released as it is or flipped."""

    epsilon: float
    """Loss of one bit, in nats; inf releases the truth."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @cached_property
    def _response(self) -> KaryResponse:
        return KaryResponse(self.epsilon, 2)

    @property
    def truth(self) -> Fraction:
        """The exact chance that a bit is released as it is."""
        return self._response.truth

    @property
    def event(self) -> Event:
        """The cost of ONE bit."""
        return self._response.event

    def __call__(self, bits: ArrayLike, source: Source) -> NDArray[np.bool_]:
        """Release bits (0 and 1, or booleans) of any shape; each is flipped on its own.

        Raises:
            DataError: A value is no bit.
        """
        given = np.asarray(bits)
        true = given if given.dtype == np.bool_ else answers_below(given, 2).astype(np.bool_)
        if math.isinf(self.epsilon):
            return true.copy()
        return ~(true ^ self._response.draw_honesty(true.shape, source))


def answers_below(values: ArrayLike, bound: int) -> NDArray[np.int64]:
    """Return a copy of `values` as integers in [0, bound).

    Raises:
        DataError: A value is none of these. The sentence does not repeat it.
    """
    given = np.asarray(values)
    if given.dtype == np.bool_:
        return given.astype(np.int64)
    numeric = np.issubdtype(given.dtype, np.integer) or np.issubdtype(given.dtype, np.floating)
    # A comparison with NaN is false, and infinity is not below anything.
    if not (numeric and np.all((given >= 0) & (given < bound)) and np.all(given == given // 1)):
        raise DataError(
            "an answer is not one of those asked for",
            expected=f"whole numbers from 0 to {bound - 1}, no NaN and no infinity",
            fix="Nothing was released.",
        )
    return given.astype(np.int64)
