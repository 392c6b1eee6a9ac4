"""Parquet files streamed in bounded memory: people in buckets on disk, one bucket at a time.

On disk    a folder of this process alone (mode 0700) in the system's place for temporary files, or
           TMPDIR: everybody's ids and rows, as plain as in the files they come from. It goes when
           the work ends or fails; a process that is killed leaves a folder `tacit-...` behind.
Memory     a chunk of the files, then one bucket. A person is in one bucket, however long.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.stored import MOST_VALUES, Block, Columns, Public, Rows, StoredRatings
from tacit.data.tables.table import Role
from tacit.errors import ConfigError, DataError

LEAST_MEMORY = 2**30
_OWN = 0.45 * 2**30  # of the process before it reads anything
_OF_ROW = 320  # bytes of a row at most while its bucket is sorted, or its chunk is parted


class Buckets(StoredRatings):
    """Ratings of Parquet files, as `open_parquet` makes them; a context that removes its folder."""

    def __init__(self, files: Sequence[Path], columns: Columns, memory: int) -> None:
        if memory < LEAST_MEMORY:
            raise ConfigError("Streaming takes a memory of 1GiB or more.")
        self._files, self._columns = files, columns
        self._rows = int((memory - _OWN) / _OF_ROW)  # in memory at once
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-")
        self._home = Path(self._folder.name)
        self._bounds: NDArray[np.int64] = np.zeros(0, np.int64)

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def part(self, public: Public) -> None:
        """Read the files once: everybody's rows go to their buckets, in their order."""
        total = sum(pl.scan_parquet(file).select(pl.len()).collect().item() for file in self._files)
        if not total:
            raise DataError("the files have no rows", path=self._files[0].parent)
        count = math.ceil(total / self._rows * 1.2)  # buckets are not equally full
        items, stars = _Distinct(None), _Distinct(MOST_VALUES)
        for number, chunk in enumerate(self._chunks(max(self._rows // 4, 1))):
            if public.catalogue is None:
                items.see(chunk["item"])
            if self._columns.rating is not None:
                stars.see(chunk["rating"])
                if stars.many and public.scale is not None:
                    public.scale_of(stars.emptied())
            parts = chunk.with_columns(bucket=pl.col("user").hash(7) % count)
            for (bucket,), rows in parts.partition_by("bucket", as_dict=True).items():
                place = self._home / str(bucket)
                place.mkdir(exist_ok=True)
                rows.drop("bucket").write_ipc(place / f"{number:06}.arrow")
        found = None if self._columns.rating is None else stars.array()
        self.catalogue = public.known(items.list, found)
        for place in sorted(self._home.iterdir()):
            self._sort(place)

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """The sum over buckets, in turn."""
        total: NDArray[Any] | None = None
        for file in sorted(self._home.glob("*.npz")):
            with np.load(file) as kept:
                block = Block(**kept)
            made = add(block.ratings(self.catalogue.n_items, self.catalogue.scale))
            total = made if total is None else total + made
        assert total is not None  # there is a row
        return total

    def _chunks(self, size: int) -> Iterator[pl.DataFrame]:
        used = self._columns.used
        for file in self._files:
            table = pl.scan_parquet(file).select(pl.col(name).alias(r) for r, name in used.items())
            rows = table.select(pl.len()).collect().item()
            for start in range(0, rows, size):
                yield self._checked(table.slice(start, size).collect(), file)

    def _checked(self, chunk: pl.DataFrame, file: Path) -> pl.DataFrame:
        for role, name in self._columns.used.items():
            kind, what = chunk[role].dtype, None
            if role in ("user", "item") and not (kind.is_integer() or kind == pl.String):
                what = f"a {role} id is an integer or a string"
            if role in ("rating", "time") and not (kind.is_numeric() or kind.is_temporal()):
                what = f"the {role} is no number"
            if what is not None:
                raise DataError(what, path=file, column=name, found=str(kind))
            if chunk[role].null_count():
                raise DataError(f"a row has no {role}", path=file, column=name,
                                fix="Leave such rows out.")  # fmt: skip
        if "rating" in chunk.columns:
            chunk = chunk.with_columns(pl.col("rating").cast(pl.Float64))
        return chunk

    def _sort(self, place: Path) -> None:
        """A bucket's rows as one block."""
        frame = pl.concat([pl.read_ipc(file) for file in sorted(place.iterdir())])
        items = self.catalogue.item_ids
        rows = Rows(
            frame["user"].rank("dense").to_numpy() - np.uint32(1),
            numbers_in(frame["item"], items).to_numpy(),
            frame["rating"].to_numpy() if "rating" in frame.columns else np.ones(len(frame)),
            frame["time"].to_physical().to_numpy() if "time" in frame.columns else None,
        )
        np.savez(self._home / f"{place.name}.npz", **vars(rows.block(len(items), ordered=True)))
        shutil.rmtree(place)


class _Distinct:
    """Different values of a column. most: how many of them are kept at least."""

    def __init__(self, most: int | None) -> None:
        self._most, self._seen = most, pl.Series([], dtype=pl.Null)

    def see(self, column: pl.Series) -> None:
        new = column.unique()
        self._seen = new if not len(self._seen) else self._seen.append(new).unique()

    @property
    def many(self) -> bool:
        return self._most is not None and len(self._seen) > self._most

    def array(self) -> NDArray[np.float64]:
        return self._seen.to_numpy()

    def list(self) -> list[Any]:
        return self._seen.to_list()

    def emptied(self) -> NDArray[np.float64]:
        found, self._seen = self.array(), self._seen.clear()
        return found


def column_of(path: Path, name: str, size: int) -> Iterator[list[Any]]:
    """The cells of a column of a Parquet file, so many at a time."""
    table = pl.scan_parquet(path)
    headers = table.collect_schema().names()
    if name not in headers:
        raise DataError("no such column", path=path, found=", ".join(headers), expected=name)
    for start in range(0, table.select(pl.len()).collect().item(), size):
        yield table.select(name).slice(start, size).collect()[name].drop_nulls().to_list()


def numbers_in(items: pl.Series, ids: NDArray[Any]) -> pl.Series:
    """Where each id stands in the catalogue, compared as they are written; -1: nowhere."""
    known = pl.Series(ids.tolist())
    if known.dtype == pl.String or items.dtype == pl.String:
        known, items = known.cast(pl.String), items.cast(pl.String)
    table = pl.DataFrame({"item": known, "number": np.arange(len(ids), dtype=np.int32)})
    asked = items.to_frame("item").with_columns(pl.col("item").cast(known.dtype))
    found = asked.join(table, on="item", how="left", maintain_order="left")["number"]
    return found.fill_null(-1)


def open_parquet(
    path: Path, asked: Mapping[Role, str | None], public: Public, memory: int, *, events: bool
) -> Buckets:
    """A file or a folder of Parquet files, read once. memory: bytes, all of the process."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                raise DataError("this is no Parquet file", path=file,
                                fix="Write it as Parquet, or leave --memory out.")  # fmt: skip
    if not files:
        raise DataError("there is no Parquet file in this folder", path=path)
    headers = list(pl.read_parquet_schema(files[0]))
    columns = Columns.among(headers, asked, events=events, path=path)
    made = Buckets(files, columns, memory)
    try:
        made.part(public)
    except BaseException:
        made.__exit__()
        raise
    return made
