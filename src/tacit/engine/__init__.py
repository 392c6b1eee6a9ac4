"""The three sparse operations of a neighbourhood recommender, and the shapes of their answers.

An answer does not depend on blocks or on where the rows are: the order of every sum is stated, and
neighbours are ranked by the absolute similarity, ties by the smaller item number.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import ConfigError

CACHE = "NUMBA_CACHE_DIR"
"""The variable that names the folder of machine code."""


def machine_code() -> str | None:
    """A private folder for this process and those that it starts, if numba finds no other.

    Where it can write neither beside the code nor in the user's cache, it refuses to compile.
    """
    here = Path(__file__).parent
    own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    places = (here, here / "__pycache__", own, own.parent)
    if CACHE in os.environ or any(os.access(place, os.W_OK) for place in places):
        return None
    made = os.environ[CACHE] = tempfile.mkdtemp(prefix="tacit-compiled-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


for_this_run = machine_code()
"""That folder, or None: it goes with the process, so the next one compiles anew."""


Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Table:
    """Centred ratings of people for items.

    values: (people, items) CSR float64, sorted indices; a stored zero is a rating at the mean.
    likes: (stored,) bool beside `values.data`: whether the rating is at least its item's mean.
    """

    values: sparse.csr_array
    likes: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest items of each of `of`, best first; all arrays (len(of), k).

    items: numbers, -1 where there are fewer than k. similarities: adjusted cosines after
    significance weighting. co_counts: people who rated both. agreements: people who liked both or
    disliked both; both are all 0 where they were not asked for. Entries behind a -1 are 0.
    """

    of: Numbers
    items: Numbers
    similarities: Floats
    co_counts: Numbers
    agreements: Numbers


Find = Callable[[Table, Numbers, Numbers], Neighbours]
"""From a table, `of` and `among` to neighbours whose answer for an item hangs on the columns of
that item and of each neighbour alone. It is called where the rows are."""
Pairs = Sequence[tuple[Numbers, Numbers]]


def nearest(table: Table, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
    """`find` of each pair `of, among`, where the table's rows are; together, as that is cheaper.

    k: length of lists.
    """
    from tacit.engine.item_item import TiledTable

    if isinstance(table, TiledTable):
        return table.neighbours(pairs, find, k)
    return [find(table, of, among) for of, among in pairs]


@dataclass(frozen=True, eq=False)
class Stage:
    """Edges from the items of one layer to those of the next, as one CSR structure.

    offsets: (items of this layer + 1,). targets: places in the next layer, not item numbers.
    similarities, agreements (S, > 0) and shares (F, in (0, 1]): one per edge. width: items of the
    next layer.
    """

    offsets: NDArray[np.int64]
    targets: Numbers
    similarities: Floats
    agreements: Floats
    shares: Floats
    width: int


@dataclass(frozen=True)
class Engine:
    """The operations, compiled, on one thread. Numbers in `of`, `among` and `starts` are distinct;
    matrices have sorted indices and finite values.

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
        """Each item's k nearest `among` other items, by |similarity|.

        The similarity is sum over co-raters of the products, one by one in the order of the people,
        / the product of the two norms over ALL raters, times min(co-raters, significance) /
        significance unless significance is 0. Pairs with similarity 0 or without an agreement have
        no edge and are left out. counts=False: agreements are neither counted nor asked for, which
        needs significance 0.
        """
        from tacit.engine.item_item_compiled import neighbours

        return neighbours(table, of, among, k, significance, counts, self.block)

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        """Both (len(starts), places of the last layer): sums over all paths through every stage.

        A path takes one edge of each stage, from a place of the first layer in `starts`. Its
        similarity s is the mean of its edges' similarities weighted by their agreements, its
        certainty c the product of their shares. Returns sum(c * s) and sum(c), 0 where no path
        leads. Paths that end with the same edge are added in the order of their edges, first stage
        first; then the sums of the last edges, times their shares, in the order of those edges.
        """
        from tacit.engine.paths_compiled import paths

        return paths(stages, starts)

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        """(people, items): for each person and item i, over the rated j with an entry in
        similar[i], in their order: sum(similar[i, j] * weight_j * deviation_j) /
        sum(|similar[i, j]| * weight_j), 0 without such a j. deviations, weights: (people, items) of
        one structure.
        """
        from tacit.engine.paths_compiled import predictions

        return predictions(deviations, weights, similar)


def blocks(shape: tuple[int, int], cells: int) -> list[slice]:
    """Runs of rows of at most `cells` cells together, one row at least."""
    height = max(1, cells // max(1, shape[1]))
    return [slice(start, start + height) for start in range(0, shape[0], height)]
