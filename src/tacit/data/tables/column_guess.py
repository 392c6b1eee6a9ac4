"""The columns of a table, found by what the caller says, by their names, or by order and content.

With a header     a column holds the stars if the caller or its name says so, or if all its cells
                  are words such as 'like'. Numbers on a common scale under another name raise a
                  question.
Without a header  columns are people, items, stars and times in this order, if the content fits.
                  Other columns of numbers raise a question, unless the caller named people and
                  items. So does a column of items with more different values than the column of
                  people.
Questions         are a DataError that names the options which answer them.
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
from tacit.data.tables.table import (
    FEWEST_WIDE_COLUMNS,
    Table,
    find_column,
    missing_column_error,
    require_column,
)
from tacit.data.tables.times import NEWEST, OLDEST, is_date, may_be_spreadsheet_days
from tacit.errors import ConfigError, DataError

ColumnNames = Mapping[Role, str | None]
"""The roles to find, each with the header or the position from 1 that the caller named, or None."""
_CELLS_SEEN = 2000
"""Number of the first cells of a column that are in its `ColumnSample`."""
_MOST_OF_CELLS = 0.5
"""A column counts as numbers if at least this share of its cells are numbers. The same holds for
dates."""
_OLDEST_DATE, _NEWEST_DATE = 19_800_101, 21_001_231
"""The earliest and the latest time of a rating, as a date written YYYYMMDD."""
_MOST_STARS = 101
"""Largest number of different stars, as on a scale from 0 to 100."""
_FEWEST_STARS = 3
"""Fewest different numbers in a column that is taken for stars in a table without a header."""
_MOST_OFF_SCALE = 0.05
"""Largest share of a column of stars that may lie off their scale."""
_LEAST_SHARE_OF_SMALLEST_COUNT = 0.25
"""In a column of counts, such as numbers of plays, at least this share of the cells hold the
smallest number."""
_FEW_ROWS = 50
"""Fewest rows of a table for which it matters how often a number repeats."""
_LONGEST_MEAN_ID = 40
"""Largest mean number of characters of ids; longer texts are titles or words of people."""
_NAMES_OF_STARS: tuple[Subject, ...] = ("rating", "feedback")
"""Subjects whose names say that a column holds stars or likes."""
_MOST_KINDS = 20
"""A column with more different values than this does not hold kinds, such as kinds of events."""


@dataclass(frozen=True)
class ColumnGuess:
    """A guess of what the columns of a table hold.

    Attributes:
        table: The table.
        positions: Role to the position of its column, from 0.
        reasons: Role to what decided on its column: 'asked' (the caller), 'name' (its header) or
            'content' (its cells).
        events: Whether all rows are events, whatever columns there are.
        warnings: Sentences on what the caller should check.
        rests_on_names: Whether the caller or usual names decided on all columns, so that no cell
            did.
        guesses: What else the cells decided: keys of `PUBLIC_FACTS` in
            `tacit.recommenders.public_facts`.
    """

    table: Table
    positions: dict[Role, int]
    reasons: dict[Role, str] = field(default_factory=dict)
    events: bool = False
    warnings: tuple[str, ...] = ()
    rests_on_names: bool = True
    guesses: tuple[str, ...] = ()

    def require_roles(self, rules: Rules, needed: Sequence[Role] = ("user", "item")) -> ColumnGuess:
        """Return this guess if it has all needed columns.

        Args:
            rules: How cells are read. With a scale, stars are needed as well.
            needed: The roles that must have a column.

        Raises:
            DataError: A needed role has no column.
            ConfigError: A scale is given for events or plays.
        """
        if rules.scale is not None:
            if self.events or self.reasons.get("plays") == "asked":
                raise ConfigError(
                    "Events and plays have no stars, so a scale has no meaning for them."
                )
            needed = (*needed, "rating")
        for role in needed:
            if role not in self.positions:
                raise missing_column_error(role, self.table.headers, None, self.table.path)
        return self


class ColumnSample:
    """The first cells of a column, and what they may be.

    Attributes:
        nested: Whether cells are lists or objects.
    """

    def __init__(self, column: pl.Series) -> None:
        self.nested = column.dtype.is_nested()
        if self.nested or isinstance(column.dtype, pl.Duration):
            column = pl.Series([], dtype=pl.String)  # such cells fit no role
        self._cells = column.head(_CELLS_SEEN).drop_nulls()
        self._column = column

    @cached_property
    def _texts(self) -> pl.Series:
        """The cells as texts, without blanks around them."""
        return self._cells.cast(pl.String, strict=False).str.strip_chars()

    @cached_property
    def numbers(self) -> pl.Series:
        """The cells that are numbers; words of `ANSWERS` are 1 or 0."""
        is_numeric = self._cells.dtype.is_numeric()
        numbers = self._cells.cast(pl.Float64) if is_numeric else to_numbers(self._texts)
        return numbers.drop_nulls().drop_nans()

    @cached_property
    def is_numeric(self) -> bool:
        """Whether at least half of the cells are numbers."""
        return self._are_most(len(self.numbers))

    @cached_property
    def _all_answers(self) -> bool:
        """Whether all cells are words of `ANSWERS`, and there are some."""
        if len(self._cells) == 0:
            return False
        return bool(self._texts.str.to_lowercase().is_in([*ANSWERS]).all())

    @cached_property
    def is_opinion(self) -> bool:
        """Whether all cells are words of `OPINIONS`, which mean likes under any header."""
        return self._all_answers and bool(self._texts.str.to_lowercase().is_in(OPINIONS).all())

    @cached_property
    def is_answer(self) -> bool:
        """Whether all cells are words of `ANSWERS`, or Booleans."""
        kind = self._cells.dtype
        return kind == pl.Boolean or (kind == pl.String and self._all_answers)

    def _are_most(self, count: int) -> bool:
        """Tell whether `count` cells are at least half of the sample."""
        return len(self._cells) > 0 and count >= _MOST_OF_CELLS * len(self._cells)

    @cached_property
    def distinct(self) -> int:
        """Number of different cells of the whole column."""
        return self._column.drop_nulls().n_unique()

    @cached_property
    def is_time(self) -> bool:
        """Whether at least half of the cells are dates, or are numbers in the range of times."""
        kind = self._cells.dtype
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            return True
        if not self.is_numeric:
            return kind == pl.String and self._are_most(sum(map(is_date, self._cells.to_list())))
        sizes = self.numbers.abs()
        # Seconds, milli-, micro- and nanoseconds; YYYYMMDD, YYYYMMDDHHMM and YYYYMMDDHHMMSS.
        spans = [(OLDEST * unit, NEWEST * unit) for unit in (1, 10**3, 10**6, 10**9)]
        spans += [(_OLDEST_DATE * scale, _NEWEST_DATE * scale) for scale in (1, 10**4, 10**6)]
        return any(self._are_most(int(sizes.is_between(*span).sum())) for span in spans)

    @cached_property
    def may_be_stars(self) -> bool:
        """Whether the cells are a few different numbers on a common scale, which repeat.

        On average, each number is in the sample at least twice. Times and answers are no stars.
        """
        levels = self.numbers.n_unique()
        if levels > _MOST_STARS or 2 * levels > len(self.numbers) or not self.is_numeric:
            return False
        return not self.is_time and not self.is_answer and self.is_on_scale

    @cached_property
    def is_on_scale(self) -> bool:
        """Whether at least half of the cells are numbers, nearly all of them on a common scale."""
        if not self.is_numeric:
            return False
        _, off_scale = RatingScale.nearest(self.numbers.to_numpy())
        return off_scale <= _MOST_OFF_SCALE * len(self.numbers)

    @cached_property
    def has_counts(self) -> bool:
        """Whether the cells look like numbers of plays, and not like stars.

        Such cells are whole numbers; the smallest number is frequent, the next larger is rarer, and
        the one after it is no more frequent.
        """
        smallest = self.numbers.unique().sort().head(3).to_list()
        counts = [int((self.numbers == number).sum()) for number in smallest]
        if len(counts) < 3 or bool((self.numbers != self.numbers.round()).any()):
            return False
        is_falling = counts[0] > counts[1] >= counts[2]
        return is_falling and counts[0] >= _LEAST_SHARE_OF_SMALLEST_COUNT * len(self.numbers)

    @cached_property
    def is_feedback(self) -> bool:
        """Whether all cells are answers such as yes and no, or all numbers are 1 or 0."""
        return self.is_answer or (self.is_numeric and bool(self.numbers.is_in([0.0, 1.0]).all()))

    @cached_property
    def may_be_ids(self) -> bool:
        """Whether the cells are whole numbers or short texts, and neither times nor answers."""
        if self.is_time or self.is_answer or len(self._cells) == 0:
            return False
        if self.is_numeric:
            return bool((self.numbers == self.numbers.round()).all())
        if self._cells.dtype != pl.String:
            return False
        return float(np.mean([len(cell) for cell in self._cells])) <= _LONGEST_MEAN_ID

    def fits(self, role: Role) -> bool:
        """Tell whether the cells fit a role, for a header that is a known name but no usual one."""
        if role == "time":
            return self.is_time or (self.is_numeric and may_be_spreadsheet_days(self.numbers))
        return role not in ("rating", "plays") or self.is_numeric or self.is_answer


class _ColumnSearch:
    """The search for the columns of a table, with the roles that have a column so far, and why.

    Args:
        table: The table.
        column_names: The roles to find, each with the column that the caller named, or None.
        events: Whether every row is an event, whatever columns there are.
    """

    def __init__(self, table: Table, column_names: ColumnNames, *, events: bool) -> None:
        self.table = table
        self.column_names = column_names
        self.events = events
        self.headers = table.headers
        self.samples = [ColumnSample(column) for column in table.frame.get_columns()]
        self.positions: dict[Role, int] = {}
        self.reasons: dict[Role, str] = {}
        self.warnings: list[str] = []

    def assign(self, role: Role, position: int | None, reason: str) -> None:
        """Assign a column to a role that is sought, if both are still free.

        Args:
            role: The role.
            position: Position of the column; None: nothing is assigned.
            reason: What decided on it: 'asked', 'name' or 'content'.
        """
        if position is None or role not in self.column_names or role in self.positions:
            return
        if position not in self.positions.values():
            self.positions[role] = position
            self.reasons[role] = reason

    @property
    def free_positions(self) -> list[int]:
        """Positions of columns that have no role so far."""
        return [
            position
            for position in range(len(self.headers))
            if position not in self.positions.values()
        ]

    def lacks(self, role: Role) -> bool:
        """Tell whether a role that is sought has no column so far."""
        return role in self.column_names and role not in self.positions

    def assign_named_columns(self) -> None:
        """Assign the columns that the caller named.

        Raises:
            DataError: There is no such column, or it is named for two roles.
        """
        for role, name in self.column_names.items():
            if name is None:
                continue
            position = require_column(role, self.headers, name, self.table.path)
            if position in self.positions.values():
                raise DataError(
                    "one column cannot be two things",
                    path=self.table.path,
                    column=name,
                    fix="Name another column.",
                )
            self.assign(role, position, "asked")

    def assign_by_name(self) -> None:
        """Assign columns by their names.

        Usual names come first, then other known names if the cells fit. People and items are also
        found by compounds such as `customer_key`, if only one column has such a name. Stars are
        also found by names such as `clicked`, if the cells are 0 and 1.
        """
        for role in self.column_names:
            self.assign(role, find_column(role, self.headers, None), "name")
        if not self.table.has_header:
            return
        normalized = [normalize_header(header) for header in self.headers]
        for role in self.column_names:
            if role in self.positions:
                continue
            for name in known_names(role):
                for position, header in enumerate(normalized):
                    if header == name and self.samples[position].fits(role):
                        self.assign(role, position, "name")
        pair: tuple[Role, ...] = ("user", "item")
        for role in pair:
            compounds = [
                position
                for position in self.free_positions
                if is_compound_of(role, self.headers[position])
                and not is_no_candidate(self.headers[position])
            ]
            if len(compounds) == 1:
                self.assign(role, compounds[0], "name")
        if not self.events and self.lacks("rating") and self.column_names.get("plays") is None:
            self._assign_feedback()

    def _assign_feedback(self) -> None:
        """Assign the role of ratings to a column such as `clicked`, which holds 0 and 1.

        Raises:
            DataError: There are several such columns.
        """
        feedback_positions = [
            position
            for position in self.free_positions
            if is_named("feedback", self.headers[position]) and self.samples[position].is_feedback
        ]
        if len(feedback_positions) > 1:
            names = [self.headers[position] for position in feedback_positions]
            raise DataError(
                "several columns may say what was liked",
                path=self.table.path,
                column=", ".join(names),
                fix=f"Say which: --rating {names[0]}, or --events if every row is one "
                "(from Python: rating=..., events=True).",
            )
        if feedback_positions:
            self.assign("rating", feedback_positions[0], "name")

    def assign_by_content(self) -> None:
        """Assign columns by their cells: times, and answers such as like and dislike.

        In a table without a header, also people, items and stars.
        """
        if "time" in self.column_names:
            times = [
                position
                for position in self.free_positions
                if self.samples[position].is_time and not is_named("other", self.headers[position])
            ]
            self.assign("time", times[0] if times else None, "content")
        answers = [position for position in self.free_positions if self.samples[position].is_answer]
        if self.table.has_header:  # under another name, only words such as `like` are likes
            answers = [position for position in answers if self.samples[position].is_opinion]
        if len(answers) == 1 and not self.events and "plays" not in self.positions:
            self.assign("rating", answers[0], "content")
        if not self.table.has_header:
            self._assign_by_order()

    def _assign_by_order(self) -> None:
        """Assign people, items and stars of a table without a header by their usual order.

        Of the columns without a role, those of times are passed over. If two or three others are
        left, the first two are people and items: both must look like ids, and the third one, if
        there is one, must be numeric. If only people or only items lack a column, they get the one
        column that may be ids, and nothing if there are several. If people and items are the first
        two columns, the third one holds stars if its cells look like stars.
        """
        no_times = [
            position for position in self.free_positions if not self.samples[position].is_time
        ]
        ids = [position for position in no_times if self.samples[position].may_be_ids]
        if self.lacks("user") and self.lacks("item"):
            begins_with_ids = no_times[:2] == ids[:2] and len(no_times) in (2, 3)
            third_may_be_stars = len(no_times) < 3 or self.samples[no_times[2]].is_numeric
            if begins_with_ids and third_may_be_stars:
                self.assign("user", ids[0], "content")
                self.assign("item", ids[1], "content")
        elif self.lacks("user") or self.lacks("item"):
            role: Role = "user" if self.lacks("user") else "item"
            if len(ids) == 1:
                self.assign(role, ids[0], "content")
        in_first_columns = {self.positions.get("user"), self.positions.get("item")} == {0, 1}
        if in_first_columns and 2 in self.free_positions and not self.events:
            third = self.samples[2]
            if len(self.table.frame) < _FEW_ROWS:
                is_rating = third.is_on_scale and not third.is_time
            else:
                has_levels = third.numbers.n_unique() >= _FEWEST_STARS
                is_rating = third.may_be_stars and has_levels and not third.has_counts
            if is_rating:
                self.assign("rating", 2, "content")

    def refuse_doubt_about_people(self) -> None:
        """Raise DataError if it is not clear which of two columns of ids holds the people."""
        if self.table.has_header or self.reasons.get("user") != "content":
            return
        user, item = self.positions.get("user"), self.positions.get("item")
        if user is None or item is None or self.reasons.get("item") != "content":
            return
        people = self.samples[user].distinct
        items = self.samples[item].distinct
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
        """Raise DataError if it is not clear whether a column holds stars, plays or neither."""
        if self._has_feedback() or "rating" not in self.column_names:
            return
        ids_were_named = self.reasons.get("user") == self.reasons.get("item") == "asked"
        doubtful = []
        for position in self.free_positions:
            sample = self.samples[position]
            if self.table.has_header:
                may_be_feedback = sample.may_be_stars or sample.is_answer
                is_unclear = may_be_feedback and not self._says_otherwise(position)
            else:
                is_number = sample.is_numeric and not sample.is_time
                is_id_by_order = position < 2 and sample.may_be_ids
                may_be_feedback = sample.may_be_stars or (not ids_were_named and is_number)
                is_unclear = may_be_feedback and not is_id_by_order
            if is_unclear:
                doubtful.append(self.headers[position])
        if len(doubtful) >= FEWEST_WIDE_COLUMNS:
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

    def _has_feedback(self) -> bool:
        """Tell whether rows have stars or plays, or are known to be events."""
        return self.events or "rating" in self.positions or "plays" in self.positions

    def refuse_words_for_stars(self) -> None:
        """Raise DataError for a column with a name of stars or likes that holds a few words."""
        if self._has_feedback() or "rating" not in self.column_names or not self.table.has_header:
            return
        for position in self.free_positions:
            column = self.table.frame[:, position].drop_nulls()
            name = self.headers[position]
            names_stars = any(is_named(subject, name) for subject in _NAMES_OF_STARS)
            if not names_stars or column.dtype != pl.String or self.samples[position].is_numeric:
                continue
            is_filled = len(column) >= _MOST_OF_CELLS * len(self.table.frame)
            if is_filled and column.n_unique() <= _MOST_KINDS:
                raise DataError(
                    "a column has the name of stars or likes, but holds words",
                    path=self.table.path,
                    column=name,
                    fix="Write them as numbers first, or say that every row is an event with "
                    f"--events; --where '{name}=VALUE' keeps some rows.",
                )

    def _says_otherwise(self, position: int) -> bool:
        """Tell whether the header of a column says that it holds no stars and no plays."""
        header = self.headers[position]
        subjects: tuple[Subject, ...] = ("user", "item", "time")
        names_subject = any(is_compound_of(subject, header) for subject in subjects)
        return names_subject or is_no_candidate(header)

    def refuse_nested(self) -> None:
        """Raise DataError if people or items lack a column, and some cells are lists or objects."""
        nested = [position for position, sample in enumerate(self.samples) if sample.nested]
        if nested and (self.lacks("user") or self.lacks("item")):
            raise layout_error(
                "baskets",
                "a cell holds a list or nested values",
                path=self.table.path,
                column=self.headers[nested[0]],
                expected="one row for each rating or event, and one plain value in each cell",
            )

    def warn_of_kinds_of_events(self) -> None:
        """Warn of a column such as `event` with several values, some of which may be no likes."""
        if "rating" in self.positions or not self.table.has_header:
            return
        for position in self.free_positions:
            column = self.table.frame[:, position]
            if not is_named("event", self.headers[position]) or column.dtype != pl.String:
                continue
            counts = column.drop_nulls().value_counts(sort=True)
            if 1 < len(counts) <= _MOST_KINDS:
                shown = ", ".join(f"{value} ({rows:,})" for value, rows in counts.iter_rows())
                name = self.headers[position]
                self.warnings.append(
                    f"Every row counts, whatever its {name}: {shown}. Keep some with  "
                    f"--where '{name}=VALUE'."
                )

    def warn_of_columns_with_few_values(self) -> None:
        """Warn of columns without a role whose few values may mean like and dislike."""
        if "rating" in self.positions or not self.table.has_header:
            return
        names = []
        for position in self.free_positions:
            column = self.table.frame[:, position]
            is_ruled_out = is_no_candidate(self.headers[position]) or self.samples[position].nested
            if is_ruled_out or column.dtype != pl.String or self.samples[position].is_time:
                continue
            if column.head(_CELLS_SEEN).n_unique() > _MOST_KINDS:
                continue  # the whole column is counted only if its first cells have few values
            if 1 < self.samples[position].distinct <= _MOST_KINDS < len(column):
                names.append(self.headers[position])
        if names:
            self.warnings.append(
                f"Not read, though a few values come again and again: {', '.join(names)}. If some "
                "of these values mean that an item was not liked, keep only rows with another "
                f"value:  --where '{names[0]}=VALUE'."
            )

    def warn_of_unread_times(self) -> None:
        """Warn of the first column with a name of times whose cells cannot be read as times."""
        if not self.lacks("time") or not self.table.has_header:
            return
        for position in self.free_positions:
            name = self.headers[position]
            if is_named("time", name) and not is_no_candidate(name):
                self.warnings.append(
                    f"The times in column {name} cannot be read: they were left out."
                )
                return

    def result(self) -> ColumnGuess:
        """Return the columns that were found.

        If there are stars and numbers of plays, only one of them is returned: the stars, unless the
        caller named the column of plays. If all rows are events, neither is returned, unless the
        caller named the column of plays.
        """
        plays_were_named = self.column_names.get("plays") is not None
        if self.events or plays_were_named:
            self.positions.pop("rating", None)
        if not plays_were_named and (self.events or "rating" in self.positions):
            self.positions.pop("plays", None)
        positions = {
            role: self.positions[role] for role in self.column_names if role in self.positions
        }
        reasons = {role: self.reasons[role] for role in positions}
        warnings = tuple(self.warnings)
        return ColumnGuess(
            self.table, positions, reasons, self.events, warnings, self._rests_on_names(positions)
        )

    def _rests_on_names(self, positions: Mapping[Role, int]) -> bool:
        """Tell whether the caller or usual names decided on all columns, so that no cell did.

        Then each assigned column was named by the caller or has a usual name, and no cell could
        have assigned another one: stars and times are found, or each column has a role.
        """
        for role, position in positions.items():
            if self.reasons[role] != "asked" and find_column(role, self.headers, None) != position:
                return False
        has_stars = self.events or "rating" in positions or "plays" in positions
        has_times = "time" in positions or "time" not in self.column_names
        return (has_stars and has_times) or len(positions) == len(self.headers)


def guess_columns(
    table: Table, column_names: ColumnNames, *, events: bool = False, contents: bool = True
) -> ColumnGuess:
    """Find the columns of a table.

    Args:
        table: The table.
        column_names: The roles to find, each with the column that the caller named, or None.
        events: Whether every row is an event, whatever columns there are.
        contents: Whether cells decide where names do not. If the cells leave it in doubt, that is
            an error.

    Returns:
        The columns that were found; a role without a column is left out.

    Raises:
        DataError: A column that the caller named is missing, or it is not clear what a column is.
    """
    search = _ColumnSearch(table, column_names, events=events)
    search.assign_named_columns()
    search.assign_by_name()
    if contents:
        search.assign_by_content()
        search.refuse_nested()
        search.refuse_words_for_stars()
        search.refuse_doubt_about_stars()
        search.refuse_doubt_about_people()
        search.warn_of_kinds_of_events()
        search.warn_of_columns_with_few_values()
        search.warn_of_unread_times()
    return search.result()
