"""Columns of ratings: scales of stars, numbered ids, checks of stars and times, repeated rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

Column = NDArray[Any]
"""An array of ids or of other values, such as one for each user; strings have the dtype object."""
LONGEST_ID = 200
"""Largest number of characters of an id. A row of a table with a longer id is bad, and the service
refuses requests with longer ids."""
LIKED = 0.7
"""A rating is a like if it is at least minimum + LIKED * span of its scale."""


@dataclass(frozen=True, slots=True)
class RatingScale:
    """The stars a rating can take: minimum, minimum + step, ..., maximum.

    A step of 0 allows any number from the minimum to the maximum.
    """

    minimum: float
    """The fewest stars."""
    maximum: float
    """The most stars."""
    step: float
    """Difference between two neighbouring numbers of stars; 0: any number in between is allowed."""

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):  # so that 1 and 1.0 are stored as the same text
            object.__setattr__(self, name, float(getattr(self, name)))
        if not (np.isfinite([self.minimum, self.maximum, self.step]).all() and self.step >= 0):
            raise DataError("a rating scale needs three finite numbers and a step of 0 or more")
        if self.minimum >= self.maximum:
            raise DataError("a rating scale's minimum lies below its maximum", found=str(self))
        if self.step and not np.isclose(self.span / self.step, round(self.span / self.step)):
            raise DataError("a rating scale is a whole number of steps long", found=str(self))

    @classmethod
    def parse(cls, text: str) -> RatingScale:
        """Read a scale: `"1:5:1"` is one to five stars; `"0:10:0"` any number from 0 to 10.

        Raises:
            DataError: The text is not MIN:MAX:STEP, or the three numbers make no scale.
        """
        try:
            minimum, maximum, step = (float(part) for part in text.split(":"))
        except ValueError:
            what = "a rating scale is written MIN:MAX:STEP"
            raise DataError(what, found=text, expected="for example 1:5:1") from None
        return cls(minimum, maximum, step)

    @classmethod
    def detect(cls, values: NDArray[np.float64]) -> RatingScale:
        """Find a common scale that holds every value.

        The scale depends on the ratings, so it is not public.

        Args:
            values: (ratings,) stars.

        Raises:
            DataError: No common scale holds all of them.
        """
        scale, off_scale = cls.nearest(values)
        if off_scale:
            on_scale = scale.holds(values)
            first_row_off = int(np.argmin(on_scale)) + 1 if on_scale.any() else None
            raise scale.no_common_scale_error(first_row_off)
        return scale

    @classmethod
    def nearest(cls, values: NDArray[np.float64]) -> tuple[RatingScale, int]:
        """Find a common scale that most values lie on.

        Values among 0 and 1, or among -1, 0 and 1, get the scale of these numbers, if at least two
        different ones occur. Otherwise the first of `COMMON_SCALES` that holds 95 % of the values
        is chosen, so that a single cell does not decide for the others. A scale that begins below 0
        needs a negative value, and a rare scale needs `FEWEST_FOR_RARE_SCALES` values. A scale of
        whole stars is replaced by the common scale of half stars with the same maximum that begins
        half a star lower, if there is one, if it holds all values, and if at least 1 % of the
        values are on it alone.

        Args:
            values: (ratings,) stars.

        Returns:
            The scale, and the number of values off it. If no scale holds 95 % of the values, the
            scale is the one that holds most.
        """
        distinct, counts = np.unique(values, return_counts=True)
        for scale, levels in _SCALES_OF_FEW_LEVELS:
            if np.isin(distinct, levels).all() and np.isin(levels, distinct).sum() >= 2:
                return scale, 0
        # How many values each scale holds.
        held = {scale: int(counts[scale.holds(distinct)].sum()) for scale in COMMON_SCALES}
        if len(values) < FEWEST_FOR_RARE_SCALES:
            held = {scale: number for scale, number in held.items() if scale not in _RARE_SCALES}
        if not (distinct < 0).any():
            del held[_BELOW_ZERO]
        sufficient = [scale for scale in held if held[scale] >= LEAST_ON_SCALE * len(values)]
        chosen = sufficient[0] if sufficient else max(held, key=held.__getitem__)
        half_stars = RatingScale(chosen.minimum - 0.5, chosen.maximum, 0.5)
        if chosen.step == 1 and half_stars in held:
            gained = held[half_stars] - held[chosen]
            if held[half_stars] == len(values) and gained >= FEWEST_HALVES * len(values):
                chosen = half_stars
        return chosen, len(values) - held[chosen]

    @classmethod
    def code_of_no_rating(cls, values: NDArray[np.float64]) -> float | None:
        """Find a number that may be a code for "no rating" among stars.

        Args:
            values: (ratings,) numbers of the column of stars.

        Returns:
            The first of -1, 0 and 99 for which two things hold: more than 5 % of the values equal
            it, and at least 95 % of the other values lie on a common scale that does not hold it.
            None if there is no such number, or if all values are among -1, 0 and 1.
        """
        distinct = np.unique(values)
        if any(np.isin(distinct, levels).all() for _, levels in _SCALES_OF_FEW_LEVELS):
            return None
        codes: list[float] = distinct[np.isin(distinct, (0.0, -1.0, 99.0))].tolist()
        for code in codes:
            others = values[values != code]
            is_rare = len(values) - len(others) <= (1 - LEAST_ON_SCALE) * len(values)
            if not others.size or is_rare:
                continue
            scale, off_scale = cls.nearest(others)
            others_fit = off_scale <= (1 - LEAST_ON_SCALE) * len(others)
            if others_fit and not scale.holds(np.array([code])).any():
                return code
        return None

    def no_common_scale_error(self, row: int | None) -> DataError:
        """Make the error for ratings that no common scale holds.

        Args:
            row: Number, from 1, of the first rating off this scale; None: it is not known, or no
                rating lies on this scale.
        """
        expected = "all of them on one of " + ", ".join(map(str, COMMON_SCALES))
        if row is not None:
            expected = f"a rating on {self}, as others are, or {expected}"
        return DataError(
            "the ratings fit none of the common scales",
            row=row,
            expected=expected,
            fix="Correct the row, or give the scale with --scale MIN:MAX:STEP, for example 1:7:1 "
            "(from Python: scale=RatingScale(1, 7, 1)); a step of 0 allows anything between.",
        )

    @property
    def span(self) -> float:
        """Difference between the most and the fewest stars."""
        return self.maximum - self.minimum

    @property
    def liked_from(self) -> float:
        """The fewest stars of a like: minimum + 0.7 span, so 4 stars suffice on a 1-to-5 scale."""
        return self.minimum + LIKED * self.span

    @property
    def discrete(self) -> bool:
        """Whether a rating is the minimum plus whole steps; if not, it is any number in between."""
        return self.step > 0

    @property
    def levels(self) -> int:
        """How many different values a rating can have; 0 on a continuous scale."""
        return round(self.span / self.step) + 1 if self.step else 0

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell for each value whether it lies on the scale; the shape is that of `values`."""
        inside = np.isfinite(values) & (values >= self.minimum) & (values <= self.maximum)
        if not self.step:
            return inside
        steps = np.where(inside, values, self.minimum).astype(np.float64, copy=False)
        steps -= self.minimum  # in place, to save memory: there may be many values
        steps /= self.step
        steps -= np.round(steps)
        return np.asarray(inside & (np.abs(steps, out=steps) < _STEP_TOLERANCE))

    def to_levels(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn stars into levels: 0 for the minimum, 1 for one step more, and so on.

        The shape is that of `values`.

        Raises:
            DataError: The scale is continuous, or a value lies off it.
        """
        if not self.discrete:
            raise DataError("a continuous scale has no levels", found=str(self))
        if not self.holds(values).all():
            raise DataError("a rating lies off the scale", expected=str(self))
        return np.round((values - self.minimum) / self.step).astype(np.int64)

    def __str__(self) -> str:
        return f"{self.minimum:g}:{self.maximum:g}:{self.step:g}"


COMMON_SCALES = tuple(
    RatingScale.parse(text)
    for text in (
        "1:5:1",
        "0.5:5:0.5",
        "0:5:0.5",
        "1:7:1",
        "1:10:1",
        "0:10:0.5",
        "0:20:0.5",
        "0:100:1",
        "-10:10:0",
    )
)
"""Scales that `RatingScale.nearest` tries, in this order."""
_BELOW_ZERO = COMMON_SCALES[-1]
"""The scale with negative numbers, which is chosen only if a value is negative."""
_RARE_SCALES = frozenset(map(RatingScale.parse, ("1:7:1", "0:20:0.5")))
"""Scales that need `FEWEST_FOR_RARE_SCALES` ratings."""
FEWEST_FOR_RARE_SCALES = 50
"""Fewest ratings for which a scale that ends at 7 or at 20 is chosen. With fewer ratings, it may be
chance that none is higher."""
LEAST_ON_SCALE = 0.95
"""A scale fits ratings if at least this share of them lie on it."""
FEWEST_HALVES = 0.01
"""Least share of the ratings that must lie on the scale of half stars alone for it to replace a
scale of whole stars; fewer may be typing errors."""
_STEP_TOLERANCE = 1e-6
"""A value lies on a scale if it differs by less than this many steps from one of its stars."""

EVENTS = RatingScale(0, 1, 1)
"""The scale of events without stars, such as purchases: 1 is a like; 0 is an item that was seen and
not liked."""

_SCALES_OF_FEW_LEVELS = (
    (EVENTS, np.array([0.0, 1.0])),
    (RatingScale(-1, 1, 1), np.array([-1.0, 0.0, 1.0])),
)
"""Scales of yes and no (0, 1) and of thumbs (-1, 0, 1), with their levels."""

_TABLE_PLACES_PER_ROW = 4
"""Integer ids are numbered by a lookup table if it has at most this number of places for each row;
sorting the ids would take longer."""
_LARGEST_ID = np.iinfo(np.int64).max
"""Largest integer id."""


def align(columns: Mapping[str, Mapping[Any, Any]] | None, ids: Column) -> dict[str, Column]:
    """Turn columns that map ids to values into arrays in the order of `ids`.

    Args:
        columns: Columns by name, each of which maps ids to values; None: no columns.
        ids: (ids,) ids in the wanted order.

    Returns:
        The columns by name, (ids,) objects each, with None where an id has no value.
    """
    aligned = {}
    for name, by_id in (columns or {}).items():
        column = np.empty(len(ids), dtype=object)
        column[:] = [by_id.get(key) for key in ids.tolist()]
        aligned[name] = column
    return aligned


def number_ids(ids: Any, kind: str) -> tuple[Column, NDArray[np.signedinteger[Any]]]:
    """Number a column of ids in their sorted order.

    Args:
        ids: (rows,) integers or strings.
        kind: "user" or "item", for messages.

    Returns:
        The sorted different ids (k,), int64 or objects of str; and (rows,) the index of each row's
        id in them.

    Raises:
        DataError: An id is neither an integer nor a string, is empty or too large, or integers and
            strings are mixed.
    """
    if hasattr(ids, "__array__"):
        column = np.asarray(ids)
        if column.dtype.kind in "iu" and column.ndim == 1:
            if column.size and int(column.max()) > _LARGEST_ID:
                raise large_id_error(kind)
            return _number_integers(column.astype(np.int64, copy=False))
        ids = column.tolist()
    entries = list(ids)
    if _are_all_strings(entries, kind):
        return _number_strings(entries, kind)
    try:
        return _number_integers(np.fromiter(entries, dtype=np.int64, count=len(entries)))
    except OverflowError:
        raise large_id_error(kind) from None


def _are_all_strings(entries: list[Any], kind: str) -> bool:
    """Tell whether ids are all strings (True) or all integers (False); DataError for other ids."""
    types = set(map(type, entries))
    string_types = {entry_type for entry_type in types if issubclass(entry_type, str)}
    integer_types = {
        entry_type for entry_type in types - {bool} if issubclass(entry_type, int | np.integer)
    }
    other_types = types - string_types - integer_types
    if other_types:
        row = next(row for row, entry in enumerate(entries, 1) if type(entry) in other_types)
        raise DataError(
            f"a {kind} id is an integer or a string",
            row=row,
            found=f"a value of type {type(entries[row - 1]).__name__}",
        )
    if string_types and integer_types:
        what = f"the {kind} ids mix integers and strings"
        fix = "Turn all of them into strings."
        expected = "one of the two, because 7 and '7' are different ids"
        raise DataError(what, expected=expected, fix=fix)
    return bool(string_types)


def _number_strings(entries: list[str], kind: str) -> tuple[Column, NDArray[np.int64]]:
    """Number strings as `number_ids` does; DataError for an empty one."""
    distinct = sorted(set(entries))
    for entry in distinct:
        if not entry.strip():
            raise DataError(f"a {kind} id is empty", row=entries.index(entry) + 1)
    numbers = {entry: number for number, entry in enumerate(distinct)}
    ids = np.array([str(entry) for entry in distinct], dtype=object)
    return ids, np.fromiter(map(numbers.__getitem__, entries), dtype=np.int64, count=len(entries))


def _number_integers(
    column: NDArray[np.int64],
) -> tuple[Column, NDArray[np.signedinteger[Any]]]:
    """Number integers as `number_ids` does."""
    if not column.size:
        return column, column
    low, high = int(column.min()), int(column.max())
    if high - low >= _TABLE_PLACES_PER_ROW * len(column):
        return np.unique(column, return_inverse=True)
    is_used = np.zeros(high - low + 1, dtype=bool)  # for each integer from low to high
    indices = column - low
    is_used[indices] = True
    number_type = np.int32 if len(is_used) < 2**31 else np.int64
    # An id's number is how many used ids are smaller: the running count less one.
    counts: NDArray[np.signedinteger[Any]] = np.cumsum(is_used, dtype=number_type)
    return np.flatnonzero(is_used) + low, counts[indices] - 1


def find_latest_rows(pairs: NDArray[np.int64], *keys: NDArray[Any]) -> NDArray[np.intp]:
    """For each pair of person and item, find the row to keep.

    It is the latest row of the pair. Among equally late rows, or without times, it is the row with
    most stars. Every function that reads ratings uses this rule. It does not use the order of the
    rows, because a cluster does not preserve it.

    Args:
        pairs: (rows,) a number, 0 or more, that identifies each row's pair of person and item.
        *keys: (rows,) stars, then (rows,) times if there are times.

    Returns:
        (distinct pairs,) indices of rows, sorted by pair.
    """
    # A radix sort by digits of 16 bits, for which NumPy's stable sort counts instead of comparing:
    # five times as fast. Only rows of repeated pairs are then sorted by their keys.
    order = np.argsort(pairs.astype(np.uint16), kind="stable")
    for shift in range(16, int(pairs.max(initial=0)).bit_length(), 16):
        order = order[np.argsort((pairs >> shift).astype(np.uint16)[order], kind="stable")]
    ordered = pairs[order]
    is_last_of_pair = np.ones(len(pairs), dtype=bool)
    is_last_of_pair[:-1] = ordered[1:] != ordered[:-1]
    del ordered
    if not is_last_of_pair.all():
        is_repeated = ~is_last_of_pair
        is_repeated[1:] |= ~is_last_of_pair[:-1]
        rows = order[is_repeated]
        sort_keys = [key[rows] for key in keys]
        sort_keys.append(pairs[rows])  # np.lexsort sorts by the last key first
        order[is_repeated] = rows[np.lexsort(sort_keys)]
    return order[is_last_of_pair]


def check_stars(values: Any, scale: RatingScale | None) -> NDArray[np.float64]:
    """Turn values into stars, (n,) float64.

    Args:
        values: (n,) numbers.
        scale: The stars a rating can take; None: any finite number.

    Raises:
        DataError: The values are not one column of numbers, there is no value, or a value is not
            finite or lies off the scale. In the last two cases the error has the first such row.
    """
    try:
        stars = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):  # its message would show a cell
        raise DataError("a rating is not a number", expected="finite numbers") from None
    if stars.ndim != 1:
        raise DataError("ratings come as one column", found=f"an array of shape {stars.shape}")
    if not stars.size:
        raise DataError("there is no rating", expected="at least one row")
    _refuse_first(np.isfinite(stars), "a rating is not a finite number", "a finite number")
    if scale is not None:
        _refuse_first(scale.holds(stars), "a rating lies off the scale", str(scale))
    return stars


def check_times(timestamps: Any) -> NDArray[np.int64]:
    """Turn times into whole seconds since 1970, (n,) int64.

    Args:
        timestamps: (n,) seconds, whose decimals are cut, or datetime64.

    Raises:
        DataError: The times are not one column of numbers or of datetime64, or a time is missing or
            out of range. In the last two cases the error has the first such row.
    """
    from tacit.data.tables.times import LAST_SECOND, TIME  # it needs polars

    times = np.asarray(timestamps)
    if times.ndim != 1:
        raise DataError("times come as one column", found=f"an array of shape {times.shape}")
    if times.dtype.kind == "M":
        _refuse_first(~np.isnat(times), "a time is missing", TIME)
        times = times.astype("datetime64[s]").astype(np.int64)
    if times.dtype.kind not in "iuf":
        raise DataError("a time is not a number", found=str(times.dtype), expected=TIME)
    _refuse_first(np.isfinite(times), "a time is not a finite number", TIME)
    in_range = (times >= -LAST_SECOND) & (times <= LAST_SECOND)
    _refuse_first(in_range, "a time is not in seconds", TIME)
    return times.astype(np.int64, copy=False)


def _refuse_first(is_valid: NDArray[np.bool_], what: str, expected: str) -> None:
    """Raise DataError with the number of the first row that is not valid, if there is one.

    The error does not show the cell, which is private.
    """
    if not is_valid.all():
        raise DataError(what, row=int(np.argmin(is_valid)) + 1, expected=expected)


def large_id_error(kind: str) -> DataError:
    """Make the error for an integer id that does not fit int64."""
    return DataError(
        f"a {kind} id does not fit a signed 64-bit integer", fix="Give ids of this size as strings."
    )
