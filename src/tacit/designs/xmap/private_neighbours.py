"""Step 4 with privacy as published: PNSA draws k neighbours, PNCF adds noise to similarities.

Source   the X-Map technical report, Theorems 2 to 4. All other items are candidates, each by
         itself. Misprint corrected: the truncated similarity is max(Sim, Sim_k - w); the report's
         own code takes max(Sim, Sim - w), which does nothing.
Readings the width w of the truncation (`theory.truncation`) has a length |v|. It is printed as
         that of the longest rating vector ("printed"), while the proofs count candidates with it
         ("counted"). "positive" is a deviation: candidates are only the positively similar ones,
         and |v| is their number.
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

from tacit.designs.xmap.settings import Pnsa
from tacit.designs.xmap.theory import FLOOR, neighbour_exponents
from tacit.engine import Numbers
from tacit.mechanisms.laplace import discrete_laplace
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Floats = NDArray[np.float64]
_ITEMS_AT_ONCE = 256
_NOISE_UNIT = 1 << 20
"""Noise of scale 1 comes in steps of 2**-20."""
_WEIGHT_BITS = 40
"""The largest weight is 2**40: what is e**-28 less likely than the best is not drawn."""
_LEAST_NORM = 1e-12
"""Relative: a squared norm below it counts as 0."""


class Candidates(NamedTuple):
    """Candidates to be neighbours of one item or person."""

    numbers: Numbers
    """(n,) which items or people they are."""
    similarities: Floats
    """(n,) Sim."""
    sensitivities: Floats
    """(n,) SS as printed."""

    def keep(self, kept: NDArray[np.bool_]) -> Candidates:
        """Keep some of the candidates."""
        return Candidates(self.numbers[kept], self.similarities[kept], self.sensitivities[kept])


class PrivateNeighbours(NamedTuple):
    """Parameters of PNSA and PNCF."""

    k: int
    """Neighbours of each item or person."""
    budget: float
    """epsilon', half of it to draw and half for noise."""
    reading: Pnsa
    """Which candidates there are, and what |v| of w counts."""


def measure_candidates(
    places: Numbers, values: Floats, columns: sparse.csr_array, squares: Floats, significance: int
) -> Candidates:
    """Compute similarity and SS of one column with all columns.

    With r_i the column, r_j another, and x a row with entries in both:

        Sim = r_i . r_j / (|r_i| |r_j|)
        SS  = max over x of  r_xi r_xj / (|r'_i| |r'_j|)
              and of         r_i . r_j / (|r'_i| |r'_j|) - Sim,      r' = r without row x

    Args:
        places: (entries,) rows of the column's entries.
        values: (entries,) the entries, centred stars.
        columns: (rows, n) CSR of all columns.
        squares: (n,) squared norms of all columns.
        significance: Raters of both below which a similarity is scaled down; 0: never.

    Returns:
        All n columns, the column itself among them. SS is -inf where nobody rated both, or where
        everybody who did leaves a norm of 0.
    """
    n = columns.shape[1]
    square = float(values @ values)

    # Every pair of an entry of the column and an entry of another in the same row.
    lengths = np.diff(columns.indptr)[places]
    starts = np.repeat(columns.indptr[places] - (np.cumsum(lengths) - lengths), lengths)
    entries = starts + np.arange(len(starts))
    other = columns.indices[entries]
    r_xi = np.repeat(values, lengths)
    r_xj = columns.data[entries]

    dots = np.bincount(other, r_xi * r_xj, minlength=n)
    raters_of_both = np.bincount(other, minlength=n)
    norms = np.sqrt(square * squares)
    similarities = np.divide(dots, norms, out=np.zeros(n), where=norms > 0)

    squares_without_x = (square - r_xi**2) * (squares[other] - r_xj**2)
    has_norm = squares_without_x > _LEAST_NORM * square * squares[other]
    other = other[has_norm]
    norms_without_x = np.sqrt(squares_without_x[has_norm])
    products = r_xi[has_norm] * r_xj[has_norm] / norms_without_x
    changes = dots[other] / norms_without_x - similarities[other]
    sensitivities = np.full(n, -np.inf)
    np.maximum.at(sensitivities, other, np.maximum(products, changes))

    if significance:
        similarities = similarities * np.minimum(raters_of_both, significance) / significance
    return Candidates(np.arange(n, dtype=np.int32), similarities, sensitivities)


def admit_candidates(candidates: Candidates, reading: Pnsa) -> Candidates:
    """Leave out the candidates that the reading of PNSA does not admit."""
    if reading == "positive":
        return candidates.keep(candidates.similarities > 0)
    return candidates


def draw_neighbours(
    lists: list[Candidates], pnsa: PrivateNeighbours, longest_vector: int, source: Source
) -> tuple[Numbers, Floats]:
    """Draw neighbours by PNSA, and their similarities by PNCF.

    Args:
        lists: The candidates of each item or person.
        pnsa: Parameters of both mechanisms.
        longest_vector: Ratings of the longest rating vector, |v| as it is printed.
        source: Where PNSA's draws come from; PNCF's noise is always the system's.

    Returns:
        Numbers of neighbours, -1 where there are fewer, and noisy similarities; both
        (len(lists), k).
    """
    k = pnsa.k
    budget = pnsa.budget
    longest_list = max(len(candidates.numbers) for candidates in lists)
    shape = (len(lists), max(k, longest_list))
    exponents = np.full(shape, -np.inf)
    numbers = np.zeros(shape, dtype=np.int32)
    similarities = np.zeros(shape)
    scales = np.zeros(shape)
    for row, candidates in enumerate(lists):
        size = len(candidates.numbers)
        if size == 0:
            continue
        length = longest_vector if pnsa.reading == "printed" else size
        exponents[row, :size] = neighbour_exponents(
            candidates.similarities, candidates.sensitivities, k, budget, length
        )
        numbers[row, :size] = candidates.numbers
        similarities[row, :size] = candidates.similarities
        scales[row, :size] = np.maximum(candidates.sensitivities, FLOOR) / (budget / 2)

    # PNSA: the exponential mechanism, k times.
    chosen = _draw_without_repetition(exponents, k, source)
    is_drawn = chosen >= 0

    # PNCF: Laplace noise of scale SS / (epsilon' / 2).
    whole_noise = discrete_laplace(np.zeros(chosen.shape, dtype=np.int64), float(_NOISE_UNIT))
    noise = np.take_along_axis(scales, chosen, axis=1) * (whole_noise / _NOISE_UNIT)
    noisy = np.take_along_axis(similarities, chosen, axis=1) + noise

    neighbours = np.where(is_drawn, np.take_along_axis(numbers, chosen, axis=1), -1)
    return neighbours.astype(np.int32), np.where(is_drawn, noisy, 0.0)


def _draw_without_repetition(exponents: Floats, k: int, source: Source) -> NDArray[np.int64]:
    """Draw (rows, k) places in proportion to e^exponent, none twice; -1 where none is left."""
    left = exponents.copy()
    chosen = np.full((len(left), k), -1, dtype=np.int64)
    for place in range(k):
        rows = np.flatnonzero(np.isfinite(left.max(axis=1)))
        if not rows.size:
            break
        weights = np.exp(left[rows] - left[rows].max(axis=1, keepdims=True))
        whole_weights = np.floor(weights * (1 << _WEIGHT_BITS)).astype(np.int64)
        chosen[rows, place] = draw_rows(whole_weights, source)
        left[rows, chosen[rows, place]] = -np.inf
    return chosen


def longest_rating_vector(values: sparse.csr_array) -> int:
    """Count the ratings of the item that most people rated: |v| as printed."""
    return int(np.bincount(values.indices, minlength=1).max())


def draw_item_neighbours(
    values: sparse.csr_array, significance: int, pnsa: PrivateNeighbours, source: Source
) -> tuple[Numbers, Floats]:
    """Draw every target item's neighbours and similarities, once for everybody.

    Args:
        values: (people, n_target) centred target profiles of everybody, AlterEgos included.
        significance: Raters of both below which a similarity is scaled down; 0: never.
        pnsa: Parameters of both mechanisms.
        source: Where draws come from. What is drawn depends on the order of the items.

    Returns:
        Numbers of neighbours, -1 where there are fewer, and noisy similarities; both (n_target, k).
    """
    count = values.shape[1]
    longest_vector = longest_rating_vector(values)
    others = candidates_of_items(values, np.arange(count, dtype=np.int32), significance)
    neighbours = np.empty((count, pnsa.k), dtype=np.int32)
    similarities = np.empty((count, pnsa.k))
    for start in range(0, count, _ITEMS_AT_ONCE):
        part = slice(start, start + _ITEMS_AT_ONCE)
        block = islice(others, _ITEMS_AT_ONCE)
        lists = [admit_candidates(candidates, pnsa.reading) for candidates in block]
        neighbours[part], similarities[part] = draw_neighbours(lists, pnsa, longest_vector, source)
    return neighbours, similarities


def candidates_of_items(
    values: sparse.csr_array, items: Numbers, significance: int
) -> Iterator[Candidates]:
    """Measure all other items as candidates of each item.

    Args:
        values: (people, n) centred stars.
        items: Numbers of the items whose candidates are wanted.
        significance: Raters of both below which a similarity is scaled down; 0: never.
    """
    width = values.shape[1]
    squares: Floats = np.bincount(values.indices, values.data**2, minlength=width).astype(float)
    by_item = np.argsort(values.indices, kind="stable")
    people = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))[by_item]
    stars = values.data[by_item]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values.indices, minlength=width))])
    for item in items.tolist():
        rows = slice(starts[item], starts[item + 1])
        raters = people[rows].astype(np.int32)
        measured = measure_candidates(raters, stars[rows], values, squares, significance)
        yield measured.keep(measured.numbers != item)
