"""Cells that split by noisy counts: what is public, and what the noise does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.events import DiscreteLaplace
from tacit.designs.pdap.noisy_partition import NoisyPartition
from tacit.designs.pdap.partition import AdaptivePartition
from tacit.errors import ConfigError

features = st.floats(0, 1)


def nothing(parent: None) -> list[int]:
    """A state that can be told from another."""
    return []


def noisy(dimension: int = 2, **changes) -> NoisyPartition[list[int]]:
    plain = {"epsilon": math.inf, "epoch": 1, "split_after": 3, "growth": 1.0, "deepest": 6}
    return NoisyPartition(dimension, nothing, **{**plain, **changes})


@settings(deadline=None)
@given(st.lists(st.tuples(features, features), max_size=100))
def test_without_noise_it_is_the_adaptive_one(contexts):
    """At epsilon = inf, looking after every context, levels and splits are those of the paper."""
    ours = noisy()
    twin = AdaptivePartition(2, nothing, split_after=3, growth=1.0, deepest=6)
    for context in contexts:
        mine, other = ours.find(np.array(context))[0], twin.find(np.array(context))[0]
        assert mine.level == other.level
        assert mine.level == 0 or mine == other
        assert ours.arrived(mine) == twin.arrived(other)


def test_all_children_are_in_use():
    """A split opens every child, visited or not: which were visited is not told."""
    partition = noisy(dimension=3)
    for _ in range(3):
        partition.arrived(partition.find(np.full(3, 0.1))[0])
    assert len(partition) == 8
    assert {cell.level for cell in partition.cells()} == {1}


def test_nothing_splits_within_an_epoch():
    """Counts are looked at every 50 contexts, however many there are in a cell."""
    partition = noisy(epoch=50)
    levels = []
    for _ in range(101):
        cell, _ = partition.find(np.full(2, 0.1))
        partition.arrived(cell)
        levels.append(cell.level)
    assert levels == [0] * 50 + [1] * 50 + [2]


def test_one_visit_costs_epsilon():
    """Noise of 2 visits over epsilon in every count: one falls by 1 and another rises."""
    event = noisy(epsilon=0.5).event
    assert event == DiscreteLaplace(noise_multiplier=2.0)
    assert noisy(epsilon=0.5)._release.scale == pytest.approx(4.0)


def test_noise_decides():
    """A cell far below its split at a tiny epsilon splits in some runs and in others not."""
    outcomes = set()
    for _ in range(20):
        partition = noisy(epsilon=0.001, epoch=10, split_after=500)
        for _ in range(10):
            partition.arrived(partition.find(np.full(2, 0.1))[0])
        outcomes.add(len(partition))
    assert outcomes == {1, 4}


def test_cells_are_bounded():
    """A split that would pass most_cells does not happen."""
    partition = noisy(most_cells=9, split_after=1)
    for context in np.random.default_rng(0).random((300, 2)):
        partition.arrived(partition.find(context)[0])
    assert len(partition) == 7


@given(st.lists(st.tuples(features, features), max_size=60))
def test_cells_cover_the_cube_once(contexts):
    """The cells in use have the volume of the cube together."""
    partition = noisy()
    for context in contexts:
        partition.arrived(partition.find(np.array(context))[0])
    assert sum(4.0**-cell.level for cell in partition.cells()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": 0},
        {"epsilon": 0.0},
        {"split_after": 0},
        {"dimension": 20},
        {"dimension": 17, "most_cells": 1 << 18},
    ],
)
def test_nonsense_is_refused(change):
    """A parameter out of range, or more children than cells allowed, is refused."""
    with pytest.raises(ConfigError):
        noisy(**change)
