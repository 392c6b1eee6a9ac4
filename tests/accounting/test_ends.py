"""The ends of both scales, for every accountant."""

from __future__ import annotations

import math

import pytest

from tacit.accounting import (
    Gaussian,
    GDPAccountant,
    Laplace,
    NonPrivate,
    PureAccountant,
    ZCDPAccountant,
)
from tacit.errors import ConfigError

PRICED = {
    PureAccountant: Laplace(1.0),
    ZCDPAccountant: Laplace(1.0),
    GDPAccountant: Gaussian(1.0),
}


@pytest.mark.parametrize(("accountant", "event"), PRICED.items())
def test_without_a_delta_it_is_0(accountant, event):
    """A delta that is not given is none."""
    made = accountant().add(event)
    assert made.epsilon() == made.epsilon(0.0) > made.epsilon(0.1)


@pytest.mark.parametrize("accountant", PRICED)
def test_ends_of_both_scales_cost_nothing(accountant):
    """An infinite epsilon and a delta of 1 promise nothing: they hold without any noise, and after
    nothing was released everything holds."""
    made = accountant().add(NonPrivate())
    assert (made.epsilon(1.0), made.delta(math.inf)) == (0.0, 0.0)
    assert (made.epsilon(math.nextafter(1, 0)), made.delta(1e9)) == (math.inf, 1.0)
    assert (accountant().epsilon(), accountant().delta(0.0)) == (0.0, 0.0)
    with pytest.raises(ConfigError, match="at least 0"):
        made.delta(-5e-324)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        made.epsilon(math.nextafter(1, 2))
