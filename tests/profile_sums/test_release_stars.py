"""Stars: three sums, in people's own contributions, and predictions from them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Private, load_model
from tacit.accounting import GDPAccountant
from tacit.data import generate
from tacit.data.ratings import Ratings
from tacit.data.splits import random_per_user
from tacit.data.synthetic_worlds import generate_domains
from tacit.engine.profile_kernels.star_factors import MOST_TASTES, add_star_factors
from tacit.engine.profile_kernels.types import StarRows, StarTable
from tacit.errors import ConfigError
from tacit.mechanisms import samplers
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.catalogue import ItemSides
from tacit.profile_sums.events import combined_noise, events, noise_multipliers
from tacit.profile_sums.features import FeatureTables, feature_columns
from tacit.profile_sums.release_stars import release_stars
from tacit.profile_sums.settings import STAR_SUM_SHARES, Settings
from tacit.profile_sums.sums.star_means import contributed_means
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for
from tests.support.profile_reference import star_table


def one_domain(ratings: Ratings) -> ItemSides:
    items = np.arange(ratings.n_items)
    return ItemSides(ratings.n_items, items, items)


def rows_of(ratings: Ratings, person: int) -> dict[int, list[float]]:
    """Place to values of one person's contribution, alone."""
    alone = ratings.of_users(np.array([person]))
    (block,) = contributed_means(alone, np.arange(ratings.n_items))
    return dict(zip(block.places.tolist(), block.values.tolist(), strict=True))


def test_a_contribution_is_the_same_alone_and_among_others(world):
    """Bit for bit, for every person."""
    (block,) = contributed_means(world, np.arange(world.n_items))
    for person in range(world.n_users):
        own = block.people == person
        among = dict(zip(block.places[own].tolist(), block.values[own].tolist(), strict=True))
        assert among == rows_of(world, person)


def test_seven_events_cost_what_is_asked():
    """Stars have 40 % of mu^2, in three sums, and lists the rest; together at most epsilon."""
    settings = Settings(stars=True)
    accountant = GDPAccountant()
    for event in events(settings):
        accountant.add(event)
    assert 0.999 < accountant.epsilon(1e-6) <= 1
    noises = noise_multipliers(settings)
    assert len(noises) == 7
    assert combined_noise(noises[4:]) ** -2 / combined_noise(noises) ** -2 == pytest.approx(0.4)
    with pytest.raises(ConfigError):
        Settings(star_share=1.0)


def test_without_noise_means_are_those_of_people_and_items():
    """Two people, two items: effects are mean stars above the person's own mean."""
    ratings = Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], [5, 3, 4, 2])
    found = release_stars(ratings, one_domain(ratings), None, [0.0] * 3, 2.0)
    assert found.mean == pytest.approx(3.5)
    np.testing.assert_allclose(found.effects, [1, -1], atol=1e-6)
    own = found.predict(np.array([5.0, 3.0]), np.array([0, 1]), 2, ratings.scale)
    np.testing.assert_allclose(own, (2 * 4 + 5 * 3.5) / 7 + np.array([1, -1]), atol=1e-6)


def test_predictions_without_noise_beat_the_persons_mean(world):
    """Mean error on the ratings themselves, leaving each out of the history."""
    model = Private(math.inf, stars=True).fit(world)
    errors, plain = [], []
    for person in range(12):
        own = world.history(person)
        for item in list(own)[:4]:
            rest = {other: stars for other, stars in own.items() if other != item}
            errors.append(abs(model.predict([item], history=rest)[0] - own[item]))
            plain.append(abs(float(np.mean(list(rest.values()))) - own[item]))
    assert np.mean(errors) < np.mean(plain) + 0.1


def test_predictions_lie_on_the_scale_and_survive_a_file(world, tmp_path):
    """With much noise too; an unknown item is NaN; a file predicts the same."""
    model = Private(0.1, stars=True).fit(world)
    history = {0: 5.0, 3: 1.0}
    made = model.predict([1, 2, 5, 999], history=history)
    assert ((made[:3] >= 1) & (made[:3] <= 5)).all()
    assert np.isnan(made[3])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(
        load_model(tmp_path / "m").predict([1, 2, 5, 999], history=history), made
    )


def test_the_card_counts_the_sums_of_stars(world):
    """One epsilon for lists and stars together."""
    given = replace(world, catalogue_given=True)
    (card,) = Private(1.0, stars=True).fit(given).guarantees()
    assert 0.999 < card.epsilon <= 1
    assert any("7 noisy sums" in line for line in card.assumptions)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_stars_of_few_people_are_no_worse_than_own_means(epsilon):
    """600 people: the error of predictions is at most .01 above that of each person's own mean
    (between draws it moves by .002), where fully trusted sums add more than .1."""
    world = generate(users=600, items=600, ratings=36_000, labels=8, seed=77)
    split = random_per_user(world, 0.2, seed=1)
    _, table = feature_columns(world, None)
    noises, sides = noise_multipliers(Settings(epsilon, stars=True))[4:], one_domain(split.train)
    trusted = release_stars(split.train, sides, None, noises, 600.0)
    careful = release_stars(split.train, sides, FeatureTables(table, table), noises, 600.0)
    loud = replace(trusted, effects=trusted.effects + np.random.default_rng(1).normal(0, 0.9, 600))
    plain = own_mean_error(split)
    assert error(careful, split) < plain + 0.01
    assert error(loud, split) > plain + 0.1


def error(found, split) -> float:
    train, test = split.train, split.test
    off = []
    for person in range(test.n_users):
        known = slice(train.offsets[person], train.offsets[person + 1])
        held = slice(test.offsets[person], test.offsets[person + 1])
        own, items = train.values[known], train.items[known].astype(np.int64)
        made = found.predict(own, items, train.n_items, train.scale)[test.items[held]]
        off.append(np.abs(made - test.values[held]))
    return float(np.concatenate(off).mean())


def own_mean_error(split) -> float:
    train, test = split.train, split.test
    means = np.bincount(train.users, train.values) / np.bincount(train.users)
    return float(np.abs(means[test.users] - test.values).mean())


def rows_and_table(seed: int = 3) -> tuple[StarRows, StarTable]:
    """Twelve people with 0 to 9 ratings of eight items and others, and released loadings."""
    draws = np.random.default_rng(seed)
    given = [np.sort(draws.choice(10, n, replace=False)) for n in (*range(10), 3, 1)]
    places = np.concatenate(given)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in given])])
    rows = StarRows(offsets, np.where(places < 8, places, -1), draws.normal(0, 3, len(places)))
    return rows, StarTable(draws.normal(size=(8, 2)), 0.3 + draws.random(8), 5.0, 0.2)


def one_table(rows: StarRows, known: StarTable, person: int) -> np.ndarray:
    """(items + k, k) of ONE person, before clipping."""
    values, places = star_table(rows, person, known)
    table = np.zeros((10, 2))
    table[places] = values
    return table


def test_a_table_of_tastes_is_the_regression_without_each_rating():
    """Written out with numpy: level and tastes from all other ratings, times what is left."""
    rows, known = rows_and_table()
    for person in range(12):
        own = slice(rows.offsets[person], rows.offsets[person + 1])
        places, rest = rows.places[own], rows.deviations[own]
        loaded = np.hstack([np.ones((len(places), 1)), known.loadings[places]])
        loaded[places < 0, 1:] = 0
        variances = np.where(places >= 0, known.variances[places], 1.0)
        expected, moment = np.zeros((10, 2)), np.zeros((2, 2))
        weight = 1 / math.sqrt(max((places >= 0).sum(), 1))
        for j, place in enumerate(places):
            if place >= 0:
                others = np.arange(len(places)) != j
                scaled = loaded[others] / variances[others, None]
                whole = scaled.T @ loaded[others] + np.diag([known.level_precision, 1, 1])
                found = np.linalg.solve(whole, scaled.T @ rest[others])
                expected[place] = weight * (rest[j] - found[0]) * found[1:]
                moment += weight * np.outer(found[1:], found[1:])
        expected[8:] = known.moment_weight * moment
        np.testing.assert_allclose(one_table(rows, known, person), expected, atol=1e-10)


@st.composite
def worlds(draw) -> tuple[StarRows, StarTable]:
    """People with 0 to 12 ratings of 12 items and others; some items have loadings."""
    draws = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(st.lists(st.integers(0, 12), min_size=1, max_size=3))
    k, size = draw(st.integers(1, MOST_TASTES)), draw(st.sampled_from([1e-3, 1.0, 300.0]))
    places = np.concatenate([draws.permutation(16)[:n] for n in sizes])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rest = size * draws.normal(size=len(places))
    loadings = draws.normal(size=(12, k)) * (draws.random((12, 1)) < draw(st.floats(0, 1)))
    known = StarTable(loadings, 0.3 + draws.random(12), 5.0, 0.2)
    return StarRows(offsets, np.where(places < 12, places, -1), rest), known


@pytest.mark.parametrize("noise", [0.0, 1.0])
@settings(max_examples=60, deadline=None)
@given(world=worlds())
def test_the_kernel_adds_up_what_each_person_adds_alone(world, noise):
    """Bit for bit: readable and compiled, alone and among others, each clipped as a whole."""
    rows, known = world
    items, k = known.loadings.shape
    mechanism = SumRelease(noise, items + k, k, 0.5, resolution_for(0.5))
    total = mechanism.zero_table()
    for person in range(len(rows.offsets) - 1):
        values, places = star_table(rows, person, known)
        single, readable = mechanism.zero_table(), mechanism.zero_table()
        readable[places] = mechanism.clip_table(values) if noise and len(values) else values
        own = slice(rows.offsets[person], rows.offsets[person + 1])
        offsets = np.array([0, own.stop - own.start])
        alone = StarRows(offsets, rows.places[own], rows.deviations[own])
        add_star_factors(alone, known, clip_rule(mechanism), single)
        np.testing.assert_array_equal(single, readable)
        assert not noise or (single**2).sum() <= mechanism.squared_norm
        total += single
    among = mechanism.zero_table()
    add_star_factors(rows, known, clip_rule(mechanism), among)
    np.testing.assert_array_equal(among, total)


def test_a_person_whose_table_is_not_finite_adds_nothing():
    """As if they had rated nothing, whatever number came out; the others count."""
    rows, known = rows_and_table()
    mechanism = SumRelease(1.0, 10, 2, 0.5, resolution_for(0.5))
    for bad in (math.inf, -math.inf, math.nan):
        totals = []
        for rest, last in ((rows.deviations, -2), (np.append(rows.deviations[:-1], bad), -1)):
            total = mechanism.zero_table()
            offsets = rows.offsets[: len(rows.offsets) + last + 1]
            add_star_factors(
                StarRows(offsets, rows.places, rest), known, clip_rule(mechanism), total
            )
            totals.append(total)
        np.testing.assert_array_equal(*totals)
        assert totals[0].any()


def test_more_tastes_than_a_row_holds_are_refused():
    """Rows have a fixed width."""
    rows, _ = rows_and_table()
    k = MOST_TASTES + 1
    known = StarTable(np.ones((8, k)), np.ones(8), 5.0, 0.2)
    with pytest.raises(ConfigError, match="tastes"):
        add_star_factors(rows, known, clip_rule(SumRelease(1.0, 8 + k, k)), np.zeros((8 + k, k)))


@pytest.mark.parametrize("people", [50.0, 1e9])
def test_of_too_few_people_all_three_sums_ask_for_means(world, people, monkeypatch):
    """Each with the noise it would have otherwise: same events, nothing lost. Of many people whose
    Gram matrix shows no factors, the first and the last do."""
    asked: list[tuple[tuple[int, ...], float]] = []

    def keep(values, scale):
        asked.append((values.shape, scale))
        return values

    monkeypatch.setattr(samplers, "discrete_gaussian", keep)
    noises = [3000.0, 4000.0, 2000.0]
    release_stars(world, one_domain(world), None, noises, people)
    means = (world.n_items + 1, 2)
    grams = [shape for shape, _ in asked if len(shape) == 1]
    assert len(grams) == (0 if people == 50.0 else 2)
    found = [scale / 4096 for shape, scale in asked if shape == means]
    kept = noises if people == 50.0 else [noises[0], noises[2]]
    np.testing.assert_allclose(found, kept, rtol=1e-6)


def test_factors_of_many_people_beat_means():
    """3,000 people at 2,500 times the noise: errors fall by .03 or more of .7 (it is .07)."""
    world = generate_domains(3000, (150, 150), 30.0, seed=2)
    split = random_per_user(world, 0.2, seed=1)
    noises = [3000 / 2500 / math.sqrt(share) for share in STAR_SUM_SHARES]
    sides = one_domain(split.train)
    means = release_stars(split.train, sides, None, noises, 100.0)
    factors = release_stars(split.train, sides, None, noises, 3000.0)
    assert means.loadings.shape[1] == 0 < factors.loadings.shape[1]
    assert error(factors, split) < error(means, split) - 0.03


def test_factors_across_domains_survive_a_file(tmp_path):
    """Without noise: context items have loadings too, and a file predicts the same."""
    world = generate_domains(2500, (40, 40), 20.0, seed=3)
    model = Private(math.inf, source="source", target="target", stars=True).fit(world)
    assert model.stars_.loadings.shape[0] == 80
    histories = [{0: 5.0, 3: 1.0, 45: 4.0}, {0: 1.0, 3: 5.0, 45: 4.0}]
    made = [model.predict([41, 50, 0], history=history) for history in histories]
    assert np.isnan(made[0][2])
    assert np.abs(made[0][:2] - made[1][:2]).max() > 0.01
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict([41, 50, 0], history=histories[0]), made[0])
    header, arrays = model.parts()
    with pytest.raises(ValueError, match="star_effects"):
        Private.from_parts(header, arrays | {"star_effects": np.zeros(7)})
