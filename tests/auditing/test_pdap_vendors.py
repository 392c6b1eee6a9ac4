"""What a vendor does around a sound learner must not spend what the learner does not charge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.accounting import ZCDPAccountant
from tacit.randomness import secure
from tacit.recommenders.baselines.linucb import LinUCB
from tacit.recommenders.pdap.context import Context, ContextSetting
from tacit.recommenders.pdap.forwarding import Agreement, Forwarder
from tacit.recommenders.pdap.joint import Joint
from tacit.recommenders.pdap.joint_setting import JointSetting, PublicData
from tacit.recommenders.pdap.trust import Caution
from tacit.recommenders.pdap.vendor import Vendor

PUBLIC = PublicData(1000.0 * np.eye(2), np.full((2, 2), 1000.0))
"""On the left the own video is liked, on the right the neighbour."""
OWN_SIDE, NEIGHBOUR_SIDE = np.array([0.1]), np.array([0.9])
WORLD = {"videos": 1, "neighbours": 1, "dimension": 1, "epsilon": 1.0}


def learner() -> Joint:
    told = JointSetting(**WORLD, horizon=1000, slices=2, index="optimistic", public=PUBLIC)
    return Joint(told, randomness=secure())


def vendor(home, caution: Caution | None = None) -> Vendor:
    forwarder = Forwarder(Agreement(1, 2, 1.0), randomness=secure())
    return Vendor(home, ["own"], peers=["peer"], forwarder=forwarder, caution=caution)


@pytest.mark.parametrize("context", [OWN_SIDE, NEIGHBOUR_SIDE], ids=["own", "forwarded"])
def test_a_silent_neighbour_does_not_move_public_time(context):
    """Whether a visit's choice came to nothing, which follows from its context, leaves the number
    of arrivals, and so the times of all releases, as it is."""
    home = learner()
    shop = vendor(home)
    visit = shop.choose(context)
    if visit.waits():
        assert context is NEIGHBOUR_SIDE
        assert shop.offered(visit, None) == "own"
    shop.clicked(visit, 1.0)
    assert home.arrivals == 1


def test_time_of_linucb_is_public_too():
    """A second choice of one visit is no arrival of its own."""
    home = LinUCB(**WORLD, horizon=100)
    home.select(NEIGHBOUR_SIDE)
    assert home.settle(NEIGHBOUR_SIDE, [0]).arm == 0
    assert home.arrivals == 1


def test_a_second_choice_tells_nothing_of_the_context():
    """The device's draw is paid for once; where it comes to nothing, what is shown instead is the
    same for every context."""
    table = np.array([[0.9, 0.2, 0.0], [0.0, 0.3, 0.9]])

    class Told(Context):
        def means(self):
            return table

    policy = Told(ContextSetting(**{**WORLD, "videos": 2}), randomness=secure())
    shown = {policy.settle(context, [0, 1]).arm for context in (OWN_SIDE, NEIGHBOUR_SIDE)}
    assert shown == {0}
    assert policy.visits == 0


def test_draw_is_not_charged_as_one_of_bounded_range():
    """Of two arms, the draw at epsilon 1 has ratios from e^-1 to e, twice the range of an
    exponential mechanism at epsilon 1: its rho is at least that of randomised response."""
    told = ContextSetting(**WORLD, vendor_sees="contexts", explore=0.0)
    policy = Context(told, randomness=secure())
    likely = 1 / (1 + math.exp(-policy.draw_loss))
    twice = math.log(likely**2 / (1 - likely) + (1 - likely) ** 2 / likely)  # Renyi, of order 2
    accountant = ZCDPAccountant().add(policy.event)
    assert float(accountant.rho) >= twice / 2


def test_trust_looks_at_exact_counts_unless_told_not_to():
    """A neighbour's share is of exact numbers, so one visitor's context decides whether a later
    one is forwarded. With all rules off that need such counts, it does not."""

    def forwarded(first, caution):
        shop = vendor(learner(), caution)
        shop.choose(first)
        return [shop.choose(NEIGHBOUR_SIDE).waits() for _ in range(8)]

    careful = Caution(proof=1)
    assert forwarded(OWN_SIDE, careful) != forwarded(NEIGHBOUR_SIDE, careful)
    blind = Caution(believed=False, share=1.0, failures=1 << 40)
    assert forwarded(OWN_SIDE, blind) == forwarded(NEIGHBOUR_SIDE, blind)
