"""Checks of a recommender's inputs: ratings, histories, ids, lengths of lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource, StoredRatings
from tacit.errors import ConfigError, DataError

_HISTORY_EXAMPLE = "{item id: stars}, such as {7: 4.0}"


def as_ratings(ratings: object) -> Ratings:
    """Give ratings themselves; make them of a data frame or another table, as `ratings_from` does.

    Raises:
        DataError: A model cannot be fitted to this, or its columns leave a doubt.
    """
    if isinstance(ratings, Ratings):
        return ratings
    if _is_table(ratings):
        from tacit.data.tabular import ratings_from  # it needs polars

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
    """Give ratings, stored ones too; make them of a table, as `as_ratings` does."""
    return ratings if isinstance(ratings, StoredRatings) else as_ratings(ratings)


def _is_table(value: object) -> bool:
    """Tell whether something may be a data frame, a matrix, columns by name, or rows."""
    is_rows = isinstance(value, list | np.ndarray) or (isinstance(value, Mapping) and bool(value))
    return is_rows or hasattr(value, "columns") or hasattr(value, "tocoo")


def refuse_history_as_user(user: object) -> None:
    """Raise DataError where a history was given in the place of a person's id."""
    if isinstance(user, Mapping | list | set | np.ndarray) or hasattr(user, "columns"):
        raise DataError(
            "the first argument is the id of a person who was fitted to",
            found=type(user).__name__,
            fix="Give items with their stars by name:  recommend(history={ITEM: STARS}).",
        )


def checked_n(n: object) -> int:
    """Return the length of a list as an int; ConfigError for what is no length."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ConfigError(
            f"A list has a whole number of entries, at least one; got n={n!r}. Give n=10, say."
        )
    return int(n)


def checked_ids(ids: object, name: str) -> Collection[Any]:
    """A collection of ids, such as those to leave out; ConfigError for what is none."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ConfigError(
            f"{name} is a collection of item ids; got {type(ids).__name__}. Give {name}=[ID, ID]."
        )
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def checked_times(times: object, history: Mapping[Any, float]) -> Mapping[Any, int]:
    """Check when the items of a history were rated.

    Raises:
        DataError: Not a mapping, or not one whole number of seconds for each item of the history.
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
    for item, moment in times.items():
        if isinstance(moment, bool) or not isinstance(moment, Integral):
            what = f"the time of item {item!r} in the history is no whole number"
            raise DataError(what, found=moment, expected=expected)
    return times


def checked_history(
    history: object, ids: Column | None = None, scale: RatingScale | None = None
) -> Mapping[Any, float]:
    """Check one person's own ratings.

    Args:
        history: Item id to stars, or a data frame of items and stars.
        ids: Ids of the model's items, whose type those of the history have; None: any type.
        scale: On which the stars lie; None: any finite numbers.

    Returns:
        Item id to stars.

    Raises:
        DataError: it is no such history.
    """
    if not isinstance(history, Mapping) and hasattr(history, "columns"):
        from tacit.data.tabular import history_from  # it needs polars

        history = history_from(history)
    if not isinstance(history, Mapping):
        found = type(history).__name__
        raise DataError("a history maps items to stars", found=found, expected=_HISTORY_EXAMPLE)
    stars_given = _finite_stars(history)
    if ids is not None:
        check_id_type(history, ids)
    if scale is not None and not scale.holds(stars_given).all():
        fix = "Correct it, or bring your stars to this scale."
        raise DataError("a rating in the history lies off the scale", expected=str(scale), fix=fix)
    return history


def _finite_stars(history: Mapping[Any, Any]) -> NDArray[np.float64]:
    """(ratings,) stars of a history; DataError names the item of one that is no finite number."""
    if set(map(type, history.values())) <= {int, float}:
        stars_given = np.array(list(history.values()), dtype=float)
        if np.isfinite(stars_given).all():
            return stars_given
    for item, stars in history.items():
        is_number = isinstance(stars, int | float | np.number) and not isinstance(stars, bool)
        if not is_number or not np.isfinite(stars):
            problem = f"a rating in the history is not a finite number, that of item {item!r}"
            fix = "Leave the item out, or correct it."
            raise DataError(problem, expected=_HISTORY_EXAMPLE, fix=fix)
    return np.array(list(history.values()), dtype=float)


def check_id_type(history: Collection[Any], ids: Column) -> None:
    """Raise DataError if no id of the history has the type of the model's: then none is known."""
    are_strings = ids.dtype == object
    types: tuple[type, ...] = (str,) if are_strings else (int, np.integer)
    if history and len(ids) and not any(isinstance(key, types) for key in history):
        noun, convert = ("strings", "str") if are_strings else ("whole numbers", "int")
        raise DataError(
            "the ids of the history are of another type than the model's",
            found=type(next(iter(history))).__name__,
            expected=f"{noun} such as {ids.tolist()[0]!r}",
            fix=f"Convert them:  {{{convert}(item): stars ...}}",
        )
