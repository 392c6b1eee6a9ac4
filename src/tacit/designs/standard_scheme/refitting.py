"""Whether enough people changed since the last fit.

Two models that differ by few people show, by their difference, what these people like. So a model
keeps a keyed hash of each consenting person with all their ratings, and the next fit is refused
where some changed, but fewer than FEWEST_CHANGED.

Runs at     the recommender.
Guarantee   none. A hash shows anyone who has the file whether a guess of all of a person's ratings
is             right: the file stays with the recommender.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError

Hashes = NDArray[np.uint64]

FEWEST_CHANGED = 50
KEY_BYTES = 16


@dataclass(frozen=True)
class People:
    """Keyed hashes of people with their ratings. key: drawn by the first fit, and kept since.

    hashes: (people,) in ascending order.
    """

    key: bytes
    hashes: Hashes


def people_of(ratings: Ratings, numbers: NDArray[np.int64], former: People | None) -> People:
    """The people with these numbers; ConfigError where too few of them are other than before."""
    key = secrets.token_bytes(KEY_BYTES) if former is None else former.key
    found = People(key, np.sort(_hashes(key, ratings)[numbers]))
    if former is not None:
        _check(former.hashes, found.hashes)
    return found


def _check(before: Hashes, now: Hashes) -> None:
    changed = max(len(np.setdiff1d(now, before)), len(np.setdiff1d(before, now)))
    if 0 < changed < FEWEST_CHANGED:
        raise ConfigError(
            f"Only {changed} of the training people changed since the model before was fitted, and "
            "the difference of two models shows what so few people like. Keep that model, or fit "
            f"again when {FEWEST_CHANGED} changed."
        )


def _hashes(key: bytes, ratings: Ratings) -> Hashes:
    """(people,) of a person's id and of the sum over the ratings of item hash times stars' hash."""
    items = _hash_each(key, b"item", ratings.item_ids)[ratings.items]
    distinct, which = np.unique(ratings.values, return_inverse=True)
    rated = items * (_hash_each(key, b"stars", distinct)[which] | np.uint64(1))
    sums = np.zeros(ratings.n_users, dtype=np.uint64)
    np.add.at(sums, ratings.users, rated)
    return _hash_each(key, b"person", zip(ratings.user_ids.tolist(), sums.tolist(), strict=True))


def _hash_each(key: bytes, kind: bytes, values: Any) -> Hashes:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    made = (blake2b(repr(one).encode(), digest_size=8, key=key, person=kind) for one in listed)
    return np.array([int.from_bytes(each.digest(), "big") for each in made], dtype=np.uint64)
