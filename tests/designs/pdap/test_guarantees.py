"""Cards of the sound learners say what their noise really costs, and claim nothing without it."""

from __future__ import annotations

import math

import pytest

from tacit.designs.pdap import guarantees as cards
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.joint import JointSetting
from tacit.designs.pdap.local_learner import LocalLearner, LocalSetting
from tacit.designs.pdap.trust import TrustSettings
from tacit.privacy import Adjacency, Basis, Trust
from tacit.randomness import secure


def setting(**changes) -> JointSetting:
    plain = {"videos": 20, "neighbours": 3, "dimension": 2, "horizon": 200_000, "epsilon": 1.0}
    return JointSetting(**{**plain, **changes})


def local(**changes) -> LocalLearner:
    plain = {"videos": 20, "neighbours": 3, "dimension": 2, "epsilon": 1.0}
    return LocalLearner(LocalSetting(**{**plain, **changes}), randomness=secure())


def test_joint_card_states_the_price_of_the_noise():
    """epsilon on the card is what an accountant says of the event: at most what was asked for,
    and hardly less."""
    card = cards.joint_card(setting())
    assert card.basis is Basis.PROVED
    assert 0.999 < card.epsilon <= 1.0
    assert card.delta == 0
    assert any("one release" in line for line in card.assumptions)
    assert card.adjacency.unit == "visit"


def test_person_costs_her_visits():
    """Metered, a person costs her visits times epsilon; else nothing bounds her, and it is said."""
    metered = cards.joint_card(setting(), visits_per_person=10)
    assert metered.lifetime_epsilon == pytest.approx(10.0)
    assert cards.joint_card(setting()).lifetime_epsilon is None
    assert "N times" in cards.joint_card(setting()).lifetime


def test_unit_of_the_proof_is_on_the_card():
    """Learned or not learned; arrivals are public; a restored backup is an assumption."""
    card = cards.joint_card(setting())
    assert card.adjacency == Adjacency("visit", "learn or not learn")
    assert "learned or not learned" in card.sentence
    assert any("arrivals are public" in line for line in card.assumptions)
    assert any("restored backup" in line for line in card.assumptions)
    assert any("that a visit took place" in line for line in card.not_covered)
    assert "one release" in card.lifetime


def test_local_card_needs_no_trust():
    """Nobody is trusted, and the price is what was asked for."""
    card = cards.local_card(local())
    assert card.trust is Trust.NOBODY
    assert 0.999 < card.epsilon <= 1.0


def test_without_noise_nothing_is_claimed():
    """epsilon = inf: no epsilon on any card."""
    for card in (
        cards.joint_card(setting(epsilon=math.inf)),
        cards.local_card(local(epsilon=math.inf)),
    ):
        assert card.epsilon is None
        assert card.basis is Basis.NONE


def test_the_card_of_a_whole_visit_does_not_exclude_what_it_covers():
    """What is learned about neighbours, and what they are sent, is in its sum of epsilons."""
    parts = (
        cards.joint_card(setting()),
        cards.forwarded_context_card(Agreement(2, 2, 1.0), asks_all=True),
        cards.neighbour_trust_card(TrustSettings()),
    )
    assert any("its own card" in line for line in parts[0].not_covered)
    whole = cards.forwarded_visit_card(parts, epsilon=2.1)
    assert not any("its own card" in line for line in whole.not_covered)
    assert set(parts[2].not_covered) <= set(whole.not_covered)
