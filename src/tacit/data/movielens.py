"""MovieLens folders as GroupLens publishes them, in all three layouts.

ratings.csv + movies.csv             latest, 20M, 25M, 32M: half stars 0.5 to 5, UTF-8
u.data + u.user + u.item             100K: stars 1 to 5, Latin-1
ratings.dat + movies.dat + users.dat 1M: stars 1 to 5, Latin-1; 10M: half stars, no users.dat, UTF-8

Source   Harper and Konstan, The MovieLens datasets: history and context (ACM TiiS 2015)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

from tacit.data.ratings import Ratings, RatingScale
from tacit.data.tables import Role
from tacit.data.tables.cleaning import OnBad, Rules
from tacit.data.tables.reading import Reading, ratings_of
from tacit.data.tables.sources import open_table
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
    name = _layout(folder)
    if name is None:
        raise DataError(
            "this is not a MovieLens folder",
            path=folder,
            expected="ratings.csv and movies.csv, or u.data, or ratings.dat",
            fix="Unpack the official archive, or run  tacit data get ml-100k --to FOLDER",
        )
    people: Table = {}
    headers: tuple[str, ...] | None = _HEADERS
    scale = WHOLE_STARS
    if name == "u.data":
        delimiter = "\t"
        people = _people(folder / "u.user", "|", _PEOPLE)
        columns = ("movie id", "title", "date", "video", "url", *GENRES_100K)
        films = _films(folder / "u.item", "|", columns)
    elif name == "ratings.dat":
        delimiter = "::"
        people = _people(folder / "users.dat", "::", ("gender", "age", *_PEOPLE[2:]))
        films = _films(folder / "movies.dat", "::", ("movie id", "title", "genres"))
        scale = WHOLE_STARS if people else HALF_STARS  # the two archives differ in users.dat
    else:
        delimiter, headers, scale = ",", None, HALF_STARS
        films = _films(folder / "movies.csv", ",", None)
    table = open_table(folder / name, delimiter=delimiter, headers=headers)
    return ratings_of(
        [(table, _COLUMNS)],
        Rules(on_bad, scale),
        user_attributes=people,
        item_metadata={name: column for name, column in films.items() if column},
    )


def _layout(folder: Path) -> str | None:
    """The file of ratings."""
    if (folder / "ratings.csv").is_file() and (folder / "movies.csv").exists():
        return "ratings.csv"
    return next((name for name in ("u.data", "ratings.dat") if (folder / name).is_file()), None)


def _people(path: Path, delimiter: str, columns: tuple[str, ...]) -> Table:
    kept = ("gender", "age", "occupation")
    people: Table = {name: {} for name in kept}
    for key, cells in _rows(path, delimiter, ("user id", *columns)):
        for name in kept:
            people[name][key] = cells[columns.index(name)] or None
    return people if people["gender"] else {}


def _films(path: Path, delimiter: str, columns: tuple[str, ...] | None) -> Table:
    films: Table = {"title": {}, "year": {}, "genres": {}}
    for key, (title, *others) in _rows(path, delimiter, columns):
        flags = (flag == "1" for flag in others[3:])
        genres = others[0] if len(others) == 1 else "|".join(compress(GENRES_100K, flags))
        year = _YEAR.search(title)
        films["title"][key] = title or None
        films["year"][key] = year.group(1) if year else None
        films["genres"][key] = None if genres in _NO_GENRE else genres or None
    return films


def _rows(
    path: Path, delimiter: str, headers: Sequence[str] | None
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table beside the ratings, as id and texts; none where there is no such file."""
    if not path.exists():
        return
    table = open_table(path, delimiter=delimiter, headers=headers).whole()
    if headers is None and len(table.headers) != 3:
        raise DataError("not a MovieLens file", path=path, expected="movieId,title,genres")
    for key, *cells in table.frame.iter_rows():
        try:
            yield int(key), ["" if cell is None else cell for cell in cells]
        except (TypeError, ValueError):
            raise DataError("an id is not a whole number", path=path) from None
