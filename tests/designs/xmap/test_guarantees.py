"""Cards: what they say, and that their figures are those of the counter-examples."""

from __future__ import annotations

import json
import math

import pytest

from tacit.designs.xmap import XMap, guarantees
from tacit.designs.xmap.design import CardSettings, cards
from tacit.designs.xmap.guarantees import card_of_sound
from tacit.errors import ConfigError
from tacit.privacy import Basis


@pytest.mark.parametrize(
    ("people", "ratio"), [(10, 0.862), (30, 3.63), (60, 8.11), (100, 14.1), (300, 44.1)]
)
def test_neighbour_selection_tells_one_person(people, ratio):
    """The exact log ratio for a claim of .4 grows with the number of people: no epsilon holds."""
    assert guarantees.selection_loss(people) == pytest.approx(ratio, rel=2e-3)


def test_constant_sensitivity_tells_little():
    """The same instance with the range as sensitivity is far below the claim."""
    assert guarantees.selection_loss(60, 2.0) < 0.01


def test_noise_of_two_scales():
    """One person makes the noise several times as wide."""
    wide, narrow = guarantees.noise_scales(10)
    assert wide > 2 * narrow


def test_published_card_is_refuted():
    """No epsilon, every theorem with its verdict, and figures that come from the formulas."""
    card = guarantees.card_of_published(epsilon=0.3, epsilon_prime=0.8, k=50, images=165)
    assert card.basis is Basis.REFUTED
    assert card.epsilon is None
    evidence = json.dumps(card.to_dict())
    for figure in ("0.897", "49.5", "0.581", "0.745", "0.862", "8.11", "7102", " 20"):
        assert figure in evidence


def test_published_card_follows_its_model():
    """Twice as many images, twice the nats."""
    first, second = (
        guarantees.card_of_published(epsilon=1.0, epsilon_prime=0.8, k=10, images=n)
        .claims[0]
        .evidence[1]
        for n in (100, 200)
    )
    assert "100 nats" in first
    assert "200 nats" in second


@pytest.mark.parametrize(("epsilon", "epsilon_prime"), [(math.inf, 0.8), (0.3, math.inf)])
def test_published_card_of_a_step_without_noise(epsilon, epsilon_prime):
    """A step at epsilon = inf is said to be without noise; no infinite figure is printed."""
    card = guarantees.card_of_published(
        epsilon=epsilon, epsilon_prime=epsilon_prime, k=50, images=165
    )
    evidence = json.dumps(card.to_dict())
    assert evidence.count("without noise: no epsilon") == 1
    assert "inf-differentially" not in evidence
    assert "inf nats" not in evidence
    assert "= inf" not in evidence


def test_sound_card_says_whose_view():
    """User-level, proved, and her own list is not covered."""
    card = card_of_sound(1.0, 1e-6)
    assert (card.basis, card.epsilon, card.delta) == (Basis.PROVED, 1.0, 1e-6)
    assert str(card.adjacency) == "add or remove one user"
    assert any("own list" in line for line in card.not_covered)


def test_sound_card_states_no_less_than_was_spent():
    """Planted: a fit whose events come to more than was asked for has them on its card."""
    assert card_of_sound(1.0, 1e-6, card_of_sound(2.0, 1e-6)).epsilon == pytest.approx(2.0)


def test_a_fit_without_noise_counts_in_later_cards(world):
    """After a fit without noise, the card of a fit with noise says that nobody is protected."""
    model = XMap(source="books", target="films", epsilon=math.inf).fit(world)
    model.epsilon = 1.0
    (card,) = model.fit(world).guarantees()
    assert card.basis is Basis.NONE
    assert card.epsilon is None
    assert card.delta is None
    assert card.name.startswith("X-Map (sound)")
    assert "Nobody is protected" in card.sentence


@pytest.mark.parametrize(
    ("variant", "message"), [("published", "fitted model"), ("sond", "The variant is")]
)
def test_only_the_sound_card_needs_no_fit(variant, message):
    """A card before a fit is refused for the published variant, and for a name of no variant."""
    with pytest.raises(ConfigError, match=message):
        cards(CardSettings(epsilon=1.0, variant=variant))
