"""One person of 5,000 likes among others, in sums of 20,000 cells: what is added is their table.

Faults that begin above some size show here and in no small world.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import PEOPLE_PER_BLOCK, people_between
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import counts_mechanism, profile_centre, sum_counts
from tacit.profile_sums.sums.item_tastes import choose_query, sum_item_tastes
from tacit.profile_sums.sums.like_pairs import MOST_PAIR_ITEMS, pairs_mechanism, sum_like_pairs
from tacit.profile_sums.sums.popular_counts import popular_counts_mechanism, sum_popular_counts
from tacit.profile_sums.sums.products import products_mechanism, sum_feature_products
from tacit.profile_sums.sums.taste_maps import taste_map
from tests.support import profile_reference
from tests.support.profile_reference import exact_counts

ITEMS, F, K = 5600, 18, 12
EFFECTIVE = 102_400.0
"""Effective population: a head of 1,600 items, so 1,601 x 13 cells."""
SETTINGS = Settings()


@pytest.fixture(scope="module")
def crowd(people_of):
    """30 people of 60 ratings, and one in their middle who likes 5,000 items."""
    draws = np.random.default_rng(8)
    rows = []
    for _ in range(30):
        items = draws.choice(ITEMS, 60, replace=False)
        rows.append({int(item): float(draws.integers(1, 6)) for item in items})
    rows.insert(15, dict.fromkeys(draws.choice(ITEMS, 5000, replace=False).tolist(), 5.0))
    return people_of(rows, ITEMS, list(range(ITEMS)), list(range(ITEMS)))


@pytest.fixture(scope="module")
def earlier(crowd):
    """Features, and what was released before the later sums."""
    draws = np.random.default_rng(9)
    table = sparse.csr_array((draws.random((ITEMS, F)) < 0.15) + np.eye(F)[np.arange(ITEMS) % F])
    features = FeatureTables(table, table)
    counts = exact_counts(crowd, ITEMS, ITEMS, SETTINGS)
    centre = profile_centre(counts, features, SETTINGS)
    directions = draws.normal(size=(F, K)) * 500
    return features, counts, centre, directions


def check(crowd, mechanism, total, own_table):
    """The crowd's sum with the person less that without is the person's clipped table."""
    before = total(people_between(crowd, 0, 15)) + total(people_between(crowd, 16, 31))
    person = people_between(crowd, 15, 16)
    added = total(crowd) - before
    assert (added == mechanism.clip_table(own_table(person))).all()
    assert (added == total(person)).all()
    squares = (added.astype(object) ** 2).sum()
    assert 0.97 * mechanism.squared_norm < squares <= mechanism.squared_norm


def test_counts(crowd):
    mechanism = counts_mechanism(ITEMS + 1, 1.0)
    check(
        crowd,
        mechanism,
        lambda some: sum_counts(some, 0, mechanism, SETTINGS),
        lambda one: profile_reference.contribution(one, 0, ITEMS, SETTINGS)[:, None],
    )


def test_item_tastes(crowd, earlier):
    """A head of 1,600 items with a column of counts, in 12 directions."""
    features, counts, centre, directions = earlier
    query = choose_query(counts, EFFECTIVE, K, SETTINGS)
    mechanism = query.mechanism(1.0)
    assert mechanism.rows * mechanism.width > 20_000
    onto = taste_map(directions, centre, features.targets)
    check(
        crowd,
        mechanism,
        lambda some: sum_item_tastes(
            some, centre, features, directions, query, mechanism, SETTINGS
        ),
        lambda one: profile_reference.table(one, centre, features, onto, query, SETTINGS),
    )


def test_popular_counts(crowd, earlier):
    mechanism = popular_counts_mechanism(700, 1.0)
    head = np.arange(0, ITEMS, 8)
    check(
        crowd,
        mechanism,
        lambda some: sum_popular_counts(some, head, ITEMS, mechanism),
        lambda one: profile_reference.popular_vector(one, head)[:, None],
    )


def test_like_pairs(crowd):
    """The largest head, 319,600 cells; the person likes some 700 of its items."""
    mechanism = pairs_mechanism(MOST_PAIR_ITEMS, 1.0)
    head = np.arange(0, ITEMS, 7)
    assert len(head) == MOST_PAIR_ITEMS
    check(
        crowd,
        mechanism,
        lambda some: sum_like_pairs(some, head, ITEMS, mechanism),
        lambda one: profile_reference.pair_triangle(one, head)[:, None],
    )


def test_feature_products(crowd, earlier):
    """The person's table alone and in a crowd; a person of so many likes need not fill the norm."""
    features, counts, centre, _ = earlier
    mechanism = products_mechanism(F, 1.0, SETTINGS)
    white = np.random.default_rng(3).normal(size=(F, F)) * 40
    onto = taste_map(white, centre, features.targets)
    usual = features.targets.T @ counts.targets
    check(
        crowd,
        mechanism,
        lambda some: sum_feature_products(some, centre, features, white, usual, mechanism),
        lambda one: profile_reference.product(one, centre, features, onto, usual),
    )


def test_people_beyond_one_block(people_of):
    """More people than a block holds: the sum is that of its parts."""
    count = PEOPLE_PER_BLOCK + 5
    people = people_of(
        [{person % 9: 5.0} for person in range(count)], 9, list(range(9)), list(range(9))
    )
    mechanism = popular_counts_mechanism(9, 1.0)
    total = sum_popular_counts(people, np.arange(9), 9, mechanism)
    assert total[:, 0].tolist() == [4096 * len(range(item, count, 9)) for item in range(9)]
