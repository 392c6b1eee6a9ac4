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

    block: ratings (1 to 2**31 - 1) that `neighbours` unpacks at a time. Beyond the input and twice
    the answer it holds at most 29 bytes for each of them, 64 for each person and 128 for each item,
    however many ratings there are (`working_memory`). It changes no answer.
    """

    block: int = 2**25

    def __post_init__(self) -> None:
        if not 1 <= self.block < 2**31:
            raise ConfigError(f"A block has 1 to {2**31 - 1} ratings; got {self.block}.")

    def working_memory(self, ratings: int, people: int, items: int) -> int:
        """Bytes that `neighbours` holds at most beyond its input and twice its answer."""
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
