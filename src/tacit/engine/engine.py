"""The sparse operations of a neighbourhood recommender: item neighbours, paths and predictions.

`Engine` has the three operations for ratings in memory. `find_nearest` runs a search for neighbours
where the ratings are: in memory, or on a cluster.

Results depend neither on the size of blocks nor on where the rows are: every sum is made in a fixed
order, and neighbours are ranked by their absolute similarity and then by their item number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import sparse

from tacit.engine.types import Find, Floats, Neighbours, Numbers, Pairs, Stage, Table
from tacit.errors import ConfigError


def find_nearest(table: Table, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
    """Find neighbours for several pairs of item sets, on the machines that hold the ratings.

    A cluster handles all pairs in one pass over the ratings.

    Args:
        table: Ratings in memory, or a `TiledTable` of a cluster.
        pairs: Pairs (items, candidates) of item sets: neighbours are found for each of `items`,
            among the `candidates`.
        find: Finds the neighbours of one pair in a table.
        k: Number of neighbours that `find` returns for each item.

    Returns:
        The neighbours for each pair, in the order of the pairs.

    Raises:
        ClusterError: The table is a `TiledTable`, and a tile lacked people, or an answer was
            missing or came twice.
    """
    from tacit.engine.item_item_tiles import TiledTable

    if isinstance(table, TiledTable):
        return table.neighbours(pairs, find, k)
    return [find(table, items, candidates) for items, candidates in pairs]


@dataclass(frozen=True)
class Engine:
    """The three operations, compiled, on one thread.

    The numbers in each of the arguments `items`, `candidates` and `starts` must be distinct.
    Matrices must have sorted indices and finite values.
    """

    block: int = 2**25
    """Largest number of ratings, 1 to 2**31 - 1, of the candidates that `neighbours` packs at a
    time; of the items it packs a quarter of that. A single candidate or item may have more.
    The number bounds the memory, as `working_memory` says, and does not affect results."""

    def __post_init__(self) -> None:
        if not 1 <= self.block < 2**31:
            raise ConfigError(f"A block has 1 to {2**31 - 1} ratings; got {self.block}.")

    def working_memory(self, ratings: int, people: int, items: int) -> int:
        """Return an upper bound on the bytes that `neighbours` needs for its work.

        Memory for its input, and three times the memory of its result, are needed in addition.

        Args:
            ratings: Number of ratings.
            people: Number of people.
            items: Number of items.
        """
        # `neighbours` packs a block of candidates and a quarter of a block of items. No item is
        # split, so the quarter may have as many ratings as there are people.
        block = min(ratings, max(self.block, 4 * people))
        # Bytes for each rating of a block, for each person, for each item, and for anything else.
        return 29 * block + 64 * people + 128 * items + 2**22

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
        """Find the k items that are nearest to each item by absolute similarity.

        With x_i the column of item i, over all its raters, and n_ij the number of co-raters of i
        and j, the people who rated both:

            similarity = <x_i, x_j> / (|x_i| |x_j|) * min(n_ij, significance) / significance

        If the significance is 0, the factor min(n_ij, significance) / significance is left out. The
        products are added one by one in the order of the people. An item is not its own neighbour,
        and a pair is left out if its similarity is 0. With `counts` it is also left out if no
        co-rater agrees, that is, likes both items or dislikes both.

        Args:
            table: Centred ratings.
            items: Numbers of the items whose neighbours are found.
            candidates: Numbers of the items that may be neighbours.
            k: Largest number of neighbours of an item.
            significance: A similarity is scaled down if fewer people than this rated both items; 0:
                none is.
            counts: Whether co-raters and agreements are counted; a significance above 0 needs them.

        Raises:
            ConfigError: k is below 1, the significance is negative or needs counts, `table.likes`
                does not have one entry for each rating, or an item number is out of range or
                repeated.
        """
        from tacit.engine.item_item_compiled import neighbours

        return neighbours(table, items, candidates, k, significance, counts, self.block)

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        """Add up all paths through the stages.

        A path takes one edge e of each stage and begins at an item of the first layer. With S an
        edge's similarity, a its agreements and F its share, a path has

            similarity s = sum_e a_e S_e / sum_e a_e,   certainty c = product_e F_e

        The order of the sums is fixed: paths with the same last edge are added in the order of
        their edges, the first stage's first; then these sums, times the shares of the last edges,
        are added in the order of the last edges.

        Args:
            stages: The edges from each layer to the next.
            starts: Positions in the first layer at which paths begin.

        Returns:
            sum(c * s) and sum(c) over the paths from each start to each position of the last layer,
            both (len(starts), positions of the last layer); 0 if there is no path.

        Raises:
            ConfigError: There is no stage, or the stages or the starts do not fit together.
        """
        from tacit.engine.paths_compiled import paths

        return paths(stages, starts)

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        """Predict each person's deviation for every item from their deviations for similar items.

        For each person and item i, the sums are over the items j that the person rated and that are
        similar to i, in the order of their numbers:

            sum_j similar[i, j] weight_j deviation_j / sum_j |similar[i, j]| weight_j

        Args:
            deviations: (people, items) deviations of the rated items, such as from their means.
            weights: (people, items) weights of the ratings, 0 or more, stored for the same people
                and items as the deviations.
            similar: (items, items) row i has the similarities of item i to other items.

        Returns:
            (people, items) predictions; 0 where the denominator is 0.

        Raises:
            ConfigError: The matrices do not fit together, or a weight is negative.
        """
        from tacit.engine.paths_compiled import predictions

        return predictions(deviations, weights, similar)


def cut_rows(shape: tuple[int, int], cells: int) -> list[slice]:
    """Cut the rows of a matrix into slices of at most `cells` cells, or of one row that has more.

    The last slice may end beyond the last row.
    """
    height = max(1, cells // max(1, shape[1]))
    return [slice(start, start + height) for start in range(0, shape[0], height)]
