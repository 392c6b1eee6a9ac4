"""The release of a cosine is within its claim, and near once there are many ratings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ConfigError, DataError
from tacit.mechanisms.cosine import CosineRelease
from tacit.randomness import secure

PEOPLE = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=40)


@settings(deadline=None)
@given(PEOPLE, st.sampled_from([2, 3]))
def test_changes_move_by_at_most_one(people, bound):
    """A person who goes moves the count of every output by at most one, so no output's chance by
    more than e^epsilon; in exact integers."""
    mechanism = CosineRelease(1.0, bound, 50)
    pair = np.array(people).T
    one, other = mechanism.changes(pair), mechanism.changes(pair[:, 1:])
    assert np.abs(one - other).max() <= 1
    first, second = (mechanism._selection.probabilities(-counts) for counts in (one, other))
    assert np.abs(np.log(first / second)).max() <= 1 + 1e-9


def test_catches_a_missing_clamp(monkeypatch):
    """The same comparison refuses ratings that were not clamped to the bound."""
    monkeypatch.setattr(np, "clip", lambda values, *_: values)
    mechanism = CosineRelease(1.0, 1, 50)
    pair = np.ones((2, 101), dtype=np.int64)
    pair[:, 0] = 30, -30
    one, other = mechanism.changes(pair), mechanism.changes(pair[:, 1:])
    assert np.abs(one - other).max() > 1


def test_many_ratings_are_released_well():
    """At epsilon 1 with 40,000 ratings of two equal items, the release is near 1."""
    pair = np.ones((2, 40_000), dtype=np.int64)
    drawn = [CosineRelease(1.0, 2)(pair, secure()) for _ in range(30)]
    assert np.abs(np.array(drawn) - 1).max() < 0.6


def test_few_ratings_say_nothing():
    """Where one person can turn the cosine round, all outputs but the nearest are equal."""
    changes = CosineRelease(1.0, 2, 10).changes(np.array([[1, 0], [1, 0]]))
    assert changes.tolist() == [1] * 20 + [0]


def test_ratings_beyond_the_bound_are_clamped():
    """A giant rating counts as the bound."""
    mechanism = CosineRelease(1.0, 2, 10)
    wild, tame = (np.array([[value, 1], [1, 2]]) for value in (10**9, 2))
    assert (mechanism.changes(wild) == mechanism.changes(tame)).all()


def test_no_ratings():
    """Without any rating the cosine is 0."""
    assert CosineRelease(math.inf, 2)(np.zeros((2, 3)), secure()) == 0


@pytest.mark.parametrize("ratings", [np.zeros(3), np.zeros((3, 2)), np.full((2, 2), 0.5)])
def test_odd_ratings_are_refused(ratings):
    """Two rows of whole numbers."""
    with pytest.raises(DataError):
        CosineRelease(1.0, 2)(ratings, secure())


@pytest.mark.parametrize("fields", [(0.0, 2), (1.0, 0), (1.0, 2.5), (1.0, 2, 0)])
def test_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        CosineRelease(*fields)


@pytest.mark.parametrize(
    ("bound", "halves", "said"),
    [
        (0, 500, "least 1 and at most 1024"),
        (1025, 500, "1024"),
        (4, 0, "1 and"),
        (4, 65537, "65536"),
    ],
)
def test_sizes_are_bounded(bound, halves, said):
    """The largest sizes are taken, and one more is refused in a sentence with the bounds."""
    CosineRelease(1.0, 1024, 65536)
    CosineRelease(1.0, 1, 1)
    with pytest.raises(ConfigError, match=said):
        CosineRelease(1.0, bound, halves)
