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

UNKNOWN_SPENDING = "spending"
"""Name of a condition that is no fact about ratings: what earlier fits have cost is unknown."""
_SPENDING = (
    "what earlier fits of these people have cost is unknown, as scikit-learn's clone made this "
    "object and hands on no fits: this counts from here on alone"
)
_SPENDING_INSTEAD = "fit an object that no clone made, with the newest model as previous"
CONDITIONS = (*PUBLIC_FACTS, UNKNOWN_SPENDING)
"""All that a model file may name as taken for granted."""


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
    """Say what is taken for granted, and how to be rid of it: sentences to append, or nothing."""
    sentences = ""
    read_off = [name for name in names if name != UNKNOWN_SPENDING]
    if read_off:
        facts = " and ".join(PUBLIC_FACTS[name].fact for name in read_off)
        remedies = " and ".join(PUBLIC_FACTS[name].instead for name in read_off)
        verb = "is" if len(read_off) == 1 else "are"
        sentences += f" This is conditional: {facts} {verb} taken for public."
        sentences += f" To have it proved, {remedies}."
    if UNKNOWN_SPENDING in names:
        sentences += f" And {_SPENDING}. To have it counted, {_SPENDING_INSTEAD}."
    return sentences


def describe_assumptions(subject: str, names: Sequence[str]) -> tuple[str, ...]:
    """State what is assumed to be public, for a card.

    Args:
        subject: All that has to be public, in words.
        names: Names of the facts that were read off the ratings.
    """
    read_off = [name for name in names if name != UNKNOWN_SPENDING]
    lines = [f"{subject} are public"]
    if not read_off:
        lines = [f"{subject} are public: they were given, not read off the ratings"]
    if UNKNOWN_SPENDING in names:
        lines.append(f"nobody was in an earlier fit, or it is added to this: {_SPENDING}")
    for name in read_off:
        fact, instead = PUBLIC_FACTS[name]
        lines.append(f"{fact} is public: {instead}")
    return tuple(lines)
