"""DUP: a grid from the horizon, and control functions that know no level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.pdap.policies.cells import Cell
from tacit.designs.pdap.policies.controls import controls_of_a_grid
from tacit.designs.pdap.policies.dup import Dup, uniform_partition
from tacit.designs.pdap.settings import Setting


def setting(**changes) -> Setting:
    return Setting(**{"videos": 2, "neighbours": 1, "dimension": 2, "horizon": 32, **changes})


@pytest.mark.parametrize(
    ("horizon", "dimension", "count"),
    [(32, 2, 2), (33, 2, 3), (200_000, 2, 12), (200_000, 4, 6), (10_000, 1, 10), (2, 900, 2)],
)
def test_slices_come_from_the_horizon(horizon, dimension, count):
    """ceil(T^(1 / (3 + d))) in each dimension."""
    assert uniform_partition(setting(horizon=horizon, dimension=dimension)).slices == count


def test_cells_are_those_of_the_grid():
    """Two slices in two dimensions: four cells and the whole, whatever comes."""
    policy = Dup(setting())
    assert policy.select(np.array([0.1, 0.9])).cell == Cell(1, (0, 1))
    for context in np.random.default_rng(0).random((300, 2)):
        policy.update(policy.select(context), 1)
    assert len(policy.partition) == 1 + 4


def test_phases_follow_each_other():
    """In one cell at round t: own videos t^0.4 ln t times, then the neighbour K times as often
    without its reward, then with it; own videos first again whenever t has grown enough."""
    policy = Dup(setting())
    seen = []
    for _ in range(400):
        choice = policy.select(np.array([0.1, 0.1]))
        t = policy.arrivals + 1
        _, visits = policy.partition.find(np.array([0.1, 0.1]))
        due = t**0.4 * math.log(t)
        if min(visits.counts[0], visits.counts[1]) < due:
            assert (choice.phase, choice.arm < 2) == ("explore", True)
        elif visits.trained[2] < 2 * due:
            assert choice.phase == "train"
        elif visits.counts[2] < due:
            assert (choice.phase, choice.arm) == ("explore", 2)
        else:
            assert choice.phase == "exploit"
        policy.update(choice, 0)
        seen.append((choice.phase, choice.arm))
    assert {("explore", 0), ("explore", 1), ("train", 2), ("explore", 2)} <= set(seen)


def test_control_functions():
    """D1 = D3 = t^(2 / (3 + d)) ln t, and K times that to train; at any level."""
    controls = controls_of_a_grid(setting(videos=20))
    expected = 1000**0.4 * math.log(1000)
    assert (
        controls.explore_own(0, 1000)
        == controls.explore_neighbour(5, 1000)
        == pytest.approx(expected)
    )
    assert controls.train_neighbour(1, 1000) == pytest.approx(20 * expected)
    assert controls.explore_forwarded(1, 1000) == pytest.approx(expected)
