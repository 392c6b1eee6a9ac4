"""Conditions of guarantees: facts that a fit assumes to be public, and unknown earlier fits.

Most facts are found in the ratings; others are about the sources of features. A card lists the
conditions of its guarantee, each with what the user can do to remove it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tacit.data.ratings import Ratings
from tacit.privacy import Guarantee


class PublicFact(NamedTuple):
    """A fact that a fit needs. It is assumed not to depend on any single person's ratings."""

    fact: str
    """The fact in words."""
    remedy: str
    """What the user can do so that the fit does not assume the fact."""


_FORMAT_REMEDY = "read the file by a written description with --format FILE"
"""Remedy for the facts of `GUESSES`."""
_OPTION_REMEDIES: Mapping[str, str] = {
    "decimal": f"in Python name the decimal sign with decimal='.', or {_FORMAT_REMEDY}",
    "dates": f"in Python name the order of dates with dates=..., or {_FORMAT_REMEDY}",
}
"""Remedies for the facts of `GUESSES` that an option settles, too, also for a data frame."""
ONE_ID_EACH = (
    "one person has one id, and an id is one person's: ids that differ only in blanks around them "
    "or in how Unicode spells a letter are one id"
)
"""Assumption of cards that protect all rows of a person: the rows of an id are taken for them."""
TYPES_ARE_PUBLIC = (
    "where columns have types (data frames, lists of values, Parquet, databases), these types do "
    "not depend on one person's rows"
)
"""Assumption of cards of fits to rows."""
REFUSALS_ARE_SEEN = (
    "whether a fit could be made: rows of one person that cannot be read may stop it, and later "
    "model files list a fit that failed after it was charged"
)
"""What cards of fits to rows do not cover."""

GUESSES: Mapping[str, str] = {
    "encoding": "the encoding of the file",
    "delimiter": "the sign between its cells",
    "header": "whether its first line has names",
    "rows": "which of its line ends are inside quotes",
    "columns": "which of its columns holds what",
    "ids": "whether its ids are whole numbers",
    "decimal": "what commas and points in numbers mean",
    "dates": "whether dates have the day or the month first",
    "times": "how its times are read",
    "domains": "the domains of items that stood beside the ratings",
    "people": "how the file about the people is written",
}
"""Facts that the reader of a file guesses from its rows, by their names in `Ratings.guesses`."""

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
        "whether cells hold lists of items, and how lists of items are written: the sign between "
        "them, and whether stars stand beside",
        f"write the ratings with a row for each and {_FORMAT_REMEDY}",
    ),
    "values": PublicFact("which values of the attribute occur", "give --values NAME=A,B"),
    **{
        name: PublicFact(fact, _OPTION_REMEDIES.get(name, _FORMAT_REMEDY))
        for name, fact in GUESSES.items()
    },
}
"""Facts that may be found in the ratings, by their names in model files."""

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
"""Facts about the sources of dense features, which tacit cannot check, by their names in model
files."""
_FACTS: Mapping[str, PublicFact] = {**PUBLIC_FACTS, **FEATURE_SOURCES}
"""All facts, by their names in model files."""

UNKNOWN_SPENDING = "spending"
"""Name of a further condition: that nobody was in earlier fits, whose cost is unknown."""
_SPENDING = (
    "what earlier fits of these people have cost is unknown, as scikit-learn's clone made this "
    "object without their record: only fits from here on are counted"
)
"""The condition `UNKNOWN_SPENDING` in words."""
_SPENDING_REMEDY = "fit an object that no clone made, with the newest model as previous"
"""What the user can do to remove the condition `UNKNOWN_SPENDING`."""
CONDITIONS = (*_FACTS, UNKNOWN_SPENDING)
"""Names of all conditions that a model file may have."""


def add_titles_assumption(
    cards: Sequence[Guarantee], assumed_public: Sequence[str]
) -> tuple[Guarantee, ...]:
    """Add to each card the assumption that texts beside the ratings are public, if it is made.

    Args:
        cards: Cards of a fit.
        assumed_public: Names of the facts that the fit assumes; without "titles" nothing is added.
    """
    if "titles" not in assumed_public:
        return tuple(cards)
    fact, remedy = PUBLIC_FACTS["titles"]
    line = f"{fact} is public: {remedy}"
    cards_with_line = []
    for card in cards:
        lines = card.assumptions if line in card.assumptions else (*card.assumptions, line)
        cards_with_line.append(replace(card, assumptions=lines))
    return tuple(cards_with_line)


def facts_read_off(ratings: Ratings) -> tuple[str, ...]:
    """Return the names of the facts that a private fit to these ratings assumes to be public."""
    is_assumed = {
        "catalogue": not ratings.catalogue_given,
        "scale": not ratings.scale_given,
        "filter": ratings.filtered,
    }
    names = [name for name, assumed in is_assumed.items() if assumed]
    return tuple(dict.fromkeys([*names, *ratings.guesses]))


def describe_condition(names: Sequence[str]) -> str:
    """Describe in sentences the conditions of a guarantee and how the user can remove them.

    Args:
        names: Names in `CONDITIONS`.

    Returns:
        The sentences, after a blank, to be appended to others; "" if there are no conditions.
    """
    sentences = ""
    read_off = [name for name in names if name != UNKNOWN_SPENDING]
    if read_off:
        facts = _join_clauses([_FACTS[name].fact for name in read_off])
        remedies = _join_clauses(_list_remedies(read_off))
        verb = "is" if len(read_off) == 1 else "are"
        sentences += f" This is conditional: {facts} {verb} taken for public."
        sentences += f" To have it proved, {remedies}."
    if UNKNOWN_SPENDING in names:
        sentences += f" And {_SPENDING}. To have it counted, {_SPENDING_REMEDY}."
    return sentences


def _list_remedies(names: Sequence[str]) -> list[str]:
    """List what the user can do about some facts, each once.

    If a written description of the file is needed for one fact, it is not named again as the second
    way for another one.
    """
    remedies = [*dict.fromkeys(_FACTS[name].remedy for name in names)]
    if _FORMAT_REMEDY not in remedies:
        return remedies
    second_way = f", or {_FORMAT_REMEDY}"
    return [remedy for remedy in remedies if not remedy.endswith(second_way)]


def _join_clauses(clauses: Sequence[str]) -> str:
    """Join two clauses by "and", and more than two by semicolons, since some have commas."""
    if len(clauses) <= 2:
        return " and ".join(clauses)
    return "; ".join(clauses[:-1]) + "; and " + clauses[-1]


def describe_assumptions(subject: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a card about what is assumed to be public.

    Args:
        subject: Name, in the plural, of all that must be public for the guarantee.
        names: Names in `CONDITIONS`: the facts that the fit assumes, and perhaps
            `UNKNOWN_SPENDING`.
    """
    read_off = [name for name in names if name != UNKNOWN_SPENDING]
    lines = [f"{subject} are public"]
    if not read_off:
        lines = [f"{subject} are public: they were given, not read off the ratings"]
    if UNKNOWN_SPENDING in names:
        lines.append(f"nobody was in an earlier fit, or its cost is added to this: {_SPENDING}")
    for name in read_off:
        fact, remedy = _FACTS[name]
        lines.append(f"{fact} is public: {remedy}")
    return tuple(lines)
