"""Files of ratings, users and items, and the folder that `tacit data import` writes.

Files are written whole or not at all. Every command reads the folder, which has these files:

data.json            describes the other files, and says what in them is public
ratings.parquet      user_id, item_id, rating, and timestamp if known
events.parquet       the same without rating, in place of ratings.parquet, if all rows are events
catalogue.parquet    item_id and all metadata of each item but `Ratings.row_texts`
texts_of_rows.parquet   item_id and the `row_texts`, if there are any
users.parquet        user_id and attributes, if there are any

A catalogue or a scale that was found in private ratings is not public, and data.json says so. The
guarantees of models that are fitted to the folder then have the same conditions as those of models
that are fitted to the original file.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit.atomic_writes import explain_write_error, write_whole
from tacit.data.columns import EVENTS
from tacit.data.domains import DOMAIN, on_catalogue
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.tables.imported_files import (
    CATALOGUE,
    FILE,
    FORMAT,
    JOINED_PEOPLE,
    KIND,
    read_description,
    require_description,
)
from tacit.data.tables.names import Role
from tacit.data.tables.ratings_tables import kind_of_ids, match_columns, read_columns_by_id
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import TextForm
from tacit.data.tables.written_format import READING, WrittenFormat
from tacit.errors import ConfigError, DataError, OutputError

PathLike = str | Path
"""A path in either form."""
_ENDINGS = (".csv", ".tsv", ".parquet")
"""Endings of tables that can be written, in lower case."""
_TEXTS = "texts_of_rows.parquet"
"""Name of the file of texts that people may have written."""


def write_ratings(ratings: Ratings, path: PathLike, *, domains: bool = True) -> None:
    """Write a table of the ratings.

    Its columns are user_id and item_id; rating, unless all are events; timestamp, in seconds since
    1970, and domain, if known.

    Args:
        ratings: Ratings or events.
        path: The file, which ends in .csv, .tsv or .parquet.
        domains: Whether the domain of each item is written in its rows.

    Raises:
        ConfigError: The file has another ending.
        OutputError: The file cannot be written.
    """
    columns: dict[str, Any] = {
        "user_id": ratings.user_ids[ratings.users],
        "item_id": ratings.item_ids[ratings.items],
    }
    if has_stars(ratings):
        are_whole = ratings.scale.discrete and bool((ratings.values % 1 == 0).all())
        columns["rating"] = ratings.values.astype(np.int64) if are_whole else ratings.values
    if ratings.timestamps is not None:
        columns["timestamp"] = ratings.timestamps
    if domains and DOMAIN in ratings.item_metadata:
        columns[DOMAIN] = ratings.item_metadata[DOMAIN][ratings.items]
    write_columns(columns, path)


def has_stars(ratings: Ratings) -> bool:
    """Tell whether the ratings have stars. If not, all are likes on the scale of events, 0:1:1."""
    return ratings.scale != EVENTS or not bool(ratings.likes.all())


def describe_written(ratings: Ratings, path: Path) -> WrittenFormat:
    """Describe the format of a file that `write_ratings` writes with all its columns.

    With this description, no row of the file changes how another row is read. A proof of privacy
    needs that.

    Args:
        ratings: The ratings.
        path: The file, which ends in .csv, .tsv or .parquet.
    """
    is_text = path.suffix != ".parquet"
    columns: dict[Role, str] = {"user": "user_id", "item": "item_id"}
    if has_stars(ratings):
        columns["rating"] = "rating"
    if ratings.timestamps is not None:
        columns["time"] = "timestamp"
    if DOMAIN in ratings.item_metadata:
        columns["domain"] = DOMAIN
    delimiter = "\t" if path.suffix == ".tsv" else ","
    form = TextForm("utf-8", delimiter, '"', lines_above=1, packed=False) if is_text else None
    return WrittenFormat(
        kind="text" if is_text else "typed columns",
        columns=columns,
        ids={"user": kind_of_ids(ratings.user_ids), "item": kind_of_ids(ratings.item_ids)},
        text=form,
        headers=tuple(columns.values()) if is_text else (),
        scale=str(ratings.scale) if has_stars(ratings) else None,
        times="seconds",
    )


def write_format(written: WrittenFormat, path: Path) -> None:
    """Write the description of a file's format as JSON, which the option `--format` reads.

    Raises:
        OutputError: The file cannot be written.
    """
    write_whole(path, (json.dumps(written.to_json(), indent=2) + "\n").encode())


def write_users(ratings: Ratings, path: PathLike) -> None:
    """Write a table of user_id and all user attributes.

    Args:
        ratings: The ratings.
        path: The file, which ends in .csv, .tsv or .parquet.

    Raises:
        ConfigError: The file has another ending.
        DataError: An attribute is called user_id.
        OutputError: The file cannot be written.
    """
    write_columns(add_ids("user_id", ratings.user_ids, ratings.user_attributes), path)


def write_items(ratings: Ratings, path: PathLike) -> None:
    """Write a table of item_id and all item metadata but `Ratings.row_texts`.

    Args:
        ratings: The ratings.
        path: The file, which ends in .csv, .tsv or .parquet.

    Raises:
        ConfigError: The file has another ending.
        DataError: A column of metadata is called item_id.
        OutputError: The file cannot be written.
    """
    write_columns(add_ids("item_id", ratings.item_ids, ratings.public_metadata), path)


def add_ids(name: str, ids: Column, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Put a column of ids before other columns.

    Args:
        name: Header of the ids.
        ids: (n,) ids.
        columns: Header to column, (n,) each.

    Raises:
        DataError: Another column has the header of the ids.
    """
    refuse_second_ids(name, columns)
    return {name: ids, **columns}


def refuse_second_ids(name: str, columns: Mapping[str, Column]) -> None:
    """Raise DataError if attributes or metadata have a column with the header of the ids."""
    if name in columns:
        raise DataError(
            "a column of attributes or metadata has the name of the ids",
            column=name,
            fix="Give this column another name first.",
        )


def check_ending(path: Path) -> None:
    """Raise ConfigError unless the name ends in .csv, .tsv or .parquet."""
    if path.suffix not in _ENDINGS:
        endings = ", ".join(_ENDINGS)
        raise ConfigError(
            f"{path}: a table cannot be written under this ending. Use one of {endings}."
        )


def write_columns(columns: dict[str, Column], path: PathLike) -> None:
    """Write a table in the form that the file's ending names.

    Args:
        columns: Header to column; all have the same length.
        path: The file, which ends in .csv, .tsv or .parquet.

    Raises:
        ConfigError: The file has another ending.
        OutputError: The file cannot be written.
    """
    path = Path(path)
    check_ending(path)
    frame = frame_of_arrays(columns)
    content = BytesIO()
    if path.suffix == ".parquet":
        frame.write_parquet(content)
    else:
        frame.write_csv(content, separator="\t" if path.suffix == ".tsv" else ",")
    write_whole(path, content.getvalue())


def frame_of_arrays(columns: Mapping[str, Column]) -> pl.DataFrame:
    """Make a frame of polars from arrays (n,); a column of objects gets the type of its values."""
    series = {}
    for name, column in columns.items():
        series[name] = pl.Series(column.tolist() if column.dtype == object else column)
    return pl.DataFrame(series)


def is_folder(path: Path) -> bool:
    """Tell whether `write_folder` wrote this folder; DataError if its description is damaged."""
    return read_description(path) is not None


def check_folder(path: Path) -> None:
    """Refuse a path at which `write_folder` cannot write, before ratings are read.

    Raises:
        OutputError: There is a file, or a folder that is neither empty nor an imported one; or the
            parent folder is missing.
    """
    is_empty = path.is_dir() and not any(path.iterdir())
    if path.exists() and not is_empty and not is_folder(path):
        raise OutputError(f"{path}: holds something else. Name a new folder.")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Make it first.")


def write_folder(ratings: Ratings, path: Path, written: WrittenFormat | None = None) -> None:
    """Write the folder, whole or not at all; an imported folder of this name is replaced.

    Args:
        ratings: The ratings. Their fields such as `catalogue_given` say what is public.
        path: The folder.
        written: Format of the original file; None if its rows cannot be read one by one.

    Raises:
        DataError: An attribute or a column of metadata has the name of the ids.
        OutputError: The folder holds something else, or cannot be written.
    """
    check_folder(path)
    temporary = path.absolute().parent / f".{path.name}.{secrets.token_hex(8)}"
    table = "ratings" if has_stars(ratings) else "events"
    public = {
        "catalogue": ratings.catalogue_given,
        "scale": ratings.scale_given,
        "filter": not ratings.filtered,  # public unless rare people or items were left out
    }
    description = {
        "kind": KIND,
        "format": FORMAT,
        "table": table,
        "scale": str(ratings.scale),
        "public": public,
        "guesses": list(ratings.guesses),
        READING: None if written is None else written.to_json(),
    }
    if ratings.joined_people:
        description[JOINED_PEOPLE] = list(ratings.joined_people)
    try:
        temporary.mkdir()
        write_ratings(ratings, temporary / f"{table}.parquet", domains=False)
        write_items(ratings, temporary / CATALOGUE)
        if ratings.row_texts:
            texts = {name: ratings.item_metadata[name] for name in ratings.row_texts}
            write_columns(add_ids("item_id", ratings.item_ids, texts), temporary / _TEXTS)
        if ratings.user_attributes:
            write_users(ratings, temporary / "users.parquet")
        (temporary / FILE).write_text(json.dumps(description, indent=2) + "\n", "utf-8")
        replaced = temporary.with_name(temporary.name + ".old")
        if path.exists():
            path.rename(replaced)
        temporary.rename(path)
        shutil.rmtree(replaced, ignore_errors=True)
    except OSError as error:
        raise explain_write_error(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_folder(path: Path, *, scale: RatingScale | None = None) -> Ratings:
    """Read the ratings of an imported folder.

    Args:
        path: The folder.
        scale: A public scale that replaces the folder's; None: the folder's.

    Raises:
        DataError: This is no imported folder; it has another format; a file of it is missing,
            damaged or incomplete; or a scale is given for events.
    """
    description = require_description(path)
    if scale is not None and description["scale"] == str(EVENTS):
        fix = "Leave --scale out."
        raise DataError("these are events, which have no stars", path=path, fix=fix)
    rows = open_table(path / f"{description['table']}.parquet").frame
    public = description["public"]
    ids, metadata = read_columns_by_id(path / CATALOGUE, "item", "item_id", fewest=1)
    attributes = None
    if (path / "users.parquet").exists():
        _, attributes = read_columns_by_id(path / "users.parquet", "user", "user_id")
    ratings = Ratings.from_arrays(
        _ids_in(rows["user_id"]),
        _ids_in(rows["item_id"]),
        None if description["table"] == "events" else rows["rating"].to_numpy(),
        rows["timestamp"].to_numpy() if "timestamp" in rows.columns else None,
        scale=scale or RatingScale.parse(description["scale"]),
        user_attributes=attributes,
        item_metadata=metadata,
    )
    ratings = replace(
        ratings,
        scale_given=scale is not None or bool(public["scale"]),
        guesses=tuple(map(str, description["guesses"])),
        filtered=not public.get("filter", True),
        joined_people=tuple(map(str, description.get(JOINED_PEOPLE, ()))),
    )
    if public["catalogue"]:
        # The guesses stay as they are in the folder, although `on_catalogue` drops some of them.
        guesses = ratings.guesses
        domains = metadata.pop(DOMAIN, dict.fromkeys(ids))
        ratings = replace(on_catalogue(ratings, domains, metadata=metadata), guesses=guesses)
    if (path / _TEXTS).exists():
        texts = match_columns(path / _TEXTS, "item", "item_id", ratings)
        columns = {**ratings.item_metadata, **texts}
        ratings = replace(ratings, item_metadata=columns, row_texts=tuple(texts))
    return ratings


def _ids_in(column: pl.Series) -> Any:
    """Return a column of ids as an array of integers or a list of texts."""
    return column.to_numpy() if column.dtype.is_integer() else column.to_list()


def find_public_list(path: Path) -> Path:
    """Return the file of a public list of items.

    Args:
        path: The file; or an imported folder, whose file is catalogue.parquet.

    Raises:
        DataError: The path is that of an imported folder or of a file in one, and the items of the
            folder were found in private ratings, or its description is damaged.
    """
    folder = path if path.is_dir() else path.parent
    if read_description(folder) is None:
        return path
    description = require_description(folder)
    if not description["public"]["catalogue"]:
        raise DataError(
            "this list was read off private ratings, so it is no public catalogue",
            path=path,
            fix="Give a list from elsewhere, or import again with --catalogue FILE; if everybody "
            "may know which items were rated, with --public-items.",
        )
    return path / CATALOGUE if path.is_dir() else path
