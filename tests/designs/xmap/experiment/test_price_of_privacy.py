"""The ladder of steps, the gain kept, and how many users it takes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from tacit.designs.xmap.experiment.price_of_privacy import (
    PROTOTYPE,
    PROTOTYPE_WORLD,
    STEPS,
    PriceRow,
    price_of_privacy,
    users_needed,
)
from tacit.errors import ConfigError

ROW = PriceRow("release", 1000, 1.0, 1e-6, 1, 0.6, 0.05, 0.2, 0.5, 0.4, 100)


@pytest.fixture(scope="module")
def rows() -> tuple[PriceRow, ...]:
    steps = ("means", "gram-of-all-items", "release")
    return price_of_privacy(
        users=[900], epsilons=[20.0], seeds=[1], steps=steps, cold=200, items=(40, 40)
    )


def test_the_twin_comes_first_and_keeps_all(rows):
    """Its gain is what every other is measured by."""
    assert [row.step for row in rows] == ["release", "means", "gram-of-all-items", "release"]
    assert math.isinf(rows[0].epsilon)
    assert rows[0].kept == 1
    assert rows[0].gain > 0.1


def test_factors_are_what_gains(rows):
    """Means alone gain next to nothing, the release most of the twin's gain at a large epsilon."""
    assert rows[1].kept < 0.1
    assert 0.7 < rows[3].kept < 1.02


def test_gain_is_relative_to_one_base(rows):
    """MAE plus gain is the same base in every row, and kept is the gain over the twin's."""
    assert max(row.mae + row.gain for row in rows) == pytest.approx(rows[0].mae + rows[0].gain)
    assert rows[3].kept == pytest.approx(rows[3].gain / rows[0].gain)
    assert {row.n_test for row in rows} == {rows[0].n_test}


def test_rows_are_plain_values(rows):
    """The twin's epsilon is null in JSON."""
    told = [json.loads(json.dumps(row.to_dict())) for row in rows]
    assert told[0]["epsilon"] is None
    assert told[1]["epsilon"] == 20.0


def test_users_needed_lies_between_the_sizes():
    """Half way between 20 and 60 per cent kept is half way between the sizes, in logarithms; a
    share that no size reaches, or all do, has no answer."""
    sizes = [ROW, replace(ROW, users=100_000, kept=0.6)]
    assert users_needed(sizes, 0.4)[1.0] == pytest.approx(10_000)
    assert users_needed(sizes, 0.7)[1.0] is None
    assert users_needed(sizes, 0.1)[1.0] is None


def test_an_unknown_step_is_named():
    """With the steps there are."""
    with pytest.raises(ConfigError, match="water-filling"):
        price_of_privacy(users=[100], epsilons=[1.0], seeds=[1], steps=("nothing",))
    assert "release" in STEPS


def test_the_plain_design_can_be_its_own_twin():
    """Almost without noise it keeps all of its own gain, and with much noise none, in the world it
    chose: its ridge is not fitted to the noise."""
    rows = price_of_privacy(
        users=[1200],
        epsilons=[1e4, 0.1],
        seeds=[1],
        steps=(PROTOTYPE,),
        cold=300,
        items=(60, 60),
        world={**PROTOTYPE_WORLD, "shift": 10.0},
        reference=PROTOTYPE,
    )
    assert [row.step for row in rows] == [PROTOTYPE] * 3
    assert rows[0].kept == 1
    assert rows[0].gain > 0.02
    assert rows[1].kept == pytest.approx(1, abs=0.05)
    assert rows[2].kept < 0.2
