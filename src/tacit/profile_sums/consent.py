"""Consent: what is learned without noise from people who agreed not to be protected.

Who        a set fixed without data of anybody else: whom the service asks, and who agrees, is
           decided by their own data, public values, releases and their own lists.
Guarantee  none for them: their likes can be read out of the model file. For everybody who never
           agreed nothing changes: inputs that differ in one of them have the same set, so what is
           made from the set is a constant of the proof.
Source     lists: Steck, Embarrassingly shallow autoencoders (WWW 2019), in its dual form.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, DataError
from tacit.profile_sums.dense_features import limit_rows
from tacit.profile_sums.people import LIKE_TOLERANCE
from tacit.profile_sums.sums.taste_maps import orient_columns

Floats = NDArray[np.float64]

LEAST_PEOPLE = 16
"""Fewest consenting people with likes of whom anything is learned."""
_MOST_COLUMNS = 12
_PEOPLE_PER_COLUMN = 8
_FEW_LIKES = 5.0
"""An item of so many likes has half the weight of one of very many."""
_RIDGE = 4.0
_ENTRIES_PER_ITEM = 100
_LIST_FACTOR, _MOST_LIST_WEIGHT = 1.5, 2.0


def likes_of_consenting(ratings: Ratings, ids: Iterable[Any], threshold: float) -> sparse.csr_array:
    """Read the likes of the consenting people.

    Args:
        ratings: Rows of everybody.
        ids: Ids of those who agreed; those without rows are left out.
        threshold: Least rating that is a like.

    Returns:
        (people with likes, items) 0/1.

    Raises:
        DataError: none of the ids is in the ratings.
    """
    wanted = set(ids)
    chosen = [place for place, user in enumerate(ratings.user_ids.tolist()) if user in wanted]
    if not chosen:
        raise DataError(
            "none of the consenting people has ratings",
            expected="ids as the ratings have them",
            fix="Give a file with one column of ids.",
        )
    own = ratings.of_users(np.array(chosen))
    liked = own.values >= threshold - LIKE_TOLERANCE
    shape = (own.n_users, own.n_items)
    likes = sparse.csr_array((liked.astype(float), (own.users, own.items)), shape=shape)
    likes.eliminate_zeros()
    return sparse.csr_array(likes[np.diff(likes.indptr) > 0])


def list_consenting(ids: Any) -> tuple[Any, ...]:
    """List ids of consenting people, each once.

    Raises:
        ConfigError: `ids` is no collection of ids, such as a text or a table of answers.
    """
    is_collection = isinstance(ids, Collection | np.ndarray)
    if not is_collection or isinstance(ids, str | bytes | Mapping):
        raise ConfigError(
            "consented is a list of the ids of people who agreed not to be protected; got "
            f"{type(ids).__name__}. Leave out those who did not agree."
        )
    people = tuple(dict.fromkeys(ids.tolist() if isinstance(ids, np.ndarray) else ids))
    if any(isinstance(person, bool | np.bool_) for person in people):
        raise ConfigError(
            "consented has answers (True or False) where ids of people belong. Give the ids of "
            "those who agreed."
        )
    return people


def count_people(ratings: Ratings, ids: Iterable[Any]) -> int:
    """Count the people with these ids who have ratings."""
    wanted = set(ids)
    return sum(user in wanted for user in ratings.user_ids.tolist())


def consented_features(likes: sparse.csr_array) -> Floats:
    """Learn dense features of items from the likes of consenting people.

    With Y the unit rows of likes, m their mean, c an item's likes and Y - 1 m' = U S T':

        row of an item = (T S)_i / sqrt(people m_i) * c_i / (c_i + 5)

    over its length, or the 80th percentile of all lengths where that is longer.

    Returns:
        (items, r) with r = min(12, people / 8); 0 columns for fewer than 16 people.
    """
    people, items = likes.shape
    if people < LEAST_PEOPLE:
        return np.zeros((items, 0))
    rows = _unit_rows(likes)
    means = rows.mean(axis=0)
    counts = np.asarray(likes.sum(axis=0)).ravel()
    width = min(_MOST_COLUMNS, people // _PEOPLE_PER_COLUMN)
    _, values, vectors = np.linalg.svd(rows - means, full_matrices=False)
    directions = orient_columns(vectors[:width].T) * values[:width]
    liked = counts > 0
    scale = np.zeros(items)
    scale[liked] = counts[liked] / (counts[liked] + _FEW_LIKES) / np.sqrt(people * means[liked])
    return limit_rows(directions * scale[:, None], liked)


def consented_lists(
    likes: sparse.csr_array, effective_population: float | None
) -> sparse.csr_array | None:
    """Learn what a like of one item adds to another: EASE, by people instead of items.

    With Y the unit rows, Q = (Y Y' + 4 I)^-1 and W = Y' Q Y, the weights are W / (1 - diag W) by
    column, with 0 on the diagonal. Of each row the 100 largest absolute values are kept and are
    multiplied by min(2, 1.5 sqrt(people / effective population)).

    Args:
        likes: (people, items) 0/1.
        effective_population: Effective population of the sums; None without noise.

    Returns:
        (items, items) weights, which are added to the scores of the sums; None for fewer than 16
        people, and without noise.
    """
    people, items = likes.shape
    if people < LEAST_PEOPLE or effective_population is None:
        return None
    rows = _unit_rows(likes)
    inverse = np.linalg.inv(rows @ rows.T + _RIDGE * np.eye(people))
    similar = rows.T @ (inverse @ rows)
    weights = similar / (1 - similar.diagonal())
    np.fill_diagonal(weights, 0)
    kept = min(_ENTRIES_PER_ITEM, items)
    least = np.partition(np.abs(weights), items - kept, axis=1)[:, items - kept]
    weights[np.abs(weights) < np.maximum(least, np.finfo(float).tiny)[:, None]] = 0
    return sparse.csr_array(weights * list_weight(people, effective_population))


def list_weight(people: int, effective_population: float) -> float:
    """Weight of the consenting people's lists beside the sums."""
    return min(_MOST_LIST_WEIGHT, _LIST_FACTOR * math.sqrt(people / effective_population))


def _unit_rows(likes: sparse.csr_array) -> Floats:
    lengths = np.sqrt(np.diff(likes.indptr))
    rows: Floats = likes.toarray() / lengths[:, None]
    return rows
