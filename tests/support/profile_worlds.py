"""Small worlds of people with tastes, for sums over profiles and the designs that release them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.ratings import Ratings, RatingScale
from tacit.profile_sums.catalogue import ItemSides
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import read_profiles
from tacit.profile_sums.settings import Settings

SCALE = RatingScale(1, 5, 1)
LIKE_THRESHOLD = 3.8


def make_world(
    people: int = 40, items: int = 24, genres: int = 4, *, seed: int = 1, domains: bool = False
) -> Ratings:
    """People who like one genre more than others; items with one or two genres."""
    draws = np.random.default_rng(seed)
    genres_of = []
    for item in range(items):
        own = {item % genres}
        if item % 3:
            own.add(int(draws.integers(genres)))
        genres_of.append(sorted(own))
    rows = []
    for person in range(people):
        taste = person % genres
        for item in range(items):
            fits = taste in genres_of[item]
            if draws.random() < 0.3 + 0.4 * fits:
                stars = 5 if fits and draws.random() < 0.8 else 2
                rows.append((person, item, stars))
    users, numbers, stars = (np.array(column) for column in zip(*rows, strict=True))
    names = {item: "|".join(f"g{genre}" for genre in genres_of[item]) for item in range(items)}
    metadata: dict[str, dict[Any, Any]] = {"genres": names}
    if domains:
        metadata["domain"] = {item: "s" if item < items // 2 else "t" for item in range(items)}
    return Ratings.from_arrays(
        users, numbers, stars.astype(float), scale=SCALE, item_metadata=metadata
    )


def make_people(
    rows: list[dict[int, float]], items: int, context: list[int], targets: list[int]
) -> Any:
    """Profiles of people given as item number to stars."""
    sides = ItemSides(items, np.array(context), np.array(targets))
    users, numbers, stars = [], [], []
    for person, own in enumerate(rows):
        for item in sorted(own):
            users.append(person)
            numbers.append(item)
            stars.append(own[item])
    ratings = Ratings(
        users=np.array(users, np.int32),
        items=np.array(numbers, np.int32),
        values=np.array(stars, float),
        timestamps=None,
        user_ids=np.arange(len(rows)),
        item_ids=np.arange(items),
        scale=SCALE,
    )
    return read_profiles(ratings, sides, LIKE_THRESHOLD, Settings().other_weight)


def one_domain_example() -> tuple[Any, FeatureTables]:
    """Three people who like {1, 2}, {3, 4} and {1, 3} of four items with two features."""
    all_items = [0, 1, 2, 3]
    people = make_people([{0: 5, 1: 5}, {2: 5, 3: 5}, {0: 5, 2: 5}], 4, all_items, all_items)
    rows = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    return people, FeatureTables(rows, rows)


def two_domain_example() -> tuple[Any, FeatureTables]:
    """(a; c), (b; d), (a; c): sources a, b and targets c, d, a feature for each."""
    people = make_people([{0: 5, 2: 5}, {1: 5, 3: 5}, {0: 5, 2: 5}], 4, [0, 1], [2, 3])
    rows = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))
    return people, FeatureTables(rows, rows)
