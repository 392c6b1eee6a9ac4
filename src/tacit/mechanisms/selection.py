"""The exponential mechanism, many choices at once: a better score makes a candidate likelier.

Source       McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007); exact
             integer weights as in `tacit.mechanisms.weights`.
Guarantee    epsilon for one choice (docs/mechanisms/selection.md has the proof).
Sensitivity  the most by which ANY one candidate's score differs between neighbours. Bounds,
             resolution and candidates are public and fixed. If `monotonic`, no two scores change in
             opposite directions between neighbours (as counts under add/remove), and the loss is
             half as large.
Sampler      our own, exact on integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event, Exponential, NonPrivate
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.checks import check_epsilon, check_positive, check_whole
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.sensitive_values import finite_floats
from tacit.mechanisms.weights import draw_rows, falling_weights
from tacit.randomness import Source

MOST_STEPS = 1 << 20
"""Largest number of steps from the lower bound of a score to the upper one."""
MOST_CANDIDATES = 1 << 20
"""Largest number of candidates."""
_ENTRIES = 1 << 16
"""Number of scores handled at once, which fit into the processor's cache; one row may have more."""


@dataclass(frozen=True)
class Selection:
    """The exponential mechanism, many choices at once.

    P(j) is proportional to an integer weight of candidate j's score. The weights of two scores that
    are one step apart differ by a factor of at most e^rate.
    """

    epsilon: float
    """Loss of one choice, in nats; inf chooses the best candidate, the first of equal ones."""
    candidates: int
    """Number of candidates, public and fixed."""
    sensitivity: float
    """The most by which any one score differs between neighbours, in the unit of the scores."""
    lower: float
    """Lower bound of a score; smaller scores are clamped."""
    upper: float
    """Upper bound of a score; larger scores are clamped."""
    resolution: float
    """Step, a power of two; scores are rounded down to its multiples."""
    monotonic: bool = False
    """Whether no two scores change in opposite directions between neighbouring inputs."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("candidates", self.candidates, least=1, most=MOST_CANDIDATES)
        check_positive("sensitivity", self.sensitivity)
        if self.grid.last_step - self.grid.first_step > MOST_STEPS:
            raise ConfigError(
                f"lower and upper are at most {MOST_STEPS} steps apart: take a coarser resolution."
            )

    @cached_property
    def grid(self) -> Grid:
        """The grid to which scores are rounded down."""
        return Grid(self.resolution, self.lower, self.upper)

    @property
    def rate(self) -> Fraction:
        """Nats for each step of a score: epsilon / (2 sensitivity), or twice that if monotonic.

        The sensitivity is in steps here, after rounding.
        """
        factor = 1 if self.monotonic else 2
        return Fraction(self.epsilon) / (factor * self.grid.distance(self.sensitivity))

    def to_rows(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return scores (candidates,) or (choices, candidates) as an array (choices, candidates).

        Raises:
            DataError: The scores have another shape, or one is not finite.
        """
        rows = finite_floats(scores)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.candidates:
            raise DataError(
                "the scores have another shape",
                expected=f"({self.candidates},) for one choice, (choices, {self.candidates}) else",
            )
        return rows.reshape(-1, self.candidates)

    @property
    def event(self) -> Event:
        """The cost of ONE choice."""
        return NonPrivate() if math.isinf(self.epsilon) else Exponential(self.epsilon)

    def __call__(self, scores: ArrayLike, source: Source) -> NDArray[np.int64]:
        """Choose one candidate for each row of scores.

        Args:
            scores: (candidates,) or (choices, candidates), as sensitive as the data.
            source: Randomness of the draw.

        Returns:
            The index of the chosen candidate, () or (choices,).

        Raises:
            DataError: The scores have another shape, or one is not finite.
        """
        rows = self.to_rows(scores)
        chosen = rows.argmax(axis=1) if math.isinf(self.epsilon) else self._draw(rows, source)
        return np.asarray(chosen.reshape(np.shape(scores)[:-1]), dtype=np.int64)

    def _draw(self, rows: NDArray[np.float64], source: Source) -> NDArray[np.int64]:
        """Draw one index for each of `rows` (choices, candidates), some rows at a time."""
        rows_at_once = max(1, _ENTRIES // self.candidates)
        chosen = np.empty(len(rows), dtype=np.int64)
        for start in range(0, len(rows), rows_at_once):
            weights = self.weights(rows[start : start + rows_at_once])
            chosen[start : start + rows_at_once] = draw_rows(weights, source)
        return chosen

    def weights(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Return the integers to which the chances are exactly proportional; same shape.

        Epsilon must be finite. The weights are as sensitive as the scores.
        """
        steps_below_upper = self.grid.last_step - self.grid.to_steps(scores)
        return self.weight_table[steps_below_upper]

    @cached_property
    def weight_table(self) -> NDArray[np.int64]:
        """(steps + 1,) weight of a score that is 0, 1, ... steps below the upper bound; public.

        The largest weight is chosen so that the sum over all candidates is at most 2**62.
        """
        bits = 62 - (self.candidates - 1).bit_length()
        return falling_weights(self.rate, self.grid.last_step - self.grid.first_step, bits)

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the chance of each candidate, in floats; same shape.

        Epsilon must be finite. The chances are as sensitive as the scores.
        """
        weights = self.weights(scores)
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float64)
