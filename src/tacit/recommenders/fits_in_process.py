"""Fits of equal ratings in this process, which later cards count.

An object counts its own fits, a model file and a ledger count theirs. Two objects that are fitted
to the same ratings one after the other, as in a notebook, know nothing of each other: this module
does. Equal ratings are recognised by their content, streamed ones by that of their files, those of
a cluster only while they are open. Ratings with one more row are other ratings here; that they are
of the same people has to be said by a `previous` model or a ledger.

What is kept are a digest of the ratings and the costs of the fits, both in memory alone.
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
    """One fit, where a single number says what it costs."""

    name: str
    """Drawn at random, so that two fits of one cost are two."""
    cost: float
    """Epsilon, or the noise multiplier, as the kind of fit has it."""

    @classmethod
    def of_cost(cls, cost: float) -> CountedFit:
        """Name a fit that is about to be made."""
        return cls(secrets.token_hex(8), cost)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> CountedFit:
        """Read what `to_row` wrote; ValueError for a cost that is no finite number above 0."""
        name, cost = row
        if not 0 < float(cost) < math.inf:
            raise ValueError("a fit has a cost above 0")
        return cls(str(name), float(cost))

    def to_row(self) -> list[Any]:
        """JSON values."""
        return [self.name, self.cost]


class FitCounter(Generic[FitT]):
    """Counts the fits of one kind, by the ratings that they were made of."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
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
        """Count a fit before its first draw, so that one that fails counts, too.

        Args:
            ratings: What it is made of.
            new_fit: The fit.
            others: Earlier fits that its model knows of, the newest last.
            check: Given all earlier fits; what it raises stops the fit before it is counted.

        Returns:
            All fits of these ratings: those that only this process knows of, `others`, the new one.
        """
        if _comparing.get():
            if check is not None:
                check(tuple(others))
            return (*others, new_fit)
        with self._turn:
            counted = self._read(ratings)
            earlier = (*[fit for fit in counted if fit not in others], *others)
            if check is not None:
                check(earlier)
            self._write(ratings, (*counted, new_fit))
        return (*earlier, new_fit)

    def list_fits(self, ratings: RatingsSource, others: Sequence[FitT] = ()) -> tuple[FitT, ...]:
        """List the earlier fits that `add` would return before a new one."""
        if _comparing.get():
            return tuple(others)
        with self._turn:
            counted = self._read(ratings)
        return (*[fit for fit in counted if fit not in others], *others)

    def remember(self, ratings: RatingsSource, fits: Sequence[FitT]) -> None:
        """Count fits that another book, such as a ledger, has paid for."""
        if _comparing.get():
            return
        with self._turn:
            counted = self._read(ratings)
            self._write(ratings, (*counted, *[fit for fit in fits if fit not in counted]))

    def _read(self, ratings: RatingsSource) -> tuple[FitT, ...]:
        digest = _find_digest(ratings)
        if digest is not None:
            return self._by_digest.get(digest, ())
        assert isinstance(ratings, StoredRatings)  # those in memory have a digest
        return self._by_store.get(ratings, ())

    def _write(self, ratings: RatingsSource, fits: tuple[FitT, ...]) -> None:
        digest = _find_digest(ratings)
        if digest is not None:
            self._by_digest[digest] = fits
        else:
            assert isinstance(ratings, StoredRatings)  # those in memory have a digest
            self._by_store[ratings] = fits


_comparing: ContextVar[bool] = ContextVar("comparing", default=False)
_counters: WeakSet[FitCounter[Any]] = WeakSet()


def forget_fits() -> None:
    """Start to count anew: for tests, whose fits are of made-up people."""
    for counter in _counters:
        counter._by_digest.clear()
        counter._by_store.clear()


@contextmanager
def comparison() -> Iterator[None]:
    """Count each fit in this block as if it were the only one: nothing of it is published.

    For experiments that fit the same ratings many times. To publish a model, fit it outside.
    """
    token = _comparing.set(True)
    try:
        yield
    finally:
        _comparing.reset(token)


def _find_digest(ratings: RatingsSource) -> bytes | None:
    """Digest of the rows, or of the files that hold them; None for those of a cluster."""
    return ratings.digest if isinstance(ratings, StoredRatings) else digest_rows(ratings)


def digest_rows(ratings: Ratings) -> bytes:
    """Digest who gave which item how many stars; never to be published."""
    sha = hashlib.sha256()
    for column in (ratings.user_ids, ratings.item_ids):
        _add_ids(sha, column)
    for numbers in (ratings.users, ratings.items, ratings.values):
        sha.update(np.ascontiguousarray(numbers).data)
    return sha.digest()


def _add_ids(sha: hashlib._Hash, ids: Column) -> None:
    """Add ids with their number, so that no two lists of columns look alike."""
    sha.update(f"{len(ids)} {ids.dtype}:".encode())
    if ids.dtype == object:
        sha.update("\0".join(ids.tolist()).encode("utf-8", "surrogatepass"))
    else:
        sha.update(np.ascontiguousarray(ids).data)
