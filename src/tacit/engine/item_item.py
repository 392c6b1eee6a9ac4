"""Nearest items by adjusted cosine, readable: what every faster engine must equal to the last bit.

Source   the cosine of two items' columns of centred ratings, with the norms over all raters (Sarwar
         et al., WWW 2001); agreements and significance weighting as X-Map uses them.

A sum over co-raters adds their products one by one, in the order of the people; then it is divided
by the product of the two norms, then weighted. Keeping to this order makes engines equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.base import Floats, Neighbours, Numbers, Table
from tacit.errors import ConfigError

Counts = NDArray[np.int32]
_PART = 2**16  # ratings squared at a time


def neighbours(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool, cells: int
) -> Neighbours:
    """`Engine.neighbours`, with a dense block of at most `cells` pairs at a time."""
    check(table, of, among, k, significance, counts)
    among = np.sort(among)
    found = empty(of, k)
    lengths, _ = norms_and_raters(table)
    others = _columns(table, among)
    width = max(1, cells // max(1, len(among)))
    for start in range(0, len(of), width):
        rows = slice(start, start + width)
        block = _columns(table, of[rows])
        similarities = _cosines(block[0], others[0], lengths[of[rows]], lengths[among])
        edges = of[rows][:, None] != among
        co_counts = agreements = np.zeros_like(similarities, dtype=np.int32)
        if counts:
            co_counts, agreements = _counts(block, others)
            edges &= agreements > 0
        if significance:
            similarities *= np.minimum(co_counts, significance) / significance
        edges &= similarities != 0
        _keep_nearest(found, rows, among, similarities, co_counts, agreements, edges)
    return found


def check(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool
) -> None:
    """Refuse what no engine can answer."""
    if k < 1 or significance < 0:
        raise ConfigError(
            f"Neighbours need k of 1 or more and significance of 0 or more; "
            f"got {k} and {significance}."
        )
    if significance and not counts:
        raise ConfigError("Significance weighting counts co-raters: leave counts on.")
    if len(table.likes) != table.values.nnz:
        raise ConfigError(
            f"A table has one like for each of its {table.values.nnz} ratings; "
            f"got {len(table.likes)}."
        )
    for name, numbers in (("of", of), ("among", among)):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < table.values.shape[1]:
            raise ConfigError(f"A number in `{name}` is not one of {table.values.shape[1]} items.")
        if len(np.unique(numbers)) < len(numbers):
            raise ConfigError(f"A number stands twice in `{name}`.")


def empty(of: Numbers, k: int) -> Neighbours:
    """Nobody found yet."""
    shape = (len(of), k)
    return Neighbours(
        np.asarray(of, dtype=np.int32),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int32),
        np.zeros(shape, dtype=np.int32),
    )


def norms_and_raters(table: Table) -> tuple[Floats, NDArray[np.int64]]:
    """Both (items,): the length of each item's column, all raters included, and how many rated.

    Squares, too, are added one by one in the order of the people: an item's length is the same
    in a table of some of the items.
    """
    values, items = table.values, table.values.shape[1]
    squares, raters = np.zeros(items), np.zeros(items, dtype=np.int64)
    for start in range(0, values.nnz, _PART):
        part = slice(start, start + _PART)
        data, indices = values.data[part], values.indices[part]
        np.add.at(squares, indices, data * data)
        raters += np.bincount(indices, minlength=items)
    return np.sqrt(squares), raters


def _columns(
    table: Table, items: Numbers
) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
    """Of some items: their ratings, 1 where liked, and 1 where rated but not liked."""
    values, likes = table.values, table.likes.astype(np.int32)
    liked = sparse.csr_array((likes, values.indices, values.indptr), values.shape)
    disliked = sparse.csr_array((1 - likes, values.indices, values.indptr), values.shape)
    return values[:, items], liked[:, items], disliked[:, items]


def _cosines(
    block: sparse.csr_array, others: sparse.csr_array, norms_of: Floats, norms_among: Floats
) -> Floats:
    dots = (block.T.tocsr() @ others).toarray()
    lengths = norms_of[:, None] * norms_among
    cosines: Floats = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return cosines


def _counts(
    block: tuple[sparse.csr_array, ...], others: tuple[sparse.csr_array, ...]
) -> tuple[Counts, Counts]:
    """Dense co-rater counts and agreements of a block."""
    (_, liked, disliked), (_, liked_too, disliked_too) = block, others
    agreements = (liked.T @ liked_too + disliked.T @ disliked_too).toarray()
    differing = (liked.T @ disliked_too + disliked.T @ liked_too).toarray()
    return agreements + differing, agreements


def _keep_nearest(
    found: Neighbours,
    rows: slice,
    among: Numbers,
    similarities: Floats,
    co_counts: Counts,
    agreements: Counts,
    edges: NDArray[np.bool_],
) -> None:
    k = found.items.shape[1]
    strengths = np.where(edges, np.abs(similarities), -1.0)
    # Stable, and `among` is sorted: equal strengths stay in the order of their numbers.
    order = np.argsort(-strengths, axis=1, kind="stable")[:, :k]
    kept = np.take_along_axis(edges, order, axis=1)
    width = order.shape[1]
    found.items[rows, :width] = np.where(kept, among[order], -1)
    for target, source in (
        (found.similarities, similarities),
        (found.co_counts, co_counts),
        (found.agreements, agreements),
    ):
        target[rows, :width] = np.where(kept, np.take_along_axis(source, order, axis=1), 0)
