"""Which column holds what, by name and content; shown to a person, who may say otherwise.

By name     well-known headers, and names in several languages if the content fits them.
By content  for what is left: times are dates or seconds of our days, ratings few numbers on a
            common scale, and ids repeat. Two columns of ids without names are people, then items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tacit.data.columns import RatingScale
from tacit.data.tables import Role, Table, find, missing, named, names_of, squeezed
from tacit.data.tables.cleaning import ANSWERS, to_numbers
from tacit.data.tables.times import is_date
from tacit.errors import DataError

_SAMPLE = 2000
_FITS = 0.5  # share of the filled cells
_OLDEST, _NEWEST = 315_532_800, 4_102_444_800  # of seconds that look like times: 1980 to 2100
_MOST_STARS = 101


@dataclass(frozen=True)
class Guess:
    """Role to position, and why each: 'asked', 'name' or 'content'."""

    places: dict[Role, int]
    why: dict[Role, str]


class _Look:
    """What the first cells of a column look like."""

    def __init__(self, column: pl.Series) -> None:
        self.kind = column.dtype
        none = isinstance(self.kind, pl.Duration)  # no text, no number: it plays no role
        self.cells = column.head(0 if none else _SAMPLE).drop_nulls()

    @cached_property
    def numbers(self) -> pl.Series:
        """Those that are numbers."""
        if self.kind.is_numeric():
            return self.cells.cast(pl.Float64).drop_nans()
        found = to_numbers(self.cells.cast(pl.String, strict=False).str.strip_chars())
        return found.drop_nulls()

    def share(self, hits: int) -> bool:
        return len(self.cells) > 0 and hits >= _FITS * len(self.cells)

    @cached_property
    def answers(self) -> bool:
        """Nothing but yes and no, or words like them."""
        if self.kind == pl.Boolean:
            return True
        if self.kind != pl.String or len(self.cells) == 0:
            return False
        return bool(self.cells.str.strip_chars().str.to_lowercase().is_in([*ANSWERS]).all())

    @property
    def numeric(self) -> bool:
        return not self.kind.is_nested() and self.share(len(self.numbers))

    @cached_property
    def dated(self) -> bool:
        """Dates, or numbers that would be times of our days."""
        if self.kind == pl.Date or isinstance(self.kind, pl.Datetime):
            return True
        if self.numeric:
            size = self.numbers.abs()
            for unit in (1, 1_000, 1_000_000, 1_000_000_000):
                if self.share(int(size.is_between(_OLDEST * unit, _NEWEST * unit).sum())):
                    return True
            return self.share(int(size.is_between(19_800_101, 21_001_231).sum()))
        return self.kind == pl.String and self.share(sum(map(is_date, self.cells.to_list())))

    @property
    def starred(self) -> bool:
        """Few numbers, repeated, on a common scale."""
        if not self.numeric or self.dated or self.answers:
            return False
        distinct = self.numbers.n_unique()
        return distinct <= _MOST_STARS and 2 * distinct <= len(self.numbers) and self.scaled

    @property
    def scaled(self) -> bool:
        """Numbers that are nearly all on a common scale."""
        numbers = self.numbers.to_numpy()
        return self.numeric and RatingScale.nearest(numbers)[1] <= 0.05 * len(numbers)

    @property
    def naming(self) -> bool:
        """Ids: whole numbers, or short texts, some of them several times."""
        if self.kind.is_nested() or self.dated or self.answers or len(self.cells) == 0:
            return False
        if self.numeric:
            return bool((self.numbers == self.numbers.round()).all())
        return self.kind == pl.String and float(np.mean([len(x) for x in self.cells])) <= 40


_FITTING = {"rating": "numeric", "plays": "numeric", "time": "dated"}


def guess(
    table: Table, asked: Mapping[Role, str | None], *, events: bool = False, contents: bool = True
) -> Guess:
    """Columns by what was asked, by name, and (contents) by what stands in them.

    events: the rows are events, whatever columns there are.
    DataError where a column that was asked for is not there. What cannot be guessed is left out.
    """
    looks = [_Look(column) for column in table.frame.get_columns()]
    places: dict[Role, int] = {}
    why: dict[Role, str] = {}

    def take(role: Role, at: int | None, reason: str) -> None:
        if at is not None and at not in places.values() and role not in places:
            places[role], why[role] = at, reason

    for role, name in asked.items():
        at = find(role, table.headers, name)
        if name is not None and at is None:
            raise missing(role, table.headers, name, table.path)
        if name is not None and at in places.values():
            raise DataError("one column cannot be two things", path=table.path, column=name,
                            fix="Name another column.")  # fmt: skip
        take(role, at if name is not None else None, "asked")
    for role in asked:
        take(role, find(role, table.headers, None), "name")
    squeezes = [squeezed(header) for header in table.headers]
    for role in asked:
        for name in names_of(role, more=True) if table.header else ():
            for at, other in enumerate(squeezes):
                fits = role not in _FITTING or getattr(looks[at], _FITTING[role])
                if other == name and fits:
                    take(role, at, "name")
    composed: tuple[Role, ...] = ("user", "item")
    for role in composed if table.header else ():
        fitting = [at for at, header in enumerate(table.headers) if named(role, header)]
        if role in asked and len(fitting) == 1:
            take(role, fitting[0], "name")
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
    return Guess(places, {role: why[role] for role in places})


def _by_content(
    looks: list[_Look],
    places: Mapping[Role, int],
    take: Callable[[Role, int | None, str], None],
    asked: Mapping[Role, str | None],
    *,
    events: bool,
    bare: bool,
) -> None:
    free = [at for at in range(len(looks)) if at not in places.values()]
    if "time" in asked and "time" not in places:
        dated = [at for at in free if looks[at].dated]
        take("time", dated[0] if dated else None, "content")
    free = [at for at in free if at not in places.values() and not looks[at].dated]
    naming = [at for at in free if looks[at].naming]
    starred = [at for at in free if looks[at].starred]
    if bare and len(naming) == 3 and looks[naming[2]].scaled:
        starred = [naming[2]]  # person, item, stars: the order of all files without a header
    ids = [at for at in naming if at not in starred]
    lacking: list[Role] = [
        role for role in ("user", "item") if role in asked and role not in places
    ]
    if len(ids) != len(lacking):
        ids = naming
    if len(ids) == len(lacking):
        for role, at in zip(lacking, ids, strict=True):
            take(role, at, "content")
    if "rating" in asked and not events and "rating" not in places and "plays" not in places:
        left = [at for at in starred if at not in places.values()]
        take("rating", left[0] if len(left) == 1 else None, "content")
    said = [at for at, look in enumerate(looks) if look.answers and at not in places.values()]
    if "plays" in asked and not {"rating", "plays"} & set(places) and len(said) == 1:
        take("plays", said[0], "content")
