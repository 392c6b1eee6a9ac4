"""Facts that a private fit may read off the ratings and take for public, as cards state them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tacit.data.ratings import Ratings


class PublicFact(NamedTuple):
    """Something that a fit needs and that should not depend on one person's ratings."""

    fact: str
    """What it is, in words."""
    instead: str
    """What to do so that it is not read off the ratings."""


PUBLIC_FACTS: Mapping[str, PublicFact] = {
    "catalogue": PublicFact("which items were rated", "give --catalogue FILE"),
    "scale": PublicFact("the scale detected in the ratings", "give --scale MIN:MAX:STEP"),
    "filter": PublicFact("what a filter by numbers of ratings left out", "leave the filter out"),
    "dates": PublicFact(
        "whether dates have the day or the month first", "import with --dates ORDER"
    ),
    "values": PublicFact("which values of the attribute occur", "give --values NAME=A,B"),
}
"""By the names that model files use."""


def facts_read_off(ratings: Ratings) -> tuple[str, ...]:
    """Names of the facts that a private fit would read off these ratings."""
    read_off = {
        "catalogue": not ratings.catalogue_given,
        "scale": not ratings.scale_given,
        "filter": ratings.filtered,
        "dates": not ratings.dates_given,
    }
    return tuple(name for name, is_read_off in read_off.items() if is_read_off)


def describe_condition(names: Sequence[str]) -> str:
    """Say what has to be public, and how to be rid of it: a sentence to append, or nothing."""
    if not names:
        return ""
    facts = " and ".join(PUBLIC_FACTS[name].fact for name in names)
    remedies = " and ".join(PUBLIC_FACTS[name].instead for name in names)
    verb = "is" if len(names) == 1 else "are"
    return f" This is conditional: {facts} {verb} taken for public. To have it proved, {remedies}."


def describe_assumptions(subject: str, names: Sequence[str]) -> tuple[str, ...]:
    """State what is assumed to be public, for a card.

    Args:
        subject: All that has to be public, in words.
        names: Names of the facts that were read off the ratings.
    """
    if not names:
        return (f"{subject} are public: they were given, not read off the ratings",)
    lines = [f"{subject} are public"]
    for name in names:
        fact, instead = PUBLIC_FACTS[name]
        lines.append(f"{fact} is public: {instead}")
    return tuple(lines)
