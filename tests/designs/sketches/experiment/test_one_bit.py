"""Schemes with one bit a person: one population, ever larger."""

from __future__ import annotations

import numpy as np

from tacit.data.synthetic_worlds import Blocks
from tacit.designs.sketches.experiment import one_bit


def test_a_larger_population_holds_the_smaller_one(monkeypatch):
    """Ten people are asked, then fifteen more: no one twice, and no one is left out."""
    asked = []

    def count(scheme, world, labels, *, users, seed):
        asked.append((users, seed))
        return np.ones((2, len(labels)), dtype=np.int64)

    monkeypatch.setattr(one_bit, "count_answers", count)
    world = Blocks(np.ones(1), np.full(2, 0.5), np.array([[1.0, 0.0]]))
    one_bit.learn_labels("one-bit-question", world, world.labels(4), users=[10, 25], seed=3)
    assert asked == [(10, (3, 0)), (15, (3, 1))]


def test_one_answer_counts_as_a_share_of_one(monkeypatch):
    """The item that one person likes is learned beside the item that 19 of 20 like."""
    likes = np.array([1, 19, 9, 8])
    counts = np.stack([np.array([1, 20, 20, 20]) - likes, likes])
    monkeypatch.setattr(one_bit, "count_answers", lambda *_, **__: counts)
    world = Blocks(np.ones(1), np.full(2, 0.5), np.array([[1.0, 0.0]]))
    (learned,) = one_bit.learn_labels("one-bit-question", world, world.labels(4), users=[9], seed=3)
    assert learned[0] == learned[1] != learned[2] == learned[3]
