"""Parquet files: telling one by its first bytes, and reading it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.data import delimited
from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl

_MAGIC = b"PAR1"


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    if path.suffix == ".gz":
        return False
    with delimited.open_binary(path) as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def read_parquet(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"the Parquet file cannot be read ({error})", path=path) from None
