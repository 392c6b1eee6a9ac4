"""Base classes of baselines, with their items and model files; matrices of likes and stars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.domains import ratings_in_domain
from tacit.data.ratings import Column, Ratings
from tacit.recommenders.base import Floats, History, ItemRecommender
from tacit.recommenders.header_types import make_from_header
from tacit.recommenders.headers import (
    Arrays,
    ids_from_header,
    items_to_header,
    number_from_header,
    read_floats,
    read_offsets,
    read_places,
    titles_from_header,
    titles_of,
)
from tacit.recommenders.inputs import as_ratings


class Baseline(ItemRecommender):
    """Base class of baselines, with their model files.

    A model file holds items, titles and parameters. A subclass adds what it has learned: it
    implements `_arrays` and `_restore`, and `_header` for values other than arrays.
    """

    kind: ClassVar[str]
    """Name of the recommender in a model file."""
    unsaved: ClassVar[tuple[str, ...]] = ()
    """Names of parameters that are left out of the settings in a file."""

    def _learn_items(self, ratings: Ratings, domain: str | None = None) -> Ratings:
        """Store the items and people of the ratings.

        Args:
            ratings: The ratings of a fit.
            domain: The only domain whose items and ratings are used; None: all.

        Returns:
            The ratings of these items.
        """
        ratings = as_ratings(ratings)
        chosen = ratings if domain is None else ratings_in_domain(ratings, domain)
        self.item_ids_ = chosen.item_ids
        self.people_ = chosen
        self.titles_ = titles_of(chosen)
        return chosen

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model file."""
        raise NotImplementedError

    def _header(self) -> dict[str, Any]:
        """Return the JSON values of the model file besides items and parameters."""
        return {}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Set what was learned from the values that `_arrays` and `_header` returned.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: The values do not fit the items.
        """
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the model file: items, titles, parameters, and what was learned."""
        self._require_fitted()
        parameters = self.get_params()
        settings = {name: parameters[name] for name in parameters if name not in self.unsaved}
        header = {
            "recommender": self.kind,
            **items_to_header(self.item_ids_, self.titles_),
            "settings": settings,
            **self._header(),
        }
        container.write(path, header, self._arrays())

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Make the fitted model that a file's header and arrays describe.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: Header and arrays do not fit
                together.
        """
        model = make_from_header(cls, header["settings"])
        model.titles_ = titles_from_header(header)
        model.item_ids_ = ids_from_header(header["items"])
        model._restore(header, arrays)
        return model


class ListBaseline(Baseline):
    """Base class of baselines that learn from likes, and whose scores are not predicted stars.

    Attributes:
        liked_from_: Fewest stars of a like.
    """

    liked_from_: float

    def _learn_items(self, ratings: Ratings, domain: str | None = None) -> Ratings:
        chosen = super()._learn_items(ratings, domain)
        self.liked_from_ = chosen.scale.liked_from
        return chosen

    def _likes(self, history: History) -> sparse.csr_array:
        """Return (1, items) CSR with 1 for each liked item of the history."""
        row = history_row(history, self.item_ids_)
        return like_rows(row, row.data >= self.liked_from_)

    def _header(self) -> dict[str, Any]:
        return {"liked_from": self.liked_from_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.liked_from_ = number_from_header(header["liked_from"])


def like_matrix(ratings: Ratings, *, other_weight: float = 0.0) -> sparse.csr_array:
    """Return (people, items) CSR with 1 for a like and `other_weight` for another rating."""
    return like_rows(ratings.matrix, ratings.likes, other_weight=other_weight)


def like_rows(
    matrix: sparse.csr_array, likes: Any, *, other_weight: float = 0.0
) -> sparse.csr_array:
    """Return a CSR matrix of ratings with 1 for a like and `other_weight` for another rating.

    Args:
        matrix: (people, items) CSR with an entry for each rating.
        likes: (ratings,) whether the rating is a like.
        other_weight: Value of other ratings; if it is 0, the result has no entries for them.
    """
    weights = replace_values(matrix, np.where(likes, 1.0, other_weight))
    if not other_weight:
        weights = weights.copy()
        weights.eliminate_zeros()
    return weights


def history_row(history: History, item_ids: Column) -> sparse.csr_array:
    """Turn a history into (1, items) CSR of stars with sorted indices; unknown items are ignored.

    Args:
        history: Item id to stars.
        item_ids: (items,) ids.
    """
    places = {item: place for place, item in enumerate(item_ids.tolist())}
    entries = sorted((places[item], stars) for item, stars in history.items() if item in places)
    columns = np.array([place for place, _ in entries], dtype=np.int32)
    stars = np.array([value for _, value in entries], dtype=float)
    offsets = np.array([0, len(entries)])
    return sparse.csr_array((stars, columns, offsets), shape=(1, len(item_ids)))


def person_means(ratings: Ratings) -> Floats:
    """Return (n_users,) mean stars of each person; the overall mean for people without ratings."""
    counts = np.diff(ratings.offsets)
    sums = np.bincount(ratings.users, ratings.values, minlength=ratings.n_users)
    overall = np.full(ratings.n_users, ratings.values.mean())
    return np.asarray(np.divide(sums, counts, out=overall, where=counts > 0))


def replace_values(matrix: sparse.csr_array, values: Floats) -> sparse.csr_array:
    """Return a CSR matrix of `values` (entries,) that shares the index arrays of `matrix`."""
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def matrix_to_arrays(name: str, matrix: sparse.csr_array) -> dict[str, NDArray[Any]]:
    """Return the arrays in which a model file holds a CSR matrix; their names begin with `name`."""
    return {
        f"{name} offsets": matrix.indptr.astype(np.int64),
        f"{name} columns": matrix.indices.astype(np.int32),
        f"{name} values": matrix.data,
    }


def matrix_from_arrays(
    arrays: Arrays, name: str, height: int | None, width: int
) -> sparse.csr_array:
    """Read the CSR matrix that `matrix_to_arrays` wrote.

    Args:
        arrays: All arrays of the file.
        name: Name of the matrix.
        height: Number of rows; None: any number.
        width: Number of columns.

    Raises:
        ValueError, KeyError: An array is missing, or they are no CSR matrix of this shape.
    """
    columns = read_places(arrays, f"{name} columns", width)
    offsets = read_offsets(arrays, f"{name} offsets", len(columns))
    values = read_floats(arrays, f"{name} values", len(columns))
    matrix = sparse.csr_array((values, columns, offsets), shape=(len(offsets) - 1, width))
    matrix.check_format(full_check=True)
    if height not in (None, matrix.shape[0]):
        raise ValueError(f"'{name}' has {matrix.shape[0]} rows, not {height}")
    return matrix
