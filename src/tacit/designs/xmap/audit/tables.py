"""Rating tables with and without one person, and an attack that guesses who was in the data.

X-Map's private steps are audited on pairs of tables: the first with the person, the second without.
Films are the target domain, books the source domain. The attack is a membership game against whole
fits: an attacker guesses which of some targeted people were in the data.

Knows    what every targeted person rated. The attacker asks the fitted recommender through accounts
         of their own.
Exploits combinations of items that few people rate together: targeted people rate items at random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.membership import (
    FromLists,
    FromPredictions,
    Game,
    Round,
    membership_study,
)
from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.xmap import XMap

SCALE = RatingScale(1, 5, 0)
"""Scale of all tables: any number from 1 to 5 stars."""
TARGET = "films"
"""The target domain."""
SOURCE = "books"
"""The source domain."""

Tables = tuple[Ratings, Ratings]
"""Ratings with one person, and without."""
Stars = Mapping[str, float]
"""One person's stars by item."""


def ratings(people: Sequence[Stars], items: Mapping[str, str]) -> Ratings:
    """Make a table of ratings, with a public catalogue.

    Args:
        people: Stars by item, for each person.
        items: Domain of every item of the public catalogue.
    """
    users: list[int] = []
    rated_items: list[str] = []
    stars: list[float] = []
    for person, stars_of_person in enumerate(people):
        users += [person] * len(stars_of_person)
        rated_items += stars_of_person.keys()
        stars += stars_of_person.values()
    ratings_of_people = Ratings.from_arrays(
        np.array(users), np.array(rated_items), np.array(stars), scale=SCALE
    )
    return on_catalogue(ratings_of_people, dict(items))


def strong_among_mild(people: int) -> Tables:
    """Make tables in which one person rates strongly among many who rate mildly.

    Everybody gives high stars to film `i` and to either `one` or `rival`, and low stars to `low`
    and `lower`. The mild people give 4, 4, 2 and 2 stars; half of them rate `one`, and the other
    half `rival`. The strong person rates `one`, and gives 5, 5, 1 and 1 stars. Without this person,
    `one` and `rival` have the same similarity to `i` and the same printed sensitivity; with this
    person, they differ in both.

    Args:
        people: Number of mild people who rate `one`; as many rate `rival`.
    """
    items = dict.fromkeys(("i", "one", "rival", "low", "lower"), TARGET) | {"book": SOURCE}
    mild_pair = [{"i": 4.0, film: 4.0, "low": 2.0, "lower": 2.0} for film in ("one", "rival")]
    mild_people = mild_pair * people
    strong_person = {"i": 5.0, "one": 5.0, "low": 1.0, "lower": 1.0}
    return ratings([*mild_people, strong_person], items), ratings(mild_people, items)


def only_link() -> Tables:
    """Make tables in which only one person connects the book with films `two` and `beside`.

    In the table without this person, the book has no X-SIM with either film.
    """
    items = dict.fromkeys(("one", "low", "two", "beside"), TARGET) | {"book": SOURCE}
    others = [{"book": 4.0, "one": 4.0, "low": 2.0}, {"two": 4.0, "beside": 2.0}]
    linking_person = {"book": 5.0, "two": 5.0, "beside": 1.0}
    return ratings([*others, linking_person], items), ratings(others, items)


def reversing_tables(books: int, films: int) -> Tables:
    """Make tables in which one person reverses the sign of every similarity of books and films.

    A mild person rates the books and all films but the first slightly above their mean, and the
    first film below it: the similarity of a book and the first film is -1, and that of a book and
    another film is 1. The one person rates the books and the first film much higher than the other
    films, which nearly reverses these similarities. A third person gives one star to everything:
    their stars are equal to their mean, so they change no similarity, but they dislike every item,
    which counts as an agreement on every pair of items.

    Args:
        books: Number of books.
        films: Number of films.
    """
    first_film, *other_films = (f"film {number}" for number in range(films))
    book_names = [f"book {number}" for number in range(books)]
    items = dict.fromkeys(book_names, SOURCE) | dict.fromkeys((first_film, *other_films), TARGET)
    mild_person = dict.fromkeys((*book_names, *other_films), 3.1) | {first_film: 2.5}
    indifferent_person = dict.fromkeys(items, 1.0)
    reversing_person = dict.fromkeys((*book_names, first_film), 5.0)
    reversing_person |= dict.fromkeys(other_films, 1.0)
    people = [mild_person, indifferent_person]
    return ratings([*people, reversing_person], items), ratings(people, items)


ITEMS = 50
"""Number of items of each domain in the membership game."""
PEOPLE = 120
"""Number of people who are always in the data."""
TARGETED_PEOPLE = 60
"""Number of targeted people, of whom about half are in the data."""
RATED = 4
"""Number of ratings of each person in each domain."""
DELTA = 1e-10
"""Delta of the private model. It is far below the false-alarm rate of the game; a delta above that
rate would allow every guess to be right."""
ATTACKS = (FromLists(20, SCALE.maximum), FromPredictions())
"""The attacks: from lists of 20 items, and from predicted stars."""


def play_once(settings: dict[str, Any], generator: np.random.Generator) -> Round:
    """Play one round of the game: generate ratings, fit a model, and run each attack.

    Args:
        settings: Parameters of XMap besides the domains.
        generator: Source of the ratings, and of which targeted people are in the data. The fit
            draws from the operating system.

    Returns:
        (targeted people,) 1 for those in the data, else 0; and for each attack by name the
        (targeted people,) scores by which it guesses.
    """
    books = [f"book {number:02}" for number in range(ITEMS)]
    films = [f"film {number:02}" for number in range(ITEMS)]
    popularity = 1 / (1 + np.arange(ITEMS))

    def draw_people(count: int, weights: NDArray[np.float64]) -> list[Stars]:
        """Draw people who rate items drawn in proportion to (items,) weights, with random stars."""
        chances = weights / weights.sum()
        people: list[Stars] = []
        for _ in range(count):
            stars = {}
            for domain in (books, films):
                for item in generator.choice(domain, RATED, replace=False, p=chances):
                    stars[str(item)] = float(generator.integers(1, 6))
            people.append(stars)
        return people

    others = draw_people(PEOPLE, popularity)
    targeted_people = draw_people(TARGETED_PEOPLE, np.ones(ITEMS))
    is_present = generator.random(TARGETED_PEOPLE) < 0.5
    people_in_data = [targeted_people[number] for number in np.flatnonzero(is_present)]
    items = dict.fromkeys(books, SOURCE) | dict.fromkeys(films, TARGET)
    model = XMap(source=SOURCE, target=TARGET, **settings)
    model.fit(ratings([*others, *people_in_data], items))
    scores = {}
    for attack in ATTACKS:
        scores[attack.name] = np.array([attack.score(model, person) for person in targeted_people])
    return Round(is_present.astype(np.int64), scores)


GAMES = (
    Game("nx-map", partial(play_once, {"variant": "published", "epsilon": math.inf, "k": 10})),
    Game(
        "x-map-sound",
        partial(play_once, {"epsilon": 1.0, "delta": DELTA, "stars": True}),
        1.0,
        DELTA,
    ),
)
"""The membership game against a model without privacy, in which the attack has to succeed, and
against a private one, in which it has to fail."""

STUDY = membership_study(lambda: GAMES, "recommender", "attack")
"""The membership games as a part of `tacit audit xmap`."""
