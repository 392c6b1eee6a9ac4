"""Stars: a sum of people's own contributions, and predictions from it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import Private, load_model
from tacit.accounting import GDPAccountant
from tacit.data import generate
from tacit.data.ratings import Ratings
from tacit.data.splits import random_per_user
from tacit.designs.private import events
from tacit.designs.private.fitting import features
from tacit.designs.private.people import Sides
from tacit.designs.private.settings import Settings, noise_multipliers, overall
from tacit.designs.private.stars import contributions, star_model
from tacit.designs.private.tastes import Features
from tacit.errors import ConfigError


def one_domain(ratings: Ratings) -> Sides:
    items = np.arange(ratings.n_items)
    return Sides(ratings.n_items, items, items)


def rows_of(ratings: Ratings, person: int) -> dict[int, list[float]]:
    """Place to values of one person's contribution, alone."""
    alone = ratings.of_users(np.array([person]))
    (block,) = contributions(alone, np.arange(ratings.n_items))
    return dict(zip(block.places.tolist(), block.values.tolist(), strict=True))


def test_a_contribution_is_the_same_alone_and_among_others(world):
    """Bit for bit, for every person."""
    (block,) = contributions(world, np.arange(world.n_items))
    for person in range(world.n_users):
        own = block.people == person
        among = dict(zip(block.places[own].tolist(), block.values[own].tolist(), strict=True))
        assert among == rows_of(world, person)


def test_five_events_cost_what_is_asked():
    """Stars have 40 % of mu^2 and lists the rest; together at most epsilon."""
    settings = Settings(stars=True)
    accountant = GDPAccountant()
    for event in events(settings):
        accountant.add(event)
    assert 0.999 < accountant.epsilon(1e-6) <= 1
    noises = noise_multipliers(settings)
    assert len(noises) == 5
    assert noises[4] ** -2 / overall(noises) ** -2 == pytest.approx(0.4)
    with pytest.raises(ConfigError):
        Settings(star_share=1.0)


def test_without_noise_means_are_those_of_people_and_items():
    """Two people, two items: effects are mean stars above the person's own mean."""
    ratings = Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], [5, 3, 4, 2])
    found = star_model(ratings, one_domain(ratings), None, 0.0)
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
    assert any("5 noisy sums" in line for line in card.assumptions)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_stars_of_few_people_are_no_worse_than_own_means(epsilon):
    """600 people: the error of predictions is at most .01 above that of each person's own mean
    (between draws it moves by .002), where fully trusted sums add more than .1."""
    world = generate(users=600, items=600, ratings=36_000, labels=8, seed=77)
    split = random_per_user(world, 0.2, seed=1)
    _, table = features(world, None)
    noise, sides = noise_multipliers(Settings(epsilon, stars=True))[4], one_domain(split.train)
    trusted = star_model(split.train, sides, None, noise)
    careful = star_model(split.train, sides, Features(table, table), noise)
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


def test_a_file_of_before_may_have_factors(two_domains):
    """Loadings of items, context included: what a person rated changes their predictions."""
    model = Private(math.inf, source="s", target="t", stars=True).fit(two_domains)
    header, arrays = model.parts()
    items = len(model.item_ids_) + len(model.context_ids_)
    loadings = np.random.default_rng(1).normal(size=(items, 2))
    factors = {"star_effects": np.zeros(items), "star_loadings": loadings}
    factors["star_variances"] = np.full(items, 0.5)
    before = Private.from_parts(header, arrays | factors)
    target = model.item_ids_.tolist()
    one, other = (
        before.predict(target, history={int(model.context_ids_[0]): stars}) for stars in (1.0, 5.0)
    )
    assert np.abs((one - one.mean()) - (other - other.mean())).max() > 0.1
    del arrays["star_loadings"], arrays["star_variances"]
    assert Private.from_parts(header, arrays).stars_.loadings.shape == (len(target), 0)
    with pytest.raises(ValueError, match="star_effects"):
        Private.from_parts(header, arrays | {"star_effects": np.zeros(items + 1)})
