"""Ask the people who are alike in one domain about another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import domain_of, within
from tacit.data.ratings import Column, Ratings
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    Arrays,
    Baseline,
    as_row,
    matrix_from_arrays,
    matrix_to_arrays,
    person_means,
    with_values,
)
from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.files import ids_from_header, shaped
from tacit.recommenders.inputs import checked_ratings


class RemoteUser(Baseline):
    """The k nearest people by what they rated in `source`, asked about the items of `target`.

    Source: after Berkovsky, Kuflik and Ricci, Cross-domain mediation in collaborative filtering (UM
    2007), as X-Map's paper compares itself with it. Alike: cosine of deviations from item means,
    over all that either rated in the source. Prediction: their mean plus their weighted deviations
    from their own means, both over the two domains; their mean alone where none of them rated.

    Only people who rated in both domains are asked, and only those with some similarity. A person
    of the training ratings with target ratings is among their own k, which adds nothing to unseen
    items.
    No privacy: THE MODEL FILE HOLDS EVERY TRAINING PERSON'S RATINGS, without ids.
    """

    kind = "remote-user"
    settings = ("source", "target", "k")

    def __init__(self, *, source: str, target: str, k: int = 50) -> None:
        if source == target:
            raise ConfigError(f"The source and the target are two domains; both are {source!r}.")
        if k < 1:
            raise ConfigError(f"There is at least one neighbour; got k={k}.")
        self.source = source
        self.target = target
        self.k = k

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
        predicted: Floats = scores + above
        return predicted

    def _header(self) -> dict[str, Any]:
        return {"source_items": self.source_ids_.tolist()}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "overall": self.overall_,
            "source means": self.source_means_,
            **matrix_to_arrays("tastes", self.tastes_),
            **matrix_to_arrays("answers", self.answers_),
        }

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.source_ids_ = ids_from_header(header["source_items"])
        self.overall_ = shaped(arrays, "overall", 1)
        self.source_means_ = shaped(arrays, "source means", len(self.source_ids_))
        self.tastes_ = matrix_from_arrays("tastes", arrays, len(self.source_ids_))
        self.answers_ = matrix_from_arrays("answers", arrays, len(self.item_ids_))
        if self.tastes_.shape[0] != self.answers_.shape[0]:
            raise ValueError("'tastes' and 'answers' are not of the same people")


def _of_length_one(rows: sparse.csr_array) -> sparse.csr_array:
    """Every row divided by its L2 norm; rows of norm 0 stay."""
    people = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(people, rows.data**2, minlength=rows.shape[0]))
    norms[norms == 0] = 1.0
    return with_values(rows, rows.data / norms[people])
