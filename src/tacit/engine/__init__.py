"""What a recommender asks of an engine: four sparse operations, and the shapes of their answers.

An engine decides where and how a big join runs, never what it means. All engines return the same
for the same input: neighbours are ranked by the absolute similarity, ties by the smaller item
number, so that an answer does not depend on blocks or threads.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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


@dataclass(frozen=True, eq=False)
class StoredTable(Table, ABC):
    """A table whose rows are elsewhere. values, likes: without people."""

    @abstractmethod
    def neighbours(self, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
        """`find` of each pair `of, among`, which need not be made at once; k: length of lists."""


def nearest(table: Table, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
    """`find` of each pair `of, among`, where the table's rows are; together, as that is cheaper."""
    if isinstance(table, StoredTable):
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


class Engine(Protocol):
    """Four operations; `local` has them readable, `compiled` fast, and a cluster may have them.

    Numbers in `of`, `among` and `starts` are distinct; matrices have sorted indices and finite
    values. The tests' `EngineConformance` checks a new engine.
    """

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

        The similarity is sum over co-raters of the products / the two norms over ALL raters, times
        min(co-raters, significance) / significance unless significance is 0. Pairs with similarity
        0 or without an agreement have no edge and are left out. counts=False: agreements are
        neither counted nor asked for, which needs significance 0.
        """
        ...

    def paths(self, stages: Sequence[Stage], *, starts: Numbers) -> tuple[Floats, Floats]:
        """Both (len(starts), places of the last layer): sums over all paths through every stage.

        A path takes one edge of each stage, from a place of the first layer in `starts`. Its
        similarity s is the mean of its edges' similarities weighted by their agreements, its
        certainty c the product of their shares. Returns sum(c * s) and sum(c), 0 where no path
        leads.
        """
        ...

    def predictions(
        self, deviations: sparse.csr_array, weights: sparse.csr_array, similar: sparse.csr_array
    ) -> Floats:
        """(people, items): for each person and item i, over the rated j with an entry in
        similar[i]: sum(similar[i, j] * weight_j * deviation_j) / sum(|similar[i, j]| * weight_j),
        0 without such a j. deviations, weights: (people, items) of one structure.
        """
        ...

    def top(
        self,
        histories: sparse.csr_array,
        similar: sparse.csr_array,
        *,
        n: int,
        exclude: sparse.csr_array | None = None,
    ) -> tuple[Numbers, Floats]:
        """Both (people, n): the n items with the largest sum over j of history_j * similar[j, i],
        best first, without the stored items of `exclude` (default: of the history); -1 and 0 where
        there are fewer. Only items reached by some j are candidates.
        """
        ...


def as_stage(
    offsets: Any, targets: Any, similarities: Any, agreements: Any, shares: Any, width: int
) -> Stage:
    """A stage from anything array-like."""
    return Stage(
        np.asarray(offsets, dtype=np.int64),
        np.asarray(targets, dtype=np.int32),
        np.asarray(similarities, dtype=np.float64),
        np.asarray(agreements, dtype=np.float64),
        np.asarray(shares, dtype=np.float64),
        int(width),
    )
