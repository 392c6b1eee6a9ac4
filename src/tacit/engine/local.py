"""Engines on one machine: the readable one, NumPy and SciPy, which is the measure of all others.

Every faster engine must equal it to the last bit. Along a path agreements, weighted similarities
and shares are gathered from its start to its end. Paths that end with the same edge are added one
by one, in the order of their edges (first stage first); the sums of the last edges, times their
shares, are added in the order of those edges. A sum over a person's rated items adds their terms
one by one, in the order of the items. Scores are then compared as they are: equal ones are ranked
by the smaller item number.

`CompiledEngine` runs on Numba and one thread, and equals the readable one by test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Floats, Neighbours, Numbers, Stage, Table, item_item
from tacit.errors import ConfigError


@dataclass(frozen=True)
class LocalEngine:
    """What an engine means, in the plainest arithmetic; slow on large data.

    cells: numbers in one dense working array; memory is that of some copies of the input, the
    answer, and a few such arrays. It changes no answer.
    """

    cells: int = 4_000_000

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise ConfigError(f"A block has one cell or more; got {self.cells}.")

    def neighbours(
        self,
        table: Table,
        *,
        of: Numbers,
        among: Numbers,
        k: int,
        significance: int = 0,
        counts: bool = True,
    ) -> Neighbours:
        return item_item.neighbours(table, of, among, k, significance, counts, self.cells)

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        check(stages, starts)
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
        for rows in blocks(deviations.shape, self.cells):
            totals = (weights[rows] @ sizes).toarray()
            np.divide(
                (weighted[rows] @ towards).toarray(), totals, out=answer[rows], where=totals > 0
            )
        return answer

    def top(
        self,
        histories: sparse.csr_array,
        similar: sparse.csr_array,
        *,
        n: int,
        exclude: sparse.csr_array | None = None,
    ) -> tuple[Numbers, Floats]:
        exclude = histories if exclude is None else exclude
        check_top(histories, similar, n, exclude)
        items = np.full((histories.shape[0], n), -1, dtype=np.int32)
        scores = np.zeros((histories.shape[0], n))
        reaches = _pattern(similar)
        for rows in blocks(histories.shape, self.cells):
            values = (histories[rows] @ similar).toarray()
            # A sum of zero is a candidate, an item that nothing leads to is none.
            candidates = (_pattern(histories[rows]) @ reaches).toarray() > 0
            candidates &= _pattern(exclude[rows]).toarray() == 0
            order = np.argsort(np.where(candidates, -values, np.inf), axis=1, kind="stable")[:, :n]
            kept = np.take_along_axis(candidates, order, axis=1)
            width = order.shape[1]
            items[rows, :width] = np.where(kept, order, -1)
            scores[rows, :width] = np.where(kept, np.take_along_axis(values, order, axis=1), 0.0)
        return items, scores


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


def check(stages: Sequence[Stage], starts: Numbers) -> None:
    """Refuse stages that do not fit together."""
    if not stages:
        raise ConfigError("A path has at least one stage.")
    for stage, following in pairwise(stages):
        if stage.width != len(following.offsets) - 1:
            raise ConfigError(
                f"A stage leads to {stage.width} places; the next starts from "
                f"{len(following.offsets) - 1}."
            )
    for stage in stages:
        edges = {len(stage.targets), len(stage.similarities), len(stage.agreements)}
        if edges | {len(stage.shares)} != {int(stage.offsets[-1])}:
            raise ConfigError("A stage's arrays have one entry for each of its edges.")
        if len(stage.targets) and not 0 <= stage.targets.min() <= stage.targets.max() < stage.width:
            raise ConfigError(f"A stage leads to a place outside its {stage.width}.")
    first = len(stages[0].offsets) - 1
    if len(starts) and not 0 <= starts.min() <= starts.max() < first:
        raise ConfigError(f"A path starts outside the {first} places of the first layer.")


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


def check_predictions(
    deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
) -> None:
    """Refuse shapes that do not fit together."""
    _check_square(similar, deviations.shape[1])
    if (
        weights.shape != deviations.shape
        or not np.array_equal(weights.indptr, deviations.indptr)
        or not np.array_equal(weights.indices, deviations.indices)
    ):
        raise ConfigError("Deviations and weights are stored for the same people and items.")
    if len(weights.data) and weights.data.min() < 0:
        raise ConfigError("A weight of a rating is 0 or more.")


def check_top(
    histories: sparse.csr_array, similar: sparse.csr_array, n: int, exclude: sparse.csr_array
) -> None:
    """Refuse shapes that do not fit together, and lists of nothing."""
    _check_square(similar, histories.shape[1])
    if exclude.shape != histories.shape:
        raise ConfigError("What is left out has a row for each person and a column for each item.")
    if n < 1:
        raise ConfigError(f"A list has one item or more; got n={n}.")


def _check_square(similar: sparse.csr_array, items: int) -> None:
    if similar.shape != (items, items):
        raise ConfigError(
            f"{items} items need similarities of {items} by {items}; got "
            f"{similar.shape[0]} by {similar.shape[1]}."
        )


def blocks(shape: tuple[int, int], cells: int) -> list[slice]:
    """Runs of rows of at most `cells` cells together, one row at least."""
    height = max(1, cells // max(1, shape[1]))
    return [slice(start, start + height) for start in range(0, shape[0], height)]


def _pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    """1 at each stored entry, zeros included."""
    ones: NDArray[np.int32] = np.ones(matrix.nnz, dtype=np.int32)
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), matrix.shape)


@dataclass(frozen=True)
class CompiledEngine:
    """The same answers as `LocalEngine`, many times faster.

    block: ratings (1 to 2**31 - 1) that `neighbours` unpacks at a time. Beyond the input and three
    times the answer it holds at most 29 bytes for each of them, 64 for each person and 128 for each
    item, however many ratings there are (`working_memory`). It changes no answer.
    """

    block: int = 2**25

    def __post_init__(self) -> None:
        if not 1 <= self.block < 2**31:
            raise ConfigError(f"A block has 1 to {2**31 - 1} ratings; got {self.block}.")

    def working_memory(self, ratings: int, people: int, items: int) -> int:
        """Bytes that `neighbours` holds at most beyond its input and three times its answer."""
        # An item is never split, so a block has one item's ratings at least.
        block = min(ratings, max(self.block, 4 * people))
        return 29 * block + 64 * people + 128 * items + 2**22

    def neighbours(
        self,
        table: Table,
        *,
        of: Numbers,
        among: Numbers,
        k: int,
        significance: int = 0,
        counts: bool = True,
    ) -> Neighbours:
        from tacit.engine.item_item_compiled import neighbours

        return neighbours(table, of, among, k, significance, counts, self.block)

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        from tacit.engine.local_compiled import paths

        return paths(stages, starts)

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        from tacit.engine.local_compiled import predictions

        return predictions(deviations, weights, similar)

    def top(
        self,
        histories: sparse.csr_array,
        similar: sparse.csr_array,
        *,
        n: int,
        exclude: sparse.csr_array | None = None,
    ) -> tuple[Numbers, Floats]:
        from tacit.engine.local_compiled import top

        return top(histories, similar, n, exclude)
