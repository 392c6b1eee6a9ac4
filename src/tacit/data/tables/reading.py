"""From a table to `Ratings`, or to attributes and metadata; which column holds what, and why.

By name     well-known headers, and names in several languages if the content fits them.
By content  for what is left: times are dates or seconds of our days, ratings few numbers on a
            common scale, and ids repeat. Two columns of ids without names are people, then items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit.data.columns import RatingScale
from tacit.data.domains import DOMAIN
from tacit.data.ratings import Column, Ratings
from tacit.data.tables import Role, Table, choose, find, missing, named, names_of, squeezed
from tacit.data.tables.cleaning import ANSWERS, Rules, clean, ids_of, to_numbers
from tacit.data.tables.sources import open_table
from tacit.data.tables.times import is_date, ordered
from tacit.errors import ConfigError, DataError

REPEATS = "a person's item appears again: the later row counts"
Asked = Mapping[Role, str | None]
_SAMPLE = 2000
_FITS = 0.5  # share of the filled cells
_OLDEST, _NEWEST = 315_532_800, 4_102_444_800  # of seconds that look like times: 1980 to 2100
_MOST_STARS = 101


@dataclass(frozen=True)
class Guess:
    """What the columns of a table hold. places: role to position. why: role to 'asked', 'name' or
    'content'. events: the rows are events, whatever columns there are."""

    table: Table
    places: dict[Role, int]
    why: dict[Role, str] = field(default_factory=dict)
    events: bool = False

    def checked(self, rules: Rules, needed: Sequence[Role] = ("user", "item")) -> Guess:
        """The same; DataError where a needed column is missing, ConfigError for a useless scale."""
        if rules.scale is not None:
            if self.events or self.why.get("plays") == "asked":
                raise ConfigError(
                    "Events and plays have no stars, so a scale has no meaning for them."
                )
            needed = (*needed, "rating")
        for role in needed:
            if role not in self.places:
                raise missing(role, self.table.headers, None, self.table.path)
        return self


class _Look:
    """What the first cells of a column look like."""

    def __init__(self, column: pl.Series) -> None:
        if column.dtype.is_nested() or isinstance(column.dtype, pl.Duration):
            column = pl.Series([], dtype=pl.String)  # no text, no number: it plays no role
        kind, cells = column.dtype, column.head(_SAMPLE).drop_nulls()
        self._cells, texts = cells, cells.cast(pl.String, strict=False).str.strip_chars()
        numbers = cells.cast(pl.Float64) if kind.is_numeric() else to_numbers(texts)
        self.numbers = numbers.drop_nulls().drop_nans()
        self.numeric = self._most(len(self.numbers))
        lowered = texts.str.to_lowercase()
        self.answers = kind == pl.Boolean or (
            kind == pl.String and len(cells) > 0 and bool(lowered.is_in([*ANSWERS]).all())
        )

    def _most(self, hits: int) -> bool:
        return len(self._cells) > 0 and hits >= _FITS * len(self._cells)

    @cached_property
    def dated(self) -> bool:
        """Dates, or numbers that would be times of our days."""
        kind = self._cells.dtype
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            return True
        if not self.numeric:
            return kind == pl.String and self._most(sum(map(is_date, self._cells.to_list())))
        size = self.numbers.abs()
        spans = [(_OLDEST * unit, _NEWEST * unit) for unit in (1, 10**3, 10**6, 10**9)]
        spans.append((19_800_101, 21_001_231))
        return any(self._most(int(size.is_between(*span).sum())) for span in spans)

    @property
    def starred(self) -> bool:
        """Few numbers, repeated, on a common scale."""
        distinct = self.numbers.n_unique()
        few = distinct <= _MOST_STARS and 2 * distinct <= len(self.numbers)
        return few and self.numeric and not self.dated and not self.answers and self.scaled

    @property
    def scaled(self) -> bool:
        """Numbers that are nearly all on a common scale."""
        numbers = self.numbers.to_numpy()
        return self.numeric and RatingScale.nearest(numbers)[1] <= 0.05 * len(numbers)

    @property
    def naming(self) -> bool:
        """Ids: whole numbers, or short texts, some of them several times."""
        kind = self._cells.dtype
        if self.dated or self.answers or len(self._cells) == 0:
            return False
        if self.numeric:
            return bool((self.numbers == self.numbers.round()).all())
        return kind == pl.String and float(np.mean([len(x) for x in self._cells])) <= 40

    def fits(self, role: Role) -> bool:
        """Whether a name in use elsewhere may be believed."""
        return self.dated if role == "time" else role not in ("rating", "plays") or self.numeric


def guess(table: Table, asked: Asked, *, events: bool = False, contents: bool = True) -> Guess:
    """Columns by what was asked, by name, and (contents) by what stands in them. What cannot be
    guessed is left out; DataError where a column that was asked for is not there."""
    headers = table.headers
    looks = [_Look(column) for column in table.frame.get_columns()]
    places: dict[Role, int] = {}
    why: dict[Role, str] = {}

    def take(role: Role, at: int | None, reason: str) -> None:
        if at is not None and at not in places.values() and role not in places:
            places[role], why[role] = at, reason

    for role, name in asked.items():
        if name is not None:
            at = choose(role, headers, name, table.path)
            if at in places.values():
                raise DataError(
                    "one column cannot be two things",
                    path=table.path,
                    column=name,
                    fix="Name another column.",
                )
            take(role, at, "asked")
    for role in asked:
        take(role, find(role, headers, None), "name")
    if table.header:
        squeezes = [squeezed(header) for header in headers]
        for role in asked:
            for name in names_of(role, more=True):
                for at, other in enumerate(squeezes):
                    take(role, at if other == name and looks[at].fits(role) else None, "name")
        for role in [role for role in asked if role in ("user", "item")]:
            fitting = [at for at, header in enumerate(headers) if named(role, header)]
            take(role, fitting[0] if len(fitting) == 1 else None, "name")
    if contents:
        _by_content(looks, places, take, asked, events=events, bare=not table.header)
    # Stars come before numbers of plays, unless the latter are asked for by name. Without either
    # the rows are events.
    counted = asked.get("plays") is not None
    if events or counted:
        places.pop("rating", None)
    if not counted and (events or "rating" in places):
        places.pop("plays", None)
    places = {role: places[role] for role in asked if role in places}
    return Guess(table, places, {role: why[role] for role in places}, events)


def _by_content(
    looks: list[_Look],
    places: Mapping[Role, int],
    take: Callable[[Role, int | None, str], None],
    asked: Asked,
    *,
    events: bool,
    bare: bool,
) -> None:
    def free() -> list[int]:
        return [at for at in range(len(looks)) if at not in places.values()]

    if "time" in asked:
        take("time", next((at for at in free() if looks[at].dated), None), "content")
    left = [at for at in free() if not looks[at].dated]
    naming = [at for at in left if looks[at].naming]
    starred = [at for at in left if looks[at].starred]
    if bare and len(naming) == 3 and looks[naming[2]].scaled:
        starred = [naming[2]]  # person, item, stars: the order of all files without a header
    lacking = [role for role in asked if role in ("user", "item") and role not in places]
    for ids in ([at for at in naming if at not in starred], naming):
        if len(ids) == len(lacking):
            for role, at in zip(lacking, ids, strict=True):
                take(role, at, "content")
    if "rating" in asked and not events and "plays" not in places:
        stars = [at for at in starred if at in free()]
        take("rating", stars[0] if len(stars) == 1 else None, "content")
    answers = [at for at in free() if looks[at].answers]
    if "plays" in asked and "rating" not in places and len(answers) == 1:
        take("plays", answers[0], "content")


@dataclass(frozen=True)
class Reading:
    """Ratings, and what became of the rows of their tables. columns: role to header."""

    ratings: Ratings
    read: int
    dropped: dict[str, int]
    columns: dict[str, str]


def ratings_of(
    tables: Sequence[Guess],
    rules: Rules,
    *,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Reading:
    """Ratings of one or several tables of the same kind."""
    parts = [clean(each.table, each.places, rules) for each in tables]
    first, places = tables[0].table, tables[0].places
    columns = _joined([part.columns for part in parts])
    scales = {part.scale for part in parts}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    if "domain" in columns:
        whole = len(parts) == 1 and not parts[0].dropped  # then a row has its line
        domains = metadata[DOMAIN] = {}
        for row, (item, name) in enumerate(zip(columns["item"], columns["domain"], strict=True)):
            if domains.setdefault(item, name) != name:
                line, column = first.line(row) if whole else None, first.headers[places["domain"]]
                found = f"{item} in {domains[item]} and in {name}"
                raise DataError(
                    "an item lies in two domains",
                    path=first.path,
                    row=line,
                    column=column,
                    found=found,
                    expected="one domain per item",
                    fix="If these are two items, make two ids of them: put the domain before each "
                    "id.",
                )
    try:
        made = Ratings.from_arrays(
            columns["user"],
            columns["item"],
            columns.get("rating"),
            columns.get("time"),
            scale=scales.pop() if len(scales) == 1 else None,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise error.with_place(path=error.path or first.path) from None
    dropped = dict(sum((Counter(part.dropped) for part in parts), Counter[str]()))
    if repeats := len(columns["item"]) - len(made):
        dropped[REPEATS] = repeats
    timed = [each.table.frame[:, each.places["time"]] for each in tables if "time" in each.places]
    dates_given = not any(ordered(column, rules.dates) for column in timed)
    given = rules.scale is not None or "rating" not in places
    return Reading(
        replace(made, scale_given=given, dates_given=dates_given),
        sum(part.read for part in parts),
        dropped,
        {role: first.headers[at] for role, at in places.items()},
    )


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns below each other; times only where all have them."""
    if len(parts) == 1:
        return dict(parts[0])
    if len({"rating" in part for part in parts}) == 2:
        raise DataError(
            "some of the files have ratings and some have none",
            fix="Import them apart, or all as events with --events.",
        )
    joined: dict[str, Any] = {}
    for role in [role for role in parts[0] if all(role in part for part in parts)]:
        columns = [part[role] for part in parts]
        if any(isinstance(column, list) for column in columns):
            joined[role] = [str(cell) for column in columns for cell in column]
        else:
            joined[role] = np.concatenate(columns)
    return joined


def table_of(
    source: str | Path | Table, role: Role, asked: str | None, *, fewest: int = 2
) -> tuple[list[Any], dict[str, dict[Any, str | None]]]:
    """The ids of a users or items file, and each of its other columns, as id to text. The id column
    is the one asked for, if it is there, else one of a known name, else the first. fewest: columns,
    the id's too."""
    table = source if isinstance(source, Table) else open_table(source, asked=(asked,))
    headers = table.whole().headers
    number = None if asked is None else find(role, headers, asked)
    if number is None:
        squeezes = [squeezed(header) for header in headers]
        known = (squeezes.index(name) for name in names_of(role, more=True) if name in squeezes)
        number = next(known, 0)
    if len(headers) < fewest:
        raise DataError("the file has no column beside the id", path=table.path, found=headers[0])
    keys = table.frame[:, number]
    ids = list(ids_of(keys)) if table.text and not keys.null_count() else keys.to_list()
    seen = set()
    for row, key in enumerate(ids):
        if key is None or key in seen:
            what = "the id is missing" if key is None else "the id has appeared before"
            line, column = table.line(row), headers[number]
            expected = "one row per id"
            raise DataError(what, path=table.path, row=line, column=column, expected=expected)
        seen.add(key)
    columns = {}
    for name in headers[:number] + headers[number + 1 :]:
        texts = [None if cell is None else str(cell).strip() or None for cell in table.frame[name]]
        columns[name] = dict(zip(ids, texts, strict=True))
    return ids, columns


def matched(
    source: str | Path | Table, role: Role, asked: str | None, ratings: Ratings
) -> dict[str, Column]:
    """A users or items file in the order of the ratings' ids, compared as they are written."""
    ids, columns = table_of(source, role, asked)
    written = {str(key): key for key in ids}
    rated = (ratings.user_ids if role == "user" else ratings.item_ids).tolist()
    keys = [written.get(str(key)) for key in rated]
    if all(key is None for key in keys):
        raise DataError(
            f"no {role} of this file has a rating",
            path=source.path if isinstance(source, Table) else source,
            expected=f"{role} ids written as in the ratings",
            fix="Check which column holds the id: a well-known header, else the first column.",
        )
    return {
        name: np.array([column.get(key) for key in keys], dtype=object)
        for name, column in columns.items()
    }
