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
from tacit.data.tables import Role, Table, choose, find, named, names_of, squeezed
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


def guess(
    table: Table, asked: Mapping[Role, str | None], *, events: bool = False, contents: bool = True
) -> Guess:
    """Columns by what was asked, by name, and (contents) by what stands in them.

    events: the rows are events, whatever columns there are.
    DataError where a column that was asked for is not there. What cannot be guessed is left out.
    """
    headers = table.headers
    looks = [_Look(column) for column in table.frame.get_columns()]
    places: dict[Role, int] = {}
    why: dict[Role, str] = {}

    def take(role: Role, at: int | None, reason: str) -> None:
        if at is not None and at not in places.values() and role not in places:
            places[role], why[role] = at, reason

    for role, name in asked.items():
        if name is not None:
            at = choose(role, headers, name, path=table.path)
            if at in places.values():
                raise DataError("one column cannot be two things", path=table.path, column=name,
                                fix="Name another column.")  # fmt: skip
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
    def free() -> list[int]:
        return [at for at in range(len(looks)) if at not in places.values()]

    if "time" in asked:
        take("time", next((at for at in free() if looks[at].dated), None), "content")
    left = [at for at in free() if not looks[at].dated]
    naming = [at for at in left if looks[at].naming]
    starred = [at for at in left if looks[at].starred]
    if bare and len(naming) == 3 and looks[naming[2]].scaled:
        starred = [naming[2]]  # person, item, stars: the order of all files without a header
    lacking: list[Role] = [
        role for role in ("user", "item") if role in asked and role not in places
    ]
    for ids in ([at for at in naming if at not in starred], naming):
        if len(ids) == len(lacking):
            for role, at in zip(lacking, ids, strict=True):
                take(role, at, "content")
    if "rating" in asked and not events and "plays" not in places:
        stars = [at for at in starred if at in free()]
        take("rating", stars[0] if len(stars) == 1 else None, "content")
    said = [at for at in free() if looks[at].answers]
    if "plays" in asked and "rating" not in places and len(said) == 1:
        take("plays", said[0], "content")
