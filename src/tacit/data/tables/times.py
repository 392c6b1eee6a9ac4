"""Times in any usual form, to seconds since 1970.

Numbers   seconds, or milli-, micro- or nanoseconds; YYYYMMDD; days of a spreadsheet. Which of them
          is decided over the whole column, by the size of most of its numbers.
Dates     year first (ISO), day first, month first, or with the month's name; UTC unless they say.
          Whether the day or the month comes first is decided over the whole column.
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
"""Numbers: seconds or smaller by the size of each; one unit; dates in digits; days since 1900."""
_DIGITS: tuple[TimeForm, ...] = ("yyyymmdd", "yyyymmddhhmm", "yyyymmddhhmmss")
"""Moments written in digits alone."""
UNITS: dict[TimeForm, int] = {
    "seconds": 1,
    "milliseconds": 10**3,
    "microseconds": 10**6,
    "nanoseconds": 10**9,
}
"""Units of numbers, and how many of each make a second."""
_WHICH = (
    "Say which with --dates dayfirst or --dates monthfirst (from Python: dates=...), or leave "
    "times out with --no-time"
)
TIME = "seconds since 1970 (whole, or with decimals, which are cut), an ISO date-time or a date"
OLDEST, NEWEST = 315_532_800, 4_102_444_800
"""1980 and 2100, between which times of people lie."""
LAST_SECOND = 253_402_300_799  # the end of the year 9999: beyond it lie milliseconds, not seconds

_CLOCK = (
    r"(?:[T ,;:]+(?:at )?(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?:[:.](?P<second>\d{2})"
    r"(?:[.,]\d+)?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?"
    r" ?(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$"
)
_YEAR = r"(?P<year>\d{4}|\d{2})"
_WEEKDAY, _MONTH = r"^(?:[^\W\d]+\.?,? +)?", r"(?P<name>[^\W\d]{3,})\.?[ /-]+"
_YEAR_LAST = r"^(?P<a>\d{1,2})(?P<sign>[-/.] ?)(?P<b>\d{1,2})[-/.] ?" + _YEAR + _CLOCK
_FORMS = (
    re.compile(r"^(?P<year>\d{4})[-/.](?P<a>\d{1,2})[-/.](?P<b>\d{1,2})" + _CLOCK),
    re.compile(_YEAR_LAST),
    re.compile(_WEEKDAY + r"(?P<a>\d{1,2})(?:\.|st|nd|rd|th)?[ /-]+" + _MONTH + _YEAR + _CLOCK),
    re.compile(_WEEKDAY + _MONTH + r"(?P<a>\d{1,2})(?:st|nd|rd|th)?,? +" + _YEAR + _CLOCK),
    re.compile(r"^(?P<year>\d{4})[-/.](?P<a>\d{1,2})$"),
)
_YEAR_AFTER_CLOCK = re.compile(
    r"^((?:[^\W\d]{2,}\.?,? +)?[^\W\d]{3,}\.? +\d{1,2}) +(\d{1,2}:\d{2}(?::\d{2})?)"
    r"( +[A-Z]{1,4}| +[+-]\d{2}:?\d{2})? +(\d{4})$"
)
"""The form of C's ctime and of Twitter: Tue Apr 03 18:00:09 +0000 2012."""
_CJK_DATE = re.compile(r"^(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]")
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
_ZONE_NAME = re.compile(r" (" + "|".join(_ZONES) + r")$")
_NAMES_OF_SECONDS = {"timestamp", "timestampms", "ts", "epoch", "unixtime", "tstamp"}
_SAMPLE = 20_000  # cells of the whole column that say what its numbers are
_MOST = 0.95  # of the numbers of a column decide what they are
_FIRST_SERIAL, _LAST_SERIAL, _EPOCH_SERIAL = 20_000, 60_000, 25_569
"""Days of a spreadsheet from 1954 to 2064, and 1970-01-01 among them."""
LIKE_TIME = re.compile(
    r"[+-]?\d+([.,]\d+)?$|\d{1,4}[-/.] ?\d{1,2}[-/.] ?\d{1,4}(\b|T)|"
    r"(\w{2,4},? +)?[^\W\d]{3,} +\d{1,2} +\d{1,2}:\d{2}"
)
"""How a cell begins that is a number or a date, as no header does."""
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
"""How the names of each month begin, in several languages."""
_MONTHS: dict[str, int] = {}
"""Number of the month, from 1, by the beginning of its name."""
for _number, _names in enumerate(_NAMES_OF_MONTHS, 1):
    _MONTHS |= dict.fromkeys(_names.split(), _number)


def depends_on_order(column: pl.Series, dates: Dates | None) -> bool:
    """Tell whether an order of day and month, seen in some cells, says how others are read."""
    if dates is not None or column.dtype != pl.String:
        return False
    if column.cast(pl.Int64, strict=False).null_count() == column.null_count():
        return False
    return bool(column.str.strip_chars().str.contains(_YEAR_LAST).any())


def order_of_dates(column: pl.Series) -> Dates:
    """Find whether the day or the month comes first, by the whole column, which was read so."""
    if not depends_on_order(column, None):
        return "dayfirst"
    texts = column.drop_nulls().str.strip_chars().unique().to_list()
    return "dayfirst" if _day_first(texts, None) else "monthfirst"


def is_date(text: str) -> bool:
    """Tell whether a cell is a date in words or in digits, and no plain number."""
    return _moment(text, True) is not None or _moment(text, False) is not None


def may_be_spreadsheet_days(numbers: pl.Series) -> bool:
    """Tell whether nearly all numbers lie where the days of a spreadsheet do."""
    inside = int(numbers.is_between(_FIRST_SERIAL, _LAST_SERIAL).sum())
    return len(numbers) > 0 and inside >= _MOST * len(numbers)


def time_form(column: pl.Series, *, guessing: bool) -> TimeForm:
    """Find how the numbers of a column are times.

    Args:
        column: Numbers, dates or text, under its name: `timestamp` holds no days of a spreadsheet.
        guessing: Whether they may be anything but seconds and smaller.
    """
    if not guessing or isinstance(column.dtype, pl.Datetime) or column.dtype == pl.Date:
        return "usual"
    sampled = column.gather_every(max(1, len(column) // _SAMPLE))
    numbers = sampled.cast(pl.Float64, strict=False).drop_nulls().drop_nans()
    if len(numbers) == 0:
        return "usual"
    most = _MOST * len(numbers)  # so that one cell decides nothing for the others
    for form in _DIGITS:
        scale = 10 ** (len(form) - 8)
        inside = numbers.is_between(19_000_101 * scale, 21_001_231 * scale + scale)
        if (
            int(inside.sum()) >= most
            and len(numbers) - _of_numbers(numbers, form).null_count() >= most
        ):
            return form
    counts_seconds = normalize_header(column.name) in _NAMES_OF_SECONDS
    if not counts_seconds and may_be_spreadsheet_days(numbers):
        return "spreadsheet days"
    middle = float(numbers.abs().quantile(0.5, "lower") or 0.0)
    return next((unit for unit in UNITS if middle <= LAST_SECOND * UNITS[unit]), "nanoseconds")


def are_of_our_days(moments: pl.Series) -> bool:
    """Tell whether most moments (seconds) lie between 1980 and 2100."""
    inside = moments.drop_nulls().is_between(OLDEST, NEWEST)
    return 2 * int(inside.sum()) >= len(inside)


def seconds(column: pl.Series, dates: Dates | None = None, *, form: TimeForm) -> pl.Series:
    """Read times as whole seconds since 1970.

    Args:
        column: Numbers, dates or text.
        dates: Whether the day or the month comes first; None: decided over the column.
        form: How numbers are times.

    Returns:
        Int64, null where a cell holds no time.

    Raises:
        DataError: No cell says whether the day or the month comes first, or cells disagree.
    """
    kind = column.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return column.dt.epoch("s").cast(pl.Int64)
    if kind.is_numeric():
        return _of_numbers(column, form)
    texts = column.cast(pl.String).str.strip_chars()
    # Each cell by itself: a decimal in one must not make others lose their last digits.
    whole = texts.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count():
        return _of_numbers(whole, form)
    real = texts.cast(pl.Float64, strict=False)
    moments = _of_numbers(whole, form).zip_with(whole.is_not_null(), _of_numbers(real, form))
    written = real.is_null() & texts.is_not_null()
    return moments.scatter(written.arg_true(), _of_texts(texts.filter(written), dates))


def _of_numbers(column: pl.Series, form: TimeForm) -> pl.Series:
    if column.dtype.is_float():
        column = column.set(~column.is_finite(), None).round(6)
    if form in _DIGITS:
        digits = column.cast(pl.Int64, strict=False).cast(pl.String)
        digits = digits.set(digits.str.len_bytes() != len(form), None)
        whole = digits + "0" * (14 - len(form))
        moments = whole.str.to_datetime("%Y%m%d%H%M%S", strict=False, time_unit="us")
        return moments.dt.epoch("s").cast(pl.Int64)
    if form == "spreadsheet days":
        inside = column.is_between(_FIRST_SERIAL, _LAST_SERIAL).fill_null(value=False)
        days = column.set(~inside, None).cast(pl.Float64)
        return ((days - _EPOCH_SERIAL) * 86_400).round().cast(pl.Int64)
    if form in UNITS:
        column = column // UNITS[form]
        moments = column.cast(pl.Int64, strict=False)
        return moments.set(~moments.is_between(-LAST_SECOND, LAST_SECOND), None)
    # Each by its own size: one person's times must not change how those of others are read.
    for _ in range(3):
        large = (column.abs() > LAST_SECOND).fill_null(value=False)
        if not large.any():
            break
        column = column.set(large, None).fill_null(column // 1000)
    moments = column.cast(pl.Int64, strict=False)
    return moments.set(~moments.is_between(-LAST_SECOND, LAST_SECOND), None)


def _of_texts(texts: pl.Series, dates: Dates | None) -> pl.Series:
    """ISO in one pass; each other text once."""
    iso = texts.set(~texts.str.contains(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?$"), None)
    iso = iso.str.strip_suffix("Z").str.replace("T", " ")
    moments = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False).dt.epoch("s").cast(pl.Int64)
    left = moments.is_null()
    others = texts.filter(left)
    different = others.unique().to_list()
    day_first = _day_first(different, dates)
    read = {text: _moment(text, day_first) for text in different}
    others = pl.Series([read[text] for text in others], dtype=pl.Int64)
    return moments.scatter(left.arg_true(), others)


def _day_first(texts: Sequence[str], dates: Dates | None) -> bool:
    """Tell whether the first of the two small numbers is the day, by the whole column."""
    matches = [match for text in texts if (match := _FORMS[1].match(text))]
    if dates is not None or not matches:
        return dates != "monthfirst"
    pairs = [(int(match["a"]), int(match["b"])) for match in matches]
    day = any(12 < first <= 31 and second <= 12 for first, second in pairs)
    month = any(12 < second <= 31 and first <= 12 for first, second in pairs)
    if day and month:
        what, order = "some dates have the day first and some the month", "one order in a column"
        raise DataError(what, expected=order, fix=f"{_WHICH}; the others then cannot be read.")
    if day or month:
        return day
    if all(match["sign"][0] == "." for match in matches) or all(a == b for a, b in pairs):
        return True  # only day first is written with full stops
    what = "no date says whether the day or the month comes first"
    raise DataError(what, expected="a day above 12 in at least one row", fix=f"{_WHICH}.")


def _move_year(text: str) -> str:
    """Write the year before the clock, and a zone by its difference to UTC."""
    late_year = _YEAR_AFTER_CLOCK.match(text)
    if late_year is not None:
        day, clock, zone, year = late_year.groups()
        text = f"{day}, {year} {clock}{zone or ''}"
    return _ZONE_NAME.sub(lambda match: " " + _ZONES[match[1]], text)


def _moment(text: str, day_first: bool) -> int | None:
    """Seconds of one date; None if it is none."""
    text = _move_year(_CJK_DATE.sub(r"\1-\2-\3", text))
    match = next((found for form in _FORMS if (found := form.match(text))), None)
    if match is None:
        return None
    part: dict[str, Any] = dict.fromkeys(("hour", "minute", "second", "half", "zone"))
    part |= match.groupdict()
    year, day = int(part["year"]), int(part["a"])
    if match.re is _FORMS[-1]:  # a year and a month: its first day
        part["b"], part["a"], day = "1", str(day), day
    month = int(part["b"]) if "b" in part else _MONTHS.get(part["name"].lower()[:3], 0)
    if "b" in part and not ("sign" in part and day_first):  # year first, or the month before it
        month, day = day, month
    if len(part["year"]) == 2:
        year += 1900 if year > 68 else 2000
    hour = int(part["hour"] or 0)
    if part["half"]:
        hour = hour % 12 + (12 if part["half"] in "pP" else 0)
    zone = part["zone"] or "Z"
    try:
        moment = datetime(
            year, month, day, hour, int(part["minute"] or 0), int(part["second"] or 0), tzinfo=UTC
        )
        if zone[0] in "+-":
            ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].strip(":") or 0))
            moment += ahead if zone[0] == "-" else -ahead
    except (ValueError, OverflowError):
        return None
    return int(moment.timestamp())
