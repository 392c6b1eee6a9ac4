"""Small worlds of two domains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate


def with_domains(ratings, domain_of):
    """The same ratings; domain_of: item id to the name of its domain, or None."""
    return Ratings.from_arrays(
        ratings.user_ids[ratings.users],
        ratings.item_ids[ratings.items],
        ratings.values,
        ratings.timestamps,
        scale=ratings.scale,
        user_attributes={
            name: dict(zip(ratings.user_ids.tolist(), column.tolist(), strict=True))
            for name, column in ratings.user_attributes.items()
        },
        item_metadata={"domain": {item: domain_of(item) for item in ratings.item_ids.tolist()}},
    )


def two_domains(seed=1, *, users=70, items=50, ratings=1600):
    """Generated ratings; even items are books, odd ones films."""
    made = generate(users=users, items=items, ratings=ratings, seed=seed)
    return with_domains(made, lambda item: "films" if item % 2 else "books")


def sparse_world(seed, *, people=30, items=24, straddlers=6):
    """Ratings so thin that some items have no link across: the first half of the items is one
    domain, and only some people rate in both."""
    generator = np.random.default_rng(seed)
    half = items // 2
    rows = []
    for person in range(people):
        both = person < straddlers
        here = np.arange(items) if both else np.arange(half) + half * (person % 2)
        # People who stay at home rate the tail, straddlers the head of each domain.
        fame = 1.0 / (1 + (here % half)) if both else np.ones(len(here))
        chosen = generator.choice(here, size=4, replace=False, p=fame / fame.sum())
        rows += [(person, item, generator.integers(1, 6)) for item in chosen]
    users, columns, stars = map(np.array, zip(*rows, strict=True))
    matrix = sparse.csr_array((stars.astype(float), (users, columns)), shape=(people, items))
    matrix.sort_indices()
    return matrix, half


@pytest.fixture(scope="session")
def world():
    return two_domains()


@pytest.fixture(scope="session")
def make_world():
    return two_domains


@pytest.fixture(scope="session")
def make_sparse():
    return sparse_world


@pytest.fixture(scope="session")
def place():
    """Ratings with domains."""
    return with_domains
