"""PNSA and PNCF as published: k neighbours drawn, and noise on their similarities.

Source   the X-Map technical report, Theorems 2 to 4. Misprints corrected: the truncated similarity
         is max(Sim, Sim_k - w); the report's own code takes max(Sim, Sim - w), which does nothing.
         Candidates are listed singly.
Guarantee  none: SS is computed from the private data, and it is not even a bound of what one
         person can change.
Sampler  draws in proportion to whole weights, noise from OpenDP's discrete Laplace.

A budget is epsilon', the nats claimed for one list of neighbours: half to draw, half for noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.recommender import ItemNeighbours
from tacit.designs.xmap.theory import FLOOR, neighbour_exponents
from tacit.engine import Numbers, Table
from tacit.mechanisms.noise import discrete_laplace
from tacit.mechanisms.selection import draw_rows
from tacit.randomness import Source

Floats = NDArray[np.float64]
_BLOCK = 256
_UNIT = 1 << 20  # noise of scale 1 comes in steps of 2**-20
_BITS = 40
_SMALL = 1e-12  # relative: a squared norm below it counts as 0


class Candidates(NamedTuple):
    """Of one item: numbers of those with a positive similarity, Sim and printed SS."""

    numbers: Numbers
    similarities: Floats
    sensitivities: Floats

    def only(self, kept: NDArray[np.bool_]) -> Candidates:
        return Candidates(self.numbers[kept], self.similarities[kept], self.sensitivities[kept])


def candidates(
    places: Numbers, values: Floats, columns: sparse.csr_array, squares: Floats, significance: int
) -> Candidates:
    """Similarity and SS of one column with all columns.

    places, values: its entries. columns: (rows, n) CSR; squares: (n,) squared norms. SS is
    -inf where everybody who rated both leaves a norm of 0.
    """
    counts = np.diff(columns.indptr)[places]
    entries = np.repeat(columns.indptr[places] - (np.cumsum(counts) - counts), counts)
    entries = entries + np.arange(len(entries))
    of, v = columns.indices[entries], columns.data[entries]
    a, n = np.repeat(values, counts), columns.shape[1]
    own = float(values @ values)
    dots = np.bincount(of, a * v, minlength=n)
    both = np.bincount(of, minlength=n)
    lengths = np.sqrt(own * squares)
    s = np.divide(dots, lengths, out=np.zeros(n), where=lengths > 0)
    left = (own - a**2) * (squares[of] - v**2)
    there = left > _SMALL * own * squares[of]
    of, a, v, norms = of[there], a[there], v[there], np.sqrt(left[there])
    worst = np.full(n, -np.inf)
    np.maximum.at(worst, of, np.maximum(a * v / norms, dots[of] / norms - s[of]))
    if significance:
        s = s * np.minimum(both, significance) / significance
    numbers = np.flatnonzero(s > 0).astype(np.int32)
    return Candidates(numbers, s[numbers], worst[numbers])


def drawn_neighbours(
    lists: list[Candidates], k: int, budget: float, source: Source
) -> tuple[Numbers, Floats]:
    """Both (len(lists), k): neighbours by PNSA, -1 where fewer, and similarities by PNCF."""
    shape = (len(lists), max([k, *(len(found.numbers) for found in lists)]))
    exponents = np.full(shape, -np.inf)
    numbers = np.zeros(shape, dtype=np.int32)
    similarities, scales = np.zeros(shape), np.zeros(shape)
    for row, found in enumerate(lists):
        if size := len(found.numbers):
            exponents[row, :size] = neighbour_exponents(*found[1:], k, budget)
            numbers[row, :size], similarities[row, :size] = found[:2]
            scales[row, :size] = np.maximum(found.sensitivities, FLOOR) / (budget / 2)
    chosen = _peeled(exponents, k, source)
    drawn = chosen >= 0
    noisy = np.take_along_axis(similarities, chosen, axis=1)
    noisy += np.take_along_axis(scales, chosen, axis=1) * unit_laplace(chosen.shape)
    items = np.where(drawn, np.take_along_axis(numbers, chosen, axis=1), -1)
    return items.astype(np.int32), np.where(drawn, noisy, 0.0)


def _peeled(exponents: Floats, k: int, source: Source) -> NDArray[np.int64]:
    """(rows, k) indices drawn without repetition, in proportion to e^exponent; -1: none is left."""
    left = exponents.copy()
    chosen = np.full((len(left), k), -1, dtype=np.int64)
    for place in range(k):
        rows = np.flatnonzero(np.isfinite(left.max(axis=1)))
        if not rows.size:
            break
        # Whole weights: whatever is e^-28 less likely than the best is not drawn.
        scaled = np.exp(left[rows] - left[rows].max(axis=1, keepdims=True))
        chosen[rows, place] = draw_rows(np.floor(scaled * (1 << _BITS)).astype(np.int64), source)
        left[rows, chosen[rows, place]] = -np.inf
    return chosen


def unit_laplace(shape: tuple[int, ...]) -> Floats:
    """Noise of scale 1, on its grid."""
    noise = discrete_laplace(np.zeros(int(np.prod(shape)), dtype=np.int64), float(_UNIT))
    return (noise / _UNIT).reshape(shape)


def published_neighbours(
    table: Table, means: Floats, k: int, significance: int, budget: float, source: Source
) -> ItemNeighbours:
    """Every target item's neighbours by PNSA with PNCF's similarities, drawn once for everybody.

    table: of centred profiles. What is drawn hangs on the order of the items.
    """
    m = len(means)
    every = np.arange(m, dtype=np.int32)
    lists = candidates_of(table.values, every, significance)
    items, similarities = np.empty((m, k), dtype=np.int32), np.empty((m, k))
    for start in range(0, m, _BLOCK):
        part = slice(start, start + _BLOCK)
        some = [*islice(lists, _BLOCK)]
        items[part], similarities[part] = drawn_neighbours(some, k, budget, source)
    return ItemNeighbours(means, items, similarities)


def candidates_of(values: sparse.csr_array, of: Numbers, significance: int) -> Iterator[Candidates]:
    """Of each item its candidates among the others. values: (people, items) centred stars."""
    width = values.shape[1]
    squares: Floats = np.bincount(values.indices, values.data**2, minlength=width).astype(float)
    order = np.argsort(values.indices, kind="stable")
    people = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values.indices, minlength=width))])
    for item in of.tolist():
        rows = slice(starts[item], starts[item + 1])
        found = candidates(
            people[rows].astype(np.int32), values.data[order[rows]], values, squares, significance
        )
        yield found.only(found.numbers != item)
