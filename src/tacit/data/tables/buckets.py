"""Parquet files streamed in bounded memory: people in buckets on disk, one bucket at a time.

On disk    a folder of this process alone (mode 0700) in the system's place for temporary files, or
           TMPDIR: everybody's ids and rows, as plain as in the files they come from. It goes when
           the work ends or fails; a process that is killed leaves a folder `tacit-...` behind.
Memory     a chunk of the files, then one bucket. A person is in one bucket, however long.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.domains import none_rated
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.stored import MOST_VALUES, Block, Public, Rows, StoredRatings, columns_among
from tacit.data.tables import Role
from tacit.data.tables.cleaning import parts_of
from tacit.data.tables.folder import is_folder
from tacit.errors import ConfigError, DataError, OutputError

LEAST_MEMORY = 2**30
_OWN = 0.45 * 2**30  # of the process before it reads anything
OF_ROW = 320
"""Bytes of a row at most while its bucket is sorted, or its chunk is parted."""
COPIES = 6
"""Of an id of text at that time."""
_SAMPLE = 10_000  # rows of a file whose ids of text are measured
_IDS = ("user", "item")


class Buckets(StoredRatings):
    """Ratings of Parquet files, as `open_parquet` makes them; a context that removes its folder."""

    def __init__(self, files: Sequence[Path], used: Mapping[Role, str], memory: int) -> None:
        if memory < LEAST_MEMORY:
            raise ConfigError("Streaming takes a memory of 1GiB or more.")
        self._files, self._used, self._memory = files, used, memory
        place = os.environ.get("TMPDIR") or None  # Python takes another if it is not there
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-", dir=place)
        self._home = Path(self._folder.name)
        self._sorted: list[Path] = []

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def part(self, public: Public) -> None:
        """Read the files once: everybody's rows go to their buckets, in their order."""
        sizes = [_size(file) for file in self._files]
        if not sum(sizes):
            raise DataError("the files have no rows", path=self._files[0].parent)
        at_once = int((self._memory - _OWN) / (OF_ROW + COPIES * self._width()))  # rows
        count = math.ceil(sum(sizes) / at_once * 1.2)  # buckets are not equally full
        items = stars = pl.Series([], dtype=pl.Null)
        kinds: dict[str, pl.DataType] = {}
        for number, chunk in enumerate(self._chunks(sizes, max(at_once // 4, 1), public.scale)):
            if any(chunk[role].dtype != kinds.setdefault(role, chunk[role].dtype) for role in _IDS):
                raise DataError("the ids of some files are integers, and of others text",
                                path=self._files[0].parent)  # fmt: skip
            if public.catalogue is None:
                items = _with(items, chunk["item"])
            if "rating" in chunk.columns and public.scale is None and len(stars) <= MOST_VALUES:
                stars = _with(stars, chunk["rating"])
            parts = chunk.with_columns(bucket=pl.col("user").hash(7) % count)
            for (bucket,), rows in parts.partition_by("bucket", as_dict=True).items():
                place = self._home / str(bucket)
                place.mkdir(exist_ok=True)
                rows.drop("bucket").write_ipc(place / f"{number:06}.arrow")
        found = stars.to_numpy() if "rating" in self._used else None
        self.catalogue = public.known(items.to_list, found)
        if not sum([self._sort(place) for place in sorted(self._home.iterdir())]):
            raise none_rated()

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """The sum over buckets, in turn."""
        total: NDArray[Any] | None = None
        for file in self._sorted:
            with np.load(file) as kept:
                block = Block(**kept)
            made = add(block.ratings(self.catalogue.n_items, self.catalogue.scale))
            total = made if total is None else total + made
            self.advance(1 / len(self._sorted))
        assert total is not None  # there is a row
        return total

    def _width(self) -> float:
        """Bytes of a row's ids of text, in the file where they are longest at its beginning."""
        widths = []
        for file in self._files:
            first = _cut(_scan(file).select(self._used[role] for role in _IDS), 0, _SAMPLE, file)
            widths.append(first.select(pl.col(pl.String)).estimated_size() / max(len(first), 1))
        return max(widths)

    def _chunks(
        self, sizes: Sequence[int], size: int, scale: RatingScale | None
    ) -> Iterator[pl.DataFrame]:
        for file, rows in zip(self._files, sizes, strict=True):
            table = _scan(file).select(
                pl.col(name).alias(role) for role, name in self._used.items()
            )
            for start in range(0, rows, size):
                yield parts_of(_cut(table, start, size, file), self._used, scale, file)

    def _sort(self, place: Path) -> int:
        """A bucket's rows as one block; how many of them count."""
        frame = pl.concat([pl.read_ipc(file) for file in sorted(place.iterdir())])
        items = self.catalogue.item_ids
        rows = Rows(
            frame["user"].rank("dense").to_numpy() - np.uint32(1),
            numbers_in(frame["item"], items).to_numpy(),
            frame["rating"].to_numpy() if "rating" in frame.columns else np.ones(len(frame)),
            frame["time"].to_numpy() if "time" in frame.columns else None,
        )
        block = rows.block(len(items), ordered=True)
        self._sorted.append(self._home / f"{place.name}.npz")
        np.savez(self._sorted[-1], **vars(block))
        shutil.rmtree(place)
        return len(block.items)


def _with(seen: pl.Series, column: pl.Series) -> pl.Series:
    """Different values of both."""
    return seen.append(column.unique()).unique() if len(seen) else column.unique()


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Errors of polars without what they say: it may hold a person's row."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise DataError("the Parquet file cannot be read", path=file,
                        fix="It may be cut off or damaged: write it again.") from None  # fmt: skip


def _scan(file: Path) -> pl.LazyFrame:
    """This file alone: no sign in its name stands for others, and no folder for a column."""
    return pl.scan_parquet(file, glob=False, hive_partitioning=False)


def _size(file: Path) -> int:
    with _reading(file):
        return int(_scan(file).select(pl.len()).collect().item())


def _cut(table: pl.LazyFrame, start: int, size: int, file: Path) -> pl.DataFrame:
    with _reading(file):
        return table.slice(start, size).collect()


def _headers(file: Path) -> list[str]:
    with _reading(file):
        return _scan(file).collect_schema().names()


def column_of(path: Path, name: str, size: int) -> Iterator[list[Any]]:
    """The cells of a column of a Parquet file, so many at a time."""
    headers = _headers(path)
    if name not in headers:
        raise DataError("no such column", path=path, found=", ".join(headers), expected=name)
    for start in range(0, _size(path), size):
        yield _cut(_scan(path).select(name), start, size, path)[name].drop_nulls().to_list()


def numbers_in(items: pl.Series, ids: NDArray[Any]) -> pl.Series:
    """Where each id stands in the catalogue, compared as they are written; -1: nowhere."""
    known = pl.Series(ids.tolist())
    if known.dtype == pl.String or items.dtype == pl.String:
        known, items = known.cast(pl.String), items.cast(pl.String)
    table = pl.DataFrame({"item": known, "number": np.arange(len(ids), dtype=np.int32)})
    found = items.to_frame("item").join(table, on="item", how="left", maintain_order="left")
    return found["number"].fill_null(-1)


def open_parquet(
    path: Path, asked: Mapping[Role, str | None], public: Public, memory: int, *, events: bool
) -> Buckets:
    """A file or a folder of Parquet files, read once. memory: bytes, all of the process."""
    files = _files(path) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                raise DataError("this is no Parquet file", path=file,
                                fix="Write it as Parquet, or leave --memory out.")  # fmt: skip
    named = [columns_among(_headers(file), asked, events=events, path=file) for file in files]
    for file, used in zip(files, named, strict=True):
        if used != named[0]:
            raise DataError("the files do not have the same columns", path=file,
                            found=", ".join(used.values()),
                            expected=", ".join(named[0].values()))  # fmt: skip
    made = Buckets(files, named[0], memory)
    try:
        made.part(public)
    except BaseException as error:
        made.__exit__()
        if isinstance(error, OSError) and error.filename is None:
            why = error.strerror or str(error)
            raise OutputError(f"The buckets cannot be written below TMPDIR: {why}.") from None
        raise
    return made


def _files(folder: Path) -> list[Path]:
    """Parquet files of a folder that are whole; hidden ones and those being written are not."""
    if is_folder(folder):
        raise DataError("this is a folder of  tacit data import", path=folder,
                        fix="Name its ratings.parquet or events.parquet.")  # fmt: skip
    inside = {file: file.relative_to(folder).parts for file in sorted(folder.rglob("*"))}
    files = [file for file, parts in inside.items()
             if file.is_file() and not any(part[0] in "._" for part in parts)]  # fmt: skip
    if not files:
        raise DataError("there is no Parquet file in this folder", path=folder)
    for file in files:
        if file.suffix.lower() != ".parquet":
            raise DataError("the folder has another file beside its Parquet files", path=file,
                            fix="Move it, or name it .parquet if it is one.")  # fmt: skip
    return files
