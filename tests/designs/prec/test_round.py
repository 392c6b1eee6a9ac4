"""Blocks of clients: a client alone beside one for whom no one is left."""

from __future__ import annotations

import numpy as np

from tacit.designs.prec.round import Block


def test_a_client_for_whom_nobody_is_left_has_no_votes():
    """The client who is alone is counted as before."""
    block = Block(3, diversity=0, radius=0)
    block.enrol(0, np.ones(3, dtype=bool))
    votes = np.array([0, 1, 1], dtype=np.uint16)
    counts, total = block.count_votes(1, votes, 2)
    assert counts.tolist() == [0, 0]
    assert total == 0
    counts, total = block.count_votes(0, votes, 2)
    assert counts.tolist() == [1, 2]
    assert total == 3
