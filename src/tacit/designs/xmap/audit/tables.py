"""Rating tables with and without one person, and the game of who was in them.

X-Map's private steps are audited on the tables. Every pair holds the table with the person first.
Films are the target domain, books the source. The game is played against whole fits.

Knows   what every target rated; asks the fitted recommender through accounts of their own.
Feeds   on what others seldom rate together: targets rate items at random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tacit.auditing.attacks.membership import FromLists, FromPredictions, Game, Scored, study
from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.xmap import XMap

SCALE = RatingScale(1, 5, 0)
TARGET = "films"
SOURCE = "books"

Tables = tuple[Ratings, Ratings]
Stars = Mapping[str, float]


def ratings(people: Sequence[Stars], items: Mapping[str, str]) -> Ratings:
    """Make ratings of people's stars.

    Args:
        people: Stars by item, for each person.
        items: Domain of every item of the public catalogue.
    """
    cells = []
    for person, row in enumerate(people):
        cells += [(person, item, stars) for item, stars in row.items()]
    users, names, stars = map(np.array, zip(*cells, strict=True))
    return on_catalogue(Ratings.from_arrays(users, names, stars, scale=SCALE), dict(items))


def strong_among_mild(people: int) -> Tables:
    """Make tables in which one person rates strongly among many who rate mildly.

    All rate the film `i` and one of the films `one` and `rival` high, and `low` and `lower` low:
    `people` people each film, with stars 4-4-2-2, and the person `one` with 5-5-1-1. Without that
    person both films are equally similar to `i`, and their printed sensitivities are equal; with
    the person neither holds.
    """
    items = dict.fromkeys(("i", "one", "rival", "low", "lower"), TARGET) | {"book": SOURCE}
    mild = [{"i": 4.0, film: 4.0, "low": 2.0, "lower": 2.0} for film in ("one", "rival")] * people
    extra = {"i": 5.0, "one": 5.0, "low": 1.0, "lower": 1.0}
    return ratings([*mild, extra], items), ratings(mild, items)


def only_link() -> Tables:
    """Make tables in which one person alone connects the book with the films `two` and `beside`.

    In the table without that person, the book has no X-SIM with either film.
    """
    items = dict.fromkeys(("one", "low", "two", "beside"), TARGET) | {"book": SOURCE}
    others = [{"book": 4.0, "one": 4.0, "low": 2.0}, {"two": 4.0, "beside": 2.0}]
    alone = {"book": 5.0, "two": 5.0, "beside": 1.0}
    return ratings([*others, alone], items), ratings(others, items)


def turned_tables(books: int, films: int) -> Tables:
    """Make tables in which one person turns every similarity negative.

    Another rates books and all films but the first alike, mildly. Without the one person the first
    film is as unlike each book as can be, and all else like them; with them nearly the reverse. A
    third person gives one star to everything: being all at their mean, their ratings change no
    similarity, but let every pair agree.
    """
    first, *others = (f"film {place}" for place in range(films))
    alike = [f"book {place}" for place in range(books)]
    items = dict.fromkeys(alike, SOURCE) | dict.fromkeys((first, *others), TARGET)
    mild = dict.fromkeys((*alike, *others), 3.1) | {first: 2.5}
    extra = dict.fromkeys((*alike, first), 5.0) | dict.fromkeys(others, 1.0)
    people = [mild, dict.fromkeys(items, 1.0)]
    return ratings([*people, extra], items), ratings(people, items)


ITEMS = 50
"""Items of each domain."""
PEOPLE = 120
"""People who are always in the data."""
TARGETS = 60
"""People of whom half are in the data."""
RATED = 4
"""Ratings of each person in each domain."""
DELTA = 1e-10
"""Far below the chance of a false alarm, or what is due to delta could explain every guess."""
ATTACKS = (FromLists(20, SCALE.maximum), FromPredictions())


def play_once(settings: dict[str, Any], generator: np.random.Generator) -> Scored:
    """Fit one world with these settings, and score its targets by each attack.

    Returns:
        (targets,) 1 for those in the data, and by attack (targets,) scores.
    """
    books = [f"book {number:02}" for number in range(ITEMS)]
    films = [f"film {number:02}" for number in range(ITEMS)]
    fame = 1 / (1 + np.arange(ITEMS))

    def draw_people(count: int, weights: Any) -> list[Stars]:
        chances = weights / weights.sum()
        people: list[Stars] = []
        for _ in range(count):
            stars = {}
            for domain in (books, films):
                for item in generator.choice(domain, RATED, replace=False, p=chances):
                    stars[str(item)] = float(generator.integers(1, 6))
            people.append(stars)
        return people

    others = draw_people(PEOPLE, fame)
    targets = draw_people(TARGETS, np.ones(ITEMS))
    inside = generator.random(TARGETS) < 0.5
    present = [person for person, there in zip(targets, inside, strict=True) if there]
    items = dict.fromkeys(books, SOURCE) | dict.fromkeys(films, TARGET)
    model = XMap(source=SOURCE, target=TARGET, **settings)
    model.fit(ratings([*others, *present], items))
    scores = {}
    for attack in ATTACKS:
        scores[attack.name] = np.array([attack.score(model, person) for person in targets])
    return inside.astype(np.int64), scores


GAMES = (
    Game("nx-map", partial(play_once, {"variant": "published", "epsilon": math.inf, "k": 10})),
    Game(
        "x-map-sound",
        partial(play_once, {"epsilon": 1.0, "delta": DELTA, "stars": True}),
        1.0,
        DELTA,
    ),
)
"""The control, in which the attack has to work, and the guarantee, under which it has to fail."""

STUDY = study(lambda: GAMES, "recommender", "attack")
