"""A model of private lists of generated films, for the service's demonstration."""

from __future__ import annotations

from pathlib import Path

from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.designs.private.model import Private
from tacit.service.demo_data import film_titles

PEOPLE, FILMS, RATINGS_PER_PERSON, GENRES = 3000, 200, 40, 8
"""Size of the generated data; RATINGS_PER_PERSON is a mean."""
EPSILON = 1.0
"""Epsilon of the fit, for one person's whole profile."""
_SEED = 7


def make_demo(folder: Path) -> str:
    """Write a model of private lists into the folder, and return its section of tacit.toml."""
    Private(EPSILON).fit(generate_ratings()).save(folder / "lists.tacit")
    return """[models.lists]
file = "lists.tacit"  # made with epsilon 1; devices fetch it, and nothing leaves them
item_word = "film"
"""


def generate_ratings() -> Ratings:
    """Generate ratings of all films of the demonstration, whose titles and genres are public."""
    ratings = generate(
        users=PEOPLE,
        items=FILMS,
        ratings=RATINGS_PER_PERSON * PEOPLE,
        labels=GENRES,
        seed=_SEED,
    )
    films = ratings.item_ids.tolist()
    genres = dict(zip(films, ratings.item_metadata["genres"].tolist(), strict=True))
    titles = dict(zip(films, film_titles(FILMS), strict=True))
    metadata = {"title": titles, "genres": genres}
    return on_catalogue(ratings, dict.fromkeys(films, "films"), metadata=metadata)
