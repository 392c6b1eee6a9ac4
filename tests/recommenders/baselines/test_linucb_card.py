"""The card of private LinUCB says what its noise costs."""

from __future__ import annotations

import math

import pytest

from tacit.designs.pdap.guarantees import linucb
from tacit.errors import ConfigError
from tacit.recommenders.baselines.linucb import LinUCB


def learner(epsilon: float) -> LinUCB:
    return LinUCB(videos=3, neighbours=1, dimension=2, horizon=1000, epsilon=epsilon)


def test_card_states_the_price_of_the_noise():
    """epsilon is what an accountant says of the noise at its delta: hardly less than asked for."""
    card = linucb(learner(1.0))
    assert 0.99 < card.epsilon <= 1.0
    assert card.delta == 1e-6
    assert card.lifetime_epsilon is None


def test_no_card_without_noise():
    """The twin promises nothing."""
    with pytest.raises(ConfigError, match="no card"):
        linucb(learner(math.inf))
