"""MovieLens folders as GroupLens publishes them, in all three layouts.

ratings.csv + movies.csv             latest, 20M, 25M, 32M: half stars 0.5 to 5, UTF-8
u.data + u.user + u.item             100K: stars 1 to 5, Latin-1
ratings.dat + movies.dat + users.dat 1M: stars 1 to 5, Latin-1; 10M: half stars, no users.dat, UTF-8

Source   Harper and Konstan, The MovieLens datasets: history and context (ACM TiiS 2015)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tacit.data import delimited
from tacit.data.columns import Role
from tacit.data.delimited import Dialect
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.text_ratings import read_text
from tacit.errors import DataError

WHOLE_STARS = RatingScale(1, 5, 1)
HALF_STARS = RatingScale(0.5, 5, 0.5)
# fmt: off
GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)
# fmt: on

_COLUMNS: dict[Role, int] = {"user": 0, "item": 1, "rating": 2, "time": 3}
_HEADERS = ("user id", "movie id", "rating", "timestamp")
_NO_GENRE = ("(no genres listed)", "unknown")  # as latest and its kin say it, and 100K
_YEAR = re.compile(r"\(((?:18|19|20)\d\d)\)\s*$")

Table = dict[str, dict[Any, str | None]]


def is_movielens(folder: str | Path) -> bool:
    """Whether a folder holds ratings in one of the three layouts, under the official names."""
    return _layout(Path(folder)) is not None


def read_movielens(folder: str | Path) -> Ratings:
    """Ratings with gender, age, occupation (100K and 1M) and each film's title, year and genres.

    Ids are integers. Attributes are strings: gender 'F' or 'M'; the age in years, in 1M the start
    of its band; the occupation's name, in 1M its code. The year comes from the end of the title,
    None where there is none; genres are joined by '|', None where the archive knows none.
    """
    folder = Path(folder)
    reader = _layout(folder)
    if reader is None:
        raise DataError(
            "this is not a MovieLens folder",
            path=folder,
            expected="ratings.csv and movies.csv, or u.data, or ratings.dat",
            fix="Unpack the official archive, or run  tacit data get ml-100k --to FOLDER",
        )
    return reader(folder)


def _layout(folder: Path) -> Callable[[Path], Ratings] | None:
    layouts = (("ratings.csv", _latest), ("u.data", _hundred_thousand), ("ratings.dat", _million))
    for name, reader in layouts:
        if (folder / name).is_file() and (
            name != "ratings.csv" or (folder / "movies.csv").exists()
        ):
            return reader
    return None


def _latest(folder: Path) -> Ratings:
    films = folder / "movies.csv"
    dialect = delimited.sniff(films, ",")
    rows = ((cells[0], cells[1], cells[2]) for _, cells in delimited.rows(films, dialect))
    if len(dialect.headers) != 3:
        raise DataError("not a MovieLens file", path=films, expected="movieId,title,genres")
    return _read(folder / "ratings.csv", ",", HALF_STARS, {}, _films(rows, films), header_line=1)


def _hundred_thousand(folder: Path) -> Ratings:
    people = _people(folder / "u.user", "|", ("age", "gender", "occupation", "zip code"))
    path = folder / "u.item"
    films: Table = {}
    if path.exists():
        rows = (
            (cells[0], cells[1], "|".join(_flagged(cells[5:])))
            for cells in _old_rows(path, "|", 5 + len(GENRES_100K))
        )
        films = _films(rows, path)
    return _read(folder / "u.data", "\t", WHOLE_STARS, people, films)


def _million(folder: Path) -> Ratings:
    people = _people(folder / "users.dat", "::", ("gender", "age", "occupation", "zip code"))
    path = folder / "movies.dat"
    films: Table = {}
    if path.exists():
        films = _films(((c[0], c[1], c[2]) for c in _old_rows(path, "::", 3)), path)
    scale = WHOLE_STARS if people else HALF_STARS  # the two archives differ in having users.dat
    return _read(folder / "ratings.dat", "::", scale, people, films)


def _read(
    path: Path,
    delimiter: str,
    scale: RatingScale,
    people: Table,
    films: Table,
    header_line: int = 0,
) -> Ratings:
    return read_text(
        path,
        Dialect(delimiter, _HEADERS, header_line),
        _COLUMNS,
        scale=scale,
        user_attributes=people,
        item_metadata=films,
    )


def _people(path: Path, delimiter: str, columns: tuple[str, ...]) -> Table:
    if not path.exists():
        return {}
    kept = [name for name in ("gender", "age", "occupation") if name in columns]
    people: Table = {name: {} for name in kept}
    for cells in _old_rows(path, delimiter, 1 + len(columns)):
        for name in kept:
            people[name][_id(cells[0], path)] = cells[1 + columns.index(name)].strip() or None
    return people


def _films(rows: Iterator[tuple[str, str, str]], path: Path) -> Table:
    films: Table = {"title": {}, "year": {}, "genres": {}}
    for film, title, genres in rows:
        key = _id(film, path)
        year = _YEAR.search(title)
        films["title"][key] = title.strip() or None
        films["year"][key] = year.group(1) if year else None
        genres = genres.strip()
        films["genres"][key] = None if genres in _NO_GENRE else genres or None
    return films


def _flagged(flags: list[str]) -> list[str]:
    return [name for name, flag in zip(GENRES_100K, flags, strict=True) if flag == "1"]


def _id(text: str, path: Path) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError("an id is not a whole number", path=path, found=text) from None


def _old_rows(path: Path, delimiter: str, width: int) -> Iterator[list[str]]:
    """Rows of the headerless files of 100K, 1M (Latin-1) and 10M (UTF-8)."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    for line, record in enumerate(text.split("\n"), 1):
        if not record.strip():
            continue
        cells = record.rstrip("\r").split(delimiter)
        if len(cells) != width:
            raise DataError(
                "the row has the wrong length",
                path=path,
                row=line,
                found=f"{len(cells)} cells",
                expected=f"{width}, separated by '{delimiter}'",
            )
        yield cells
