"""Tables written whole, and the folder that `tacit data import` writes and every command reads.

data.json            what the rest is, and what of it is public
ratings.parquet      user_id, item_id, rating and timestamp where known; of events events.parquet
catalogue.parquet    item_id and all that is known of each item, but for text of rows
texts_of_rows.parquet   item_id and text that stood beside the ratings, where there is any
users.parquet        user_id and attributes, where there are any

A catalogue or scale read off private ratings is not public, and the folder says so: claims of
models fitted to it stay conditional, as if the ratings were read from a plain file.
"""

from __future__ import annotations

import json
import secrets
import shutil
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
from tacit.data.tables.cells import IdKind
from tacit.data.tables.names import Role
from tacit.data.tables.ratings_tables import match_columns, read_columns_by_id
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import TextForm
from tacit.data.tables.written_format import READING, WrittenFormat
from tacit.errors import ConfigError, DataError, OutputError

PathLike = str | Path
_ENDINGS = (".csv", ".tsv", ".parquet")
FILE, FORMAT, KIND = "data.json", 1, "tacit data"
_CATALOGUE, _TEXTS = "catalogue.parquet", "texts_of_rows.parquet"


def write_ratings(ratings: Ratings, path: PathLike, *, domains: bool = True) -> None:
    """Write user_id, item_id, rating (not of events) and, where known, timestamp and domain.

    The name's ending says how: .csv, .tsv or .parquet; another ending is refused. domains: whether
    they are written here, and not with the items alone.
    """
    columns: dict[str, Any] = {
        "user_id": ratings.user_ids[ratings.users],
        "item_id": ratings.item_ids[ratings.items],
    }
    if ratings.scale != EVENTS or not ratings.likes.all():
        whole = ratings.scale.discrete and bool((ratings.values % 1 == 0).all())
        columns["rating"] = ratings.values.astype(np.int64) if whole else ratings.values
    if ratings.timestamps is not None:
        columns["timestamp"] = ratings.timestamps
    if domains and DOMAIN in ratings.item_metadata:
        columns[DOMAIN] = ratings.item_metadata[DOMAIN][ratings.items]
    write_columns(columns, path)


def describe_written(ratings: Ratings, path: Path) -> WrittenFormat:
    """Describe a file that `write_ratings` writes, so that it is read row by row and proved."""
    is_text = path.suffix != ".parquet"
    has_stars = ratings.scale != EVENTS or not ratings.likes.all()
    columns: dict[Role, str] = {"user": "user_id", "item": "item_id"}
    if has_stars:
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
        ids={"user": _kind_of(ratings.user_ids), "item": _kind_of(ratings.item_ids)},
        text=form,
        headers=tuple(columns.values()) if is_text else (),
        scale=str(ratings.scale) if has_stars else None,
        times="seconds",
    )


def _kind_of(ids: Column) -> IdKind:
    return "text" if ids.dtype == object else "integer"


def write_format(written: WrittenFormat, path: Path) -> None:
    """Write a description that `--format` reads."""
    write_whole(path, (json.dumps(written.to_json(), indent=2) + "\n").encode())


def write_users(ratings: Ratings, path: PathLike) -> None:
    """Write user_id and every user attribute."""
    write_columns({"user_id": ratings.user_ids, **ratings.user_attributes}, path)


def write_items(ratings: Ratings, path: PathLike) -> None:
    """Write item_id and item metadata, without text of rows."""
    write_columns({"item_id": ratings.item_ids, **ratings.public_metadata}, path)


def check_ending(path: Path) -> None:
    """ConfigError unless a table can be written under a name that ends like this."""
    if path.suffix not in _ENDINGS:
        endings = ", ".join(_ENDINGS)
        raise ConfigError(
            f"{path}: a table cannot be written under this ending. Use one of {endings}."
        )


def write_columns(columns: dict[str, Column], path: PathLike) -> None:
    """Write columns by name; the ending says how."""
    path = Path(path)
    check_ending(path)
    frame = pl.DataFrame(
        {
            name: pl.Series(one.tolist() if one.dtype == object else one)
            for name, one in columns.items()
        }
    )
    content = BytesIO()
    if path.suffix == ".parquet":
        frame.write_parquet(content)
    else:
        frame.write_csv(content, separator="\t" if path.suffix == ".tsv" else ",")
    write_whole(path, content.getvalue())


def _note(path: Path) -> dict[str, Any] | None:
    """Read what a folder says of itself; None if `write_folder` did not write it."""
    try:
        note = json.loads((path / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) and note.get("kind") == KIND else None


def is_folder(path: Path) -> bool:
    """Tell whether `write_folder` wrote this folder."""
    return _note(path) is not None


def check_folder(path: Path) -> None:
    """OutputError unless the folder is new, or one that may be replaced: asked before the work."""
    if path.exists() and not is_folder(path) and not (path.is_dir() and not any(path.iterdir())):
        raise OutputError(f"{path}: holds something else. Name a new folder.")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Make it first.")


def write_folder(ratings: Ratings, path: Path, written: WrittenFormat | None = None) -> None:
    """Write the folder whole or not at all; one that was written before is replaced.

    Args:
        ratings: They say themselves what is public: `catalogue_given` and the like.
        path: The folder.
        written: How their file is written; None if it cannot be read row by row.
    """
    check_folder(path)
    part = path.absolute().parent / f".{path.name}.{secrets.token_hex(8)}"
    table = "events" if ratings.scale == EVENTS and ratings.likes.all() else "ratings"
    public = {
        "catalogue": ratings.catalogue_given,
        "scale": ratings.scale_given,
        "filter": not ratings.filtered,
    }
    scale = str(ratings.scale)
    note = {
        "kind": KIND,
        "format": FORMAT,
        "table": table,
        "scale": scale,
        "public": public,
        "guesses": list(ratings.guesses),
        READING: None if written is None else written.to_json(),
    }
    try:
        part.mkdir()
        write_ratings(ratings, part / f"{table}.parquet", domains=False)
        write_items(ratings, part / _CATALOGUE)
        if ratings.row_texts:
            texts = {name: ratings.item_metadata[name] for name in ratings.row_texts}
            write_columns({"item_id": ratings.item_ids, **texts}, part / _TEXTS)
        if ratings.user_attributes:
            write_users(ratings, part / "users.parquet")
        (part / FILE).write_text(json.dumps(note, indent=2) + "\n", "utf-8")
        old = part.with_name(part.name + ".old")
        if path.exists():
            path.rename(old)
        part.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise explain_write_error(path, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read_folder(path: Path, *, scale: RatingScale | None = None) -> Ratings:
    """Read the ratings of a folder. scale: a public one, in place of the folder's."""
    note = _note(path)
    if note is None:
        raise DataError("this is no folder of tacit data import", path=path)
    if note.get("format") != FORMAT:
        raise DataError(
            "the folder was written by a later version",
            path=path,
            found=note.get("format"),
            expected=f"format {FORMAT}",
            fix="Import the files again with this version.",
        )
    if scale is not None and note["scale"] == str(EVENTS):
        fix = "Leave --scale out."
        raise DataError("these are events, which have no stars", path=path, fix=fix)
    parts = open_table(path / f"{note['table']}.parquet").frame
    users = path / "users.parquet"
    public = note["public"]
    ids, metadata = read_columns_by_id(path / _CATALOGUE, "item", "item_id", fewest=1)
    made = Ratings.from_arrays(
        _ids(parts["user_id"]),
        _ids(parts["item_id"]),
        None if note["table"] == "events" else parts["rating"].to_numpy(),
        parts["timestamp"].to_numpy() if "timestamp" in parts.columns else None,
        scale=scale or RatingScale.parse(note["scale"]),
        user_attributes=read_columns_by_id(users, "user", "user_id")[1] if users.exists() else None,
        item_metadata=metadata,
    )
    made = replace(
        made,
        scale_given=scale is not None or bool(public["scale"]),
        guesses=tuple(map(str, note["guesses"])),
        filtered=not public.get("filter", True),
    )
    if public["catalogue"]:
        guesses = made.guesses  # which it had when it was written, on this catalogue
        domains = metadata.pop(DOMAIN, dict.fromkeys(ids))
        made = replace(on_catalogue(made, domains, metadata=metadata), guesses=guesses)
    if (path / _TEXTS).exists():
        texts = match_columns(path / _TEXTS, "item", "item_id", made)
        columns = {**made.item_metadata, **texts}
        made = replace(made, item_metadata=columns, row_texts=tuple(texts))
    return made


def _ids(column: pl.Series) -> Any:
    return column.to_numpy() if column.dtype.is_integer() else column.to_list()


def refuse_private_list(path: Path) -> Path:
    """The file of a list; DataError if it is a folder's own, read off private ratings."""
    note = _note(path if path.is_dir() else path.parent)
    if note is not None and not note["public"]["catalogue"]:
        raise DataError(
            "this list was read off private ratings, so it is no public catalogue",
            path=path,
            fix="Give a list from elsewhere, or import again with --catalogue FILE; if everybody "
            "may know which items were rated, with --public-items.",
        )
    return path / _CATALOGUE if path.is_dir() and note is not None else path
