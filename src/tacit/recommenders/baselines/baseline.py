"""What baselines share: the catalogue, likes, the file they are kept in, an empty card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.domains import within
from tacit.data.ratings import Column, Ratings
from tacit.recommenders.base import Floats, History, ItemRecommender
from tacit.recommenders.inputs import (
    checked_ratings,
    ids_from_header,
    items_to_header,
    shaped,
    titles_from_header,
    titles_of,
)

Arrays = Mapping[str, NDArray[Any]]
Axis = str | int | None


class Baseline(ItemRecommender):
    """kind: its name in a model file. unsaved: constructor arguments that no file holds.

    held, matrices: dense and CSR arrays of the file: name, attribute, and the length of each axis:
    a number, "items", None for any, or an attribute that is it or has it.
    """

    kind: ClassVar[str]
    unsaved: ClassVar[tuple[str, ...]] = ()
    held: ClassVar[tuple[tuple[str, str, *tuple[Axis, ...]], ...]] = ()
    matrices: ClassVar[tuple[tuple[str, str, Axis, Axis], ...]] = ()

    def _learn_items(self, ratings: Ratings, domain: str | None = None) -> Ratings:
        """The ratings to learn from: all, or those of one domain's items, which become its own."""
        checked_ratings(ratings)
        chosen = ratings if domain is None else within(ratings, domain)
        self.item_ids_, self.people_ = chosen.item_ids, chosen
        self.titles_ = titles_of(chosen)
        return chosen

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {name: getattr(self, attribute) for name, attribute, *_ in self.held}
        for name, attribute, *_ in self.matrices:
            matrix = getattr(self, attribute)
            arrays[f"{name} offsets"] = matrix.indptr.astype(np.int64)
            arrays[f"{name} columns"] = matrix.indices.astype(np.int32)
            arrays[f"{name} values"] = matrix.data
        return arrays

    def _header(self) -> dict[str, Any]:
        """What it keeps as JSON besides items and settings."""
        return {}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """The reverse of `_arrays` and `_header`; ValueError where one does not fit the items."""
        for name, attribute, *axes in self.held:
            setattr(self, attribute, shaped(arrays, name, *map(self._length, axes)))
        for name, attribute, height, width in self.matrices:
            matrix = _matrix(arrays, name, self._length(height), self._length(width))
            setattr(self, attribute, matrix)

    def _length(self, axis: Axis) -> Any:
        if not isinstance(axis, str):
            return axis
        known = self.item_ids_ if axis == "items" else getattr(self, axis)
        return known if isinstance(known, int) else len(known)

    def save(self, path: str | Path) -> None:
        self._fitted()
        header = {
            "recommender": self.kind,
            **items_to_header(self.item_ids_, self.titles_),
            "settings": {k: v for k, v in self.get_params().items() if k not in self.unsaved},
            **self._header(),
        }
        container.write(path, header, self._arrays())

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        model = cls(**header["settings"])
        model.titles_ = titles_from_header(header)
        model.item_ids_ = ids_from_header(header["items"])
        model._restore(header, arrays)
        return model


class ListBaseline(Baseline):
    """Scores order a list; they are no stars. `liked_from_`: the fewest stars that are a like."""

    def _learn_items(self, ratings: Ratings, domain: str | None = None) -> Ratings:
        chosen = super()._learn_items(ratings, domain)
        self.liked_from_ = chosen.scale.liked_from
        return chosen

    def _likes(self, history: History) -> sparse.csr_array:
        """(1, items) a 1 at each known item that the history likes."""
        own = as_row(history, self.item_ids_)
        return liked_rows(own, own.data >= self.liked_from_)

    def _header(self) -> dict[str, Any]:
        return {"liked_from": self.liked_from_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        self.liked_from_ = float(header["liked_from"])


def like_matrix(ratings: Ratings, *, rest: float = 0.0) -> sparse.csr_array:
    """(people, items) CSR float64: 1 for a like, `rest` for another rating."""
    return liked_rows(ratings.matrix, ratings.likes, rest=rest)


def liked_rows(matrix: sparse.csr_array, likes: Any, *, rest: float = 0.0) -> sparse.csr_array:
    """The same places with 1 for a like, and `rest` for the others; zeros are not stored."""
    weights = with_values(matrix, np.where(likes, 1.0, rest))
    if not rest:
        weights = weights.copy()
        weights.eliminate_zeros()
    return weights


def as_row(history: History, item_ids: Column) -> sparse.csr_array:
    """(1, items) the stars of the known items of a history, indices sorted."""
    number = {item: position for position, item in enumerate(item_ids.tolist())}
    known = sorted((number[item], stars) for item, stars in history.items() if item in number)
    columns = np.array([position for position, _ in known], dtype=np.int32)
    stars = np.array([value for _, value in known], dtype=float)
    return sparse.csr_array((stars, columns, np.array([0, len(known)])), shape=(1, len(item_ids)))


def person_means(ratings: Ratings) -> Floats:
    """(n_users,) mean stars of each person; the overall mean for people without ratings."""
    counts = np.diff(ratings.offsets)
    sums = np.bincount(ratings.users, ratings.values, minlength=ratings.n_users)
    overall = np.full(ratings.n_users, ratings.values.mean())
    return np.asarray(np.divide(sums, counts, out=overall, where=counts > 0))


def with_values(matrix: sparse.csr_array, values: Floats) -> sparse.csr_array:
    """Other values in the same places."""
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _matrix(arrays: Arrays, name: str, height: int | None, width: int) -> sparse.csr_array:
    """A CSR matrix of the file; ValueError if it is not well formed."""
    offsets, columns, values = (
        shaped(arrays, f"{name} {part}", None) for part in ("offsets", "columns", "values")
    )
    matrix = sparse.csr_array((values, columns, offsets), shape=(len(offsets) - 1, width))
    matrix.check_format(full_check=True)
    if height not in (None, matrix.shape[0]):
        raise ValueError(f"'{name}' does not fit the list of items")
    return matrix
