"""Generated data for demonstrations: ratings of people who do not exist, titles of their items."""

from __future__ import annotations

from functools import lru_cache

from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate

ITEMS = 200
"""Number of items of the generated ratings."""
_SEED = 7
"""Seed of the generated ratings."""


@lru_cache(maxsize=1)
def population() -> Ratings:
    """Generate the ratings of 600 people, each with a gender, once; then return the same object."""
    return generate(users=600, items=ITEMS, ratings=24_000, seed=_SEED)


# Words of titles: 20 of each sort, so that there are 400 titles of films and 400 of books.
_FILM_ADJECTIVES = (
    "Silent Crooked Golden Borrowed Northern Hollow Patient Scarlet Unfinished Distant Wooden "
    "Paper Second Stolen Quiet Bitter Electric Frozen Painted Restless"
)
_FILM_NOUNS = (
    "Harbour Lighthouse Orchard Staircase Violin Winter Bridge Letter Garden Mirror Ferry Compass "
    "Market Tower Island Lantern River Clockmaker Neighbour Cartographer"
)
_BOOK_PEOPLE = (
    "Clara Anselm Ines Otto Maya Tomas Greta Elias Nora Viktor Amara Felix Lena Rafael Ida Sami "
    "Judith Leon Zofia Hugo"
)
_BOOK_PLACES = (
    "Lisbon Trieste Bergen Tallinn Valparaiso Marseille Galway Salonica Odense Kyoto Zanzibar Cork "
    "Ghent Montevideo Riga Dakar Naples Oslo Tbilisi Samarkand"
)


def film_titles(count: int) -> list[str]:
    """Make different titles of films, at most 400. A longer list begins with the shorter one."""
    pairs = _pair_words(_FILM_ADJECTIVES, _FILM_NOUNS, count)
    return [f"The {adjective} {noun}" for adjective, noun in pairs]


def book_titles(count: int) -> list[str]:
    """Make different titles of books, at most 400, none of which is a film's."""
    pairs = _pair_words(_BOOK_PEOPLE, _BOOK_PLACES, count)
    return [f"{person} in {place}" for person, place in pairs]


def _pair_words(first: str, second: str, count: int) -> list[tuple[str, str]]:
    """Make different pairs of a first and a second word.

    Both words change from one pair to the next: pair number i has first word i and second word i,
    and after the last word counting begins again. After each round through all words, the second
    words are shifted by one more against the first words.

    Args:
        first: The first words, separated by blanks.
        second: As many second words.
        count: Number of pairs, at most the square of the number of first words.
    """
    first_words = first.split()
    second_words = second.split()
    size = len(first_words)
    pairs = []
    for number in range(count):
        rounds = number // size
        pairs.append((first_words[number % size], second_words[(number + rounds) % size]))
    return pairs
