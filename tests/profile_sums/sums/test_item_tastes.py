"""Sum 3: a head, rows renormalised in it, a count column, and what is made of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts, profile_centre
from tacit.profile_sums.sums.item_tastes import (
    ItemQuery,
    ItemTable,
    choose_query,
    make_item_tastes,
    sum_item_tastes,
)
from tests.support.profile_reference import exact_counts

INFINITE = Settings(epsilon=math.inf, damping=1e-300)  # a power of 0 but for rounding
HEAD = np.array([0, 2])


def exact_table(people, features, query):
    """Everybody's sum with a count column, neither limited nor clipped."""
    counts = exact_counts(people, 4, 4, INFINITE)
    centre = profile_centre(counts, features, INFINITE)
    exact = replace(query.mechanism(1.0), noise_multiplier=0.0)
    directions = np.eye(2) * math.sqrt(3)  # whitens a moment of 1/3, by hand
    return sum_item_tastes(people, centre, features, directions, query, exact, INFINITE)


def test_a_head_and_its_counts_by_hand(one_domain_example):
    """Of items 1 and 3: tastes without the like, over the norm of the likes in the head; likes
    count half."""
    query = ItemQuery(HEAD, 0.5, 1.0, 2)
    table = exact_table(*one_domain_example, query)
    across = table[:, :2] @ [math.sqrt(0.5), -math.sqrt(0.5)]  # along the one direction of taste
    np.testing.assert_allclose(np.abs(across), [0.358719, 0.358719, 0], atol=1e-6)
    assert across[0] == pytest.approx(-across[1])
    np.testing.assert_allclose(table[:, 2], [0.853553, 0.853553, 0], atol=1e-6)


def test_counts_are_rescaled_to_those_of_all_items(one_domain_example):
    """g = .828427: where sum 3 alone is believed, shares are .569036 g = .471405 again."""
    people, features = one_domain_example
    counts = replace(exact_counts(people, 4, 4, INFINITE), deviation=1e3)
    query = ItemQuery(HEAD, 0.5, 1.0, 2)
    table = ItemTable(query, exact_table(people, features, query), 1e-6)
    assert table.values[0, 2] / 3 / 0.5 == pytest.approx(0.569036, abs=1e-6)
    made = make_item_tastes(table, counts, features.targets, INFINITE)
    np.testing.assert_allclose(made.shares[HEAD], 0.471405, atol=1e-6)
    np.testing.assert_allclose(made.deviation, 0.828427e-6 / 3, rtol=1e-5)


def test_one_person_of_a_hundred_likes_is_within_the_norm(people_of):
    """Tastes of norm 2 at most and counts of norm .5: 144 steps of counts in each row."""
    n, head = 100, np.arange(50)
    people = people_of([dict.fromkeys(range(n), 5.0)], n, list(range(n)), list(range(n)))
    table = sparse.csr_array(np.ones((n, 1)))
    features = FeatureTables(table, table)
    centre = ProfileCentre(np.ones(n), np.array([-9.0]))  # tastes of 10 without any like
    query = ItemQuery(head, 0.5, 2.0, 1)
    mechanism = query.mechanism(1.0)
    assert mechanism.norm == pytest.approx(math.sqrt(4.25))
    assert mechanism.resolution == 2**-11
    assert mechanism.squared_norm == 17_825_792
    steps = sum_item_tastes(people, centre, features, np.ones((1, 1)), query, mechanism, Settings())
    assert (steps**2).sum() <= 17_825_792
    assert (steps[:-1, 1] == 144).all()
    assert steps[-1, 1] == 0
    assert (steps[:, 0] ** 2).sum() > 0.99 * (2 * 2**11) ** 2


@pytest.mark.parametrize(
    ("effective", "head", "count_weight"),
    [(100.0, 150, 1.0), (900.0, 150, 14 / 30), (3600.0, 300, 0.4), (1e8, 5000, 0.4)],
)
def test_the_head_grows_with_the_effective_population(effective, head, count_weight):
    """5 sqrt(v) items, 150 at least and all at most; counts weigh 14 / sqrt(v), within .4 and 1."""
    counts = Counts(np.zeros(5000), np.arange(5000.0), 1.0, 1e4, too_few=False)
    query = choose_query(counts, effective, 4, Settings())
    assert len(query.items) == head
    assert query.items[0] == 5000 - head  # the most liked
    assert (np.diff(query.items) == 1).all()
    assert query.count_weight == pytest.approx(count_weight)
    assert query.norm == pytest.approx(math.sqrt(1.2**2 + count_weight**2))


def test_without_noise_the_head_is_everything():
    """And there is no count column."""
    counts = Counts(np.zeros(9), np.zeros(9), 0.0, 100.0, too_few=False)
    query = choose_query(counts, None, 4, Settings())
    assert query.items.tolist() == list(range(9))
    assert query.width == 4


def test_items_outside_the_head_have_what_their_features_say():
    """Their tastes are those of items with the same features, in proportion to their shares."""
    shares = np.array([0.4, 0.4, 0.2, 0.1])
    counts = Counts(shares, shares, 1e-3, 1e3, too_few=False)
    query = ItemQuery(np.array([0, 1]), 0.5, 1.0, 1)
    values = np.array([[80.0, 200.0], [-80.0, 200.0], [0.0, 0.0]])
    features = sparse.csr_array(np.array([[1.0, 0], [0, 1.0], [1.0, 0], [0, 1.0]]))
    made = make_item_tastes(ItemTable(query, values, 1e-3), counts, features, Settings())
    np.testing.assert_allclose(made.tastes[:, 0], [0.08, -0.08, 0.04, -0.02], atol=1e-3)
