"""Generated people rate random sets and like by class and cluster."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data.synthetic_blocks import Blocks, draw, example
from tacit.errors import ConfigError

LIKES_ALL = Blocks(np.ones(1), np.full(2, 0.5), np.ones((1, 2)))


def test_sets_are_random_and_of_their_size():
    """Who likes everything shows what she rated: so many items, each equally often (5 sigma)."""
    (likes,) = draw(LIKES_ALL, LIKES_ALL.labels(20), users=8_000, rated=5, seed=0)
    assert set(np.diff(likes.starts).tolist()) == {5}
    sets = np.sort(likes.items.reshape(-1, 5), axis=1)
    assert (np.diff(sets, axis=1) > 0).all()
    shares = np.bincount(likes.items, minlength=20) / 8_000
    assert np.abs(shares - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 8_000)


def test_pairs_in_sets_are_random():
    """Two items are rated together as often as any two: w(w-1) / (N(N-1)) (5 sigma)."""
    (likes,) = draw(LIKES_ALL, LIKES_ALL.labels(6), users=20_000, rated=3, seed=1)
    rated = np.zeros((20_000, 6))
    rated[np.repeat(np.arange(20_000), 3), likes.items] = 1
    together = (rated.T @ rated)[np.triu_indices(6, 1)] / 20_000
    assert np.abs(together - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 20_000)


def test_likes_follow_the_blocks():
    """The share of likes of each class and cluster is the block's chance (5 sigma)."""
    world = example(3)
    labels = world.labels(30)
    (likes,) = draw(world, labels, users=20_000, rated=30, seed=2)
    people = np.repeat(np.arange(20_000), np.diff(likes.starts))
    for k in range(3):
        members = likes.classes == k
        counts = np.bincount(labels[likes.items[members[people]]], minlength=3)
        shares = counts / (members.sum() * 10)
        assert np.abs(shares - world.likes[k]).max() < 5 * 0.5 / np.sqrt(members.sum() * 10)


def test_parts_add_up(monkeypatch):
    """People come in parts of bounded size, as many as asked for in all."""
    monkeypatch.setattr("tacit.data.synthetic_blocks._CELLS", 1000)
    parts = list(draw(LIKES_ALL, LIKES_ALL.labels(20), users=120, rated=5, seed=0))
    assert [len(part) for part in parts] == [50, 50, 20]
    assert all(np.diff(part.starts).tolist() == [5] * len(part) for part in parts)


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
        next(draw(LIKES_ALL, LIKES_ALL.labels(4), users=10, rated=5, seed=0))
