"""From columns in any order to `Ratings`: ids numbered, rows sorted, duplicates settled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Duplicates, Ratings, RatingScale
from tacit.data.scales import EVENTS
from tacit.data.tables.times import TIME, plausible
from tacit.errors import DataError

_ROOMY = 4  # a table of this many places per row is cheaper than sorting the ids
_BIGGEST_ID = np.iinfo(np.int64).max


def assemble(
    users: Any,
    items: Any,
    values: Any,
    timestamps: Any,
    scale: RatingScale | None,
    duplicates: Duplicates,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None,
) -> Ratings:
    """The work of `Ratings.from_arrays`, which documents it."""
    if duplicates not in ("error", "last", "mean"):
        raise DataError(
            "no such rule for duplicates", found=duplicates, expected="error, last, mean"
        )
    user_ids, user_numbers = number_ids(users, "user")
    item_ids, item_numbers = number_ids(items, "item")
    if values is None:
        values, scale = np.ones(len(user_numbers)), scale or EVENTS
    stars = _stars(values, scale)
    # Averaging may turn steps into a continuous scale, which reveals that a person rated twice.
    given = scale is not None and not (duplicates == "mean" and scale.discrete)
    scale = scale or RatingScale.detect(stars)
    times = None if timestamps is None else _times(timestamps)
    lengths = {len(user_numbers), len(item_numbers), len(stars)}
    if len(lengths | ({len(times)} if times is not None else set())) != 1:
        raise DataError("users, items, ratings and times must have the same length")
    pairs = user_numbers * np.int64(len(item_ids)) + item_numbers
    order, last = _order(pairs, times)
    if duplicates == "error" and not last.all():
        raise DataError(
            f"{int((~last).sum())} ratings repeat a (user, item) pair",
            fix="Allow it with duplicates='last' (keep the latest) or 'mean'.",
        )
    stars = stars[order]
    if duplicates == "mean" and not last.all():
        group = np.concatenate([[0], np.cumsum(last)[:-1]])
        stars = (np.bincount(group, stars) / np.bincount(group))[group]
        if not scale.holds(stars).all():  # a mean of stars lies between the steps
            scale = RatingScale(scale.minimum, scale.maximum, 0)
    kept = order[last]
    return Ratings(
        users=user_numbers[kept].astype(np.int32),
        items=item_numbers[kept].astype(np.int32),
        values=stars[last],
        timestamps=None if times is None else times[kept],
        user_ids=user_ids,
        item_ids=item_ids,
        scale=scale,
        user_attributes=align(user_attributes, user_ids),
        item_metadata=align(item_metadata, item_ids),
        scale_given=given,
    )


def align(columns: Mapping[str, Mapping[Any, Any]] | None, ids: Column) -> dict[str, Column]:
    """Columns by id to arrays in the order of `ids`; None where an id has no value."""
    aligned = {}
    for name, by_id in (columns or {}).items():
        column = np.empty(len(ids), dtype=object)
        column[:] = [by_id.get(key) for key in ids.tolist()]
        aligned[name] = column
    return aligned


def number_ids(ids: Any, kind: str) -> tuple[Column, NDArray[np.int64]]:
    """Sorted distinct ids (int64, or str as objects) and the number of each row's id."""
    column = np.asarray(ids) if hasattr(ids, "__array__") else list(ids)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.ndim == 1:
        if column.size and int(column.max()) > _BIGGEST_ID:
            raise unfit(kind)
        return _number_integers(column.astype(np.int64))
    entries = column if isinstance(column, list) else column.tolist()
    if _all_strings(entries, kind):
        return _number_strings(entries, kind)
    try:
        return _number_integers(np.fromiter(entries, dtype=np.int64, count=len(entries)))
    except OverflowError:
        raise unfit(kind) from None


def _all_strings(entries: list[Any], kind: str) -> bool:
    """True if all are strings, False if all are integers; anything else is refused."""
    types = set(map(type, entries))
    strings = {t for t in types if issubclass(t, str)}
    integers = {t for t in types if issubclass(t, int | np.integer) and t is not bool}
    if odd := types - strings - integers:
        row = next(row for row, entry in enumerate(entries, 1) if type(entry) in odd)
        raise DataError(f"a {kind} id is an integer or a string", row=row, found=entries[row - 1])
    if strings and integers:
        raise DataError(
            f"the {kind} ids mix integers and strings",
            expected="one of the two, because 7 and '7' are different ids",
            fix="Turn all of them into strings.",
        )
    return bool(strings)


def _number_strings(entries: list[str], kind: str) -> tuple[Column, NDArray[np.int64]]:
    distinct = sorted(set(entries))
    for entry in distinct:
        if not entry.strip():
            raise DataError(f"a {kind} id is empty", row=entries.index(entry) + 1)
    numbers = {entry: number for number, entry in enumerate(distinct)}
    ids = np.empty(len(distinct), dtype=object)
    ids[:] = [str(entry) for entry in distinct]
    return ids, np.fromiter(map(numbers.__getitem__, entries), dtype=np.int64, count=len(entries))


def _number_integers(column: NDArray[np.int64]) -> tuple[Column, NDArray[np.int64]]:
    if not column.size:
        return column, column
    low, high = int(column.min()), int(column.max())
    if high - low >= _ROOMY * len(column):
        return np.unique(column, return_inverse=True)
    present = np.zeros(high - low + 1, dtype=bool)
    present[column - low] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[column - low]


def _order(
    pairs: NDArray[np.int64], times: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The rows sorted by pair, equal pairs by time, then row; and which of them end their pair."""
    order = np.argsort(pairs, kind="stable")
    last = np.ones(len(pairs), dtype=bool)
    last[:-1] = np.diff(pairs[order]) != 0
    if times is not None and not last.all():
        several = ~last
        several[1:] |= ~last[:-1]  # only the repeated pairs are worth sorting again
        rows = order[several]
        order[several] = rows[np.lexsort((times[rows], pairs[rows]))]
    return order, last


def _stars(values: Any, scale: RatingScale | None) -> NDArray[np.float64]:
    try:
        stars = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"a rating is not a number ({error})", expected="finite numbers") from None
    if stars.ndim != 1:
        raise DataError("ratings come as one column", found=f"an array of shape {stars.shape}")
    if not stars.size:
        raise DataError("there is no rating", expected="at least one row")
    _refuse_first(stars, np.isfinite(stars), "a rating is not a finite number", "a finite number")
    if scale is not None:
        _refuse_first(stars, scale.holds(stars), "a rating lies off the scale", str(scale))
    return stars


def _times(timestamps: Any) -> NDArray[np.int64]:
    given = np.asarray(timestamps)
    if given.dtype.kind == "M":
        _refuse_first(given, ~np.isnat(given), "a time is missing", TIME)
        given = given.astype("datetime64[s]").astype(np.int64)
    if given.dtype.kind not in "iuf" or given.ndim != 1:
        raise DataError("a time is not a number", found=str(given.dtype), expected=TIME)
    fits = np.isfinite(given) & (np.abs(np.where(np.isfinite(given), given, 0)) < 2.0**62)
    _refuse_first(given, fits, "a time is not a finite number", TIME)
    times = given.astype(np.int64)
    _refuse_first(times, plausible(times), "a time is not in seconds", TIME)
    return times


def _refuse_first(column: NDArray[Any], good: NDArray[np.bool_], what: str, expected: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(what, row=row + 1, found=column[row].item(), expected=expected)


def unfit(kind: str) -> DataError:
    """What to say of an integer id that is too large."""
    return DataError(f"a {kind} id does not fit 64 bits", fix="Give ids of this size as strings.")
