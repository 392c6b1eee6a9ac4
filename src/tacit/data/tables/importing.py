"""From the files people have to one clean folder: opened, understood, cleaned, described.

Ratings    a table with people and items; several are read as one
Items      a table with items and no people, or `items`: titles and so on. Users likewise
Folders    MovieLens in three layouts, RecBole (NAME.inter, .item, .user), LensKit (schema.json)
Catalogue  `catalogue`, a list from elsewhere, is public; what is read off the ratings is not,
           unless the caller says that it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from tacit.data.domains import DOMAIN, on_catalogue
from tacit.data.movielens import is_movielens, movielens_reading
from tacit.data.ratings import Ratings
from tacit.data.tables import Role, Table, find, missing, squeezed
from tacit.data.tables.cleaning import NO_EVENT, OnBad, Rules
from tacit.data.tables.folder import is_folder
from tacit.data.tables.reading import REPEATS, Asked, Guess, Reading, guess, matched, ratings_of
from tacit.data.tables.sources import frame_of, open_table
from tacit.data.tabular import read_catalogue, with_items
from tacit.errors import ConfigError, DataError

_TITLES = (
    "title",
    "name",
    "item_name",
    "product_name",
    "movie_title",
    "book_title",
    "description",
    "titel",
    "bezeichnung",
    "titre",
    "titulo",
    "titolo",
)
_MOST_BAD = 0.5  # of the rows may be dropped without a word from the caller
_FEW = 50  # rows of a table that says nothing about what is wrong with it


@dataclass
class Plan:
    """What was found in the files. ratings: what the columns of each table of them are."""

    ratings: list[Guess] = field(default_factory=list)
    items: list[Table] = field(default_factory=list)
    users: list[Table] = field(default_factory=list)
    movielens: Path | None = None

    def title(self, columns: Guess) -> int | None:
        """Position of the titles that stand beside the ratings."""
        squeezes = [squeezed(header) for header in columns.table.headers]
        places = (squeezes.index(name) for name in map(squeezed, _TITLES) if name in squeezes)
        at = next(places, None)
        return None if self.items or at in columns.places.values() else at


def plan(
    files: Sequence[Path],
    asked: Asked,
    *,
    events: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    table: str | None = None,
) -> Plan:
    """Open the files and guess what is what; nothing is cleaned yet."""
    opened: list[Table] = []
    for path in files:
        if not path.exists():
            raise DataError("no such file or folder", path=path, fix="Check the path.")
        if path.is_dir() and is_movielens(path):
            if len(files) > 1 or any(asked.values()):
                raise ConfigError(f"{path}: import a MovieLens folder alone, without columns.")
            return Plan(movielens=path)
        opened += (
            _folder(path)
            if path.is_dir()
            else [
                open_table(
                    path,
                    delimiter=delimiter,
                    encoding=encoding,
                    header=header,
                    table=table,
                    asked=[*asked.values()],
                )
            ]
        )
    made, tables = Plan(), []
    for each in opened:  # what was asked for, as far as this table has it
        own = {
            role: name if find(role, each.headers, name) is not None else None
            for role, name in asked.items()
        }
        tables.append((each, own, set(guess(each, own, contents=False).places)))
    both = {"user", "item"}
    some = any(both <= roles for _, _, roles in tables)
    for each, own, roles in tables:
        if both <= roles or len(opened) == 1 or not (some or (each.header and both & roles)):
            made.ratings.append(guess(each, own, events=events))
        else:
            (made.users if "user" in roles else made.items).append(each)
    for role, name in asked.items():
        absent = all(find(role, columns.table.headers, name) is None for columns in made.ratings)
        if name and role != "domain" and absent:
            raise missing(role, [x for each in opened for x in each.headers], name, files[0])
    if not made.ratings:
        raise missing("user", opened[0].headers, None, opened[0].path)
    return made


def _folder(path: Path) -> list[Table]:
    """The tables of a RecBole or LensKit folder."""
    if (path / "schema.json").is_file():
        return _lenskit(path)
    if is_folder(path):
        raise DataError(
            "this folder was imported already", path=path, fix="Every command takes it."
        )
    files = sorted(file for file in path.iterdir() if file.suffix in (".inter", ".item", ".user"))
    if not any(file.suffix == ".inter" for file in files):
        raise DataError(
            "this folder is of no known kind",
            path=path,
            fix="Name its files instead.",
            expected="MovieLens, RecBole (NAME.inter) or LensKit (schema.json)",
        )
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
    domain: str | None = None,
) -> Reading:
    """Clean what was planned. on_bad: that of the rules; None: drop, unless most rows are bad.

    catalogue: a public list of items; ratings of others are dropped. items: more about items.
    public_items: the items that were rated may be known to everybody.
    """
    for columns in made.ratings:
        columns.checked(rules)
    if made.movielens is not None:
        if rules.scale is not None:
            raise ConfigError("A MovieLens folder has a scale of its own: leave --scale out.")
        reading = movielens_reading(made.movielens, rules.on_bad)
    else:
        titles = {} if items or catalogue else _titles(made)
        reading = ratings_of(made.ratings, rules, item_metadata=titles)
    ratings, dropped = reading.ratings, dict(reading.dropped)
    ratings = ratings.as_events() if events else ratings
    bad = sum(rows for rule, rows in dropped.items() if rule not in (REPEATS, NO_EVENT))
    if on_bad is None and bad > _MOST_BAD * reading.read:
        raise DataError(
            f"{bad:,} of {reading.read:,} rows would be dropped",
            path=made.movielens or made.ratings[0].table.path,
            found=", ".join(f"{rule}: {rows:,}" for rule, rows in dropped.items()),
            fix="Check which column holds what (--user, --item, --rating, --time), or drop them "
            "all the same with --on-bad drop.",
        )
    _check_guesses(made, ratings)
    for each in made.users if users is None else [users]:
        people = matched(each, "user", None, ratings)
        ratings = replace(ratings, user_attributes={**ratings.user_attributes, **people})
    if catalogue is not None:
        before = len(ratings)
        metadata = read_catalogue(catalogue, domain=domain, domains=False)
        ratings = on_catalogue(ratings, metadata.pop(DOMAIN), metadata=metadata)
        if lost := before - len(ratings):
            dropped["the item is not in the catalogue"] = lost
    for source in made.items if items is None else [items]:
        ratings = with_items(ratings, source, domain=domain)
    if public_items:
        ratings = replace(ratings, catalogue_given=True)
    return replace(reading, ratings=ratings, dropped=dropped)


def _check_guesses(made: Plan, ratings: Ratings) -> None:
    """DataError where a guessed column of people or items never repeats: it is another column."""
    distinct: dict[Role, int] = {"item": ratings.n_items, "user": ratings.n_users}
    for role, number in distinct.items():
        guessed = any(columns.why.get(role) != "asked" for columns in made.ratings)
        if guessed and len(ratings) >= _FEW and number == len(ratings):
            name = "person" if role == "user" else role
            table, places = made.ratings[0].table, made.ratings[0].places
            raise DataError(
                f"every {name} has one row, so no list can be learned",
                path=table.path,
                column=table.headers[places[role]],
                fix=f"Name the right column with --{role}, or this one if it is right. A cell "
                "holds one person or one item.",
            )


def _titles(made: Plan) -> dict[str, dict[Any, Any]]:
    """Titles that stand beside the ratings, the first of each item."""
    titles: dict[Any, Any] = {}
    for columns in made.ratings:
        table, item, at = columns.table, columns.places["item"], made.title(columns)
        if at is None:
            continue
        pairs = (
            table.frame[:, [item, at]]
            .drop_nulls()
            .unique(subset=table.headers[item], keep="first", maintain_order=True)
        )
        for key, title in pairs.iter_rows():
            titles.setdefault(key, str(title))
            if str(key).isdecimal():
                titles.setdefault(int(key), str(title))  # a column of whole numbers gives integers
    return {"title": titles} if titles else {}
