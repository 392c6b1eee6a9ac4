r"""Rows of a table to columns of ratings: each cell read, bad rows refused or dropped by a rule.

No message holds what stands in a cell of a person: it names the file, the row and the column.
Missing   an empty cell, null, NaN, None, N/A, \N
Ids       of text: integers if every id is written as one (no sign, no leading zero, below 2**63),
          else strings. Whole numbers stored as floats are integers. Otherwise as they are stored.
Numbers   with a decimal point or comma, each cell by itself; a cell with both is no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.columns import EVENTS, LONGEST_ID, RatingScale, large_id_error
from tacit.data.tables.names import Role, normalize_header
from tacit.data.tables.table import Table
from tacit.data.tables.times import TIME, Dates, TimeForm, depends_on_order, seconds, time_form
from tacit.errors import ConfigError, DataError

OnBad = Literal["refuse", "drop"]
NO_EVENT = "0 plays are no event"
DROP = (
    "Correct it, or leave such rows out:  tacit data import FILE -o FOLDER  (from Python: "
    "on_bad='drop')."
)
MISSING_TEXTS = (
    "",
    "null",
    "NULL",
    "Null",
    "nan",
    "NaN",
    "NAN",
    "none",
    "None",
    "n/a",
    "N/A",
    "#N/A",
    "\\N",
    "<NA>",
    "NaT",
    "NA",
    "-",
    "#REF!",
    "#VALUE!",
    "#NAME?",
    "#NULL!",
    "#NUM!",
    "#DIV/0!",
    "#BEZUG!",
    "#WERT!",
    "#NV",
    "undefined",
    "(null)",
    "(not set)",
)
"""Nothing, as programs write it; with a # what a spreadsheet could not compute."""
_AFTER = (
    r"(?i)\s*(?:(?:/|out of|von|sur)\s*\d+(?:\s+stars?|\s+sternen?)?|%|stars?|sterne?|points?|★)$"
)
ANSWERS = {
    "true": "1",
    "yes": "1",
    "y": "1",
    "t": "1",
    "like": "1",
    "liked": "1",
    "up": "1",
    "thumbs up": "1",
    "👍": "1",
    "false": "0",
    "no": "0",
    "n": "0",
    "f": "0",
    "dislike": "0",
    "disliked": "0",
    "down": "0",
    "thumbs down": "0",
    "👎": "0",
}
OPINIONS = (
    "like",
    "liked",
    "up",
    "thumbs up",
    "👍",
    "dislike",
    "disliked",
    "down",
    "thumbs down",
    "👎",
)
"""Answers that mean likes whatever was asked."""
_NAMES_OF_GRADES = {"note", "noten", "schulnote", "grade", "grades", "ocena", "znamka"}
_MOST_ODD = 0.05  # of the rows may lie off a scale that the others are on
_EXACT = 2.0**53
_GROUPED = {sign: rf"^\d{{1,3}}(?:\{sign}\d{{3}})+$" for sign in (",", ".")}
"""Numbers with a sign between thousands."""
_SAMPLE = 2000
_SHORTENED = r"^\d[.,]\d+E\+\d+$"
_WHOLE_ID = r"^(?:0|[1-9]\d*)(?:\.0+)?$"


IdKind = Literal["integer", "text"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How cells are read, and what becomes of bad rows."""

    on_bad: OnBad = "refuse"
    """A bad row is refused with its place, or dropped and counted."""
    scale: RatingScale | None = None
    """Ratings off it are bad; None: the common scale that holds them."""
    least_plays: float = 1
    """Fewest plays that are a like."""
    dates: Dates | None = None
    """Where the order of day and month cannot be decided over the column."""
    decimal: str | None = None
    """Comma or point, the only decimal sign; None: either, each cell by itself."""
    guessing: bool = False
    """Numbers that are all written YYYYMMDD, or all days of a spreadsheet, are dates."""
    ids: Mapping[Role, IdKind] = field(default_factory=dict)
    """Kind of the ids of people and items; a role left out: integers if all are written as one."""
    thousands: str | None = None
    """Sign between thousands of plays, "" for none; None: decided over the column."""
    times: TimeForm | None = None
    """How numbers are times; None: as `guessing` says."""

    def __post_init__(self) -> None:
        if self.on_bad not in ("refuse", "drop"):
            raise ConfigError(f"--on-bad is refuse or drop; got {self.on_bad!r}.")
        if self.decimal not in (None, ",", "."):
            raise ConfigError(f"--decimal is a comma or a point; got {self.decimal!r}.")
        if not 0 < self.least_plays < np.inf:
            fewest = self.least_plays
            raise ConfigError(f"The fewest plays that are a like are above 0; got {fewest}.")
        if any(kind not in get_args(IdKind) for kind in self.ids.values()):
            raise ConfigError("--ids is integer or text.")
        if self.dates not in (None, "dayfirst", "monthfirst"):
            raise ConfigError(f"--dates is dayfirst or monthfirst; got {self.dates!r}.")


@dataclass(frozen=True)
class CleanColumns:
    """Columns of the rows that are kept, and a count of those that are dropped."""

    columns: dict[str, Any]
    """Columns by role: ids, 'rating', 'plays', 'time', 'domain'."""
    scale: RatingScale | None
    """Scale of the ratings; EVENTS of plays, None of events."""
    dropped: dict[str, int]
    """Number of dropped rows, by rule."""
    read: int
    """Number of rows that were read."""


def clean_rows(table: Table, places: Mapping[Role, int], rules: Rules) -> CleanColumns:
    """Clean the rows of a table, and count what is dropped; DataError names the first bad row."""
    values: dict[Role, pl.Series] = {}
    scale = EVENTS if "plays" in places else None
    bad = np.zeros(len(table.frame), dtype=bool)
    dropped = Counter(torn.what.partition(" (")[0] for torn in table.torn)
    firsts: list[tuple[int, DataError]] = []

    def refuse(rows: NDArray[np.bool_], what: str, column: str, expected: str) -> None:
        """Drop or refuse the rows that are bad by one rule; each row counts once."""
        if rows.any():
            error = DataError(what, column=column, expected=expected, fix=DROP)
            firsts.append((int(rows.argmax()), error))
            dropped[what] += int((rows & ~bad).sum())
            bad[rows] = True

    for role, at in places.items():
        name = table.headers[at]
        expected = _EXPECTED[role]
        try:
            values[role], missing = _READERS[role](table.frame[:, at], table.text, rules)
        except DataError as error:
            raise error.with_place(path=table.path, column=name) from None
        if role in rules.ids:
            values[role] = ids_of_kind(values[role], rules.ids[role])
        values[role] = values[role].rechunk()  # then NumPy takes it without a copy
        is_missing = missing.to_numpy()
        refuse(is_missing, f"the {role} is missing", name, expected)
        unread = values[role].is_null().to_numpy() & ~is_missing
        kind = "number of plays" if role == "plays" else role
        refuse(unread, f"not a valid {kind}", name, expected)
        if role == "rating":
            stars = values[role].to_numpy()
            scale = _scale(table, stars, name, rules)
            off = ~np.isnan(stars) & ~scale.holds(stars)
            what = f"the rating is off the scale {scale}"
            expected = f"a rating on the scale {scale}"
            refuse(off, what, name, expected)
    if rules.on_bad == "refuse":
        errors = list(table.torn[:1])
        if firsts:
            row, first = min(firsts, key=itemgetter(0))
            errors.append(first.with_place(row=table.line(row)))
        if errors:
            raise min(errors, key=lambda each: each.row or 0).with_place(path=table.path)
    good = ~bad
    if "plays" in values:
        nothing = (values["plays"] == 0).fill_null(value=False).to_numpy() & good
        good &= ~nothing
        dropped[NO_EVENT] += int(nothing.sum())
    dropped = +dropped  # those of 0 rows are left out
    if not good.any():
        counted = "plays" in values
        what = "there is no event" if counted and not bad.all() else "no row can be kept"
        found = ", ".join(f"{rule}: {rows:,}" for rule, rows in dropped.items()) or None
        expected_plays = "a row with plays above 0, and none below" if counted else None
        fix = None if counted else "Check which column holds what."
        raise DataError(what, path=table.path, found=found, expected=expected_plays, fix=fix)
    columns: dict[str, Any] = {}
    for role in [*values]:
        series = values.pop(role)  # so that one column at a time is in memory twice
        column = series if good.all() else series.filter(pl.Series(good))
        is_found = table.text and role in ("user", "item") and role not in rules.ids
        if is_found and column.dtype == pl.String:
            columns[role] = ids_of(column)
        else:
            columns[role] = column.to_list() if column.dtype == pl.String else column.to_numpy()
    return CleanColumns(columns, scale, dict(dropped), len(table.frame) + len(table.torn))


def parts_of(
    frame: pl.DataFrame, used: Mapping[Role, str], scale: RatingScale | None, path: object = None
) -> pl.DataFrame:
    """A part of stored rows, read as `clean_rows` reads them: ids are Int64 or text, times seconds.

    frame: its columns have the names of roles. used: role to header. DataError, without a row,
    where a cell is bad, or a star is off a given scale; also for dates whose order of day and month
    would be read off the whole column.
    """
    parts = {}
    for role, header in used.items():
        column, expected = frame[role], _EXPECTED[role]
        try:
            if role == "time" and depends_on_order(column, None):
                what = "day and month are not told apart in a part of the rows"
                raise DataError(what, expected=expected)
            values, missing = _READERS[role](column, False, Rules())
            if missing.any():
                fix = "Leave such rows out."
                raise DataError(f"a row has no {role}", expected=expected, fix=fix)
            if values.null_count():
                raise DataError(f"not a valid {role}", expected=expected)
            if values.dtype == pl.String and column.dtype.is_integer():
                raise large_id_error(role)
            if role == "rating" and scale is not None and not scale.holds(values.to_numpy()).all():
                raise DataError("a rating lies off the scale", expected=str(scale))
        except DataError as error:
            raise error.with_place(path=path, column=header) from None
        parts[role] = values
    return pl.DataFrame(parts)


def arrow_of(rows: Any, used: Mapping[Role, str], scale: RatingScale | None = None) -> Any:
    """`parts_of` of an Arrow table, as one."""
    frame = pl.DataFrame(pl.from_arrow(rows))
    return parts_of(frame, used, scale).to_arrow(compat_level=pl.CompatLevel.oldest())


def _scale(table: Table, stars: NDArray[np.float64], name: str, rules: Rules) -> RatingScale:
    """Find the scale of a column of stars, NaN where there are none."""
    known = stars[~np.isnan(stars)]
    if rules.scale is not None or not known.size:
        return rules.scale or EVENTS  # without stars no row can be kept, and `clean_rows` says so
    if normalize_header(name) in _NAMES_OF_GRADES and set(known.tolist()) == {1, 2, 3, 4, 5, 6}:
        raise _question_about_grades(table, name)
    code = RatingScale.code_of_no_rating(known)
    if code is not None:
        raise _question_about_code(code, known, table, name)
    scale, off_scale = RatingScale.nearest(known)
    if off_scale and (rules.on_bad == "refuse" or off_scale > _MOST_ODD * len(known)):
        first = int(np.flatnonzero(~np.isnan(stars) & ~scale.holds(stars))[0])
        line = table.line(first) if off_scale < len(known) else None
        raise scale.no_common_scale_error(line).with_place(path=table.path, column=name)
    return scale


def _question_about_grades(table: Table, name: str) -> DataError:
    """Ask which end of 1 to 6 is the best."""
    return DataError(
        "grades from 1 to 6 may have the best at either end",
        path=table.path,
        column=name,
        fix="If 6 is the best:  --scale 1:6:1 . If 1 is, write 7 minus the grade first.",
    )


def _question_about_code(
    code: float, known: NDArray[np.float64], table: Table, name: str
) -> DataError:
    """Ask whether a number beside the usual stars means "no rating"."""
    scale, _ = RatingScale.nearest(known[known != code])
    low = min(code, scale.minimum)
    high = max(code, scale.maximum)
    share = float((known == code).mean())
    return DataError(
        f"{share:.0%} of the ratings are {code:g}, the others lie on {scale}: a rating of "
        f"{code:g} may mean no rating",
        path=table.path,
        column=name,
        expected="a word on what it means",
        fix=f"If it means no rating:  --scale {scale}  leaves these rows out (with --on-bad drop "
        f"where they are most). If it is a star, name a scale that holds it, such as "
        f"--scale {low:g}:{high:g}:{scale.step:g}.",
    )


Read = tuple[pl.Series, pl.Series]
"""Values, null where a cell cannot be read; and which cells are missing."""


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)


def _texts(column: pl.Series, text: bool, _: Rules | None = None) -> Read:
    """Stripped texts, null where nothing is said."""
    if not text:
        column = column.cast(pl.String).str.strip_chars()
    if (column.str.len_bytes() != column.str.len_chars()).any():  # two spellings are one id
        column = column.str.normalize("NFC")
    column = column.set(column.is_in(MISSING_TEXTS).fill_null(value=False), None)
    return column, column.is_null()


def _ids(column: pl.Series, text: bool, _: Rules) -> Read:
    kind = column.dtype
    if _is_text(kind):
        numbers = _canonical_numbers(column) if text else None
        if numbers is not None:
            return numbers, column.is_null()
        column, missing = _texts(column, text)
        _refuse_shortened_ids(column)
        return _refuse_ids_not_served(column), missing
    if kind.is_integer():
        narrow = column.cast(pl.Int64, strict=False)
        wider = narrow.null_count() > column.null_count()
        return column.cast(pl.String) if wider else narrow, column.is_null()
    if kind.is_float() or kind.is_decimal():
        numbers = column.cast(pl.Float64).fill_nan(None)
        whole = (numbers == numbers.round()) & (numbers.abs() < _EXACT)
        ids = numbers.set(~whole.fill_null(value=False), None).cast(pl.Int64)
        return ids, numbers.is_null()
    if kind in (pl.Date, pl.Datetime):
        return column.cast(pl.String), column.is_null()
    raise DataError(
        "an id is an integer or a string",
        found="nested values" if kind.is_nested() else str(kind),
        fix="Write one plain value a cell." if kind.is_nested() else None,
    )


def _refuse_shortened_ids(column: pl.Series) -> None:
    """Raise DataError for ids such as 4.71E+12: a spreadsheet has made one of many."""
    cells = column.drop_nulls().head(_SAMPLE)
    if 2 * int(cells.str.contains(_SHORTENED).sum()) > len(cells):
        raise DataError(
            "the ids were shortened by a spreadsheet, and different ones became the same",
            found="numbers such as 4.71E+12",
            fix="Export the file again with this column as text.",
        )


def _canonical_numbers(column: pl.Series) -> pl.Series | None:
    """Read a column of text as whole numbers if each is written as one: no sign, no zero before."""
    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count() > column.null_count():
        return None
    begins_with_zero = column.str.starts_with("0") & (column.str.len_bytes() > 1)
    if begins_with_zero.any() or column.str.starts_with("+").any() or (numbers < 0).any():
        return None
    return None if (column == "-0").any() else numbers


def _refuse_ids_not_served(column: pl.Series) -> pl.Series:
    """Empty the cells with ids that are too long, hold control characters, or are damaged.

    Zero-width joiners stay: words of Persian and many emoji need them. U+FFFD stands for bytes that
    are no text.
    """
    is_long = column.str.len_chars() > LONGEST_ID
    is_odd = column.str.contains(r"[[\p{C}--[\x{200C}\x{200D}]]\x{FFFD}]")
    return column.set((is_long | is_odd).fill_null(value=False), None)


def to_numbers(column: pl.Series, decimal: str | None = None) -> pl.Series:
    """Finite floats of texts, also of `4/5`, `80%`, `4 stars`, drawn stars, yes, no, like."""
    numbers = column.cast(pl.Float64, strict=False)
    if decimal is not None or numbers.null_count() > column.null_count():
        column = column.str.replace(_AFTER, "")
        drawn = column.str.contains(r"^[★⭐☆]+$").fill_null(value=False)
        column = column.zip_with(~drawn, column.str.count_matches("[★⭐]").cast(pl.String))
        lowered = column.str.to_lowercase()
        answers = lowered.is_in([*ANSWERS]).fill_null(value=False)
        column = column.zip_with(~answers, lowered.replace(ANSWERS))
        if decimal == ",":  # a point is no decimal sign then
            column = column.set(column.str.contains(".", literal=True).fill_null(value=False), "")
        if decimal != ".":
            column = column.str.replace(",", ".", literal=True)  # with both signs it is no number
        numbers = column.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def _stars(column: pl.Series, text: bool, rules: Rules) -> Read:
    kind = column.dtype
    if _is_text(kind):
        whole = _canonical_numbers(column) if text else None
        if whole is not None:
            return whole.cast(pl.Float64), column.is_null()
        column, missing = _texts(column, text)
        return to_numbers(column, rules.decimal), missing
    if kind.is_numeric() or kind == pl.Boolean or kind == pl.Null:
        numbers = column.cast(pl.Float64).fill_nan(None)
        return numbers.set(~numbers.is_finite(), None), numbers.is_null()
    raise DataError("a rating is a number", found=str(kind))


def thousands_sign(column: pl.Series) -> str:
    """Find the sign between thousands in a column of numbers of plays, "" if there is none.

    `1,234` is 1234 where every cell with a comma is written like this.
    """
    for sign in (",", "."):
        signed = column.str.contains(sign, literal=True)
        grouped = column.str.contains(_GROUPED[sign])
        if signed.any() and bool((grouped | ~signed).fill_null(value=True).all()):
            return sign
    return ""


def _plays(column: pl.Series, text: bool, rules: Rules) -> Read:
    """Read numbers of plays."""
    if _is_text(column.dtype) and (rules.decimal is None or rules.thousands):
        column, _ = _texts(column, text)
        sign = thousands_sign(column) if rules.thousands is None else rules.thousands
        if sign:
            grouped = column.str.contains(_GROUPED[sign]).fill_null(value=False)
            whole = column.str.replace_all(sign, "", literal=True)
            column = column.zip_with(~grouped, whole)
    numbers, missing = _stars(column, text, rules)
    return numbers.set(numbers < 0, None), missing


def _times(column: pl.Series, text: bool, rules: Rules) -> Read:
    kind = column.dtype
    if not (_is_text(kind) or kind.is_numeric() or kind in (pl.Date, pl.Datetime)):
        raise DataError("a time is a number, a date or text", found=str(kind))
    if _is_text(kind):
        column, missing = _texts(column, text)
    else:
        missing = column.is_null() | column.cast(pl.Float64).is_nan()
    form = rules.times or time_form(column, guessing=rules.guessing)
    return seconds(column, rules.dates, form=form), missing


_READERS: dict[Role, Callable[[pl.Series, bool, Rules], Read]] = {
    "user": _ids,
    "item": _ids,
    "rating": _stars,
    "plays": _plays,
    "time": _times,
    "domain": _texts,
}
_AN_ID = f"an integer or a string of at most {LONGEST_ID} characters, without control characters"
_EXPECTED: dict[Role, str] = {
    "user": _AN_ID,
    "item": _AN_ID,
    "rating": "a finite number such as 4 or 3.5",
    "plays": "a number of 0 or more",
    "time": TIME,
    "domain": "the item's domain",
}


def ids_of_kind(column: pl.Series, kind: IdKind) -> pl.Series:
    """Read each id by itself as a whole number or as text; null where it is none."""
    if kind == "text":
        return column.cast(pl.String)
    if column.dtype != pl.String:
        return column.cast(pl.Int64, strict=False)
    numbers = _canonical_numbers(column)
    if numbers is not None:
        return numbers
    whole = column.str.contains(_WHOLE_ID).fill_null(value=False)
    return column.set(~whole, None).str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)


def ids_of(column: pl.Series | list[str]) -> Any:
    """Give integers if every id is written as one, also as 17850.0; else the strings as written."""
    column = pl.Series(column)
    numbers = ids_of_kind(column, "integer")
    return column.to_list() if numbers.null_count() else numbers.to_numpy()
