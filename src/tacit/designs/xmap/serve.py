"""What the service's demonstration shows of private lists, made from generated ratings.

Lists of films for devices to make, and an X-Map from books to films.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.data.synthetic_worlds import generate_domains
from tacit.designs.private.model import Private
from tacit.designs.xmap.model import XMap
from tacit.service.demo_data import book_titles, film_titles

PEOPLE, BOOKS, FILMS, EACH, GENRES = 2000, 100, 200, 30, 12
LISTS = 3000
"""People of the private lists, at epsilon 1."""
EPSILON = 4.0
"""Nats for one person's whole profile, of the model that is served."""
DELTA = 1e-6
SEED = 5
_FIRST_BOOK = 1001
"""Films are numbered from 1, books from here."""


def make_demo(folder: Path) -> str:
    Private(1.0, DELTA).fit(viewers()).save(folder / "lists.tacit")
    model = XMap(source="books", target="films", epsilon=EPSILON, delta=DELTA, stars=True)
    model.fit(population()).save(folder / "films.tacit")
    return """[models.lists]
file = "lists.tacit"  # made with epsilon 1; devices fetch it, and nothing leaves them

[models.films]
file = "films.tacit"
"""


def viewers() -> Ratings:
    """Other people's ratings of the films that visitors may rate, with genres; all is given."""
    made = generate(users=LISTS, items=FILMS, ratings=40 * LISTS, labels=8, seed=7)
    films = made.item_ids.tolist()
    genres = dict(zip(films, made.item_metadata["genres"].tolist(), strict=True))
    titles = dict(zip(films, film_titles(FILMS), strict=True))
    return on_catalogue(
        made, dict.fromkeys(films, "films"), metadata={"title": titles, "genres": genres}
    )


def population() -> Ratings:
    """Ratings of generated people; the catalogue is given, so that a fit reads nothing off them."""
    made = generate_domains(
        PEOPLE, (BOOKS, FILMS), float(EACH), pull=0.35, shift=20.0, labels=GENRES, seed=SEED
    )
    numbers = [*range(_FIRST_BOOK, _FIRST_BOOK + BOOKS), *range(1, FILMS + 1)]
    titles = dict(zip(numbers, [*book_titles(BOOKS), *film_titles(FILMS)], strict=True))
    domains = {item: "books" if item >= _FIRST_BOOK else "films" for item in numbers}
    renamed = Ratings.from_arrays(
        made.users, np.array(numbers)[made.items], made.values, scale=made.scale
    )
    genres = dict(zip(numbers, made.item_metadata["genres"].tolist(), strict=True))
    return on_catalogue(renamed, domains, metadata={"title": titles, "genres": genres})
