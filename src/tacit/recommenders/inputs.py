"""What a recommender is given, checked in one place, and what a private fit reads off it unpaid.

Such a reading can reveal one person, unless it is given from outside: the only rater of an item,
the only giver of a half star, the only holder of an attribute value. A claim that rests on it is
conditional, and its card says which option to give instead (`TAKEN`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.errors import ConfigError, DataError

_STARS = "{item id: stars}, such as {7: 4.0}"


def checked_ratings(ratings: object) -> None:
    """DataError unless a model can be fitted to this."""
    if not isinstance(ratings, Ratings):
        raise DataError(
            "a model is fitted to ratings",
            found=type(ratings).__name__,
            expected="tacit.Ratings",
            fix="Make them:  tacit.ratings_from(frame)  or  tacit.load(PATH).",
        )


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


def checked_history(
    history: object, ids: Column | None = None, scale: RatingScale | None = None
) -> Mapping[Any, float]:
    """The same history, if it maps ids of the model's type to stars on the scale."""
    if not isinstance(history, Mapping):
        raise DataError("a history maps items to stars", found=type(history).__name__,
                        expected=_STARS)  # fmt: skip
    for item, stars in history.items():
        number = isinstance(stars, int | float | np.number) and not isinstance(stars, bool)
        if not number or not np.isfinite(stars):
            raise DataError(
                f"a rating in the history is not a finite number, that of item {item!r}",
                expected=_STARS,
                fix="Leave the item out, or correct it.",
            )
    if ids is not None:
        check_kind(history, ids)
    if scale is not None and not scale.holds(np.array([*history.values()], dtype=float)).all():
        raise DataError("a rating in the history lies off the scale", expected=str(scale),
                        fix="Correct it, or bring your stars to this scale.")  # fmt: skip
    return history


def check_kind(keys: Collection[Any], ids: Column) -> None:
    """DataError if no id is of the type that the model's ids have: then none is known."""
    strings = ids.dtype == object
    wanted: tuple[type, ...] = (str,) if strings else (int, np.integer)
    if keys and len(ids) and not any(isinstance(key, wanted) for key in keys):
        example = ids.tolist()[0]
        raise DataError(
            "the ids of the history are of another type than the model's",
            found=type(next(iter(keys))).__name__,
            expected=f"{'strings' if strings else 'whole numbers'} such as {example!r}",
            fix="Convert them:  {str(item): stars ...}" if strings
            else "Convert them:  {int(item): stars ...}",
        )  # fmt: skip


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
    given = f"{what} are public"
    if not taken:
        return (f"{given}: they were given, not read off the ratings",)
    return (
        given,
        *(f"{read} is public: {instead}" for read, instead in (TAKEN[name] for name in taken)),
    )
