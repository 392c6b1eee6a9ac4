"""What the service's demonstration shows of private lists, made from generated ratings.

Lists of films for devices to make; an X-Map from books to films, and what its privacy costs,
measured here.
"""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tacit.container import write_whole
from tacit.data.domains import cross_domain_split, on_catalogue
from tacit.data.ratings import Ratings
from tacit.data.splits import Split
from tacit.data.synthetic import generate
from tacit.data.synthetic_worlds import generate_domains
from tacit.designs.private.model import Private
from tacit.designs.xmap.model import XMap
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.lists import lists_of
from tacit.evaluation.metrics import ndcg_by_person
from tacit.service.demo import book_titles, film_titles

PEOPLE, BOOKS, FILMS, EACH, GENRES = 2000, 100, 200, 30, 12
LISTS = 3000
"""People of the private lists, at epsilon 1."""
EPSILON = 4.0
"""Nats for one person's whole profile, of the model that is served."""
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-6
LIST, LIKED = 10, 4.0
SEED, SHARE = 5, 0.25
"""Of what is generated, and of people whose films are left out."""
_FIRST_BOOK = 1001
"""Films are numbered from 1, books from here."""


def make_demo(folder: Path) -> str:
    """Writes the models and the curve: eight fits, several seconds."""
    Private(1.0, DELTA).fit(viewers()).save(folder / "lists.tacit")
    ratings = population()
    _model(EPSILON).fit(ratings).save(folder / "films.tacit")
    write_whole(folder / "curves.json", json.dumps(measured(ratings), indent=1).encode())
    return """[models.lists]
file = "lists.tacit"  # made with epsilon 1; devices fetch it, and nothing leaves them

[models.films]
file = "films.tacit"
curves = "curves.json"
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


def measured(ratings: Ratings, epsilons: tuple[float, ...] = EPSILONS) -> list[dict[str, Any]]:
    """The curve of a file for tacit.service.models: how good lists are over epsilon, for people
    whose ratings of films nobody knows."""
    split = cross_domain_split(ratings, source="books", target="films", share=SHARE, seed=SEED)
    found = {epsilon: _quality(split, epsilon) for epsilon in epsilons}
    made_with = (
        f"one fit at each epsilon, delta {DELTA:g}: {PEOPLE} generated people, {BOOKS} books and "
        f"{FILMS} films, {EACH} ratings each; every fourth without ratings of films, and judged on "
        "them. Intervals: 95 %, over people. Made with the demonstration, by tacit "
        f"{version('tacit-rec')} and numpy {np.__version__}"
    )
    points = [
        {"epsilon": epsilon, "value": one.mean, "low": one.low, "high": one.high}
        for epsilon, one in found.items()
    ]
    curve = {
        "title": f"How good lists of {LIST} are",
        "x": "epsilon, in nats",
        "y": f"nDCG@{LIST}",
        "unit": "0 to 1",
        "points": points,
        "non_private": _quality(split, math.inf).mean,
        "made_with": made_with,
    }
    return [curve]


def _model(epsilon: float) -> XMap:
    return XMap(source="books", target="films", epsilon=epsilon, delta=DELTA, stars=True)


def _quality(split: Split, epsilon: float) -> Interval:
    """nDCG of people's lists among films that they never rated."""
    people = np.flatnonzero(np.diff(split.test.offsets))
    held = split.test.matrix[people]
    lists = lists_of(_model(epsilon).fit(split.train), split.test, people, n=LIST)
    liked = sparse.csr_array((held.data >= LIKED, held.indices, held.indptr), held.shape)
    quality = ndcg_by_person(lists, liked)
    return mean_interval(quality[np.isfinite(quality)], bounds=(0.0, 1.0))
