"""The Gram matrix of items: products of every two items, summed over people, plus Gaussian noise.

Source       Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); discrete noise: Canonne,
             Kamath, Steinke (NeurIPS 2020).
Guarantee    1 / (2 noise_multiplier^2)-zCDP for ONE PERSON'S WHOLE ROW, and about 1 /
             noise_multiplier-GDP if the noise spans many steps. Similarities, lists and predictions
             computed from the released matrix cost nothing more.
Sensitivity  none is asked for: rows are clipped to an L2 norm here. Whatever is done to a row
             before, such as centring, may use only that person's row and public values.
Sampler      exact discrete Gaussian on integers (`blocks`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.checks import (
    check_multiplier,
    check_positive,
    check_scale,
    check_whole,
    finite_floats,
)
from tacit.mechanisms.gaussian import MARGIN, vector_event

_MOST_STEPS = 1 << 14
"""Steps of a norm, so that 2**35 people still add up in 64 bits."""
_BLOCK = 4096
"""People at once: products of so many are exact in floats."""


@dataclass(frozen=True)
class GramRelease:
    """The sum over people of v v^T, for rows v over items. Neighbours differ in one person."""

    noise_multiplier: float
    """sigma / sensitivity; 0 gives the exact matrix of the rows as they are."""
    items: int
    """Number of items: the length of a row."""
    norm: float = 1.0
    """Largest L2 norm of a row; a longer one is scaled down."""
    resolution: float = 2.0**-10
    """Step to whose multiples rows are rounded towards zero."""

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_whole("items", self.items, least=1)
        check_positive("norm", self.norm)
        check_positive("resolution", self.resolution)
        if not 1 <= self.norm / self.resolution <= _MOST_STEPS:
            raise ConfigError(f"norm is from 1 to {_MOST_STEPS} times the resolution.")
        check_scale(self.sigma)

    @property
    def squared_norm(self) -> int:
        """The largest squared norm of a row, in squared steps."""
        return math.floor((Fraction(self.norm) / Fraction(self.resolution)) ** 2)

    @property
    def sigma(self) -> float:
        """Parameter of the noise on the diagonal, in squared steps."""
        return self.noise_multiplier * self.squared_norm * MARGIN

    @property
    def sigma_off_diagonal(self) -> float:
        """Parameter of the noise off the diagonal, where each entry stands twice; squared steps."""
        return self.sigma / math.sqrt(2)

    @property
    def event(self) -> Event:
        """The cost of the whole matrix."""
        entries = self.items * (self.items + 1) // 2
        sigma = self.sigma if self.items == 1 else self.sigma_off_diagonal
        return vector_event(self.noise_multiplier, sigma=sigma, entries=entries)

    def __call__(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Release the noisy matrix (items, items), symmetric.

        Args:
            rows: (people, items), zero where there is nothing.

        Raises:
            DataError: The rows have another shape, or a number is not finite.
        """
        return self.add_noise(self.total([rows]))

    def total(self, blocks: Iterable[ArrayLike]) -> NDArray[Any]:
        """Add up blocks of rows (people, items) exactly, before noise: PRIVATE.

        Returns:
            (items, items) sums of clipped rows' products, in whole squared steps: they do not
            depend on how the rows are cut into blocks. If the noise multiplier is 0, floats of the
            rows as they are, unclipped.
        """
        exact = np.zeros((self.items, self.items))
        steps = exact.astype(np.int64)
        for block in blocks:
            people = finite_floats(block)
            if people.ndim != 2 or people.shape[1] != self.items:
                raise DataError("the rows have another shape", expected=f"(people, {self.items})")
            if self.noise_multiplier == 0:
                exact += people.T @ people
            else:
                self._add_clipped(people, steps)
        return exact if self.noise_multiplier == 0 else steps

    def add_noise(self, total: NDArray[Any]) -> NDArray[np.float64]:
        """Release (items, items) from what `total` returned, with one noise for each pair of items.

        Each call costs another `event`.
        """
        if self.noise_multiplier == 0:
            return total.astype(np.float64)
        steps = self._add_symmetric_noise(total.astype(np.int64, casting="same_kind"))
        return steps * self.resolution**2

    def _add_clipped(self, people: NDArray[np.float64], total: NDArray[np.int64]) -> None:
        """Add the products of clipped rows (people, items) to `total`, some people at a time."""
        for start in range(0, len(people), _BLOCK):
            steps = self.clip_rows(people[start : start + _BLOCK]).astype(np.float64)
            total += (steps.T @ steps).astype(np.int64)

    def clip_rows(self, people: NDArray[np.float64]) -> NDArray[np.int64]:
        """Clip rows (people, items) to whole steps, each of squared norm `squared_norm` at most.

        steps = trunc(row * min(1, norm / length) / resolution), with every number divided by the
        row's largest first.
        """
        largest = np.abs(people).max(axis=1, keepdims=True)
        units = people / np.where(largest > 0, largest, 1)  # so that no square overflows
        lengths = np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1)
        scaled = units * np.minimum(largest, self.norm / lengths)
        steps: NDArray[np.int64] = np.trunc(scaled / self.resolution).astype(np.int64)
        # Floats may have left a row a trifle too long; whether it is, integers say exactly.
        too_long = (steps**2).sum(axis=1) > self.squared_norm
        while too_long.any():
            steps[too_long] -= np.sign(steps[too_long])
            too_long = (steps**2).sum(axis=1) > self.squared_norm
        return steps

    def _add_symmetric_noise(self, gram: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to the diagonal and to one triangle, which is copied to the other one."""
        noisy = np.zeros(gram.shape, dtype=np.int64)
        upper = np.triu_indices(self.items, 1)
        if upper[0].size:
            noisy[upper] = samplers.discrete_gaussian(gram[upper], self.sigma_off_diagonal)
        noisy += noisy.T
        np.fill_diagonal(noisy, samplers.discrete_gaussian(gram.diagonal(), self.sigma))
        return noisy.astype(np.float64)
