"""Item neighbours by adjusted cosine: what the compiled kernel and a cluster have in common.

Source   the cosine of two items' columns of centred ratings, with the norms over all raters (Sarwar
         et al., WWW 2001); agreements and significance weighting as X-Map uses them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.engine.types import Floats, Neighbours, Numbers, Table
from tacit.errors import ConfigError

_RATINGS_AT_ONCE = 2**16
"""Number of ratings whose squares are in memory at once."""


def check_arguments(
    table: Table, items: Numbers, candidates: Numbers, k: int, significance: int, counts: bool
) -> None:
    """Raise ConfigError unless the arguments of `Engine.neighbours` are valid.

    Item numbers must be in range and distinct; a significance above 0 needs counts.
    """
    if k < 1 or significance < 0:
        raise ConfigError(
            f"k is at least 1 and significance at least 0; got {k} and {significance}."
        )
    if significance and not counts:
        raise ConfigError("Significance weighting counts co-raters: leave counts on.")
    if len(table.likes) != table.values.nnz:
        raise ConfigError(
            f"`likes` needs one entry for each of the {table.values.nnz} ratings; got "
            f"{len(table.likes)}."
        )
    width = table.values.shape[1]
    for name, numbers in (("items", items), ("candidates", candidates)):
        are_in_range = ((numbers >= 0) & (numbers < width)).all()
        if not are_in_range or len(np.unique(numbers)) < len(numbers):
            raise ConfigError(
                f"`{name}` needs item numbers from 0 to {width - 1}, each at most once."
            )


def make_empty_lists(items: Numbers, k: int) -> Neighbours:
    """Make an empty list of k entries for each item.

    All entries are -1 in `neighbours`, and 0 in the three arrays after it.
    """
    shape = (len(items), k)
    return Neighbours(
        items=np.asarray(items, dtype=np.int32),
        neighbours=np.full(shape, -1, dtype=np.int32),
        similarities=np.zeros(shape),
        co_counts=np.zeros(shape, dtype=np.int32),
        agreements=np.zeros(shape, dtype=np.int32),
    )


def norms_and_raters(table: Table) -> tuple[Floats, NDArray[np.int64]]:
    """Compute the L2 norm of each item's column, and count its raters.

    Squares are added one by one in the order of the people. So an item has the same norm, to the
    last bit, in a table of all items as in a table of some of them.

    Returns:
        (items,) norms and (items,) numbers of raters.
    """
    values = table.values
    items = values.shape[1]
    squares = np.zeros(items)
    raters = np.zeros(items, dtype=np.int64)
    for start in range(0, values.nnz, _RATINGS_AT_ONCE):
        part = slice(start, start + _RATINGS_AT_ONCE)
        data = values.data[part]
        indices = values.indices[part]
        np.add.at(squares, indices, data * data)
        raters += np.bincount(indices, minlength=items)
    return np.sqrt(squares), raters
