"""Cards of the published policies: refuted, with figures that come from the formulas."""

from __future__ import annotations

import json
import math
import re

import pytest

from tacit.designs.pdap import published_guarantees as guarantees
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError
from tacit.privacy import Basis
from tests.support.seen import require_any

SETTING = Setting(videos=20, neighbours=3, dimension=2, horizon=200_000)


def text(cards) -> str:
    return json.dumps([card.to_dict() for card in cards])


@pytest.mark.parametrize("name", ["cap", "dup", "dap"])
def test_without_privacy_there_is_no_epsilon(name):
    """CAP, DUP and DAP protect nobody, whatever epsilon is asked about."""
    (card,) = guarantees.cards_of_policy(name, SETTING, epsilon=1.0)
    assert (card.basis, card.epsilon, card.protects) == (Basis.NONE, None, "nobody")
    assert name.upper() in card.name


@pytest.mark.parametrize("name", ["p-dap", "gp-dap"])
def test_published_policies_are_refuted(name):
    """Both halves have a card, neither has an epsilon, and every claim has its evidence."""
    cards = guarantees.cards_of_policy(name, SETTING, epsilon=0.1)
    assert [card.basis for card in cards] == [Basis.REFUTED] * 2
    assert [str(card.adjacency) for card in cards] == [
        "replace one attribute value",
        "replace one reward",
    ]
    for card in cards:
        assert card.epsilon is None
        assert all(claim.evidence for claim in card.claims)


def test_figures_of_the_own_users_card():
    """Exact losses of a draw, of a past reward, and what privacy in the context would cost."""
    card = text(guarantees.cards_of_policy("p-dap", SETTING, epsilon=0.1)[:1])
    for figure in (
        "0.4 at level 3",
        "1.6 at level 5",
        "12.33",
        "1.328",
        "8.603",
        "0.4975",
        "0.475",
    ):
        assert figure in card
    assert card.count("epsilon infinite") == 3


def test_figures_of_the_forwarded_card():
    """Losses of the tree and all readings of the noise."""
    card = text(guarantees.cards_of_policy("p-dap", SETTING, epsilon=0.1)[1:])
    for figure in ("2 at T = 2", "1.5 at T = 4", "1.33 at T = 8", "1.1 at T = 1,024", "line 9"):
        assert figure in card
    assert "a video shown 100 times: 10 for the claimed 0.1" in card


def test_line_9_has_no_tree():
    """There a reward has the loss of one Laplace draw, 1 / scale; elsewhere that of a tree."""
    card = guarantees.cards_of_policy("p-dap", SETTING, epsilon=0.1)[1]
    evidence = [line for claim in card.claims for line in claim.evidence if "a reward" in line]
    products = {
        name: float(scale) * float(loss)
        for name, scale, loss in re.findall(
            r"([\w -]+): scale ([\d.e+-]+), ([\d.e+-]+) a reward", "; ".join(evidence)
        )
    }
    assert products.pop(" line 9") == pytest.approx(1, rel=1e-3)
    assert len(products) > 2
    assert min(products.values()) > 1.01


def test_gp_dap_says_what_it_spends():
    """The three settings, and the same figures on both halves."""
    for card in require_any(guarantees.cards_of_policy("gp-dap", SETTING, epsilon=0.01)):
        assert all(figure in text([card]) for figure in ("1.28", "5.12", "81.9", "671089"))


def test_card_follows_its_setting():
    """A level deeper, a larger loss: figures of this setting are computed for it."""
    losses = []
    for split_after in (100_000, 10):
        changed = Setting(
            videos=20, neighbours=3, dimension=2, horizon=200_000, split_after=split_after
        )
        losses.append(
            guarantees.cards_of_policy("p-dap", changed, epsilon=0.1)[0].claims[0].evidence[2]
        )
    assert "level 2 at most" in losses[0]
    assert "level 6 at most" in losses[1]


def test_without_noise_the_card_says_so():
    """At epsilon = inf there is one card, that of the twin without noise."""
    (card,) = guarantees.cards_of_policy("p-dap", SETTING, epsilon=math.inf)
    assert card.basis is Basis.NONE


def test_vendor_without_neighbours_has_one_card():
    """Nobody forwards to a vendor on its own."""
    alone = Setting(videos=20, neighbours=0, dimension=2, horizon=1000)
    assert len(guarantees.cards_of_policy("gp-dap", alone, epsilon=1.0)) == 1


def test_unknown_policy_is_refused():
    """A name that has no card is an error."""
    with pytest.raises(ConfigError):
        guarantees.cards_of_policy("ucb", SETTING)
