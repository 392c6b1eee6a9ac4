"""Tables written whole: CSV, TSV or Parquet, by the ending of the name."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.domains import DOMAIN
from tacit.data.ratings import Column, Ratings
from tacit.data.scales import EVENTS
from tacit.errors import ConfigError
from tacit.writing import write_whole

if TYPE_CHECKING:
    import polars as pl

PathLike = str | Path
_ENDINGS = (".csv", ".tsv", ".parquet")


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
        columns["rating"] = ratings.values
    if ratings.timestamps is not None:
        columns["timestamp"] = ratings.timestamps
    if domains and DOMAIN in ratings.item_metadata:
        columns[DOMAIN] = ratings.item_metadata[DOMAIN][ratings.items]
    if ratings.scale.discrete and bool((ratings.values % 1 == 0).all()) and "rating" in columns:
        columns["rating"] = ratings.values.astype(np.int64)
    _write_columns(columns, path)


def write_users(ratings: Ratings, path: PathLike) -> None:
    """Write user_id and every user attribute, in the form `read_users` reads."""
    _write_columns({"user_id": ratings.user_ids, **ratings.user_attributes}, path)


def write_items(ratings: Ratings, path: PathLike) -> None:
    """Write item_id and all item metadata, in the form `read_items` reads."""
    _write_columns({"item_id": ratings.item_ids, **ratings.item_metadata}, path)


def _write_columns(columns: dict[str, Column], path: PathLike) -> None:
    import polars as pl

    _write(pl.DataFrame({name: _series(column) for name, column in columns.items()}), Path(path))


def check_ending(path: Path) -> None:
    """ConfigError unless a table can be written under a name that ends like this."""
    if path.suffix not in _ENDINGS:
        raise ConfigError(
            f"{path}: a table cannot be written under this ending. Use one of "
            f"{', '.join(_ENDINGS)}."
        )


def _write(frame: pl.DataFrame, path: Path) -> None:
    check_ending(path)
    content = BytesIO()
    if path.suffix == ".parquet":
        frame.write_parquet(content)
    else:
        frame.write_csv(content, separator="\t" if path.suffix == ".tsv" else ",")
    write_whole(path, content.getvalue())


def _series(column: Column) -> pl.Series:
    import polars as pl

    return pl.Series(column.tolist() if column.dtype == object else column)
