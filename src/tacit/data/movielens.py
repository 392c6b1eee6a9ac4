"""MovieLens folders as GroupLens publishes them, in all three layouts.

ratings.csv + movies.csv             latest, 20M, 25M, 32M: half stars 0.5 to 5, UTF-8
u.data + u.user + u.item             100K: stars 1 to 5, Latin-1
ratings.dat + movies.dat + users.dat 1M: stars 1 to 5, Latin-1; 10M: half stars, no users.dat, UTF-8

Source   Harper and Konstan, The MovieLens datasets: history and context (ACM TiiS 2015)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import compress
from pathlib import Path
from typing import Any

from tacit.data.ratings import Ratings, RatingScale
from tacit.data.tables import Role
from tacit.data.tables.cleaning import OnBad, Rules
from tacit.data.tables.reading import Reading, open_table, ratings_of
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
_PEOPLE = ("age", "gender", "occupation", "zip code")  # as 100K has them; 1M begins with gender
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
    return movielens_reading(folder).ratings


def movielens_reading(folder: str | Path, on_bad: OnBad = "refuse") -> Reading:
    """As `read_movielens`, with what became of the rows."""
    folder = Path(folder)
    reader = _layout(folder)
    if reader is None:
        raise DataError(
            "this is not a MovieLens folder",
            path=folder,
            expected="ratings.csv and movies.csv, or u.data, or ratings.dat",
            fix="Unpack the official archive, or run  tacit data get ml-100k --to FOLDER",
        )
    return reader(folder, on_bad)


def _layout(folder: Path) -> Callable[[Path, OnBad], Reading] | None:
    layouts = (("ratings.csv", _latest), ("u.data", _hundred_thousand), ("ratings.dat", _million))
    for name, reader in layouts:
        if (folder / name).is_file() and (
            name != "ratings.csv" or (folder / "movies.csv").exists()
        ):
            return reader
    return None


def _latest(folder: Path, on_bad: OnBad) -> Reading:
    films = folder / "movies.csv"
    rows = list(_rows(films, ",", None))
    if rows and len(rows[0]) != 3:
        raise DataError("not a MovieLens file", path=films, expected="movieId,title,genres")
    made = _films(((cells[0], cells[1], cells[2]) for cells in rows), films)
    return _read(folder / "ratings.csv", ",", HALF_STARS, {}, made, on_bad, headers=None)


def _hundred_thousand(folder: Path, on_bad: OnBad) -> Reading:
    people = _people(folder / "u.user", "|", _PEOPLE)
    path = folder / "u.item"
    flags = tuple(str(number) for number in range(5 + len(GENRES_100K)))
    rows = (
        (cells[0], cells[1], "|".join(compress(GENRES_100K, (flag == "1" for flag in cells[5:]))))
        for cells in _rows(path, "|", flags)
    )
    films = _films(rows, path)
    return _read(folder / "u.data", "\t", WHOLE_STARS, people, films, on_bad)


def _million(folder: Path, on_bad: OnBad) -> Reading:
    people = _people(folder / "users.dat", "::", ("gender", "age", *_PEOPLE[2:]))
    path = folder / "movies.dat"
    rows = _rows(path, "::", ("movie id", "title", "genres"))
    films = _films(((c[0], c[1], c[2]) for c in rows), path)
    scale = WHOLE_STARS if people else HALF_STARS  # the two archives differ in having users.dat
    return _read(folder / "ratings.dat", "::", scale, people, films, on_bad)


def _read(
    path: Path,
    delimiter: str,
    scale: RatingScale,
    people: Table,
    films: Table,
    on_bad: OnBad,
    headers: tuple[str, ...] | None = _HEADERS,
) -> Reading:
    table = open_table(path, delimiter=delimiter, headers=headers)
    return ratings_of(
        [(table, _COLUMNS)],
        Rules(on_bad, scale),
        user_attributes=people,
        item_metadata={name: column for name, column in films.items() if column},
    )


def _people(path: Path, delimiter: str, columns: tuple[str, ...]) -> Table:
    kept = ("gender", "age", "occupation")
    people: Table = {name: {} for name in kept}
    for cells in _rows(path, delimiter, ("user id", *columns)):
        for name in kept:
            people[name][_id(cells[0], path)] = cells[1 + columns.index(name)] or None
    return people if people["gender"] else {}


def _films(rows: Iterable[tuple[str, str, str]], path: Path) -> Table:
    films: Table = {"title": {}, "year": {}, "genres": {}}
    for film, title, genres in rows:
        key = _id(film, path)
        year = _YEAR.search(title)
        films["title"][key] = title or None
        films["year"][key] = year.group(1) if year else None
        films["genres"][key] = None if genres in _NO_GENRE else genres or None
    return films


def _id(text: str, path: Path) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError("an id is not a whole number", path=path) from None


def _rows(path: Path, delimiter: str, headers: tuple[str, ...] | None) -> list[list[str]]:
    """The rows of a table beside the ratings, as texts; none where there is no such file."""
    if not path.exists():
        return []
    table = open_table(path, delimiter=delimiter, headers=headers)
    if table.torn:
        raise table.torn[0].complaint(path)
    return [["" if cell is None else cell for cell in row] for row in table.frame.iter_rows()]
