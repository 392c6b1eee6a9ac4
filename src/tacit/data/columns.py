"""Columns of ratings: scales of stars, events without stars, ids numbered, duplicates settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

Column = NDArray[Any]
"""One value per user or item, aligned with their ids; strings as dtype object."""
LONGEST_ID = 200
"""Characters of an id at most: longer ones are not served."""
LIKED = 0.7
"""Of the span of a scale: from here on a rating is a like."""


@dataclass(frozen=True, slots=True)
class RatingScale:
    """The stars a rating can take: minimum, minimum + step, ..., maximum; step 0: any between."""

    minimum: float
    maximum: float
    step: float

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):  # 1 and 1.0 must be written alike
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
            DataError: The text is not MIN:MAX:STEP.
        """
        try:
            minimum, maximum, step = (float(part) for part in text.split(":"))
        except ValueError:
            what = "a rating scale is written MIN:MAX:STEP"
            raise DataError(what, found=text, expected="for example 1:5:1") from None
        return cls(minimum, maximum, step)

    @classmethod
    def detect(cls, values: NDArray[np.float64]) -> RatingScale:
        """Find the first common scale that holds every value (ratings,); it is not public.

        Raises:
            DataError: No common scale holds all of them.
        """
        scale, off_scale = cls.nearest(values)
        if off_scale:
            held = scale.holds(values)
            raise scale.no_common_scale_error(int(np.argmin(held)) + 1 if held.any() else None)
        return scale

    @classmethod
    def nearest(cls, values: NDArray[np.float64]) -> tuple[RatingScale, int]:
        """Find the common scale that the values (ratings,) lie on.

        The first scale that holds 95 % of the values wins, so that a single cell decides nothing
        for the others. Half stars are believed from 1 % of the values on.

        Returns:
            The scale, the one that holds most values if none holds 95 %; and how many are off it.
        """
        different, counts = np.unique(values, return_counts=True)
        for scale, levels in _SCALES_OF_FEW_LEVELS:
            if np.isin(different, levels).all() and np.isin(levels, different).sum() >= 2:
                return scale, 0
        held = {scale: int(counts[scale.holds(different)].sum()) for scale in COMMON_SCALES}
        if len(values) < FEWEST_FOR_RARE_SCALES:
            held = {scale: number for scale, number in held.items() if scale not in _RARE_SCALES}
        if not (different < 0).any():
            del held[_BELOW_ZERO]
        enough = [scale for scale in held if held[scale] >= MOST_ON_SCALE * len(values)]
        chosen = enough[0] if enough else max(held, key=held.__getitem__)
        halves = RatingScale(chosen.minimum - 0.5, chosen.maximum, 0.5)
        if chosen.step == 1 and halves in held:
            gained = held[halves] - held[chosen]
            if held[halves] == len(values) and gained >= FEWEST_HALVES * len(values):
                chosen = halves
        return chosen, len(values) - held[chosen]

    @classmethod
    def code_of_no_rating(cls, values: NDArray[np.float64]) -> float | None:
        """Find a number beside a common scale that may mean "no rating" among values (ratings,).

        Returns:
            0, -1 or 99 where more than 5 % of the values are it and the others lie on a common
            scale without it; None otherwise.
        """
        different = np.unique(values)
        if any(np.isin(different, levels).all() for _, levels in _SCALES_OF_FEW_LEVELS):
            return None
        codes: list[float] = different[np.isin(different, (0.0, -1.0, 99.0))].tolist()
        for code in codes:
            others = values[values != code]
            if not others.size or len(values) - len(others) <= (1 - MOST_ON_SCALE) * len(values):
                continue
            scale, off_scale = cls.nearest(others)
            if (
                off_scale <= (1 - MOST_ON_SCALE) * len(others)
                and not scale.holds(np.array([code])).any()
            ):
                return code
        return None

    def no_common_scale_error(self, row: int | None) -> DataError:
        """Make the error for ratings that no common scale holds.

        row: Number of the first that is off this scale; None: all are.
        """
        expected = "all of them on one of " + ", ".join(map(str, COMMON_SCALES))
        if row is not None:
            expected = f"a rating on {self} as most of the others, or {expected}"
        return DataError(
            "the ratings fit none of the common scales",
            row=row,
            expected=expected,
            fix="Correct the row, or give the scale with --scale MIN:MAX:STEP, for example 1:7:1 "
            "(from Python: scale=RatingScale(1, 7, 1)); a step of 0 allows anything between.",
        )

    @property
    def span(self) -> float:
        """Difference of the most and the fewest stars."""
        return self.maximum - self.minimum

    @property
    def liked_from(self) -> float:
        """The fewest stars that are a like: 0.7 of the way up, so 4 of 1 to 5; public."""
        return self.minimum + LIKED * self.span

    @property
    def discrete(self) -> bool:
        """Whether stars have steps."""
        return self.step > 0

    @property
    def levels(self) -> int:
        """How many different stars there are (0 on a continuous scale)."""
        return round(self.span / self.step) + 1 if self.step else 0

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say for each value whether it lies on the scale; same shape as `values`."""
        inside = np.isfinite(values) & (values >= self.minimum) & (values <= self.maximum)
        if not self.step:
            return inside
        steps = np.where(inside, values, self.minimum).astype(np.float64, copy=False)
        steps -= self.minimum  # in place, for there may be many
        steps /= self.step
        steps -= np.round(steps)
        return np.asarray(inside & (np.abs(steps, out=steps) < 1e-6))

    def to_levels(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn stars into 0, 1, ..., levels - 1; same shape as `values`.

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
_BELOW_ZERO = COMMON_SCALES[-1]
_RARE_SCALES = frozenset(map(RatingScale.parse, ("1:7:1", "0:20:0.5")))
FEWEST_FOR_RARE_SCALES = 50
"""Ratings from which on their absence above 7 or 20 says that the scale ends there."""
MOST_ON_SCALE = 0.95
"""Share of the ratings that decides which scale they are on."""
FEWEST_HALVES = 0.01
"""Share of the ratings from which on half stars are no slips."""

EVENTS = RatingScale(0, 1, 1)
"""Of events without stars, such as purchases: a 1 is a like, a 0 was seen and not liked."""

_SCALES_OF_FEW_LEVELS = (
    (EVENTS, np.array([0.0, 1.0])),
    (RatingScale(-1, 1, 1), np.array([-1.0, 0.0, 1.0])),
)
"""Answers of yes and no, and thumbs."""

_ROOMY = 4  # a table of this many places per row is cheaper than sorting the ids
_BIGGEST_ID = np.iinfo(np.int64).max


def align(columns: Mapping[str, Mapping[Any, Any]] | None, ids: Column) -> dict[str, Column]:
    """Bring columns by id into the order of `ids`; None where an id has no value."""
    aligned = {}
    for name, by_id in (columns or {}).items():
        column = np.empty(len(ids), dtype=object)
        column[:] = [by_id.get(key) for key in ids.tolist()]
        aligned[name] = column
    return aligned


def number_ids(ids: Any, kind: str) -> tuple[Column, NDArray[np.signedinteger[Any]]]:
    """Sorted distinct ids (int64, or str as objects) and the number of each row's id."""
    if hasattr(ids, "__array__"):
        column = np.asarray(ids)
        if column.dtype.kind in "iu" and column.ndim == 1:
            if column.size and int(column.max()) > _BIGGEST_ID:
                raise large_id_error(kind)
            return _number_integers(column.astype(np.int64, copy=False))
        ids = column.tolist()
    entries = list(ids)
    if _all_strings(entries, kind):
        return _number_strings(entries, kind)
    try:
        return _number_integers(np.fromiter(entries, dtype=np.int64, count=len(entries)))
    except OverflowError:
        raise large_id_error(kind) from None


def _all_strings(entries: list[Any], kind: str) -> bool:
    """True if all are strings, False if all are integers; anything else is refused."""
    types = set(map(type, entries))
    strings = {each for each in types if issubclass(each, str)}
    integers = {each for each in types - {bool} if issubclass(each, int | np.integer)}
    if other_types := types - strings - integers:
        row = next(row for row, entry in enumerate(entries, 1) if type(entry) in other_types)
        raise DataError(f"a {kind} id is an integer or a string", row=row, found=entries[row - 1])
    if strings and integers:
        what = f"the {kind} ids mix integers and strings"
        fix = "Turn all of them into strings."
        expected = "one of the two, because 7 and '7' are different ids"
        raise DataError(what, expected=expected, fix=fix)
    return bool(strings)


def _number_strings(entries: list[str], kind: str) -> tuple[Column, NDArray[np.int64]]:
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
    if not column.size:
        return column, column
    low, high = int(column.min()), int(column.max())
    if high - low >= _ROOMY * len(column):
        return np.unique(column, return_inverse=True)
    present = np.zeros(high - low + 1, dtype=bool)
    places = column - low
    present[places] = True
    kind = np.int32 if len(present) < 2**31 else np.int64
    numbers: NDArray[np.signedinteger[Any]] = np.cumsum(present, dtype=kind)
    return np.flatnonzero(present) + low, numbers[places] - 1


def latest(pairs: NDArray[np.int64], *keys: NDArray[Any]) -> NDArray[np.intp]:
    """Find the rows that count, sorted by pair.

    The rule for repeats is one everywhere, and takes no order of rows, which a cluster does not
    keep: the latest counts; of equally late ones, and without times, the one with most stars.

    Args:
        pairs: (rows,) number of person and item, from 0.
        *keys: (rows,) stars, then times where there are any.

    Sorted by digits of 16 bits, which NumPy counts: comparing takes five times as long. Only
    repeated pairs are sorted again.
    """
    order = np.argsort(pairs.astype(np.uint16), kind="stable")
    for shift in range(16, int(pairs.max(initial=0)).bit_length(), 16):
        order = order[np.argsort((pairs >> shift).astype(np.uint16)[order], kind="stable")]
    ordered = pairs[order]
    last = np.ones(len(pairs), dtype=bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    del ordered
    if not last.all():
        several = ~last
        several[1:] |= ~last[:-1]
        rows = order[several]
        order[several] = rows[np.lexsort((*(key[rows] for key in keys), pairs[rows]))]
    return order[last]


def stars_of(values: Any, scale: RatingScale | None) -> NDArray[np.float64]:
    """(n,) stars, finite and on the scale, if one is given; DataError names the first row."""
    try:
        stars = np.asarray(values, dtype=np.float64)
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


def times_of(timestamps: Any) -> NDArray[np.int64]:
    """(n,) seconds, decimals cut, of numbers or datetime64; DataError names the first row."""
    from tacit.data.tables.times import LAST_SECOND, TIME  # it needs polars

    given = np.asarray(timestamps)
    if given.dtype.kind == "M":
        _refuse_first(given, ~np.isnat(given), "a time is missing", TIME)
        given = given.astype("datetime64[s]").astype(np.int64)
    if given.dtype.kind not in "iuf" or given.ndim != 1:
        raise DataError("a time is not a number", found=str(given.dtype), expected=TIME)
    _refuse_first(given, np.isfinite(given), "a time is not a finite number", TIME)
    inside = (given >= -LAST_SECOND) & (given <= LAST_SECOND)
    _refuse_first(given, inside, "a time is not in seconds", TIME)
    return given.astype(np.int64, copy=False)


def _refuse_first(column: NDArray[Any], good: NDArray[np.bool_], what: str, expected: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(what, row=row + 1, found=column[row].item(), expected=expected)


def large_id_error(kind: str) -> DataError:
    """Make the error for an integer id that is too large."""
    return DataError(f"a {kind} id does not fit 64 bits", fix="Give ids of this size as strings.")
