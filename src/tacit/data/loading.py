"""One door for ratings on disk: a MovieLens folder or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.data.movielens import is_movielens, read_movielens
from tacit.data.ratings import Ratings
from tacit.data.tabular import read_ratings
from tacit.errors import DataError

_OPTIONS = (
    "--user, --item, --rating, --plays, --least-plays, --time, --domain-column, --delimiter, "
    "--scale, --users and --items"
)


def load(path: str | Path, **options: Any) -> Ratings:
    """Read a MovieLens folder, or a file with options of `read_ratings`; None means not given.

    Without `items`, the file NAME-items next to the ratings has the item metadata, if it is there.
    """
    path = Path(path)
    given = {name: value for name, value in options.items() if value is not None}
    if not path.exists():
        raise DataError(
            "no such file or folder", path=path, fix="Check the path, or see  tacit data --help"
        )
    if not path.is_dir():
        if path.name in ("u.data", "ratings.dat") and is_movielens(path.parent) and not given:
            raise DataError(
                "this is one file of a MovieLens folder",
                path=path,
                fix=f"Name its folder instead: {path.parent}",
            )
        return read_ratings(path, **{"items": items_beside(path)} | given)
    if not is_movielens(path):
        raise DataError(
            "this folder holds no MovieLens data",
            path=path,
            expected="ratings.csv with movies.csv, u.data, or ratings.dat",
            fix="Name the file of ratings itself.",
        )
    given.pop("duplicates", None)
    events = given.pop("events", False)
    if given:
        raise DataError(
            "a MovieLens folder names its own columns, scale and users",
            path=path,
            found=", ".join(sorted(given)),
            fix=f"Leave out {_OPTIONS}, or name the file of ratings itself.",
        )
    ratings = read_movielens(path)
    return ratings.as_events() if events else ratings


def items_beside(path: Path) -> Path | None:
    """The file of item metadata next to a file of ratings: r.csv has r-items.csv."""
    beside = path.with_name(f"{path.stem}-items{path.suffix}")
    return beside if beside.is_file() else None
