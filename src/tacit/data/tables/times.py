"""Times in any usual form, to seconds since 1970.

Numbers   seconds, or milli-, micro- or nanoseconds by the size of each; YYYYMMDD.
Dates     year first (ISO), day first, month first, or with the month's name; UTC unless they say.
          Whether the day or the month comes first is decided over the whole column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError

Dates = Literal["dayfirst", "monthfirst"]
TIME = "seconds since 1970 (whole, or with decimals, which are cut), an ISO date-time or a date"
LAST_SECOND = 253_402_300_799  # the end of the year 9999: beyond it lie milliseconds, not seconds

_CLOCK = (
    r"(?:[T ,;]+(\d{1,2})[:.h](\d{2})(?:[:.](\d{2})(?:[.,]\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?)?"
    r" ?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$"
)
_YEAR_FIRST = r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})" + _CLOCK
_YEAR_LAST = r"^(\d{1,2})([-/.] ?)(\d{1,2})[-/.] ?(\d{4}|\d{2})" + _CLOCK
_LOOKS = re.compile(r"[+-]?\d+([.,]\d+)?$|\d{1,4}[-/.] ?\d{1,2}[-/.] ?\d{1,4}\b")
_WORDED = re.compile(
    r"(?:[^\W\d]+\.?,? +)?(?:(\d{1,2})(?:\.|st|nd|rd|th)?[ /-]+)?([^\W\d]{3,})\.?[ /-]+"
    r"(?:(\d{1,2})(?:st|nd|rd|th)?,? +)?(\d{4}|\d{2})\b[:,]?(?: at)?(.*)"
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan ene gen sty", "feb fév fev lut", "mar mär mrt mrz", "apr avr abr kwi",
         "may mai mag maj",
         "jun giu cze", "jul lug lip", "aug aoû ago sie", "sep set wrz", "oct okt out ott paź",
         "nov lis", "dec dez déc dic gru"), 1)
    for name in names.split()
}  # fmt: skip
_CLOCK_AFTER = re.compile(_CLOCK)


def plausible(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which times lie in the years a date can name."""
    return (times >= -LAST_SECOND) & (times <= LAST_SECOND)


def ordered(column: pl.Series, dates: Dates | None) -> bool:
    """Whether an order of day and month, seen in some cells, says how others are read."""
    if dates is not None or column.dtype != pl.String:
        return False
    return bool(column.str.strip_chars().str.contains(_YEAR_LAST).any())


def looks_like_time(text: str) -> bool:
    """Whether a cell begins like a number or a date, which no header does."""
    return bool(_LOOKS.match(text))


def is_date(text: str) -> bool:
    """Whether a cell is a date in words or in digits, and no plain number."""
    return bool(re.match(_YEAR_FIRST, text) or re.match(_YEAR_LAST, text) or _worded(text))


def check_dates(dates: str | None) -> None:
    """ConfigError unless this is an order of day and month."""
    if dates not in (None, "dayfirst", "monthfirst"):
        raise ConfigError(f"--dates is dayfirst or monthfirst; got {dates!r}.")


def seconds(column: pl.Series, dates: Dates | None = None, *, digits: bool = False) -> pl.Series:
    """Int64 seconds, null where a cell holds no time. column: numbers, dates or text.

    digits: numbers that are all written YYYYMMDD are dates, and not seconds of the year 1970.
    DataError where no cell says whether the day or the month comes first, or cells disagree.
    """
    kind = column.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return column.dt.epoch("s").cast(pl.Int64)
    if kind.is_numeric():
        return _of_numbers(column, digits)
    texts = column.cast(pl.String).str.strip_chars()
    numbers = texts.cast(pl.Int64, strict=False)
    if numbers.null_count() > texts.null_count():
        real = texts.cast(pl.Float64, strict=False)
        if real.null_count() > numbers.null_count() or not numbers.null_count():
            real = numbers
        numbers = numbers if real.null_count() == numbers.null_count() else real
    found = _of_numbers(numbers, digits)
    written = numbers.is_null() & texts.is_not_null()
    if not written.any():
        return found
    read = _of_texts(texts.filter(written), dates)
    return found.scatter(written.arg_true(), read)


def _of_numbers(column: pl.Series, digits: bool) -> pl.Series:
    if column.dtype.is_float():
        column = column.set(~column.is_finite(), None).round(6)
    some = column.drop_nulls()
    if not len(some):
        return pl.Series([None] * len(column), dtype=pl.Int64)
    written = _of_digits(column, some) if digits else None
    if written is not None:
        return written
    # Each by its own size: one person's times must not change how those of others are read.
    for _ in range(3):
        column = column.set((column.abs() > LAST_SECOND).fill_null(value=False), None).fill_null(
            column // 1000
        )
    found = column.cast(pl.Int64, strict=False)
    return found.set(~found.is_between(-LAST_SECOND, LAST_SECOND), None)


def _of_digits(column: pl.Series, some: pl.Series) -> pl.Series | None:
    """From YYYYMMDD or YYYYMMDDHHMMSS, if all numbers are written so."""
    for low, high, form in (
        (19_000_101, 21_001_231, "%Y%m%d"),
        (19_000_101_000_000, 21_001_231_235_959, "%Y%m%d%H%M%S"),
    ):
        if float(some.min()) >= low and float(some.max()) <= high:  # type: ignore[arg-type]
            texts = column.cast(pl.Int64).cast(pl.String)
            read = texts.str.to_datetime(form, strict=False) if "H" in form else texts.str.to_date(
                form, strict=False
            )  # fmt: skip
            if read.null_count() == column.null_count():
                return read.dt.epoch("s").cast(pl.Int64)
    return None


def _of_texts(texts: pl.Series, dates: Dates | None) -> pl.Series:
    frame = texts.rename("t").to_frame()
    frame = frame.with_columns(
        pl.col("t").str.extract_groups(_YEAR_FIRST).alias("first"),
        pl.col("t").str.extract_groups(_YEAR_LAST).alias("last"),
    )
    first, last = frame["first"].struct.fields, frame["last"].struct.fields
    a, sign, b, year = (frame["last"].struct.field(name) for name in last[:4])
    day_first = _day_first(a, b, sign, dates)
    month, day = (b, a) if day_first else (a, b)
    whole = pl.Series(year.cast(pl.Int64))
    short = year.str.len_chars() == 2
    whole = pl.select(
        pl.when(short).then(whole + pl.when(whole < 69).then(2000).otherwise(1900)).otherwise(whole)
    ).to_series()
    ymd = (
        frame["first"].struct.field(first[0]).cast(pl.Int64).fill_null(whole),
        *(frame["first"].struct.field(name).fill_null(other)
          for name, other in zip(first[1:3], (month, day), strict=True)),
    )  # fmt: skip
    clock = [
        frame["first"].struct.field(x).fill_null(frame["last"].struct.field(y))
        for x, y in zip(first[3:], last[4:], strict=True)
    ]
    read = _moments(ymd, clock)
    if not read.null_count():
        return read
    cells = zip(read.to_list(), texts, strict=True)
    found = [_worded(text) if cell is None else cell for cell, text in cells]
    return pl.Series(found, dtype=pl.Int64)


def _day_first(a: pl.Series, b: pl.Series, sign: pl.Series, dates: Dates | None) -> bool:
    """Which of the two small numbers is the day, by the whole column."""
    if dates is not None or not a.count():
        return dates != "monthfirst"
    first, second = a.cast(pl.Int64), b.cast(pl.Int64)
    day = bool((first.is_between(13, 31) & (second <= 12)).any())
    month = bool((second.is_between(13, 31) & (first <= 12)).any())
    if day and month:
        raise DataError(
            "some dates have the day first and some the month",
            expected="one order in a column",
            fix="Say which with --dates dayfirst or --dates monthfirst (from Python: dates=...); "
            "the others then cannot be read.",
        )
    if day or month:
        return day
    if (sign.drop_nulls().str.strip_chars() == ".").all() or (first == second).all():
        return True  # only day first is written with full stops
    raise DataError(
        "no date says whether the day or the month comes first",
        expected="a day above 12 in at least one row",
        fix="Say it with --dates dayfirst or --dates monthfirst (from Python: dates=...).",
    )


def _moments(ymd: Sequence[pl.Series], clock: Sequence[pl.Series]) -> pl.Series:
    """Seconds, from parts as text; null where they are no moment."""
    hour, minute, second, half, zone = clock
    hours = hour.cast(pl.Int64).fill_null(0)
    late = half.str.to_lowercase()
    hours = pl.select(
        pl.when(late.is_null())
        .then(hours)
        .otherwise(hours % 12 + 12 * (late == "p").cast(pl.Int64))
    ).to_series()
    parts = pl.DataFrame(
        {"y": ymd[0].cast(pl.String), "m": ymd[1], "d": ymd[2], "H": hours.cast(pl.String),
         "M": minute.fill_null("0"), "S": second.fill_null("0")}
    )  # fmt: skip
    text = pl.format("{}-{}-{} {}:{}:{}", *(pl.col(x).str.zfill(2) for x in parts.columns))
    read = parts.select(text.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)).to_series()
    ahead = zone.str.extract(r"^([+-])")
    digits = zone.str.replace_all(r"\D", "")
    offset = (
        digits.str.slice(0, 2).cast(pl.Int64, strict=False).fill_null(0) * 3600
        + digits.str.slice(2, 2).cast(pl.Int64, strict=False).fill_null(0) * 60
    )
    signed = pl.select(pl.when(ahead == "-").then(-offset).otherwise(offset)).to_series()
    return read.dt.epoch("s").cast(pl.Int64) - signed


def _worded(text: str) -> int | None:
    """Seconds of a date with the month's name, or of an ISO date in another form."""
    match = _WORDED.fullmatch(text)
    month = match and _MONTHS.get(match[2].lower()[:3])
    if match is None or not month or not (match[1] or match[3]):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    after = match[5].replace(":", " ", 1) if match[5][:1] == ":" else match[5]
    rest = _CLOCK_AFTER.fullmatch(" " + after.strip() if after.strip() else "")
    if rest is None:
        return None
    hour, minute, second, half, zone = rest.groups()
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + (12 if half in "pP" else 0)
    year, day = int(match[4]), int(match[1] or match[3])
    if len(match[4]) == 2:
        year += 1900 if match[4] > "68" else 2000
    try:
        moment = datetime(year, month, day, hours, int(minute or 0), int(second or 0), tzinfo=UTC)
    except ValueError:
        return None
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
        moment += -shift if zone[0] == "+" else shift
    return int(moment.timestamp())
