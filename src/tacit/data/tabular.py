"""Ratings from the tables people have: CSV, TSV, other delimited text, gzipped text, Parquet.

A clean file is read in one pass by polars. Anything polars finds odd is read again line by line
by `delimited`, which either makes sense of it or names the first bad row. Nothing is half-loaded.

Ids       A text column in which every id is a whole number, written without sign, leading zero or
          blanks and below 2**63, gives integer ids; any other text column gives strings, so that
          '007' stays '007'. Parquet columns keep the type they were stored with.
Times     Seconds since 1970 (decimals are cut) or ISO dates and date-times, UTC unless they say.
Rows      A row number is the line in a text file (1 is the header) and the record in Parquet.
People    A file with ratings of one person only is fine; ids in a users or items file that have no
          rating are left out, but a file in which no id has one is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data import cells, delimited
from tacit.data.assembly import located
from tacit.data.columns import Role, choose, choose_all, find
from tacit.data.delimited import Dialect
from tacit.data.domains import DOMAIN, by_item, domain_of
from tacit.data.frames import from_frame
from tacit.data.ratings import Column, Duplicates, Ratings, RatingScale
from tacit.errors import ConfigError, DataError
from tacit.writing import write_whole

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

PathLike = str | Path
_PARQUET = b"PAR1"
_ENDINGS = (".csv", ".tsv", ".parquet")


def read_ratings(
    path: PathLike,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    domain: str | None = None,
    delimiter: str | None = None,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "last",
    users: PathLike | None = None,
    items: PathLike | None = None,
) -> Ratings:
    """Read one file of ratings.

    user, item, rating, time   column names; by default well-known headers in any case, such as
                               user_id, movieId, rating, timestamp or user_id:token
    domain                     name of the column that says which domain an item is of, in this file
                               or else in `items`; it becomes the item metadata 'domain'
    delimiter                  sniffed among comma, tab, semicolon, pipe and `::` unless given
    scale                      ratings off it are refused; without it the scale is detected
    duplicates                 as in `Ratings.from_arrays`
    users, items               files of user attributes and item metadata, as `read_users` reads
    """
    path = Path(path)
    named: dict[Role, str | None] = {"user": user, "item": item, "rating": rating, "time": time}
    if is_parquet(path):
        frame = _parquet(path)
        ratings = from_frame(
            frame,
            user=user,
            item=item,
            rating=rating,
            time=time,
            domain=_own_domain(frame.columns, domain, items),
            scale=scale,
            duplicates=duplicates,
            path=path,
        )
    else:
        dialect = delimited.sniff(path, delimiter, (*named.values(), domain))
        named["domain"] = _own_domain(dialect.headers, domain, items)
        columns = choose_all(dialect.headers, named, path=path)
        ratings = read_text(path, dialect, columns, scale=scale, duplicates=duplicates)
    if users is not None:
        ratings = replace(ratings, user_attributes=_matched(Path(users), "user", user, ratings))
    if items is not None:
        ratings = _with_items(ratings, Path(items), item, domain)
    return ratings


def _own_domain(headers: Sequence[str], domain: str | None, items: PathLike | None) -> str | None:
    """The domain's column if it has to be in the ratings' own file: no other has it."""
    return domain if items is None or find("domain", headers, domain) is not None else None


def _with_items(ratings: Ratings, path: Path, item: str | None, domain: str | None) -> Ratings:
    """Item metadata from a file; the domain too, if the ratings have come without."""
    columns = _matched(path, "item", item, ratings)
    made = replace(ratings, item_metadata={**columns, **ratings.item_metadata})
    if domain is None or DOMAIN in ratings.item_metadata:
        return made
    position = choose("domain", tuple(columns), domain, path=path)
    named = [*columns.values()][position or 0]
    made = replace(ratings, item_metadata={**columns, DOMAIN: named})
    try:
        domain_of(made)
    except DataError as error:
        raise located(error, path) from None
    return made


def read_users(
    path: PathLike, *, user: str | None = None, delimiter: str | None = None
) -> dict[str, dict[Any, str | None]]:
    """User attributes: column name -> id -> value, a stripped string, or None where empty.

    The id column is the one named, else one with a well-known header, else the first.
    """
    return _by_id(Path(path), "user", user, delimiter)


def read_items(
    path: PathLike, *, item: str | None = None, delimiter: str | None = None
) -> dict[str, dict[Any, str | None]]:
    """Item metadata, in the form of `read_users`."""
    return _by_id(Path(path), "item", item, delimiter)


def read_catalogue(
    path: PathLike,
    *,
    item: str | None = None,
    domain: str | None = None,
    delimiter: str | None = None,
) -> dict[str, dict[Any, str | None]]:
    """A public list of items, as `read_items` reads it: 'domain' and, where there is one, 'title'.

    domain: name of the domain's column; without it, or where the file has no such column, 'domain'.
    """
    path = Path(path)
    try:
        columns = read_items(path, item=item, delimiter=delimiter)
    except DataError:
        if item is None:
            raise
        columns = read_items(path, delimiter=delimiter)  # its id column has a name of its own
    headers = tuple(columns)
    asked = domain if find("domain", headers, domain) is not None else DOMAIN
    position = choose("domain", headers, asked, path=path)
    found = {DOMAIN: columns[headers[position or 0]]}
    return found | ({"title": columns["title"]} if "title" in columns else {})


def read_history(
    path: PathLike,
    *,
    item: str | None = None,
    rating: str | None = None,
    delimiter: str | None = None,
    scale: RatingScale | None = None,
    item_ids: Column | None = None,
) -> dict[Any, float]:
    """One person's own ratings, item id -> stars; of an item rated twice the last row counts.

    item_ids: the ids a model knows. An id of the file that is written like one of them becomes that
    one, so that a file with items 7 and 8 serves a model whose ids are strings.
    """
    path = Path(path)
    if is_parquet(path):
        frame = _parquet(path)
        ratings = from_frame(
            frame.with_columns(user=0),
            user="user",
            item=item,
            rating=rating,
            scale=scale,
            path=path,
        )
    else:
        dialect = delimited.sniff(path, delimiter, (item, rating))
        names: dict[Role, str | None] = {"item": item, "rating": rating}
        columns = choose_all(dialect.headers, names, path=path)
        ratings = read_text(path, dialect, columns, scale=scale, user=0)
    known = {} if item_ids is None else {str(key): key for key in item_ids.tolist()}
    return {known.get(str(key), key): stars for key, stars in ratings.history(0).items()}


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    if path.suffix == ".gz":
        return False
    with delimited.open_binary(path) as stream:
        return stream.read(len(_PARQUET)) == _PARQUET


def read_text(
    path: Path,
    dialect: Dialect,
    columns: Mapping[Role, int],
    *,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "last",
    user: int | None = None,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Ratings:
    """Ratings from the chosen column positions of a delimited file; `user` if all are of one."""
    read = _fast(path, dialect, columns, scale) or _careful(path, dialect, columns, scale)
    if not len(read["rating"]):
        raise DataError("the file has a header but no ratings", path=path)
    given = scale is not None
    if scale is None:
        scale = _detect(path, dialect, columns, np.asarray(read["rating"], dtype=np.float64))
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    if "domain" in read:
        metadata[DOMAIN] = read["domain"]
    try:
        made = Ratings.from_arrays(
            read["user"] if user is None else np.full(len(read["rating"]), user),
            read["item"],
            read["rating"],
            read.get("time"),
            scale=scale,
            duplicates=duplicates,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise located(error, path) from None
    return made if given else replace(made, scale_given=False)


def write_ratings(ratings: Ratings, path: PathLike) -> None:
    """Write user_id, item_id, rating and, where known, timestamp and domain.

    The name's ending says how: .csv, .tsv or .parquet; another ending is refused.
    """
    import polars as pl

    columns: dict[str, Any] = {
        "user_id": ratings.user_ids[ratings.users],
        "item_id": ratings.item_ids[ratings.items],
        "rating": ratings.values,
    }
    if ratings.timestamps is not None:
        columns["timestamp"] = ratings.timestamps
    if DOMAIN in ratings.item_metadata:
        columns[DOMAIN] = ratings.item_metadata[DOMAIN][ratings.items]
    frame = pl.DataFrame({name: _series(column) for name, column in columns.items()})
    whole = ratings.scale.discrete and bool((ratings.values % 1 == 0).all())
    _write(frame.with_columns(pl.col("rating").cast(pl.Int64)) if whole else frame, Path(path))


def write_users(ratings: Ratings, path: PathLike) -> None:
    """Write user_id and every user attribute, in the form `read_users` reads."""
    import polars as pl

    columns = {"user_id": ratings.user_ids, **ratings.user_attributes}
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


def _parquet(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"the Parquet file cannot be read ({error})", path=path) from None


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
    stars = frame["rating"].cast(pl.Float64, strict=False)
    if stars.null_count() or not stars.is_finite().all():
        return None
    if scale is not None and not scale.holds(stars.to_numpy()).all():
        return None
    read: dict[str, Any] = {"rating": stars.to_numpy()}
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


def _ids(column: pl.Series) -> Any:
    """Integers if every id is written as one, else the strings as they are."""
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
    import polars as pl

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
            made[role] = _ids(pl.Series(made[role], dtype=pl.String))
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
    if role == "time":
        moment = cells.seconds(text)
        if moment is None:
            raise ValueError(cells.TIME)
        return moment
    if not text:
        raise ValueError("the item's domain" if role == "domain" else "an id")
    return text


def _table(
    path: Path, role: Role, asked: str | None, delimiter: str | None
) -> tuple[list[Any], dict[str, list[str | None]]]:
    """The ids of a users or items file, and its other columns."""
    if is_parquet(path):
        frame = _parquet(path)
        headers: Sequence[str] = frame.columns
        texts = [[_text(value) for value in frame[name].to_list()] for name in headers]
        number = _id_position(role, headers, asked, path)
        ids: list[Any] = frame[headers[number]].to_list()
        lines: Sequence[int] = range(1, len(ids) + 1)
    else:
        dialect = delimited.sniff(path, delimiter, (asked,))
        headers = dialect.headers
        read = list(delimited.rows(path, dialect))
        texts = [[row[at] or None for _, row in read] for at in range(len(headers))]
        number = _id_position(role, headers, asked, path)
        ids, lines = list(texts[number]), [line for line, _ in read]
    if len(headers) < 2:
        raise DataError("the file has no column beside the id", path=path, found=headers[0])
    if not ids:
        raise DataError("the file has a header but no rows", path=path)
    _refuse_repeats(ids, lines, path, headers[number])
    return ids, {name: texts[at] for at, name in enumerate(headers) if at != number}


def _id_position(role: Role, headers: Sequence[str], asked: str | None, path: Path) -> int:
    position = choose(role, headers, asked, path=path, required=False)
    return position or 0


def _text(value: object) -> str | None:
    return (str(value).strip() or None) if value is not None else None


def _refuse_repeats(ids: Sequence[Any], lines: Sequence[int], path: Path, column: str) -> None:
    seen = set()
    for key, line in zip(ids, lines, strict=True):
        if key is None or key in seen:
            raise DataError(
                "the id is missing" if key is None else "the id has appeared before",
                path=path,
                row=line,
                column=column,
                expected="one row per id",
            )
        seen.add(key)


def _by_id(
    path: Path, role: Role, asked: str | None, delimiter: str | None
) -> dict[str, dict[Any, str | None]]:
    import polars as pl

    ids, columns = _table(path, role, asked, delimiter)
    if not is_parquet(path):
        ids = list(np.asarray(_ids(pl.Series(ids, dtype=pl.String)), dtype=object))
    return {name: dict(zip(ids, column, strict=True)) for name, column in columns.items()}


def _matched(path: Path, role: Role, asked: str | None, ratings: Ratings) -> dict[str, Column]:
    """A users or items file in the order of the ratings' ids, compared as they are written."""
    known = (ratings.user_ids if role == "user" else ratings.item_ids).tolist()
    try:
        ids, columns = _table(path, role, asked, None)
    except DataError:
        if asked is None:
            raise
        ids, columns = _table(path, role, None, None)  # its id column may have a name of its own
    places = {str(key): number for number, key in enumerate(ids)}
    chosen = [places.get(str(key)) for key in known]
    if all(number is None for number in chosen):
        raise DataError(
            f"no {role} of this file has a rating",
            path=path,
            expected=f"{role} ids written as in the ratings",
            fix="Check which column holds the id: a well-known header, else the first column.",
        )
    aligned = {}
    for name, column in columns.items():
        values = np.empty(len(known), dtype=object)
        values[:] = [None if number is None else column[number] for number in chosen]
        aligned[name] = values
    return aligned
