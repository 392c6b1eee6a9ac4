"""What a private fit reads off its ratings without paying, unless it is given from outside.

Such a reading can reveal one person: the only rater of an item, the only giver of a half star, the
only holder of an attribute value. A claim that rests on it is conditional, and its card says which
option to give instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.data.ratings import Ratings

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
