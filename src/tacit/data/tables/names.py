"""Names of columns in several languages, from `names.toml`, and how headers are compared with them.

Headers and names are normalized first: case, accents, blanks, signs and a type suffix as in
`user_id:token` make no difference. So `Customer ID`, `customerId` and `customer_id` are the same
name.
"""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

Role = Literal["user", "item", "rating", "plays", "time", "domain"]
"""The roles of columns in a table of ratings."""

Subject = Literal[
    "user",
    "item",
    "rating",
    "feedback",
    "plays",
    "time",
    "title",
    "category",
    "price",
    "image",
    "order",
    "event",
    "other",
    "domain",
]
"""What a column holds, as its name says. Each role is a subject. A column of the subject `feedback`
may hold the ratings; names of the other subjects, such as `order` and `price`, give no role."""

_ID_WORDS = {
    "id",
    "no",
    "nr",
    "n",
    "num",
    "number",
    "numero",
    "numer",
    "nummer",
    "numara",
    "numarasi",
    "key",
    "code",
    "cod",
    "codigo",
    "codice",
    "kod",
    "kodu",
    "ref",
    "reference",
    "hash",
    "uuid",
    "номер",
    "код",
}
"""Normalized words that may stand beside a name, as in `customer number`."""
_WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])")
"""The pattern of the boundaries of words in userId, USERId and user2; it matches no character."""


def normalize_header(header: str) -> str:
    """Return a header in lower case, without accents, blanks, signs and type suffix.

    A header of signs alone is only stripped, put in lower case and cut at the first colon.
    """
    lowered = header.strip().lower().split(":")[0]
    decomposed = unicodedata.normalize("NFKD", lowered)
    letters = [letter for letter in decomposed if letter.isalnum()]
    return "".join(letters) or lowered


@cache
def usual_names(subject: Subject) -> tuple[str, ...]:
    """Return the normalized names of a subject that are believed whatever the cells hold.

    A subject may have no usual names.
    """
    return _read_names(subject, "usual")


@cache
def known_names(subject: Subject) -> tuple[str, ...]:
    """Return all normalized names of a subject, the usual ones first.

    The names that are not usual are believed only if the cells fit.
    """
    return tuple(dict.fromkeys(usual_names(subject) + _read_names(subject, "more")))


def is_named(subject: Subject, header: str) -> bool:
    """Tell whether a header is a known name of a subject."""
    return normalize_header(header) in known_names(subject)


def is_compound_of(subject: Subject, header: str) -> bool:
    """Tell whether a header consists of known names of a subject and words such as id or number."""
    if is_named(subject, header):
        return True
    words = re.findall(r"[^\W_]+", _WORD_ENDS.sub(" ", header.strip().split(":")[0]))
    parts = {normalize_header(word) for word in words}
    names = set(known_names(subject))
    return bool(parts & names) and parts - names <= _ID_WORDS


def is_no_candidate(header: str) -> bool:
    """Tell whether a header is a name of orders, events, titles, categories, prices and so on.

    Such a column holds neither people, nor items, nor stars.
    """
    return any(
        is_named(subject, header) for subject in ("order", "event", "other", "title", "category")
    )


@cache
def names_that_make_a_header() -> frozenset[str]:
    """Return the normalized names of columns of people, items, stars, plays and times.

    A first line with several of these names is a header, not a row of data.
    """
    subjects: Sequence[Subject] = ("user", "item", "rating", "plays", "time")
    return frozenset(itertools.chain.from_iterable(map(known_names, subjects)))


def _read_names(subject: Subject, kind: str) -> tuple[str, ...]:
    """Read the "usual" or the "more" names of a subject, normalized, each once."""
    names = _read_table().get(subject, {}).get(kind, [])
    return tuple(dict.fromkeys(normalize_header(name) for name in names))


@cache
def _read_table() -> dict[str, dict[str, list[str]]]:
    """Read `names.toml`: subject to kind ("usual" or "more") to names."""
    text = files("tacit.data.tables").joinpath("names.toml").read_text("utf-8")
    return tomllib.loads(text)
