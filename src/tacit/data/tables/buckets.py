"""Parquet files read in bounded memory: rows are sorted into buckets of people on disk.

Buckets    All rows of a person are in one bucket, and a bucket has the rows of many people.
On disk    A temporary folder, which only this user can read (mode 0700), holds all ids and rows, as
           unprotected as the original files. It lies in TMPDIR or the system's folder for temporary
           files. It is deleted when the work ends or fails; a process that is killed leaves a
           folder `tacit-...` behind.
Memory     holds a chunk of rows of the files, and later one bucket, beside the ids of all items.
"""

from __future__ import annotations

import itertools
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

from tacit.data.domains import drop_item_guesses, unrated_catalogue_error
from tacit.data.ratings import Ratings
from tacit.data.stored_ratings import (
    MOST_VALUES,
    Block,
    PublicInputs,
    Rows,
    StoredRatings,
    find_columns,
)
from tacit.data.tables.cells import read_cells
from tacit.data.tables.folder import is_folder
from tacit.data.tables.imported_files import find_guesses
from tacit.data.tables.names import Role
from tacit.data.tables.stored_folder import open_folder
from tacit.data.tables.times import is_text_type
from tacit.errors import ConfigError, DataError, OutputError

LEAST_MEMORY = 2**30
"""Smallest memory, in bytes, that the caller may set."""
_PROCESS_MEMORY = 0.45 * 2**30
"""Bytes that the process needs before it reads anything."""
BYTES_PER_ROW = 320
"""Largest number of bytes of memory for each row while a chunk is split or a bucket is sorted. Ids
that are texts are not counted."""
ID_COPIES = 6
"""Largest number of copies in memory of an id that is a text, while a chunk is split or a bucket is
sorted."""
_SAMPLE = 10_000
"""Number of first rows of each file whose texts are measured."""
_SURPLUS_OF_BUCKETS = 1.2
"""Factor by which there are more buckets than would suffice if all were equally full."""
_CHUNKS_IN_MEMORY = 4
"""Number of chunks that would fit into memory while one is read."""
_IDS: tuple[Role, ...] = ("user", "item")
"""The roles whose columns hold ids."""


class Buckets(StoredRatings):
    """Ratings in buckets on disk, which `open_parquet` makes.

    Args:
        folder: A folder with a subfolder for each bucket. Each subfolder is replaced by one file.
        catalogue: The items and the scale, as ratings without people.

    Raises:
        DataError: No item of the catalogue has a rating.
    """

    def __init__(self, folder: Path, catalogue: Ratings) -> None:
        self.catalogue = catalogue
        row_counts = [self._sort_bucket(bucket) for bucket in sorted(folder.iterdir())]
        if not sum(row_counts):
            raise unrated_catalogue_error()
        self._blocks = sorted(folder.iterdir())

    def _sort_bucket(self, bucket: Path) -> int:
        """Replace the folder of a bucket by one sorted file; return its number of ratings."""
        frame = pl.concat([pl.read_ipc(file) for file in sorted(bucket.iterdir())])
        items = self.catalogue.item_ids
        values = frame["rating"].to_numpy() if "rating" in frame.columns else np.ones(len(frame))
        rows = Rows(
            people=frame["user"].rank("dense").to_numpy() - np.uint32(1),  # ranks begin with 1
            items=_number_items(frame["item"], items),
            values=values,
            times=frame["time"].to_numpy() if "time" in frame.columns else None,
        )
        block = rows.to_block(len(items))
        np.savez(
            bucket.with_suffix(".npz"),
            offsets=block.offsets,
            items=block.items,
            values=block.values,
        )
        shutil.rmtree(bucket)
        return len(block.items)

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """Sum `add(ratings)` over the buckets, one after the other."""
        total: Any = 0
        for file in self._blocks:
            with np.load(file) as arrays:
                block = Block(**arrays)
            total = total + add(block.to_ratings(self.catalogue.n_items, self.catalogue.scale))
            self.advance(1 / len(self._blocks))
        return np.asarray(total)


@contextmanager
def open_parquet(
    path: Path,
    column_names: Mapping[Role, str | None],
    public: PublicInputs,
    memory: int,
    *,
    events: bool,
) -> Iterator[Buckets]:
    """Sort the ratings of Parquet files into buckets, for as long as the context lasts.

    Args:
        path: A file, a folder of files, or a folder of `tacit data import`.
        column_names: The roles to find, each with the header that the caller named, or None.
        public: The scale and the items, if they do not come from the ratings.
        memory: Largest memory of the process in bytes.
        events: Whether each row is an event without stars.

    Yields:
        The ratings.

    Raises:
        ConfigError: The memory is too small, the files have plays in place of stars, or a scale is
            given for events.
        DataError: A file cannot be read, a column or all rows are missing, a cell is bad, the files
            differ in their columns or in the type of their ids, the scale cannot be found, or no
            item of the public list has a rating.
        OutputError: The buckets cannot be written.
    """
    if memory < LEAST_MEMORY:
        raise ConfigError("Streaming needs a memory of 1GiB or more.")
    has_own_items = public.catalogue is not None
    if is_folder(path):
        path, public = open_folder(path, public)
    files = _list_files(path) if path.is_dir() else [path]
    found = [find_guesses(file) for file in files]
    guesses = tuple(dict.fromkeys(itertools.chain.from_iterable(found)))
    if has_own_items:
        guesses = drop_item_guesses(guesses)
    for file in files:
        with file.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                fix = "Write it as Parquet, or leave --memory out."
                raise DataError("this is no Parquet file", path=file, fix=fix)
    header_of_role = find_columns(
        _read_headers(files[0]), column_names, events=events, path=files[0]
    )
    for file in files:
        other_headers = find_columns(_read_headers(file), column_names, events=events, path=file)
        if other_headers != header_of_role:
            raise DataError(
                "the files do not have the same columns",
                path=file,
                found=", ".join(other_headers.values()),
                expected=", ".join(header_of_role.values()),
            )
    # Without `dir`, Python would use another folder if TMPDIR does not exist.
    parent = os.environ.get("TMPDIR") or None
    with tempfile.TemporaryDirectory(prefix="tacit-", dir=parent) as temporary:
        folder = Path(temporary)
        try:
            catalogue = _fill_buckets(folder, files, header_of_role, public, memory, guesses)
            buckets = Buckets(folder, catalogue)
        except OSError as error:
            if error.filename is not None:
                raise
            reason = error.strerror or str(error)
            raise OutputError(f"The buckets cannot be written below TMPDIR: {reason}.") from None
        yield buckets


def _is_data_file(file: Path, folder: Path) -> bool:
    """Tell whether a path is that of a file that is neither hidden nor temporary.

    A name that begins with a full stop or an underscore, of the file or of a folder above it, marks
    hidden and temporary files.

    Args:
        file: A path below the folder.
        folder: The folder that is read. Its own name and those above it do not count.
    """
    parts = file.relative_to(folder).parts
    return file.is_file() and not any(part[0] in "._" for part in parts)


def _list_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder and its subfolders.

    Raises:
        DataError: There is none, or there is another file beside them.
    """
    files = [file for file in sorted(folder.rglob("*")) if _is_data_file(file, folder)]
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


def _fill_buckets(
    folder: Path,
    files: list[Path],
    header_of_role: Mapping[Role, str],
    public: PublicInputs,
    memory: int,
    guesses: Sequence[str],
) -> Ratings:
    """Write the rows of the files to buckets; all rows of a person go to the same bucket.

    Args:
        folder: A folder, in which a subfolder for each bucket is made.
        files: The files, which all have these columns.
        header_of_role: Role to the header of its column.
        public: The scale and the items, if they do not come from the ratings.
        memory: Largest memory of the process in bytes.
        guesses: As in `PublicInputs.make_catalogue`.

    Returns:
        The catalogue: items and scale, as ratings without people.

    Raises:
        DataError: The files have no rows, a cell is bad, the files differ in the type of their ids,
            or the catalogue or the scale cannot be used or found.
        ConfigError: A scale is given for events.
    """
    sizes = [int(_read_rows(file, pl.len()).item()) for file in files]
    if not sum(sizes):
        raise DataError("there are no rows", path=files[0])
    id_columns = [header_of_role[role] for role in _IDS]
    bytes_of_ids = max(_mean_text_bytes(_read_rows(file, id_columns, 0, _SAMPLE)) for file in files)
    bytes_per_row = BYTES_PER_ROW + ID_COPIES * bytes_of_ids
    rows_in_memory = max(int((memory - _PROCESS_MEMORY) / bytes_per_row), 1)
    rows_per_chunk = max(rows_in_memory // _CHUNKS_IN_MEMORY, 1)
    bucket_count = math.ceil(sum(sizes) / rows_in_memory * _SURPLUS_OF_BUCKETS)
    columns = [pl.col(name).alias(role) for role, name in header_of_role.items()]
    chunks: list[tuple[Path, int]] = []  # the file of each chunk, and its first row in it
    for file, size in zip(files, sizes, strict=True):
        chunks += [(file, start) for start in range(0, size, rows_per_chunk)]
    items = stars = pl.Series([], dtype=pl.Null)
    first_id_types: list[pl.DataType] = []
    for number, (file, start) in enumerate(chunks):
        chunk = read_cells(
            _read_rows(file, columns, start, rows_per_chunk), header_of_role, public.scale, file
        )
        id_types = [chunk[role].dtype for role in _IDS]
        first_id_types = first_id_types or id_types
        if id_types != first_id_types:
            raise DataError(
                "the ids of some files are integers, and of others text",
                path=file,
                fix=f"Write the ids of this file as those of {files[0]}.",
            )
        if public.catalogue is None:
            items = _add_values(items, chunk["item"])
        if "rating" in header_of_role and public.scale is None and len(stars) <= MOST_VALUES:
            stars = _add_values(stars, chunk["rating"])
        # Any seed will do if it is the same for all chunks.
        with_buckets = chunk.with_columns(bucket=pl.col("user").hash(seed=7) % bucket_count)
        for (bucket,), rows in with_buckets.partition_by("bucket", as_dict=True).items():
            bucket_folder = folder / str(bucket)
            bucket_folder.mkdir(exist_ok=True)
            rows.drop("bucket").write_ipc(bucket_folder / f"{number:06}.arrow")
    return public.make_catalogue(
        items.to_list, stars.to_numpy() if "rating" in header_of_role else None, guesses
    )


def _mean_text_bytes(rows: pl.DataFrame) -> float:
    """Compute the mean number of bytes of the texts of a row, all columns together."""
    text_columns = [column for column in rows.get_columns() if is_text_type(column.dtype)]
    texts = [column.cast(pl.String) for column in text_columns]
    return sum(column.estimated_size() for column in texts) / max(len(rows), 1)


def _add_values(values: pl.Series, column: pl.Series) -> pl.Series:
    """Add the values of a column to a series of different values, so that each is in it once."""
    return values.append(column.unique()).unique() if len(values) else column.unique()


def _read_rows(file: Path, columns: Any, start: int = 0, size: int | None = None) -> pl.DataFrame:
    """Read rows of one Parquet file.

    Signs such as * in the file's name are no pattern of several files, and names of folders above
    it such as `day=3` are no columns. Errors do not have the message of polars, which may hold a
    person's row.

    Args:
        file: The file.
        columns: Names or expressions of polars.
        start: First row, counted from 0.
        size: Largest number of rows; None: all rows from `start` on.

    Raises:
        DataError: The file cannot be read.
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


def _read_headers(file: Path) -> list[str]:
    """Return the names of a file's columns."""
    return _read_rows(file, pl.all(), 0, 0).columns


def read_column_in_parts(path: Path, name: str, size: int) -> Iterator[list[Any]]:
    """Yield the cells of a column of a Parquet file, part by part, without empty ones.

    Args:
        path: The file.
        name: Header of the column.
        size: Largest number of cells of a part.

    Raises:
        DataError: The file cannot be read, or it has no such column.
    """
    headers = _read_headers(path)
    if name not in headers:
        raise DataError("no such column", path=path, found=", ".join(headers), expected=name)
    for start in range(0, int(_read_rows(path, pl.len()).item()), size):
        yield _read_rows(path, name, start, size)[name].drop_nulls().to_list()


def _number_items(items: pl.Series, ids: NDArray[Any]) -> NDArray[np.int32]:
    """Turn ids of items into their numbers in the catalogue.

    Ids are compared as integers if all are integers, else by their text.

    Args:
        items: (rows,) ids of items.
        ids: (items,) ids of the catalogue.

    Returns:
        (rows,) indices into `ids`; -1 for an item that is not in the catalogue.
    """
    catalogue_ids = pl.Series(ids.tolist())
    if catalogue_ids.dtype == pl.String or items.dtype == pl.String:
        catalogue_ids = catalogue_ids.cast(pl.String)
        items = items.cast(pl.String)
    table = pl.DataFrame({"item": catalogue_ids, "number": np.arange(len(ids), dtype=np.int32)})
    numbered = items.to_frame("item").join(table, on="item", how="left", maintain_order="left")
    return numbered["number"].fill_null(-1).to_numpy()
