"""Checks of a recommender's inputs: ratings, histories, ids, lengths of lists."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource, StoredRatings
from tacit.errors import ConfigError, DataError

_HISTORY_EXAMPLE = "{item id: stars}, such as {7: 4.0}"
"""What a history looks like, for messages of errors."""
_EARLIEST_TIME, _LATEST_TIME = -(2**63), 2**63 - 1


def as_ratings(ratings: object) -> Ratings:
    """Return ratings unchanged, and turn a data frame or another table into ratings.

    Raises:
        DataError: The argument is neither ratings nor a table, or `ratings_from` cannot read it.
    """
    if isinstance(ratings, Ratings):
        return ratings
    if _is_table(ratings):
        from tacit.data.frames import ratings_from  # it needs polars

        try:
            return ratings_from(ratings)
        except DataError as error:
            raise DataError(
                error.what,
                row=error.row,
                column=error.column,
                found=error.found,
                expected=error.expected,
                fix=f"{error.fix or ''} Name columns with  tacit.ratings_from(frame, ...).".strip(),
            ) from None
    raise DataError(
        "a model is fitted to ratings",
        found=type(ratings).__name__,
        expected="tacit.Ratings, or a data frame of them",
        fix="Make them:  tacit.ratings_from(frame)  or  tacit.load(PATH).",
    )


def as_ratings_source(ratings: object) -> RatingsSource:
    """Return stored ratings unchanged; treat anything else as `as_ratings` does."""
    return ratings if isinstance(ratings, StoredRatings) else as_ratings(ratings)


def _is_table(value: object) -> bool:
    """Return whether an object may be a data frame, a matrix, columns by name, or rows."""
    is_rows = isinstance(value, list | np.ndarray) or (isinstance(value, Mapping) and bool(value))
    return is_rows or hasattr(value, "columns") or hasattr(value, "tocoo")


def refuse_history_as_user(user: object) -> None:
    """Raise DataError if a history was given in place of a person's id."""
    if isinstance(user, Mapping | list | set | np.ndarray) or hasattr(user, "columns"):
        raise DataError(
            "the first argument is the id of a person in the fitted ratings",
            found=type(user).__name__,
            fix="Give items with their stars by name:  recommend(history={ITEM: STARS}).",
        )


def refuse_histories_as_users(users: Iterable[object]) -> None:
    """Raise DataError if a history was given in place of the id of one of many people."""
    for user in users:
        refuse_history_as_user(user)


def checked_n(n: object) -> int:
    """Return the length n of a list as an int; raise ConfigError unless it is whole and above 0."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ConfigError(
            f"A list has a whole number of entries, at least one; got n={n!r}. Give n=10, say."
        )
    return int(n)


def checked_ids(ids: object, name: str) -> list[Any]:
    """Return item ids as a list.

    Args:
        ids: The ids.
        name: Name of the argument, for the error's message.

    Raises:
        ConfigError: The ids are a single text, or no collection.
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ConfigError(
            f"{name} is a collection of item ids; got {type(ids).__name__}. Give {name}=[ID, ID]."
        )
    return list(ids.tolist()) if isinstance(ids, np.ndarray) else list(ids)


def checked_times(times: object, history: Mapping[Any, float]) -> Mapping[Any, int]:
    """Check the times of a history, and return them.

    Args:
        times: Item id to whole seconds.
        history: Item id to stars.

    Raises:
        DataError: The times are no mapping, are of other items than the history, or one is no whole
            number of 64 bits.
    """
    expected = "whole seconds for each item of the history and no other"
    if not isinstance(times, Mapping):
        raise DataError("times map items to seconds", found=type(times).__name__, expected=expected)
    if set(times) != set(history):
        unmatched = next(iter(set(times) ^ set(history)))
        raise DataError(
            "the times are not those of the items in the history",
            found=unmatched,
            expected=expected,
        )
    for item, time in times.items():
        if isinstance(time, bool) or not isinstance(time, Integral):
            what = f"the time of item {item!r} in the history is no whole number"
            raise DataError(what, found=time, expected=expected)
        if not _EARLIEST_TIME <= int(time) <= _LATEST_TIME:
            what = f"the time of item {item!r} in the history is no time in seconds"
            raise DataError(what, expected="whole seconds in 64 bits")
    return times


def checked_history(
    history: object, ids: Column | None = None, scale: RatingScale | None = None
) -> Mapping[Any, float]:
    """Check one person's ratings, and return them as item id to stars.

    Args:
        history: Item id to stars, or a data frame of items and stars.
        ids: (items,) ids of the model. Unless the history is empty, at least one of its ids must be
            of their type; None: ids of any type are accepted.
        scale: Scale on which the stars must lie; None: any finite numbers are accepted.

    Raises:
        DataError: The history is something else, stars are not valid, or no id is of the right
            type.
    """
    if not isinstance(history, Mapping) and hasattr(history, "columns"):
        from tacit.data.frames import history_from  # it needs polars

        history = history_from(history)
    if not isinstance(history, Mapping):
        found = type(history).__name__
        raise DataError("a history maps items to stars", found=found, expected=_HISTORY_EXAMPLE)
    stars = _finite_stars(history)
    if ids is not None:
        check_id_type(history, ids)
    if scale is not None and not scale.holds(stars).all():
        fix = "Correct it, or bring your stars to this scale."
        raise DataError("a rating in the history lies off the scale", expected=str(scale), fix=fix)
    return history


def _finite_stars(history: Mapping[Any, Any]) -> NDArray[np.float64]:
    """Return (ratings,) stars of a history; raise DataError if one is not a finite number."""
    if set(map(type, history.values())) <= {int, float}:
        with suppress(OverflowError):  # of an integer that is too large; the loop names its item
            stars = np.array(list(history.values()), dtype=float)
            if np.isfinite(stars).all():
                return stars
    for item, value in history.items():
        if not _is_finite_number(value):
            problem = f"the rating of item {item!r} in the history is not a finite number"
            fix = "Leave the item out, or correct it."
            raise DataError(problem, expected=_HISTORY_EXAMPLE, fix=fix)
    return np.array(list(history.values()), dtype=float)


def _is_finite_number(value: object) -> bool:
    """Tell whether a value is a real number, no Boolean, that a float can hold."""
    if isinstance(value, bool | np.complexfloating):
        return False
    if not isinstance(value, int | float | np.number):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_id_type(history: Collection[Any], ids: Column) -> None:
    """Raise DataError if a history has ids, and none of them has the type of the model's ids.

    Args:
        history: Ids of items.
        ids: (items,) ids of the model.
    """
    are_strings = ids.dtype == object
    types: tuple[type, ...] = (str,) if are_strings else (int, np.integer)
    if history and len(ids) and not any(isinstance(key, types) for key in history):
        noun = "strings" if are_strings else "whole numbers"
        converter = "str" if are_strings else "int"
        raise DataError(
            "the ids of the history are of another type than the model's",
            found=type(next(iter(history))).__name__,
            expected=f"{noun} such as {ids.tolist()[0]!r}",
            fix=f"Convert them:  {{{converter}(item): stars ...}}",
        )
