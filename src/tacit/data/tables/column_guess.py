"""Columns of a table and what they hold: as asked, by name, or by order and content together.

Beside a header   a column is the stars only if its name or the caller says so. Content alone never
                  decides: numbers on a usual scale under a name that says nothing are a question.
Without a header  people, items, stars and times in this order, where the content fits each; any
                  other number that is left is a question, and so is an item column with more
                  different values than the column of people.
Questions         are a DataError with the options that settle them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from tacit.data.columns import RatingScale
from tacit.data.tables.cells import ANSWERS, OPINIONS, Rules, to_numbers
from tacit.data.tables.forms import layout_error
from tacit.data.tables.names import (
    Role,
    Subject,
    is_compound_of,
    is_named,
    is_no_candidate,
    known_names,
    normalize_header,
)
from tacit.data.tables.table import WIDE, Table, find_column, missing_column_error, require_column
from tacit.data.tables.times import NEWEST, OLDEST, is_date, may_be_spreadsheet_days
from tacit.errors import ConfigError, DataError

Asked = Mapping[Role, str | None]
"""What the caller says of each role: a header, a position from 1, or None."""
_SAMPLE = 2000
_MOST_OF_CELLS = 0.5
_OLDEST_DATE, _NEWEST_DATE = 19_800_101, 21_001_231  # of dates written YYYYMMDD
_MOST_STARS = 101
_FEWEST_STARS = 3
_FEW_ROWS = 50  # of a table whose columns cannot be distinguished by how often a number comes
_LONGEST_ID = 40
_NAMES_OF_STARS: tuple[Subject, ...] = ("rating", "feedback")
_MOST_KINDS = 20  # of events that are shown


@dataclass(frozen=True)
class Guess:
    """Roles of the columns of a table.

    Attributes:
        table: The table.
        places: Role to position of its column.
        why: Role to 'asked', 'name' or 'content'.
        events: Whether all rows are events, whatever columns there are.
        warnings: Sentences on what a person should look at.
        settled: Whether no cell had a say in what the columns are.
    """

    table: Table
    places: dict[Role, int]
    why: dict[Role, str] = field(default_factory=dict)
    events: bool = False
    warnings: tuple[str, ...] = ()
    settled: bool = True

    def require_roles(self, rules: Rules, needed: Sequence[Role] = ("user", "item")) -> Guess:
        """Return this guess.

        Raises:
            DataError: A needed role has no column.
            ConfigError: A scale is given for rows without stars.
        """
        if rules.scale is not None:
            if self.events or self.why.get("plays") == "asked":
                raise ConfigError(
                    "Events and plays have no stars, so a scale has no meaning for them."
                )
            needed = (*needed, "rating")
        for role in needed:
            if role not in self.places:
                raise missing_column_error(role, self.table.headers, None, self.table.path)
        return self


class ColumnLook:
    """Looks of the first cells of a column."""

    def __init__(self, column: pl.Series) -> None:
        self.nested = column.dtype.is_nested()
        if self.nested or isinstance(column.dtype, pl.Duration):
            column = pl.Series([], dtype=pl.String)  # no text, no number: it plays no role
        cells = column.head(_SAMPLE).drop_nulls()
        texts = cells.cast(pl.String, strict=False).str.strip_chars()
        self._cells = cells
        self._column = column
        numbers = cells.cast(pl.Float64) if cells.dtype.is_numeric() else to_numbers(texts)
        self.numbers = numbers.drop_nulls().drop_nans()
        self.is_numeric = self._are_most(len(self.numbers))
        all_answers = len(cells) > 0 and bool(texts.str.to_lowercase().is_in([*ANSWERS]).all())
        self.is_opinion = all_answers and bool(texts.str.to_lowercase().is_in(OPINIONS).all())
        self.is_answer = cells.dtype == pl.Boolean or (cells.dtype == pl.String and all_answers)

    def _are_most(self, cells: int) -> bool:
        return len(self._cells) > 0 and cells >= _MOST_OF_CELLS * len(self._cells)

    @cached_property
    def distinct(self) -> int:
        """Number of different cells of the whole column."""
        return self._column.drop_nulls().n_unique()

    @cached_property
    def is_time(self) -> bool:
        """Dates, or numbers that would be times of our days."""
        kind = self._cells.dtype
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            return True
        if not self.is_numeric:
            return kind == pl.String and self._are_most(sum(map(is_date, self._cells.to_list())))
        size = self.numbers.abs()
        spans = [(OLDEST * unit, NEWEST * unit) for unit in (1, 10**3, 10**6, 10**9)]
        spans += [(_OLDEST_DATE * digits, _NEWEST_DATE * digits) for digits in (1, 10**4, 10**6)]
        return any(self._are_most(int(size.is_between(*span).sum())) for span in spans)

    @cached_property
    def may_be_stars(self) -> bool:
        """Few numbers, repeated, on a common scale."""
        levels = self.numbers.n_unique()
        few = levels <= _MOST_STARS and 2 * levels <= len(self.numbers)
        return few and self.is_numeric and not self.is_time and not self.is_answer and self.on_scale

    @cached_property
    def on_scale(self) -> bool:
        """Numbers that are nearly all on a common scale."""
        numbers = self.numbers.to_numpy()
        return self.is_numeric and RatingScale.nearest(numbers)[1] <= 0.05 * len(numbers)

    @cached_property
    def falls_from_the_least(self) -> bool:
        """Whole numbers of which the least is the most frequent: numbers of plays, not stars."""
        levels = self.numbers.unique().sort().head(3).to_list()
        counts = [int((self.numbers == level).sum()) for level in levels]
        if len(counts) < 3 or bool((self.numbers != self.numbers.round()).any()):
            return False
        return counts[0] > counts[1] >= counts[2] and counts[0] >= len(self.numbers) / 4

    @cached_property
    def is_feedback(self) -> bool:
        """Only yes and no, or 1 and 0."""
        return self.is_answer or (self.is_numeric and bool(self.numbers.is_in([0.0, 1.0]).all()))

    @cached_property
    def may_be_ids(self) -> bool:
        """Whole numbers, or short texts."""
        if self.is_time or self.is_answer or len(self._cells) == 0:
            return False
        if self.is_numeric:
            return bool((self.numbers == self.numbers.round()).all())
        if self._cells.dtype != pl.String:
            return False
        return float(np.mean([len(cell) for cell in self._cells])) <= _LONGEST_ID

    def fits(self, role: Role) -> bool:
        """Tell whether a name that is in use elsewhere may be believed."""
        if role == "time":
            return self.is_time or (self.is_numeric and may_be_spreadsheet_days(self.numbers))
        return role not in ("rating", "plays") or self.is_numeric or self.is_answer


class _Search:
    """One search for the columns of a table: what is taken so far, and why."""

    def __init__(self, table: Table, asked: Asked, *, events: bool) -> None:
        self.table = table
        self.asked = asked
        self.events = events
        self.headers = table.headers
        self.looks = [ColumnLook(column) for column in table.frame.get_columns()]
        self.places: dict[Role, int] = {}
        self.why: dict[Role, str] = {}
        self.warnings: list[str] = []

    def take(self, role: Role, at: int | None, reason: str) -> None:
        """Take a free column for a role that has none."""
        if at is None or role not in self.asked or role in self.places:
            return
        if at not in self.places.values():
            self.places[role] = at
            self.why[role] = reason

    @property
    def free_places(self) -> list[int]:
        """Positions that no role has."""
        return [at for at in range(len(self.headers)) if at not in self.places.values()]

    def lacks(self, role: Role) -> bool:
        """Tell whether a role that is looked for has no column."""
        return role in self.asked and role not in self.places

    def take_named_columns(self) -> None:
        for role, name in self.asked.items():
            if name is None:
                continue
            at = require_column(role, self.headers, name, self.table.path)
            if at in self.places.values():
                raise DataError(
                    "one column cannot be two things",
                    path=self.table.path,
                    column=name,
                    fix="Name another column.",
                )
            self.take(role, at, "asked")

    def take_by_name(self) -> None:
        """Take columns by their names: first usual names, then known ones, then lone compounds."""
        for role in self.asked:
            self.take(role, find_column(role, self.headers, None), "name")
        if not self.table.header:
            return
        normalized = [normalize_header(header) for header in self.headers]
        for role in self.asked:
            for name in known_names(role):
                for at, header in enumerate(normalized):
                    if header == name and self.looks[at].fits(role):
                        self.take(role, at, "name")
        pair: tuple[Role, ...] = ("user", "item")
        for role in pair:
            compounds = [
                at
                for at in self.free_places
                if is_compound_of(role, self.headers[at]) and not is_no_candidate(self.headers[at])
            ]
            if len(compounds) == 1:
                self.take(role, compounds[0], "name")
        if not self.events and self.lacks("rating") and self.asked.get("plays") is None:
            self._take_feedback()

    def _take_feedback(self) -> None:
        """Take a column such as `clicked` of 0 and 1 as ratings on 0:1:1; two are a question."""
        found = [
            at
            for at in self.free_places
            if is_named("feedback", self.headers[at]) and self.looks[at].is_feedback
        ]
        if len(found) > 1:
            names = [self.headers[at] for at in found]
            raise DataError(
                "several columns may say what was liked",
                path=self.table.path,
                column=", ".join(names),
                fix=f"Say which: --rating {names[0]}, or --events if every row is one "
                "(from Python: rating=..., events=True).",
            )
        if found:
            self.take("rating", found[0], "name")

    def take_by_content(self) -> None:
        if "time" in self.asked:
            times = [at for at in self.free_places if self.looks[at].is_time]
            named_otherwise = [at for at in times if is_named("other", self.headers[at])]
            fitting = [at for at in times if at not in named_otherwise]
            self.take("time", fitting[0] if fitting else None, "content")
        answers = [at for at in self.free_places if self.looks[at].is_answer]
        if self.table.header:  # true and 1 are likes only under a name that says so
            answers = [at for at in answers if self.looks[at].is_opinion]
        if len(answers) == 1 and not self.events and "plays" not in self.places:
            self.take("rating", answers[0], "content")  # such as like and dislike
        if not self.table.header:
            self._take_by_order()

    def _take_by_order(self) -> None:
        """Take people, items and stars of a table without a header by their usual order."""
        left = [at for at in self.free_places if not self.looks[at].is_time]
        ids = [at for at in left if self.looks[at].may_be_ids]
        if self.lacks("user") and self.lacks("item"):
            in_order = left[:2] == ids[:2] and len(left) in (2, 3)
            if in_order and self._third_is_no_id(left):
                self.take("user", ids[0], "content")
                self.take("item", ids[1], "content")
        elif self.lacks("user") or self.lacks("item"):
            role: Role = "user" if self.lacks("user") else "item"
            if len(ids) == 1:
                self.take(role, ids[0], "content")
        in_first_columns = {self.places.get("user"), self.places.get("item")} == {0, 1}
        third = self.looks[2] if len(self.looks) > 2 else None
        if third is not None and in_first_columns and 2 in self.free_places and not self.events:
            if len(self.table.frame) < _FEW_ROWS:
                is_rating = third.on_scale and not third.is_time
            else:
                several = third.numbers.n_unique() >= _FEWEST_STARS
                is_rating = third.may_be_stars and several and not third.falls_from_the_least
            if is_rating:
                self.take("rating", 2, "content")

    def _third_is_no_id(self, left: list[int]) -> bool:
        return len(left) == 2 or self.looks[left[2]].is_numeric

    def refuse_doubt_about_people(self) -> None:
        """Raise DataError where nothing says which of two columns of ids are the people."""
        if self.table.header or self.why.get("user") != "content":
            return
        user, item = self.places.get("user"), self.places.get("item")
        if user is None or item is None or self.why.get("item") != "content":
            return
        people, items = self.looks[user].distinct, self.looks[item].distinct
        if items > people:
            raise DataError(
                "nothing says which column holds the people and which the items",
                path=self.table.path,
                found=f"{people:,} different values in column {user + 1}, {items:,} in column "
                f"{item + 1}",
                fix=f"Say which: --user {user + 1} --item {item + 1}, or --user {item + 1} "
                f"--item {user + 1} (from Python: user=..., item=...).",
            )

    def refuse_doubt_about_stars(self) -> None:
        """Raise DataError where a number may be stars, plays or neither."""
        settled = self.events or "rating" in self.places or "plays" in self.places
        if settled or "rating" not in self.asked:
            return
        pair_was_asked = self.why.get("user") == self.why.get("item") == "asked"
        doubtful = []
        for at in self.free_places:
            look = self.looks[at]
            if self.table.header:
                unclear = (look.may_be_stars or look.is_answer) and not self._says_otherwise(at)
            else:
                is_number = look.is_numeric and not look.is_time
                by_order = at < 2 and look.may_be_ids  # people and items come first
                may_be_feedback = look.may_be_stars or (not pair_was_asked and is_number)
                unclear = may_be_feedback and not by_order
            if unclear:
                doubtful.append(self.headers[at])
        if len(doubtful) >= WIDE:
            raise layout_error(
                "wide",
                "each item seems to have a column of its own",
                path=self.table.path,
                found=f"{len(doubtful)} columns of numbers",
            )
        if doubtful:
            name = doubtful[0]
            missing_options = [f"--{role}" for role in ("user", "item") if self.lacks(role)]
            also = f" Name {' and '.join(missing_options)} as well." if missing_options else ""
            raise DataError(
                "it is not clear whether a column holds stars, numbers of plays, or neither",
                path=self.table.path,
                column=", ".join(doubtful),
                fix=f"Say which: --rating {name}, --plays {name}, or --events if it is neither "
                f"(from Python: rating=..., plays=..., events=True).{also}",
            )

    def refuse_words_for_stars(self) -> None:
        """Raise DataError where a column is named as stars, and a few words stand in it."""
        settled = self.events or "rating" in self.places or "plays" in self.places
        if settled or "rating" not in self.asked or not self.table.header:
            return
        for at in self.free_places:
            column = self.table.frame[:, at].drop_nulls()
            names_stars = any(is_named(each, self.headers[at]) for each in _NAMES_OF_STARS)
            if not names_stars or column.dtype != pl.String or self.looks[at].is_numeric:
                continue
            filled = len(column) >= _MOST_OF_CELLS * len(self.table.frame)
            if filled and column.n_unique() <= _MOST_KINDS:
                name = self.headers[at]
                raise DataError(
                    "a column has the name of stars or likes, but words stand in it",
                    path=self.table.path,
                    column=name,
                    fix="Write them as numbers first, or say that every row is an event with "
                    f"--events; --where '{name}=VALUE' keeps some rows.",
                )

    def _says_otherwise(self, at: int) -> bool:
        """Tell whether the header of a column says that it holds something else."""
        header = self.headers[at]
        subjects: tuple[Subject, ...] = ("user", "item", "time")
        return is_no_candidate(header) or any(is_compound_of(each, header) for each in subjects)

    def refuse_nested(self) -> None:
        """Raise DataError where people or items are lacking and cells hold lists or objects."""
        nested = [at for at, look in enumerate(self.looks) if look.nested]
        if nested and (self.lacks("user") or self.lacks("item")):
            raise layout_error(
                "baskets",
                "a cell holds a list or nested values",
                path=self.table.path,
                column=self.headers[nested[0]],
                expected="one row a rating or event, and one plain value a cell",
            )

    def warn_of_kinds_of_events(self) -> None:
        """Show the values of a column such as `event`, of which some may be no likes."""
        if "rating" in self.places or not self.table.header:
            return
        for at in self.free_places:
            column = self.table.frame[:, at]
            if not is_named("event", self.headers[at]) or column.dtype != pl.String:
                continue
            counts = column.drop_nulls().value_counts(sort=True)
            if 1 < len(counts) <= _MOST_KINDS:
                shown = ", ".join(f"{value} ({rows:,})" for value, rows in counts.iter_rows())
                name = self.headers[at]
                self.warnings.append(
                    f"Every row counts, whatever its {name}: {shown}. Keep some with  "
                    f"--where '{name}=VALUE'."
                )

    def warn_of_columns_with_few_values(self) -> None:
        """Name columns that are not read although their few values may mean like and dislike."""
        if "rating" in self.places or not self.table.header:
            return
        names = []
        for at in self.free_places:
            column = self.table.frame[:, at]
            is_known = is_no_candidate(self.headers[at]) or self.looks[at].nested
            if is_known or column.dtype != pl.String or self.looks[at].is_time:
                continue
            few = column.head(_SAMPLE).n_unique() <= _MOST_KINDS
            if few and 1 < self.looks[at].distinct <= _MOST_KINDS < len(column):
                names.append(self.headers[at])
        if names:
            self.warnings.append(
                f"Not read, though a few values come again and again: {', '.join(names)}. If some "
                f"of them mean no like, keep the others with  --where '{names[0]}=VALUE'."
            )

    def warn_of_unread_times(self) -> None:
        """Name a column that has the name of times and holds none that can be read."""
        if not self.lacks("time") or not self.table.header:
            return
        for at in self.free_places:
            if is_named("time", self.headers[at]) and not is_no_candidate(self.headers[at]):
                self.warnings.append(
                    f"The times in column {self.headers[at]} cannot be read: they were left out."
                )
                return

    def result(self) -> Guess:
        """Stars come before numbers of plays, unless the latter are asked for by name."""
        plays_asked = self.asked.get("plays") is not None
        if self.events or plays_asked:
            self.places.pop("rating", None)
        if not plays_asked and (self.events or "rating" in self.places):
            self.places.pop("plays", None)
        places = {role: self.places[role] for role in self.asked if role in self.places}
        why = {role: self.why[role] for role in places}
        warnings = tuple(self.warnings)
        return Guess(self.table, places, why, self.events, warnings, self._is_settled(places))

    def _is_settled(self, places: Mapping[Role, int]) -> bool:
        """Tell whether the search can end.

        Every column taken was asked for or has a usual name, and no role or no column is left.
        """
        for role, at in places.items():
            if self.why[role] != "asked" and find_column(role, self.headers, None) != at:
                return False
        has_stars = self.events or "rating" in places or "plays" in places
        has_times = "time" in places or "time" not in self.asked
        return (has_stars and has_times) or len(places) == len(self.headers)


def guess(table: Table, asked: Asked, *, events: bool = False, contents: bool = True) -> Guess:
    """Find the columns of a table.

    Args:
        table: Whole rows.
        asked: The roles that are looked for, and the column of each if the caller names it.
        events: Every row is an event, whatever columns there are.
        contents: Look at the cells where no name helps, and ask where they leave a doubt.

    Returns:
        What was found; a role without a column is left out.

    Raises:
        DataError: A column that was asked for is not there, or the columns leave a doubt.
    """
    search = _Search(table, asked, events=events)
    search.take_named_columns()
    search.take_by_name()
    if contents:
        search.take_by_content()
        search.refuse_nested()
        search.refuse_words_for_stars()
        search.refuse_doubt_about_stars()
        search.refuse_doubt_about_people()
        search.warn_of_kinds_of_events()
        search.warn_of_columns_with_few_values()
        search.warn_of_unread_times()
    return search.result()
