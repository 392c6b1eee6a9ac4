"""Predictions from neighbours: from the most similar items, or from people alike elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.domains import domain_of, within
from tacit.data.ratings import Column, Ratings
from tacit.engine import Engine, Table
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    Arrays,
    Baseline,
    as_row,
    person_means,
    with_values,
)
from tacit.recommenders.baselines.stars import ItemMean
from tacit.recommenders.inputs import checked_ratings, ids_from_header


@dataclass(kw_only=True, eq=False, repr=False)
class ItemKNN(Baseline):
    """Item means plus weighted deviations from the means of similar items the person rated.

    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001): adjusted cosine, the k most alike items, none of negative similarity.
    Where they rated none of them, the item's mean stands. No privacy. It is for stars: a list by
    them begins with what one person gave five stars; `ItemItem` is for lists.

    domain: learn from and recommend items of this one alone; None: all items, of whatever domain.
    significance: co-raters below which a similarity is scaled down; 0 switches it off.
    engine: where the similarities are computed; it is no part of a model file.
    """

    k: int = 50
    significance: int = 50
    domain: str | None = None
    engine: Engine | None = None

    kind = "item-knn"
    unsaved = ("engine",)
    held = (("means", "means_", "items"),)
    matrices = (("similar", "similar_", "items", "items"),)

    def __post_init__(self) -> None:
        if self.k < 1 or self.significance < 0:
            raise ConfigError("There is at least one neighbour; the significance is 0 or more.")

    def fit(self, ratings: Ratings) -> ItemKNN:
        chosen = self._learn_items(ratings, self.domain)
        self.means_ = ItemMean(damping=0.0).fit(chosen).means_
        centred = chosen.values - person_means(chosen)[chosen.users]
        likes = chosen.values >= self.means_[chosen.items]
        table = Table(with_values(chosen.matrix, centred), likes)
        engine = self.engine or Engine()
        self.similar_ = _most_alike(engine, table, k=self.k, significance=self.significance)
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        deviations = with_values(own, own.data - self.means_[own.indices])
        weights = with_values(own, np.ones(own.nnz))
        engine = self.engine or Engine()
        predicted = engine.predictions(deviations, weights, self.similar_)
        return np.asarray(self.means_ + predicted[0])


def _most_alike(engine: Engine, table: Table, *, k: int, significance: int) -> sparse.csr_array:
    """(items, items) CSR, sorted indices: in row i the similarities of its up to k most alike.

    An engine gives the k nearest by absolute similarity. Prediction suffers from negative ones, so
    ever longer lists are asked for until k positive ones are found or the list ends.
    """
    width = table.values.shape[1]
    every = np.arange(width, dtype=np.int32)
    waiting, asked = every, 2 * k
    rows, columns, values = [], [], []
    while waiting.size:
        asked = min(asked, width)
        found = engine.neighbours(
            table,
            of=waiting,
            among=every,
            k=asked,
            significance=significance,
            counts=significance > 0,
        )
        positive = found.similarities > 0
        chosen = positive & (np.cumsum(positive, axis=1) <= k)
        places = np.nonzero(chosen)[0]
        counts = np.bincount(places, minlength=len(waiting))
        ended = (counts >= k) | (found.items[:, -1] < 0) | (asked == width)
        done = ended[places]
        rows.append(waiting[places[done]])
        columns.append(found.items[chosen][done])
        values.append(found.similarities[chosen][done])
        waiting, asked = waiting[~ended], 2 * asked
    pairs = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = sparse.csr_array(pairs, shape=(width, width))
    matrix.sort_indices()
    return matrix


@dataclass(kw_only=True, eq=False, repr=False)
class RemoteUser(Baseline):
    """The k nearest people by what they rated in `source`, asked about the items of `target`.

    Source: after Berkovsky, Kuflik and Ricci, Cross-domain mediation in collaborative filtering (UM
    2007), as X-Map's paper compares itself with it. Alike: cosine of deviations from item means,
    over all that either rated in the source. Prediction: their mean plus their weighted deviations
    from their own means, both over the two domains; their mean alone where none of them rated.
    Only people who rated in both domains, and are alike at all, are asked.
    No privacy: THE MODEL FILE HOLDS EVERY TRAINING PERSON'S RATINGS, without ids.
    """

    source: str
    target: str
    k: int = 50

    kind = "remote-user"
    held = (("overall", "overall_", 1), ("source means", "source_means_", "source_ids_"))
    matrices = (("tastes", "tastes_", None, "source_ids_"), ("answers", "answers_", None, "items"))

    def __post_init__(self) -> None:
        if self.source == self.target:
            both = repr(self.source)
            raise ConfigError(f"The source and the target are two domains; both are {both}.")
        if self.k < 1:
            raise ConfigError(f"There is at least one neighbour; got k={self.k}.")

    def fit(self, ratings: Ratings) -> RemoteUser:
        checked_ratings(ratings)
        there, here = within(ratings, self.source), within(ratings, self.target)
        self._learn_items(here)
        self.people_ = ratings
        self.source_ids_ = there.item_ids
        self.source_means_ = ItemMean(damping=0.0).fit(there).means_
        ours = np.isin(domain_of(ratings), (self.source, self.target))
        both = ratings.where(ours[ratings.items])
        self.overall_ = np.array([both.values.mean()])
        asked = (np.diff(there.offsets) > 0) & (np.diff(here.offsets) > 0)
        tastes = there.values - self.source_means_[there.items]
        self.tastes_ = _of_length_one(with_values(there.matrix, tastes)[asked])
        answers = here.values - person_means(both)[here.users]
        self.answers_ = with_values(here.matrix, answers)[asked]
        return self

    @property
    def history_ids_(self) -> Column:
        """(items,) ids of both domains."""
        return np.concatenate([self.source_ids_, self.item_ids_])

    def _score(self, history: History) -> Floats:
        there, here = as_row(history, self.source_ids_), as_row(history, self.item_ids_)
        stars = np.concatenate([there.data, here.data])
        scores = np.full(len(self.item_ids_), stars.mean() if len(stars) else self.overall_[0])
        taste = with_values(there, there.data - self.source_means_[there.indices])
        alike = (self.tastes_ @ _of_length_one(taste).toarray()[0]).ravel()
        nearest = np.argsort(-alike, kind="stable")[: self.k]
        nearest = nearest[alike[nearest] > 0]
        answers, weights = self.answers_[nearest], alike[nearest]
        total = weights @ with_values(answers, np.ones(answers.nnz))
        above = np.divide(weights @ answers, total, out=np.zeros_like(scores), where=total > 0)
        return np.asarray(scores + above)

    def _header(self) -> dict[str, Any]:
        return {"source_items": self.source_ids_.tolist()}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.source_ids_ = ids_from_header(header["source_items"])
        super()._restore(header, arrays)
        if self.tastes_.shape[0] != self.answers_.shape[0]:
            raise ValueError("'tastes' and 'answers' are not of the same people")


def _of_length_one(rows: sparse.csr_array) -> sparse.csr_array:
    """Every row divided by its L2 norm; rows of norm 0 stay."""
    people = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(people, rows.data**2, minlength=rows.shape[0]))
    norms[norms == 0] = 1.0
    return with_values(rows, rows.data / norms[people])
