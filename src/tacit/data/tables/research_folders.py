"""Folders that RecBole and LensKit load, written from ratings; `tacit data import` reads both.

RecBole   NAME/NAME.inter, NAME.item and NAME.user: tab-separated text whose header names the type
          of each column, as RecBole 1.2 documents its atomic files
LensKit   schema.json with user.parquet, item.parquet and one table between them that holds their
          places, as LensKit 2025 saves a data set

Texts that stood beside the ratings are not written: they may be of a person.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit.atomic_writes import explain_write_error
from tacit.data.columns import EVENTS
from tacit.data.ratings import Column, Ratings
from tacit.errors import ConfigError, DataError, OutputError

LENSKIT_FORMAT = "2025.3"
"""Version of LensKit's schema that is written."""
_SEVERAL = "|"
"""Sign between several values of one cell, such as genres."""


def write_research_folder(ratings: Ratings, kind: str, path: Path) -> list[str]:
    """Write a folder that another package loads, whole or not at all.

    Args:
        ratings: Ratings or events.
        kind: One of `FORMS`.
        path: A new or empty folder. RecBole calls the data set by its name.

    Returns:
        Names of the files.

    Raises:
        ConfigError: There is no such kind.
        DataError: An id or a text cannot stand in such a file.
        OutputError: The folder holds something, or cannot be written.
    """
    if kind not in FORMS:
        raise ConfigError(f"No form '{kind}' of a folder. Known: {', '.join(FORMS)}.")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise OutputError(f"{path}: holds something already. Name a new folder.")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Make it first.")
    part = path.absolute().parent / f".{path.name}.{secrets.token_hex(8)}"
    try:
        part.mkdir()
        FORMS[kind](ratings, part, path.absolute().name)
        if path.exists():
            path.rmdir()
        part.rename(path)
    except OSError as error:
        raise explain_write_error(path, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return sorted(file.name for file in path.iterdir())


def _write_recbole(ratings: Ratings, folder: Path, name: str) -> None:
    """Write atomic files; ids, whole numbers and texts are tokens, all other numbers floats."""
    rows: dict[str, Column] = {
        "user_id:token": ratings.user_ids[ratings.users],
        "item_id:token": ratings.item_ids[ratings.items],
    }
    if _has_stars(ratings):
        rows["rating:float"] = ratings.values
    if ratings.timestamps is not None:
        rows["timestamp:float"] = ratings.timestamps
    _write_atomic_file(rows, folder / f"{name}.inter")
    items = {"item_id:token": ratings.item_ids, **_typed_columns(ratings.public_metadata)}
    users = {"user_id:token": ratings.user_ids, **_typed_columns(ratings.user_attributes)}
    if len(items) > 1:
        _write_atomic_file(items, folder / f"{name}.item")
    if len(users) > 1:
        _write_atomic_file(users, folder / f"{name}.user")


def _typed_columns(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Name each column with RecBole's type; values joined by '|' become a sequence of tokens."""
    typed: dict[str, Column] = {}
    for name, column in columns.items():
        if column.dtype.kind == "f":
            typed[f"{name}:float"] = column
        elif column.dtype != object:
            typed[f"{name}:token"] = column
        else:
            texts = [None if value is None else str(value) for value in column.tolist()]
            written = [text for text in texts if text is not None]
            if any(_SEVERAL in text for text in written):
                texts = [_separate_by_blanks(text) for text in texts]
                written = [text for text in texts if text is not None]
            is_sequence = any(" " in text for text in written)
            kind = "token_seq" if is_sequence else "token"
            typed[f"{name}:{kind}"] = np.array(texts, dtype=object)
    return typed


def _separate_by_blanks(text: str | None) -> str | None:
    """Write several values as RecBole separates tokens: a blank between them, `_` inside one."""
    return None if text is None else text.replace(" ", "_").replace(_SEVERAL, " ")


def _write_atomic_file(columns: Mapping[str, Column], path: Path) -> None:
    """Write one tab-separated file.

    Raises:
        DataError: A text holds a tab or the end of a line, which end a cell or a row there.
    """
    for name, column in columns.items():
        if column.dtype != object:
            continue
        for text in column.tolist():
            if isinstance(text, str) and any(sign in text for sign in "\t\r\n"):
                raise DataError(
                    "a text holds a tab or the end of a line, which RecBole's files cannot",
                    column=name.partition(":")[0],
                    fix="Replace it by a blank, or write --to lenskit.",
                )
    _frame_of(columns).write_csv(path, separator="\t")


def _write_lenskit(ratings: Ratings, folder: Path, name: str) -> None:
    """Write people and items with their attributes, the table between them, and the schema."""
    del name  # RecBole alone calls files by the data set's name
    relation = "rating" if _has_stars(ratings) else "interaction"
    between: dict[str, Column] = {
        "user_num": ratings.users.astype(np.int32),
        "item_num": ratings.items.astype(np.int32),
    }
    if _has_stars(ratings):
        between["rating"] = ratings.values.astype(np.float64)
    if ratings.timestamps is not None:
        between["timestamp"] = ratings.timestamps
    users = {"user_id": ratings.user_ids, **ratings.user_attributes}
    items = {"item_id": ratings.item_ids, **ratings.public_metadata}
    for file, columns in (("user", users), ("item", items), (relation, between)):
        _frame_of(columns).write_parquet(folder / f"{file}.parquet")
    schema = {
        "version": LENSKIT_FORMAT,
        "name": None,
        "default_interaction": relation,
        "entities": {
            "user": _entity(ratings.user_ids, ratings.user_attributes),
            "item": _entity(ratings.item_ids, ratings.public_metadata),
        },
        "relationships": {
            relation: {
                "entities": {"user": None, "item": None},
                "interaction": True,
                "repeats": "forbidden",
                "attributes": _scalars([*between][2:]),
            }
        },
    }
    (folder / "schema.json").write_text(json.dumps(schema, indent=2) + "\n", "utf-8")


def _entity(ids: Column, attributes: Mapping[str, Column]) -> dict[str, Any]:
    """Describe a kind of entity for LensKit's schema."""
    kind = "str" if ids.dtype == object else "int"
    return {"id_type": kind, "attributes": _scalars([*attributes])}


def _scalars(names: list[str]) -> dict[str, Any]:
    """Describe attributes that have one value each."""
    return {name: {"layout": "scalar", "vector_size": None} for name in names}


def _has_stars(ratings: Ratings) -> bool:
    return ratings.scale != EVENTS or not ratings.likes.all()


def _frame_of(columns: Mapping[str, Column]) -> pl.DataFrame:
    """Make a table; lists of objects become columns of their values' type."""
    series = {}
    for name, column in columns.items():
        series[name] = pl.Series(column.tolist() if column.dtype == object else column)
    return pl.DataFrame(series)


FORMS: Mapping[str, Callable[[Ratings, Path, str], None]] = {
    "recbole": _write_recbole,
    "lenskit": _write_lenskit,
}
"""How each kind of folder is written."""
