"""Small worlds for the design `private`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.private.fitting import Features
from tacit.designs.private.people import Sides, profiles
from tacit.designs.private.settings import Settings

SCALE = RatingScale(1, 5, 1)


def make_world(
    people: int = 40, items: int = 24, genres: int = 4, *, seed: int = 1, domains: bool = False
) -> Ratings:
    """People who like one genre more than others; items with one or two genres."""
    draws = np.random.default_rng(seed)
    of_item = [
        sorted({item % genres, int(draws.integers(genres))} if item % 3 else {item % genres})
        for item in range(items)
    ]
    rows = []
    for person in range(people):
        taste = person % genres
        for item in range(items):
            if draws.random() < 0.3 + 0.4 * (taste in of_item[item]):
                stars = 5 if taste in of_item[item] and draws.random() < 0.8 else 2
                rows.append((person, item, stars))
    users, numbers, stars = (np.array(column) for column in zip(*rows, strict=True))
    metadata: dict[str, dict[Any, Any]] = {
        "genres": {item: "|".join(f"g{genre}" for genre in of_item[item]) for item in range(items)}
    }
    if domains:
        metadata["domain"] = {item: "s" if item < items // 2 else "t" for item in range(items)}
    return Ratings.from_arrays(
        users, numbers, stars.astype(float), scale=SCALE, item_metadata=metadata
    )


@pytest.fixture(scope="session")
def world() -> Ratings:
    return make_world()


@pytest.fixture(scope="session")
def two_domains() -> Ratings:
    return make_world(domains=True)


def make_people(
    rows: list[dict[int, float]], items: int, context: list[int], targets: list[int]
) -> Any:
    """Profiles of people given as item number to stars, and the sides."""
    sides = Sides(items, np.array(context), np.array(targets))
    rows = [dict(sorted(own.items())) for own in rows]
    users = [person for person, own in enumerate(rows) for _ in own]
    numbers = [item for own in rows for item in own]
    stars = [value for own in rows for value in own.values()]
    ratings = Ratings(
        users=np.array(users, np.int32),
        items=np.array(numbers, np.int32),
        values=np.array(stars, float),
        timestamps=None,
        user_ids=np.arange(len(rows)),
        item_ids=np.arange(items),
        scale=SCALE,
    )
    return profiles(ratings, sides, 3.8, Settings().other_weight)


@pytest.fixture(scope="session")
def people_of() -> Callable[..., Any]:
    return make_people


def table(rows: list[list[float]]) -> sparse.csr_array:
    return sparse.csr_array(np.array(rows))


@pytest.fixture(scope="session")
def one_domain_example() -> Any:
    """Three people who like {1, 2}, {3, 4} and {1, 3} of four items with two features."""
    everything = [0, 1, 2, 3]
    people = make_people([{0: 5, 1: 5}, {2: 5, 3: 5}, {0: 5, 2: 5}], 4, everything, everything)
    rows = table([[1, 0], [1, 0], [0, 1], [0, 1]])
    return people, Features(rows, rows)


@pytest.fixture(scope="session")
def two_domain_example() -> Any:
    """(a; c), (b; d), (a; c): sources a, b and targets c, d, a feature for each."""
    people = make_people([{0: 5, 2: 5}, {1: 5, 3: 5}, {0: 5, 2: 5}], 4, [0, 1], [2, 3])
    rows = table([[1, 0], [0, 1]])
    return people, Features(rows, rows)
