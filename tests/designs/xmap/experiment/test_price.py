"""The price of privacy on generated people, with NX-Map on the same."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from tacit.cli.output import plain
from tacit.designs.xmap.experiment.price import SHARES_KEPT, Price, TwinRow, measure_price
from tacit.designs.xmap.experiment.price_of_privacy import PriceRow
from tacit.errors import ConfigError


@pytest.fixture(scope="module")
def price():
    """Two small populations, one epsilon."""
    return measure_price(
        users=[200, 400],
        epsilons=[3.0, math.inf],
        delta=1e-6,
        seeds=[1],
        items=(60, 60),
        workers=1,
    )


def test_the_twin_is_measured_once_and_keeps_all(price):
    """An infinite epsilon is no budget: each population has one row without noise."""
    twins = [row for row in price.rows if math.isinf(row.epsilon)]
    assert [(row.users, row.kept) for row in twins] == [(200, 1), (400, 1)]
    assert price.epsilons == [3.0]


def test_nx_map_is_measured_against_the_same_means(price):
    """Its error and gain add up to the error of the means that the sound variant is judged by."""
    for size in price.users:
        base = price.mean("mae", size, math.inf) + price.mean("gain", size, math.inf)
        assert price.nx_mean("mae", size) + price.nx_mean("gain", size) == pytest.approx(base)


def test_it_is_strict_json(price):
    """Infinity is null, and every share of the gain has a line for each epsilon."""
    result = json.loads(json.dumps(plain(price.to_dict()), allow_nan=False))
    assert {row["epsilon"] for row in result["rows"]} == {None, 3}
    assert [each["kept"] for each in result["users_needed"]] == list(SHARES_KEPT)


def test_people_needed_lie_between_those_tried():
    """Kept 0.2 by 1,000 and 0.6 by 4,000: 0.4 lies at their geometric mean; 0.8 is out of reach."""
    row = PriceRow("release", 1000, 1.0, 1e-6, 0, 0.7, 0.02, 0.2, 0.5, 0.4, 100)
    more = replace(row, users=4000, kept=0.6)
    needed = Price((row, more), (TwinRow(1000, 0, 0.7, 0.0),)).needed()
    assert needed[0.4][1.0] == pytest.approx(2000)
    assert needed[0.8][1.0] is None


def test_both_methods_are_measured_in_the_world_that_is_named(price):
    """The prototype's world has other ratings, and NX-Map's error and gain still add up there."""
    other = measure_price(
        users=[200],
        epsilons=[3.0],
        delta=1e-6,
        seeds=[1],
        items=(60, 60),
        world="prototype",
        workers=1,
    )
    assert other.nx_mean("mae", 200) != price.nx_mean("mae", 200)
    base = other.mean("mae", 200, math.inf) + other.mean("gain", 200, math.inf)
    assert other.nx_mean("mae", 200) + other.nx_mean("gain", 200) == pytest.approx(base)


def test_an_unknown_world_is_refused():
    """With the names of those there are."""
    with pytest.raises(ConfigError, match="default, prototype; got 'real'"):
        measure_price(users=[200], epsilons=[1.0], delta=1e-6, seeds=[1], world="real")


def test_too_few_people_are_refused():
    """A handful of people says nothing, and the number is named."""
    with pytest.raises(ConfigError, match="200 people or more; got 5"):
        measure_price(users=[5], epsilons=[1.0], delta=1e-6, seeds=[0], workers=1)
