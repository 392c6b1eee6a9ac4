"""Count the fits of equal ratings in this process, for the cards of later fits.

Objects, model files and ledgers each count their own fits. If two objects are fitted to the same
ratings, as in a notebook, neither knows of the other; this module knows of both. Ratings in memory
are equal if their users, items and stars are equal; ratings that are read from files, if the
content of the files is equal; ratings of a cluster, only if they are the same open object. Ratings
with one more row are different ratings for this module, although they may be of the same people; a
`previous` model or a ledger connects such fits.

The module stores a digest of the ratings and the costs of the fits, in memory only.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from tacit.data.ratings import Column, Ratings
from tacit.data.stored_ratings import RatingsSource, StoredRatings

FitT = TypeVar("FitT")


@dataclass(frozen=True)
class CountedFit:
    """A fit whose cost is a single number."""

    name: str
    """Random name, which distinguishes fits of the same cost."""
    cost: float
    """Epsilon or the noise multiplier, depending on the recommender."""

    @classmethod
    def of_cost(cls, cost: float) -> CountedFit:
        """Make the record of a new fit, with a random name."""
        return cls(secrets.token_hex(8), cost)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> CountedFit:
        """Read a record that `to_row` wrote.

        Raises:
            ValueError: It is no pair of a name and a finite cost above 0.
        """
        name, cost = row
        if not 0 < float(cost) < math.inf:
            raise ValueError("the cost of a fit is not a finite number above 0")
        return cls(str(name), float(cost))

    def to_row(self) -> list[Any]:
        """Return the record as JSON values."""
        return [self.name, self.cost]


class FitCounter(Generic[FitT]):
    """Counts the fits of one kind of recommender, for each set of ratings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_digest: dict[bytes, tuple[FitT, ...]] = {}
        self._by_store: WeakKeyDictionary[StoredRatings, tuple[FitT, ...]] = WeakKeyDictionary()
        _counters.add(self)

    def add(
        self,
        ratings: RatingsSource,
        new_fit: FitT,
        others: Sequence[FitT] = (),
        check: Callable[[tuple[FitT, ...]], None] | None = None,
    ) -> tuple[FitT, ...]:
        """Count a fit. Call this before the fit draws noise, so that a fit that fails counts, too.

        In a `comparison` block the fit is not counted, and only `others` are earlier fits.

        Args:
            ratings: Ratings of the fit.
            new_fit: The fit.
            others: Earlier fits that the model itself knows of, the newest last.
            check: Called with all earlier fits; if it raises an error, the fit is not counted.
                None: nothing is called.

        Returns:
            All fits of these ratings: earlier fits that only this counter knows of, then `others`,
            then the new fit.
        """
        if _comparing.get():
            if check is not None:
                check(tuple(others))
            return (*others, new_fit)
        with self._lock:
            counted = self._read(ratings)
            earlier = (*[fit for fit in counted if fit not in others], *others)
            if check is not None:
                check(earlier)
            self._write(ratings, (*counted, new_fit))
        return (*earlier, new_fit)

    def list_fits(self, ratings: RatingsSource, others: Sequence[FitT] = ()) -> tuple[FitT, ...]:
        """Return the earlier fits of these ratings, as `add` returns them, and count nothing.

        Args:
            ratings: The ratings.
            others: Earlier fits that the model itself knows of, the newest last.
        """
        if _comparing.get():
            return tuple(others)
        with self._lock:
            counted = self._read(ratings)
        return (*[fit for fit in counted if fit not in others], *others)

    def remember(self, ratings: RatingsSource, fits: Sequence[FitT]) -> None:
        """Count fits of these ratings that are recorded elsewhere, such as in a ledger.

        Fits that are counted already are not counted again. In a `comparison` block nothing is
        counted.
        """
        if _comparing.get():
            return
        with self._lock:
            counted = self._read(ratings)
            self._write(ratings, (*counted, *[fit for fit in fits if fit not in counted]))

    def _read(self, ratings: RatingsSource) -> tuple[FitT, ...]:
        """Return the fits that are counted for these ratings."""
        digest = _find_digest(ratings)
        if digest is not None:
            return self._by_digest.get(digest, ())
        assert isinstance(ratings, StoredRatings)  # those in memory have a digest
        return self._by_store.get(ratings, ())

    def _write(self, ratings: RatingsSource, fits: tuple[FitT, ...]) -> None:
        """Store the fits that are counted for these ratings."""
        digest = _find_digest(ratings)
        if digest is not None:
            self._by_digest[digest] = fits
        else:
            assert isinstance(ratings, StoredRatings)  # those in memory have a digest
            self._by_store[ratings] = fits


_comparing: ContextVar[bool] = ContextVar("comparing", default=False)
"""Whether the running code is in a `comparison` block."""
_counters: WeakSet[FitCounter[Any]] = WeakSet()
"""All counters of this process."""


def forget_fits() -> None:
    """Forget all fits in all counters. Only tests may call this: their people are generated."""
    for counter in _counters:
        counter._by_digest.clear()
        counter._by_store.clear()


@contextmanager
def comparison() -> Iterator[None]:
    """Do not count the fits in this block, because none of them is published.

    Experiments fit the same ratings many times; in such a block the card of each fit does not count
    the others. A model that is to be published must be fitted outside of such a block.
    """
    token = _comparing.set(True)
    try:
        yield
    finally:
        _comparing.reset(token)


def _find_digest(ratings: RatingsSource) -> bytes | None:
    """Return a digest of ratings in memory, or of ratings read from files; None if on a cluster."""
    return ratings.digest if isinstance(ratings, StoredRatings) else digest_rows(ratings)


def digest_rows(ratings: Ratings) -> bytes:
    """Return a SHA-256 digest of users, items and stars. It must not be published."""
    sha = hashlib.sha256()
    for column in (ratings.user_ids, ratings.item_ids):
        _add_ids(sha, column)
    for numbers in (ratings.users, ratings.items, ratings.values):
        sha.update(np.ascontiguousarray(numbers).data)
    return sha.digest()


def _add_ids(sha: hashlib._Hash, ids: Column) -> None:
    """Add ids, after their number and type, to a digest. Different ids give different digests."""
    sha.update(f"{len(ids)} {ids.dtype}:".encode())
    if ids.dtype == object:
        texts = "".join(f"{len(text)}:{text}" for text in ids.tolist())
        sha.update(texts.encode("utf-8", "surrogatepass"))
    else:
        sha.update(np.ascontiguousarray(ids).data)
