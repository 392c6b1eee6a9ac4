"""Times of any usual form, read as seconds since 1970.

Numbers   are seconds, milli-, micro- or nanoseconds; or dates in digits alone, such as YYYYMMDD; or
          days of a spreadsheet. The size of most numbers of the column decides which of these they
          are. If the form is "usual", the size of each number decides its unit.
Dates     have the year, the day or the month first, or name the month. They are in UTC unless they
          name a time zone. Unless the caller says so, all dates of the column together decide
          whether the day or the month comes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import polars as pl

from tacit.data.tables.names import normalize_header
from tacit.errors import DataError

Dates = Literal["dayfirst", "monthfirst"]
"""Whether the day or the month comes first in dates with the year last."""
TimeForm = Literal[
    "usual",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "yyyymmdd",
    "yyyymmddhhmm",
    "yyyymmddhhmmss",
    "spreadsheet days",
]
"""What the numbers of a column of times are. "usual" numbers are seconds or a smaller unit, and the
size of each number decides which; "spreadsheet days" are days since 1900."""
_DIGITS: tuple[TimeForm, ...] = ("yyyymmdd", "yyyymmddhhmm", "yyyymmddhhmmss")
"""The forms of dates in digits alone. Each name has as many letters as such a date has digits."""
UNITS: dict[TimeForm, int] = {
    "seconds": 1,
    "milliseconds": 10**3,
    "microseconds": 10**6,
    "nanoseconds": 10**9,
}
"""Unit to the number of units in a second."""
_SAY_WHICH = (
    "Say which with --dates dayfirst or --dates monthfirst (from Python: dates=...), or leave "
    "times out with --no-time"
)
"""Advice of the errors for dates of which it is not clear whether the day comes first."""
TIME = "seconds since 1970 (whole, or with decimals, which are cut), an ISO date-time or a date"
"""Description of a valid time in messages."""
OLDEST, NEWEST = 315_532_800, 4_102_444_800
"""The first seconds of 1980 and of 2100. Times outside this range are not plausible."""
LAST_SECOND = 253_402_300_799
"""The last second of the year 9999; larger numbers are in milliseconds or smaller units."""

_ZONES = {
    "EST": "-0500",
    "EDT": "-0400",
    "CST": "-0600",
    "CDT": "-0500",
    "MST": "-0700",
    "MDT": "-0600",
    "PST": "-0800",
    "PDT": "-0700",
    "BST": "+0100",
    "CET": "+0100",
    "CEST": "+0200",
    "EET": "+0200",
    "EEST": "+0300",
    "MSK": "+0300",
    "JST": "+0900",
}
"""Name of a time zone to its difference from UTC."""

# Patterns of parts of dates. `_CLOCK` may match nothing, since a date may have no time of day.
_CLOCK = (
    r"(?:[T ,;:]+(?:at )?(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?:[:.](?P<second>\d{2})"
    r"(?:[.,]\d+)?)?(?: ?(?P<am_or_pm>[AaPp])\.?[Mm]\.?)?)?"
    r" ?(?P<zone>Z|UTC|GMT|" + "|".join(_ZONES) + r"|[+-]\d{2}(?::?\d{2})?)?$"
)
_YEAR = r"(?P<year>\d{4}|\d{2})"
_WEEKDAY, _MONTH = r"^(?:[^\W\d]+\.?,? +)?", r"(?P<name>[^\W\d]{3,})\.?[ /-]+"
_YEAR_LAST = r"^(?P<a>\d{1,2})(?P<sign>[-/.] ?)(?P<b>\d{1,2})[-/.] ?" + _YEAR + _CLOCK
"""The pattern of a date such as 03/04/2021."""
_YEAR_LAST_FORM = re.compile(_YEAR_LAST)
"""A date such as 03/04/2021. Group `a` is its first number, and group `b` its second."""
_YEAR_AND_MONTH_FORM = re.compile(r"^(?P<year>\d{4})[-/.](?P<a>\d{1,2})$")
"""A year and a month such as 2021-04. Group `a` is the number of the month."""
_DATE_FORMS = (
    re.compile(r"^(?P<year>\d{4})[-/.](?P<a>\d{1,2})[-/.](?P<b>\d{1,2})" + _CLOCK),
    _YEAR_LAST_FORM,
    re.compile(_WEEKDAY + r"(?P<a>\d{1,2})(?:\.|st|nd|rd|th)?[ /-]+" + _MONTH + _YEAR + _CLOCK),
    re.compile(_WEEKDAY + _MONTH + r"(?P<a>\d{1,2})(?:st|nd|rd|th)?,? +" + _YEAR + _CLOCK),
    _YEAR_AND_MONTH_FORM,
)
"""The forms of dates: year first, year last, the name of the month after or before the day, and a
year and a month without a day. Group `a` is the first number beside the year, and `b` the second
if there is one; group `name` is the name of the month."""
_YEAR_AFTER_CLOCK = re.compile(
    r"^((?:[^\W\d]{2,}\.?,? +)?[^\W\d]{3,}\.? +\d{1,2}) +(\d{1,2}:\d{2}(?::\d{2})?)"
    r"( +[A-Z]{1,4}| +[+-]\d{2}:?\d{2})? +(\d{4})$"
)
"""A date with the year after the clock, as in ctime and Twitter: Tue Apr 03 18:00:09 +0000 2012."""
_CJK_DATE = re.compile(r"^(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]")
"""The beginning of a date in Chinese, Japanese or Korean."""
_NAMES_OF_SECONDS = {"timestamp", "timestampms", "ts", "epoch", "unixtime", "tstamp"}
"""Normalized headers of columns that never hold days of a spreadsheet."""
_SAMPLE = 20_000
"""About how many cells, spread over the column, decide what its numbers are."""
_MOST = 0.95
"""A column has a form if at least this share of its numbers fit it."""
_FIRST_SERIAL, _LAST_SERIAL = 20_000, 60_000
"""The numbers of a day in 1954 and of one in 2064 in a spreadsheet. Numbers outside this range are
no days of a spreadsheet."""
_EPOCH_SERIAL = 25_569
"""The number of the day 1970-01-01 in a spreadsheet."""
_SECONDS_PER_DAY = 86_400
_LAST_YEAR_OF_20XX = 68
"""Largest year of two digits that begins with 20: 68 is 2068, and 69 is 1969."""
BEGINS_LIKE_TIME = re.compile(
    r"[+-]?\d+([.,]\d+)?$|\d{1,4}[-/.] ?\d{1,2}[-/.] ?\d{1,4}(\b|T)|"
    r"(\w{2,4},? +)?[^\W\d]{3,} +\d{1,2} +\d{1,2}:\d{2}"
)
"""The pattern of a number, or of the beginning of a date; headers hardly ever begin like this."""
_NAMES_OF_MONTHS = (
    "jan ene gen sty",
    "feb fév fev lut",
    "mar mär mrt mrz",
    "apr avr abr kwi",
    "may mai mag maj",
    "jun giu cze",
    "jul lug lip",
    "aug aoû ago sie",
    "sep set wrz",
    "oct okt out ott paź",
    "nov lis",
    "dec dez déc dic gru",
)
"""The first three letters of the names of each month, in several languages."""
_MONTHS: dict[str, int] = {}
"""The first three letters of a month's name to its number from 1."""
for _number, _names in enumerate(_NAMES_OF_MONTHS, 1):
    _MONTHS |= dict.fromkeys(_names.split(), _number)


def is_text_type(kind: pl.DataType) -> bool:
    """Tell whether a type of polars holds texts."""
    return kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)


def depends_on_order(column: pl.Series) -> bool:
    """Tell whether some dates of a column decide for all whether the day or the month comes first.

    Args:
        column: Cells of any type.
    """
    if not is_text_type(column.dtype):
        return False
    texts = column.cast(pl.String).str.strip_chars()
    if texts.cast(pl.Int64, strict=False).null_count() == texts.null_count():
        return False
    return bool(texts.str.contains(_YEAR_LAST).any())


def find_order_of_dates(column: pl.Series) -> Dates:
    """Find whether the day or the month comes first in a column of times.

    Args:
        column: Cells of any type.

    Returns:
        The order; "dayfirst" if no cell is a date with the year last.

    Raises:
        DataError: The dates do not tell the order, or contradict each other.
    """
    if not depends_on_order(column):
        return "dayfirst"
    texts = column.cast(pl.String).drop_nulls().str.strip_chars().unique().to_list()
    return "dayfirst" if _is_day_first(texts, None) else "monthfirst"


def is_date(text: str) -> bool:
    """Tell whether a cell is a date with separators or a month's name; a plain number is none."""
    return _parse_date(text, True) is not None or _parse_date(text, False) is not None


def may_be_spreadsheet_days(numbers: pl.Series) -> bool:
    """Tell whether nearly all numbers are days of a spreadsheet between 1954 and 2064."""
    in_range = int(numbers.is_between(_FIRST_SERIAL, _LAST_SERIAL).sum())
    return len(numbers) > 0 and in_range >= _MOST * len(numbers)


def find_time_form(column: pl.Series, *, guessing: bool) -> TimeForm:
    """Find what the numbers of a column of times are.

    Args:
        column: Numbers, dates or text. Its name is the header, which matters: a column called
            `timestamp` holds no days of a spreadsheet.
        guessing: Whether the form is found in the column; if not, it is "usual".

    Returns:
        The form; "usual" if the column has no numbers.
    """
    if not guessing or isinstance(column.dtype, pl.Datetime) or column.dtype == pl.Date:
        return "usual"
    sampled = column.gather_every(max(1, len(column) // _SAMPLE))
    if is_text_type(sampled.dtype):
        sampled = sampled.cast(pl.String)  # not the numbers by which a categorical type is stored
    numbers = sampled.cast(pl.Float64, strict=False).drop_nulls().drop_nans()
    if len(numbers) == 0:
        return "usual"
    # Most numbers, not all, so that one cell does not decide for the others.
    fewest = _MOST * len(numbers)
    for form in _DIGITS:
        # From 1900 to 2100: 21001232 lies above the last day, whatever time of day follows.
        clock_digits = 10 ** (len(form) - len("yyyymmdd"))
        in_range = numbers.is_between(19_000_101 * clock_digits, 21_001_232 * clock_digits)
        if int(in_range.sum()) < fewest:
            continue
        readable = len(numbers) - _numbers_to_seconds(numbers, form).null_count()
        if readable >= fewest:
            return form
    is_named_as_seconds = normalize_header(column.name) in _NAMES_OF_SECONDS
    if not is_named_as_seconds and may_be_spreadsheet_days(numbers):
        return "spreadsheet days"
    median = float(numbers.abs().quantile(0.5, "lower") or 0.0)
    for unit, per_second in UNITS.items():
        if median <= LAST_SECOND * per_second:
            return unit
    return "nanoseconds"


def are_plausible_times(times: pl.Series) -> bool:
    """Tell whether at least half of the times (seconds) lie between 1980 and 2100."""
    in_range = times.drop_nulls().is_between(OLDEST, NEWEST)
    return 2 * int(in_range.sum()) >= len(in_range)


def to_seconds(column: pl.Series, dates: Dates | None = None, *, form: TimeForm) -> pl.Series:
    """Read times as whole seconds since 1970.

    Args:
        column: Numbers, dates or text.
        dates: Whether the day or the month comes first in dates with the year last; None: found in
            the column.
        form: What the numbers are.

    Returns:
        Int64 seconds, null for a cell that holds no time.

    Raises:
        DataError: The dates do not tell whether the day or the month comes first, or contradict
            each other.
    """
    kind = column.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return column.dt.epoch("s").cast(pl.Int64)
    if kind.is_numeric():
        return _numbers_to_seconds(column, form)
    texts = column.cast(pl.String).str.strip_chars()
    # Whole numbers are read as integers even if other cells have decimals: large ones would lose
    # their last digits as floats.
    integers = texts.cast(pl.Int64, strict=False)
    if integers.null_count() == texts.null_count():
        return _numbers_to_seconds(integers, form)
    floats = texts.cast(pl.Float64, strict=False)
    times = _numbers_to_seconds(integers, form).zip_with(
        integers.is_not_null(), _numbers_to_seconds(floats, form)
    )
    is_date_text = floats.is_null() & texts.is_not_null()
    date_times = _texts_to_seconds(texts.filter(is_date_text), dates)
    return times.scatter(is_date_text.arg_true(), date_times)


def _numbers_to_seconds(column: pl.Series, form: TimeForm) -> pl.Series:
    """Turn numbers of a form into Int64 seconds; null for a number that is no time of this form."""
    if column.dtype.is_float():
        # Rounded, since otherwise a rounding error could move a time to the second before.
        column = column.set(~column.is_finite(), None).round(6)
    if form in _DIGITS:
        digits = column.cast(pl.Int64, strict=False).cast(pl.String)
        digits = digits.set(digits.str.len_bytes() != len(form), None)
        padded = digits + "0" * (len("yyyymmddhhmmss") - len(form))
        dates = padded.str.to_datetime("%Y%m%d%H%M%S", strict=False, time_unit="us")
        return dates.dt.epoch("s").cast(pl.Int64)
    if form == "spreadsheet days":
        in_range = column.is_between(_FIRST_SERIAL, _LAST_SERIAL).fill_null(value=False)
        days = column.set(~in_range, None).cast(pl.Float64)
        return ((days - _EPOCH_SERIAL) * _SECONDS_PER_DAY).round().cast(pl.Int64)
    if form in UNITS:
        column = column // UNITS[form]
    else:
        # "usual": the size of each number decides its unit, so that one person's times do not
        # change how the times of others are read.
        for _ in range(3):
            is_large = (column.abs() > LAST_SECOND).fill_null(value=False)
            if not is_large.any():
                break
            column = column.set(is_large, None).fill_null(column // 1000)
    times = column.cast(pl.Int64, strict=False)
    return times.set(~times.is_between(-LAST_SECOND, LAST_SECOND), None)


def _texts_to_seconds(texts: pl.Series, dates: Dates | None) -> pl.Series:
    """Turn dates into Int64 seconds; null for a text that is no date.

    ISO dates with a time of day are read as a column, which is fast. Each of the other different
    texts is parsed once.

    Args:
        texts: Texts without blanks around them and without nulls.
        dates: Whether the day or the month comes first; None: found in the texts.

    Raises:
        DataError: As `_is_day_first`.
    """
    iso = texts.set(~texts.str.contains(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?$"), None)
    iso = iso.str.strip_suffix("Z").str.replace("T", " ")
    times = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False).dt.epoch("s").cast(pl.Int64)
    is_other = times.is_null()
    others = texts.filter(is_other)
    distinct = others.unique().to_list()
    day_first = _is_day_first(distinct, dates)
    parsed = {text: _parse_date(text, day_first) for text in distinct}
    other_times = pl.Series([parsed[text] for text in others], dtype=pl.Int64)
    return times.scatter(is_other.arg_true(), other_times)


def _is_day_first(texts: Sequence[str], dates: Dates | None) -> bool:
    """Tell whether the day comes before the month in dates such as 03/04/2021.

    Args:
        texts: All different dates of a column; other texts do not count.
        dates: The order that the caller named; None: found in the dates.

    Raises:
        DataError: The dates do not tell, or contradict each other.
    """
    matches = [match for match in map(_YEAR_LAST_FORM.match, texts) if match is not None]
    if dates is not None or not matches:
        return dates != "monthfirst"
    pairs = [(int(match["a"]), int(match["b"])) for match in matches]
    has_day_first = any(12 < first <= 31 and second <= 12 for first, second in pairs)
    has_month_first = any(12 < second <= 31 and first <= 12 for first, second in pairs)
    if has_day_first and has_month_first:
        what, order = "some dates have the day first and some the month", "one order in a column"
        raise DataError(what, expected=order, fix=f"{_SAY_WHICH}; the others then cannot be read.")
    if has_day_first or has_month_first:
        return has_day_first
    # Dates with full stops, as 3.4.2021, have the day first wherever they are in use.
    if all(match["sign"][0] == "." for match in matches):
        return True
    if all(first == second for first, second in pairs):
        return True  # both orders give the same dates
    what = "no date says whether the day or the month comes first"
    raise DataError(what, expected="a day above 12 in at least one row", fix=f"{_SAY_WHICH}.")


def _move_year_before_clock(text: str) -> str:
    """Turn the order of ctime and Twitter into the usual one: `Apr 03, 2012 18:00:09 +0000`.

    Other texts are returned unchanged.
    """
    match = _YEAR_AFTER_CLOCK.match(text)
    if match is None:
        return text
    day, clock, zone, year = match.groups()
    return f"{day}, {year} {clock}{zone or ''}"


def _match_date(text: str) -> re.Match[str] | None:
    """Match a text with the first of `_DATE_FORMS` that fits; None if none fits."""
    for form in _DATE_FORMS:
        match = form.match(text)
        if match is not None:
            return match
    return None


def _parse_date(text: str, day_first: bool) -> int | None:
    """Parse one date as seconds since 1970; None if the text is no date.

    Args:
        text: The date, perhaps with a time of day and a time zone.
        day_first: Whether the day comes before the month in a date with the year last, such as
            03/04/2021.
    """
    text = _move_year_before_clock(_CJK_DATE.sub(r"\1-\2-\3", text))
    match = _match_date(text)
    if match is None:
        return None
    parts: dict[str, Any] = dict.fromkeys(("hour", "minute", "second", "am_or_pm", "zone"))
    parts |= match.groupdict()
    year = int(parts["year"])
    if match.re is _YEAR_AND_MONTH_FORM:
        month, day = int(parts["a"]), 1
    elif "b" not in parts:
        month, day = _MONTHS.get(parts["name"].lower()[:3], 0), int(parts["a"])
    elif match.re is _YEAR_LAST_FORM and day_first:
        month, day = int(parts["b"]), int(parts["a"])
    else:
        month, day = int(parts["a"]), int(parts["b"])
    if len(parts["year"]) == 2:
        year += 1900 if year > _LAST_YEAR_OF_20XX else 2000
    hour = int(parts["hour"] or 0)
    minute = int(parts["minute"] or 0)
    second = int(parts["second"] or 0)
    if parts["am_or_pm"]:
        hour = hour % 12 + (12 if parts["am_or_pm"] in "pP" else 0)
    zone = parts["zone"] or "Z"
    zone = _ZONES.get(zone, zone)
    try:
        time = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        if zone[0] in "+-":
            offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].strip(":") or 0))
            time += offset if zone[0] == "-" else -offset
    except (ValueError, OverflowError):
        return None
    return int(time.timestamp())
