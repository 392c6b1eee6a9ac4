"""A contribution is the same alone and among others, readable and compiled, and clipped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import people_between
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts, counts_mechanism, profile_centre, sum_counts
from tacit.profile_sums.sums.item_tastes import ItemQuery, sum_item_tastes
from tacit.profile_sums.sums.moment import people_tastes
from tacit.profile_sums.sums.popular_counts import popular_counts_mechanism, sum_popular_counts
from tacit.profile_sums.sums.products import products_mechanism, sum_feature_products
from tacit.profile_sums.sums.taste_maps import taste_map
from tacit.profile_sums.sums.top_items import (
    cross_mechanism,
    gram_mechanism,
    sum_cross_products,
    sum_grams,
)
from tests.support import profile_reference
from tests.support.seen import require_any

N, F, K = 12, 5, 3
SETTINGS = Settings()
PUBLIC = np.random.default_rng(5)
TABLE = sparse.csr_array(PUBLIC.random((N, F)) * (PUBLIC.random((N, F)) < 0.5) + 1e-3)
WHITE = PUBLIC.normal(size=(F, F)) * 3
MAP = PUBLIC.normal(size=(F, K)) * 30

HISTORIES = st.lists(
    st.dictionaries(st.integers(0, N - 1), st.sampled_from([1.0, 3.0, 4.0, 5.0])),
    min_size=1,
    max_size=4,
)


def world(rows, people_of, joint):
    """Profiles, what was released before, features, and numbers of context and target items."""
    sides = (range(N), range(N)) if joint else (range(N // 2), range(N // 2, N))
    people = people_of(rows, N, *map(list, sides))
    features = FeatureTables(TABLE[list(sides[0])], TABLE[list(sides[1])])
    context, targets = len(sides[0]), len(sides[1])
    earlier = Counts(PUBLIC.random(context), np.full(targets, 0.1), 0.01, 100.0, too_few=False)
    return people, profile_centre(earlier, features, SETTINGS), features, context, targets


def each_sum(people, at, features, context, targets, noise):
    """For sums 1, 2b, 3 and the later counts: the mechanism, one person's readable table,
    everybody's total."""
    separate = 0 if people.one_domain else context
    first = counts_mechanism(separate + targets + 1, noise)
    white, narrow = (taste_map(each, at, features.targets) for each in (WHITE, MAP))
    usual = features.targets.T @ np.full(targets, 0.1)
    second = products_mechanism(F, noise, SETTINGS)
    head = np.flatnonzero(np.arange(targets) % 3)  # every third item is outside
    query = ItemQuery(head, 0.5 if noise else 0.0, 0.6 * math.sqrt(K), K)
    third = query.mechanism(noise)
    again = popular_counts_mechanism(len(head), noise)
    yield (
        first,
        lambda one: profile_reference.contribution(one, separate, targets, SETTINGS)[:, None],
        lambda some_: sum_counts(some_, separate, first, SETTINGS),
    )
    yield (
        second,
        lambda one: profile_reference.product(one, at, features, white, usual),
        lambda some_: sum_feature_products(some_, at, features, WHITE, usual, second),
    )
    yield (
        third,
        lambda one: profile_reference.table(
            one, at, features, narrow, query, SETTINGS, limited=noise > 0
        ),
        lambda some_: sum_item_tastes(some_, at, features, MAP, query, third, SETTINGS),
    )
    yield (
        again,
        lambda one: profile_reference.popular_vector(one, head)[:, None],
        lambda some_: sum_popular_counts(some_, head, targets, again),
    )


@pytest.mark.parametrize("joint", [True, False])
@settings(max_examples=60, deadline=None)
@given(rows=HISTORIES)
def test_compiled_sums_are_the_readable_contributions(people_of, joint, rows):
    """In whole steps, bit for bit: the total of the compiled kernel is the sum of what the readable
    function makes of each person alone, and each is within its norm."""
    given_world = world(rows, people_of, joint)
    people = given_world[0]
    for mechanism, contribution, total in each_sum(*given_world, 1.0):
        alone = [people_between(people, u, u + 1) for u in range(len(rows))]
        steps = [mechanism.clip_table(contribution(person)) for person in alone]
        assert all((table**2).sum() <= mechanism.squared_norm for table in steps)
        assert (total(people) == np.sum(steps, axis=0)).all()
        for person, table in zip(alone, steps, strict=True):
            assert (total(person) == table).all()


@pytest.mark.parametrize("joint", [True, False])
@settings(max_examples=40, deadline=None)
@given(rows=HISTORIES)
def test_tastes_are_the_same_alone_and_among_others(people_of, joint, rows):
    """Bit for bit, readable and compiled, of every person."""
    people, at, features, *_ = world(rows, people_of, joint)
    among = people_tastes(people, at, features.context)
    for u in range(len(rows)):
        person = people_between(people, u, u + 1)
        assert (profile_reference.taste(person, at, features.context) == among[u]).all()
        assert (people_tastes(person, at, features.context)[0] == among[u]).all()


@pytest.mark.parametrize("joint", [True, False])
def test_without_noise_nothing_is_clipped_or_rounded(people_of, joint):
    """At epsilon inf totals are the sums of contributions as they are."""
    rows = [{0: 5.0, 3: 4.0, 7: 5.0, 11: 5.0}, {1: 5.0, 8: 2.0}, {2: 1.0}, {}]
    given_world = world(rows, people_of, joint)
    people = given_world[0]
    for _, contribution, total in each_sum(*given_world, 0.0):
        each = [contribution(people_between(people, u, u + 1)) for u in range(len(rows))]
        np.testing.assert_allclose(total(people), np.sum(each, axis=0), atol=1e-12)


def test_extreme_person_is_within_the_norm_of_every_sum(people_of):
    """Likes of 60 items of 100: the squared norm of their table of whole steps is within the bound,
    and near it where the contribution is large. Without the clip it is not."""
    wide = sparse.csr_array(np.eye(F)[np.arange(100) % F])
    people = people_of([dict.fromkeys(range(60), 5.0)], 100, list(range(100)), list(range(100)))
    earlier = Counts(np.full(100, 0.1), np.full(100, 0.1), 0.01, 100.0, too_few=False)
    features = FeatureTables(wide, wide)
    at = profile_centre(earlier, features, SETTINGS)._replace(mean=np.full(F, 50.0))
    for mechanism, contribution, total in each_sum(people, at, features, 100, 100, 1.0):
        squares = (total(people) ** 2).sum()
        assert 0.98 * mechanism.squared_norm < squares <= mechanism.squared_norm
        is_limited_before = mechanism.width == K + 1
        raw = np.trunc(contribution(people) / mechanism.resolution)
        assert mechanism.width == 1 or is_limited_before or (raw**2).sum() > mechanism.squared_norm


def left(own, like):
    """Tastes without one like, computed by leaving it out of the history."""
    return {item: stars for item, stars in own.items() if item != like}


def test_a_like_is_left_out_of_its_own_tastes(people_of):
    """The closed form is the taste of the history without that like."""
    own = {0: 5.0, 3: 4.0, 7: 5.0, 9: 1.0}
    people, at, features, *_ = world([own], people_of, True)
    same = taste_map(np.eye(F), at, features.targets)
    _, likes = profile_reference.left_out(people, at, features.context, same)
    for like, found in require_any(likes):
        without = people_of([left(own, like)], N, list(range(N)), list(range(N)))
        expected = profile_reference.taste(without, at, features.context)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_people_without_likes(people_of):
    """Across domains they add to sum 1 alone; in one domain their tastes count as the mean's."""
    rows = [{0: 1.0, 1: 2.0}]
    across = world(rows, people_of, False)
    one = world(rows, people_of, True)
    tables = [contribution(across[0]) for _, contribution, _ in each_sum(*across, 1.0)]
    assert tables[0][-1, 0] == SETTINGS.presence
    assert not tables[1].any()
    assert not tables[2].any()
    assert not tables[3].any()
    assert not profile_reference.taste(across[0], across[1], across[2].context).any()
    tables = [contribution(one[0]) for _, contribution, _ in each_sum(*one, 1.0)]
    assert (tables[0][:-1] == 0).all()
    assert tables[1].any()
    assert tables[2][-1].any()
    assert not tables[2][:-1].any()


def test_a_person_without_rows_adds_being_there_and_no_more(people_of):
    """They are counted like everybody, and everything else is 0."""
    given_world = world([{}], people_of, True)
    made = [total(given_world[0]) for _, _, total in each_sum(*given_world, 1.0)]
    assert made[0][-1, 0] == SETTINGS.presence * 4096
    assert not made[1].any()
    assert not made[2].any()


def test_products_of_top_items_are_clipped_and_add_up(people_of):
    """Each person's table of products is within the norm in whole steps, and totals add up."""
    draws = np.random.default_rng(3)
    rows = [
        {int(i): float(draws.integers(1, 6)) for i in np.flatnonzero(draws.random(N) < 0.6)}
        for _ in range(30)
    ]
    people = people_of(rows, N, list(range(6)), list(range(6, N)))
    heads = np.arange(4), np.arange(5)
    mechanism = cross_mechanism(4, 5, 1.0)
    each = [
        sum_cross_products(people_between(people, u, u + 1), *heads, mechanism) for u in range(30)
    ]
    assert all((table**2).sum() <= mechanism.squared_norm for table in each)
    assert max((table**2).sum() for table in each) > 0.99 * mechanism.squared_norm
    assert (sum_cross_products(people, *heads, mechanism) == np.sum(each, axis=0)).all()
    shape = gram_mechanism(4, 1.0)
    grams = [sum_grams(people_between(people, u, u + 1), heads[0], shape) for u in range(30)]
    assert (sum_grams(people, heads[0], shape) == np.sum(grams, axis=0)).all()


def test_steps_of_a_person_are_those_of_the_sum():
    """`SumRelease.clip_table` clips as `clipped` does, but for the order of additions."""
    table = np.array([[3.0, -4.0], [0.0, 12.0]])
    mechanism = SumRelease(1.0, 2, 2, 1.0, 2.0**-12)
    np.testing.assert_allclose(mechanism.clip_table(table) / 4096, table / 13, atol=1 / 4096)
    assert (mechanism.clip_table(table) ** 2).sum() <= mechanism.squared_norm
    assert math.isclose(float((mechanism.clip_table(table / 100) / 4096).max()), 0.12, abs_tol=1e-3)
