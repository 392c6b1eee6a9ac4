"""MovieLens: the official archives downloaded, checked by SHA-256, and read in their three layouts.

ratings.csv + movies.csv             latest, 20M, 25M, 32M: half stars 0.5 to 5, UTF-8
u.data + u.user + u.item             100K: stars 1 to 5, Latin-1
ratings.dat + movies.dat + users.dat 1M: stars 1 to 5, Latin-1; 10M: half stars, no users.dat, UTF-8

Source      Harper and Konstan, The MovieLens datasets: history and context (ACM TiiS 2015)
Checksums   the table of TensorFlow Datasets (url_checksums/movielens.txt) for 100K, 1M, 20M, 25M
            and latest-small; the loaders of OmniRec (10M) and of discorec (32M). Several unrelated
            projects have these two checksums, too, with the same sizes of the archives. GroupLens
            publishes only MD5.
"""

from __future__ import annotations

import logging
import re
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.data.columns import align
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.tables.cells import OnBad
from tacit.data.tables.names import Role, normalize_header
from tacit.data.tables.ratings_tables import TableReading, read_columns_by_id, read_in_format
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import TextForm
from tacit.data.tables.written_format import WrittenFormat
from tacit.errors import ConfigError, DataError, DownloadError, MissingExtra

PAGE = "https://grouplens.org/datasets/movielens/"
"""Web page that describes the archives."""
BASE = "https://files.grouplens.org/datasets/movielens/"
"""Address of the zip files."""
LICENCE = "Read the README in the folder: MovieLens data may not be sold or passed on freely."
"""What a user must know about the licence, as the command line shows it."""
ARCHIVES = {
    "ml-100k": "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
    "ml-1m": "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "ml-10m": "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    "ml-20m": "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    "ml-25m": "8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
    "ml-32m": "e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    "ml-latest-small": "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
}
"""Name of each archive to the SHA-256 of its zip file."""

WHOLE_STARS = RatingScale(1, 5, 1)
"""Scale of 100K and 1M."""
HALF_STARS = RatingScale(0.5, 5, 0.5)
"""Scale of the other archives."""
# fmt: off
GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)
# fmt: on

_ROW_PATTERNS = {
    "u.data": re.compile(r"\d+\t\d+\t\d+\t\d+$"),
    "ratings.dat": re.compile(r"\d+::\d+::[\d.]+::\d+$"),
}
"""Names of files of ratings without headers, and the pattern of their first row.

A file of this name with another first row is not MovieLens, and is read like any other table.
"""
_COLUMNS: dict[Role, str] = {
    "user": "user id",
    "item": "movie id",
    "rating": "rating",
    "time": "timestamp",
}
"""Role to the header that its column gets in the table of ratings, in the order of the columns."""
_CSV_HEADER = "useridmovieidratingtimestamp"
"""The headers of ratings.csv, as `normalize_header` writes them."""
_HEADERS_OF_100K_USERS = ("user id", "age", "gender", "occupation", "zip code")
_HEADERS_OF_1M_USERS = ("user id", "gender", "age", "occupation", "zip code")
"""Headers of u.user in 100K, and of users.dat in 1M, which have no line of headers."""
_USER_ATTRIBUTES = ("gender", "age", "occupation")
"""Columns of the file of people that become user attributes."""
_COLUMNS_BEFORE_GENRES = ("movie id", "title", "date", "video", "url")
"""Headers of u.item before a column of 0 and 1 for each genre."""
_NO_GENRE = ("(no genres listed)", "unknown")
"""Texts for unknown genres: the first in archives with movies.csv, the second in 100K."""
_YEAR = re.compile(r"\(((?:18|19|20)\d\d)\)\s*$")
"""The year at the end of a title, such as Heat (1995)."""

_TIMEOUT = 30
"""Seconds to wait for an answer while an archive is downloaded."""

Column = dict[Any, str | None]
"""Maps the id of a person or film to a value; None: unknown."""
Columns = dict[str, Column]
"""Columns by their names."""


def is_movielens(folder: str | Path) -> bool:
    """Tell whether a folder has files with the official names in one of the three layouts."""
    return _find_ratings_file(Path(folder)) is not None


def read_movielens(folder: str | Path) -> Ratings:
    """Read a folder of MovieLens: ratings, attributes of people, and metadata of films.

    Ids are integers; all attributes and metadata are strings, or None if unknown. In 100K and 1M,
    people have a gender ('F' or 'M'), an age (years; in 1M the lowest age of an age group) and an
    occupation (a name; in 1M a code). Films have a title, a year, which is read from the end of the
    title, and genres, joined by '|'.

    Args:
        folder: An unpacked archive.

    Raises:
        DataError: The folder has none of the layouts, or a row cannot be read.
    """
    return read_movielens_folder(folder).ratings


def read_movielens_folder(folder: str | Path, on_bad: OnBad = "refuse") -> TableReading:
    """Read a folder as `read_movielens` does, with counts of rows that were read and dropped.

    Args:
        folder: An unpacked archive.
        on_bad: "refuse" the folder if a row cannot be read, or "drop" such rows.

    Raises:
        DataError: The folder has none of the layouts, a row cannot be read and is not dropped, or
            no rating is left.
    """
    folder = Path(folder)
    ratings_file = _find_ratings_file(folder)
    if ratings_file is None:
        expected = "ratings.csv and movies.csv, or u.data, or ratings.dat"
        fix = "Unpack the official archive, or run  tacit data get ml-100k --out FOLDER"
        raise DataError("this is not a MovieLens folder", path=folder, expected=expected, fix=fix)
    people: Columns = {}
    scale = WHOLE_STARS
    delimiter = "\t"
    lines_above = 0
    if ratings_file == "u.data":
        people = _read_optional_table(folder / "u.user", "|", _HEADERS_OF_100K_USERS)
        film_headers = (*_COLUMNS_BEFORE_GENRES, *GENRES_100K)
        films = _read_films(folder / "u.item", "|", film_headers)
    elif ratings_file == "ratings.dat":
        delimiter = "::"
        people = _read_optional_table(folder / "users.dat", "::", _HEADERS_OF_1M_USERS)
        films = _read_films(folder / "movies.dat", "::", ("movie id", "title", "genres"))
        scale = WHOLE_STARS if people else HALF_STARS  # only 1M has users.dat, and whole stars
    else:
        delimiter = ","
        lines_above = 1
        scale = HALF_STARS
        films = _read_films(folder / "movies.csv", ",", None)
    written = WrittenFormat(
        kind="text",
        text=TextForm("latin-1", delimiter, '"', lines_above, packed=False),
        headers=tuple(_COLUMNS.values()),
        columns=_COLUMNS,
        ids={"user": "integer", "item": "integer"},
        scale=str(scale),
        decimal=".",
    )
    reading = read_in_format(folder / ratings_file, written, on_bad)
    ratings = reading.ratings
    ratings = replace(ratings, item_metadata=align(films, ratings.item_ids))
    if people:
        attributes = {attribute: people[attribute] for attribute in _USER_ATTRIBUTES}
        ratings = replace(ratings, user_attributes=align(attributes, ratings.user_ids))
    return replace(reading, ratings=ratings)


def _find_ratings_file(folder: Path) -> str | None:
    """Find the name of the file of ratings in a folder, such as u.data.

    Returns:
        None if the folder has none of the three layouts.
    """
    table = folder / "ratings.csv"
    has_both = table.is_file() and (folder / "movies.csv").exists()
    if has_both and normalize_header(_first_line(table)) == _CSV_HEADER:
        return "ratings.csv"
    for name, pattern in _ROW_PATTERNS.items():
        if (folder / name).is_file() and pattern.match(_first_line(folder / name)):
            return name
    return None


def _first_line(path: Path) -> str:
    """Read the first line of a file, at most 100 bytes of it."""
    with path.open("rb") as stream:
        return stream.readline(100).decode("latin-1").strip()


def _read_films(path: Path, delimiter: str, headers: tuple[str, ...] | None) -> Columns:
    """Read the columns title, year and genres of films; {} if there is no such file.

    Args:
        path: The file of films.
        delimiter: Text between cells.
        headers: Headers of a file without a line of headers; None: the file has one.
    """
    columns = _read_optional_table(path, delimiter, headers)
    if not columns:
        return {}
    titles, genres, *_ = columns.values()
    if set(GENRES_100K) <= set(columns):  # 100K has a column for each genre
        genres = _join_flags({name: columns[name] for name in GENRES_100K}, titles)
    years: Column = {}
    for film, title in titles.items():
        year = _YEAR.search(title or "")
        years[film] = year.group(1) if year else None
    known_genres = {film: None if text in _NO_GENRE else text for film, text in genres.items()}
    return {"title": titles, "year": years, "genres": known_genres}


def _join_flags(flags: Columns, films: Iterable[Any]) -> Column:
    """Join the genres of each film by '|'; None for a film without any.

    Args:
        flags: Genre to a column of '0' and '1'.
        films: Ids of the films.
    """
    genres: Column = {}
    for film in films:
        names = [name for name, column in flags.items() if column[film] == "1"]
        genres[film] = "|".join(names) or None
    return genres


def _read_optional_table(path: Path, delimiter: str, headers: tuple[str, ...] | None) -> Columns:
    """Read the columns of a table by the id in its first column; {} if there is no such file.

    Args:
        path: The table.
        delimiter: Text between cells.
        headers: Headers of a file without a line of headers; None: the file has one.

    Raises:
        DataError: An id is not a whole number, or a file with a line of headers (movies.csv) does
            not have three columns.
    """
    if not path.exists():
        return {}
    table = open_table(path, delimiter=delimiter, headers=headers)
    if headers is None and len(table.headers) != 3:
        raise DataError("not a MovieLens file", path=path, expected="movieId,title,genres")
    ids, columns = read_columns_by_id(table, "item", table.headers[0])
    if any(isinstance(key, str) for key in ids):
        raise DataError("an id is not a whole number", path=path)
    return columns


def get(name: str, folder: str | Path, *, base: str = BASE) -> Path:
    """Download and unpack an archive, and return the folder with its files.

    A zip file that is in `folder` already is used if its SHA-256 is right. If the archive has been
    unpacked already, nothing is downloaded.

    Args:
        name: A key of `ARCHIVES`.
        folder: Where the zip file and the folder with its files are put.
        base: Address of the zip files, which ends in a slash.

    Raises:
        ConfigError: There is no archive of this name.
        DownloadError: The archive cannot be fetched, is not the published file, or cannot be
            written.
        MissingExtra: The package that downloads is not installed.
    """
    if name not in ARCHIVES:
        raise ConfigError(f"No data set '{name}' is offered. Choose one of: {', '.join(ARCHIVES)}.")
    folder = Path(folder)
    target = folder / ("ml-10M100K" if name == "ml-10m" else name)
    if target.is_dir() and any(target.iterdir()):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _unpack(_fetch(name, folder, base), target)
    except OSError as error:
        raise DownloadError(
            f"{name} could not be written to {folder}: {error.strerror or error}. "
            "Choose another folder with --out, or make room there."
        ) from None
    return target


def _fetch(name: str, folder: Path, base: str) -> Path:
    """Download the zip file of an archive, unless it is in the folder, and return its path.

    Args:
        name: A key of `ARCHIVES`.
        folder: Where the zip file is put.
        base: Address of the zip files.

    Raises:
        DownloadError: The file cannot be fetched, or its SHA-256 is wrong.
        MissingExtra: The package that downloads is not installed.
        OSError: The file cannot be written.
    """
    try:
        import pooch
    except ImportError:
        raise MissingExtra("pooch", "datasets") from None

    pooch.get_logger().setLevel(logging.ERROR)  # the command line reports what is done
    advice = (
        f"Fetch {name}.zip by hand from {PAGE}, put it at {folder / f'{name}.zip'} "
        "and run the same command again."
    )
    try:
        fetched = pooch.retrieve(
            url=f"{base}{name}.zip",
            known_hash=f"sha256:{ARCHIVES[name]}",
            fname=f"{name}.zip",
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
        )
    except OSError as error:
        if not hasattr(error, "response"):  # an error of the disk, not of the network
            raise
        status = getattr(error.response, "status_code", None)
        cause = f"the host answered {status}" if status else "the host cannot be reached"
        problem = f"{name} could not be fetched from {base}: {cause}. {advice}"
        raise DownloadError(problem) from None
    except ValueError:
        raise DownloadError(
            f"{name}.zip from {base} is not the published file: its SHA-256 differs from "
            f"{ARCHIVES[name]}. Nothing was kept. {advice}"
        ) from None
    return Path(fetched)


def _unpack(path: Path, target: Path) -> None:
    """Unpack an archive whose SHA-256 is right.

    It is unpacked into a temporary folder, and its folder of files is then renamed to `target`, so
    that a folder of this name is always complete.

    Args:
        path: The zip file.
        target: The folder with the files; its name is that of the folder in the archive.

    Raises:
        DownloadError: The zip file is broken, or has no folder of this name.
        OSError: The files cannot be written.
    """
    partial = target.with_name(f".{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as zipped:
            # Some archives have files of an operating system, such as __MACOSX, beside the folder.
            members = [name for name in zipped.namelist() if name.startswith(f"{target.name}/")]
            zipped.extractall(partial, members)
        shutil.rmtree(target, ignore_errors=True)
        (partial / target.name).rename(target)
    except (zipfile.BadZipFile, FileNotFoundError) as error:
        problem = f"{path} cannot be unpacked: {error}. Delete it and run again."
        raise DownloadError(problem) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
