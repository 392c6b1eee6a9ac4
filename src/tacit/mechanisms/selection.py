"""One candidate out of many, better scores likelier: the exponential mechanism in batches.

Source       McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007); the idea of
             exact integer weights is Ilvento's (Implementing the exponential mechanism with base-2
             differential privacy, CCS 2020), here for base e with one-sided rounding.
Guarantee    epsilon for one choice (docs/mechanisms/selection.md has the proof).
Sensitivity  the most that ANY one candidate's score can change; bounds, resolution and the
             candidates are public and fixed. `monotonic`: a change of the data never moves two
             scores in opposite directions (such as counts under add/remove); half the loss.
Sampler      our own, exact on integers.

Weights are integers whose rounding has a known side: a privacy proof survives a rounded constant
only if the rounding errs towards more noise. Every power is computed in decimal arithmetic, whose
exponential is correct to half a unit of the last digit, and then moved by one whole unit of that
digit to the side asked for. Weights fall no faster than
e^-rate per step, and draws are in exact proportion to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event, Exponential, NonPrivate
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.samplers import Grid, check_epsilon, check_positive, check_whole, finite
from tacit.randomness import Source

_BITS = 128
_DECIMAL = Context(prec=60)
_WIDE = Context(prec=200)
_BEYOND = 100  # e**-100 is far below every grid used here
_LARGEST = np.uint64((1 << 64) - 1)


def exp_minus_above(exponent: Fraction) -> Fraction:
    """A multiple of 2**-128 that is at least e**-exponent and at most 1; exponent >= 0."""
    # Digits after the 60th are cut off, so the exponent used is never above the one asked for.
    cut = int(min(exponent, Fraction(_BEYOND)) * 10**60)
    power = Decimal(-cut).scaleb(-60, _WIDE).exp(_DECIMAL)
    above = Fraction(_DECIMAL.next_plus(power)) * (1 << _BITS)
    return min(Fraction(math.ceil(above), 1 << _BITS), Fraction(1))


def truth_below(epsilon: float, categories: int, bits: int) -> int:
    """The largest n with n / 2**bits at most e**epsilon / (e**epsilon + categories - 1), or 1 less.

    n is below 2**bits: even at an immense epsilon a lie stays possible.
    """
    lie = (categories - 1) * exp_minus_above(Fraction(epsilon))
    return int((1 << bits) / (1 + lie))


@lru_cache(maxsize=32)
def falling_weights(rate: Fraction, steps: int, bits: int) -> NDArray[np.int64]:
    """w[0] = 2**bits, and for 0 <= d < steps: w[d] * e**-rate <= w[d + 1] <= w[d]; read-only.

    Each weight is the one before it times a number not below e**-rate, rounded up. So w[d] is about
    2**bits * e**(-rate * d) until it levels off, at 1 / rate or so: scores more than some 40
    nats below the highest possible one are all alike. It is never 0: an infinite loss.
    """
    factor = int(exp_minus_above(rate) * (1 << _BITS))
    weights = np.empty(steps + 1, dtype=np.int64)
    weight = 1 << bits
    for distance in range(steps + 1):
        weights[distance] = weight
        weight = -(-weight * factor >> _BITS)  # rounded up
    weights.setflags(write=False)
    return weights


def draw_rows(weights: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """One index per row of `weights` (rows, n), drawn in exact proportion to the row's weights.

    Every row's sum lies in [1, 2**62].
    """
    upto = weights.cumsum(axis=1)
    drawn = _below(upto[:, -1], source)
    return np.asarray((upto <= drawn[:, None]).sum(axis=1), dtype=np.int64)


def _below(bounds: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """A uniform integer in [0, bound) for each bound in [1, 2**62], by rejection."""
    divisors = bounds.astype(np.uint64)
    rest = (_LARGEST % divisors + np.uint64(1)) % divisors  # 2**64 modulo the bound
    words = source.words(len(bounds))
    while True:
        late = np.flatnonzero(words > _LARGEST - rest)
        if late.size == 0:
            return (words % divisors).astype(np.int64)
        words[late] = source.words(late.size)


MOST_STEPS = 1 << 20
MOST_CANDIDATES = 1 << 20
_ENTRIES = 1 << 16  # scores handled at once: what fits the processor's cache


@dataclass(frozen=True)
class Selection:
    """The exponential mechanism, many choices at once.

    P(j) is proportional to an integer weight of candidate j's score, and weights of scores one
    step apart differ by at most e^rate. epsilon: nats for one choice, or inf for the best candidate
    (the first of equals).
    """

    epsilon: float
    candidates: int
    sensitivity: float
    lower: float
    upper: float
    resolution: float
    monotonic: bool = False

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("candidates", self.candidates, least=1, most=MOST_CANDIDATES)
        check_positive("sensitivity", self.sensitivity)
        if self.grid.last - self.grid.first > MOST_STEPS:
            raise ConfigError(
                f"lower and upper are at most {MOST_STEPS} steps apart: take a coarser resolution."
            )

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.resolution, self.lower, self.upper)

    @property
    def rate(self) -> Fraction:
        """Nats per step of a score: epsilon / (2 sensitivity), twice that if monotonic."""
        doubled = 1 if self.monotonic else 2
        return Fraction(self.epsilon) / (doubled * self.grid.distance(self.sensitivity))

    def rows(self, scores: ArrayLike) -> NDArray[np.float64]:
        """`scores` as (choices, candidates), refused if their shape or a number is wrong."""
        rows = finite(scores)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.candidates:
            raise DataError(
                "the scores have another shape",
                expected=f"({self.candidates},) for one choice, (choices, {self.candidates}) else",
            )
        return rows.reshape(-1, self.candidates)

    @property
    def event(self) -> Event:
        """What ONE choice costs."""
        return NonPrivate() if math.isinf(self.epsilon) else Exponential(self.epsilon)

    def __call__(self, scores: ArrayLike, source: Source) -> NDArray[np.int64]:
        """Scores (candidates,) or (choices, candidates); gives the index or indices chosen."""
        rows = self.rows(scores)
        if math.isinf(self.epsilon):
            chosen = rows.argmax(axis=1)
        else:
            size = max(1, _ENTRIES // self.candidates)
            parts = [
                draw_rows(self.weights(rows[start : start + size]), source)
                for start in range(0, len(rows), size)
            ]
            chosen = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        return np.asarray(chosen.reshape(np.shape(scores)[:-1]), dtype=np.int64)

    def weights(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Exactly what the draw is proportional to, candidate by candidate; same shape.

        epsilon is finite. The weights are as sensitive as the scores.
        """
        # The sum over all candidates stays at or below 2**62.
        bits = 62 - (self.candidates - 1).bit_length()
        table = falling_weights(self.rate, self.grid.last - self.grid.first, bits)
        return table[self.grid.last - self.grid.steps(scores)]

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """The chance of each candidate, as near as floats come; as sensitive as the scores."""
        weights = self.weights(scores)
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float64)
