"""Count the fits of one ratings object in this process, for the cards of later fits.

Models, model files and ledgers each count their own fits. If two models are fitted to the same
ratings object, as in a notebook, neither knows of the other; this module knows of both. The rows
are not compared: ratings that are read or made again are another object, also if every row is
equal. A count by content would tell readers of a card whether the ratings of two fits are equal
in every row, which may be one person's decision. Fits to another object count for a later one if
they are in its `previous` model or in its ledger; otherwise they are separate releases, as cards
say (`UNCOUNTED_FITS`).

The module stores the costs of fits, in memory only, for as long as the ratings object exists.
"""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from tacit.data.stored_ratings import RatingsSource

FitT = TypeVar("FitT")

UNCOUNTED_FITS = (
    "other fits of these people, whose cost comes on top of what this card states. It counts the "
    "fits of one model object, and the fits to one ratings object in one program"
)
"""Line of a card about other fits. Cards of designs with more ways to count say those, too."""


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
    """Counts the fits of one kind of recommender, for each ratings object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Ratings are hashed and compared by identity, so the keys do not depend on the rows.
        self._by_ratings: WeakKeyDictionary[RatingsSource, tuple[FitT, ...]] = WeakKeyDictionary()
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
            All fits of this ratings object: earlier fits that only this counter knows of, then
            `others`, then the new fit.
        """
        if _comparing.get():
            if check is not None:
                check(tuple(others))
            return (*others, new_fit)
        with self._lock:
            counted = self._by_ratings.get(ratings, ())
            earlier = (*[fit for fit in counted if fit not in others], *others)
            if check is not None:
                check(earlier)
            self._by_ratings[ratings] = (*counted, new_fit)
        return (*earlier, new_fit)

    def list_fits(self, ratings: RatingsSource, others: Sequence[FitT] = ()) -> tuple[FitT, ...]:
        """Return the earlier fits of this ratings object, as `add` returns them, and count nothing.

        Args:
            ratings: The ratings.
            others: Earlier fits that the model itself knows of, the newest last.
        """
        if _comparing.get():
            return tuple(others)
        with self._lock:
            counted = self._by_ratings.get(ratings, ())
        return (*[fit for fit in counted if fit not in others], *others)

    def remember(self, ratings: RatingsSource, fits: Sequence[FitT]) -> None:
        """Count fits of this ratings object that are recorded elsewhere, such as in a ledger.

        Fits that are counted already are not counted again. In a `comparison` block nothing is
        counted.
        """
        if _comparing.get():
            return
        with self._lock:
            counted = self._by_ratings.get(ratings, ())
            uncounted = [fit for fit in fits if fit not in counted]
            self._by_ratings[ratings] = (*counted, *uncounted)


_comparing: ContextVar[bool] = ContextVar("comparing", default=False)
"""Whether the running code is in a `comparison` block."""
_counters: WeakSet[FitCounter[Any]] = WeakSet()
"""All counters of this process."""


def forget_fits() -> None:
    """Forget all fits in all counters. Only tests may call this: their people are generated."""
    for counter in _counters:
        counter._by_ratings.clear()


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
