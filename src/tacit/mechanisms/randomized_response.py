"""Randomized response for bits and for k answers: the truth with a stated chance, otherwise a lie.

Source       Warner: Randomized response (JASA 1965). Kairouz, Oh, Viswanath: Extremal mechanisms
             for local differential privacy (NeurIPS 2014): no other mechanism is more useful at
             the same epsilon for two answers, or for k answers if epsilon is large.
Guarantee    epsilon for one answer, whatever the true values are. The chance of the truth is
             e^epsilon / (e^epsilon + k - 1) rounded DOWN to a multiple of 2^-53, so the real
             loss never exceeds epsilon, and the event states the rounded chance.
Sensitivity  no assumption: any two values may be neighbours. n answers about one person cost n
             times epsilon.
Sampler      our own, integers only: a uniform 53-bit integer is compared with a threshold, and for
             k > 2 a uniform integer below k - 1 chooses the lie.
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
from tacit.mechanisms.weights import truth_numerator
from tacit.randomness import Source, bernoulli, integers_below

_BITS = 53
"""The chance of the truth is a multiple of 2**-53. Floats hold these exactly, as the event must."""
MOST_CATEGORIES = 1 << 20
"""Largest number of possible answers."""


@dataclass(frozen=True)
class KaryResponse:
    """Release of answers from 0 to categories - 1; all lies are equally likely."""

    epsilon: float
    """Loss of one answer, in nats; inf releases the truth."""
    categories: int
    """Number of possible answers. The question must determine it, not the answers that occur."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("categories", self.categories, least=2, most=MOST_CATEGORIES)

    @cached_property
    def truth(self) -> Fraction:
        """The exact chance of the true answer."""
        if math.isinf(self.epsilon):
            return Fraction(1)
        return Fraction(truth_numerator(self.epsilon, self.categories, _BITS), 1 << _BITS)

    @property
    def event(self) -> Event:
        """The cost of ONE answer."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return RandomizedResponse(self.categories, float(self.truth))

    def __call__(self, values: ArrayLike, source: Source) -> NDArray[np.int64]:
        """Release an answer for each value, each with its own randomness; same shape.

        Raises:
            DataError: A value is not an integer from 0 to categories - 1.
        """
        truths = to_answers(values, self.categories)
        if math.isinf(self.epsilon):
            return truths
        # Both draws are made for each entry, so that the time does not reveal who lied. A lie is
        # the truth shifted by 1 to categories - 1, modulo categories.
        shifts = integers_below(source, self.categories - 1, truths.size).reshape(truths.shape) + 1
        is_honest = self.draw_honesty(truths.shape, source)
        return (truths + np.where(is_honest, 0, shifts)) % self.categories

    def draw_honesty(self, shape: tuple[int, ...], source: Source) -> NDArray[np.bool_]:
        """Draw for each answer of an array of this shape whether it is the truth."""
        numerators = np.broadcast_to(np.int64(self.truth * (1 << _BITS)), shape)
        return bernoulli(source, numerators, 1 << _BITS)


@dataclass(frozen=True)
class BitRelease:
    """Release of bits, each either true or flipped."""

    epsilon: float
    """Loss of one bit, in nats; inf releases the truth."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @cached_property
    def _response(self) -> KaryResponse:
        """Randomized response with two answers, which draws the bits."""
        return KaryResponse(self.epsilon, 2)

    @property
    def truth(self) -> Fraction:
        """The exact chance that a bit is released as it is, not flipped."""
        return self._response.truth

    @property
    def event(self) -> Event:
        """The cost of ONE bit."""
        return self._response.event

    def __call__(self, bits: ArrayLike, source: Source) -> NDArray[np.bool_]:
        """Release bits (0 and 1, or booleans) of any shape; flips are independent; same shape.

        Raises:
            DataError: A value is not a bit.
        """
        array = np.asarray(bits)
        is_boolean = array.dtype == np.bool_
        true_bits = array if is_boolean else to_answers(array, 2).astype(np.bool_)
        if math.isinf(self.epsilon):
            return true_bits.copy()
        is_honest = self._response.draw_honesty(true_bits.shape, source)
        return np.where(is_honest, true_bits, ~true_bits)


def to_answers(values: ArrayLike, categories: int) -> NDArray[np.int64]:
    """Return a copy of `values` as integers from 0 to categories - 1; same shape.

    Raises:
        DataError: A value is not such a number. The message does not repeat it.
    """
    array = np.asarray(values)
    if array.dtype == np.bool_:
        return array.astype(np.int64)
    is_numeric = np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)
    # NaN and infinity fail the first comparison, fractions the second.
    is_in_range = is_numeric and np.all((array >= 0) & (array < categories))
    if not (is_in_range and np.all(array == array // 1)):
        raise DataError(
            "an answer is none of the possible ones",
            expected=f"whole numbers from 0 to {categories - 1}, no NaN and no infinity",
            fix="Nothing was released.",
        )
    return array.astype(np.int64)
