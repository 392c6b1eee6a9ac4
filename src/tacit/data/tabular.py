"""Ratings, histories and lists of items from a table, a folder or an installed data set.

Tables    CSV, TSV, other text, Parquet, JSON lines and SQLite.
Ids       are read as in `tables.cells`, so that '007' in a text file stays '007'.
Rows      In errors, the number of a row is its line in a text file (1 is the header), else its
          record, from 1.
Files     of users or of items may have people and items without a rating, who are left out. If all
          are without a rating, the file is refused.

Python objects are read in `frames`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.container import MAGIC
from tacit.data.domains import DOMAIN, domain_of
from tacit.data.movielens import is_movielens, read_movielens
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.tables.cells import OnBad, Rules, clean_rows
from tacit.data.tables.column_guess import guess_columns
from tacit.data.tables.folder import PathLike, find_public_list, is_folder, read_folder
from tacit.data.tables.forms import Layout
from tacit.data.tables.layouts import guess_rating_columns
from tacit.data.tables.names import Role
from tacit.data.tables.ratings_tables import (
    make_ratings,
    match_columns,
    read_columns_by_id,
    read_in_format,
    with_row_texts,
)
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table, find_column, missing_column_error, require_column
from tacit.data.tables.times import Dates
from tacit.data.tables.where import keep_rows
from tacit.data.tables.written_format import read_format
from tacit.errors import ConfigError, DataError
from tacit.extensions import DATASETS, find_entry_points


def read_ratings(
    path: PathLike,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    domain: str | None = None,
    plays: str | None = None,
    least_plays: float = 1,
    events: bool = False,
    delimiter: str | None = None,
    scale: RatingScale | None = None,
    users: PathLike | None = None,
    items: PathLike | None = None,
    on_bad: OnBad = "refuse",
    decimal: str | None = None,
    dates: Dates | None = None,
    table: str | None = None,
    encoding: str | None = None,
    where: Sequence[str] = (),
    written: PathLike | None = None,
    items_from_ratings: bool = False,
    layout: Layout | None = None,
) -> Ratings:
    """Read a file of ratings, or of events: a file without a column of ratings holds events.

    Args:
        path: The file.
        user: Header of the people's ids; None: found by a well-known header in upper or lower case,
            such as user_id or user_id:token, or by the cells. The same holds for `item`, `rating`
            and `time`.
        item: Header of the items' ids.
        rating: Header of the stars.
        time: Header of the times.
        domain: Header of the items' domain, in this file or in `items`. It becomes the item
            metadata 'domain'.
        plays: Header of numbers of plays. A row of 0 plays is no event.
        least_plays: Fewest plays of an item by a person that are a like.
        events: Whether every row is an event, and so a like, whatever columns there are.
        delimiter: Text between cells; None: found among comma, tab, semicolon, pipe, `::` and
            blank.
        scale: The stars a rating can take; a row with another number is bad. None: found in the
            ratings.
        users: File of user attributes: an id and other columns.
        items: File of item metadata: an id and other columns.
        on_bad: "refuse" a file with a bad row, naming the row; or "drop" such rows.
        decimal: "," or ".", the only decimal sign; None: each cell may have either.
        dates: "dayfirst" or "monthfirst", if the dates themselves do not tell.
        table: Name of the table to read, in a database.
        encoding: Encoding of text, such as "cp1251", also of `users` and `items`; None: UTF-8, or
            else cp1252; text whose letters fit another one better is refused.
        where: Conditions that rows must fulfil, such as "status!=cancelled", "quantity>0" or
            "event in view|buy".
        written: File or imported folder with a written format (`tables.written_format`), which says
            how rows are written. Each row is then read without the others, and one that does not
            fit is dropped. Only `scale`, `users` and
            `items` can be given with it.
        items_from_ratings: Whether titles in columns beside the ratings are public. Models publish
            them, and guarantee cards state this as a condition.
        layout: "wide" for a column of each item; "baskets" for lists of items, in one cell or in a
            line of many cells; None: one rating a row, unless only another layout is possible.

    Raises:
        DataError: The file cannot be read as ratings.
        ConfigError: Options contradict each other.
    """
    if written is not None:
        options = (
            user,
            item,
            rating,
            time,
            domain,
            plays,
            delimiter,
            decimal,
            dates,
            table,
            encoding,
            layout,
        )
        if any(value is not None for value in options) or events or where or least_plays != 1:
            raise ConfigError("A written format names columns, signs and conditions itself.")
        if items_from_ratings:
            raise ConfigError("A written format reads no titles: leave items_from_ratings out.")
        ratings = _read_written_file(path, written, scale)
        return _with_attributes(ratings, users, items, user=None, item=None, domain=None)
    rules = Rules(on_bad, scale, least_plays, dates, decimal, guessing=True)
    column_names: dict[Role, str | None] = {
        "user": user,
        "item": item,
        "rating": rating,
        "plays": plays,
        "time": time,
        "domain": domain,
    }
    names = [*column_names.values()]
    opened = open_table(
        path, delimiter=delimiter, column_names=names, encoding=encoding, table=table, layout=layout
    )
    opened = keep_rows(opened, where)
    if items is not None and find_column("domain", opened.headers, domain) is None:
        column_names["domain"] = None  # this column is in the file of items
    guess = guess_rating_columns(opened, column_names, events=events, layout=layout)
    guess.require_roles(rules)
    ratings = with_row_texts(make_ratings([guess], rules).ratings, [guess])
    if items_from_ratings:
        ratings = ratings.with_row_texts_public()
    return _with_attributes(
        ratings, users, items, user=user, item=item, domain=domain, encoding=encoding
    )


def _read_written_file(path: PathLike, written: PathLike, scale: RatingScale | None) -> Ratings:
    """Read a file in a written format; rows that do not fit it are dropped."""
    written_format = read_format(Path(written))
    if scale is not None:
        written_format = written_format.with_scale(scale)
    return read_in_format(Path(path), written_format, "drop").ratings


def _with_attributes(
    ratings: Ratings,
    users: PathLike | None,
    items: PathLike | None,
    *,
    user: str | None,
    item: str | None,
    domain: str | None,
    encoding: str | None = None,
) -> Ratings:
    """Add user attributes and item metadata from files, if any; options as in `read_ratings`."""
    if users is not None:
        ratings = with_users(ratings, users, user=user, encoding=encoding)
    if items is not None:
        ratings = with_items(ratings, items, item=item, domain=domain, encoding=encoding)
    return ratings


def with_users(
    ratings: Ratings,
    path: PathLike | Table,
    *,
    user: str | None = None,
    encoding: str | None = None,
) -> Ratings:
    """Add user attributes from a file.

    If the format of the file is guessed, it is guessed from private rows; the result then has the
    guess 'people' (`Ratings.with_guess`), which guarantee cards state as a condition.

    Args:
        ratings: The ratings.
        path: The file, or its table.
        user: Header of the ids; None: a well-known header, else the first column.
        encoding: Encoding of a text file; None: found in the file.

    Raises:
        DataError: The file cannot be read, or none of its people has a rating.
    """
    table = path
    if not isinstance(table, Table):
        table = open_table(table, column_names=(user,), encoding=encoding)
    people = match_columns(table, "user", user, ratings)
    attributes = {**ratings.user_attributes, **people}
    ratings = replace(ratings, user_attributes=attributes)
    return ratings.with_guess("people") if table.guesses else ratings


def with_items(
    ratings: Ratings,
    path: PathLike | Table,
    *,
    item: str | None = None,
    domain: str | None = None,
    encoding: str | None = None,
) -> Ratings:
    """Add item metadata from a file; public metadata that the ratings have already stays.

    Args:
        ratings: The ratings.
        path: The file, or its table.
        item: Header of the ids; None: a well-known header, else the first column.
        domain: Header of the domain, which is used only if the ratings have no domains; None: only
            a column called 'domain' is the domain.
        encoding: Encoding of a text file; None: found in the file.

    Raises:
        DataError: The file cannot be read, none of its items has a rating, or the column that
            `domain` names is missing or has no value for an item.
    """
    table = path
    if not isinstance(table, Table):
        table = open_table(table, column_names=(item,), encoding=encoding)
    columns = match_columns(table, "item", item, ratings)
    metadata = {**ratings.item_metadata, **columns, **ratings.public_metadata}
    if domain is not None and DOMAIN not in ratings.item_metadata:
        position = require_column("domain", tuple(columns), domain, table.path)
        metadata[DOMAIN] = [*columns.values()][position]
        try:
            domain_of(replace(ratings, item_metadata=metadata))  # raises if an item has none
        except DataError as error:
            raise error.with_place(path=table.path) from None
    row_texts = tuple(name for name in ratings.row_texts if name not in columns)
    return replace(ratings, item_metadata=metadata, row_texts=row_texts)


def read_catalogue(
    path: PathLike, *, item: str | None = None, domain: str | None = None, domains: bool = True
) -> dict[str, dict[Any, str | None]]:
    """Read a public list of items.

    Args:
        path: A file, or an imported folder whose list of items is public.
        item: Header of the ids; None: a well-known header, else the first column.
        domain: Header of the domain. If it is None or the file has no such header: 'domain'.
        domains: Whether the file must have a column of domains; without one, every domain is None.

    Returns:
        'domain' and every other column by its header, each of which maps an item id to a value.

    Raises:
        DataError: The file cannot be read, its list is not public, or a needed column is missing.
    """
    path = find_public_list(Path(path))
    ids, columns = read_columns_by_id(path, "item", item, fewest=1)
    headers = tuple(columns)
    position = find_column("domain", headers, domain)
    if position is None:
        position = find_column("domain", headers, DOMAIN)
    if position is None and domains:
        raise missing_column_error("domain", headers, DOMAIN, path)
    domain_of_item = dict.fromkeys(ids) if position is None else columns.pop(headers[position])
    columns.pop(DOMAIN, None)  # a column 'domain' if the caller named another one
    return {DOMAIN: domain_of_item} | columns


def read_history(
    path: PathLike,
    *,
    item: str | None = None,
    rating: str | None = None,
    delimiter: str | None = None,
    item_ids: Column | None = None,
    events: bool = False,
) -> dict[Any, float]:
    """Read one person's ratings from a file.

    If an item is rated twice, the latest rating counts. Among equally late ones, or without times,
    the rating with most stars counts.

    Args:
        path: The file.
        item: Header of the ids; None: a well-known header.
        rating: Header of the stars; None: a well-known header.
        delimiter: Text between cells; None: found in the file.
        item_ids: (items,) ids of a model. An id of the file with the same text is replaced by the
            id of the model, which may have another type. None: ids stay as they are read.
        events: Whether rows are events: a column of stars is then not read, and each item gets a 1.

    Returns:
        Item id to stars, or to 1 with `events`.

    Raises:
        DataError: The file cannot be read, or a needed column is missing.
    """
    column_names: dict[Role, str | None] = {"item": item, "rating": rating, "time": None}
    columns = _columns_of_history(path, column_names, delimiter=delimiter, events=events)
    stars = columns.get("rating", np.ones(len(columns["item"])))
    order = np.lexsort((stars, columns.get("time", np.zeros(len(stars)))))
    items = np.asarray(columns["item"], dtype=object)[order]
    return _last_values(items, stars[order], item_ids)


def read_history_times(
    path: PathLike,
    *,
    item: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
    item_ids: Column | None = None,
) -> dict[Any, int] | None:
    """Read when one person rated each item.

    Args:
        path: The file of `read_history`.
        item: Header of the ids; None: a well-known header.
        time: Header of the times; None: a well-known header, if there is one.
        delimiter: Text between cells; None: found in the file.
        item_ids: (items,) ids of a model, as in `read_history`.

    Returns:
        Item id to seconds since 1970, the latest if an item is rated twice; None without a column
        of times.

    Raises:
        DataError: The file cannot be read, or a needed column is missing.
    """
    column_names: dict[Role, str | None] = {"item": item, "time": time}
    columns = _columns_of_history(path, column_names, delimiter=delimiter, events=True)
    if "time" not in columns:
        return None
    order = np.argsort(columns["time"], kind="stable")
    return _last_values(columns["item"][order], columns["time"][order], item_ids)


def _columns_of_history(
    path: PathLike, column_names: dict[Role, str | None], *, delimiter: str | None, events: bool
) -> Mapping[str, Column]:
    """Read the columns of one person's ratings by their roles; arguments as in `read_history`."""
    opened = open_table(
        path, delimiter=delimiter, column_names=tuple(column_names.values()), history=True
    )
    needed: tuple[Role, ...] = ("item",) if events else ("item", "rating")
    rules = Rules(guessing=True)
    guessed = guess_columns(opened, column_names, events=events, contents=False).require_roles(
        rules, needed
    )
    return clean_rows(opened, guessed.positions, rules).columns


def _last_values(items: Column, values: Column, item_ids: Column | None) -> dict[Any, Any]:
    """Map each item's id to the last of its values, in the order of the ids.

    Args:
        items: (n,) ids, which may repeat.
        values: (n,) values.
        item_ids: (k,) ids of a model, which replace ids of the same text; None: ids stay.
    """
    ids = np.array(items, dtype=object).tolist()
    values_by_id = dict(zip(ids, values.tolist(), strict=True))
    model_ids = {} if item_ids is None else {str(key): key for key in item_ids.tolist()}
    return {model_ids.get(str(key), key): values_by_id[key] for key in sorted(values_by_id)}


def load(path: str | Path, **options: Any) -> Ratings:
    """Read ratings from a file, an imported folder, a MovieLens folder or an installed data set.

    Without the option `items`, item metadata is read from the file NAME-items next to a file of
    ratings, if there is one.

    Args:
        path: The file or folder, or the name of an installed data set.
        **options: Options of `read_ratings`; None is as if left out. Folders and data sets take
            only some of them.

    Raises:
        DataError: The path is none of these, does not take one of the options, or holds no ratings.
    """
    path = Path(path)
    used_options = {name: value for name, value in options.items() if value is not None}
    if path.is_file() and _is_tacit_file(path):
        raise DataError(
            "this is a file of tacit, and no ratings",
            path=path,
            fix=f"A model is opened by  tacit.load_model({str(path)!r}).",
        )
    if path.exists() and not path.is_dir():  # also a pipe
        if (
            path.name in ("u.data", "ratings.dat")
            and is_movielens(path.parent)
            and not used_options
        ):
            fix = f"Name its folder instead: {path.parent}"
            raise DataError("this is one file of a MovieLens folder", path=path, fix=fix)
        items_file = items_beside(path)
        if "items" in used_options or items_file is None:
            return read_ratings(path, **used_options)
        return read_ratings(path, **{"items": items_file} | used_options).with_guess("items")
    datasets = {} if path.exists() else find_entry_points(DATASETS)
    allowed_options = {"events"}
    if is_folder(path):
        kind = "an imported folder"
        allowed_options = {
            "events",
            "scale",
            "users",
            "items",
            "domain",
            "items_from_ratings",
        }
    elif is_movielens(path):
        kind = "a MovieLens folder"
    elif path.is_dir():
        what = "this folder holds no ratings in a known form"
        expected = "a folder of  tacit data import,  or of MovieLens"
        fix = "Name the file of ratings itself, or import it:  tacit data import FILE -o FOLDER"
        raise DataError(what, path=path, expected=expected, fix=fix)
    elif str(path) in datasets:
        kind = "an installed data set"
    else:
        fix = "Check the path, or see  tacit data --help"
        raise DataError("no such file or folder", path=path, fix=fix)
    other_options = used_options.keys() - allowed_options
    if other_options:
        fix = "Leave these options out, or name the file of ratings itself."
        found = ", ".join(sorted(other_options))
        raise DataError(f"{kind} names its own columns", path=path, found=found, fix=fix)
    if "domain" in used_options and "items" not in used_options:
        raise DataError(
            "the column of domains belongs to a table of items, and no such table is named",
            path=path,
            found=f"domain {used_options['domain']!r}",
            fix="Name the table with `items` (--items), or leave the column out.",
        )
    if kind == "an installed data set":
        ratings = datasets[str(path)].load()()
        if not isinstance(ratings, Ratings):
            what = "this data set gives no ratings"
            found = type(ratings).__name__
            expected, fix = "tacit.Ratings", "Ask its author."
            raise DataError(what, path=path, found=found, expected=expected, fix=fix)
    elif kind == "a MovieLens folder":
        ratings = read_movielens(path)
    else:
        ratings = read_folder(path, scale=used_options.get("scale"))
    if used_options.get("items_from_ratings"):
        ratings = ratings.with_row_texts_public()
    if "users" in used_options:
        ratings = with_users(ratings, used_options["users"])
    if "items" in used_options:
        ratings = with_items(ratings, used_options["items"], domain=used_options.get("domain"))
    return ratings.as_events() if used_options.get("events") else ratings


def _is_tacit_file(path: Path) -> bool:
    """Tell whether a file is a model or another file of tacit, by its first bytes."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def items_beside(path: Path) -> Path | None:
    """Find the file of item metadata beside a file of ratings, such as r-items.csv for r.csv.

    Returns:
        Its path; None if there is no such file.
    """
    if not path.name:  # the current folder
        return None
    items_file = path.with_name(f"{path.stem}-items{path.suffix}")
    return items_file if items_file.is_file() else None
