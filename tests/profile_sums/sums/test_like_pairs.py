"""Pairs of likes: one person's triangle, its norm, when it is asked for, and what is made of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.synthetic import generate
from tacit.engine.profile_kernels.like_pairs import add_like_pairs
from tacit.profile_sums import release
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.fitted_lists import prepare_fit
from tacit.profile_sums.own_likes import fit_own_likes
from tacit.profile_sums.people import people_between
from tacit.profile_sums.release import (
    asks_for_pairs,
    describe_release,
    keep_items,
    make_lists,
    release_lists,
    release_sums,
)
from tacit.profile_sums.scoring import people_factors, score_items, split_score
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums import like_pairs
from tacit.profile_sums.sums.heads import places_in_head
from tacit.profile_sums.sums.like_pairs import (
    MOST_PAIR_ITEMS,
    MOST_VECTORS,
    MOST_WITHOUT_PAIRS,
    PairTable,
    choose_pair_head,
    find_large_part,
    make_pair_vectors,
    pairs_mechanism,
    sum_like_pairs,
    weights_by_likes,
)
from tacit.profile_sums.sums.top_items import unit_rows
from tests.support import profile_reference

N = 12
INFINITE = Settings(epsilon=math.inf)
HISTORIES = st.lists(
    st.dictionaries(st.integers(0, N - 1), st.sampled_from([1.0, 3.0, 4.0, 5.0])),
    min_size=1,
    max_size=5,
)
HEADS = st.lists(st.integers(0, N - 1), min_size=2, unique=True).map(sorted).map(np.array)


@pytest.fixture(scope="module")
def prepared():
    """Three hundred people, sixty items, six labels."""
    ratings = generate(users=300, items=60, ratings=9_000, labels=6, seed=3)
    return prepare_fit(ratings, INFINITE, CatalogueChoices())


@pytest.fixture(scope="module")
def released(prepared):
    return release_lists(prepared.people, 60, 60, prepared.features, INFINITE)


def one_domain(people_of, rows):
    return people_of(rows, N, list(range(N)), list(range(N)))


@settings(max_examples=150, deadline=None)
@given(rows=HISTORIES, head=HEADS)
def test_compiled_sum_is_the_readable_triangles(people_of, rows, head):
    """In whole steps, bit for bit: the compiled total is the sum of each person's readable
    triangle, clipped as `SumRelease` does, which each person adds alone, too."""
    people = one_domain(people_of, rows)
    mechanism = pairs_mechanism(len(head), 1.0)
    alone = [people_between(people, u, u + 1) for u in range(len(rows))]
    tables = []
    for person in alone:
        triangle = profile_reference.pair_triangle(person, head)[:, None]
        tables.append(mechanism.clip_table(triangle))
    for person, table in zip(alone, tables, strict=True):
        assert (sum_like_pairs(person, head, N, mechanism) == table).all()
    assert (sum_like_pairs(people, head, N, mechanism) == np.sum(tables, axis=0)).all()


@settings(max_examples=150, deadline=None)
@given(rows=HISTORIES, head=HEADS, removed=st.integers(0, 4))
def test_a_person_who_leaves_moves_the_sum_by_the_norm_at_most(people_of, rows, head, removed):
    """Whatever rows they and the others have: the squared distance in steps is within what the
    mechanism's noise is made for, and other people's triangles stay."""
    removed %= len(rows)
    mechanism = pairs_mechanism(len(head), 1.0)
    others = [row for person, row in enumerate(rows) if person != removed]
    before = sum_like_pairs(one_domain(people_of, rows), head, N, mechanism)
    after = np.zeros_like(before)
    if others:
        after = sum_like_pairs(one_domain(people_of, others), head, N, mechanism)
    own = one_domain(people_of, [rows[removed]])
    assert (before - after == sum_like_pairs(own, head, N, mechanism)).all()
    assert ((before - after) ** 2).sum() <= mechanism.squared_norm


def test_every_number_of_likes_is_within_the_norm_and_clips_nothing():
    """From 1 to 800 likes: the squares of all pairs are below the mechanism's bound, in Python's
    whole numbers, and each is 1 / m in steps."""
    mechanism = pairs_mechanism(MOST_PAIR_ITEMS, 1.0)
    assert mechanism.squared_norm == 2**39
    weights = weights_by_likes(MOST_PAIR_ITEMS, exact=False)
    assert weights[0] == 0
    for likes, weight in enumerate(weights.tolist()[1:], 1):
        assert likes * (likes - 1) // 2 * weight**2 <= 2**39
        assert weight == 2**20 // likes
        assert weight == int(1 / likes / mechanism.resolution)
    most = weights[2:].tolist()
    norms = [m * (m - 1) // 2 * weight**2 for m, weight in enumerate(most, 2)]
    assert max(norms) > 0.99 * 2**39


def test_totals_fit_64_bits(people_of):
    """The largest entry is that of two likes, 2^19 steps: 2^44 - 1 people with the same two likes
    are exact, one more would be beyond 2^63 - 1. The total is begun as all of them but one."""
    mechanism = pairs_mechanism(2, 1.0)
    weights = weights_by_likes(2, exact=False)
    assert weights[2] == weights_by_likes(MOST_PAIR_ITEMS, exact=False)[2:].max() == 2**19
    most = (2**63 - 1) // 2**19
    assert most == 2**44 - 1
    total = mechanism.zero_table()[:, 0]
    assert total.dtype == np.int64
    total[0] = (most - 1) * 2**19
    person = one_domain(people_of, [{3: 5.0, 5: 5.0}])
    add_like_pairs(person, places_in_head(np.array([3, 5]), N), weights, total)
    assert int(total[0]) == most * 2**19 <= np.iinfo(np.int64).max < (most + 1) * 2**19


def test_without_noise_it_is_the_gram_matrix(prepared):
    """At epsilon inf the triangle is that of the unit rows' Gram matrix, whoever is asked first."""
    head = np.array([3, 5, 8, 21, 40, 59])
    rows = unit_rows(prepared.people, head, likes=True)
    exact = sum_like_pairs(prepared.people, head, 60, pairs_mechanism(6, 0.0))[:, 0]
    np.testing.assert_allclose(exact, (rows.T @ rows)[np.triu_indices(6, 1)], rtol=1e-12)


@pytest.mark.parametrize(
    ("effective", "head"), [(8_001.0, 320), (10_000.0, 400), (1e6, 800), (None, 800)]
)
def test_the_head_grows_with_the_effective_population(effective, head):
    """An item for every 25, 800 at most; the most liked by the release of sum 1."""
    chosen = choose_pair_head(np.arange(5000.0), effective)
    assert chosen.tolist() == list(range(5000 - head, 5000))
    assert choose_pair_head(np.arange(100.0), effective).tolist() == list(range(100))


@pytest.mark.parametrize(
    ("effective", "asked"), [(MOST_WITHOUT_PAIRS, False), (8_000.1, True), (None, True)]
)
def test_pairs_are_asked_for_above_8000(effective, asked):
    """At the boundary tastes keep all of their event."""
    assert asks_for_pairs(effective, 100, one_domain=True, settings=Settings()) is asked


def test_pairs_are_asked_for_by_auto_in_one_domain_of_two_items_alone():
    """Not where tastes were chosen by hand, and not across domains."""
    chosen = Settings(mode="taste")
    assert not asks_for_pairs(1e6, 100, one_domain=True, settings=chosen)
    assert not asks_for_pairs(1e6, 100, one_domain=False, settings=Settings())
    assert not asks_for_pairs(1e6, 1, one_domain=True, settings=Settings())


def release_with(prepared, monkeypatch, least, **choices):
    """The sums at a tenth of the noise of epsilon 1, where pairs are asked for above `least`."""
    monkeypatch.setattr(release, "MOST_WITHOUT_PAIRS", least)
    noises = [0.8, 1.1, 1.1, 0.5]
    people, features = prepared.people, prepared.features
    return release_sums(people, 60, 60, features, Settings(), noises, **choices)


def test_both_tables_share_the_event_of_sum_3(prepared, monkeypatch):
    """Where pairs are asked for, sum 3 and pairs each have sqrt(2) of the event's noise: together
    1 / noise^2 is that of the event. Otherwise sum 3 has the event's noise."""
    with_pairs = release_with(prepared, monkeypatch, 0.0).later
    without = release_with(prepared, monkeypatch, 1e9).later
    item_noise = with_pairs.table.deviation / with_pairs.table.query.norm
    pair_noise = with_pairs.pairs.deviation / math.sqrt(0.5)
    assert item_noise**-2 + pair_noise**-2 == pytest.approx(0.5**-2, rel=1e-3)
    assert item_noise == pytest.approx(0.5 * math.sqrt(2), rel=1e-3)
    assert without.pairs is None
    assert without.table.deviation / without.table.query.norm == pytest.approx(0.5, rel=1e-3)


def test_several_fits_and_consenting_people_have_no_pairs(prepared, monkeypatch):
    """They ask for the four sums alone, however many people there are."""
    assert release_with(prepared, monkeypatch, 0.0, sums_for_many=False).later.pairs is None


def test_large_part_of_two_kinds_of_people():
    """Two blocks of items: a direction for each, found without the diagonal; none in noise."""
    draws = np.random.default_rng(4)
    blocks = np.zeros((40, 2))
    blocks[:20, 0], blocks[20:, 1] = 1, 1
    noise = np.triu(draws.normal(size=(40, 40)) * 0.02, 1)
    values, vectors = find_large_part(blocks @ blocks.T + noise + noise.T, 0.02)
    assert len(values) == 2
    np.testing.assert_allclose((vectors * values) @ vectors.T, blocks @ blocks.T, atol=0.1)
    assert not len(find_large_part(noise + noise.T, 0.02)[0])


def test_noise_alone_rarely_keeps_a_direction():
    """In at most 4 of 400 draws of 60 rows: 1 of 750 was measured, so that by chance this fails
    once in 5,000 seeds. At 2 d sqrt(n), without a margin, it would be 32 draws."""
    draws = np.random.default_rng(11)
    kept = 0
    for _ in range(400):
        noise = np.triu(draws.normal(size=(60, 60)) * 0.02, 1)
        kept += len(find_large_part(noise + noise.T, 0.02)[0]) > 0
    assert kept <= 4


def test_a_kept_value_is_above_0_after_it_shrank():
    """One that is barely above the reach of the noise loses a quarter of itself at most."""
    reach = 2 * 0.5 * math.sqrt(2) * (1 + 2 ** (-2 / 3))
    barely = np.array([[0.0, reach * 1.001], [reach * 1.001, 0.0]])
    values, _ = find_large_part(barely, 0.5)
    assert (values > 0).all()
    assert len(values) == 1
    assert not len(find_large_part(barely / 1.002, 0.5)[0])


def test_vectors_are_forty_at_most():
    """Also without noise, where every eigenvalue stands out."""
    draws = np.random.default_rng(5)
    rows = draws.normal(size=(500, 90))
    assert len(find_large_part(rows.T @ rows, 0.0)[0]) == MOST_VECTORS


def test_vectors_serve_as_own_likes_do():
    """P P' is the map of own likes by the large part of the pairs, and the mean is P'mu."""
    draws = np.random.default_rng(6)
    shares = draws.uniform(0.1, 0.3, 9)
    values = draws.normal(size=36) * 30
    made = make_pair_vectors(PairTable(np.arange(9), values, 0.01), shares, 100.0)
    covariance = np.zeros((9, 9))
    covariance[np.triu_indices(9, 1)] = values / 100
    covariance += covariance.T - np.outer(shares, shares)
    large, vectors = find_large_part(covariance, 1e-4)
    items = vectors * np.sqrt(large)
    served = fit_own_likes(shares, items)
    expected = items @ served.matrix @ items.T
    np.testing.assert_allclose(made.vectors @ made.vectors.T, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(made.mean, made.vectors.T @ shares, rtol=1e-12)
    assert (made.vectors == made.vectors.astype(np.float32)).all()


def test_own_likes_stay_where_no_pair_stands_out(prepared, monkeypatch):
    """Then a release is served as one without pairs, and says that pairs were released."""
    sums = release_with(prepared, monkeypatch, 0.0)
    quiet = replace(sums.later.pairs, deviation=1e6)
    sums = replace(sums, later=replace(sums.later, pairs=quiet))
    made = make_lists(sums, prepared.features, Settings())
    assert made.personal.pairs is None
    assert made.personal.own_likes is not None
    assert (made.has_pairs, made.serves_pairs) == (True, False)
    assert "with pairs of likes, of which none stood out from the noise." in describe_release(made)


def test_no_release_with_pairs_keeps_some_of_its_items(released):
    """Places of the head are those of all items; a plan, which keeps some, has no pairs."""
    with pytest.raises(AssertionError):
        keep_items(released, np.arange(30), np.arange(30))


def test_scores_are_tastes_and_pairs(prepared, released):
    """Each person's score is that of their taste and, for items of the head, what their likes add
    less what an average person has; a person without likes has the first alone."""
    model = released.personal
    assert model.own_likes is None
    person = people_between(prepared.people, 7, 8)
    alone = replace(released, personal=replace(model, pairs=None))
    added = score_items(person, released, INFINITE) - score_items(person, alone, INFINITE)
    vectors = model.pairs.vectors_of_all(60)
    likes = vectors[person.likes].sum(axis=0) / math.sqrt(len(person.likes))
    np.testing.assert_allclose(added[0], vectors @ (likes - model.pairs.mean), atol=1e-12)
    nobody = person._replace(
        like_offsets=np.array([0, 0]), likes=person.likes[:0], liked=person.liked & False
    )
    np.testing.assert_array_equal(
        score_items(nobody, released, INFINITE), score_items(nobody, alone, INFINITE)
    )


def test_batch_factors_are_the_scores(prepared, released):
    """Inner products of people and items, also with pairs."""
    factors = people_factors(prepared.people, released, INFINITE)
    scores = score_items(prepared.people, released, INFINITE)
    np.testing.assert_allclose(factors.people @ factors.items.T, scores, atol=1e-12)


def test_reasons_hold_what_pairs_add(prepared, released):
    """A liked item adds the product of both vectors over the root of the likes; a head of fewer
    items has no reasons outside of it."""
    model = released.personal
    person = people_between(prepared.people, 7, 8)
    alone = replace(released, personal=replace(model, pairs=None))
    item = 11
    added = split_score(person, item, released, INFINITE).added_by_item
    added = added - split_score(person, item, alone, INFINITE).added_by_item
    vectors = model.pairs.vectors_of_all(60)
    expected = vectors[person.items] @ vectors[item] * person.liked / math.sqrt(len(person.likes))
    np.testing.assert_allclose(added, expected, atol=1e-12)
    inside = np.flatnonzero(model.pairs.items != item)
    fewer = replace(
        model.pairs, items=model.pairs.items[inside], vectors=model.pairs.vectors[inside]
    )
    outside = replace(released, personal=replace(model, pairs=fewer))
    found = split_score(person, item, outside, INFINITE).added_by_item
    np.testing.assert_array_equal(found, split_score(person, item, alone, INFINITE).added_by_item)


def test_lists_gain_from_pairs_that_features_do_not_say(monkeypatch):
    """Of a generated world with features that say nothing: what pairs add orders held-out likes
    better than popularity alone. False alarm below 1e-9: the gap is many times its deviation."""
    monkeypatch.setattr(like_pairs, "MOST_PAIR_ITEMS", 100)
    ratings = generate(users=3_000, items=200, ratings=120_000, labels=4, seed=9)
    shuffled = np.random.default_rng(1).permutation(ratings.n_items)
    metadata = {name: column[shuffled] for name, column in ratings.item_metadata.items()}
    world = replace(ratings, item_metadata=metadata)
    fit = prepare_fit(world, INFINITE, CatalogueChoices())
    by_settings = {}
    for mode in ("auto", "taste"):
        made = release_lists(fit.people, 200, 200, fit.features, Settings(math.inf, mode=mode))
        scores = score_items(fit.people, made, INFINITE)
        liked = np.zeros_like(scores, dtype=bool)
        owners = np.repeat(np.arange(len(scores)), np.diff(fit.people.like_offsets))
        liked[owners, fit.people.likes] = True
        by_settings[mode] = scores[liked].mean() - scores[~liked].mean()
    assert by_settings["auto"] > 1.2 * by_settings["taste"]
