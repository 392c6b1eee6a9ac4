"""Parquet files streamed in bounded memory: people in buckets on disk, one bucket at a time.

On disk    a folder of this process alone (mode 0700) in the system's place for temporary files, or
           TMPDIR: everybody's ids and rows, as plain as in the files they come from. It goes when
           the work ends or fails; a process that is killed leaves a folder `tacit-...` behind.
Memory     a chunk of the files, then one bucket. A person is in one bucket, however long.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.domains import unrated_catalogue_error
from tacit.data.ratings import Ratings
from tacit.data.stored_ratings import (
    MOST_VALUES,
    Block,
    PublicInputs,
    Rows,
    StoredRatings,
    find_columns,
)
from tacit.data.tables.cells import parts_of
from tacit.data.tables.folder import is_folder
from tacit.data.tables.names import Role
from tacit.errors import ConfigError, DataError, OutputError

LEAST_MEMORY = 2**30
_OWN = 0.45 * 2**30  # of the process before it reads anything
OF_ROW, COPIES = 320, 6
"""Bytes of a row at most while its bucket is sorted or its chunk parted, and copies of an id."""
_SAMPLE = 10_000  # rows of a file whose ids of text are measured
_IDS: tuple[Role, ...] = ("user", "item")


class Buckets(StoredRatings):
    """Ratings of Parquet files in a folder, as `open_parquet` makes them."""

    def __init__(self, home: Path, catalogue: Ratings) -> None:
        self.catalogue = catalogue
        rated = [self._sort(place) for place in sorted(home.iterdir())]
        if not sum(rated):
            raise unrated_catalogue_error()
        self._blocks = sorted(home.iterdir())

    def _sort(self, place: Path) -> int:
        """A bucket's rows as one block; how many of them count."""
        frame = pl.concat([pl.read_ipc(file) for file in sorted(place.iterdir())])
        items = self.catalogue.item_ids
        block = Rows(
            frame["user"].rank("dense").to_numpy() - np.uint32(1),
            _numbers_in(frame["item"], items),
            frame["rating"].to_numpy() if "rating" in frame.columns else np.ones(len(frame)),
            frame["time"].to_numpy() if "time" in frame.columns else None,
        ).to_block(len(items))
        np.savez(
            place.with_suffix(".npz"),
            offsets=block.offsets,
            items=block.items,
            values=block.values,
        )
        shutil.rmtree(place)
        return len(block.items)

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """Sum what `add` makes of each bucket's ratings, one bucket at a time."""
        total: Any = 0
        for file in self._blocks:
            with np.load(file) as arrays:
                block = Block(**arrays)
            total = total + add(block.to_ratings(self.catalogue.n_items, self.catalogue.scale))
            self.advance(1 / len(self._blocks))
        return np.asarray(total)


@contextmanager
def open_parquet(
    path: Path, asked: Mapping[Role, str | None], public: PublicInputs, memory: int, *, events: bool
) -> Iterator[Buckets]:
    """A file or a folder of Parquet files, read once. memory: bytes, all of the process."""
    if memory < LEAST_MEMORY:
        raise ConfigError("Streaming takes a memory of 1GiB or more.")
    files = _list_files(path) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                fix = "Write it as Parquet, or leave --memory out."
                raise DataError("this is no Parquet file", path=file, fix=fix)
    named = [find_columns(_headers(file), asked, events=events, path=file) for file in files]
    for file, used in zip(files, named, strict=True):
        if used != named[0]:
            raise DataError(
                "the files do not have the same columns",
                path=file,
                found=", ".join(used.values()),
                expected=", ".join(named[0].values()),
            )
    place = os.environ.get("TMPDIR") or None  # Python takes another if it is not there
    with tempfile.TemporaryDirectory(prefix="tacit-", dir=place) as home:
        try:
            made = Buckets(Path(home), _fill_buckets(Path(home), files, named[0], public, memory))
            made.digest = _digest_files(files)
        except OSError as error:
            if error.filename is not None:
                raise
            why = error.strerror or str(error)
            raise OutputError(f"The buckets cannot be written below TMPDIR: {why}.") from None
        yield made


def _is_whole_file(file: Path, folder: Path) -> bool:
    """Tell whether this is a file that is neither hidden nor being written."""
    parts = file.relative_to(folder).parts
    return file.is_file() and not any(part[0] in "._" for part in parts)


def _list_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder that are whole."""
    if is_folder(folder):
        raise DataError(
            "this is a folder of  tacit data import",
            path=folder,
            fix="Name its ratings.parquet or events.parquet.",
        )
    files = [file for file in sorted(folder.rglob("*")) if _is_whole_file(file, folder)]
    if not files:
        raise DataError("there is no Parquet file in this folder", path=folder)
    for file in files:
        if file.suffix.lower() != ".parquet":
            raise DataError(
                "the folder has another file beside its Parquet files",
                path=file,
                fix="Move it, or name it .parquet if it is one.",
            )
    return files


def _digest_files(files: list[Path]) -> bytes:
    """Digest all bytes of the files, in whatever folder they lie."""
    digests = []
    for file in files:
        with file.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").digest())
    return hashlib.sha256(b"".join(sorted(digests))).digest()


def _fill_buckets(
    home: Path, files: list[Path], used: Mapping[Role, str], public: PublicInputs, memory: int
) -> Ratings:
    """Read the files once, and put each person's rows into a bucket in their order.

    Returns:
        The catalogue: items and scale, without ratings.
    """
    sizes = [int(_read(file, pl.len()).item()) for file in files]
    if not sum(sizes):
        raise DataError("the files have no rows", path=files[0].parent)
    id_columns = [used[role] for role in _IDS]
    bytes_of_ids = max(_bytes_of_texts(_read(file, id_columns, 0, _SAMPLE)) for file in files)
    at_once = max(int((memory - _OWN) / (OF_ROW + COPIES * bytes_of_ids)), 1)  # rows
    step = max(at_once // 4, 1)
    count = math.ceil(sum(sizes) / at_once * 1.2)  # buckets are not equally full
    columns = [pl.col(name).alias(role) for role, name in used.items()]
    chunks: list[tuple[Path, int]] = []
    for file, size in zip(files, sizes, strict=True):
        chunks += [(file, start) for start in range(0, size, step)]
    items = stars = pl.Series([], dtype=pl.Null)
    kinds: list[pl.DataType] = []
    for number, (file, start) in enumerate(chunks):
        chunk = parts_of(_read(file, columns, start, step), used, public.scale, file)
        own = [chunk[role].dtype for role in _IDS]
        kinds = kinds or own
        if own != kinds:
            raise DataError(
                "the ids of some files are integers, and of others text", path=files[0].parent
            )
        if public.catalogue is None:
            items = _add_values(items, chunk["item"])
        if "rating" in used and public.scale is None and len(stars) <= MOST_VALUES:
            stars = _add_values(stars, chunk["rating"])
        parts = chunk.with_columns(bucket=pl.col("user").hash(7) % count)
        for (bucket,), rows in parts.partition_by("bucket", as_dict=True).items():
            place = home / str(bucket)
            place.mkdir(exist_ok=True)
            rows.drop("bucket").write_ipc(place / f"{number:06}.arrow")
    return public.make_catalogue(items.to_list, stars.to_numpy() if "rating" in used else None)


def _bytes_of_texts(rows: pl.DataFrame) -> float:
    """Compute the mean number of bytes that a row's texts take."""
    return rows.select(pl.col(pl.String)).estimated_size() / max(len(rows), 1)


def _add_values(seen: pl.Series, column: pl.Series) -> pl.Series:
    """Add a column's values to those that were seen, each once."""
    return seen.append(column.unique()).unique() if len(seen) else column.unique()


def _read(file: Path, columns: Any, start: int = 0, size: int | None = None) -> pl.DataFrame:
    """Read rows of this file alone: no sign in its name stands for others, no folder for a column.

    Errors are without what polars says: it may hold a person's row.
    """
    try:
        table = pl.scan_parquet(file, glob=False, hive_partitioning=False)
        return table.select(columns).slice(start, size).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise DataError(
            "the Parquet file cannot be read",
            path=file,
            fix="It may be cut off or damaged: write it again.",
        ) from None


def _headers(file: Path) -> list[str]:
    return _read(file, pl.all(), 0, 0).columns


def column_of(path: Path, name: str, size: int) -> Iterator[list[Any]]:
    """Yield the cells of a column of a Parquet file, so many at a time."""
    headers = _headers(path)
    if name not in headers:
        raise DataError("no such column", path=path, found=", ".join(headers), expected=name)
    for start in range(0, int(_read(path, pl.len()).item()), size):
        yield _read(path, name, start, size)[name].drop_nulls().to_list()


def _numbers_in(items: pl.Series, ids: NDArray[Any]) -> NDArray[np.int32]:
    """Number each id by its place in the catalogue, compared as they are written; -1: nowhere."""
    known = pl.Series(ids.tolist())
    if known.dtype == pl.String or items.dtype == pl.String:
        known, items = known.cast(pl.String), items.cast(pl.String)
    table = pl.DataFrame({"item": known, "number": np.arange(len(ids), dtype=np.int32)})
    numbered = items.to_frame("item").join(table, on="item", how="left", maintain_order="left")
    return numbered["number"].fill_null(-1).to_numpy()
