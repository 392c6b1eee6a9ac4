"""What a vendor does around a sound learner must not spend what the learner does not charge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.local_learner import LocalLearner, LocalSetting
from tacit.designs.pdap.messages import Offer
from tacit.designs.pdap.normal_draws import NormalDraws
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.trust import NEVER, TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.randomness import secure

OWN_SIDE, NEIGHBOUR_SIDE = np.array([0.1]), np.array([0.9])
"""On the left the own video is believed to be liked, on the right the neighbour."""
WORLD = {"videos": 1, "neighbours": 1, "dimension": 1, "epsilon": 1.0}


@pytest.fixture(autouse=True)
def _nothing_drawn(monkeypatch):
    """Every choice is of the largest mean: equal beliefs, equal choices."""
    monkeypatch.setattr(NormalDraws, "take", lambda _, count: np.zeros(count))


def learner() -> JointLearner:
    told = JointSetting(**WORLD, horizon=100_000, degree=1)
    home = JointLearner(told, randomness=secure())
    numbers, arrays = home.export_state()
    theta = np.array([[0.0, -0.3], [0.0, 0.3]])
    arrays["liked"] = np.einsum("kij,kj->ki", arrays["precision"], theta)
    home.resume(numbers, arrays)
    return home


def vendor(home, trust_settings: TrustSettings | None = None) -> Vendor:
    forwarder = Forwarder(Agreement(1, 2, 1.0), randomness=secure())
    return Vendor(home, ["own"], peers=["peer"], forwarder=forwarder, trust_settings=trust_settings)


@pytest.mark.parametrize("context", [OWN_SIDE, NEIGHBOUR_SIDE], ids=["own", "forwarded"])
def test_a_silent_neighbour_does_not_move_public_time(context):
    """Whether a visit's choice came to nothing, which follows from its context, leaves the number
    of arrivals, and so the times of all releases, as it is."""
    home = learner()
    shop = vendor(home)
    visit = shop.choose(context)
    if visit.is_waiting():
        assert context is NEIGHBOUR_SIDE
        assert shop.receive_offer(visit, None) == "own"
    shop.observe_click(visit, 1.0)
    assert home.arrivals == 1


def test_a_second_choice_tells_nothing_of_the_context():
    """The device's draw is paid for once; where it comes to nothing, what is shown instead is the
    same for every context."""
    table = np.array([[0.9, 0.2, 0.0], [0.0, 0.3, 0.9]])

    class Told(LocalLearner):
        def means(self):
            return table

    policy = Told(LocalSetting(**{**WORLD, "videos": 2}), randomness=secure())
    drawn = Choice(2, "exploit", 0)
    shown = {
        policy.choose_again(at, [0, 1], instead=drawn).arm for at in (OWN_SIDE, NEIGHBOUR_SIDE)
    }
    assert shown == {0}
    assert policy.visits == 0


SOUND, EXACT = {"epsilon": 1.0, "epoch": 4}, {"epsilon": math.inf, "epoch": 4}


def forwarded(first, trust_settings):
    """Which of a person's next twelve visits are forwarded after somebody else's `first`, whose
    neighbour answers and whose click home sees."""
    home = learner()
    shop = vendor(home, trust_settings)
    visit = shop.choose(first)
    if visit.is_waiting():
        shop.receive_offer(visit, Offer(visit.request, "theirs").encode())
    shop.observe_click(visit, 1.0)
    return [shop.choose(NEIGHBOUR_SIDE).is_waiting() for _ in range(12)]


@pytest.mark.parametrize("rules", [{"proof": 1}, {"failures": 1, "pause": 4}])
def test_trust_follows_from_what_is_released(monkeypatch, rules):
    """Whatever the noisy sums say, where they say the same two contexts open the same visits."""
    found = set()
    for seed in range(12):
        said = np.random.default_rng(seed).normal(scale=100, size=(3, 6))
        told = []
        for first in (OWN_SIDE, NEIGHBOUR_SIDE):
            tape = iter(said)
            monkeypatch.setattr(LaplaceRelease, "__call__", lambda *_, tape=tape: next(tape))
            told.append(forwarded(first, TrustSettings(**SOUND, **rules)))
        assert told[0] == told[1]
        found.add(tuple(told[0]))
    assert len(found) > 1  # a rule that never acts would pass as well


def test_trust_without_noise_is_found_by_the_same_test():
    """Without noise the same rule tells one context from the other: no epsilon covers that."""
    shown = [
        forwarded(side, TrustSettings(**EXACT, proof=1)) for side in (OWN_SIDE, NEIGHBOUR_SIDE)
    ]
    assert shown[0] != shown[1]


def test_blind_trust_looks_at_nobody_and_costs_nothing():
    """With all rules off that need to know what happened, a vendor's visits cost what they did."""
    blind = TrustSettings(uses_reports=False, share=1.0, failures=NEVER)
    shop = vendor(learner(), blind)
    assert shop.caution_epsilon == 0.0
    assert forwarded(OWN_SIDE, blind) == forwarded(NEIGHBOUR_SIDE, blind)


def test_trust_is_charged_what_it_draws():
    """The default costs a visit 0.1, whatever the agreed range; without noise nothing holds."""
    for low, high in ((0.0, 1.0), (-0.6, 1.6), (-99.5, 100.5)):
        cost = vendor(learner(), TrustSettings(low=low, high=high)).caution_epsilon
        assert 0.0999 < cost <= 0.1
    assert vendor(learner(), TrustSettings(epsilon=math.inf)).caution_epsilon == math.inf
