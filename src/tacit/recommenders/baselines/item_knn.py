"""Predictions from the most similar items that a person rated. No privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.engine import Engine, Table
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.averages import ItemMean
from tacit.recommenders.baselines.baseline import (
    Baseline,
    history_row,
    matrix_from_arrays,
    matrix_to_arrays,
    person_means,
    replace_values,
)
from tacit.recommenders.headers import Arrays, read_floats


@dataclass(kw_only=True, eq=False, repr=False)
class ItemKNN(Baseline):
    """Item-based neighbours for stars.

    A prediction is the item's mean plus the mean, weighted by similarity, of the deviations of the
    person's ratings of similar items from these items' means. If the person rated no similar item,
    it is the item's mean.
    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001): adjusted cosine, the k most similar items, no negative similarities.
    For lists use `ItemItem`: a list by predicted stars begins with items whose only rating is five
    stars.

    Args:
        k: Largest number of neighbours of each item.
        significance: If fewer than this number of people rated both of two items, the items'
            similarity is multiplied by (number of these people) / significance; 0: it never is.
        domain: The only domain whose items are used and recommended; None: all domains.
        engine: Engine that computes similarities; None: the default engine. It is not saved.
    """

    k: int = 50
    significance: int = 50
    domain: str | None = None
    engine: Engine | None = None

    kind = "item-knn"
    unsaved = ("engine",)

    def __post_init__(self) -> None:
        if self.k < 1 or self.significance < 0:
            raise ConfigError("There is at least one neighbour; the significance is 0 or more.")

    def fit(self, ratings: Ratings) -> ItemKNN:
        """Learn item means and each item's neighbours."""
        chosen = self._learn_items(ratings, self.domain)
        self.means_ = ItemMean(damping=0.0).fit(chosen).means_
        centred = chosen.values - person_means(chosen)[chosen.users]
        # The engine's table also needs likes. They do not affect similarities.
        is_like = chosen.values >= self.means_[chosen.items]
        table = Table(replace_values(chosen.matrix, centred), is_like)
        engine = self.engine or Engine()
        self.similar_ = find_positive_neighbours(
            engine, table, k=self.k, significance=self.significance
        )
        return self

    def _score(self, history: History) -> Floats:
        scores: Floats = self._score_rows(history_row(history, self.item_ids_))[0]
        return scores

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        deviations = replace_values(rows, rows.data - self.means_[rows.indices])
        weights = replace_values(rows, np.ones(rows.nnz))
        engine = self.engine or Engine()
        return np.asarray(self.means_ + engine.predictions(deviations, weights, self.similar_))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_, **matrix_to_arrays("similar", self.similar_)}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        items = len(self.item_ids_)
        self.means_ = read_floats(arrays, "means", items)
        self.similar_ = matrix_from_arrays(arrays, "similar", items, items)


def find_positive_neighbours(
    engine: Engine, table: Table, *, k: int, significance: int
) -> sparse.csr_array:
    """Find for each item the k items with the largest positive similarity, or fewer.

    An engine finds the neighbours with the largest absolute similarity, and some similarities may
    be negative. For items with fewer than k positive neighbours the engine is asked again, for
    twice as many neighbours, until there are k positive ones or no more neighbours.

    Args:
        engine: Engine that computes similarities.
        table: Ratings less the means of people.
        k: Largest number of neighbours.
        significance: As in `ItemKNN`.

    Returns:
        (items, items) CSR with sorted indices: row i has the similarities of item i's neighbours.
    """
    width = table.values.shape[1]
    all_items = np.arange(width, dtype=np.int32)
    unfinished = all_items
    length = 2 * k
    rows, columns, values = [], [], []
    while unfinished.size:
        length = min(length, width)
        neighbours = engine.neighbours(
            table,
            items=unfinished,
            candidates=all_items,
            k=length,
            significance=significance,
            counts=significance > 0,
        )
        is_positive = neighbours.similarities > 0  # (unfinished items, length)
        # The first k positive neighbours of each item; `item_of_entry` are indices of `unfinished`.
        is_chosen = is_positive & (np.cumsum(is_positive, axis=1) <= k)
        item_of_entry = np.nonzero(is_chosen)[0]
        counts = np.bincount(item_of_entry, minlength=len(unfinished))
        is_finished = (counts >= k) | (neighbours.neighbours[:, -1] < 0) | (length == width)
        is_kept = is_finished[item_of_entry]
        rows.append(unfinished[item_of_entry[is_kept]])
        columns.append(neighbours.neighbours[is_chosen][is_kept])
        values.append(neighbours.similarities[is_chosen][is_kept])
        unfinished = unfinished[~is_finished]
        length = 2 * length
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = sparse.csr_array(entries, shape=(width, width))
    matrix.sort_indices()
    return matrix
