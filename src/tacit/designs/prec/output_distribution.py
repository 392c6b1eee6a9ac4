"""The output distribution of one round: from counts of votes to one recommended object.

Source     Gilbert, Liu, Yu (2015), Section 8: phi, gamma, lambda, rho (`theory.py`). With W votes
           in all and x_j = count_j / W, object j of m is recommended with the chance

               gamma / m + (1 - gamma) phi(x_j) / (sum of all phi)
               phi(x) = e^(lambda x) - e^(lambda rho) for x > rho, else 0

Releases   nothing by itself; a client sees what `OutputDistribution.draw` returns.
Exactness  every object is drawn with exactly its chance, so no part of delta is spent on rounding.
           gamma is a fraction, so integers decide which of the two terms is drawn from. Whether x_j
           is above rho = 1 / (2 m) is the integer test 2 m count_j > W. No float or fraction holds
           the values of phi exactly. The draw in proportion to phi uses a uniform number of 64
           bits: objects have intervals on the line from 0 to 1, and the object whose interval holds
           the number is drawn. Floats find it, unless the number lies within a stated distance
           (`_BORDER_ERROR`) of a border between two intervals: then decimals of increasing length
           find it, with further random bits. The distance assumes that the platform's exp, expm1
           and log have relative errors of at most 2^-46; common ones are within 2^-51.
Rounds     with k < m objects use lambda, rho and gamma of m objects, and the first term is
           gamma / k (docs: p-REC, "Rounds of different size").
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec import theory
from tacit.engine.votes import Counts
from tacit.randomness import Source, integers_below

Floats = NDArray[np.float64]

_WORD_BITS = 64
"""Bits of a word that a source of randomness returns."""
_BORDER_ERROR = 2.0**-40
"""How far floats may misplace a border between two objects on the line from 0 to 1, to be
multiplied by the number of leading objects. The weights lie between 0 and 1, sum to more than 0.6,
and are off by at most 2^-44 each."""
_FIRST_DIGITS = 80
"""Digits of the decimals in the first try of `_draw_exactly`."""
_MORE_DIGITS = 20
"""Digits that each further try adds."""
_LOST_DIGITS = 30
"""Digits of a decimal weight that may be wrong. The exponents are below 10^8, the weights are at
least 10^-12, and at most 10^5 of them are summed."""


@dataclass(frozen=True)
class OutputDistribution:
    """The distribution that a round's recommendation is drawn from, for any counts of votes."""

    rounds: int
    """T, the most recommendations of one client."""
    objects: int
    """m, the most objects of a round."""
    radius: int = 0
    """R, the largest number of votes of one peer for objects that the client dislikes."""

    @cached_property
    def gamma(self) -> Fraction:
        """Probability of a uniform draw if there are votes, however they are distributed."""
        return theory.exact_gamma(self.objects, self.rounds, self.radius)

    @cached_property
    def _log_ratio(self) -> float:
        """Logarithm of r = T / (R + 1): lambda is 2 m ln r."""
        return math.log(theory.ratio(self.rounds, self.radius))

    def chances(self, counts: Counts) -> Floats:
        """Compute the chance of each object in floats. The result is as secret as the counts.

        Args:
            counts: (k,) votes of 1 <= k <= m objects, 0 or more each. Without any vote all objects
                have the same chance.

        Returns:
            (k,) chances.
        """
        objects = len(counts)
        if counts.sum() == 0:
            return np.full(objects, 1 / objects)
        gamma = float(self.gamma)
        leading = self._leading_objects(counts)
        weights = self._weights(counts, leading)
        chances = np.full(objects, gamma / objects)
        chances[leading] += (1 - gamma) * weights / weights.sum()
        return chances

    def draw(self, counts: Counts, source: Source) -> int:
        """Draw the position of one object, each with exactly its chance.

        Args:
            counts: (k,) votes of 1 <= k <= m objects, 0 or more each. Without any vote all objects
                have the same chance.
            source: Source of randomness.
        """
        gamma = self.gamma
        if counts.sum() == 0 or draw_uniformly(gamma.denominator, source) < gamma.numerator:
            return draw_uniformly(len(counts), source)
        # With the chance 1 - gamma the object is drawn in proportion to phi, by a uniform number:
        # a float finds its interval, unless a border is closer than the floats' error
        leading = self._leading_objects(counts)
        if len(leading) == 1:
            return int(leading[0])
        word = int(source.words(1)[0])
        point = word / 2**_WORD_BITS
        cumulative = self._weights(counts, leading).cumsum()
        borders = cumulative[:-1] / cumulative[-1]
        error = _BORDER_ERROR * len(cumulative)
        first_possible, last_possible = np.searchsorted(borders, (point - error, point + error))
        if first_possible == last_possible:
            return int(leading[first_possible])
        return int(leading[self._draw_exactly(counts, leading, word, source)])

    def _leading_objects(self, counts: Counts) -> NDArray[np.intp]:
        """Find the positions of the objects with a share above rho = 1 / (2 m), in order.

        With any votes there is at least one: the largest share is 1 / m or more.
        """
        return np.flatnonzero(2 * self.objects * counts > counts.sum())

    def _weights(self, counts: Counts, leading: NDArray[np.intp]) -> Floats:
        """Compute phi(x_j) / e^(lambda x_max) of the leading objects, for the largest share x_max.

        lambda (x_j - rho) is ln r times excess_j / W, with excess_j = 2 m count_j - W. So
        phi(x_j) / e^(lambda x_max) = e^(lambda (x_j - x_max)) (1 - e^(-lambda (x_j - rho))).

        Args:
            counts: (k,) votes of the objects.
            leading: Positions of the leading objects.

        Returns:
            (leading objects,) weights between 0 and 1.
        """
        total = counts.sum()
        excess = 2 * self.objects * counts[leading] - total
        below_largest = self._log_ratio * (excess - excess.max()) / total
        weights = np.exp(below_largest) * -np.expm1(-self._log_ratio * excess / total)
        return np.asarray(weights, dtype=np.float64)

    def _draw_exactly(
        self, counts: Counts, leading: NDArray[np.intp], bits: int, source: Source
    ) -> int:
        """Finish a draw near a border, with as many digits and random bits as are needed.

        Args:
            counts: (k,) votes of the objects.
            leading: Positions of the leading objects.
            bits: The 64 random bits that were drawn already, as a whole number.
            source: Source of further bits.

        Returns:
            The object's position within `leading`.
        """
        length = _WORD_BITS
        digits = _FIRST_DIGITS
        while True:
            weights = self._decimal_weights(counts, leading, digits)
            position = _decide_object(bits, length, weights, digits - _LOST_DIGITS)
            if position is not None:
                return position
            bits = bits << _WORD_BITS | int(source.words(1)[0])
            length += _WORD_BITS
            digits += _MORE_DIGITS

    def _decimal_weights(
        self, counts: Counts, leading: NDArray[np.intp], digits: int
    ) -> list[Fraction]:
        """Compute phi(x_j) / e^(lambda rho) of the leading objects, in decimals of `digits` digits.

        It is e^(ln r * excess_j / W) - 1, with excess_j as in `_weights`. The last _LOST_DIGITS
        digits may be wrong.
        """
        context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
        log_ratio = context.subtract(
            context.ln(Decimal(self.rounds)), context.ln(Decimal(self.radius + 1))
        )
        total = int(counts.sum())
        weights = []
        for count in counts[leading].tolist():
            excess = 2 * self.objects * count - total
            exponent = context.divide(context.multiply(log_ratio, Decimal(excess)), Decimal(total))
            weights.append(Fraction(context.subtract(context.exp(exponent), Decimal(1))))
        return weights


def draw_uniformly(size: int, source: Source) -> int:
    """Draw a whole number from 0 to size - 1, each with the same chance."""
    return int(integers_below(source, size, 1)[0])


def _decide_object(bits: int, length: int, weights: list[Fraction], digits: int) -> int | None:
    """Find the object whose interval holds a uniform number, if the number's first bits suffice.

    Args:
        bits: The number's first bits: it lies from bits / 2^length to (bits + 1) / 2^length.
        length: How many bits these are.
        weights: Weights of the objects, to which the lengths of their intervals are proportional.
        digits: How many digits of the weights are right.

    Returns:
        The object's position in `weights`; None if more bits or digits are needed.
    """
    *borders, total = accumulate(weights)
    error = total / 10**digits
    low = total * bits / 2**length - error
    high = total * (bits + 1) / 2**length + error
    position = bisect_left(borders, high)
    return position if position == bisect_right(borders, low) else None
