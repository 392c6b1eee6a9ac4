"""The k most alike items, where an engine gives the k nearest by absolute similarity.

Neighbours of negative similarity belong into no list of the most alike, and prediction suffers from
them, so ever longer lists are asked for until k positive ones are found or the list ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.base import Engine, Neighbours, Numbers, Table
from tacit.recommenders.base import Floats

Places = NDArray[np.intp]


def most_alike(engine: Engine, table: Table, *, k: int, significance: int) -> sparse.csr_array:
    """(items, items) CSR, sorted indices: in row i the similarities of its up to k most alike."""
    width = table.values.shape[1]
    every = np.arange(width, dtype=np.int32)
    waiting, asked = every, 2 * k
    rows, columns, values = [], [], []
    while waiting.size:
        asked = min(asked, width)
        found = engine.neighbours(
            table,
            of=waiting,
            among=every,
            k=asked,
            significance=significance,
            counts=significance > 0,
        )
        places, kept, similarities = _positive(found, k)
        counts = np.bincount(places, minlength=len(waiting))
        ended = (counts >= k) | (found.items[:, -1] < 0) | (asked == width)
        done = ended[places]
        rows.append(waiting[places[done]])
        columns.append(kept[done])
        values.append(similarities[done])
        waiting, asked = waiting[~ended], 2 * asked
    pairs = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = sparse.csr_array(pairs, shape=(width, width))
    matrix.sort_indices()
    return matrix


def _positive(found: Neighbours, k: int) -> tuple[Places, Numbers, Floats]:
    """Places in `found.of`, items and similarities of each one's first k positive neighbours."""
    positive = found.similarities > 0
    chosen = positive & (np.cumsum(positive, axis=1) <= k)
    return np.nonzero(chosen)[0], found.items[chosen], found.similarities[chosen]
