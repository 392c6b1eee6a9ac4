"""Nearest items by adjusted cosine: what the kernel and a cluster share.

Source   the cosine of two items' columns of centred ratings, with the norms over all raters (Sarwar
         et al., WWW 2001); agreements and significance weighting as X-Map uses them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.engine.types import Floats, Neighbours, Numbers, Table
from tacit.errors import ConfigError

_SQUARED_RATINGS = 2**16
"""Ratings squared at a time."""


def check_arguments(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool
) -> None:
    """Raise ConfigError for what no engine can answer."""
    if k < 1 or significance < 0:
        raise ConfigError(
            f"k is at least 1 and significance at least 0; got {k} and {significance}."
        )
    if significance and not counts:
        raise ConfigError("Significance weighting counts co-raters: leave counts on.")
    if len(table.likes) != table.values.nnz:
        raise ConfigError(f"{table.values.nnz} ratings have as many likes; got {len(table.likes)}.")
    items = table.values.shape[1]
    for name, numbers in (("of", of), ("among", among)):
        inside = ((numbers >= 0) & (numbers < items)).all()
        if not inside or len(np.unique(numbers)) < len(numbers):
            raise ConfigError(f"`{name}` has numbers of {items} items, each at most once.")


def no_neighbours(of: Numbers, k: int) -> Neighbours:
    """Make lists of k in which nobody is found yet."""
    shape = (len(of), k)
    return Neighbours(
        np.asarray(of, dtype=np.int32),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int32),
        np.zeros(shape, dtype=np.int32),
    )


def norms_and_raters(table: Table) -> tuple[Floats, NDArray[np.int64]]:
    """Compute the length of each item's column, and count its raters.

    Squares, too, are added one by one in the order of the people: an item's length is the same
    in a table of some of the items.

    Returns:
        (items,) L2 norms over all raters, and (items,) numbers of raters.
    """
    values, items = table.values, table.values.shape[1]
    squares, raters = np.zeros(items), np.zeros(items, dtype=np.int64)
    for start in range(0, values.nnz, _SQUARED_RATINGS):
        part = slice(start, start + _SQUARED_RATINGS)
        data, indices = values.data[part], values.indices[part]
        np.add.at(squares, indices, data * data)
        raters += np.bincount(indices, minlength=items)
    return np.sqrt(squares), raters
