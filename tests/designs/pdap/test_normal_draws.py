"""Normal numbers in blocks: the same draws, however many are taken at a time."""

from __future__ import annotations

import numpy as np

from tacit.designs.pdap.normal_draws import NormalDraws
from tacit.randomness import replay, simulation


def test_draws_do_not_depend_on_how_many_are_taken():
    """One, then three, then one: the first five of the generator, from the very first on."""
    with simulation():
        apart, together = (NormalDraws(replay("normal draws")) for _ in range(2))
        taken = [apart.take(count).copy() for count in (1, 3, 1)]
        np.testing.assert_array_equal(np.concatenate(taken), together.take(5))
        assert len(set(np.concatenate(taken).tolist())) == 5


def test_draws_are_normal():
    """Mean and variance of 40,000, to 5 standard errors."""
    with simulation():
        drawn = NormalDraws(replay("normal")).take(40_000)
    assert abs(drawn.mean()) < 5 / np.sqrt(40_000)
    assert abs(drawn.var() - 1) < 5 * np.sqrt(2 / 40_000)
