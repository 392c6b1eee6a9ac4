"""The cards: what is stated is what the plan costs, and the paper's promise is called one."""

from __future__ import annotations

import json
import math
import re

import pytest

from tacit.designs.prec import PRec, PRecSettings, cards
from tacit.designs.prec.guarantees import log_ratios_without_peers
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.privacy import Basis
from tacit.randomness import replay, simulation
from tests.support.seen import require_any

SOUND = PRecSettings(100, 2, 300, epsilon=4.0, clients_together=2, clients=3, delta=1e-5)


def test_one_card_for_each_number_of_clients() -> None:
    """One, those priced together, and all: epsilon and delta add up."""
    one, two, three = cards(SOUND)
    assert two.epsilon == pytest.approx(4.0, rel=1e-9)
    assert two.epsilon is not None
    assert two.epsilon <= 4.0
    assert [one.epsilon, three.epsilon] == pytest.approx([2.0, 6.0], rel=1e-9)
    assert two.delta is not None
    assert two.delta <= 1e-5
    assert three.delta == pytest.approx(3 * SOUND.plan.delta)


def test_a_bounded_number_of_clients_has_a_lifetime() -> None:
    """The card for all runs that ever begin says so; without a bound nothing does."""
    assert cards(SOUND)[2].lifetime_epsilon == cards(SOUND)[2].epsilon
    assert cards(PRecSettings(100, 2, 300, epsilon=4.0))[0].lifetime_epsilon is None


@pytest.mark.parametrize(
    ("wanted", "basis"),
    [
        (PRecSettings(100, 2, 300, epsilon=4.0), Basis.PROVED),
        (PRecSettings(100, 5, 3000, epsilon=9.0), Basis.PROVED),
        (PRecSettings(100, 2, 300, peers=40, variant="published"), Basis.CONDITIONAL),
        (PRecSettings(100, 2, 300, epsilon=math.inf), Basis.NONE),
    ],
)
def test_the_basis_is_what_it_rests_on(wanted: PRecSettings, basis: Basis) -> None:
    """Proved, on a promise, or on nothing; and every card can be written as JSON.

    The sum of the gate's epsilon and that of the rounds is an upper bound, also where the rounds
    alone are exact.
    """
    for card in require_any(cards(wanted)):
        assert card.basis is basis
        json.dumps(card.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "wanted",
    [
        PRecSettings(10**6, 3, 200, peers=68, radius=3, clients_together=2),
        PRecSettings(1000, 2, 200, peers=13),
        PRecSettings(1000, 2, 300, peers=17, clients=7),
        PRecSettings(1000, 2, 200, peers=13, variant="published"),
        PRecSettings(777, 2, 200, peers=31, variant="published"),
    ],
)
def test_sentences_promise_no_more_than_the_card(wanted: PRecSettings) -> None:
    """Epsilon and delta in the sentence are not below those of the card."""
    for card in require_any(cards(wanted)):
        if card.basis is Basis.PROVED:
            found = re.search(r"is \((\S+), (\S+)\)-differentially private", card.sentence)
            assert found is not None
            epsilon, delta = map(float, found.groups())
        else:
            found = re.search(r"is (\S+)-differentially private", card.sentence)
            assert found is not None
            epsilon, delta = float(found[1]), 0.0
        assert card.epsilon is not None
        assert card.delta is not None
        assert card.epsilon <= epsilon <= card.epsilon * 1.001
        assert card.delta <= delta <= card.delta * 1.01


def test_parts_on_the_card_are_not_below_those_of_the_plan() -> None:
    """The gate's epsilon, that of the rounds, and what each further client adds."""
    wanted = PRecSettings(1000, 2, 200, peers=13)
    (card,) = cards(wanted)
    shown = [float(found) for found in re.findall(r"\d+\.\d+(?:e-\d+)?", card.assumptions[1])]
    assert len(shown) == 2
    assert shown[0] >= wanted.plan.gate_epsilon
    assert shown[1] >= wanted.plan.rounds_epsilon
    added = re.search(r"adds epsilon (\S+) and delta (\S+);", card.lifetime)
    assert added is not None
    assert float(added[1]) >= wanted.plan.epsilon
    assert float(added[2]) >= wanted.plan.delta


def test_the_published_card_names_what_else_breaks_its_promise() -> None:
    """Peers who abstain, and answers that are missing."""
    (card,) = cards(PRecSettings(100, 2, 300, peers=40, variant="published"))
    assert any("abstain" in text for text in card.assumptions)
    assert any("missing answer" in text for text in card.assumptions)


def test_sound_cards_ask_for_no_peers() -> None:
    """What only the client's answers decide is not among the assumptions."""
    for card in require_any(cards(SOUND)):
        assert not any("voted for" in text or "likes" in text for text in card.assumptions)


def test_the_counter_example_is_computed() -> None:
    """Claimed 2.157 for 100 peers; a client without peers finds 13.52 and 67.7."""
    (card,) = cards(PRecSettings(20, 2, 200, peers=100, variant="published"))
    assert card.epsilon == pytest.approx(2.157, abs=5e-4)
    same, other = log_ratios_without_peers(OutputDistribution(20, 2), 20)
    assert (same, other) == (pytest.approx(13.52, abs=0.01), pytest.approx(67.7, abs=0.02))
    assert f"{same:.4g}" in card.claims[0].evidence[0]


def test_the_counter_example_is_what_the_rounds_add_up_to() -> None:
    """ln(m (1 - gamma) + gamma) a round, and ln(1 / gamma) in the other direction."""
    law = OutputDistribution(50, 4, 1)
    gamma = float(law.gamma)
    same, other = log_ratios_without_peers(law, 50)
    assert same == pytest.approx(50 * math.log(4 * (1 - gamma) + gamma))
    assert other == pytest.approx(-50 * math.log(gamma))


def test_replayed_draws_protect_nobody() -> None:
    """A simulation's curator does not show a card that only holds for secure draws."""
    with simulation():
        server = PRec(SOUND, randomness=replay(1))
        assert [card.basis for card in server.guarantees()] == [Basis.NONE]
