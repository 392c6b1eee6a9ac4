"""Step 4 with privacy as published: PNSA draws k neighbours, PNCF adds noise to similarities.

Source   the X-Map technical report, Theorems 2 to 4. All other items are candidates to be
         neighbours of an item. A misprint is corrected: the truncated similarity is
         max(Sim, Sim_k - w); the authors' code has max(Sim, Sim - w), which is Sim for w >= 0.
Readings the formula of the width w (`theory.truncation`) has a length |v|. The report says that it
         is the length of the longest rating vector (reading "printed"); the report's proofs use it
         as the number of candidates ("counted"). Reading "positive" deviates from the report: only
         items of positive similarity are candidates, and |v| is their number.
Guarantee  none: the sensitivity SS is computed from the private data, and it is not an upper bound
         of what one person can change.
Sampler  draws in proportion to whole weights (`mechanisms/weights.py`); noise from OpenDP's
         discrete Laplace sampler.

The budget is epsilon', the nats claimed for one list of neighbours: half of it is for the draws,
half for the noise. For a user-based model people take the place of items (`PeopleNeighbours`).
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
"""Number of items whose neighbours are drawn together."""
_NOISE_UNIT = 1 << 20
"""Noise of scale 1 is drawn as a whole number of scale _NOISE_UNIT, and divided by _NOISE_UNIT."""
_WEIGHT_BITS = 40
"""The largest weight of a draw is 2**40. Candidates that are less than 2**-40 times as likely as
the most likely one have weight 0 and are not drawn."""
_LEAST_RELATIVE_NORM = 1e-12
"""A product of squared norms without one person counts as 0 if it is at most this share of the
product with that person: then only rounding is left of it."""


class Candidates(NamedTuple):
    """Candidates to be neighbours of one item or person."""

    numbers: Numbers
    """(n,) numbers of the candidates, which are items or people."""
    similarities: Floats
    """(n,) Sim: similarity of each candidate to the item or person."""
    sensitivities: Floats
    """(n,) SS of each similarity, as printed."""

    def where(self, mask: NDArray[np.bool_]) -> Candidates:
        """Keep the candidates for which an (n,) mask is True."""
        return Candidates(self.numbers[mask], self.similarities[mask], self.sensitivities[mask])


class NeighbourParameters(NamedTuple):
    """Parameters of PNSA and PNCF."""

    k: int
    """Number of neighbours of each item or person."""
    budget: float
    """epsilon': half of it is for the draws, half for the noise."""
    reading: Pnsa
    """Reading of the report: which items are candidates, and what |v| is."""


def measure_candidates(
    rows: Numbers, values: Floats, columns: sparse.csr_array, squares: Floats, significance: int
) -> Candidates:
    """Compute the similarity and SS of one column of centred stars with every column of a matrix.

    Columns are items and rows people, or the other way round. r_i is the one column, r_j a column
    of the matrix, and x a row with entries in both:

        Sim = r_i . r_j / (|r_i| |r_j|)
        SS  = max over x of  r_xi r_xj / (|r'_i| |r'_j|)
              and of         r_i . r_j / (|r'_i| |r'_j|) - Sim,      r' = r without row x

    Args:
        rows: (entries,) rows of the column's entries.
        values: (entries,) the column's entries.
        columns: (all rows, n) CSR of all columns.
        squares: (n,) squared norms of all columns.
        significance: A similarity is scaled down if fewer rows than this have entries in both
            columns; 0: never.

    Returns:
        All n columns as candidates, also the one column itself if it is in the matrix. SS is -inf
        if there is no row x with entries in both columns, or if for each such row |r'_i| or |r'_j|
        is 0.
    """
    n = columns.shape[1]
    square = float(values @ values)  # |r_i|^2

    # List all pairs of an entry of the one column (r_xi) and an entry of the matrix in the same row
    # (r_xj). Entry e of the column is in row rows[e], which has lengths[e] entries in the matrix;
    # they are consecutive in the CSR.
    lengths = np.diff(columns.indptr)[rows]
    first_pair_of_row = np.cumsum(lengths) - lengths
    shift = np.repeat(columns.indptr[rows] - first_pair_of_row, lengths)
    entries = shift + np.arange(len(shift))  # positions in columns.data
    j = columns.indices[entries]
    r_xi = np.repeat(values, lengths)
    r_xj = columns.data[entries]

    dots = np.bincount(j, r_xi * r_xj, minlength=n)
    shared_rows = np.bincount(j, minlength=n)  # number of rows with entries in both columns
    norms = np.sqrt(square * squares)
    similarities = np.divide(dots, norms, out=np.zeros(n), where=norms > 0)

    # |r'_i|^2 |r'_j|^2 for each pair; pairs for which it is 0 have no term of SS.
    squares_without_x = (square - r_xi**2) * (squares[j] - r_xj**2)
    has_norm = squares_without_x > _LEAST_RELATIVE_NORM * square * squares[j]
    j = j[has_norm]
    norms_without_x = np.sqrt(squares_without_x[has_norm])
    first_terms = r_xi[has_norm] * r_xj[has_norm] / norms_without_x
    second_terms = dots[j] / norms_without_x - similarities[j]
    sensitivities = np.full(n, -np.inf)
    np.maximum.at(sensitivities, j, np.maximum(first_terms, second_terms))

    if significance:
        similarities = similarities * np.minimum(shared_rows, significance) / significance
    return Candidates(np.arange(n, dtype=np.int32), similarities, sensitivities)


def admit_candidates(candidates: Candidates, reading: Pnsa) -> Candidates:
    """Keep the candidates that a reading of PNSA allows: all, or those of positive similarity."""
    if reading == "positive":
        return candidates.where(candidates.similarities > 0)
    return candidates


def draw_neighbours(
    lists: list[Candidates], pnsa: NeighbourParameters, longest_vector: int, source: Source
) -> tuple[Numbers, Floats]:
    """Draw neighbours by PNSA, and add noise to their similarities by PNCF.

    Args:
        lists: The candidates of each item or person.
        pnsa: Parameters of both mechanisms.
        longest_vector: Number of ratings of the longest rating vector: |v| in reading "printed".
        source: Where PNSA's draws come from. PNCF's noise always comes from the operating system.

    Returns:
        (len(lists), k) numbers of the neighbours in the order of the draws, -1 where a list has
        fewer than k; and (len(lists), k) noisy similarities, 0 where there is no neighbour.
    """
    k = pnsa.k
    budget = pnsa.budget
    longest_list = max(len(candidates.numbers) for candidates in lists)
    shape = (len(lists), max(k, longest_list))
    exponents = np.full(shape, -np.inf)
    numbers = np.zeros(shape, dtype=np.int32)
    similarities = np.zeros(shape)
    noise_scales = np.zeros(shape)
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
        noise_scales[row, :size] = np.maximum(candidates.sensitivities, FLOOR) / (budget / 2)

    # PNSA: the exponential mechanism, k times.
    chosen = _draw_without_repetition(exponents, k, source)
    # Where no candidate was drawn, -1 makes `take_along_axis` read the last column; what it reads
    # is replaced at the end.
    is_drawn = chosen >= 0

    # PNCF: Laplace noise of scale SS / (epsilon' / 2), with SS at least FLOOR.
    whole_noise = discrete_laplace(np.zeros(chosen.shape, dtype=np.int64), float(_NOISE_UNIT))
    noise = np.take_along_axis(noise_scales, chosen, axis=1) * (whole_noise / _NOISE_UNIT)
    noisy_similarities = np.take_along_axis(similarities, chosen, axis=1) + noise

    neighbours = np.where(is_drawn, np.take_along_axis(numbers, chosen, axis=1), -1)
    return neighbours.astype(np.int32), np.where(is_drawn, noisy_similarities, 0.0)


def _draw_without_repetition(exponents: Floats, k: int, source: Source) -> NDArray[np.int64]:
    """Draw k columns of each row one after the other, each column at most once.

    Args:
        exponents: (rows, n) logarithms of weights; -inf for a column that is never drawn.
        k: Number of draws.
        source: Where draws come from.

    Returns:
        (rows, k) column numbers; -1 once a row has no column left.
    """
    remaining = exponents.copy()
    chosen = np.full((len(remaining), k), -1, dtype=np.int64)
    for draw in range(k):
        rows = np.flatnonzero(np.isfinite(remaining.max(axis=1)))
        if not rows.size:
            break
        largest = remaining[rows].max(axis=1, keepdims=True)
        weights = np.exp(remaining[rows] - largest)
        whole_weights = np.floor(weights * (1 << _WEIGHT_BITS)).astype(np.int64)
        columns = draw_rows(whole_weights, source)
        chosen[rows, draw] = columns
        remaining[rows, columns] = -np.inf
    return chosen


def longest_rating_vector(values: sparse.csr_array) -> int:
    """Return the largest number of ratings of any item: |v| in reading "printed"."""
    return int(np.bincount(values.indices, minlength=1).max())


def draw_item_neighbours(
    values: sparse.csr_array, significance: int, pnsa: NeighbourParameters, source: Source
) -> tuple[Numbers, Floats]:
    """Draw the neighbours of every target item, and noisy similarities to them.

    Args:
        values: (people, n_target) CSR of everybody's centred target profiles (AlterEgos).
        significance: A similarity is scaled down if fewer people than this rated both items; 0:
            never.
        pnsa: Parameters of both mechanisms.
        source: Where PNSA's draws come from; they are made in the order of the items.

    Returns:
        (n_target, k) positions of the neighbours in the target domain, -1 where an item has fewer
        than k; and (n_target, k) noisy similarities, 0 where there is no neighbour.
    """
    n_items = values.shape[1]
    longest_vector = longest_rating_vector(values)
    all_items = np.arange(n_items, dtype=np.int32)
    candidates_in_order = candidates_of_items(values, all_items, significance)
    neighbours = np.empty((n_items, pnsa.k), dtype=np.int32)
    similarities = np.empty((n_items, pnsa.k))
    for start in range(0, n_items, _ITEMS_AT_ONCE):
        block = slice(start, start + _ITEMS_AT_ONCE)
        candidates_of_block = islice(candidates_in_order, _ITEMS_AT_ONCE)
        lists = [admit_candidates(candidates, pnsa.reading) for candidates in candidates_of_block]
        drawn, noisy_similarities = draw_neighbours(lists, pnsa, longest_vector, source)
        neighbours[block] = drawn
        similarities[block] = noisy_similarities
    return neighbours, similarities


def candidates_of_items(
    values: sparse.csr_array, items: Numbers, significance: int
) -> Iterator[Candidates]:
    """Yield the candidates of each item: all other items, with similarities and sensitivities.

    Args:
        values: (people, n) CSR of centred stars.
        items: Numbers of the items whose candidates are yielded.
        significance: A similarity is scaled down if fewer people than this rated both items; 0:
            never.
    """
    n_items = values.shape[1]
    squares: Floats = np.bincount(values.indices, values.data**2, minlength=n_items).astype(float)
    # The ratings in order of items; those of item i are from starts[i] to starts[i + 1].
    by_item = np.argsort(values.indices, kind="stable")
    people = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))[by_item]
    stars = values.data[by_item]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values.indices, minlength=n_items))])
    for item in items.tolist():
        ratings = slice(starts[item], starts[item + 1])
        raters = people[ratings].astype(np.int32)
        candidates = measure_candidates(raters, stars[ratings], values, squares, significance)
        yield candidates.where(candidates.numbers != item)
