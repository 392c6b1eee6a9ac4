"""The readable engine, NumPy and SciPy: what the compiled one must equal to the last bit.

Source   the cosine of two items' columns of centred ratings, with the norms over all raters (Sarwar
         et al., WWW 2001); agreements and significance weighting as X-Map uses them.

A sum over co-raters adds their products one by one, in the order of the people; then it is divided
by the product of the two norms, then weighted. Along a path agreements, weighted similarities and
shares are gathered from its start to its end. Paths that end with the same edge are added one by
one, in the order of their edges (first stage first); the sums of the last edges, times their
shares, are added in the order of those edges. A sum over a person's rated items adds their terms
one by one, in the order of the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Floats, Neighbours, Numbers, Stage, Table, cut_rows
from tacit.engine.item_item import check_arguments, make_empty_lists, norms_and_raters
from tacit.engine.paths_compiled import check_paths, check_predictions

Counts = NDArray[np.int32]


@dataclass(frozen=True)
class LocalEngine:
    """What an engine means, in the plainest arithmetic; slow on large data.

    cells: numbers in one dense working array; memory is that of some copies of the input, the
    answer, and a few such arrays. It changes no answer.
    """

    cells: int = 4_000_000

    def neighbours(
        self,
        table: Table,
        *,
        items: Numbers,
        candidates: Numbers,
        k: int,
        significance: int = 0,
        counts: bool = True,
    ) -> Neighbours:
        return _neighbours(table, items, candidates, k, significance, counts, self.cells)

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        check_paths(stages, starts)
        last = stages[-1]
        sums = np.zeros((2, len(starts), last.width))
        sources = np.repeat(np.arange(len(last.offsets) - 1), np.diff(last.offsets))
        height = max(1, self.cells // max(1, len(last.targets)))
        for begin in range(0, len(starts), height):
            part = starts[begin : begin + height].astype(np.int64)
            rows = np.arange(len(part))
            by_edge = np.zeros((len(part), len(last.targets)))
            by_place = np.zeros((len(part), len(last.offsets) - 1))
            zeros, ones = np.zeros(len(part)), np.ones(len(part))
            _walk(Walks(rows, part, zeros, zeros, ones), stages, self.cells, by_edge, by_place)
            ends = begin + rows[:, None], last.targets
            np.add.at(sums[0], ends, by_edge * last.shares)
            np.add.at(sums[1], ends, by_place[:, sources] * last.shares)
        return sums[0], sums[1]

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        check_predictions(deviations, weights, similar)
        weighted = sparse.csr_array(
            (weights.data * deviations.data, deviations.indices, deviations.indptr),
            deviations.shape,
        )
        towards, sizes = similar.T.tocsr(), abs(similar).T.tocsr()
        answer: Floats = np.zeros(deviations.shape)
        for rows in cut_rows(deviations.shape, self.cells):
            totals = (weights[rows] @ sizes).toarray()
            np.divide(
                (weighted[rows] @ towards).toarray(), totals, out=answer[rows], where=totals > 0
            )
        return answer


@dataclass(frozen=True, eq=False)
class Walks:
    """Paths walked so far, one per entry: whose row, where they stand, and what they gathered."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    weighted: Floats
    agreements: Floats
    certainties: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, entries: slice) -> Walks:
        return Walks(**{name: values[entries] for name, values in vars(self).items()})


def _walk(
    walks: Walks, stages: Sequence[Stage], cells: int, by_edge: Floats, by_place: Floats
) -> None:
    """Depth first in parts, so that no more than about `cells` paths of a stage exist at once."""
    if len(stages) == 1:
        np.add.at(by_place, (walks.rows, walks.places), walks.certainties)
    degrees = np.diff(stages[0].offsets)[walks.places]
    begin = 0
    while begin < len(walks):
        fitting = int(np.searchsorted(np.cumsum(degrees[begin:]), cells, side="right"))
        part = walks.part(slice(begin, begin + max(1, fitting)))
        parent, edge = _edges(part, stages[0])
        if len(stages) == 1:
            weighted, agreements = _gathered(part, stages[0], parent, edge)
            terms = part.certainties[parent] * (weighted / agreements)
            np.add.at(by_edge, (part.rows[parent], edge), terms)
        else:
            _walk(_step(part, stages[0], parent, edge), stages[1:], cells, by_edge, by_place)
        begin += len(part)


def _edges(walks: Walks, stage: Stage) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every edge of every walk's place, in their order: which walk, and which edge."""
    degrees = np.diff(stage.offsets)[walks.places]
    parent = np.repeat(np.arange(len(walks)), degrees)
    first = np.repeat(stage.offsets[walks.places] - (np.cumsum(degrees) - degrees), degrees)
    return parent, first + np.arange(len(parent))


def _gathered(
    walks: Walks, stage: Stage, parent: NDArray[np.int64], edge: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Weighted similarities and agreements after the edge."""
    weighted: Floats = stage.agreements[edge] * stage.similarities[edge]
    return walks.weighted[parent] + weighted, walks.agreements[parent] + stage.agreements[edge]


def _step(walks: Walks, stage: Stage, parent: NDArray[np.int64], edge: NDArray[np.int64]) -> Walks:
    weighted, agreements = _gathered(walks, stage, parent, edge)
    return Walks(
        walks.rows[parent],
        stage.targets[edge].astype(np.int64),
        weighted,
        agreements,
        walks.certainties[parent] * stage.shares[edge],
    )


def _neighbours(
    table: Table,
    items: Numbers,
    candidates: Numbers,
    k: int,
    significance: int,
    counts: bool,
    cells: int,
) -> Neighbours:
    check_arguments(table, items, candidates, k, significance, counts)
    candidates = np.sort(candidates)
    found = make_empty_lists(items, k)
    lengths, _ = norms_and_raters(table)
    others = _columns(table, candidates)
    width = max(1, cells // max(1, len(candidates)))
    for start in range(0, len(items), width):
        rows = slice(start, start + width)
        block = _columns(table, items[rows])
        similarities = _cosines(block[0], others[0], lengths[items[rows]], lengths[candidates])
        edges = items[rows][:, None] != candidates
        co_counts = agreements = np.zeros_like(similarities, dtype=np.int32)
        if counts:
            co_counts, agreements = _counts(block, others)
            edges &= agreements > 0
        if significance:
            similarities *= np.minimum(co_counts, significance) / significance
        edges &= similarities != 0
        _keep_nearest(found, rows, candidates, similarities, co_counts, agreements, edges)
    return found


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
    candidates: Numbers,
    similarities: Floats,
    co_counts: Counts,
    agreements: Counts,
    edges: NDArray[np.bool_],
) -> None:
    k = found.neighbours.shape[1]
    strengths = np.where(edges, np.abs(similarities), -1.0)
    # Stable, and `candidates` is sorted: equal strengths stay in the order of their numbers.
    order = np.argsort(-strengths, axis=1, kind="stable")[:, :k]
    kept = np.take_along_axis(edges, order, axis=1)
    width = order.shape[1]
    found.neighbours[rows, :width] = np.where(kept, candidates[order], -1)
    for target, source in (
        (found.similarities, similarities),
        (found.co_counts, co_counts),
        (found.agreements, agreements),
    ):
        target[rows, :width] = np.where(kept, np.take_along_axis(source, order, axis=1), 0)
