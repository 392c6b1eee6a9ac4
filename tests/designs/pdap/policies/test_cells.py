"""Cells: they cover the cube once, and split when they are due."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.pdap.policies.cells import Cell, Partition
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError

features = st.floats(0, 1)


def adaptive(dimension: int, **changes) -> Partition:
    given = {"split_after": 3, "videos": 1, "neighbours": 0, "horizon": 2, **changes}
    setting = Setting(dimension=dimension, **given)
    return Partition(dimension, setting.slices, setting.thresholds)


def visit(partition: Partition, context: list[float]) -> Cell:
    cell, _ = partition.find(np.array(context))
    partition.count_arrival(cell)
    return cell


def path(context: list[float], slices: int, level: int) -> list[Cell]:
    """The cells that hold a context, where each is split by its first visit."""
    partition = Partition(len(context), slices, [1.0] * level + [math.inf])
    return [visit(partition, context) for _ in range(level + 1)]


@pytest.mark.parametrize("growth", [1.0, 2.0])
def test_splits_at_a_times_m_to_the_p_l(growth):
    """Level l takes exactly A m^(p l) contexts: the next one lies in a child."""
    partition = adaptive(1, growth=growth, deepest=3)
    seen = [visit(partition, [0.1]).level for _ in range(200)]
    assert [seen.count(level) for level in range(3)] == [3 * 2 ** (growth * n) for n in range(3)]
    assert seen == sorted(seen)


def test_children_exist_once_somebody_is_in_them():
    """A split in five dimensions has 32 children; two visited ones and their parent are stored."""
    partition = adaptive(5)
    for _ in range(3):
        visit(partition, [0.1] * 5)
    assert len(partition) == 1
    visit(partition, [0.1] * 5)
    visit(partition, [0.9] * 5)
    assert len(partition) == 3


@given(st.lists(features, min_size=1, max_size=4), st.integers(2, 5), st.integers(0, 6))
def test_child_lies_within_its_parent(context, slices, level):
    """Cutting a cell's slice number by m gives its parent's, for any number of slices."""
    for parent, child in pairwise(path(context, slices, level)[1:]):
        assert parent.place == tuple(place // slices for place in child.place)


@given(st.lists(features, min_size=1, max_size=4), st.integers(2, 5), st.integers(1, 6))
def test_cell_contains_its_context(context, slices, level):
    """A context lies in its cell's box, up to the rounding of a float at the box's edge."""
    for cell in path(context, slices, level)[1:]:
        side = slices**-cell.level
        for feature, place in zip(context, cell.place, strict=True):
            assert place * side - 1e-12 <= feature <= (place + 1) * side + 1e-12


@given(st.lists(st.tuples(features, features), max_size=80))
def test_a_context_has_one_cell_in_use(contexts):
    """Whatever came: visits in a cell that is in use are those that came since its parent split."""
    partition, seen = adaptive(2, growth=1.0), {}
    for context in contexts:
        cell = visit(partition, list(context))
        seen[cell] = seen.get(cell, 0) + 1
    for cell, count in seen.items():
        visits = partition.statistics(cell)
        assert count == partition.thresholds[cell.level] if visits is None else visits.arrivals


def test_deepest_level_never_splits():
    """However many come, a cell of the last level stays."""
    partition = adaptive(1, split_after=1, growth=0.1, deepest=2)
    assert {visit(partition, [0.3]).level for _ in range(50)} == {0, 1, 2}


def test_split_cell_takes_no_more():
    """A late answer finds nothing in a cell that was split, and is not counted."""
    partition = adaptive(1, split_after=1)
    cell = visit(partition, [0.3])
    assert partition.statistics(cell) is None
    partition.count_arrival(cell)
    assert len(partition) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"dimension": 0},
        {"slices": 1},
        {"slices": 2.5},
        {"split_after": 0},
        {"growth": 0.0},
        {"deepest": 60},
    ],
)
def test_nonsense_is_refused(change):
    """A parameter out of range is named before anything is stored."""
    with pytest.raises(ConfigError):
        adaptive(**{"dimension": 2, **change})
