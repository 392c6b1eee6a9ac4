"""The law of one round: from counts of votes to one recommended object, drawn exactly.

Source     Gilbert, Liu, Yu (2015), Section 8: phi, gamma, lambda, rho.
Releases   nothing by itself; `OutputDistribution.draw` is what a client gets to see.
Exactness  gamma is a fraction and is tested with integers. Whether a share is above rho is the
           integer test 2 m count > W. What is left is a draw in proportion to
           e^(lambda share) - e^(lambda rho), numbers that no float and no fraction holds. It is
           made from a uniform number of 64 bits: floats decide it unless it lies within a stated
           distance of a border between two objects; then decimals of growing length do, together
           with further bits. So every object is drawn with exactly its chance, and none of delta
           is spent on rounding. The distance assumes that the platform's exp, expm1 and log are
           right to 2^-46 of themselves; common ones are off by 2^-51.
Rounds     with fewer than the most objects keep lambda, rho and gamma, and share gamma among
           the objects there are (docs: p-REC, "Rounds of different size").
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

from tacit.engine.votes import Counts
from tacit.randomness import Source, integers_below

Floats = NDArray[np.float64]

_WORD = 64
_DOUBT = 2.0**-40
"""Per object, of the whole: how far a border between two objects may be from where floats put it.
Their weights lie between 0 and 1 and sum to more than 0.6, each wrong by at most 2^-44."""
_FIRST_DIGITS = 80
_LOST_DIGITS = 30
"""At most: exponents below 10^8, weights of at least 10^-12, sums of up to 10^5 of them."""


@dataclass(frozen=True)
class OutputDistribution:
    """Distribution that one round draws from."""

    rounds: int
    """T."""
    objects: int
    """m, the most in a round."""
    radius: int = 0
    """R."""

    @cached_property
    def gamma(self) -> Fraction:
        """Chance of a uniform object: m / (3 T/(R+1) - 1)."""
        return Fraction(self.objects * (self.radius + 1), 3 * self.rounds - self.radius - 1)

    @cached_property
    def _log(self) -> float:
        return math.log(self.rounds / (self.radius + 1))

    def chances(self, counts: Counts) -> Floats:
        """Compute the chance of each object, as near as floats come; as secret as the counts.

        Args:
            counts: (k,) votes of 1 <= k <= m objects, 0 or more; with no vote all are alike.

        Returns:
            (k,) chances.
        """
        size = len(counts)
        if counts.sum() == 0:
            return np.full(size, 1 / size)
        gamma = float(self.gamma)
        leading = self._leading_objects(counts)
        weights = self._weights(counts, leading)
        chances = np.full(size, gamma / size)
        chances[leading] += (1 - gamma) * weights / weights.sum()
        return chances

    def draw(self, counts: Counts, source: Source) -> int:
        """Draw the place of one object with exactly its chance, from (objects,) counts."""
        gamma = self.gamma
        if counts.sum() == 0 or uniform(gamma.denominator, source) < gamma.numerator:
            return uniform(len(counts), source)
        leading = self._leading_objects(counts)
        if len(leading) == 1:
            return int(leading[0])
        word = int(source.words(1)[0])
        borders = self._weights(counts, leading).cumsum()
        point = word / 2**_WORD
        doubt = _DOUBT * len(borders)
        low, high = np.searchsorted(borders[:-1] / borders[-1], (point - doubt, point + doubt))
        place = low if low == high else self._draw_exactly(counts, leading, word, source)
        return int(leading[place])

    def _leading_objects(self, counts: Counts) -> NDArray[np.intp]:
        """Find the objects with a share above rho, tested in integers; never none."""
        return np.flatnonzero(2 * self.objects * counts > counts.sum())

    def _weights(self, counts: Counts, leading: NDArray[np.intp]) -> Floats:
        """Compute phi of the leading objects, over e^(lambda times the largest share)."""
        total = counts.sum()
        excess = 2 * self.objects * counts[leading] - total
        fall = self._log * (excess - excess.max()) / total
        return np.asarray(np.exp(fall) * -np.expm1(-self._log * excess / total), dtype=np.float64)

    def _draw_exactly(
        self, counts: Counts, leading: NDArray[np.intp], bits: int, source: Source
    ) -> int:
        """Settle a draw near a border, with as many digits and further bits as it takes."""
        length = _WORD
        digits = _FIRST_DIGITS
        while True:
            weights = self._decimals(counts, leading, digits)
            place = _decide_object(bits, length, weights, digits - _LOST_DIGITS)
            if place is not None:
                return place
            bits = bits << _WORD | int(source.words(1)[0])
            length += _WORD
            digits += 20

    def _decimals(self, counts: Counts, leading: NDArray[np.intp], digits: int) -> list[Fraction]:
        """Compute phi / e^(lambda rho) of the leading objects; _LOST_DIGITS may be wrong."""
        context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
        log = context.subtract(
            context.ln(Decimal(self.rounds)), context.ln(Decimal(self.radius + 1))
        )
        total = int(counts.sum())
        weights = []
        for count in counts[leading].tolist():
            excess = 2 * self.objects * count - total
            power = context.divide(context.multiply(log, Decimal(excess)), Decimal(total))
            weights.append(Fraction(context.subtract(context.exp(power), Decimal(1))))
        return weights


def uniform(size: int, source: Source) -> int:
    """Draw a place below `size`, all alike."""
    return int(integers_below(source, size, 1)[0])


def _decide_object(bits: int, length: int, weights: list[Fraction], digits: int) -> int | None:
    """Find the object at bits / 2^length of the way, if `digits` digits of weights decide it."""
    *borders, total = accumulate(weights)
    doubt = total / 10**digits
    low = total * bits / 2**length - doubt
    high = total * (bits + 1) / 2**length + doubt
    place = bisect_left(borders, high)
    return place if place == bisect_right(borders, low) else None
