"""Facts that a private fit may read off the ratings and take for public, as cards state them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tacit.data.ratings import Ratings
from tacit.privacy import Guarantee


class PublicFact(NamedTuple):
    """Something that a fit needs and that should not depend on one person's ratings."""

    fact: str
    """What it is, in words."""
    instead: str
    """What to do so that it is not read off the ratings."""


_WRITTEN = "read the file by a written description with --format FILE"

GUESSES: Mapping[str, str] = {
    "encoding": "the encoding of the file",
    "delimiter": "the sign between its cells",
    "header": "whether its first line has names",
    "rows": "where its rows end, which quotes decide",
    "columns": "which of its columns holds what",
    "ids": "whether its ids are whole numbers",
    "decimal": "which sign stands between thousands",
    "dates": "whether dates have the day or the month first",
    "times": "whether numbers are seconds or dates",
    "domains": "the domains of items that stood beside the ratings",
    "people": "how the file about the people is written",
}
"""What may be found in the rows in order to read them, by the names in `Ratings.guesses`."""

PUBLIC_FACTS: Mapping[str, PublicFact] = {
    "catalogue": PublicFact("which items were rated", "give --catalogue FILE"),
    "scale": PublicFact("the scale detected in the ratings", "give --scale MIN:MAX:STEP"),
    "filter": PublicFact("what a filter by numbers of ratings left out", "leave the filter out"),
    "items": PublicFact(
        "a file NAME-items beside the ratings, which was read without being named",
        "name it with --items FILE",
    ),
    "titles": PublicFact("text that stood beside the ratings", "give titles with --items FILE"),
    "lists": PublicFact(
        "how lists of items are written: the sign between them, and whether stars stand beside",
        "write the ratings with a row for each",
    ),
    "values": PublicFact("which values of the attribute occur", "give --values NAME=A,B"),
    **{name: PublicFact(fact, _WRITTEN) for name, fact in GUESSES.items()},
}
"""By the names that model files use."""

FEATURE_SOURCES: Mapping[str, PublicFact] = {
    "texts": PublicFact(
        "the source of the item texts that features are made of (no words of these people)",
        "leave out --text",
    ),
    "vectors": PublicFact(
        "the source of the item vectors (no rating or event of these people)",
        "leave out --vectors",
    ),
}
"""Sources of dense features, which nothing can check: by the names that model files use."""
_FACTS: Mapping[str, PublicFact] = {**PUBLIC_FACTS, **FEATURE_SOURCES}

UNKNOWN_SPENDING = "spending"
"""Name of a condition that is no fact about ratings: what earlier fits have cost is unknown."""
_SPENDING = (
    "what earlier fits of these people have cost is unknown, as scikit-learn's clone made this "
    "object and hands on no fits: this counts from here on alone"
)
_SPENDING_INSTEAD = "fit an object that no clone made, with the newest model as previous"
CONDITIONS = (*_FACTS, UNKNOWN_SPENDING)
"""All that a model file may name as taken for granted."""


def name_text_of_rows(
    cards: Sequence[Guarantee], assumed_public: Sequence[str]
) -> tuple[Guarantee, ...]:
    """State on every card that text of rows is taken for public, if it is."""
    if "titles" not in assumed_public:
        return tuple(cards)
    fact, instead = PUBLIC_FACTS["titles"]
    line = f"{fact} is public: {instead}"
    named = []
    for card in cards:
        lines = card.assumptions if line in card.assumptions else (*card.assumptions, line)
        named.append(replace(card, assumptions=lines))
    return tuple(named)


def facts_read_off(ratings: Ratings) -> tuple[str, ...]:
    """List the facts that a private fit would read off these ratings."""
    read_off = {
        "catalogue": not ratings.catalogue_given,
        "scale": not ratings.scale_given,
        "filter": ratings.filtered,
    }
    names = [name for name, is_read_off in read_off.items() if is_read_off]
    return (*names, *ratings.guesses)


def describe_condition(names: Sequence[str]) -> str:
    """Say what is taken for granted, and how to be rid of it: sentences to append, or nothing."""
    sentences = ""
    read_off = [name for name in names if name != UNKNOWN_SPENDING]
    if read_off:
        facts = _join_clauses([_FACTS[name].fact for name in read_off])
        remedies = _join_clauses([*dict.fromkeys(_FACTS[name].instead for name in read_off)])
        verb = "is" if len(read_off) == 1 else "are"
        sentences += f" This is conditional: {facts} {verb} taken for public."
        sentences += f" To have it proved, {remedies}."
    if UNKNOWN_SPENDING in names:
        sentences += f" And {_SPENDING}. To have it counted, {_SPENDING_INSTEAD}."
    return sentences


def _join_clauses(clauses: Sequence[str]) -> str:
    """Join two clauses by "and", more of them by semicolons, since some have commas."""
    if len(clauses) <= 2:
        return " and ".join(clauses)
    return "; ".join(clauses[:-1]) + "; and " + clauses[-1]


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
        fact, instead = _FACTS[name]
        lines.append(f"{fact} is public: {instead}")
    return tuple(lines)
