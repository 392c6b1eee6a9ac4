"""Without noise the release is its formula; with noise, one person changes what is charged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.accounting import GDPAccountant
from tacit.profile_sums.events import combined_noise, events, noise_multipliers
from tacit.profile_sums.people import people_between
from tacit.profile_sums.release import (
    TasteModel,
    choose_mode,
    describe_release,
    release_lists,
)
from tacit.profile_sums.scoring import score_items
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import profile_centre
from tacit.profile_sums.sums.item_tastes import ItemQuery
from tacit.profile_sums.sums.moment import people_tastes
from tacit.profile_sums.sums.taste_maps import taste_map
from tests.support.profile_reference import exact_counts, table

INFINITE = Settings(epsilon=math.inf, damping=1e-300)  # a power of 0 but for rounding
THIRD = 1 / (3 * math.sqrt(2))


def test_one_domain_by_hand(one_domain_example):
    """Counts, tastes and scores of three people, to 1e-5: what is left is the ridge of 1e-6."""
    people, features = one_domain_example
    released = release_lists(people, 4, 4, features, replace(INFINITE, mode="taste"))
    np.testing.assert_allclose(released.means, [2 * THIRD, THIRD, 2 * THIRD, THIRD], rtol=1e-12)
    assert released.usefulness.people == pytest.approx(3)
    without_own_likes = replace(released, personal=replace(released.personal, own_likes=None))
    made = score_items(people, without_own_likes, INFINITE)
    expected = [
        [0.4714045, 0.5892557, 0.4714045, -0.1178511],
        [0.4714045, -0.1178511, 0.4714045, 0.5892557],
        [0.4714045, 0.2357023, 0.4714045, 0.2357023],
    ]
    np.testing.assert_allclose(made, expected, atol=1e-5)
    np.testing.assert_allclose(made[2], released.means, atol=1e-12)


def test_item_rows_by_hand(one_domain_example):
    """The sums of tastes without the like itself: items 1 and 3 are exactly 0."""
    people, features = one_domain_example
    at = profile_centre(exact_counts(people, 4, 4, INFINITE), features, INFINITE)
    np.testing.assert_allclose(at.mean, [0.5, 0.5], atol=1e-15)
    same = taste_map(np.eye(2), at, features.targets)
    query = ItemQuery(np.arange(4), 0.0, 1.0, 2)
    each = []
    for u in range(3):
        person = people_between(people, u, u + 1)
        each.append(table(person, at, features, same, query, INFINITE, limited=False)[:4])
    half = THIRD / 2
    np.testing.assert_allclose(
        np.sum(each, axis=0) / 3, [[0, 0], [half, -half], [0, 0], [-half, half]], atol=1e-12
    )


def test_two_domains_by_hand(two_domain_example):
    """Who used a gets c, who used b gets d, and nothing of the other."""
    people, features = two_domain_example
    released = release_lists(people, 2, 2, features, INFINITE)
    np.testing.assert_allclose(released.means, [2 / 3, 1 / 3], rtol=1e-12)
    made = score_items(people, released, INFINITE)
    np.testing.assert_allclose(made, [[1, 0], [0, 1], [1, 0]], atol=1e-5)


def test_moment_by_hand(two_domain_example):
    """Tastes are (1/3, -1/3) and (-2/3, 2/3); their second moment has the eigenvalue 4/9."""
    people, features = two_domain_example
    at = profile_centre(exact_counts(people, 2, 2, INFINITE), features, INFINITE)
    rows = people_tastes(people, at, features.context)
    np.testing.assert_allclose(rows[:2], [[1 / 3, -1 / 3], [-2 / 3, 2 / 3]], atol=1e-12)
    assert np.linalg.eigvalsh(rows.T @ rows / 3)[-1] == pytest.approx(4 / 9)


def test_events_cost_what_is_asked_and_nearly_that():
    """All four declared events together: at most epsilon, and within a thousandth of it."""
    for epsilon in (0.5, 1.0, 3.0):
        accountant = GDPAccountant()
        for event in events(Settings(epsilon=epsilon)):
            accountant.add(event)
        assert 0.999 * epsilon < accountant.epsilon(1e-6) <= epsilon


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.5, 8.0576), (1.0, 4.2247), (3.0, 1.5439)])
def test_noise_of_the_whole_release(epsilon, sigma):
    """The noise multiplier of all sums together."""
    noises = noise_multipliers(Settings(epsilon=epsilon))
    assert combined_noise(noises) == pytest.approx(sigma, abs=2e-4)


@pytest.mark.parametrize(
    ("effective", "popular", "metadata", "joint", "mode"),
    [
        (9000, 0.99, True, True, "popularity"),
        (9000, 0.99, False, True, "popularity"),
        (9000, 0.99, True, False, "popularity"),
        (90, 1.01, True, True, "taste"),
        (90, 1.01, False, True, "top-items"),
        (4200, 2.0, True, False, "taste"),
        (4400, 2.0, True, False, "top-items"),
        (9000, 2.0, True, True, "taste"),
        (None, None, True, False, "taste"),
        (None, None, False, False, "top-items"),
    ],
)
def test_mode_follows_the_released_counts(effective, popular, metadata, joint, mode):
    """By how far popular items stand above the noise; then by metadata and, across domains, the
    effective population."""
    chosen = choose_mode(
        effective, popular, has_features=metadata, one_domain=joint, settings=Settings()
    )
    assert chosen == mode


@pytest.mark.parametrize("mode", ["taste", "top-items"])
def test_a_mode_that_is_asked_for_skips_the_gate(mode):
    """Also where popular items drown in the noise."""
    settings = Settings(mode=mode)
    assert choose_mode(9, 0.1, has_features=True, one_domain=True, settings=settings) == mode


def test_too_few_people_get_popularity(one_domain_example):
    """At a noisy number of 50 or less nothing more is released, and the charge is the same."""
    people, features = one_domain_example
    released = release_lists(people, 4, 4, features, Settings(epsilon=300.0))
    assert released.personal is None
    assert not released.serves_personal_lists
    made = score_items(people, released, Settings())
    assert (made == released.means).all()


def test_lists_that_were_only_asked_for_are_not_praised(one_domain_example):
    """In each mode the sentence follows the released counts, not the caller's choice."""
    people, features = one_domain_example
    tastes = release_lists(people, 4, 4, features, INFINITE)
    released_in_mode = {"taste": tastes, "popularity": replace(tastes, personal=None)}
    described = {}
    for mode, released in released_in_mode.items():
        assert released.mode == mode
        for popular in (0.5, 2.0):
            usefulness = replace(
                released.usefulness,
                people=400.0,
                effective_population=9.0,
                needed=500,
                popular=popular,
                worthwhile=mode == "taste",
            )
            assert usefulness.people_missing == (100 if popular < 1 else 0)
            text = describe_release(replace(released, usefulness=usefulness))
            described[mode, popular] = text.partition("Mode: ")[2].partition(". ")[2]
    not_expected = "Personal lists are not expected to beat popularity. About 100 more people are"
    assert described["taste", 2.0] == "Personal lists are expected to beat popularity."
    assert described["taste", 0.5].startswith(not_expected)
    assert described["taste", 0.5].endswith("or an earlier fit chose it.")
    assert described["popularity", 0.5].startswith(not_expected)
    everybody_gets = "Everybody gets the same list of popular items, made privately."
    assert described["popularity", 2.0] == everybody_gets


def test_without_noise_tastes_are_chosen_whatever_the_number(one_domain_example):
    """Neither the least number of people nor the effective population has a say."""
    people, features = one_domain_example
    assert isinstance(release_lists(people, 4, 4, features, INFINITE).personal, TasteModel)
