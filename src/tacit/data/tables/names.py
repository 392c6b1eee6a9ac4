"""Names that columns have in use, in several languages: `names.toml`, compared without spelling.

Headers compare without case, accents, blanks and signs, and a type suffix as in `user_id:token` is
ignored: `Customer ID`, `customerId` and `customer_id` are one.
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
"""What a column of ratings may hold."""

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
"""What a name is about. A name of `order` or `other` says that the column is nothing else."""

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
_WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])")
"""Between the words of userId, UserIDs and user2."""


def normalize_header(header: str) -> str:
    """Return a header as it is compared: lower case, no accents, blanks, signs or type suffix."""
    written = header.strip().lower().split(":")[0]
    decomposed = unicodedata.normalize("NFKD", written)
    letters = [letter for letter in decomposed if letter.isalnum()]
    return "".join(letters) or written


@cache
def usual_names(subject: Subject) -> tuple[str, ...]:
    """Return the names that are believed whatever stands in the column, as they are compared."""
    return _names_of(subject, "usual")


@cache
def known_names(subject: Subject) -> tuple[str, ...]:
    """Return all names of a subject as they are compared, the usual ones first."""
    return tuple(dict.fromkeys(usual_names(subject) + _names_of(subject, "more")))


def is_named(subject: Subject, header: str) -> bool:
    """Tell whether a header is a name of the subject."""
    return normalize_header(header) in known_names(subject)


def is_compound_of(subject: Subject, header: str) -> bool:
    """Tell whether a header is made of names of the subject and words such as id."""
    if is_named(subject, header):
        return True
    words = re.findall(r"[^\W_]+", _WORD_ENDS.sub(" ", header.strip().split(":")[0]))
    parts = {normalize_header(word) for word in words}
    known = set(known_names(subject))
    return bool(parts & known) and parts - known <= _ID_WORDS


def is_no_candidate(header: str) -> bool:
    """Tell whether a name says that the column holds neither people, items nor stars."""
    return any(
        is_named(subject, header) for subject in ("order", "event", "other", "title", "category")
    )


@cache
def names_that_make_a_header() -> frozenset[str]:
    """Return the names of people, items, stars, plays and times."""
    subjects: Sequence[Subject] = ("user", "item", "rating", "plays", "time")
    return frozenset(itertools.chain.from_iterable(map(known_names, subjects)))


def _names_of(subject: Subject, kind: str) -> tuple[str, ...]:
    written = _table().get(subject, {}).get(kind, [])
    return tuple(dict.fromkeys(normalize_header(name) for name in written))


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    text = files("tacit.data.tables").joinpath("names.toml").read_text("utf-8")
    return tomllib.loads(text)
