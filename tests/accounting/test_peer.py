"""Agreement with dp-accounting, an independent library."""

from __future__ import annotations

import dp_accounting
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

from tacit.accounting import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PureAccountant,
    RandomizedResponse,
    ZCDPAccountant,
)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize(("noise", "times"), [(0.7, 1), (2.0, 3), (30.0, 500)])
def test_zcdp_agrees_with_dp_accounting(noise, times, delta):
    """For Gaussian noise the zCDP epsilon is the Renyi accountant's, which tries fewer orders."""
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(noise), times)
    peer = RdpAccountant().compose(event).get_epsilon(delta)
    found = ZCDPAccountant().add(Gaussian(noise), times).epsilon(delta)
    assert peer * (1 - 0.02) <= found <= peer * (1 + 1e-9)


PEERS = [
    (Laplace(2.0), lambda: pld.from_laplace_mechanism(2.0)),
    (DiscreteLaplace(2.0), lambda: pld.from_discrete_laplace_mechanism(0.5)),
    (RandomizedResponse(2, 0.75), lambda: pld.from_randomized_response(0.5, 2)),
    (RandomizedResponse(5, 0.6), lambda: pld.from_randomized_response(0.5, 5)),
]


@pytest.mark.parametrize(("event", "peer"), PEERS)
def test_pure_agrees_with_dp_accounting(event, peer):
    """The pure epsilon is the largest loss of the distribution, whose tail is cut at 1e-15."""
    found = PureAccountant().add(event).epsilon()
    assert peer().get_epsilon_for_delta(1e-10) == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize(
    ("event", "peer"), [*PEERS, (Gaussian(5.0), lambda: pld.from_gaussian_mechanism(5.0))]
)
def test_zcdp_is_never_below_the_truth(event, peer, times):
    """Converted from rho, no epsilon is below that of the privacy loss distribution itself."""
    truth = peer().self_compose(times).get_epsilon_for_delta(1e-6)
    assert truth <= ZCDPAccountant().add(event, times).epsilon(1e-6) + times * 1e-4
