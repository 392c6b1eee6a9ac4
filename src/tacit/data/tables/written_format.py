"""The written format of a file: how its rows are written, fixed before they are read.

`tacit data import` guesses the format and writes it into the `data.json` of its folder, under the
key `reading`; it can also be written by hand. A file in a written format is read row by row: a row
that does not fit is dropped, and no row changes how another one is read.

Rows      are the lines of a text file, even if a quote is open at the end of a line; lines with one
          JSON object each; or the records of Parquet or Arrow.
Encoding  A text file must be in one in which each line can be decoded without the others. So UTF-16
          and UTF-7 are refused.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tacit.data.columns import RatingScale
from tacit.data.tables.cells import IdKind, OnBad, Rules
from tacit.data.tables.names import Role
from tacit.data.tables.table import TextForm
from tacit.data.tables.times import Dates, TimeForm
from tacit.errors import ConfigError, DataError

Kind = Literal["text", "json lines", "typed columns"]
"""Kind of a file: delimited text, JSON lines, or columns that have a type (Parquet and Arrow)."""
READING = "reading"
"""Key of the written format in the `data.json` of an imported folder."""
_STATEFUL = ("utf-7", "utf-16", "utf-32", "iso2022", "hz", "unicode", "raw", "puny", "idna")
"""Beginnings of the names of encodings whose lines cannot be decoded one by one."""


@dataclass(frozen=True)
class WrittenFormat:
    """How the rows of one file are written."""

    kind: Kind
    """Kind of the file."""
    columns: Mapping[Role, str]
    """Role to the header of its column; without 'rating' and 'plays' every row is an event."""
    ids: Mapping[Role, IdKind]
    """Whether the ids of 'user' and of 'item' are integers or text."""
    text: TextForm | None = None
    """How the lines of delimited text are written; None for a file of another kind."""
    headers: tuple[str, ...] = ()
    """Names of all columns of delimited text, as many as a row has cells; empty for a file of
    another kind."""
    scale: str | None = None
    """Scale of the stars as MIN:MAX:STEP; None without 'rating'."""
    decimal: str | None = None
    """Decimal sign, a comma or a point; None: each cell may have either."""
    thousands: str = ""
    """Sign between thousands in numbers of plays, a comma or a point; "": no sign."""
    times: TimeForm = "usual"
    """What the numbers in the column of times are, if it holds numbers."""
    dates: Dates = "dayfirst"
    """Whether the day or the month comes first in a date such as 03/04/2021."""
    least_plays: float = 1
    """Fewest plays of an item by a person that are a like."""
    where: tuple[str, ...] = ()
    """Conditions, as in `where.keep_rows`, that rows must fulfil to be kept."""

    def __post_init__(self) -> None:
        if not {"user", "item"} <= set(self.columns) or set(self.ids) != {"user", "item"}:
            raise ConfigError(
                "A written format names the columns of people and items, and their ids."
            )
        if ("rating" in self.columns) != (self.scale is not None):
            raise ConfigError(
                "A written format has a scale if it has a column of stars, and only then."
            )
        if {"rating", "plays"} <= set(self.columns):
            raise ConfigError("A written format has a column of stars or one of plays, not both.")
        if len(set(self.columns.values())) < len(self.columns):
            raise ConfigError("A written format names a different column for each role.")
        if (self.kind == "text") != (self.text is not None):
            raise ConfigError(
                "A written format says how lines are written if it is of text, and only then."
            )
        if self.text is not None:
            _check_encoding(self.text.encoding)
            _check_signs(self.text)
            absent = [name for name in self.columns.values() if name not in self.headers]
            if absent:
                raise ConfigError(f"The written format has no header {absent[0]!r}.")

    def rules(self, on_bad: OnBad) -> Rules:
        """Make the rules by which cells are read. All are fixed: nothing is found in the rows.

        Args:
            on_bad: What to do about a row with a bad cell.

        Raises:
            DataError: The scale is no MIN:MAX:STEP.
            ConfigError: Another value is not allowed.
        """
        return Rules(
            on_bad=on_bad,
            scale=None if self.scale is None else RatingScale.parse(self.scale),
            least_plays=self.least_plays,
            dates=self.dates,
            decimal=self.decimal,
            ids=self.ids,
            thousands=self.thousands,
            times=self.times,
        )

    def with_scale(self, scale: RatingScale) -> WrittenFormat:
        """Return this format with another scale of stars."""
        return replace(self, scale=str(scale))

    def to_json(self) -> dict[str, Any]:
        """Return the format as values that JSON can hold, which `read_format` reads again."""
        values: dict[str, Any] = {"kind": self.kind}
        if self.text is not None:
            values |= asdict(self.text)
            values["headers"] = list(self.headers)
        return values | {
            "columns": dict(self.columns),
            "ids": dict(self.ids),
            "scale": self.scale,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "times": self.times,
            "dates": self.dates,
            "least_plays": self.least_plays,
            "where": list(self.where),
        }


def _check_encoding(name: str) -> None:
    """Raise ConfigError unless lines in this encoding can be decoded one by one."""
    try:
        codec = codecs.lookup(name).name
        has_separate_lines = b"\n".decode(codec) == "\n" and not codec.startswith(_STATEFUL)
    except (LookupError, UnicodeError):
        raise ConfigError(f"{name!r} is no known encoding of text.") from None
    if not has_separate_lines:
        raise ConfigError(
            f"Rows in {name} cannot be read one by one. Write the file in UTF-8 first, or read it "
            "without a written format."
        )


def _check_signs(text: TextForm) -> None:
    """Raise ConfigError if the delimiter, the quote or the number of lines above is not allowed."""
    delimiter = text.delimiter
    is_usable = len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n'
    if delimiter != "::" and not is_usable:
        raise ConfigError(f"The delimiter is one ASCII sign or '::'; got {delimiter!r}.")
    if len(text.quote) != 1 or text.quote == delimiter or text.quote in "\r\n":
        raise ConfigError(f"The quote is one sign, and not the delimiter; got {text.quote!r}.")
    if text.lines_above < 0:
        raise ConfigError(f"The lines above the rows are 0 or more; got {text.lines_above}.")


def read_format(path: Path) -> WrittenFormat:
    """Read a written format.

    Args:
        path: A JSON file that describes the format, an imported folder, or the `data.json` of one.

    Raises:
        DataError: The file holds no description, the description is incomplete or wrong, or the
            files that were imported cannot be read row by row.
        ConfigError: Its parts contradict each other, a sign cannot be used, or the encoding cannot
            be read row by row.
    """
    file = path / "data.json" if path.is_dir() else path
    try:
        values = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        raise DataError(
            "this is no description of a format",
            path=path,
            expected="the data.json that  tacit data import  writes",
        ) from None
    if isinstance(values, dict) and READING in values:
        values = values[READING]
        if values is None:
            raise DataError(
                "these files cannot be read row by row",
                path=path,
                expected="one file of lines, JSON lines, Parquet or Arrow",
                fix="Write the ratings as one such file first.",
            )
    try:
        return _from_json(values)
    except DataError as error:
        raise error.with_place(path=path) from None
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise DataError(
            "the description of the format is incomplete or wrong",
            path=path,
            found=str(error),
            fix="Let  tacit data import  write one, and change that.",
        ) from None


def _from_json(values: Mapping[str, Any]) -> WrittenFormat:
    """Make a format from its JSON values.

    Raises:
        TypeError, KeyError, ValueError, AttributeError: A value is missing or wrong.
        DataError: The scale is no MIN:MAX:STEP.
        ConfigError: The values contradict each other, or a sign or the encoding cannot be used.
    """
    kind = _check_choice(values["kind"], get_args(Kind))
    text = None
    if kind == "text":
        text = TextForm(
            encoding=str(values["encoding"]),
            delimiter=str(values["delimiter"]),
            quote=str(values["quote"]),
            lines_above=int(values["lines_above"]),
            packed=_check_type("packed", values["packed"], bool),
        )
    columns = {
        _check_choice(role, get_args(Role)): str(name) for role, name in values["columns"].items()
    }
    ids = {
        _check_choice(role, ("user", "item")): _check_choice(id_kind, get_args(IdKind))
        for role, id_kind in values["ids"].items()
    }
    scale = values["scale"]
    if scale is not None:
        RatingScale.parse(_check_type("scale", scale, str))
    decimal = values["decimal"]
    if decimal is not None:
        _check_choice(decimal, (",", "."))
    return WrittenFormat(
        kind=cast("Kind", kind),
        columns=cast("Mapping[Role, str]", columns),
        ids=cast("Mapping[Role, IdKind]", ids),
        text=text,
        headers=tuple(map(str, _check_type("headers", values.get("headers", []), list))),
        scale=scale,
        decimal=decimal,
        thousands=_check_choice(values["thousands"], ("", ",", ".")),
        times=cast("TimeForm", _check_choice(values["times"], get_args(TimeForm))),
        dates=cast("Dates", _check_choice(values["dates"], get_args(Dates))),
        least_plays=float(values["least_plays"]),
        where=tuple(map(str, _check_type("where", values["where"], list))),
    )


def _check_type(name: str, value: Any, kind: type) -> Any:
    """Return the value of a key if it has the type; ValueError if not."""
    if not isinstance(value, kind):
        raise ValueError(f"{name}: {value!r}, expected a {kind.__name__}")
    return value


def _check_choice(value: Any, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices; ValueError if not."""
    if value not in choices:
        raise ValueError(f"{value!r}, expected one of {', '.join(map(repr, choices))}")
    return str(value)
