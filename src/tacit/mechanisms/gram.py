"""The Gram matrix of items: products of each person's entries, summed over people, plus noise.

Source       Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); discrete noise: Canonne,
             Kamath, Steinke (NeurIPS 2020).
Guarantee    1 / (2 noise_multiplier^2)-zCDP for ONE PERSON'S WHOLE ROW, and about 1 /
             noise_multiplier-GDP if the noise spans many steps. Similarities, lists and predictions
             computed from the released matrix cost nothing more.
Sensitivity  no assumption: rows are clipped to an L2 norm here. Earlier steps, such as centring,
             may compute a person's row only from that person's data and public values.
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
from tacit.mechanisms.checks import check_multiplier, check_positive, check_scale, check_whole
from tacit.mechanisms.gaussian import MARGIN, vector_event
from tacit.mechanisms.sensitive_values import finite_floats

_MAX_NORM_STEPS = 1 << 14
"""Largest norm in steps: with it, the products of fewer than 2**35 people add up in 64 bits."""
_PEOPLE_AT_ONCE = 4096
"""People whose products are added up in one matrix product of floats, which is exact for so few."""


@dataclass(frozen=True)
class GramRelease:
    """Release of the sum over people of v v^T, for a person's row v, plus Gaussian noise."""

    noise_multiplier: float
    """sigma / `squared_norm`; 0 gives the exact matrix of the rows as they are."""
    items: int
    """Number of items: the length of a row."""
    norm: float = 1.0
    """Largest L2 norm of a row; a longer one is scaled down."""
    resolution: float = 2.0**-10
    """Step; entries of rows are rounded towards zero to its multiples."""

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_whole("items", self.items, least=1)
        check_positive("norm", self.norm)
        check_positive("resolution", self.resolution)
        if not 1 <= self.norm / self.resolution <= _MAX_NORM_STEPS:
            raise ConfigError(f"norm is from 1 to {_MAX_NORM_STEPS} times the resolution.")
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
        """Parameter of the noise off the diagonal, in squared steps.

        It is the diagonal's divided by sqrt(2), because each of these entries is in the matrix
        twice but is released once.
        """
        return self.sigma / math.sqrt(2)

    @property
    def event(self) -> Event:
        """The cost of the whole matrix."""
        entries = self.items * (self.items + 1) // 2
        # The entries off the diagonal have the least noise; with one item there are none.
        smallest_sigma = self.sigma if self.items == 1 else self.sigma_off_diagonal
        return vector_event(self.noise_multiplier, sigma=smallest_sigma, entries=entries)

    def __call__(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Release the noisy matrix (items, items), which is symmetric.

        Args:
            rows: (people, items) numbers of each person, zero for an item without a rating.

        Raises:
            DataError: The rows have another shape, or a number is not finite.
        """
        return self.add_noise(self.total([rows]))

    def total(self, blocks: Iterable[ArrayLike]) -> NDArray[Any]:
        """Add up the products of rows exactly, without noise. Not protected: never release it.

        Args:
            blocks: Arrays (people, items).

        Returns:
            (items, items) sums of the clipped rows' products, integers in squared steps, which do
            not depend on how the rows are divided into blocks. If the noise multiplier is 0, floats
            from the rows without clipping.

        Raises:
            DataError: The rows have another shape, or a number is not finite.
        """
        is_non_private = self.noise_multiplier == 0
        unclipped_total = np.zeros((self.items, self.items))
        total = np.zeros((self.items, self.items), dtype=np.int64)
        for block in blocks:
            rows = finite_floats(block)
            if rows.ndim != 2 or rows.shape[1] != self.items:
                raise DataError("the rows have another shape", expected=f"(people, {self.items})")
            if is_non_private:
                unclipped_total += rows.T @ rows
            else:
                self._add_clipped(rows, total)
        return unclipped_total if is_non_private else total

    def add_noise(self, total: NDArray[Any]) -> NDArray[np.float64]:
        """Release the noisy matrix (items, items) from the result of `total`.

        Each call draws new noise, one number for each entry of the diagonal and of the upper
        triangle, and costs another `event`.
        """
        if self.noise_multiplier == 0:
            return total.astype(np.float64)
        steps = self._add_symmetric_noise(total.astype(np.int64, casting="same_kind"))
        return steps * self.resolution**2

    def _add_clipped(self, rows: NDArray[np.float64], total: NDArray[np.int64]) -> None:
        """Clip rows (people, items), and add their products to `total` (items, items) in place."""
        for start in range(0, len(rows), _PEOPLE_AT_ONCE):
            steps = self.clip_rows(rows[start : start + _PEOPLE_AT_ONCE]).astype(np.float64)
            total += (steps.T @ steps).astype(np.int64)

    def clip_rows(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Clip rows (people, items) to whole steps; each row's squared norm is at most the bound.

        steps = trunc(row * min(1, norm / length) / resolution), where length is the row's L2 norm;
        the bound is `squared_norm`. Each row is first divided by the largest absolute value in it,
        so that no square overflows.
        """
        largest = np.abs(rows).max(axis=1, keepdims=True)
        units = rows / np.where(largest > 0, largest, 1)
        lengths = np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1)
        clipped_rows = units * np.minimum(largest, self.norm / lengths)
        steps: NDArray[np.int64] = np.trunc(clipped_rows / self.resolution).astype(np.int64)
        # Rounding errors may leave a row slightly too long, which integers decide exactly. Then
        # each of its entries moves one step towards zero.
        is_too_long = (steps**2).sum(axis=1) > self.squared_norm
        while is_too_long.any():
            steps[is_too_long] -= np.sign(steps[is_too_long])
            is_too_long = (steps**2).sum(axis=1) > self.squared_norm
        return steps

    def _add_symmetric_noise(self, gram: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to the diagonal and the upper triangle, and mirror it to the lower triangle."""
        noisy_gram = np.zeros(gram.shape, dtype=np.int64)
        upper = np.triu_indices(self.items, 1)
        if upper[0].size:
            noisy_gram[upper] = samplers.discrete_gaussian(gram[upper], self.sigma_off_diagonal)
        noisy_gram += noisy_gram.T
        np.fill_diagonal(noisy_gram, samplers.discrete_gaussian(gram.diagonal(), self.sigma))
        return noisy_gram.astype(np.float64)
