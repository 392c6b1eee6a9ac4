"""Heads: the target items with the largest shares of likes that sum 1 released.

A later sum asks about these items alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def choose_head(shares: Floats, size: int) -> Ints:
    """Choose the items with the largest shares; their numbers ascend.

    Args:
        shares: (items,) released; at equal shares the lower number comes first.
        size: How many items.
    """
    return np.sort(np.argsort(-shares, kind="stable")[:size]).astype(np.int64)


def places_in_head(head: Ints, items: int) -> Ints:
    """Return the place of each of so many items in a head; -1 outside."""
    places = np.full(items, -1, dtype=np.int64)
    places[head] = np.arange(len(head))
    return places
