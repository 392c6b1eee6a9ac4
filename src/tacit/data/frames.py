"""Ratings from a data frame in memory: pandas, polars, Arrow and others, through narwhals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import cells
from tacit.data.assembly import located
from tacit.data.columns import Role, choose_all
from tacit.data.domains import DOMAIN, by_item
from tacit.data.plays import PLAYS, settle
from tacit.data.ratings import Duplicates, Ratings, RatingScale
from tacit.data.scales import EVENTS
from tacit.errors import DataError


def from_frame(
    frame: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    domain: str | None = None,
    plays: str | None = None,
    least_plays: float = 1,
    events: bool = False,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "last",
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
    path: object = None,
) -> Ratings:
    """Build from any eager frame narwhals knows; columns are found as `read_ratings` finds them.

    Ids keep the type they have in the frame. Times may be numbers (seconds), dates, date-times or
    ISO text. domain: the column of the item's domain, read only if named. plays, least_plays,
    events: as in `read_ratings`. An error names the record, counted from 1, and `path` if the frame
    came from a file.
    """
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            "this is not a data frame", found=type(frame).__name__, expected="pandas, polars, Arrow"
        ) from None
    asked: dict[Role, str | None] = {
        "user": user,
        "item": item,
        "rating": rating,
        "plays": plays,
        "time": time,
        "domain": domain,
    }
    needed: tuple[Role, ...] = ("user", "item") if scale is None else ("user", "item", "rating")
    places = choose_all(table.columns, asked, path=path, needed=needed, events=events)
    found = {role: table[table.columns[position]] for role, position in places.items()}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    items = _ids(found["item"], path)
    try:
        if "domain" in found:
            metadata[DOMAIN] = by_item(
                items, _domains(found["domain"], path), column=found["domain"].name
            )
        read: dict[str, Any] = {"user": _ids(found["user"], path), "item": items}
        read |= {"time": _times(found["time"], path)} if "time" in found else {}
        if "plays" in found:
            read["plays"] = _numbers(found["plays"], path, PLAYS, lambda plays: plays >= 0)
            read, scale = settle(read, least_plays), EVENTS
        elif "rating" in found:
            read["rating"] = _stars(found["rating"], scale, path)
        return Ratings.from_arrays(
            read["user"],
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


def _ids(column: Any, path: object) -> Any:
    import narwhals as nw

    _refuse_null(column, path, "an id")
    if column.dtype.is_integer():
        return column.to_numpy()
    if column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return column.to_list()
    raise DataError(
        "an id is an integer or a string", path=path, column=column.name, found=str(column.dtype)
    )


def _stars(column: Any, scale: RatingScale | None, path: object) -> NDArray[np.float64]:
    if scale is None:
        return _numbers(column, path, cells.NUMBER, np.isfinite)
    return _numbers(column, path, f"a rating on the scale {scale}", scale.holds)


def _numbers(
    column: Any, path: object, expected: str, good: Callable[[NDArray[np.float64]], Any]
) -> NDArray[np.float64]:
    import narwhals as nw

    if not column.dtype.is_numeric():
        raise DataError(
            "a rating is a number", path=path, column=column.name, found=str(column.dtype)
        )
    _refuse_null(column, path, cells.NUMBER)
    numbers = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    fits = np.isfinite(numbers) & good(numbers)
    if not fits.all():
        row = int(np.argmin(fits))
        raise DataError(
            "not a valid rating",
            path=path,
            row=row + 1,
            column=column.name,
            found=float(numbers[row]),
            expected=expected,
        )
    return numbers


def _times(column: Any, path: object) -> Any:
    import narwhals as nw

    _refuse_null(column, path, cells.TIME)
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("ms"))
    if column.dtype == nw.Datetime:
        return np.asarray(column.dt.timestamp("ms").to_numpy()) // 1000
    if column.dtype != nw.String:
        return column.to_numpy()
    read = [cells.seconds(text.strip()) for text in column.to_list()]
    if None in read:
        row = read.index(None)
        raise DataError(
            "not a valid time",
            path=path,
            row=row + 1,
            column=column.name,
            found=column.to_list()[row],
            expected=cells.TIME,
        )
    return np.asarray(read, dtype=np.int64)


def _domains(column: Any, path: object) -> list[str]:
    _refuse_null(column, path, "the item's domain")
    names = [str(value).strip() for value in column.to_list()]
    if "" in names:
        raise DataError(
            "the domain is missing",
            path=path,
            row=names.index("") + 1,
            column=column.name,
            expected="the item's domain",
        )
    return names


def _refuse_null(column: Any, path: object, expected: str) -> None:
    if column.null_count():
        row = int(np.argmax(np.asarray(column.is_null().to_numpy(), dtype=bool)))
        raise DataError(
            "a value is missing", path=path, row=row + 1, column=column.name, expected=expected
        )
