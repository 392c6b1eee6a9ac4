"""What the command line says of p-REC's promise."""

from __future__ import annotations

import json

import pytest

from tacit.cli.app import main


def cards(capsys, words: str):
    assert main([*f"guarantee prec {words}".split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["guarantees"]


def test_the_sound_card_has_the_epsilon_that_was_asked_for(capsys):
    """And it is about a voter's whole history."""
    (card,) = cards(capsys, "--epsilon 1 --rounds 100 --voters 500")
    assert 0.99 < card["epsilon"] <= 1
    assert 0 < card["delta"] <= 1e-6
    assert card["adjacency"]["unit"] == "vote history"


def test_clients_together_share_an_epsilon(capsys):
    """One card for one client, with half of it, and one for both."""
    one, both = cards(capsys, "--epsilon 1 --rounds 100 --voters 2000 --clients 2")
    assert one["epsilon"] == pytest.approx(both["epsilon"] / 2)


def test_the_published_card_is_conditional(capsys):
    """What the paper promises with peers, and the client who has none."""
    (card,) = cards(capsys, "--variant published --peers 100 --rounds 20 --voters 500")
    assert card["basis"] == "conditional"
    assert card["epsilon"] == pytest.approx(2.157, abs=1e-3)
    assert card["claims"]


def test_without_epsilon_or_peers_there_is_nothing_to_promise(capsys):
    """Refused, with an example."""
    assert main(["guarantee", "prec"]) == 2
    assert "--epsilon, such as 1" in capsys.readouterr().err
