"""Folders of ratings written for RecBole and LensKit. `tacit data import` reads such folders, too.

RecBole   NAME/NAME.inter, NAME.item and NAME.user: tab-separated text whose header names the type
          of each column, as RecBole 1.2 documents its atomic files
LensKit   schema.json with user.parquet, item.parquet and one table of ratings, as LensKit 2025
          saves a data set. The table of ratings holds numbers of users and items: rows, from 0, of
          the other two tables

`Ratings.row_texts` are left out, since people may have written them. If the ratings rest on facts
that were found in private rows, data.json lists them, and they stay conditions of guarantees when
the folder is imported.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit.atomic_writes import explain_write_error
from tacit.data.domains import SEPARATOR
from tacit.data.ratings import Column, Ratings
from tacit.data.tables.folder import add_ids, frame_of_arrays, has_stars, refuse_second_ids
from tacit.data.tables.imported_files import FILE, describe_export
from tacit.errors import ConfigError, DataError, OutputError

LENSKIT_FORMAT = "2025.3"
"""Version of LensKit's schema that is written."""


def write_research_folder(ratings: Ratings, kind: str, path: Path) -> list[str]:
    """Write a folder for another package, whole or not at all.

    Args:
        ratings: Ratings or events.
        kind: A key of `WRITERS`.
        path: A new or empty folder in one that exists. Its name becomes the name of RecBole's data
            set.

    Returns:
        Names of the files, sorted.

    Raises:
        ConfigError: There is no such kind.
        DataError: A text cannot be written in such a file, or an attribute or a column of metadata
            has the name of the ids.
        OutputError: The folder holds something, or cannot be written.
    """
    if kind not in WRITERS:
        raise ConfigError(f"Unknown kind of folder '{kind}'. Known: {', '.join(WRITERS)}.")
    is_empty = path.is_dir() and not any(path.iterdir())
    if path.exists() and not is_empty:
        raise OutputError(f"{path}: holds something already. Name a new folder.")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Make it first.")
    temporary = path.absolute().parent / f".{path.name}.{secrets.token_hex(8)}"
    try:
        temporary.mkdir()
        WRITERS[kind](ratings, temporary, path.absolute().name)
        guesses = ["filter", *ratings.guesses] if ratings.filtered else ratings.guesses
        if guesses:
            (temporary / FILE).write_text(describe_export(guesses), "utf-8")
        if path.exists():
            path.rmdir()
        temporary.rename(path)
    except OSError as error:
        raise explain_write_error(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sorted(file.name for file in path.iterdir())


def _write_recbole(ratings: Ratings, folder: Path, name: str) -> None:
    """Write RecBole's atomic files NAME.inter, NAME.item and NAME.user.

    NAME.item and NAME.user are written only if items and people have more than ids. Ids have the
    type token, stars and times the type float, and other columns a type as in `_typed_columns`.
    """
    rows: dict[str, Column] = {
        "user_id:token": ratings.user_ids[ratings.users],
        "item_id:token": ratings.item_ids[ratings.items],
    }
    if has_stars(ratings):
        rows["rating:float"] = ratings.values
    if ratings.timestamps is not None:
        rows["timestamp:float"] = ratings.timestamps
    _write_atomic_file(rows, folder / f"{name}.inter")
    refuse_second_ids("item_id", ratings.public_metadata)
    refuse_second_ids("user_id", ratings.user_attributes)
    items = {"item_id:token": ratings.item_ids, **_typed_columns(ratings.public_metadata)}
    users = {"user_id:token": ratings.user_ids, **_typed_columns(ratings.user_attributes)}
    if len(items) > 1:
        _write_atomic_file(items, folder / f"{name}.item")
    if len(users) > 1:
        _write_atomic_file(users, folder / f"{name}.user")


def _typed_columns(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Add RecBole's types to the names of columns: NAME:float, NAME:token or NAME:token_seq.

    Floats are of type float, other numbers of type token. A column of texts becomes a token_seq,
    whose values have a blank between them, if a text has several values, joined by '|', or has a
    blank; else it is of type token.

    Args:
        columns: Name to column, (n,) each.

    Returns:
        NAME:TYPE to column, (n,) each; objects are texts or None.
    """
    typed: dict[str, Column] = {}
    for name, column in columns.items():
        if column.dtype.kind == "f":
            typed[f"{name}:float"] = column
        elif column.dtype != object:
            typed[f"{name}:token"] = column
        else:
            texts = [None if value is None else str(value) for value in column.tolist()]
            if any(SEPARATOR in text for text in texts if text is not None):
                texts = [_separate_by_blanks(text) for text in texts]
            is_sequence = any(" " in text for text in texts if text is not None)
            kind = "token_seq" if is_sequence else "token"
            typed[f"{name}:{kind}"] = np.array(texts, dtype=object)
    return typed


def _separate_by_blanks(text: str | None) -> str | None:
    """Replace blanks inside values by `_`, and '|' between values by a blank; None stays None."""
    return None if text is None else text.replace(" ", "_").replace(SEPARATOR, " ")


def _write_atomic_file(columns: Mapping[str, Column], path: Path) -> None:
    """Write one tab-separated file.

    Args:
        columns: NAME:TYPE to column, (rows,) each.
        path: The file.

    Raises:
        DataError: A text holds a tab or the end of a line, which would end its cell or its row.
    """
    for name, column in columns.items():
        if column.dtype != object:
            continue
        for text in column.tolist():
            if isinstance(text, str) and any(sign in text for sign in "\t\r\n"):
                raise DataError(
                    "a text holds a tab or the end of a line, which RecBole's files cannot hold",
                    column=name.partition(":")[0],
                    fix="Replace it by a blank, or write --to lenskit.",
                )
    frame_of_arrays(columns).write_csv(path, separator="\t")


def _write_lenskit(ratings: Ratings, folder: Path, name: str) -> None:
    """Write LensKit's tables of users, of items and of ratings or interactions, and the schema.

    `name`, the name of the folder, is not used.
    """
    del name  # only RecBole names its files after the data set
    relation = "rating" if has_stars(ratings) else "interaction"
    ids: dict[str, Column] = {
        "user_num": ratings.users.astype(np.int32),
        "item_num": ratings.items.astype(np.int32),
    }
    attributes: dict[str, Column] = {}
    if has_stars(ratings):
        attributes["rating"] = ratings.values.astype(np.float64)
    if ratings.timestamps is not None:
        attributes["timestamp"] = ratings.timestamps
    rows = ids | attributes
    users = add_ids("user_id", ratings.user_ids, ratings.user_attributes)
    items = add_ids("item_id", ratings.item_ids, ratings.public_metadata)
    for file, columns in (("user", users), ("item", items), (relation, rows)):
        frame_of_arrays(columns).write_parquet(folder / f"{file}.parquet")
    schema = {
        "version": LENSKIT_FORMAT,
        "name": None,
        "default_interaction": relation,
        "entities": {
            "user": _describe_entity(ratings.user_ids, ratings.user_attributes),
            "item": _describe_entity(ratings.item_ids, ratings.public_metadata),
        },
        "relationships": {
            relation: {
                "entities": {"user": None, "item": None},
                "interaction": True,
                "repeats": "forbidden",
                "attributes": _describe_scalars([*attributes]),
            }
        },
    }
    (folder / "schema.json").write_text(json.dumps(schema, indent=2) + "\n", "utf-8")


def _describe_entity(ids: Column, attributes: Mapping[str, Column]) -> dict[str, Any]:
    """Describe users or items, with (n,) ids and (n,) attributes, for LensKit's schema."""
    kind = "str" if ids.dtype == object else "int"
    return {"id_type": kind, "attributes": _describe_scalars([*attributes])}


def _describe_scalars(names: list[str]) -> dict[str, Any]:
    """Describe attributes that have one value for each row, for LensKit's schema."""
    return {name: {"layout": "scalar", "vector_size": None} for name in names}


WRITERS: Mapping[str, Callable[[Ratings, Path, str], None]] = {
    "recbole": _write_recbole,
    "lenskit": _write_lenskit,
}
"""Kind of a folder to the function that writes it. It takes the ratings, an empty folder, and the
name of the data set."""
