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
    """Item means plus weighted deviations from the means of similar items the person rated.

    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001): adjusted cosine, the k most alike items, none of negative similarity.
    Where a person rated none of them, the item's mean stands. It is for stars: a list by them
    begins with what one person gave five stars; `ItemItem` is for lists.

    Args:
        k: How many neighbours.
        significance: Co-raters below which a similarity is scaled down; 0 switches it off.
        domain: Learn from and recommend items of this one alone; None: all items.
        engine: Where the similarities are computed; it is no part of a model file.
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
        likes = chosen.values >= self.means_[chosen.items]
        table = Table(replace_values(chosen.matrix, centred), likes)
        engine = self.engine or Engine()
        self.similar_ = find_most_alike(engine, table, k=self.k, significance=self.significance)
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


def find_most_alike(engine: Engine, table: Table, *, k: int, significance: int) -> sparse.csr_array:
    """Find up to k items of positive similarity for each item.

    An engine gives the nearest by absolute similarity. Prediction suffers from negative ones, so
    ever longer lists are asked for until k positive ones are found or the list ends.

    Returns:
        (items, items) CSR, sorted indices: row i has the similarities of item i's neighbours.
    """
    width = table.values.shape[1]
    all_items = np.arange(width, dtype=np.int32)
    unfinished = all_items
    length = 2 * k
    rows, columns, values = [], [], []
    while unfinished.size:
        length = min(length, width)
        found = engine.neighbours(
            table,
            of=unfinished,
            among=all_items,
            k=length,
            significance=significance,
            counts=significance > 0,
        )
        positive = found.similarities > 0
        chosen = positive & (np.cumsum(positive, axis=1) <= k)
        places = np.nonzero(chosen)[0]
        counts = np.bincount(places, minlength=len(unfinished))
        is_finished = (counts >= k) | (found.items[:, -1] < 0) | (length == width)
        is_kept = is_finished[places]
        rows.append(unfinished[places[is_kept]])
        columns.append(found.items[chosen][is_kept])
        values.append(found.similarities[chosen][is_kept])
        unfinished = unfinished[~is_finished]
        length = 2 * length
    pairs = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = sparse.csr_array(pairs, shape=(width, width))
    matrix.sort_indices()
    return matrix
