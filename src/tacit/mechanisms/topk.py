"""A list of k candidates: the exponential mechanism k times without repetition, by peeling.

Source       Bhaskar, Laxman, Smith, Thakurta: Discovering frequent patterns in sensitive data
             (KDD 2010); Durfee and Rogers: Practical differentially private top-k selection
             (NeurIPS 2019).
Guarantee    k * choice.epsilon for the whole ordered list: k choices at choice.epsilon each, where
             each one depends on earlier ones only through the candidates that they released.
Sensitivity  as in `Selection`.
Sampler      our own, exact on integers, for many lists at once. This module imports `draw_rows`
             itself, so that X-Map's audit can intercept its draws and leave those of `Selection`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event, NonPrivate, TopK
from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_whole
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source


@dataclass(frozen=True)
class TopSelection:
    """Release of ordered lists of k candidates."""

    k: int
    """Length of the list."""
    choice: Selection
    """The mechanism of each of the k choices; its epsilon is that of the list, divided by k."""

    def __post_init__(self) -> None:
        check_whole("k", self.k, least=1)
        if self.k > self.choice.candidates:
            raise ConfigError(
                f"k is at most the number of candidates, {self.choice.candidates}; got {self.k}."
            )

    @cached_property
    def epsilon(self) -> float:
        """Loss of the whole list, in nats."""
        return self.k * self.choice.epsilon

    @property
    def event(self) -> Event:
        """The cost of ONE list."""
        return NonPrivate() if math.isinf(self.epsilon) else TopK(self.k, self.choice.epsilon)

    def __call__(self, scores: ArrayLike, source: Source) -> NDArray[np.int64]:
        """Choose one list for each row of scores.

        Args:
            scores: (candidates,) or (lists, candidates), as sensitive as the data.
            source: Randomness of the draws.

        Returns:
            Indices (k,) or (lists, k), in the order in which they were drawn.

        Raises:
            DataError: The scores have another shape, or one is not finite.
        """
        rows = self.choice.to_rows(scores)
        chosen = self._best(rows) if math.isinf(self.epsilon) else self._draw(rows, source)
        return chosen.reshape(*np.shape(scores)[:-1], self.k)

    def _best(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the k best candidates of each row (lists, candidates); of equal ones the first."""
        return np.argsort(-rows, axis=1, kind="stable")[:, : self.k]

    def _draw(self, rows: NDArray[np.float64], source: Source) -> NDArray[np.int64]:
        """Draw a list for each of `rows` (lists, candidates), one place after the other."""
        weights = self.choice.weights(rows)
        all_rows = np.arange(len(rows))
        chosen = np.empty((len(rows), self.k), dtype=np.int64)
        for place in range(self.k):
            chosen[:, place] = draw_rows(weights, source)
            weights[all_rows, chosen[:, place]] = 0  # a chosen candidate is not drawn again
        return chosen
