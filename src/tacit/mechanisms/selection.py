"""One candidate out of many, better scores likelier: our batched draws, and OpenDP's noisy max.

Source       `Selection`: the exponential mechanism of McSherry and Talwar (FOCS 2007).
             `NoisyMax`: OpenDP's make_noisy_max under max-divergence, which IS permute-and-flip
             (McKenna and Sheldon, NeurIPS 2020), the same as noisy max with exponential noise
             (Ding et al., 2021): never worse than the exponential mechanism at the same epsilon.
Guarantee    epsilon for one choice (docs/mechanisms/selection.md has the proof).
Sensitivity  the most that ANY one candidate's score can change; bounds, resolution and the
             candidates are public and fixed. `monotonic`: a change of the data never moves two
             scores in opposite directions (such as counts under add/remove); half the loss.
Sampler      `Selection`: our own, exact on integers. `NoisyMax`: OpenDP's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event, Exponential, NonPrivate
from tacit.accounting.rounding import float_above
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.grid import (
    Grid,
    check_epsilon,
    check_positive,
    check_scale,
    check_whole,
    finite,
)
from tacit.mechanisms.weights import draw_rows, falling_weights
from tacit.randomness import Source

MOST_STEPS = 1 << 20
MOST_CANDIDATES = 1 << 20
_ENTRIES = 1 << 16  # scores handled at once: what fits the processor's cache


@dataclass(frozen=True)
class _Choice:
    """epsilon: nats for one choice, or inf for the best candidate (the first of equals)."""

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


@dataclass(frozen=True)
class Selection(_Choice):
    """The exponential mechanism, many choices at once.

    P(j) is proportional to an integer weight of candidate j's score, and weights of scores one
    step apart differ by at most e^rate.
    """

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


@dataclass(frozen=True)
class NoisyMax(_Choice):
    """OpenDP's noisy max with exponential noise, that is permute-and-flip; one call per choice."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(0.0 if math.isinf(self.epsilon) else self.scale)

    @property
    def scale(self) -> float:
        """Of the noise, in steps of the grid; epsilon is finite."""
        return float_above(1 / self.rate)

    @property
    def event(self) -> Event:
        """What ONE choice costs."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return Exponential(self.epsilon, permute_and_flip=True)

    def __call__(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Scores (candidates,) or (choices, candidates); gives the index or indices chosen."""
        rows = self.rows(scores)
        if math.isinf(self.epsilon):
            chosen = rows.argmax(axis=1)
        else:
            chosen = samplers.noisy_max(self.grid.steps(rows), self.scale)
        return np.asarray(chosen.reshape(np.shape(scores)[:-1]), dtype=np.int64)
