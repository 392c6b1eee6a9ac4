"""What is given to a recommender: ratings, checked in one place; and model files, found by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.design import design, model_class, names
from tacit.errors import ConfigError, DataError, ModelFileError, TacitError

_STARS = "{item id: stars}, such as {7: 4.0}"


def checked_ratings(ratings: object) -> None:
    """DataError unless a model can be fitted to this."""
    if not isinstance(ratings, Ratings):
        found, expected = type(ratings).__name__, "tacit.Ratings"
        fix = "Make them:  tacit.ratings_from(frame)  or  tacit.load(PATH)."
        raise DataError("a model is fitted to ratings", found=found, expected=expected, fix=fix)


def checked_n(n: object) -> int:
    """The length of a list."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ConfigError(
            f"A list has a whole number of entries, at least one; got n={n!r}. Give n=10, say."
        )
    return int(n)


def checked_ids(ids: object, name: str) -> Collection[Any]:
    """A collection of ids, such as those to leave out."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ConfigError(
            f"{name} is a collection of item ids; got {type(ids).__name__}. Give {name}=[ID, ID]."
        )
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def checked_times(times: object, history: Mapping[Any, float]) -> Mapping[Any, int]:
    """Check when the items of a history were rated.

    Raises:
        DataError: Not a mapping, or not one whole number of seconds for each item of the history.
    """
    expected = "whole seconds for each item of the history and no other"
    if not isinstance(times, Mapping):
        raise DataError("times map items to seconds", found=type(times).__name__, expected=expected)
    if set(times) != set(history):
        unmatched = next(iter(set(times) ^ set(history)))
        raise DataError(
            "the times are not those of the items in the history",
            found=unmatched,
            expected=expected,
        )
    for item, moment in times.items():
        if isinstance(moment, bool) or not isinstance(moment, Integral):
            what = f"the time of item {item!r} in the history is no whole number"
            raise DataError(what, found=moment, expected=expected)
    return times


def checked_history(
    history: object, ids: Column | None = None, scale: RatingScale | None = None
) -> Mapping[Any, float]:
    """The same history, if it maps ids of the model's type to stars on the scale."""
    if not isinstance(history, Mapping):
        found = type(history).__name__
        raise DataError("a history maps items to stars", found=found, expected=_STARS)
    for item, stars in history.items():
        number = isinstance(stars, int | float | np.number) and not isinstance(stars, bool)
        if not number or not np.isfinite(stars):
            what = f"a rating in the history is not a finite number, that of item {item!r}"
            raise DataError(what, expected=_STARS, fix="Leave the item out, or correct it.")
    if ids is not None:
        check_kind(history, ids)
    if scale is not None and not scale.holds(np.array([*history.values()], dtype=float)).all():
        fix = "Correct it, or bring your stars to this scale."
        raise DataError("a rating in the history lies off the scale", expected=str(scale), fix=fix)
    return history


def check_kind(keys: Collection[Any], ids: Column) -> None:
    """DataError if no id is of the type that the model's ids have: then none is known."""
    strings = ids.dtype == object
    wanted: tuple[type, ...] = (str,) if strings else (int, np.integer)
    if keys and len(ids) and not any(isinstance(key, wanted) for key in keys):
        name, convert = ("strings", "str") if strings else ("whole numbers", "int")
        raise DataError(
            "the ids of the history are of another type than the model's",
            found=type(next(iter(keys))).__name__,
            expected=f"{name} such as {ids.tolist()[0]!r}",
            fix=f"Convert them:  {{{convert}(item): stars ...}}",
        )


TAKEN = {
    "catalogue": ("which items were rated", "give --catalogue FILE"),
    "scale": ("the scale detected in the ratings", "give --scale MIN:MAX:STEP"),
    "filter": ("what a filter by numbers of ratings left out", "leave the filter out"),
    "dates": ("whether dates have the day or the month first", "import with --dates ORDER"),
    "values": ("which values of the attribute occur", "give --values NAME=A,B"),
}
"""What may be read off the ratings, and what to do instead."""


def taken_for_public(ratings: Ratings) -> tuple[str, ...]:
    """What a private fit would read off these ratings: names of `TAKEN`."""
    read_off = {
        "catalogue": not ratings.catalogue_given,
        "scale": not ratings.scale_given,
        "filter": ratings.filtered,
        "dates": not ratings.dates_given,
    }
    return tuple(name for name, is_read in read_off.items() if is_read)


def condition(taken: Sequence[str]) -> str:
    """What has to be public, and how to be rid of it: a sentence to append, or nothing."""
    if not taken:
        return ""
    what, instead = zip(*(TAKEN[name] for name in taken), strict=True)
    return (
        f" This is conditional: {' and '.join(what)} {'is' if len(what) == 1 else 'are'} taken for "
        f"public. To have it proved, {' and '.join(instead)}."
    )


def assumed(what: str, taken: Sequence[str]) -> tuple[str, ...]:
    """Assumptions about what is public. what: all of it, in words."""
    if not taken:
        return (f"{what} are public: they were given, not read off the ratings",)
    read_off = (TAKEN[name] for name in taken)
    return f"{what} are public", *(f"{read} is public: {instead}" for read, instead in read_off)


def load_model(path: str | Path) -> Any:
    """The fitted recommender in a model file, of which no code is run; or ModelFileError."""
    header, arrays = container.read(path)
    kind = header.get("recommender")
    reader = model_reader(kind) if isinstance(kind, str) else None
    if reader is None:
        raise ModelFileError(f"{path}: holds a recommender this tacit does not know ({kind!r}).")
    try:
        return reader.from_parts(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, TacitError) as error:
        problem = f"{path}: its content cannot be used ({error}). Fit it again."
        raise ModelFileError(problem) from None


def model_reader(kind: str) -> Any:
    """The class that reads files of this name; None if there is none. No other class is loaded."""
    return _baselines().get(kind) or model_class(kind)


def model_kinds() -> tuple[str, ...]:
    """Names in model files that can be read."""
    return (*_baselines(), *(kind for name in names() for kind in design(name).models))


def _baselines() -> dict[str, Any]:
    """The class of each baseline, by its name in a model file."""
    from tacit.recommenders import baselines  # they build on this module

    return {each.kind: each for each in vars(baselines).values() if hasattr(each, "kind")}


def shaped(arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None) -> NDArray[Any]:
    """One array of a file; ValueError unless it has this shape (None: any extent)."""
    array = arrays[name]
    pairs = zip(array.shape, shape, strict=False)
    if array.ndim != len(shape) or any(wanted not in (None, extent) for extent, wanted in pairs):
        raise ValueError(f"'{name}' does not fit the list of items")
    return array


def finite(
    arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None
) -> NDArray[np.float64]:
    """The same of finite float64 numbers alone."""
    array = shaped(arrays, name, *shape)
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"'{name}' does not hold finite numbers alone")
    return array


Titles = Mapping[Any, str]
"""Item id to a name people know; only for showing."""


def titles_of(ratings: Ratings) -> Titles:
    """Titles from item metadata, of the items that have one."""
    column = ratings.item_metadata.get("title")
    if column is None:
        return {}
    named = zip(ratings.item_ids.tolist(), column.tolist(), strict=True)
    return {item: str(title) for item, title in named if title is not None}


def items_to_header(ids: Column, titles: Titles) -> dict[str, Any]:
    """Ids and titles as JSON values; integers stay integers."""
    items = list(ids.tolist())
    return {"items": items, "titles": [titles.get(item) for item in items] if titles else None}


def titles_from_header(header: Mapping[str, Any]) -> Titles:
    """The titles that `items_to_header` wrote."""
    named = zip(header["items"], header["titles"] or (), strict=False)
    return {item: title for item, title in named if title is not None}


def ids_from_header(values: list[Any]) -> Column:
    """The column that `items_to_header` wrote."""
    if values and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
