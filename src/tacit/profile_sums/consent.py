"""Consent: features and lists learned without noise from people who agreed not to be protected.

Who        a set of people that does not depend on other people's data: whether the service asks a
           person, and whether they agree, is decided by that person's own data, public values,
           releases and the person's own lists.
Guarantee  none for these people: their likes can be read out of the model file. For people who
           never agreed the guarantee is unchanged: two inputs that differ in one of them have the
           same set, so everything made from the set is a constant in the proof.
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
"""Least number of consenting people with likes; nothing is learned from fewer."""
_MOST_COLUMNS = 12
"""Largest number of dense features."""
_PEOPLE_PER_COLUMN = 8
"""Number of people for one dense feature: n people give floor(n / 8) of them."""
_FEW_LIKES = 5.0
"""Number of likes at which an item's features have half the weight of an item with very many."""
_RIDGE = 4.0
"""Ridge of EASE among people."""
_ENTRIES_PER_ITEM = 100
"""Number of weights of largest absolute value that are kept in each item's row; more in ties."""
_LIST_FACTOR = 1.5
"""Weight of the lists where there are as many consenting people as the effective population."""
_MOST_LIST_WEIGHT = 2.0
"""Largest weight of the lists beside the sums."""


def likes_of_consenting(ratings: Ratings, ids: Iterable[Any], threshold: float) -> sparse.csr_array:
    """Read the likes of the consenting people.

    Args:
        ratings: Ratings of all people.
        ids: Ids of the people who agreed; ids that are not in the ratings are ignored.
        threshold: Least rating that is a like.

    Returns:
        (consenting people with likes, items) 1 for a like, no entry otherwise.

    Raises:
        DataError: None of the ids is in the ratings, or one may be that of several people, who may
            not all have agreed.
    """
    consenting = set(ids)
    if not {str(person) for person in consenting}.isdisjoint(ratings.joined_people):
        raise DataError(
            "the ratings write the id of a consenting person in several ways, so it may also be "
            "that of another person, who never agreed",
            expected="ids that are written in one way, such as in one form of Unicode",
            fix="Give each person one id, or leave this person out of the list.",
        )
    users = [user for user, id_ in enumerate(ratings.user_ids.tolist()) if id_ in consenting]
    if not users:
        raise DataError(
            "none of the consenting people has ratings",
            expected="ids as the ratings have them",
            fix="Give a file with one column of ids.",
        )
    chosen = ratings.of_users(np.array(users))
    liked = chosen.values >= threshold - LIKE_TOLERANCE
    shape = (chosen.n_users, chosen.n_items)
    likes = sparse.csr_array((liked.astype(float), (chosen.users, chosen.items)), shape=shape)
    likes.eliminate_zeros()
    return sparse.csr_array(likes[np.diff(likes.indptr) > 0])


def list_consenting(ids: Any) -> tuple[Any, ...]:
    """List the ids of consenting people, each once, in the order of `ids`.

    Raises:
        ConfigError: `ids` is no collection, or it is a text or a mapping, or it has booleans or
            lists in place of ids.
    """
    is_collection = isinstance(ids, Collection | np.ndarray)
    if not is_collection or isinstance(ids, str | bytes | Mapping):
        raise ConfigError(
            "consented is a list of the ids of people who agreed not to be protected; got "
            f"{type(ids).__name__}. Leave out those who did not agree."
        )
    listed = np.atleast_1d(ids).tolist() if isinstance(ids, np.ndarray) else ids
    try:
        people = tuple(dict.fromkeys(listed))
    except TypeError:  # a list cannot be looked up among ids
        raise ConfigError(
            "consented has lists or tables where ids of people belong. Give one flat list of the "
            "ids of those who agreed."
        ) from None
    if any(isinstance(person, bool | np.bool_) for person in people):
        raise ConfigError(
            "consented has answers (True or False) where ids of people belong. Give the ids of "
            "those who agreed."
        )
    return people


def count_people(ratings: Ratings, ids: Iterable[Any]) -> int:
    """Count the ids that are in the ratings."""
    distinct_ids = set(ids)
    return sum(user in distinct_ids for user in ratings.user_ids.tolist())


def consented_features(likes: sparse.csr_array) -> Floats:
    """Learn dense features of items from the likes of consenting people.

    With Y (people, items) the rows of likes scaled to norm 1, m their mean row, n the number of
    people, c_i the number of likes of item i, and the singular value decomposition
    Y - 1 m' = U S T', the row of item i is, before `limit_rows` limits its length,

        (T S)_i / sqrt(n m_i) * c_i / (c_i + 5)

    Args:
        likes: (people, items) 1 for a like, at least one in each row.

    Returns:
        (items, r), zeros for an item without likes. r is the least of 12, floor(n / 8) and the
        number of items, and 0 for fewer than 16 people.
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
    """Learn how much a like of one item adds to the score of another: EASE in its dual form.

    With Y (people, items) the rows of likes scaled to norm 1, Q = (Y Y' + 4 I)^-1 and W = Y' Q Y,
    column j of the weights is W_j / (1 - W_jj), with 0 on the diagonal. Each row keeps the 100
    weights of largest absolute value, and others as large as the smallest of them. All are
    multiplied by `list_weight`.

    Args:
        likes: (people, items) 1 for a like, at least one in each row.
        effective_population: Effective population of the sums; None without noise.

    Returns:
        (items, items) weights from a liked item (row) to a scored item (column), which are added to
        the scores of the sums; None for fewer than 16 people, and where the sums have no noise.
    """
    people, items = likes.shape
    if people < LEAST_PEOPLE or effective_population is None:
        return None
    rows = _unit_rows(likes)
    inverse = np.linalg.inv(rows @ rows.T + _RIDGE * np.eye(people))
    similar = rows.T @ (inverse @ rows)
    weights = similar / (1 - similar.diagonal())
    np.fill_diagonal(weights, 0)
    kept_entries = min(_ENTRIES_PER_ITEM, items)
    first_kept = items - kept_entries
    smallest_kept = np.partition(np.abs(weights), first_kept, axis=1)[:, first_kept]
    smallest_kept = np.maximum(smallest_kept, np.finfo(float).tiny)
    weights[np.abs(weights) < smallest_kept[:, None]] = 0
    return sparse.csr_array(weights * list_weight(people, effective_population))


def list_weight(people: int, effective_population: float) -> float:
    """Weigh the consenting people's lists beside the sums: min(2, 1.5 sqrt(people / v)).

    v is the effective population of the sums.
    """
    return min(_MOST_LIST_WEIGHT, _LIST_FACTOR * math.sqrt(people / effective_population))


def _unit_rows(likes: sparse.csr_array) -> Floats:
    """Scale each person's row of likes (people, items) to L2 norm 1; no row is empty."""
    lengths = np.sqrt(np.diff(likes.indptr))
    rows: Floats = likes.toarray() / lengths[:, None]
    return rows
