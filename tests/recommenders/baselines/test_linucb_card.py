"""The card of private LinUCB says what its noise costs."""

from __future__ import annotations

import math

import pytest

from tacit.designs.pdap.design import linucb_card
from tacit.errors import ConfigError
from tacit.recommenders.baselines.linucb import LinUCB


def learner(epsilon: float) -> LinUCB:
    return LinUCB(videos=3, neighbours=1, dimension=2, horizon=1000, epsilon=epsilon)


def test_card_states_the_price_of_the_noise():
    """epsilon is what an accountant says of the noise at its delta: hardly less than asked for."""
    card = linucb_card(learner(1.0))
    assert 0.99 < card.epsilon <= 1.0
    assert card.delta == 1e-6
    assert card.lifetime_epsilon is None


def test_several_visits_cost_more_than_their_sum_of_delta():
    """Two visits: epsilon adds up, delta is multiplied by 1 + e^epsilon."""
    card = linucb_card(learner(1.0), visits_per_person=2)
    assert card.lifetime_epsilon == pytest.approx(2 * card.epsilon)
    assert card.lifetime_delta == pytest.approx(1e-6 * (1 + math.exp(card.epsilon)))


def test_no_card_without_noise():
    """The twin promises nothing."""
    with pytest.raises(ConfigError, match="no card"):
        linucb_card(learner(math.inf))
