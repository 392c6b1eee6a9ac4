"""The generated people and films that all demonstrations are about.

Titles that can be spoken and that nothing is called, for generated films and books.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate

ITEMS = 200
_SEED = 7


@lru_cache(maxsize=1)
def population() -> Ratings:
    """Ratings of generated people of two genders. No row is about anybody."""
    return generate(users=600, items=ITEMS, ratings=24_000, seed=_SEED)


_FIRST = [*"bdfghklmnprstv", "br", "dr", "gr", "kl", "pr", "st", "tr"]
_VOWELS = [*"aeiouaeio", "ai", "ea", "ou"]
_LAST = ["", "", "", "l", "m", "n", "r", "s", "nd", "rn"]
_FILMS = (
    *("The {} of {}", "{}", "{} Rising", "The Last {}", "{} and {}", "Return to {}"),
    *("A Night in {}", "{} by Train", "Who Knows {}?", "The {} Affair", "Seven {}s"),
)
_BOOKS = (
    *("A History of {}", "{}: A Life", "The House at {}", "Letters to {}", "On {}"),
    *("The {} Notebooks", "What {} Saw", "{} in Winter", "The Gardener of {}", "{} & Sons"),
)


def film_titles(count: int) -> list[str]:
    """As many titles, each once; the first of a longer list are those of a shorter one."""
    return _first(count, _FILMS, seed=11)


def book_titles(count: int) -> list[str]:
    """As `film_titles`, and none of those."""
    return _first(count, _BOOKS, seed=12)


def _first(count: int, patterns: tuple[str, ...], *, seed: int) -> list[str]:
    found: dict[str, None] = {}
    titles = _titles(patterns, np.random.default_rng(seed))
    while len(found) < count:
        found.setdefault(next(titles))
    return list(found)


def _titles(patterns: tuple[str, ...], generator: np.random.Generator) -> Iterator[str]:
    while True:
        pattern = str(generator.choice(patterns))
        yield pattern.format(*(_word(generator) for _ in range(pattern.count("{}"))))


def _word(generator: np.random.Generator) -> str:
    syllables = [str(generator.choice(_FIRST)) + str(generator.choice(_VOWELS)) for _ in range(2)]
    return ("".join(syllables) + str(generator.choice(_LAST))).capitalize()
