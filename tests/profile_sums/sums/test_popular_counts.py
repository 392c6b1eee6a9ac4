"""Popularity mode: the later sums count the most liked items again."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.mechanisms import samplers
from tacit.profile_sums.people import people_between
from tacit.profile_sums.release import release_lists
from tacit.profile_sums.scoring import score_items
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts
from tacit.profile_sums.sums.popular_counts import (
    PopularTable,
    merge_popular_counts,
    popular_counts_mechanism,
    popular_head,
    release_popular_counts,
    sum_popular_counts,
)
from tests.support.profile_reference import exact_counts

INFINITE = Settings(epsilon=math.inf)
HEAD = np.array([0, 2])


def test_shares_by_hand(one_domain_example):
    """A quarter of the first counts and three quarters of the later ones, in the head."""
    people, _ = one_domain_example
    counts = exact_counts(people, 4, 4, INFINITE)
    exact = sum_popular_counts(people, HEAD, 4, popular_counts_mechanism(2, 0.0))[:, 0]
    np.testing.assert_allclose(exact, [1.707107, 1.707107], atol=1e-6)
    means = merge_popular_counts(counts, PopularTable(HEAD, exact))
    np.testing.assert_allclose(means, [0.544628, 0.235702, 0.544628, 0.235702], atol=1e-6)


def test_items_outside_follow_all_of_the_head():
    """An item outside whose first share is larger comes after the head all the same."""
    shares = np.array([0.9, 0.8, 0.85])
    counts = Counts(shares, shares, 0.01, 100.0, too_few=False)
    means = merge_popular_counts(counts, PopularTable(np.array([0, 1]), np.array([30.0, 20.0])))
    np.testing.assert_allclose(means, [0.45, 0.35, 0.34])


def test_the_head_is_an_eighth_of_the_items_and_150_at_least():
    """The most liked, by number; at equal shares the lower numbers."""
    assert len(popular_head(np.zeros(100))) == 100
    assert popular_head(np.zeros(500)).tolist() == list(range(150))
    assert popular_head(np.arange(8000.0)).tolist() == list(range(7000, 8000))


def test_a_sum_is_noised_three_times_apart(monkeypatch, one_domain_example):
    """One exact sum, three draws: each with its own multiplier, weighed by its precision."""
    asked = []

    def sampler(values, sigma):
        asked.append((values.copy(), sigma))
        return values + len(asked) * 4096

    monkeypatch.setattr(samplers, "discrete_gaussian", sampler)
    people, _ = one_domain_example
    counts = replace(exact_counts(people, 4, 4, INFINITE), deviation=0.1)
    table = release_popular_counts(people, counts, [2.0, 2.0, 1.0], Settings())
    means = merge_popular_counts(counts, table)
    assert [sigma / 4096 for _, sigma in asked] == pytest.approx([2.0, 2.0, 1.0])
    assert all((values == asked[0][0]).all() for values, _ in asked)
    noise = (0.125 * 1 + 0.125 * 2 + 0.5 * 3) / 0.75
    exact = asked[0][0][:, 0] / 4096
    np.testing.assert_allclose(means, counts.targets / 4 + 0.75 * (exact + noise) / 3)


def test_across_domains_people_without_source_ratings_count(people_of):
    """They are left out of sums of tastes, not of counts."""
    people = people_of([{3: 5.0}], 4, [0, 1], [2, 3])
    person = people_between(people, 0, 1)
    total = sum_popular_counts(person, np.arange(2), 2, popular_counts_mechanism(2, 1.0))
    assert total[:, 0].tolist() == [0, 4096]


def test_too_little_signal_leads_to_popularity(people_of):
    """300 people at epsilon .2 are counted again, and everybody gets the same scores.

    False alarm below 1e-6: P is near .4 and has a deviation of .1; 50 people are 6 away.
    """
    draws = np.random.default_rng(1)
    rows = [{int(item): 5.0 for item in np.flatnonzero(draws.random(24) < 0.4)} for _ in range(300)]
    people = people_of(rows, 24, list(range(24)), list(range(24)))
    released = release_lists(people, 24, 24, None, Settings(epsilon=0.2))
    assert released.mode == "popularity"
    assert not released.usefulness.worthwhile
    assert released.usefulness.popular < 1
    scores = score_items(people_between(people, 0, 2), released, Settings())
    assert (scores == released.means).all()
