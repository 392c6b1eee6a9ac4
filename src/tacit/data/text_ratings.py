"""Ratings from delimited text: in one pass by polars, or line by line where it finds them odd.

What polars finds odd is read again by `delimited`, which either makes sense of it or names the
first bad row. Nothing is half-loaded.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data import cells, delimited
from tacit.data.assembly import located
from tacit.data.columns import Role
from tacit.data.delimited import Dialect
from tacit.data.domains import DOMAIN, by_item
from tacit.data.plays import PLAYS, number_of_plays, settle
from tacit.data.ratings import Duplicates, Ratings, RatingScale
from tacit.data.scales import EVENTS
from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


def read_text(
    path: Path,
    dialect: Dialect,
    columns: Mapping[Role, int],
    *,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "last",
    user: int | None = None,
    least_plays: float = 1,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Ratings:
    """Ratings from the chosen column positions of a delimited file; `user` if all are of one.

    Without a rating's column, events: with numbers of plays, a like has `least_plays` or more.
    """
    read = _fast(path, dialect, columns, scale) or _careful(path, dialect, columns, scale)
    if not len(read["item"]):
        raise DataError("the file has a header but no rows", path=path)
    given = scale is not None or "rating" not in columns
    if "plays" in columns:
        read, scale = settle(read, least_plays), EVENTS
    elif scale is None and "rating" in columns:
        scale = _detect(path, dialect, columns, np.asarray(read["rating"], dtype=np.float64))
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    if "domain" in read:
        metadata[DOMAIN] = read["domain"]
    try:
        made = Ratings.from_arrays(
            read["user"] if user is None else np.full(len(read["item"]), user),
            read["item"],
            read.get("rating"),
            read.get("time"),
            scale=scale,
            duplicates=duplicates,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise located(error, path) from None
    return made if given else replace(made, scale_given=False)


def _fast(
    path: Path, dialect: Dialect, columns: Mapping[Role, int], scale: RatingScale | None
) -> dict[str, Any] | None:
    """All columns at once, or None if any cell needs a closer look."""
    import polars as pl

    try:
        frame = _scan(path, dialect, columns)
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error):
        return None
    if frame is None:
        return None
    # A null in the last column may be a short row, whose other cells then sit in wrong columns.
    if sum(frame.null_count().row(0)):
        return None
    read: dict[str, Any] = {}
    for role in ("rating", "plays"):
        if role in columns:
            numbers = frame[role].cast(pl.Float64, strict=False)
            if numbers.null_count() or not numbers.is_finite().all():
                return None
            read[role] = numbers.to_numpy()
    if "rating" in read and scale is not None and not scale.holds(read["rating"]).all():
        return None
    if "plays" in read and read["plays"].min(initial=0) < 0:
        return None
    read |= {role: _ids(frame[role]) for role in ("user", "item") if role in columns}
    if "time" in columns:
        times = _fast_times(frame["time"])
        if times is None:
            return None
        read["time"] = times
    if "domain" in columns:
        pairs = frame.select("item", "domain").unique()
        if pairs["item"].n_unique() < len(pairs):
            return None
        read["domain"] = by_item(_ids(pairs["item"]), pairs["domain"].to_list())
    return read


def _ends_in(source: Path | bytes, delimiter: str) -> bool:
    end = delimiter.encode()
    if isinstance(source, bytes):
        return source.endswith(end)
    with source.open("rb") as stream:
        stream.seek(max(0, source.stat().st_size - len(end)))
        return stream.read() == end


def _scan(path: Path, dialect: Dialect, columns: Mapping[Role, int]) -> pl.DataFrame | None:
    import polars as pl

    source: Path | bytes = path
    separator = dialect.delimiter
    if path.suffix == ".gz" or separator == "::":
        with delimited.open_binary(path) as stream:
            source = stream.read()
        if separator == "::":
            source, separator = source.replace(b"::", b"\x1f"), "\x1f"  # polars splits at one byte
    if _ends_in(source, separator):  # polars drops an empty cell too many at the very end
        return None
    lazy = pl.scan_csv(
        source,
        has_header=False,
        skip_lines=dialect.header_line,
        separator=separator,
        quote_char=None if dialect.delimiter == "::" else '"',
        schema={f"{number}": pl.String for number in range(len(dialect.headers))},
        glob=False,
    )
    wanted = [pl.col(f"{number}").alias(role) for role, number in columns.items()]
    last = pl.col(f"{len(dialect.headers) - 1}").alias("last")
    stripped = (column.str.strip_chars() for column in (*wanted, last))
    return lazy.select(stripped).with_columns(pl.all().replace("", None)).collect()


def _fast_times(column: pl.Series) -> Any:
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    if not whole.null_count():
        times = whole.to_numpy()
        return times if cells.plausible(times).all() else None
    real = column.cast(pl.Float64, strict=False)
    if real.null_count() < len(real) and (real.null_count() or not real.is_finite().all()):
        return None
    read = [cells.seconds(text) for text in column.to_list()]
    return None if None in read else np.asarray(read, dtype=np.int64)


def ids_of(texts: Sequence[str | None]) -> Any:
    """Integers if every id is written as one, else the strings as they are."""
    import polars as pl

    return _ids(pl.Series(texts, dtype=pl.String))


def _ids(column: pl.Series) -> Any:
    import polars as pl

    numbers = column.cast(pl.Int64, strict=False)
    as_written = not numbers.null_count() and bool((numbers >= 0).all())
    if as_written and bool((numbers.cast(pl.String) == column).all()):
        return numbers.to_numpy()
    return column.to_list()


def _detect(
    path: Path, dialect: Dialect, columns: Mapping[Role, int], stars: NDArray[np.float64]
) -> RatingScale:
    """The common scale of a file's ratings; an error names the line of the first odd one."""
    try:
        return RatingScale.detect(stars)
    except DataError as error:
        raise _at_line(error, path, dialect, columns["rating"]) from None


def _at_line(error: DataError, path: Path, dialect: Dialect, column: int) -> DataError:
    """The same complaint about a record, with the line it stands on."""
    row = error.row
    if row is not None:
        row = next(islice(delimited.rows(path, dialect), row - 1, None))[0]
    return DataError(
        error.what,
        path=path,
        row=row,
        column=dialect.headers[column],
        found=error.found,
        expected=error.expected,
        fix=error.fix,
    )


def _careful(
    path: Path, dialect: Dialect, columns: Mapping[Role, int], scale: RatingScale | None
) -> dict[str, Any]:

    read: dict[Role, list[Any]] = {role: [] for role in columns}
    for line, row in delimited.rows(path, dialect):
        for role, position in columns.items():
            try:
                read[role].append(_value(role, row[position], scale))
            except ValueError as error:
                raise DataError(
                    f"not a valid {role}" if row[position] else f"the {role} is missing",
                    path=path,
                    row=line,
                    column=dialect.headers[position],
                    found=row[position],
                    expected=str(error),
                ) from None
    made: dict[str, Any] = {str(role): column for role, column in read.items()}
    for role in ("user", "item"):
        if role in made:
            made[role] = ids_of(made[role])
    if "domain" in columns:
        try:
            made["domain"] = by_item(made["item"], made["domain"])
        except DataError as error:
            raise _at_line(error, path, dialect, columns["domain"]) from None
    return made


def _value(role: Role, text: str, scale: RatingScale | None) -> str | float | int:
    """A cell's value; ValueError says what was expected."""
    if role == "rating":
        stars = cells.number(text)
        if stars is None:
            raise ValueError(cells.NUMBER)
        if scale is not None and not scale.holds(np.array([stars])).all():
            raise ValueError(f"a rating on the scale {scale}")
        return stars
    if role == "plays":
        plays = number_of_plays(text)
        if plays is None:
            raise ValueError(PLAYS)
        return plays
    if role == "time":
        moment = cells.seconds(text)
        if moment is None:
            raise ValueError(cells.TIME)
        return moment
    if not text:
        raise ValueError("the item's domain" if role == "domain" else "an id")
    return text
