"""The card of trust says what its noise costs, and there is none where nothing is promised."""

from __future__ import annotations

import math

import pytest

from tacit.designs.pdap.guarantees import neighbour_trust_card
from tacit.designs.pdap.trust import NEVER, TrustSettings
from tacit.errors import ConfigError


def test_card_states_the_price_of_the_noise():
    """Hardly less than what is configured, per visit, and so often for a person."""
    card = neighbour_trust_card(
        TrustSettings(epsilon=0.2, low=-1.0, high=2.0), visits_per_person=10
    )
    assert 0.1999 < card.epsilon <= 0.2
    assert card.lifetime_epsilon == pytest.approx(10 * card.epsilon)
    assert neighbour_trust_card(TrustSettings()).lifetime_epsilon is None


@pytest.mark.parametrize(
    "settings",
    [TrustSettings(epsilon=math.inf), TrustSettings(uses_reports=False, share=1.0, failures=NEVER)],
)
def test_without_noise_there_is_no_card(settings):
    """Nothing is promised of exact sums, and nothing needs to be where nobody looks."""
    with pytest.raises(ConfigError):
        neighbour_trust_card(settings)
