"""An X-Map from generated books to generated films, and what its privacy costs, measured here."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tacit import __version__
from tacit.data.domains import cross_domain_split, items_in, on_catalogue
from tacit.data.ratings import Ratings
from tacit.data.splits import Split
from tacit.data.synthetic_domains import generate_domains
from tacit.designs.xmap import XMap
from tacit.evaluation.intervals import Interval, mean_interval
from tacit.evaluation.ranking import ndcg_by_person
from tacit.service.demos.titles import book_titles, film_titles
from tacit.writing import write_whole

PEOPLE, BOOKS, FILMS, EACH = 2000, 100, 200, 30
EPSILON = 4.0
"""Nats for one person's whole profile, of the model that is served."""
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-6
LIST, LIKED = 10, 4.0
_SEED, _SHARE = 5, 0.25
_FIRST_BOOK = 1001
"""Films are numbered from 1, books from here."""


def make_demo(folder: Path) -> str:
    """Writes the model and its curves: seven fits, several seconds."""
    ratings = population()
    _model(EPSILON).fit(ratings).save(folder / "films.tacit")
    write_whole(folder / "curves.json", json.dumps(measured(ratings), indent=1).encode())
    return '[models.films]\nfile = "films.tacit"\ncurves = "curves.json"\n'


def population() -> Ratings:
    """Ratings of generated people; the catalogue is given, so that a fit reads nothing off them."""
    made = generate_domains(PEOPLE, (BOOKS, FILMS), float(EACH), seed=_SEED)
    numbers = [*range(_FIRST_BOOK, _FIRST_BOOK + BOOKS), *range(1, FILMS + 1)]
    titles = dict(zip(numbers, [*book_titles(BOOKS), *film_titles(FILMS)], strict=True))
    domains = {item: "books" if item >= _FIRST_BOOK else "films" for item in numbers}
    renamed = Ratings.from_arrays(
        made.users, np.array(numbers)[made.items], made.values, scale=made.scale
    )
    return on_catalogue(renamed, domains, metadata={"title": titles})


def measured(ratings: Ratings, epsilons: tuple[float, ...] = EPSILONS) -> list[dict[str, Any]]:
    """Error and quality of lists for people whose ratings of films nobody knows, over epsilon."""
    split = cross_domain_split(ratings, source="books", target="films", share=_SHARE, seed=_SEED)
    errors, ranked = zip(*(_judged(split, e) for e in (*epsilons, math.inf)), strict=True)
    return [
        _curve("How far predicted stars are off", "mean absolute error", "stars", epsilons, errors),
        _curve(f"How good lists of {LIST} are", f"nDCG@{LIST}", "0 to 1", epsilons, ranked),
    ]


def _model(epsilon: float) -> XMap:
    return XMap(source="books", target="films", epsilon=epsilon, delta=DELTA)


def _judged(split: Split, epsilon: float) -> tuple[Interval, Interval]:
    """A person's mean absolute error, and the nDCG of their list among films that they "
    "never rated."""
    people = np.flatnonzero(np.diff(split.test.offsets))
    known, held = split.train.of_users(people), split.test.matrix[people]
    model = _model(epsilon).fit(split.train)
    rows = np.repeat(np.arange(len(people)), np.diff(held.indptr))
    predicted = model.predict_people(known)[rows, held.indices]
    off = np.abs(np.clip(predicted, split.test.scale.minimum, split.test.scale.maximum) - held.data)
    errors = np.bincount(rows, off) / np.diff(held.indptr)
    films = items_in(split.test, "films")
    scores = model.item_model_.ranking_many(known.matrix)[:, films]
    lists = films[np.argsort(-scores, axis=1, kind="stable")[:, :LIST]]
    liked = sparse.csr_array((held.data >= LIKED, held.indices, held.indptr), held.shape)
    quality = ndcg_by_person(lists, liked)
    return mean_interval(errors), mean_interval(quality[np.isfinite(quality)], bounds=(0.0, 1.0))


def _curve(
    title: str, y: str, unit: str, epsilons: tuple[float, ...], found: tuple[Interval, ...]
) -> dict[str, Any]:
    """What tacit.service.curves reads; the last interval is that of epsilon inf."""
    *private, without = found
    return {
        "title": title,
        "x": "epsilon, in nats",
        "y": y,
        "unit": unit,
        "points": [
            {"epsilon": epsilon, "value": one.mean, "low": one.low, "high": one.high}
            for epsilon, one in zip(epsilons, private, strict=True)
        ],
        "non_private": without.mean,
        "made_with": _how(),
    }


def _how() -> str:
    return (
        f"one fit at each epsilon, delta {DELTA:g}: {PEOPLE} generated people, {BOOKS} books and "
        f"{FILMS} films, {EACH} ratings each; every fourth without ratings of films, and judged on "
        "them. Intervals: 95 %, over people. Made with the demonstration, by tacit "
        f"{__version__} and numpy {np.__version__}"
    )
