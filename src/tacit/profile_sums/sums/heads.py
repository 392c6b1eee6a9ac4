"""The head: the target items with the largest released shares of likes.

Some later sums are of these items alone, so that each entry has many likes compared with its noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def choose_head(shares: Floats, size: int) -> Ints:
    """Return the numbers (head,) of the items with the largest shares, ascending.

    Args:
        shares: (items,) released shares; of equal ones the lower number comes first.
        size: Number of items to choose; all are chosen if there are fewer.
    """
    return np.sort(np.argsort(-shares, kind="stable")[:size]).astype(np.int64)


def places_in_head(head: Ints, items: int) -> Ints:
    """Return the place (items,) of each item in a head; -1 outside.

    Args:
        head: (head,) numbers of items.
        items: Number of all items.
    """
    places = np.full(items, -1, dtype=np.int64)
    places[head] = np.arange(len(head))
    return places
