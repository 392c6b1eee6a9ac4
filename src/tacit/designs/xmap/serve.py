"""X-Map in the service's demonstration: films for readers of books, on generated ratings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import generate_domains
from tacit.designs.xmap.model import XMap
from tacit.service.demo_data import book_titles, film_titles

PEOPLE = 2000
BOOKS = 100
FILMS = 200
RATINGS_EACH = 30
"""Mean number of ratings of a person in each domain."""
GENRES = 12
EPSILON = 4.0
"""Nats for one person's whole profile, of the model that is served."""
DELTA = 1e-6
SEED = 5
_FIRST_BOOK = 1001
"""Films are numbered from 1, books from here."""


def make_demo(folder: Path) -> str:
    """Fit the demonstration's model into a folder; return its section of tacit.toml."""
    model = XMap(source="books", target="films", epsilon=EPSILON, delta=DELTA, stars=True)
    model.fit(population()).save(folder / "films.tacit")
    return """[models.films]
file = "films.tacit"
item_word = "film"
"""


def population() -> Ratings:
    """Generate ratings; their catalogue is given, so that a fit reads nothing off them."""
    made = generate_domains(
        PEOPLE, (BOOKS, FILMS), float(RATINGS_EACH), pull=0.35, shift=20.0, labels=GENRES, seed=SEED
    )
    numbers = [*range(_FIRST_BOOK, _FIRST_BOOK + BOOKS), *range(1, FILMS + 1)]
    titles = dict(zip(numbers, [*book_titles(BOOKS), *film_titles(FILMS)], strict=True))
    domains = {item: "books" if item >= _FIRST_BOOK else "films" for item in numbers}
    renamed = Ratings.from_arrays(
        made.users, np.array(numbers)[made.items], made.values, scale=made.scale
    )
    genres = dict(zip(numbers, made.item_metadata["genres"].tolist(), strict=True))
    return on_catalogue(renamed, domains, metadata={"title": titles, "genres": genres})
