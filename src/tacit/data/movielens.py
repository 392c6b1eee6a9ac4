"""MovieLens: official archives fetched once and checked by SHA-256, and folders in all layouts.

ratings.csv + movies.csv             latest, 20M, 25M, 32M: half stars 0.5 to 5, UTF-8
u.data + u.user + u.item             100K: stars 1 to 5, Latin-1
ratings.dat + movies.dat + users.dat 1M: stars 1 to 5, Latin-1; 10M: half stars, no users.dat, UTF-8

Source      Harper and Konstan, The MovieLens datasets: history and context (ACM TiiS 2015)
Checksums   the table of TensorFlow Datasets (url_checksums/movielens.txt) for 100K, 1M, 20M, 25M
            and latest-small; the loaders of OmniRec (10M) and of discorec (32M), each found again
            with the archive's size in several unrelated projects. GroupLens publishes only MD5.
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
BASE = "https://files.grouplens.org/datasets/movielens/"
LICENCE = "Read the README in the folder: MovieLens data may not be sold or passed on freely."
ARCHIVES = {
    "ml-100k": "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
    "ml-1m": "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "ml-10m": "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    "ml-20m": "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    "ml-25m": "8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
    "ml-32m": "e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    "ml-latest-small": "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
}
"""SHA-256 of each zip file."""

WHOLE_STARS = RatingScale(1, 5, 1)
HALF_STARS = RatingScale(0.5, 5, 0.5)
# fmt: off
GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)
# fmt: on

_FORMS_OF_ROWS = {
    "u.data": re.compile(r"\d+\t\d+\t\d+\t\d+$"),
    "ratings.dat": re.compile(r"\d+::\d+::[\d.]+::\d+$"),
}
"""Files without a header to the form of their rows; others of these names are read as they are."""
_COLUMNS: dict[Role, str] = {
    "user": "user id",
    "item": "movie id",
    "rating": "rating",
    "time": "timestamp",
}
_CSV_HEADER = "useridmovieidratingtimestamp"
_PEOPLE = ("age", "gender", "occupation", "zip code")  # as in 100K; 1M begins with gender
_KEPT = ("gender", "age", "occupation")
_NO_GENRE = ("(no genres listed)", "unknown")  # in latest and its kin, and in 100K
_YEAR = re.compile(r"\(((?:18|19|20)\d\d)\)\s*$")

Column = dict[Any, str | None]
Columns = dict[str, Column]
"""Name, id of a person or film, value."""


def is_movielens(folder: str | Path) -> bool:
    """Tell whether a folder holds ratings in one of the three layouts, by the official names."""
    return _layout(Path(folder)) is not None


def read_movielens(folder: str | Path) -> Ratings:
    """Ratings with gender, age, occupation (100K and 1M) and each film's title, year and genres.

    Ids are integers. Attributes are strings: gender 'F' or 'M'; the age in years, in 1M the start
    of its band; the occupation's name, in 1M its code. The year comes from the end of the title,
    None where there is none; genres are joined by '|', None where the archive knows none.
    """
    return movielens_reading(folder).ratings


def movielens_reading(folder: str | Path, on_bad: OnBad = "refuse") -> TableReading:
    """Read a folder as `read_movielens` does, and count what became of the rows."""
    folder = Path(folder)
    name = _layout(folder)
    if name is None:
        expected = "ratings.csv and movies.csv, or u.data, or ratings.dat"
        fix = "Unpack the official archive, or run  tacit data get ml-100k --out FOLDER"
        raise DataError("this is not a MovieLens folder", path=folder, expected=expected, fix=fix)
    people: Columns = {}
    scale = WHOLE_STARS
    delimiter = "\t"
    lines_above = 0
    if name == "u.data":
        people = _read_optional_table(folder / "u.user", "|", ("user id", *_PEOPLE))
        columns = ("movie id", "title", "date", "video", "url", *GENRES_100K)
        films = _read_films(folder / "u.item", "|", columns)
    elif name == "ratings.dat":
        delimiter = "::"
        people = _read_optional_table(
            folder / "users.dat", "::", ("user id", "gender", "age", *_PEOPLE[2:])
        )
        films = _read_films(folder / "movies.dat", "::", ("movie id", "title", "genres"))
        scale = WHOLE_STARS if people else HALF_STARS  # the two archives differ in users.dat
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
    reading = read_in_format(folder / name, written, on_bad)
    ratings = reading.ratings
    ratings = replace(ratings, item_metadata=align(films, ratings.item_ids))
    if people:
        known = {name: people[name] for name in _KEPT}
        ratings = replace(ratings, user_attributes=align(known, ratings.user_ids))
    return replace(reading, ratings=ratings)


def _layout(folder: Path) -> str | None:
    """Name the file of ratings; None if the folder is none of the three."""
    table = folder / "ratings.csv"
    has_both = table.is_file() and (folder / "movies.csv").exists()
    if has_both and normalize_header(_first_line(table)) == _CSV_HEADER:
        return "ratings.csv"
    for name, form in _FORMS_OF_ROWS.items():
        if (folder / name).is_file() and form.match(_first_line(folder / name)):
            return name
    return None


def _first_line(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.readline(100).decode("latin-1").strip()


def _read_films(path: Path, delimiter: str, headers: tuple[str, ...] | None) -> Columns:
    columns = _read_optional_table(path, delimiter, headers)
    if not columns:
        return {}
    titles, genres, *flags = columns.values()
    if flags:  # of 100K, after two other columns
        genres = _join_flags(dict(zip(GENRES_100K, flags[2:], strict=True)), titles)
    years: Column = {}
    for film, title in titles.items():
        year = _YEAR.search(title or "")
        years[film] = year.group(1) if year else None
    known_genres = {film: None if text in _NO_GENRE else text for film, text in genres.items()}
    return {"title": titles, "year": years, "genres": known_genres}


def _join_flags(flags: Columns, films: Iterable[Any]) -> Column:
    """Write the genres of each film with '|' between them, from a column of 0 and 1 a genre."""
    genres: Column = {}
    for film in films:
        names = [name for name, column in flags.items() if column[film] == "1"]
        genres[film] = "|".join(names) or None
    return genres


def _read_optional_table(path: Path, delimiter: str, headers: tuple[str, ...] | None) -> Columns:
    """Read a table beside the ratings by column; return no columns where there is no such file."""
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
    """Fetch `name` (a key of `ARCHIVES`) into `folder` and return the folder with its files.

    A zip file in `folder`, such as one fetched by hand, is used if its SHA-256 is right; data
    unpacked there before is returned at once.
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
    try:
        import pooch
    except ImportError:
        raise MissingExtra("pooch", "datasets") from None

    pooch.get_logger().setLevel(logging.ERROR)  # what is done is the command line's to say
    by_hand = (
        f"Fetch {name}.zip by hand from {PAGE}, put it at {folder / f'{name}.zip'} "
        "and run the same command again."
    )
    try:
        fetched = pooch.retrieve(
            url=f"{base}{name}.zip",
            known_hash=f"sha256:{ARCHIVES[name]}",
            fname=f"{name}.zip",
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=30),
        )
    except OSError as error:
        if not hasattr(error, "response"):  # the disk's fault, not the host's
            raise
        status = getattr(error.response, "status_code", None)
        cause = f"the host answered {status}" if status else "the host cannot be reached"
        problem = f"{name} could not be fetched from {base}: {cause}. {by_hand}"
        raise DownloadError(problem) from None
    except ValueError:
        raise DownloadError(
            f"{name}.zip from {base} is not the published file: its SHA-256 differs from "
            f"{ARCHIVES[name]}. Nothing was kept. {by_hand}"
        ) from None
    return Path(fetched)


def _unpack(path: Path, target: Path) -> None:
    """Unpack a checked archive; in one step, so that a folder that exists is complete."""
    partial = target.with_name(f".{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as zipped:
            # some archives carry the leavings of a desktop beside their folder
            own = [each for each in zipped.namelist() if each.startswith(f"{target.name}/")]
            zipped.extractall(partial, own)
        shutil.rmtree(target, ignore_errors=True)
        (partial / target.name).rename(target)
    except (zipfile.BadZipFile, FileNotFoundError) as error:
        problem = f"{path} cannot be unpacked: {error}. Delete it and run again."
        raise DownloadError(problem) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
