"""The readable engine: NumPy and SciPy on one machine, and the measure of all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import sparse

from tacit.engine import item_item, paths, predict
from tacit.engine.base import Floats, Neighbours, Numbers, Stage, Table
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
        return paths.paths(stages, starts, self.cells)

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        return predict.predictions(deviations, weights, similar, self.cells)

    def top(
        self,
        histories: sparse.csr_array,
        similar: sparse.csr_array,
        *,
        n: int,
        exclude: sparse.csr_array | None = None,
    ) -> tuple[Numbers, Floats]:
        return predict.top(histories, similar, n, exclude, self.cells)
