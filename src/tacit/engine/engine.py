"""The three sparse operations of a neighbourhood recommender.

An answer does not depend on blocks or on where the rows are: the order of every sum is stated, and
neighbours are ranked by the absolute similarity, ties by the smaller item number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import sparse

from tacit.engine.types import Find, Floats, Neighbours, Numbers, Pairs, Stage, Table
from tacit.errors import ConfigError


def nearest(table: Table, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
    """Find neighbours for each pair `of, among`, where the table's rows are.

    All pairs together, as that is cheaper on a cluster.

    Args:
        table: In memory, or a `TiledTable`.
        pairs: Items `of` which, and `among` which.
        find: Finds neighbours in one table.
        k: Length of the lists.
    """
    from tacit.engine.item_item_tiles import TiledTable

    if isinstance(table, TiledTable):
        return table.neighbours(pairs, find, k)
    return [find(table, of, among) for of, among in pairs]


@dataclass(frozen=True)
class Engine:
    """The three operations, compiled, on one thread.

    Numbers in `of`, `among` and `starts` are distinct; matrices have sorted indices and finite
    values.
    """

    block: int = 2**25
    """Ratings (1 to 2**31 - 1) that `neighbours` unpacks at a time. Beyond the input and three
    times the answer it holds at most 29 bytes for each of them, 64 for each person and 128 for each
    item, however many ratings there are (`working_memory`). It changes no answer."""

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
        """Find each item's k nearest `among` other items, by |similarity|, ties by number.

        With x_i the column of item i, over ALL its raters, and n_ij the co-raters of i and j:

            similarity = <x_i, x_j> / (|x_i| |x_j|) * min(n_ij, significance) / significance

        The products are added one by one in the order of the people. Pairs with similarity 0 or
        without an agreement have no edge and are left out.

        Args:
            table: Centred ratings.
            of: Items whose neighbours are wanted.
            among: Items that may be neighbours.
            k: Length of the lists.
            significance: Co-raters below which a similarity is scaled down; 0: none.
            counts: Whether co-raters and agreements are counted; significance needs them.
        """
        from tacit.engine.item_item_compiled import neighbours

        return neighbours(table, of, among, k, significance, counts, self.block)

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        """Add up all paths through every stage.

        A path takes one edge e of each stage, from a place of the first layer in `starts`. With S
        an edge's similarity, a its agreements and F its share, a path has

            similarity s = sum_e a_e S_e / sum_e a_e,   certainty c = product_e F_e

        Paths that end with the same edge are added in the order of their edges, first stage first;
        then the sums of the last edges, times their shares, in the order of those edges.

        Returns:
            sum(c * s) and sum(c) over the paths from each start to each place of the last layer,
            both (len(starts), places of the last layer), 0 where no path leads.
        """
        from tacit.engine.paths_compiled import paths

        return paths(stages, starts)

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        """Predict deviations from similar items.

        For each person and item i, over the rated j with an entry in similar[i], in their order:

            sum_j similar[i, j] weight_j deviation_j / sum_j |similar[i, j]| weight_j

        Args:
            deviations: (people, items)
            weights: (people, items) of the same structure.
            similar: (items, items)

        Returns:
            (people, items), 0 without such a j.
        """
        from tacit.engine.paths_compiled import predictions

        return predictions(deviations, weights, similar)


def blocks(shape: tuple[int, int], cells: int) -> list[slice]:
    """Cut rows into runs of at most `cells` cells together, one row at least."""
    height = max(1, cells // max(1, shape[1]))
    return [slice(start, start + height) for start in range(0, shape[0], height)]
