"""Counts of answers by item and by pair: the scores B of Figures 2 and 3, the matrix A of Figure 1.

Deviation   an item's score is divided by the number of answers about it, so that it has less noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """Counts of answers by item."""

    asked: Ints
    """(N,) int64, number of answers about each item."""
    ones: Ints
    """(N,) int64, number of these answers that are 1."""

    @property
    def normalised_scores(self) -> Floats:
        """(N,) share of ones among the answers about each item.

        An item without answers has the share of ones among all answers; 0 if there are none.
        """
        overall_share = self.ones.sum() / max(1, self.asked.sum())
        shares = self.ones / np.maximum(self.asked, 1)
        scores: Floats = np.where(self.asked > 0, shares, overall_share)
        return scores


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of answers by pair (i, j), i < j, in the order of `np.triu_indices(n_items, 1)`."""

    n_items: int
    """N."""
    asked: Ints
    """(N (N - 1) / 2,) int64, number of answers about each pair."""
    ones: Ints
    """(N (N - 1) / 2,) int64, number of these answers that are 1."""

    def matrix(self) -> Floats:
        """Make the paper's matrix A (N, N): symmetric counts of ones, 0 on the diagonal."""
        upper = np.zeros((self.n_items, self.n_items))
        upper[np.triu_indices(self.n_items, 1)] = self.ones
        return upper + upper.T

    def by_item(self) -> ItemCounts:
        """Count each answer about a pair for both of its items."""
        return ItemCounts(self._sum_by_item(self.asked), self._sum_by_item(self.ones))

    def _sum_by_item(self, counts: Ints) -> Ints:
        """Sum (N (N - 1) / 2,) counts of pairs, for each item over the pairs with it: (N,)."""
        first_items, second_items = np.triu_indices(self.n_items, 1)
        sums_as_first = np.bincount(first_items, counts, self.n_items)
        sums_as_second = np.bincount(second_items, counts, self.n_items)
        return (sums_as_first + sums_as_second).astype(np.int64)


def item_counts(server: Server) -> ItemCounts:
    """Return the counts by item of a campaign that senses sets.

    Raises:
        ConfigError: The campaign asks about pairs.
    """
    if not server.campaign.asks_about_sets:
        raise ConfigError("This campaign asks about pairs: use pair_counts.")
    # Places of the wheel (`sensing.py`) beyond the last item are left out.
    totals = server.totals[:, : server.campaign.n_items]
    return ItemCounts(totals.sum(axis=0), totals[1].copy())


def pair_counts(server: Server) -> PairCounts:
    """Return the counts by pair of a campaign that asks about pairs.

    Raises:
        ConfigError: The campaign senses sets.
    """
    if server.campaign.asks_about_sets:
        raise ConfigError("This campaign senses sets: use item_counts.")
    totals = server.totals
    return PairCounts(server.campaign.n_items, totals.sum(axis=0), totals[1].copy())
