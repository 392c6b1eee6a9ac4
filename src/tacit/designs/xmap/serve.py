"""The X-Map model of the service's demonstration: films for readers of books, generated ratings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import generate_domains
from tacit.designs.xmap.model import XMap
from tacit.service.demo_data import book_titles, film_titles

PEOPLE = 2000
"""Number of generated people."""
BOOKS = 100
"""Number of books, the items of the source domain."""
FILMS = 200
"""Number of films, the items of the target domain."""
RATINGS_PER_PERSON = 30
"""Mean number of ratings of a person, in both domains together."""
GENRES = 12
"""Number of genres that items are labelled with."""
EPSILON = 4.0
"""Nats of the model for one person's whole profile."""
DELTA = 1e-6
"""Probability by which any event may exceed the bound of epsilon."""
SEED = 5
"""Seed of the generated ratings."""
_FIRST_BOOK = 1001
"""Films are numbered from 1, books from here."""


def make_demo(folder: Path) -> str:
    """Fit the demonstration's model, and write it to a folder as films.tacit.

    Returns:
        The model's section of the service's tacit.toml.
    """
    model = XMap(source="books", target="films", epsilon=EPSILON, delta=DELTA, stars=True)
    model.fit(population()).save(folder / "films.tacit")
    return """[models.films]
file = "films.tacit"
item_word = "film"
"""


def population() -> Ratings:
    """Generate ratings of books and films, with a public catalogue.

    Without a catalogue, the model's card would have to assume that the items and domains seen in
    the ratings are public.
    """
    generated = generate_domains(
        PEOPLE,
        (BOOKS, FILMS),
        float(RATINGS_PER_PERSON),
        pull=0.35,  # tastes decide much of what people rate, so that lists differ by person
        shift=20.0,  # about 20 items at the top are equally popular
        labels=GENRES,
        seed=SEED,
    )
    numbers = [*range(_FIRST_BOOK, _FIRST_BOOK + BOOKS), *range(1, FILMS + 1)]
    titles = dict(zip(numbers, [*book_titles(BOOKS), *film_titles(FILMS)], strict=True))
    domains = {item: "books" if item >= _FIRST_BOOK else "films" for item in numbers}
    renamed = Ratings.from_arrays(
        generated.users,
        np.array(numbers)[generated.items],
        generated.values,
        scale=generated.scale,
    )
    genres = dict(zip(numbers, generated.item_metadata["genres"].tolist(), strict=True))
    return on_catalogue(renamed, domains, metadata={"title": titles, "genres": genres})
