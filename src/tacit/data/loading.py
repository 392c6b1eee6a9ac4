"""Ratings by name: an imported folder, a MovieLens folder, a file, or an installed data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.data.movielens import is_movielens, read_movielens
from tacit.data.ratings import Ratings
from tacit.data.tables.by_id import matched
from tacit.data.tables.folder import is_folder, read_folder
from tacit.data.tabular import read_ratings, with_items
from tacit.errors import DataError
from tacit.extensions import DATASETS, installed

_OPTIONS = (
    "--user, --item, --rating, --plays, --least-plays, --time, --domain-column, --delimiter, "
    "--scale, --users and --items"
)


def load(path: str | Path, **options: Any) -> Ratings:
    """Read an imported or a MovieLens folder, or a file with options of `read_ratings`.

    An option that is None is not given. Without `items`, the file NAME-items next to the ratings
    has the item metadata, if it is there.

    """
    path = Path(path)
    given = {name: value for name, value in options.items() if value is not None}
    if not path.exists():
        return _installed(str(path), given)
    if not path.is_dir():
        if path.name in ("u.data", "ratings.dat") and is_movielens(path.parent) and not given:
            raise DataError(
                "this is one file of a MovieLens folder",
                path=path,
                fix=f"Name its folder instead: {path.parent}",
            )
        return read_ratings(path, **{"items": items_beside(path)} | given)
    imported = is_folder(path)
    if not imported and not is_movielens(path):
        raise DataError(
            "this folder holds no ratings that are known",
            path=path,
            expected="a folder of  tacit data import,  or of MovieLens",
            fix="Name the file of ratings itself, or import it:  tacit data import FILE -o FOLDER",
        )
    given.pop("duplicates", None)
    events = given.pop("events", False)
    if imported:
        given.pop("domain", None)  # the folder has what there is
        scale, users, items = (given.pop(name, None) for name in ("scale", "users", "items"))
    if given:
        raise DataError(
            f"{'an imported' if imported else 'a MovieLens'} folder names its own columns"
            + ("" if imported else ", scale and users"),
            path=path,
            found=", ".join(sorted(given)),
            fix=f"Leave out {_OPTIONS}, or name the file of ratings itself.",
        )
    if imported:
        return _imported(path, scale, users, items, events=events)
    ratings = read_movielens(path)
    return ratings.as_events() if events else ratings


def _installed(name: str, given: Mapping[str, Any]) -> Ratings:
    """The data set that another package registers by this name."""
    known = installed(DATASETS)
    if name not in known:
        raise DataError(
            "no such file or folder", path=name, fix="Check the path, or see  tacit data --help"
        )
    ratings = known[name].load()()
    if not isinstance(ratings, Ratings):
        raise DataError("this data set gives no ratings", path=name, found=type(ratings).__name__,
                        expected="tacit.Ratings", fix="Ask its author.")  # fmt: skip
    if given:
        raise DataError("an installed data set has its own columns", path=name,
                        found=", ".join(sorted(given)), fix=f"Leave out {_OPTIONS}.")  # fmt: skip
    return ratings


def _imported(path: Path, scale: Any, users: Any, items: Any, *, events: bool) -> Ratings:
    ratings = read_folder(path, scale=scale)
    if users is not None:
        found = matched(Path(users), "user", None, ratings)
        ratings = replace(ratings, user_attributes={**ratings.user_attributes, **found})
    if items is not None:
        ratings = with_items(ratings, items)
    return ratings.as_events() if events else ratings


def items_beside(path: Path) -> Path | None:
    """The file of item metadata next to a file of ratings: r.csv has r-items.csv."""
    beside = path.with_name(f"{path.stem}-items{path.suffix}")
    return beside if beside.is_file() else None
