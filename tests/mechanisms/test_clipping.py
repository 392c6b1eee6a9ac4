"""What is clipped to a norm, person by person, is no longer than it and no shorter than it must."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease


def test_a_short_table_of_one_person_is_not_made_longer():
    """A length below the norm stays as it is, and a larger one becomes the norm."""
    release = SumRelease(1.0, 4, 2)
    for entry, left in ((0.01, 0.01), (5.0, 1 / math.sqrt(8))):
        steps = release.clip_table(np.full((4, 2), entry))
        assert (np.abs(steps * release.resolution - left) < 2 * release.resolution).all()


def test_a_long_table_keeps_its_direction():
    """3 and 4 become 0.6 and 0.8 of the norm, less than a step off; as one block as well."""
    release, entries = SumRelease(1.0, 2), np.array([[3.0], [4.0]])
    block = Contributions(np.zeros(2, dtype=np.int64), np.arange(2), entries)
    for steps in (release.clip_table(entries), release.clip_block(block)):
        np.testing.assert_allclose(steps[:, 0], [0.6 * 4096, 0.8 * 4096], atol=1)


def test_a_table_as_long_as_the_norm_is_not_shortened():
    """One entry of the norm is 4096 steps, no fewer; in a row of products, 1024."""
    release, entry = SumRelease(1.0, 1), np.array([[1.0]])
    block = Contributions(np.array([0]), np.array([0]), entry)
    assert release.clip_table(entry) == release.clip_block(block) == [[4096]]
    assert GramRelease(1.0, 1).clip_rows(entry) == [[1024]]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_floats_left_too_long_is_shortened_in_integers(sign):
    """sqrt(6) as a float is a trifle less, so 5 squared steps fit; floats make 1, 1, 2 of the
    entries, which are 6. One step less of each is left: 0, 0, 1."""
    entries = sign * np.array([[1.0], [1.0], [2.0]])
    block = Contributions(np.zeros(3, dtype=np.int64), np.arange(3), entries)
    release = SumRelease(1.0, 3, norm=math.sqrt(6), resolution=1.0)
    products = GramRelease(1.0, 3, norm=math.sqrt(6), resolution=1.0)
    left = [0, 0, sign]
    assert release.clip_table(entries)[:, 0].tolist() == left
    assert release.clip_block(block)[:, 0].tolist() == left
    assert products.clip_rows(entries.T)[0].tolist() == left


def test_tables_of_nothing():
    """No entries, zeros, and entries far below a step are no steps; short ones stay as they are."""
    release = SumRelease(1.0, 2, norm=0.5)
    assert release.clip_table(np.empty((0, 1))).shape == (0, 1)
    assert release.clip_table(np.array([[0.0], [0.0]])).tolist() == [[0], [0]]
    assert release.clip_table(np.array([[5e-324], [0.0]])).tolist() == [[0], [0]]
    assert release.clip_table(np.array([[0.25], [0.0]])).tolist() == [[1024], [0]]


def test_the_coarsest_and_the_finest_grid_are_let_in():
    """A norm of one step, and of 2^20."""
    assert SumRelease(1.0, 3, 1, 1.0, 1.0).squared_norm == 1
    assert SumRelease(1.0, 3, 1, 1.0, 2.0**-20).squared_norm == 2**40


def test_entries_below_one_keep_their_length():
    """A person whose largest entry is below 1 and within the norm is not shortened."""
    block = Contributions(np.array([0, 1]), np.array([0, 0]), np.array([[0.25], [0.5]]))
    assert SumRelease(1.0, 1, 1).clip_block(block).tolist() == [[1024], [2048]]
