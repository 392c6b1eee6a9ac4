r"""Cells of a table read as ids, stars, plays and times; bad rows are refused or dropped.

Errors name the file, the column and mostly the row, but never show a bad cell, which is private.

Missing   A cell is missing if it is empty, null or NaN, or one of `MISSING_TEXTS`.
Ids       In a text file, the ids of a column become integers if those of all rows that are kept are
          whole numbers such as 17850 or 17850.0, without a sign or a leading zero and below 2**63;
          else they stay texts. In other files, texts keep their type, whole numbers below 2**53
          that are stored as floats become integers, and dates become texts. A column of floats with
          a larger number is refused, also if bad rows are dropped. Integers, and decimals that are
          whole numbers, become integers unless one is 2**63 or more; then all of the column become
          texts. The caller can name the type instead.
Numbers   have a decimal point or a decimal comma, which may differ from cell to cell unless the
          caller names one. A cell with both is no number. In a column of plays, a comma or a point
          may stand between thousands; such a cell has no decimals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.columns import EVENTS, LONGEST_ID, RatingScale, large_id_error
from tacit.data.tables.names import Role, normalize_header
from tacit.data.tables.table import Table
from tacit.data.tables.times import (
    TIME,
    Dates,
    TimeForm,
    depends_on_order,
    find_time_form,
    is_text_type,
    to_seconds,
)
from tacit.data.tables.whole_numbers import to_whole_numbers
from tacit.errors import ConfigError, DataError

OnBad = Literal["refuse", "drop"]
"""What to do about bad rows: refuse the table with an error that names the first, or drop them."""
NO_EVENT = "0 plays are no event"
"""The rule by which rows of 0 plays are dropped, as reports name it."""
DROP = (
    "Correct it, or leave such rows out:  tacit data import FILE -o FOLDER  (from Python: "
    "on_bad='drop')."
)
"""Advice of the errors for bad rows."""
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
"""Texts that stand for a missing value; those with a # are errors of a spreadsheet."""
_UNITS_AFTER_NUMBER = (
    r"(?i)\s*(?:(?:/|out of|von|sur)\s*\d+(?:\s+stars?|\s+sternen?)?|%|stars?|sterne?|points?|★)$"
)
"""The pattern of what may follow a number in a cell and is not read, as in `4/5` or `4 stars`."""
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
"""Word in lower case that stands for a like or a dislike, to the number it becomes, 1 or 0."""
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
"""The words of `ANSWERS` that mean a like or a dislike whatever the header is; yes is none."""
_NAMES_OF_GRADES = {"note", "noten", "schulnote", "grade", "grades", "ocena", "znamka"}
"""Normalized headers of school grades."""
_MOST_OFF_SCALE = 0.05
"""Largest share of the stars that may lie off the scale that was found for them, if bad rows are
dropped."""
_WITH_THOUSANDS = {sign: rf"^\d{{1,3}}(?:\{sign}\d{{3}})+$" for sign in (",", ".")}
"""Sign between thousands to the pattern of a number with this sign, such as 1,234."""
_SAMPLE = 2000
"""Number of first cells that are searched for shortened ids."""
_SHORTENED = r"^\d[.,]\d+E\+\d+$"
"""The pattern of an id that a spreadsheet has shortened to a rounded number, such as 4.71E+12."""
_WHOLE_ID = r"^(?:0|[1-9]\d*)(?:\.0+)?$"
"""The pattern of a whole number as an id, such as 17850 or 17850.0."""

IdKind = Literal["integer", "text"]
"""The type of ids."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How cells are read, and what is done about bad rows."""

    on_bad: OnBad = "refuse"
    """Whether a bad row is an error, or is dropped and counted."""
    scale: RatingScale | None = None
    """The stars a rating can take; a row with another number is bad. None: found in the column."""
    least_plays: float = 1
    """Fewest plays of an item by a person that are a like."""
    dates: Dates | None = None
    """Whether the day or the month comes first in dates with the year last; None: found in the
    column."""
    decimal: str | None = None
    """The only decimal sign, a comma or a point; None: each cell may have either."""
    guessing: bool = False
    """Whether the column of times decides what its numbers are, such as milliseconds; if not, they
    are "usual" (see `TimeForm`). Not used if `times` is given."""
    ids: Mapping[Role, IdKind] = field(default_factory=dict)
    """Role to the type of its ids. For a role that is missing, the type is found in the column, as
    the docstring of the module says."""
    thousands: str | None = None
    """Sign between thousands in numbers of plays; "": no sign; None: found in the column."""
    times: TimeForm | None = None
    """What the numbers in the column of times are; None: as `guessing` says."""

    def __post_init__(self) -> None:
        if self.on_bad not in ("refuse", "drop"):
            raise ConfigError(f"--on-bad is refuse or drop; got {self.on_bad!r}.")
        if self.decimal not in (None, ",", "."):
            raise ConfigError(f"--decimal is a comma or a point; got {self.decimal!r}.")
        if not 0 < self.least_plays < np.inf:
            raise ConfigError(
                f"The fewest plays that are a like are above 0; got {self.least_plays}."
            )
        if any(kind not in get_args(IdKind) for kind in self.ids.values()):
            raise ConfigError("--ids is integer or text.")
        if self.dates not in (None, "dayfirst", "monthfirst"):
            raise ConfigError(f"--dates is dayfirst or monthfirst; got {self.dates!r}.")

    @property
    def are_fixed(self) -> bool:
        """Whether the rules are those of a written format: no row changes how another is read.

        Only a written format says what numbers of times are and what stands between thousands.
        """
        return self.times is not None and self.thousands is not None


@dataclass(frozen=True)
class CleanColumns:
    """The columns of the rows that are kept, and counts of those that are dropped."""

    columns: dict[str, Any]
    """Role to its column: an array of numbers, or a list of texts."""
    scale: RatingScale | None
    """Scale of the stars; EVENTS if there are plays; None if there are neither stars nor plays."""
    dropped: dict[str, int]
    """Number of dropped rows, by rule, also of those that could not be read."""
    read: int
    """Number of rows of the table, also of those that could not be read."""
    spellings: pl.DataFrame | None = None
    """The distinct pairs of `id`, the id of a person as text, and `written`, a cell that was read
    as this id, of the rows that are kept; None if each id is written as it is read."""


def clean_rows(table: Table, positions: Mapping[Role, int], rules: Rules) -> CleanColumns:
    """Read the cells of a table, and drop or refuse bad rows. Rows of 0 plays are always dropped.

    Args:
        table: The table.
        positions: Role to the position of its column.
        rules: How cells are read.

    Raises:
        DataError: There is a bad row and the rules refuse it, no row is left, a column has a type
            that its role cannot have, or it is not clear how a column is to be read.
    """
    values: dict[Role, pl.Series] = {}
    scale = EVENTS if "plays" in positions else None
    is_bad = np.zeros(len(table.frame), dtype=bool)
    dropped = Counter(error.what.partition(" (")[0] for error in table.row_errors)
    has_texts = False  # whether people are texts and not all read as integers without decimals
    has_rewritten = False  # whether one of these texts was changed, such as to another Unicode form
    first_errors: list[tuple[int, DataError]] = []  # the first error of each rule, with its row

    def mark_bad(rows: NDArray[np.bool_], what: str, column: str, expected: str) -> None:
        """Mark rows as bad by one rule; a row that is bad already is not counted again.

        Args:
            rows: (rows of the table,) whether each row is bad.
            what: Rule that the rows break; it is the message of the error.
            column: Header of the column.
            expected: Description of a valid cell.
        """
        if rows.any():
            error = DataError(what, column=column, expected=expected, fix=DROP)
            first_errors.append((int(rows.argmax()), error))
            dropped[what] += int((rows & ~is_bad).sum())
            is_bad[rows] = True

    for role, position in positions.items():
        name = table.headers[position]
        expected = _EXPECTED[role]
        try:
            values[role], missing = _READERS[role](table.frame[:, position], table.is_text, rules)
        except DataError as error:
            raise error.with_place(path=table.path, column=name) from None
        if role == "user" and values[role].dtype == pl.String:
            written = table.frame[:, position]
            has_texts = is_text_type(written.dtype)
            has_rewritten = has_texts and not (values[role] == written.cast(pl.String)).all()
        if role in rules.ids:
            values[role] = to_ids_of_kind(values[role], rules.ids[role])
        values[role] = values[role].rechunk()  # so that NumPy can use it without a copy
        is_missing = missing.to_numpy()
        mark_bad(is_missing, f"the {role} is missing", name, expected)
        is_unreadable = values[role].is_null().to_numpy() & ~is_missing
        kind = "number of plays" if role == "plays" else role
        mark_bad(is_unreadable, f"not a valid {kind}", name, expected)
        if role == "rating":
            stars = values[role].to_numpy()
            scale = _find_scale(table, stars, name, rules)
            is_off_scale = ~np.isnan(stars) & ~scale.holds(stars)
            what = f"the rating is off the scale {scale}"
            expected = f"a rating on the scale {scale}"
            mark_bad(is_off_scale, what, name, expected)
    if rules.on_bad == "refuse":
        _raise_first_error(table, first_errors)
    is_kept = ~is_bad
    if "plays" in values:
        is_no_event = (values["plays"] == 0).fill_null(value=False).to_numpy() & is_kept
        is_kept &= ~is_no_event
        dropped[NO_EVENT] += int(is_no_event.sum())
    dropped = +dropped  # leaves out the rules that dropped no row
    if not is_kept.any():
        has_plays = "plays" in values
        what = "there is no event" if has_plays and not is_bad.all() else "no row can be kept"
        found = ", ".join(f"{rule}: {rows:,}" for rule, rows in dropped.items()) or None
        expected_plays = "a row with plays above 0, and none below" if has_plays else None
        fix = None if has_plays else "Check which column holds what."
        raise DataError(what, path=table.path, found=found, expected=expected_plays, fix=fix)
    guessed_ids = [role for role in ("user", "item") if table.is_text and role not in rules.ids]
    columns = _select_rows(values, is_kept, guessed_ids)
    spellings = None
    if has_rewritten or (has_texts and not isinstance(columns["user"], list)):
        written = table.frame[:, positions["user"]].filter(pl.Series(is_kept))
        spellings = _find_spellings(written, table.is_text, rules.ids.get("user"))
    read = len(table.frame) + len(table.row_errors)
    return CleanColumns(columns, scale, dict(dropped), read, spellings)


def _find_spellings(
    written: pl.Series, is_from_text: bool, kind: IdKind | None
) -> pl.DataFrame | None:
    """Find how each person is written, if one is written in another way than their id.

    Only the different cells are read again.

    Args:
        written: The cells of people in the rows that are kept: texts, as they are in the table.
        is_from_text: Whether the table is a text file.
        kind: The type that the ids get; None: found in the cells.

    Returns:
        As `CleanColumns.spellings`.
    """
    distinct = written.unique()
    ids, _ = _read_texts(distinct, is_from_text)
    if kind is not None:
        ids = to_ids_of_kind(ids, kind)
    elif is_from_text:
        ids = pl.Series(to_ids(ids))
    pairs = pl.DataFrame({"id": ids.cast(pl.String), "written": distinct.cast(pl.String)})
    return None if (pairs["id"] == pairs["written"]).all() else pairs


def find_joined_people(parts: Sequence[CleanColumns]) -> tuple[str, ...]:
    """Find the ids of people that are written in several ways, such as in two forms of Unicode.

    Args:
        parts: The rows of each table. Two tables may write an id in two ways, each in one way.

    Returns:
        The ids as texts, sorted.
    """
    spellings = [part.spellings for part in parts if part.spellings is not None]
    if not spellings:
        return ()
    for part in parts:
        if part.spellings is None:  # each id is written as it is read
            ids = pl.Series(part.columns["user"]).unique().cast(pl.String)
            spellings.append(pl.DataFrame({"id": ids, "written": ids}))
    counts = pl.concat(spellings).unique()["id"].value_counts()
    return tuple(sorted(counts.filter(pl.col("count") > 1)["id"].to_list()))


def _raise_first_error(table: Table, first_errors: list[tuple[int, DataError]]) -> None:
    """Raise the error of the first bad row of a table, if there is one.

    Args:
        table: The table, whose `row_errors` are of rows that could not be read.
        first_errors: The first error of each rule about cells, with its row from 0.
    """
    errors = list(table.row_errors)
    if first_errors:
        row, first_error = min(first_errors, key=itemgetter(0))
        errors.append(first_error.with_place(row=table.line(row)))
    if errors:
        raise min(errors, key=lambda error: error.row or 0).with_place(path=table.path)


def _select_rows(
    values: dict[Role, pl.Series], is_kept: NDArray[np.bool_], guessed_ids: list[str]
) -> dict[str, Any]:
    """Select the rows that are kept, and turn the columns into arrays of numbers or lists of texts.

    Args:
        values: Role to its column. The dict is emptied, so that only one column at a time is in
            memory twice.
        is_kept: (rows,) which rows are kept.
        guessed_ids: Roles whose texts become integers if all that are kept are whole numbers.
    """
    columns: dict[str, Any] = {}
    for role in [*values]:
        series = values.pop(role)
        column = series if is_kept.all() else series.filter(pl.Series(is_kept))
        if column.dtype != pl.String:
            columns[role] = column.to_numpy()
        elif role in guessed_ids:
            columns[role] = to_ids(column)
        else:
            columns[role] = column.to_list()
    return columns


def read_cells(
    frame: pl.DataFrame,
    header_of_role: Mapping[Role, str],
    scale: RatingScale | None,
    path: object = None,
) -> pl.DataFrame:
    """Read the cells of a part of the rows of a stored table; a bad cell is an error.

    Cells are read as in `clean_rows`, but the cells of the part do not decide how it is read, since
    other parts may differ.

    Args:
        frame: The rows; columns are named by their roles.
        header_of_role: Role to the header of its column, for messages.
        scale: The stars a rating can take; None: any finite number.
        path: The file, for messages.

    Returns:
        Columns by their roles: ids are Int64 or text, stars are Float64, times are Int64 seconds
        since 1970.

    Raises:
        DataError: A cell is bad; or a column has dates with the year last, of which only other rows
            could tell whether the day or the month comes first. The error names no row.
    """
    columns = {}
    for role, header in header_of_role.items():
        column = frame[role]
        expected = _EXPECTED[role]
        try:
            if role == "time" and depends_on_order(column):
                raise DataError(
                    "a part of the rows cannot tell whether the day or the month comes first",
                    expected="dates with the year first, or seconds since 1970",
                )
            values, missing = _READERS[role](column, False, Rules())
            if missing.any():
                fix = "Leave such rows out."
                raise DataError(f"a row has no {role}", expected=expected, fix=fix)
            if values.null_count():
                raise DataError(f"not a valid {role}", expected=expected)
            if values.dtype == pl.String and column.dtype.is_numeric():
                raise large_id_error(role)
            if role == "rating" and scale is not None and not scale.holds(values.to_numpy()).all():
                raise DataError("a rating lies off the scale", expected=str(scale))
        except DataError as error:
            raise error.with_place(path=path, column=header) from None
        columns[role] = values
    return pl.DataFrame(columns)


def read_arrow_cells(
    rows: Any, header_of_role: Mapping[Role, str], scale: RatingScale | None = None
) -> Any:
    """Read the cells of an Arrow table into another one, as `read_cells` does."""
    frame = pl.DataFrame(pl.from_arrow(rows))
    return read_cells(frame, header_of_role, scale).to_arrow(compat_level=pl.CompatLevel.oldest())


def _find_scale(table: Table, stars: NDArray[np.float64], name: str, rules: Rules) -> RatingScale:
    """Return the scale of the rules, or if they have none, the scale of a column of stars.

    Args:
        table: The table, for messages.
        stars: (rows,) stars, NaN for a cell without stars.
        name: Header of the column.
        rules: How cells are read.

    Raises:
        DataError: No common scale holds the stars, or only the caller can know what they mean:
            grades, or a number that may mean "no rating".
    """
    filled = stars[~np.isnan(stars)]
    if rules.scale is not None or not filled.size:
        return rules.scale or EVENTS  # without stars, `clean_rows` then raises an error
    if normalize_header(name) in _NAMES_OF_GRADES and set(filled.tolist()) == {1, 2, 3, 4, 5, 6}:
        raise _grades_error(table, name)
    code = RatingScale.code_of_no_rating(filled)
    if code is not None:
        raise _code_error(code, filled, table, name)
    scale, off_scale = RatingScale.nearest(filled)
    if off_scale and (rules.on_bad == "refuse" or off_scale > _MOST_OFF_SCALE * len(filled)):
        first = int(np.flatnonzero(~np.isnan(stars) & ~scale.holds(stars))[0])
        line = table.line(first) if off_scale < len(filled) else None
        raise scale.no_common_scale_error(line).with_place(path=table.path, column=name)
    return scale


def _grades_error(table: Table, name: str) -> DataError:
    """Make the error for school grades from 1 to 6, of which either end may be the best."""
    return DataError(
        "grades from 1 to 6 may have the best at either end",
        path=table.path,
        column=name,
        fix="If 6 is the best:  --scale 1:6:1 . If 1 is, write 7 minus the grade first.",
    )


def _code_error(code: float, stars: NDArray[np.float64], table: Table, name: str) -> DataError:
    """Make the error for a frequent number off the scale, which may mean "no rating".

    Args:
        code: The number.
        stars: (n,) the numbers of the column.
        table: The table, for messages.
        name: Header of the column.
    """
    scale, _ = RatingScale.nearest(stars[stars != code])
    low = min(code, scale.minimum)
    high = max(code, scale.maximum)
    share = float((stars == code).mean())
    return DataError(
        f"{share:.0%} of the ratings are {code:g}, the others lie on {scale}: a rating of "
        f"{code:g} may mean no rating",
        path=table.path,
        column=name,
        expected="an option that says what it means",
        fix=f"If it means no rating:  --scale {scale}  leaves these rows out (add --on-bad drop "
        "if they are more than half of the rows). If it is a star, name a scale that holds it, "
        f"such as --scale {low:g}:{high:g}:{scale.step:g}.",
    )


ReadCells = tuple[pl.Series, pl.Series]
"""(rows,) values of a column, null for a cell that is missing or cannot be read; and (rows,)
Booleans: whether each cell is missing."""


def _read_texts(column: pl.Series, is_from_text: bool, _: Rules | None = None) -> ReadCells:
    """Read texts without blanks around them.

    Args:
        column: Cells of any type but lists and objects.
        is_from_text: Whether the cells come from a text file, whose cells are stripped already.

    Raises:
        DataError: The cells are lists or objects.
    """
    if column.dtype.is_nested():
        raise DataError("a text is one plain value", found="nested values")
    if not is_from_text:
        column = column.cast(pl.String).str.strip_chars()
    if (column.str.len_bytes() != column.str.len_chars()).any():
        column = column.str.normalize("NFC")  # so that two spellings of a letter are the same id
    column = column.set(column.is_in(MISSING_TEXTS).fill_null(value=False), None)
    return column, column.is_null()


def _read_ids(column: pl.Series, is_from_text: bool, rules: Rules) -> ReadCells:
    """Read ids as integers or texts, as the module's docstring says.

    Raises:
        DataError: The cells are neither numbers nor texts nor dates, were shortened by a
            spreadsheet, or were rounded as floats.
    """
    kind = column.dtype
    if is_text_type(kind):
        numbers = _read_canonical_integers(column) if is_from_text else None
        if numbers is not None:
            return numbers, column.is_null()
        column, missing = _read_texts(column, is_from_text)
        if not rules.are_fixed:
            _refuse_shortened_ids(column)
        return _remove_unusable_ids(column), missing
    if kind.is_integer():
        numbers = column.cast(pl.Int64, strict=False)
        is_too_large = numbers.null_count() > column.null_count()
        return column.cast(pl.String) if is_too_large else numbers, column.is_null()
    if kind.is_float() or kind.is_decimal():
        if kind.is_float():
            column = column.fill_nan(None)
        return to_whole_numbers(column, "ids"), column.is_null()
    if kind in (pl.Date, pl.Datetime):
        return column.cast(pl.String), column.is_null()
    raise DataError(
        "an id is an integer or a string",
        found="nested values" if kind.is_nested() else str(kind),
        fix="Write one plain value a cell." if kind.is_nested() else None,
    )


def _refuse_shortened_ids(column: pl.Series) -> None:
    """Raise DataError if more than half of the first ids are shortened, such as 4.71E+12."""
    cells = column.drop_nulls().head(_SAMPLE)
    if 2 * int(cells.str.contains(_SHORTENED).sum()) > len(cells):
        raise DataError(
            "the ids were shortened by a spreadsheet, and different ones became the same",
            found="numbers such as 4.71E+12",
            fix="Export the file again with this column as text.",
        )


def _read_canonical_integers(column: pl.Series) -> pl.Series | None:
    """Read texts as integers if each cell is an integer of 0 or more without a leading zero.

    Returns:
        Int64, null for an empty cell; None if any other cell is not written like this.
    """
    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count() > column.null_count():
        return None
    begins_with_zero = column.str.starts_with("0") & (column.str.len_bytes() > 1)
    if begins_with_zero.any() or column.str.starts_with("+").any() or (numbers < 0).any():
        return None
    return None if (column == "-0").any() else numbers


def _remove_unusable_ids(column: pl.Series) -> pl.Series:
    """Replace ids by null that are too long, hold control characters, or are damaged.

    Zero-width joiners are allowed, since words of Persian and many emoji need them. An id with
    U+FFFD is damaged, since this sign replaces bytes that cannot be decoded. A shortened id, such
    as 4.71E+12, is damaged too: several ids became the same.
    """
    is_long = column.str.len_chars() > LONGEST_ID
    is_damaged = column.str.contains(r"[[\p{C}--[\x{200C}\x{200D}]]\x{FFFD}]")
    is_shortened = column.str.contains(_SHORTENED)
    is_unusable = is_long | is_damaged | is_shortened
    return column.set(is_unusable.fill_null(value=False), None)


def to_numbers(column: pl.Series, decimal: str | None = None) -> pl.Series:
    """Read texts as finite floats.

    Of texts such as `4/5`, `80%` and `4 stars`, only the first number is read. Drawn stars such as
    ★★★ are counted, and the words of `ANSWERS` become 1 or 0.

    Args:
        column: Texts without blanks around them.
        decimal: The only decimal sign, a comma or a point; None: each cell may have either.

    Returns:
        Float64, null for a text that is no number.
    """
    numbers = column.cast(pl.Float64, strict=False)
    if decimal is not None or numbers.null_count() > column.null_count():
        column = column.str.replace(_UNITS_AFTER_NUMBER, "")
        has_drawn_stars = column.str.contains(r"^[★⭐☆]+$").fill_null(value=False)
        drawn_stars = column.str.count_matches("[★⭐]").cast(pl.String)
        column = column.zip_with(~has_drawn_stars, drawn_stars)
        lowered = column.str.to_lowercase()
        is_answer = lowered.is_in([*ANSWERS]).fill_null(value=False)
        column = column.zip_with(~is_answer, lowered.replace(ANSWERS))
        if decimal == ",":  # then a cell with a point is no number
            column = column.set(column.str.contains(".", literal=True).fill_null(value=False), "")
        if decimal != ".":
            column = column.str.replace(",", ".", literal=True)  # a cell with both is no number
        numbers = column.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def _read_stars(column: pl.Series, is_from_text: bool, rules: Rules) -> ReadCells:
    """Read stars as finite floats; DataError unless the cells are numbers, Booleans or texts."""
    kind = column.dtype
    if is_text_type(kind):
        integers = _read_canonical_integers(column) if is_from_text else None
        if integers is not None:
            return integers.cast(pl.Float64), column.is_null()
        column, missing = _read_texts(column, is_from_text)
        return to_numbers(column, rules.decimal), missing
    if kind.is_numeric() or kind == pl.Boolean or kind == pl.Null:
        numbers = column.cast(pl.Float64).fill_nan(None)
        return numbers.set(~numbers.is_finite(), None), numbers.is_null()
    raise DataError("a rating is a number", found=str(kind))


def find_thousands_sign(column: pl.Series) -> str:
    """Find the sign between thousands in a column of numbers of plays.

    A comma or a point is such a sign if every cell that has it is written as `1,234`.

    Args:
        column: Cells of any type.

    Returns:
        The sign; "" if there is none, or if cells are not texts.
    """
    if not is_text_type(column.dtype):
        return ""
    texts = column.cast(pl.String).str.strip_chars()
    for sign in (",", "."):
        has_sign = texts.str.contains(sign, literal=True)
        has_thousands = texts.str.contains(_WITH_THOUSANDS[sign])
        if has_sign.any() and bool((has_thousands | ~has_sign).fill_null(value=True).all()):
            return sign
    return ""


def _read_plays(column: pl.Series, is_from_text: bool, rules: Rules) -> ReadCells:
    """Read numbers of plays as floats of 0 or more; DataError as in `_read_stars`.

    Unless the rules name the sign between thousands, it is looked for if they do not name the
    decimal sign either.
    """
    if is_text_type(column.dtype) and (rules.decimal is None or rules.thousands):
        column, _ = _read_texts(column, is_from_text)
        sign = find_thousands_sign(column) if rules.thousands is None else rules.thousands
        if sign:
            has_thousands = column.str.contains(_WITH_THOUSANDS[sign]).fill_null(value=False)
            without_sign = column.str.replace_all(sign, "", literal=True)
            column = column.zip_with(~has_thousands, without_sign)
    numbers, missing = _read_stars(column, is_from_text, rules)
    return numbers.set(numbers < 0, None), missing


def _read_times(column: pl.Series, is_from_text: bool, rules: Rules) -> ReadCells:
    """Read times, which are numbers, dates or texts, as Int64 seconds since 1970.

    Raises:
        DataError: The cells have another type, or their dates do not tell whether the day or the
            month comes first.
    """
    kind = column.dtype
    if not (is_text_type(kind) or kind.is_numeric() or kind in (pl.Date, pl.Datetime)):
        raise DataError("a time is a number, a date or text", found=str(kind))
    if is_text_type(kind):
        column, missing = _read_texts(column, is_from_text)
    else:
        missing = column.is_null() | column.cast(pl.Float64).is_nan()
    form = rules.times or find_time_form(column, guessing=rules.guessing)
    return to_seconds(column, rules.dates, form=form), missing


_READERS: dict[Role, Callable[[pl.Series, bool, Rules], ReadCells]] = {
    "user": _read_ids,
    "item": _read_ids,
    "rating": _read_stars,
    "plays": _read_plays,
    "time": _read_times,
    "domain": _read_texts,
}
"""Role to the function that reads its column."""
_EXPECTED_ID = (
    f"an integer or a string of at most {LONGEST_ID} characters, without control characters, and "
    "no rounded number such as 4.71E+12"
)
_EXPECTED: dict[Role, str] = {
    "user": _EXPECTED_ID,
    "item": _EXPECTED_ID,
    "rating": "a finite number such as 4 or 3.5",
    "plays": "a number of 0 or more",
    "time": TIME,
    "domain": "the item's domain",
}
"""Role to the description of a valid cell in messages."""


def to_ids_of_kind(column: pl.Series, kind: IdKind) -> pl.Series:
    """Turn ids into integers or into texts; no id affects how another one is read.

    Args:
        column: Ids as texts or integers, null for a missing one.
        kind: The type they get.

    Returns:
        String; or Int64, null for an id that is no whole number such as 17850 or 17850.0.
    """
    if kind == "text":
        return column.cast(pl.String)
    if column.dtype != pl.String:
        return column.cast(pl.Int64, strict=False)
    numbers = _read_canonical_integers(column)
    if numbers is not None:
        return numbers
    is_whole = column.str.contains(_WHOLE_ID).fill_null(value=False)
    return column.set(~is_whole, None).str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)


def to_ids(column: pl.Series | list[str]) -> Any:
    """Turn texts into an int64 array if all are whole numbers below 2**63, else into a list."""
    column = pl.Series(column)
    numbers = to_ids_of_kind(column, "integer")
    return column.to_list() if numbers.null_count() else numbers.to_numpy()
