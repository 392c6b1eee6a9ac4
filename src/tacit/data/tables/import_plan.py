"""Import of files of many forms: a plan says what each file holds, and is then carried out.

Ratings    tables with people and items; several tables are read as one
Items      tables with items and no people, or the file `items`: titles and other metadata
Users      tables with people and no items, or the file `users`: attributes of people
Folders    MovieLens in three layouts; RecBole (NAME.inter, .item, .user); LensKit (schema.json); or
           a folder of tables
Catalogue  the file `catalogue` does not come from the ratings, so its items are public. Items that
           are found in the ratings are not, unless the caller says that they are.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from tacit.data.columns import EVENTS
from tacit.data.domains import DOMAIN, on_catalogue
from tacit.data.movielens import is_movielens, read_movielens_folder
from tacit.data.ratings import Ratings
from tacit.data.tables.cells import NO_EVENT, OnBad, Rules
from tacit.data.tables.column_guess import ColumnGuess, ColumnNames, ColumnSample, guess_columns
from tacit.data.tables.degenerate import FEW, refuse_unlearnable_ratings
from tacit.data.tables.folder import is_folder
from tacit.data.tables.forms import Layout
from tacit.data.tables.joins import find_table_of_people, join_people_to_items
from tacit.data.tables.layouts import guess_rating_columns
from tacit.data.tables.names import Role, known_names, normalize_header
from tacit.data.tables.ratings_tables import (
    REPEATS,
    SUMMED,
    TableReading,
    make_ratings,
    read_in_format,
    with_row_texts,
)
from tacit.data.tables.sources import make_frame, open_table
from tacit.data.tables.table import Table, find_column, missing_column_error
from tacit.data.tables.text import EMPTY
from tacit.data.tables.times import are_plausible_times, find_time_form, to_seconds
from tacit.data.tables.where import has_columns_of, keep_rows, names_in
from tacit.data.tables.written_format import WrittenFormat
from tacit.data.tabular import read_catalogue, with_items, with_users
from tacit.errors import ConfigError, DataError

_MOST_BAD = 0.5
"""Largest share of bad rows that are dropped if the caller did not say what to do about them."""
_LEAST_MATCH = 0.5
"""Share of ids that decides what a table without known names holds: people, if its first column has
this share of the rated people; items, if it has this share of the rated items. A table of people
connects people with people if more than this share of its second column are rated people, too."""
_PAIR: tuple[Role, ...] = ("user", "item")
"""The two roles that a rating needs."""
_MANY_REPEATS = 0.7
"""A warning is given if more than this share of the rows repeat an item of a person."""
_FEWEST_ABOVE = 0.01
"""A warning is given if less than this share of the ratings lie in the upper half of the scale."""
_MANY_EVENTS = 5_000
"""A warning is given if a person has more than this number of ratings."""
_MOST_WITHOUT_TIME = 0.2
"""Largest share of rows without a time at which such rows are dropped. With a larger share, the
rows stay, and the column of times is not read."""
_LARGE_SHARE = 0.05
_TIMES_THE_MEAN = 4
"""A warning is given if one person has more than `_LARGE_SHARE` of all ratings, and more than
`_TIMES_THE_MEAN` times as many as people have on average."""
_CELLS_SEEN = 20_000
"""About how many cells, spread over a column of times, are read to judge the column."""
_NEITHER_STARS_NOR_PLAYS = (
    "it has people and items, but neither stars nor plays as the other file has"
)
"""Reason to leave out a table of people and items if another one has stars or plays."""
_LETTERS_OF_NAME = 4
"""Fewest letters of a known name of people or items, such as kunde, that says what a file such as
kunden.csv holds."""
_MOST_TABLES = 50
"""Largest number of tables in a folder that is imported."""
_PACKED = r"(\.(gz|zst|xz|bz2|zip))?$"
"""The pattern of the ending of a compressed file, if there is one, and of the end of the name."""
_NAME_OF_TABLE = re.compile(
    r"(?i)\.(csv|tsv|tab|psv|dat|data|txt|json|jsonl|ndjson|parquet|pq|arrow|feather|db|sqlite3?)"
    + _PACKED
)
"""The pattern of names of files that may be tables."""
_NAME_OF_ANY_TEXT = re.compile(r"(?i)\.(txt|json|dat|data|db)" + _PACKED)
"""The pattern of names of files that may also hold something else, and are left out if they do."""
_NAME_OF_PROSE = re.compile(r"(?i)(readme|licen[cs]e|notice|about|citation)\b")
"""The pattern of the beginning of names of files that describe a data set and hold no table."""


@dataclass
class Plan:
    """The plan of an import: the tables found in the files, and what each holds.

    The ratings come from the tables `ratings`, from a MovieLens folder, or from a file in a written
    format.
    """

    ratings: list[ColumnGuess] = field(default_factory=list)
    """The tables of ratings, and what their columns are; empty if the ratings come from
    elsewhere."""
    items: list[Table] = field(default_factory=list)
    """Tables of item metadata."""
    users: list[Table] = field(default_factory=list)
    """Tables of user attributes."""
    left_out: dict[object, str] = field(default_factory=dict)
    """Path of each table or file that is not read, to the reason why."""
    notes: tuple[str, ...] = ()
    """Sentences that say which tables were joined."""
    movielens: Path | None = None
    """The MovieLens folder of the ratings; None if they come from elsewhere."""
    written: tuple[Path, WrittenFormat] | None = None
    """The file of the ratings and its written format; None if they come from elsewhere."""

    @property
    def path(self) -> object:
        """The file or folder of the ratings; of several tables, the first."""
        if self.written is not None:
            return self.written[0]
        return self.movielens or self.ratings[0].table.path

    @property
    def warnings(self) -> list[str]:
        """Sentences on what the caller should check: joins, guesses, files that are left out."""
        sentences = [*self.notes]
        for columns in self.ratings:
            sentences += columns.warnings
        sentences += [f"{path} was left out: {reason}." for path, reason in self.left_out.items()]
        return sentences


def plan_import(
    files: Sequence[Path],
    column_names: ColumnNames,
    *,
    events: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    table: str | None = None,
    where: Sequence[str] = (),
    layout: Layout | None = None,
) -> Plan:
    """Open the files and find what each holds; no ratings are made yet.

    Args:
        files: Tables and folders, at least one.
        column_names: The roles to find, each with the column that the caller named, or None.
        events: Whether every row is an event.
        delimiter: Text between the cells of a text file; None: found in the file.
        encoding: Encoding of a text file; None: found in the file.
        header: Whether a text file names its columns; None: found in the file.
        table: Name of the table in a database; None: the only one, or the only one with people and
            items.
        where: Conditions on the rows, as in `where.keep_rows`. The tables that have all columns of
            the conditions are filtered; each table of ratings must be one of them, or be joined
            from one of them.
        layout: Layout of the first table if it has several ratings in a row; None: one rating a
            row, unless only another layout is possible.

    Raises:
        DataError: A file or a column is missing, no row fulfils the conditions, or it is not clear
            what a file holds.
        ConfigError: A MovieLens folder is imported with other files, names of columns or
            conditions; or a condition is not written as one.
    """
    tables: list[Table] = []
    unnamed: list[Table] = []  # tables of a folder, which the caller did not name
    no_tables: dict[object, str] = {}  # path of each file that is no table, to the reason
    for path in files:
        if not path.exists():
            raise DataError("no such file or folder", path=path, fix="Check the path.")
        if path.is_dir() and is_movielens(path):
            if len(files) > 1 or any(column_names.values()) or where:
                raise ConfigError(
                    f"{path}: import a MovieLens folder alone, without columns and --where."
                )
            return Plan(movielens=path)
        if path.is_dir() and not _is_plain_folder(path):
            tables += _open_research_folder(path)
        elif path.is_dir():
            opened_tables, other_files = _open_plain_folder(path, delimiter, encoding, header)
            tables += opened_tables
            unnamed += opened_tables
            no_tables |= other_files
        else:
            names = [*column_names.values()]
            tables.append(
                open_table(
                    path,
                    delimiter=delimiter,
                    encoding=encoding,
                    header=header,
                    table=table,
                    column_names=names,
                    layout=layout,
                )
            )
    if where:
        filtered_tables = _keep_rows_of_tables(tables, where)
        pairs = list(zip(tables, filtered_tables, strict=True))
        unnamed = [filtered for table, filtered in pairs if table in unnamed]
        tables = filtered_tables
    plan = _classify_tables(tables, column_names, events=events, layout=layout, unnamed=unnamed)
    plan.left_out |= no_tables
    if where:
        filtered_paths = [table.path for table in tables if table.where]
        _check_ratings_are_filtered(plan, filtered_paths, where)
    # A column that the caller named must be in one of the tables of ratings.
    for role, name in column_names.items():
        is_absent = all(
            find_column(role, columns.table.headers, name) is None for columns in plan.ratings
        )
        if name and role != "domain" and is_absent:
            headers = itertools.chain.from_iterable(opened_table.headers for opened_table in tables)
            raise missing_column_error(role, list(headers), name, files[0])
    return plan


def _keep_rows_of_tables(tables: Sequence[Table], where: Sequence[str]) -> list[Table]:
    """Filter the tables that have all columns of some conditions; the others stay as they are.

    Args:
        tables: The tables.
        where: Conditions on rows, at least one.

    Raises:
        DataError: No table has all columns, or a table has no row that fulfils the conditions.
        ConfigError: A condition is not written as one.
    """
    are_filtered = [has_columns_of(table, where) for table in tables]
    if not any(are_filtered):
        if len(tables) == 1:
            keep_rows(tables[0], where)  # raises the error for the first missing column
        headers = itertools.chain.from_iterable(table.headers for table in tables)
        fix = "Check the names of the columns in --where."
        if set(names_in(where)) <= set(headers):
            fix = "Join the tables first."
        raise DataError(
            "no table has the columns of all conditions",
            found="; ".join(where),
            expected="conditions on columns of one table",
            fix=fix,
        )
    return [
        keep_rows(table, where) if is_filtered else table
        for table, is_filtered in zip(tables, are_filtered, strict=True)
    ]


def _check_ratings_are_filtered(
    plan: Plan, filtered_paths: Sequence[object], where: Sequence[str]
) -> None:
    """Check that the conditions were applied to every table of ratings.

    Args:
        plan: The plan.
        filtered_paths: Paths of the tables that were filtered.
        where: The conditions.

    Raises:
        DataError: A table of ratings lacks a column of the conditions, so that all its rows would
            be kept.
    """
    for columns in plan.ratings:
        table = columns.table
        if table.path not in filtered_paths and not table.where:
            missing = [name for name in names_in(where) if name not in table.headers]
            raise DataError(
                "these ratings lack a column of the conditions",
                path=table.path,
                found=f"no column {', '.join(missing)}",
                fix="Import this file by itself, or add the column to it.",
            )


def plan_written(files: Sequence[Path], written: WrittenFormat) -> Plan:
    """Plan to read the first file in a written format; further files hold items or people.

    Raises:
        DataError: A further file cannot be read, or its names do not say which of the two it holds.
    """
    plan = Plan(written=(files[0], written))
    for path in files[1:]:
        table = open_table(path)
        roles = _find_roles(table, {"user": None, "item": None})
        if len(roles) > 1:  # such as an item's author: a usual name decides
            roles = {role for role in roles if find_column(role, table.headers, None) is not None}
        if len(roles) != 1:
            raise DataError(
                "the headers do not say whether this table holds people or items",
                path=path,
                found=", ".join(table.headers),
                expected="one well-known header of ids, such as user_id or item_id",
                fix="Name the file with --items or --users.",
            )
        tables = plan.users if "user" in roles else plan.items
        tables.append(table)
    return plan


def _classify_tables(
    tables: Sequence[Table],
    column_names: ColumnNames,
    *,
    events: bool,
    layout: Layout | None,
    unnamed: Sequence[Table] = (),
    notes: tuple[str, ...] = (),
) -> Plan:
    """Find which tables hold the ratings, and whether each other table holds people or items.

    Args:
        tables: Tables in the order in which they were named.
        column_names: The roles to find, each with the column that the caller named, or None.
        events: Whether every row is an event.
        layout: Layout of the first table if it has several ratings in a row; None: one rating a
            row, unless only another layout is possible.
        unnamed: Tables that the caller did not name. If it is not clear whether one holds people or
            items, it is left out, with the reason; for the other tables, that is an error.
        notes: Sentences that say which tables were joined.

    Raises:
        DataError: It is not clear what a table that the caller named holds, or what its columns
            are.
    """
    if len(tables) == 1:
        columns = guess_rating_columns(tables[0], column_names, events=events, layout=layout)
        return Plan(ratings=[columns], notes=notes)
    if layout is not None:
        columns = guess_rating_columns(tables[0], column_names, events=events, layout=layout)
        plan = Plan(ratings=[columns])
        for table in tables[1:]:
            _add_other_table(table, _find_roles(table, column_names), plan)
        return plan
    roles_of_tables = [_find_roles(table, column_names) for table in tables]
    rating_tables = [
        table
        for table, roles in zip(tables, roles_of_tables, strict=True)
        if {"user", "item"} <= roles
    ]
    joined = None if rating_tables else join_people_to_items(tables, roles_of_tables)
    if joined is not None:
        return _classify_tables(
            joined.tables,
            column_names,
            events=events,
            layout=None,
            unnamed=unnamed,
            notes=joined.notes,
        )
    if not rating_tables:
        rating_tables = [max(tables, key=lambda table: len(table.frame))]
    guesses = [
        guess_rating_columns(table, _names_in_table(table, column_names), events=events)
        for table in rating_tables
    ]
    with_feedback = [columns for columns in guesses if {"rating", "plays"} & set(columns.positions)]
    if not events and with_feedback and any(not guess.rests_on_names for guess in guesses):
        # Cells may have decided which of the tables are read.
        with_feedback = [replace(columns, rests_on_names=False) for columns in with_feedback]
    plan = Plan(ratings=guesses if events or not with_feedback else with_feedback, notes=notes)
    read_tables = [columns.table for columns in plan.ratings]
    for columns in guesses:
        if columns.table not in read_tables:
            plan.left_out[columns.table.path] = _NEITHER_STARS_NOR_PLAYS
    for table, roles in zip(tables, roles_of_tables, strict=True):
        if table in rating_tables:
            continue
        try:
            _add_other_table(table, roles, plan, is_named=table not in unnamed)
        except DataError as error:
            if table not in unnamed:
                raise
            plan.left_out[table.path] = error.what
    return plan


def _find_roles(table: Table, column_names: ColumnNames) -> set[Role]:
    """Return the roles that have a column in a table, by the caller or by known names."""
    names = _names_in_table(table, column_names)
    return set(guess_columns(table, names, contents=False).positions)


def _add_other_table(table: Table, roles: set[Role], plan: Plan, *, is_named: bool = True) -> None:
    """Add a table that holds no ratings to the plan, as one of people or one of items.

    Args:
        table: The table.
        roles: The roles of its columns, by the caller or by known names.
        plan: The plan, which has tables of ratings already. The table is added to it.
        is_named: Whether the caller named the table.

    Raises:
        DataError: It is not clear whether it holds people or items; or the caller did not name it,
            and it has several rows of a person or item, or no column beside the id.
    """
    if "user" in roles and table.has_header:
        role: Role = "user"
    elif "item" in roles and table.has_header:
        role = "item"
    else:
        role = _find_role_by_ids(table, plan)
        plan.ratings = [replace(columns, rests_on_names=False) for columns in plan.ratings]
        table = _name_title_column(table) if role == "item" else table
    if not is_named:
        positions = guess_columns(table, {role: None}, contents=False).positions
        ids = table.frame[:, positions.get(role, 0)].drop_nulls()
        if ids.n_unique() < len(ids):
            raise DataError(f"it has several rows of one {role}", path=table.path)
        if len(table.headers) < 2:
            raise DataError("it has no column beside the id", path=table.path)
    tables = plan.users if role == "user" else plan.items
    tables.append(table)


def _names_in_table(table: Table, column_names: ColumnNames) -> ColumnNames:
    """Return the column that the caller named for each role; None where this table lacks it."""
    return {
        role: name if find_column(role, table.headers, name) is not None else None
        for role, name in column_names.items()
    }


def _find_role_by_ids(table: Table, plan: Plan) -> Role:
    """Find whether a table without known names holds people or items, by the ids of the ratings.

    The ids in its first column are compared with those of the first table of ratings. If they are
    ids of people and of items, the name of the file decides.

    Raises:
        DataError: The ids are those of neither; or of both, and the name of the file does not
            decide; or the table connects people with people.
    """
    columns = plan.ratings[0]
    rated_ids = {role: _ids_in(columns.table, columns.positions.get(role)) for role in _PAIR}
    first_ids = _ids_in(table, 0)
    second_ids = _ids_in(table, 1 if len(table.headers) > 1 else None)
    # Share of the rated people, and of the rated items, whose ids are in the first column.
    shares = {
        role: len(first_ids & rated_ids[role]) / max(1, len(rated_ids[role])) for role in _PAIR
    }
    second_column_is_people = len(second_ids & rated_ids["user"]) > _LEAST_MATCH * len(second_ids)
    if shares["user"] > _LEAST_MATCH and second_column_is_people:
        raise DataError(
            "this table connects people with people",
            path=table.path,
            fix="Leave it out: it holds neither ratings nor attributes of people.",
        )
    role = max(shares, key=shares.__getitem__)
    if min(shares.values()) > _LEAST_MATCH:
        role = _find_role_by_file_name(table)
    if shares[role] < _LEAST_MATCH:
        raise DataError(
            "this table fits neither the people nor the items of the ratings",
            path=table.path,
            expected="ids of items or of people in its first column",
            fix="Leave it out, or name it with --items or --users.",
        )
    return role


def _find_role_by_file_name(table: Table) -> Role:
    """Find by the name of a file, such as kunden.csv, whether it holds people or items.

    Raises:
        DataError: The name says neither.
    """
    stem = normalize_header(Path(str(table.path)).name.partition(".")[0])
    for role in _PAIR:
        names = [name for name in known_names(role) if len(name) >= _LETTERS_OF_NAME]
        if any(stem.startswith(name) for name in names):
            return role
    raise DataError(
        "the ids of this table are those of people and of items",
        path=table.path,
        fix="Say which they are with --items or --users, or name its column of ids.",
    )


def _ids_in(table: Table, position: int | None) -> set[str]:
    """Return the different cells of a column as texts; an empty set without a column."""
    if position is None:
        return set()
    return set(table.frame[:, position].drop_nulls().cast(pl.String).to_list())


def _name_title_column(table: Table) -> Table:
    """Name the second column of a table of items `title` if it is text and has no header."""
    if table.has_header or len(table.headers) < 2 or ColumnSample(table.frame[:, 1]).is_numeric:
        return table
    return replace(table, frame=table.frame.rename({table.headers[1]: "title"}))


def _is_plain_folder(path: Path) -> bool:
    """Tell whether a folder was written by none of tacit, RecBole and LensKit."""
    has_schema = (path / "schema.json").is_file()
    return not has_schema and not is_folder(path) and not any(path.glob("*.inter"))


def _open_plain_folder(
    path: Path, delimiter: str | None, encoding: str | None, header: bool | None
) -> tuple[list[Table], dict[object, str]]:
    """Open the tables of a folder of files, such as customers.csv, products.csv and orders.csv.

    Args:
        path: The folder.
        delimiter: Text between the cells of text files; None: found in each file.
        encoding: Encoding of text files; None: found in each file.
        header: Whether text files name their columns; None: found in each file.

    Returns:
        The tables; and the path of each other file to the reason why it is no table.

    Raises:
        DataError: There is no table or there are too many, or a file whose name says that it is a
            table cannot be read as one and is not empty.
    """
    files = [file for file in sorted(path.iterdir()) if file.name[0] not in "._"]
    tables: list[Table] = []
    no_tables: dict[object, str] = {}
    for file in files:
        if file.is_dir():
            no_tables[file] = "it is a folder"
        elif not _NAME_OF_TABLE.search(file.name) or _NAME_OF_PROSE.match(file.name):
            no_tables[file] = "its name is not that of a table"
        elif len(tables) == _MOST_TABLES:
            raise DataError(
                f"this folder has more than {_MOST_TABLES} tables",
                path=path,
                fix="Name the files of ratings, items and people instead.",
            )
        else:
            try:
                table = open_table(file, delimiter=delimiter, encoding=encoding, header=header)
            except DataError as error:
                if error.what != EMPTY and not _NAME_OF_ANY_TEXT.search(file.name):
                    raise
                no_tables[file] = error.what
            else:
                tables.append(table)
    if not tables:
        subfolders = [file.name for file in files if file.is_dir()]
        raise DataError(
            "this folder holds no table",
            path=path,
            found=f"folders {', '.join(subfolders)}" if subfolders else None,
            expected="tables (CSV, JSON lines, Parquet and so on), or a folder of MovieLens, "
            "RecBole (NAME.inter) or LensKit (schema.json)",
            fix="Name its files instead, or a folder inside.",
        )
    return tables, no_tables


def _open_research_folder(path: Path) -> list[Table]:
    """Open the tables of a RecBole or LensKit folder.

    Raises:
        DataError: `tacit data import` wrote the folder, or a table cannot be read.
    """
    if (path / "schema.json").is_file():
        return _open_lenskit_folder(path)
    if is_folder(path):
        raise DataError(
            "this folder was imported already", path=path, fix="Every command takes it."
        )
    files = sorted(file for file in path.iterdir() if file.suffix in (".inter", ".item", ".user"))
    return [open_table(file, delimiter="\t", header=True) for file in files]


def _open_lenskit_folder(path: Path) -> list[Table]:
    """Open the tables of a LensKit folder.

    Its table of ratings holds numbers of people and items: rows, from 0, of the tables user and
    item. The numbers are replaced by the ids in these rows.

    Returns:
        The table of ratings, and then the tables of people and of items, unless they hold ids
        alone.

    Raises:
        DataError: A table or an id is missing, or the description is not that of a LensKit folder.
    """
    entities = {role: open_table(path / f"{role}.parquet") for role in ("user", "item")}
    try:
        relations = json.loads((path / "schema.json").read_text("utf-8"))["relationships"]
        names = [key for key, entry in relations.items() if {*entities} <= {*entry["entities"]}]
        relation = open_table(path / f"{names[0]}.parquet")
        columns = {column: relation.frame[column] for column in relation.headers}
        for role, entity in entities.items():
            if f"{role}_num" in columns:
                ids = entity.frame[f"{role}_id"]
                columns[f"{role}_id"] = ids.gather(columns.pop(f"{role}_num"))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        pl.exceptions.PolarsError,
    ):
        raise DataError("the LensKit folder has no table of users and items", path=path) from None
    ratings = Table(relation.path, make_frame(columns), guesses=relation.guesses)
    with_attributes = [entity for entity in entities.values() if len(entity.headers) > 1]
    return [ratings, *with_attributes]


def carry_out_plan(
    plan: Plan,
    rules: Rules,
    *,
    on_bad: OnBad | None = None,
    events: bool = False,
    users: Path | None = None,
    items: Path | None = None,
    catalogue: Path | None = None,
    public_items: bool = False,
    items_from_ratings: bool = False,
    domain: str | None = None,
    encoding: str | None = None,
) -> TableReading:
    """Read the ratings of a plan, the attributes of people and the metadata of items.

    Args:
        plan: What to read. Columns of times that cannot be read lose their role in it.
        rules: How cells are read. For a MovieLens folder or a file in a written format, only their
            `on_bad` is used.
        on_bad: What the caller said to do about bad rows. If None, the caller said nothing, and it
            is an error if the rules would drop more than half of the rows.
        events: Whether every rating is an event.
        users: File of user attributes, in place of the plan's.
        items: File of item metadata, in place of the plan's.
        catalogue: File of a public list of items; ratings of other items are dropped. None: there
            is none.
        public_items: Whether it is public which items were rated.
        items_from_ratings: Whether titles in columns beside the ratings are public.
        domain: Header of the domain in the catalogue and the files of items; None: 'domain'.
        encoding: Encoding of the files of users and items; None: found in each file.

    Returns:
        The ratings with all attributes and metadata, and counts of the dropped rows.

    Raises:
        DataError: A needed column is missing, or the rows cannot be read or used.
        ConfigError: A scale is given for events, plays or a MovieLens folder.
    """
    for columns in plan.ratings:
        _require_roles(columns, rules)
    plan.ratings = [_leave_out_unreadable_times(columns, rules) for columns in plan.ratings]
    if plan.written is not None:
        reading = read_in_format(*plan.written, rules.on_bad)
    elif plan.movielens is not None:
        if rules.scale is not None:
            raise ConfigError("A MovieLens folder has a scale of its own: leave --scale out.")
        reading = read_movielens_folder(plan.movielens, rules.on_bad)
    else:
        reading = make_ratings(plan.ratings, rules)
        with_texts = with_row_texts(reading.ratings, plan.ratings)
        reading = replace(reading, ratings=with_texts)
    ratings = reading.ratings
    dropped = dict(reading.dropped)
    ratings = ratings.as_events() if events else ratings
    bad = sum(rows for rule, rows in dropped.items() if rule not in (REPEATS, SUMMED, NO_EVENT))
    # In a written format, no row may decide whether others are read, so the ratings are not judged.
    is_guessed = plan.written is None
    if is_guessed and on_bad is None and bad > _MOST_BAD * reading.read:
        raise DataError(
            f"{bad:,} of {reading.read:,} rows would be dropped",
            path=plan.path,
            found=", ".join(f"{rule}: {rows:,}" for rule, rows in dropped.items()),
            fix="Check which column holds what (--user, --item, --rating, --time), or drop them "
            "all the same with --on-bad drop.",
        )
    if is_guessed:
        refuse_unlearnable_ratings(ratings, plan.path)
        _refuse_ids_that_never_repeat(plan, ratings)
    for source in plan.users if users is None else [users]:
        ratings = with_users(ratings, source, encoding=encoding)
    if catalogue is not None:
        before = len(ratings)
        metadata = read_catalogue(catalogue, domain=domain, domains=False)
        ratings = on_catalogue(ratings, metadata.pop(DOMAIN), metadata=metadata)
        if len(ratings) < before:
            dropped["the item is not in the catalogue"] = before - len(ratings)
    for source in plan.items if items is None else [items]:
        ratings = with_items(ratings, source, domain=domain, encoding=encoding)
    if items_from_ratings:
        ratings = ratings.with_row_texts_public()
    if public_items:
        ratings = replace(ratings, catalogue_given=True)
    return replace(reading, ratings=ratings, dropped=dropped)


def _require_roles(columns: ColumnGuess, rules: Rules) -> None:
    """Raise DataError if a table lacks a column that is needed.

    If it lacks the people, but another file beside it has them, the error says how to join the two.

    Raises:
        ConfigError: A scale is given for events or plays.
    """
    try:
        columns.require_roles(rules)
    except DataError as error:
        people = None if "user" in columns.positions else find_table_of_people(columns.table)
        if people is None:
            raise
        files = shlex.join([str(columns.table.path), str(people.path)])
        raise DataError(
            error.what,
            path=error.path,
            found=error.found,
            expected=error.expected,
            fix=f"{people.path.name} beside it has the people, and shares the column "
            f"{people.key}: the two are joined by  tacit data import {files}",
        ) from None


def _refuse_ids_that_never_repeat(plan: Plan, ratings: Ratings) -> None:
    """Raise DataError if each person or each item has one rating, and its column was guessed.

    Such a column probably holds something else, such as the number of the row. A few ratings are
    not refused.
    """
    distinct: dict[Role, int] = {"item": ratings.n_items, "user": ratings.n_users}
    for role, number in distinct.items():
        is_guessed = any(columns.reasons.get(role) != "asked" for columns in plan.ratings)
        if is_guessed and len(ratings) >= FEW and number == len(ratings):
            name = "person" if role == "user" else role
            first = plan.ratings[0]
            raise DataError(
                f"every {name} has one row, so no list can be learned",
                path=first.table.path,
                column=first.table.headers[first.positions[role]],
                fix=f"Name the right column with --{role}, or this one if it is right. A cell "
                "holds one person or one item.",
            )


def _leave_out_unreadable_times(columns: ColumnGuess, rules: Rules) -> ColumnGuess:
    """Take the role from a column of times if many of its cells are empty or cannot be read.

    A warning says so. If most times can be read but lie before 1980 or after 2100, the column keeps
    its role, with a warning. A column that the caller named keeps its role without a check. Others
    get the guess "times", whether they keep their role or not, since the cells decided.

    Args:
        columns: A table of ratings, and what its columns are.
        rules: How times are read.
    """
    position = columns.positions.get("time")
    if position is None or columns.reasons["time"] == "asked":
        return columns
    columns = replace(columns, guesses=(*columns.guesses, "times"))
    column = columns.table.frame[:, position]
    column = column.gather_every(max(1, len(column) // _CELLS_SEEN))
    filled = len(column) - column.null_count()
    try:
        form = rules.times or find_time_form(column, guessing=rules.guessing)
        times = to_seconds(column, rules.dates, form=form)
    except DataError:
        return columns  # the order of day and month is not clear: reading the times says so again
    name = columns.table.headers[position]
    share_empty = column.null_count() / max(1, len(column))
    unread = times.null_count() - column.null_count()
    if share_empty > _MOST_WITHOUT_TIME:
        return _leave_out_times(
            columns,
            f"{share_empty:.0%} of the cells of column {name} are empty: times were left out.",
        )
    if unread > filled / 2:
        return _leave_out_times(
            columns, f"The times in column {name} cannot be read: they were left out."
        )
    if are_plausible_times(times):
        return columns
    warning = (
        f"Most times in column {name} do not lie between 1980 and 2100: are they in another unit?"
    )
    return replace(columns, warnings=(*columns.warnings, warning))


def _leave_out_times(columns: ColumnGuess, warning: str) -> ColumnGuess:
    """Return the columns without one of times, and with a further warning."""
    positions = dict(columns.positions)
    del positions["time"]
    return replace(columns, positions=positions, warnings=(*columns.warnings, warning))


def warnings_about(ratings: Ratings, read: int, dropped: dict[str, int]) -> list[str]:
    """List warnings, as sentences, about ratings that can be used but look wrong.

    Args:
        ratings: The ratings.
        read: Number of rows that were read.
        dropped: Number of dropped rows, by rule.
    """
    warnings = []
    if not ratings.likes.any():
        warnings.append(f"No rating is a like on the scale {ratings.scale}.")
    values = ratings.values
    if ratings.scale != EVENTS and len(values) and values.min() == values.max():
        warnings.append(f"Every rating is {values[0]:g}: is this column the stars?")
    repeats = dropped.get(REPEATS, 0) + dropped.get(SUMMED, 0)
    if repeats > _MANY_REPEATS * read:
        warnings.append(
            f"{repeats:,} of {read:,} rows repeat a person's item. If they are plays, --plays adds "
            "them up."
        )
    if not warnings and ratings.scale != EVENTS and len(ratings):
        upper = (ratings.values > ratings.scale.minimum + ratings.scale.span / 2).mean()
        if upper < _FEWEST_ABOVE:
            warnings.append(
                f"Only {upper:.1%} of the ratings lie in the upper half of the scale "
                f"{ratings.scale}: is it the right scale?"
            )
    counts = np.bincount(ratings.users)  # (people,) number of ratings
    most = int(counts.max()) if len(ratings) else 0
    mean = len(ratings) / max(1, int(np.count_nonzero(counts)))
    if len(ratings) >= FEW and most > max(_LARGE_SHARE * len(ratings), _TIMES_THE_MEAN * mean):
        warnings.append(
            f"One person has {most / len(ratings):.0%} of all rows: is it a code for guests or "
            "unknown people? Leave it out with  --where 'COLUMN!=ID'."
        )
    if most > _MANY_EVENTS:
        many = int((counts > _MANY_EVENTS).sum())
        warnings.append(
            f"People with more than {_MANY_EVENTS:,} rows: {many:,} (the most rows: {most:,}). Are "
            "they bots or shared accounts? What one person adds to a private model is bounded all "
            "the same."
        )
    return warnings
