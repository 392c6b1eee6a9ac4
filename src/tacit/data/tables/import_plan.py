"""Files that people have become one clean folder: opened, understood, cleaned, described.

Ratings    a table with people and items; several are read as one
Items      a table with items and no people, or `items`: titles and so on. Users likewise
Folders    MovieLens in three layouts, RecBole (NAME.inter, .item, .user), LensKit (schema.json)
Catalogue  `catalogue`, a list from elsewhere, is public; what is read off the ratings is not,
           unless the caller says that it is.
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
from tacit.data.movielens import is_movielens, movielens_reading
from tacit.data.ratings import Ratings
from tacit.data.tables.cells import NO_EVENT, OnBad, Rules
from tacit.data.tables.column_guess import Asked, ColumnLook, Guess, guess
from tacit.data.tables.degenerate import FEW, refuse_what_teaches_nothing
from tacit.data.tables.folder import is_folder
from tacit.data.tables.forms import Layout
from tacit.data.tables.joins import find_table_of_people, join_people_to_items
from tacit.data.tables.layouts import guess_rows
from tacit.data.tables.names import Role, known_names, normalize_header
from tacit.data.tables.ratings_tables import (
    REPEATS,
    SUMMED,
    TableReading,
    ratings_of,
    read_in_format,
    with_row_texts,
)
from tacit.data.tables.sources import frame_of, open_table
from tacit.data.tables.table import Table, find_column, missing_column_error
from tacit.data.tables.text import EMPTY
from tacit.data.tables.times import are_of_our_days, seconds, time_form
from tacit.data.tables.where import has_columns_of, keep_rows
from tacit.data.tables.written_format import WrittenFormat
from tacit.data.tabular import read_catalogue, with_items, with_users
from tacit.errors import ConfigError, DataError

_MOST_BAD = 0.5  # of the rows may be dropped without a word from the caller
_MATCHED = 0.5  # of the ids of people or items that a table without names has
_PAIR: tuple[Role, ...] = ("user", "item")
_MANY_REPEATS = 0.7
_FEWEST_ABOVE = 0.01  # of the ratings in the upper half of their scale
_MANY_EVENTS = 5_000
_MOST_WITHOUT_TIME = 0.2  # of the rows may be dropped because they have no time
_LARGE_SHARE, _TIMES_THE_MEAN = 0.05, 4  # of all rows that one person has
_SAMPLE = 20_000  # cells of a whole column of times
_NEITHER_STARS_NOR_PLAYS = (
    "it has people and items, but neither stars nor plays as the other file has"
)
_LETTERS_OF_NAME = 4  # at least, with which the name of a file begins
_MOST_TABLES = 50  # of a folder
_PACKED = r"(\.(gz|zst|xz|bz2|zip))?$"
_NAME_OF_TABLE = re.compile(
    r"(?i)\.(csv|tsv|tab|psv|dat|data|txt|json|jsonl|ndjson|parquet|pq|arrow|feather|db|sqlite3?)"
    + _PACKED
)
_NAME_OF_ANY_TEXT = re.compile(r"(?i)\.(txt|json|dat|data|db)" + _PACKED)
"""Files that may as well hold something else than a table."""
_NAME_OF_PROSE = re.compile(r"(?i)(readme|licen[cs]e|notice|about|citation)\b")


@dataclass
class Plan:
    """Tables found in the files, and what each holds."""

    ratings: list[Guess] = field(default_factory=list)
    """What the columns of each table of ratings are."""
    items: list[Table] = field(default_factory=list)
    users: list[Table] = field(default_factory=list)
    left_out: dict[object, str] = field(default_factory=dict)
    """Path of each table or file that is not read, and why."""
    said: tuple[str, ...] = ()
    """Sentences on how the tables came about."""
    movielens: Path | None = None
    """A MovieLens folder."""
    written: tuple[Path, WrittenFormat] | None = None
    """A file of ratings in a written format."""

    @property
    def path(self) -> object:
        """Place of the ratings."""
        if self.written is not None:
            return self.written[0]
        return self.movielens or self.ratings[0].table.path

    @property
    def warnings(self) -> list[str]:
        """Sentences on what a person should look at."""
        sentences = [*self.said]
        for columns in self.ratings:
            sentences += columns.warnings
        sentences += [f"{path} was left out: {why}." for path, why in self.left_out.items()]
        return sentences


def plan(
    files: Sequence[Path],
    asked: Asked,
    *,
    events: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    table: str | None = None,
    where: Sequence[str] = (),
    layout: Layout | None = None,
) -> Plan:
    """Open the files and find what each holds; nothing is cleaned yet.

    Args:
        files: Tables and folders.
        asked: The column of each role, where the caller names it.
        events: Every row is an event.
        delimiter: Sign between the cells of a text file; None: looked for.
        encoding: Encoding of a text file; None: looked for.
        header: Whether a text file names its columns; None: looked for.
        table: Table of a database.
        where: Conditions on the rows of the tables that have their columns.
        layout: Several ratings in a row, in the first file.
    """
    opened: list[Table] = []
    unnamed: list[Table] = []
    no_tables: dict[object, str] = {}
    for path in files:
        if not path.exists():
            raise DataError("no such file or folder", path=path, fix="Check the path.")
        if path.is_dir() and is_movielens(path):
            if len(files) > 1 or any(asked.values()) or where:
                raise ConfigError(f"{path}: import a MovieLens folder alone, without columns.")
            return Plan(movielens=path)
        if path.is_dir() and not _is_plain_folder(path):
            opened += _folder(path)
        elif path.is_dir():
            found, others = _open_plain_folder(path, delimiter, encoding, header)
            opened += found
            unnamed += found
            no_tables |= others
        else:
            names = [*asked.values()]
            opened.append(
                open_table(
                    path,
                    delimiter=delimiter,
                    encoding=encoding,
                    header=header,
                    table=table,
                    asked=names,
                    layout=layout,
                )
            )
    if where:
        opened = [
            keep_rows(each, where) if len(opened) == 1 or has_columns_of(each, where) else each
            for each in opened
        ]
    made = _sort_tables(opened, asked, events=events, layout=layout, unnamed=unnamed)
    made.left_out |= no_tables
    for role, name in asked.items():
        absent = all(
            find_column(role, columns.table.headers, name) is None for columns in made.ratings
        )
        if name and role != "domain" and absent:
            headers = itertools.chain.from_iterable(each.headers for each in opened)
            raise missing_column_error(role, list(headers), name, files[0])
    return made


def plan_written(files: Sequence[Path], written: WrittenFormat) -> Plan:
    """Plan to read the first file by a written format; the others are about items or people."""
    made = Plan(written=(files[0], written))
    for path in files[1:]:
        table = open_table(path)
        is_about_people = find_column("user", table.headers, None) is not None
        (made.users if is_about_people else made.items).append(table)
    return made


def _sort_tables(
    opened: Sequence[Table],
    asked: Asked,
    *,
    events: bool,
    layout: Layout | None,
    unnamed: Sequence[Table] = (),
    said: tuple[str, ...] = (),
) -> Plan:
    """Find the tables of ratings, and what the others hold: people, items, or other events.

    Args:
        opened: Tables in the order in which they were named.
        asked: The column of each role, where the caller names it.
        events: Every row is an event.
        layout: Several ratings in a row, in the first table.
        unnamed: Tables of a folder, which are left out where they fit nothing.
        said: Warnings on how the tables came about.
    """
    if len(opened) == 1:
        found = guess_rows(opened[0], asked, events=events, layout=layout)
        return Plan(ratings=[found], said=said)
    if layout is not None:
        made = Plan(ratings=[guess_rows(opened[0], asked, events=events, layout=layout)])
        for each in opened[1:]:
            _take_beside(each, _roles_in(each, asked), made)
        return made
    named = [_roles_in(each, asked) for each in opened]
    with_people_and_items = [
        each for each, roles in zip(opened, named, strict=True) if {"user", "item"} <= roles
    ]
    joined = None if with_people_and_items else join_people_to_items(opened, named)
    if joined is not None:
        return _sort_tables(
            joined.tables, asked, events=events, layout=None, unnamed=unnamed, said=joined.said
        )
    if not with_people_and_items:
        with_people_and_items = [max(opened, key=lambda each: len(each.frame))]
    guesses = [
        guess_rows(each, _asked_columns(each, asked), events=events)
        for each in with_people_and_items
    ]
    rated = [columns for columns in guesses if {"rating", "plays"} & set(columns.places)]
    made = Plan(ratings=guesses if events or not rated else rated, said=said)
    for columns in guesses:
        if columns not in made.ratings:
            made.left_out[columns.table.path] = _NEITHER_STARS_NOR_PLAYS
    for each, roles in zip(opened, named, strict=True):
        if each in with_people_and_items:
            continue
        try:
            _take_beside(each, roles, made, is_named=each not in unnamed)
        except DataError as error:
            if each not in unnamed:
                raise
            made.left_out[each.path] = error.what
    return made


def _roles_in(table: Table, asked: Asked) -> set[Role]:
    """Return the roles of the columns that were asked for or have a known name."""
    return set(guess(table, _asked_columns(table, asked), contents=False).places)


def _take_beside(table: Table, roles: set[Role], made: Plan, *, is_named: bool = True) -> None:
    """Take a table beside the ratings as one of people or of items.

    Raises:
        DataError: It fits neither; or nobody named it, and it has several rows of a person or item.
    """
    if "user" in roles and table.header:
        role: Role = "user"
    elif "item" in roles and table.header:
        role = "item"
    else:
        role = _match_by_ids(table, made)
        table = _with_title(table) if role == "item" else table
    if not is_named:
        places = guess(table, {role: None}, contents=False).places
        ids = table.frame[:, places.get(role, 0)].drop_nulls()
        if ids.n_unique() < len(ids):
            raise DataError(f"it has several rows of one {role}", path=table.path)
        if len(table.headers) < 2:
            raise DataError("it has no column beside the id", path=table.path)
    (made.users if role == "user" else made.items).append(table)


def _asked_columns(table: Table, asked: Asked) -> Asked:
    """Return what was asked for, as far as the table has it."""
    return {
        role: name if find_column(role, table.headers, name) is not None else None
        for role, name in asked.items()
    }


def _match_by_ids(table: Table, made: Plan) -> Role:
    """Find whether a table without known names is of items or of people, by its first column.

    Where its ids are those of both, its name decides.

    Raises:
        DataError: It is of neither, or may be of both, or connects people with people.
    """
    columns = made.ratings[0]
    rated = {role: _ids_in(columns.table, columns.places.get(role)) for role in _PAIR}
    own = [_ids_in(table, at) for at in range(min(2, len(table.headers)))]
    shares = {role: len(own[0] & rated[role]) / max(1, len(rated[role])) for role in _PAIR}
    people_again = len(own) > 1 and len(own[1] & rated["user"]) > _MATCHED * len(own[1])
    if shares["user"] > _MATCHED and people_again:
        raise DataError(
            "this table connects people with people",
            path=table.path,
            fix="Leave it out: it holds no ratings of items.",
        )
    role = max(shares, key=shares.__getitem__)
    if min(shares.values()) > _MATCHED:
        role = _role_of_name(table)
    if shares[role] < _MATCHED:
        raise DataError(
            "this table fits neither the people nor the items of the ratings",
            path=table.path,
            expected="ids of items or of people in its first column",
            fix="Leave it out, or name it with --items or --users.",
        )
    return role


def _role_of_name(table: Table) -> Role:
    """Find by the name of a file, such as kunden.csv, whether it is of people or of items."""
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


def _ids_in(table: Table, at: int | None) -> set[str]:
    return set() if at is None else set(table.frame[:, at].drop_nulls().cast(pl.String).to_list())


def _with_title(table: Table) -> Table:
    """Name the second column of a table without a header `title` if it is text."""
    if table.header or len(table.headers) < 2 or ColumnLook(table.frame[:, 1]).is_numeric:
        return table
    return replace(table, frame=table.frame.rename({table.headers[1]: "title"}))


def _is_plain_folder(path: Path) -> bool:
    """Tell whether a folder holds files of no known kind of folder."""
    has_schema = (path / "schema.json").is_file()
    return not has_schema and not is_folder(path) and not any(path.glob("*.inter"))


def _open_plain_folder(
    path: Path, delimiter: str | None, encoding: str | None, header: bool | None
) -> tuple[list[Table], dict[object, str]]:
    """Open the tables of a folder of files, such as customers.csv, products.csv and orders.csv.

    Returns:
        The tables; and why each other file is none.
    """
    files = [file for file in sorted(path.iterdir()) if file.name[0] not in "._"]
    found: list[Table] = []
    others: dict[object, str] = {}
    for file in files:
        if file.is_dir():
            others[file] = "it is a folder"
        elif not _NAME_OF_TABLE.search(file.name) or _NAME_OF_PROSE.match(file.name):
            others[file] = "its name is not that of a table"
        elif len(found) == _MOST_TABLES:
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
                others[file] = error.what
            else:
                found.append(table)
    if not found:
        inner = [file.name for file in files if file.is_dir()]
        raise DataError(
            "this folder holds no table",
            path=path,
            found=f"folders {', '.join(inner)}" if inner else None,
            expected="tables (CSV, JSON lines, Parquet and so on), or a folder of MovieLens, "
            "RecBole (NAME.inter) or LensKit (schema.json)",
            fix="Name its files instead, or a folder inside.",
        )
    return found, others


def _folder(path: Path) -> list[Table]:
    """Open the tables of a RecBole or LensKit folder."""
    if (path / "schema.json").is_file():
        return _lenskit(path)
    if is_folder(path):
        raise DataError(
            "this folder was imported already", path=path, fix="Every command takes it."
        )
    files = sorted(file for file in path.iterdir() if file.suffix in (".inter", ".item", ".user"))
    return [open_table(file, delimiter="\t", header=True) for file in files]


def _lenskit(path: Path) -> list[Table]:
    """People and items stand as numbers in the table between them, and as ids in their own."""
    own = {role: open_table(path / f"{role}.parquet") for role in ("user", "item")}
    try:
        relations = json.loads((path / "schema.json").read_text("utf-8"))["relationships"]
        name = next(key for key, entry in relations.items() if {*own} <= {*entry["entities"]})
        between = open_table(path / f"{name}.parquet")
        columns = {column: between.frame[column] for column in between.headers}
        for role in [role for role in own if f"{role}_num" in columns]:
            ids = own[role].frame[f"{role}_id"]
            columns[f"{role}_id"] = ids.gather(columns.pop(f"{role}_num"))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        StopIteration,
        pl.exceptions.PolarsError,
    ):
        raise DataError("the LensKit folder has no table of users and items", path=path) from None
    ratings = Table(between.path, frame_of(columns))
    return [ratings, *(each for each in own.values() if len(each.headers) > 1)]


def carry_out(
    made: Plan,
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
    """Clean what was planned. on_bad: that of the rules; None: drop, unless most rows are bad.

    catalogue: a public list of items; ratings of others are dropped. items: more about items.
    encoding: that of the files of users and of items.
    public_items: the items that were rated may be known to everybody.
    items_from_ratings: titles that stand beside the ratings are public.
    """
    for columns in made.ratings:
        _require_roles(columns, rules)
    made.ratings = [_without_unreadable_times(columns, rules) for columns in made.ratings]
    if made.written is not None:
        reading = read_in_format(*made.written, rules.on_bad)
    elif made.movielens is not None:
        if rules.scale is not None:
            raise ConfigError("A MovieLens folder has a scale of its own: leave --scale out.")
        reading = movielens_reading(made.movielens, rules.on_bad)
    else:
        reading = ratings_of(made.ratings, rules)
        with_texts = with_row_texts(reading.ratings, made.ratings)
        reading = replace(reading, ratings=with_texts)
    ratings = reading.ratings
    dropped = dict(reading.dropped)
    ratings = ratings.as_events() if events else ratings
    bad = sum(rows for rule, rows in dropped.items() if rule not in (REPEATS, SUMMED, NO_EVENT))
    guessed = made.written is None  # else rows must not decide whether others are read
    if guessed and on_bad is None and bad > _MOST_BAD * reading.read:
        raise DataError(
            f"{bad:,} of {reading.read:,} rows would be dropped",
            path=made.path,
            found=", ".join(f"{rule}: {rows:,}" for rule, rows in dropped.items()),
            fix="Check which column holds what (--user, --item, --rating, --time), or drop them "
            "all the same with --on-bad drop.",
        )
    if guessed:
        refuse_what_teaches_nothing(ratings, made.path)
        _check_guesses(made, ratings)
    for each in made.users if users is None else [users]:
        ratings = with_users(ratings, each, encoding=encoding)
    if catalogue is not None:
        before = len(ratings)
        metadata = read_catalogue(catalogue, domain=domain, domains=False)
        ratings = on_catalogue(ratings, metadata.pop(DOMAIN), metadata=metadata)
        if lost := before - len(ratings):
            dropped["the item is not in the catalogue"] = lost
    for source in made.items if items is None else [items]:
        ratings = with_items(ratings, source, domain=domain, encoding=encoding)
    if items_from_ratings:
        ratings = ratings.with_row_texts_public()
    if public_items:
        ratings = replace(ratings, catalogue_given=True)
    return replace(reading, ratings=ratings, dropped=dropped)


def _require_roles(columns: Guess, rules: Rules) -> None:
    """Raise DataError where a role lacks; it names a file beside this one that has the people."""
    try:
        columns.require_roles(rules)
    except DataError as error:
        people = None if "user" in columns.places else find_table_of_people(columns.table)
        if people is None:
            raise
        files = shlex.join([str(columns.table.path), str(people.path)])
        raise DataError(
            error.what,
            path=error.path,
            found=error.found,
            expected=error.expected,
            fix=f"{people.path.name} beside it has the people, and shares the column "
            f"{people.shared}: the two are joined by  tacit data import {files}",
        ) from None


def _check_guesses(made: Plan, ratings: Ratings) -> None:
    """DataError where a guessed column of people or items never repeats: it is another column."""
    distinct: dict[Role, int] = {"item": ratings.n_items, "user": ratings.n_users}
    for role, number in distinct.items():
        guessed = any(columns.why.get(role) != "asked" for columns in made.ratings)
        if guessed and len(ratings) >= FEW and number == len(ratings):
            name = "person" if role == "user" else role
            table, places = made.ratings[0].table, made.ratings[0].places
            raise DataError(
                f"every {name} has one row, so no list can be learned",
                path=table.path,
                column=table.headers[places[role]],
                fix=f"Name the right column with --{role}, or this one if it is right. A cell "
                "holds one person or one item.",
            )


def _without_unreadable_times(columns: Guess, rules: Rules) -> Guess:
    """Leave out a column of times that no one asked for and of which most cells cannot be read."""
    at = columns.places.get("time")
    if at is None or columns.why["time"] == "asked":
        return columns
    column = columns.table.frame[:, at]
    column = column.gather_every(max(1, len(column) // _SAMPLE))
    filled = len(column) - column.null_count()
    try:
        form = rules.times or time_form(column, guessing=rules.guessing)
        moments = seconds(column, rules.dates, form=form)
    except DataError:
        return columns  # which order its dates have is a question, asked where they are read
    name = columns.table.headers[at]
    empty = column.null_count() / max(1, len(column))
    if empty > _MOST_WITHOUT_TIME:
        said = f"{empty:.0%} of the cells of column {name} are empty: times were left out."
        places = dict(columns.places)
        del places["time"]
        return replace(columns, places=places, warnings=(*columns.warnings, said))
    if moments.null_count() - column.null_count() <= filled / 2:
        if are_of_our_days(moments):
            return columns
        said = f"Most times in column {name} do not lie between 1980 and 2100: is it their unit?"
        return replace(columns, warnings=(*columns.warnings, said))
    said = f"The times in column {name} cannot be read: they were left out."
    places = dict(columns.places)
    del places["time"]
    return replace(columns, places=places, warnings=(*columns.warnings, said))


def warnings_about(ratings: Ratings, read: int, dropped: dict[str, int]) -> list[str]:
    """Say what looks odd in ratings that can be used."""
    said = []
    if not ratings.likes.any():
        said.append(f"No rating is a like on the scale {ratings.scale}.")
    values = ratings.values
    if ratings.scale != EVENTS and len(values) and values.min() == values.max():
        said.append(f"Every rating is {values[0]:g}: is this column the stars?")
    repeats = dropped.get(REPEATS, 0) + dropped.get(SUMMED, 0)
    if repeats > _MANY_REPEATS * read:
        said.append(
            f"{repeats:,} of {read:,} rows repeat a person's item. If they are plays, --plays adds "
            "them up."
        )
    if not said and ratings.scale != EVENTS and len(ratings):
        upper = (ratings.values > ratings.scale.minimum + ratings.scale.span / 2).mean()
        if upper < _FEWEST_ABOVE:
            said.append(
                f"Only {upper:.1%} of the ratings lie in the upper half of the scale "
                f"{ratings.scale}: is it the right scale?"
            )
    most = int(np.bincount(ratings.users).max()) if len(ratings) else 0
    mean = len(ratings) / max(1, int(np.count_nonzero(np.bincount(ratings.users))))
    if len(ratings) >= FEW and most > max(_LARGE_SHARE * len(ratings), _TIMES_THE_MEAN * mean):
        said.append(
            f"One person has {most / len(ratings):.0%} of all rows: is it a code for guests or "
            "unknown people? Leave it out with  --where 'COLUMN!=ID'."
        )
    if most > _MANY_EVENTS:
        many = int((np.bincount(ratings.users) > _MANY_EVENTS).sum())
        said.append(
            f"{many:,} people have more than {_MANY_EVENTS:,} rows (the most: {most:,}): are they "
            "bots or shared accounts? What one person adds to a private model is bounded all the "
            "same."
        )
    return said
