"""The fast engine: Numba on one machine and one thread, equal to the readable one by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import sparse

from tacit.engine.base import Floats, Neighbours, Numbers, Stage, Table
from tacit.errors import ConfigError


@dataclass(frozen=True)
class CompiledEngine:
    """The same answers as `LocalEngine`, many times faster.

    block: ratings (1 to 2**31 - 1) unpacked at a time by `neighbours`; memory beyond input and
    answer is at most about 20 bytes for each of them, however many ratings there are. It changes no
    answer.
    """

    block: int = 2**25

    def __post_init__(self) -> None:
        if not 1 <= self.block < 2**31:
            raise ConfigError(f"A block has 1 to {2**31 - 1} ratings; got {self.block}.")

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
        from tacit.engine.paths_compiled import paths

        return paths(stages, starts)

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        from tacit.engine.predict_compiled import predictions

        return predictions(deviations, weights, similar)

    def top(
        self,
        histories: sparse.csr_array,
        similar: sparse.csr_array,
        *,
        n: int,
        exclude: sparse.csr_array | None = None,
    ) -> tuple[Numbers, Floats]:
        from tacit.engine.predict_compiled import top

        return top(histories, similar, n, exclude)
