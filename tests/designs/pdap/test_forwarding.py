"""A context is randomised once, at home, and costs what is stated, however many see it."""

from __future__ import annotations

import copy
import itertools
import math
import os

import numpy as np
import pytest
from scipy.stats import beta

from tacit import randomness
from tacit.designs.pdap.forwarding import CLEAR_SLICES, Agreement, Forwarder
from tacit.designs.pdap.guarantees import forwarded_context_card
from tacit.designs.pdap.messages import NO_NOISE
from tacit.errors import ConfigError

HERE, THERE = np.array([0.1, 0.2]), np.array([0.9, 0.8])


def forwarder(epsilon=1.0, features=2, slices=2, **options):
    source = options.pop("randomness", randomness.secure())
    return Forwarder(Agreement(features, slices, epsilon), randomness=source, **options)


def test_the_exact_loss_of_a_forward_is_at_most_epsilon():
    """Chances of every answer for every two cells are within e^epsilon, and one pair reaches it."""
    made = forwarder(0.7)
    truth = made.event.truth
    lie = (1 - truth) / 3
    chances = [[truth if cell == told else lie for told in range(4)] for cell in range(4)]
    losses = [
        abs(math.log(chances[one][told] / chances[other][told]))
        for one, other, told in itertools.product(range(4), repeat=3)
    ]
    assert max(losses) <= 0.7
    assert max(losses) == pytest.approx(0.7)
    assert max(losses) <= made.visit_epsilon == pytest.approx(0.7)


def test_measured_loss_stays_below_the_claim():
    """Of 20,000 forwards of each of two contexts, no answer shows a loss above epsilon."""
    with randomness.simulation():
        made = forwarder(0.5, randomness=randomness.replay(1))
        told = [[made.forward(where).places for _ in range(20_000)] for where in (HERE, THERE)]
    for places in {*told[0], *told[1]}:
        one, other = (group.count(places) for group in told)
        low = beta.ppf(0.005, one, 20_001 - one)
        high = beta.ppf(0.995, other + 1, 20_000 - other)
        assert math.log(low / high) <= 0.5


def test_features_keep_their_order():
    """Without noise each feature is told in its own slice."""
    made = forwarder(math.inf, features=3, slices=4)
    assert made.forward(np.array([0.0, 0.3, 1.0])).places == (0, 1, 3)


def test_a_randomised_cell_is_read_back_feature_by_feature():
    """With hardly any noise every cell of an uneven grid comes back as it was."""
    made = forwarder(40.0, features=3, slices=3)
    for places in itertools.product(range(3), repeat=3):
        context = (np.array(places) + 0.5) / 3
        assert made.forward(context).places == places


def test_no_request_has_the_number_of_another():
    """Numbers of requests do not repeat, so they name nobody."""
    made = forwarder()
    numbers = {made.forward(HERE).request for _ in range(1000)}
    assert len(numbers) == 1000


def test_nothing_told_costs_nothing():
    """An agreement without features forwards no place, at epsilon 0."""
    made = forwarder(1.0, features=0)
    assert made.forward(HERE).places == ()
    assert made.visit_epsilon == 0.0


def test_in_the_clear_nothing_holds():
    """A context without noise says so in its message, and its loss is infinite."""
    made = forwarder(math.inf, slices=CLEAR_SLICES)
    message = made.forward(HERE)
    assert math.isinf(made.visit_epsilon)
    assert np.allclose(message.context(), HERE, atol=1e-4)
    assert made.agreement.agrees(message)
    assert not Agreement(2, 2, 1.0).agrees(message)


def test_the_card_states_what_a_forward_costs():
    """The card's epsilon is the exact loss, and a lifetime of five visits five times as much."""
    card = forwarded_context_card(Agreement(2, 2, 1.0), visits=5)
    assert card.epsilon == forwarder(1.0).visit_epsilon
    assert card.lifetime_epsilon == pytest.approx(5.0)
    assert forwarded_context_card(Agreement(2, 2, 1.0)).lifetime_epsilon is None
    with pytest.raises(ConfigError):
        forwarded_context_card(Agreement(2, 2, math.inf))


def test_the_card_of_a_chosen_neighbour_is_for_the_content_alone():
    """Where the cell decides who is asked, the card says so in its sentence."""
    chosen, every = (
        forwarded_context_card(Agreement(2, 2, 1.0), asks_all=asks) for asks in (False, True)
    )
    assert chosen.sentence.startswith("Given that a request is made")
    assert "no epsilon covers that" in chosen.sentence
    assert any("that a request was made" in text for text in chosen.not_covered)
    assert every.sentence.startswith("What all other vendors see together")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: forwarder(features=21), "fewer features or fewer slices"),
        (lambda: forwarder(4294.967295), "above 4294.967294 protects nobody"),
        (lambda: forwarder(4294.9672945), "above 4294.967294 protects nobody"),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    """Settings that promise nothing are refused in a sentence."""
    with pytest.raises(ConfigError, match=said):
        make()
    assert forwarder(4294.9).agreement.epsilon == 4294.9
    assert forwarder(4294.967294).agreement.epsilon_in_millionths == NO_NOISE - 1


def test_a_forked_process_draws_its_own_numbers(monkeypatch):
    """Numbers that were drawn ahead are not used twice, by a parent and by its child."""
    made = forwarder()
    made.forward(HERE)
    child = copy.copy(made)
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        number = child.forward(HERE).request
    assert number != made.forward(HERE).request
