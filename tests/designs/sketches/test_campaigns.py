"""Campaigns are made with the defaults that the documentation has, or refused with the reason."""

from __future__ import annotations

import pytest

from tacit.designs.sketches.campaigns import new_campaign
from tacit.errors import ConfigError


def test_by_default_four_stars_are_a_like():
    """In thousandths of a star."""
    assert new_campaign(range(40), rated=10, epsilon=1.0).liked_from == 4_000


def test_by_default_a_sensed_set_holds_one_rated_item():
    """theta = 1: sets are as large as those that `theta=1.0` asks for, and not as `theta=0.25`."""
    usual, named, quarter = (
        new_campaign(range(1000), rated=10, epsilon=1.0, **given)
        for given in ({}, {"theta": 1.0}, {"theta": 0.25})
    )
    assert usual.set_size == named.set_size > quarter.set_size


@pytest.mark.parametrize("epsilon", [0, -0.5])
def test_an_epsilon_that_is_not_above_0_is_refused(epsilon):
    """With the range, not with the smallest step of the message."""
    with pytest.raises(ConfigError, match="epsilon is above 0"):
        new_campaign(range(40), rated=10, epsilon=epsilon)
