"""Predictions in one domain from people with similar ratings in another. No privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import domain_of, ratings_in_domain
from tacit.data.ratings import Column, Ratings
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
from tacit.recommenders.headers import Arrays, ids_from_header, read_floats
from tacit.recommenders.inputs import as_ratings


@dataclass(kw_only=True, eq=False, repr=False)
class RemoteUser(Baseline):
    """User-based neighbours, found by ratings in one domain and used for predictions in another.

    The similarity of two people is the cosine of their ratings' deviations from item means in the
    source domain. A person's neighbours are the k people with the largest positive similarity among
    those who rated in both domains. A prediction is the person's mean plus the mean, weighted by
    similarity, of the deviations of the neighbours' ratings of the item from the neighbours' own
    means. If no neighbour rated the item, it is the person's mean. Means of people are over both
    domains.
    THE MODEL FILE HOLDS THE RATINGS, as deviations from means and without ids, OF EVERY TRAINING
    PERSON WHO RATED IN BOTH DOMAINS.
    Source: after Berkovsky, Kuflik and Ricci, Cross-domain mediation in collaborative filtering (UM
    2007), with which X-Map's paper compares itself.

    Args:
        source: Domain in which people are compared.
        target: Domain of the predictions.
        k: Largest number of neighbours.
    """

    source: str
    target: str
    k: int = 50

    kind = "remote-user"

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise ConfigError(
                f"The source and the target are two domains; both are {self.source!r}."
            )
        if self.k < 1:
            raise ConfigError(f"There is at least one neighbour; got k={self.k}.")

    def fit(self, ratings: Ratings) -> RemoteUser:
        """Store the item means, and the deviations of each person who rated in both domains."""
        ratings = as_ratings(ratings)
        source = ratings_in_domain(ratings, self.source)
        target = ratings_in_domain(ratings, self.target)
        self._learn_items(target)
        self.people_ = ratings
        self.source_ids_ = source.item_ids
        self.source_means_ = ItemMean(damping=0.0).fit(source).means_
        in_domains = np.isin(domain_of(ratings), (self.source, self.target))
        rated = ratings.where(in_domains[ratings.items])
        self.overall_ = np.array([rated.values.mean()])
        rated_both = (np.diff(source.offsets) > 0) & (np.diff(target.offsets) > 0)
        # Both stored matrices have a row for each person who rated in both domains.
        deviations_from_items = source.values - self.source_means_[source.items]
        tastes = replace_values(source.matrix, deviations_from_items)
        self.source_tastes_ = _normalise_rows(tastes[rated_both])
        deviations_from_person = target.values - person_means(rated)[target.users]
        self.target_deviations_ = replace_values(target.matrix, deviations_from_person)[rated_both]
        return self

    @property
    def history_ids_(self) -> Column:
        """Ids of the items of both domains, those of the source domain first."""
        return np.concatenate([self.source_ids_, self.item_ids_])

    def _score(self, history: History) -> Floats:
        """Return (target items,) predictions for a history of both domains."""
        source_row = history_row(history, self.source_ids_)
        target_row = history_row(history, self.item_ids_)
        stars = np.concatenate([source_row.data, target_row.data])
        mean = stars.mean() if len(stars) else self.overall_[0]
        scores = np.full(len(self.item_ids_), mean)
        deviations = source_row.data - self.source_means_[source_row.indices]
        taste = _normalise_rows(replace_values(source_row, deviations)).toarray()[0]
        similarities = (self.source_tastes_ @ taste).ravel()
        nearest = np.argsort(-similarities, kind="stable")[: self.k]
        nearest = nearest[similarities[nearest] > 0]
        neighbours = self.target_deviations_[nearest]
        weights = similarities[nearest]
        # For each item, the weighted mean over the neighbours who rated it.
        total_weights = weights @ replace_values(neighbours, np.ones(neighbours.nnz))
        offsets = np.zeros_like(scores)
        np.divide(weights @ neighbours, total_weights, out=offsets, where=total_weights > 0)
        return np.asarray(scores + offsets)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "overall": self.overall_,
            "source means": self.source_means_,
            **matrix_to_arrays("tastes", self.source_tastes_),
            **matrix_to_arrays("answers", self.target_deviations_),
        }

    def _header(self) -> dict[str, Any]:
        return {"source_items": self.source_ids_.tolist()}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.source_ids_ = ids_from_header(header["source_items"])
        source_items = len(self.source_ids_)
        self.overall_ = read_floats(arrays, "overall", 1)
        self.source_means_ = read_floats(arrays, "source means", source_items)
        self.source_tastes_ = matrix_from_arrays(arrays, "tastes", None, source_items)
        self.target_deviations_ = matrix_from_arrays(arrays, "answers", None, len(self.item_ids_))
        if self.source_tastes_.shape[0] != self.target_deviations_.shape[0]:
            raise ValueError("'tastes' and 'answers' are not of the same people")


def _normalise_rows(rows: sparse.csr_array) -> sparse.csr_array:
    """Divide every row by its L2 norm; rows of norm 0 are not changed."""
    people = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(people, rows.data**2, minlength=rows.shape[0]))
    norms[norms == 0] = 1.0
    return replace_values(rows, rows.data / norms[people])
