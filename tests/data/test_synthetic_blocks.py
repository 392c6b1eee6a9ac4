"""Generated people rate random sets and like by class and cluster."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data.synthetic_worlds import Blocks, draw_likes, example_blocks
from tacit.errors import ConfigError

LIKES_ALL = Blocks(np.ones(1), np.full(2, 0.5), np.ones((1, 2)))


@pytest.mark.parametrize("rated", [5, 12])
def test_sets_are_random_and_of_their_size(rated):
    """Who likes everything shows what she rated: so many items, each equally often (5 sigma).

    Small sets and large ones are drawn in different ways.
    """
    (likes,) = draw_likes(LIKES_ALL, LIKES_ALL.labels(20), users=8_000, rated=rated, seed=0)
    assert set(np.diff(likes.starts).tolist()) == {rated}
    sets = np.sort(likes.items.reshape(-1, rated), axis=1)
    assert (np.diff(sets, axis=1) > 0).all()
    expected = rated / 20
    shares = np.bincount(likes.items, minlength=20) / 8_000
    assert np.abs(shares - expected).max() < 5 * np.sqrt(expected * (1 - expected) / 8_000)


@pytest.mark.parametrize("rated", [3, 5])
def test_pairs_in_sets_are_random(rated):
    """Two items are rated together as often as any two: w(w-1) / (N(N-1)) (5 sigma)."""
    (likes,) = draw_likes(LIKES_ALL, LIKES_ALL.labels(6), users=20_000, rated=rated, seed=1)
    sets = np.zeros((20_000, 6))
    sets[np.repeat(np.arange(20_000), rated), likes.items] = 1
    together = (sets.T @ sets)[np.triu_indices(6, 1)] / 20_000
    expected = rated * (rated - 1) / 30
    assert np.abs(together - expected).max() < 5 * np.sqrt(expected * (1 - expected) / 20_000)


def test_likes_follow_the_blocks():
    """The share of likes of each class and cluster is the block's chance (5 sigma)."""
    world = example_blocks(3)
    labels = world.labels(30)
    (likes,) = draw_likes(world, labels, users=20_000, rated=30, seed=2)
    people = np.repeat(np.arange(20_000), np.diff(likes.starts))
    for k in range(3):
        members = likes.classes == k
        counts = np.bincount(labels[likes.items[members[people]]], minlength=3)
        shares = counts / (members.sum() * 10)
        assert np.abs(shares - world.likes[k]).max() < 5 * 0.5 / np.sqrt(members.sum() * 10)


def test_classes_of_people_have_their_shares():
    """A class of a fifth of the people has a fifth of them (5 sigma)."""
    world = Blocks(np.array([0.2, 0.8]), np.full(2, 0.5), np.array([[1.0, 0.0], [0.0, 1.0]]))
    (likes,) = draw_likes(world, world.labels(10), users=20_000, rated=3, seed=3)
    assert abs((likes.classes == 0).mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 20_000)


@pytest.mark.parametrize(("rated", "parts"), [(5, [50, 50, 20]), (12, [12] * 10)])
def test_parts_add_up(monkeypatch, rated, parts):
    """People come in parts of bounded size, as many as asked for in all."""
    monkeypatch.setattr("tacit.data.synthetic_worlds._ITEM_NUMBERS_AT_ONCE", 250)
    drawn = list(draw_likes(LIKES_ALL, LIKES_ALL.labels(20), users=120, rated=rated, seed=0))
    assert [len(part) for part in drawn] == parts
    assert all(np.diff(part.starts).tolist() == [rated] * len(part) for part in drawn)


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": [0.5, 0.6]},
        {"items": [1.0]},
        {"items": [1.0, 0.0]},
        {"likes": [[0.5, 1.5]]},
        {"likes": [[0.5, np.nan]]},
        {"likes": [[0.5, 0.5], [0.5, 0.5]]},
    ],
)
def test_impossible_blocks_are_refused(wrong):
    """Shares add up and likes are chances."""
    with pytest.raises(ConfigError):
        Blocks(**({"people": [1.0], "items": [0.5, 0.5], "likes": [[0.5, 0.5]]} | wrong))


def test_impossible_crowds_are_refused():
    """Nobody rates more items than there are."""
    with pytest.raises(ConfigError):
        next(draw_likes(LIKES_ALL, LIKES_ALL.labels(4), users=10, rated=5, seed=0))
