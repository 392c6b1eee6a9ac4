"""Every design has a card, an audit with planted bugs, an experiment, commands, a docs page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.design import Command, design, names, options_of
from tacit.mechanisms.guarantees import NAMES as MECHANISMS

DOCS = Path(__file__).parents[1] / "docs"
WORKING = ("fit", "evaluate", "attack", "plan", "simulate", "replay")
EXPERIMENTS = ("evaluate", "simulate")


@pytest.mark.parametrize("name", names())
def test_a_design_has_a_card(name):
    """Of settings that nobody chose but for epsilon, before anything is fitted."""
    found = design(name)
    given = {"epsilon": 1.0} if "epsilon" in options_of(found.card_settings) else {}
    cards = found.cards(found.card_settings(**given))
    assert cards
    assert all(card.sentence for card in cards)


@pytest.mark.parametrize("name", names())
def test_a_design_has_an_audit_with_planted_bugs(name):
    """Lines with a claim each, and bugs that the bench has to catch."""
    bench = design(name).part("audit")()
    assert sum(map(len, bench.lines.values())) >= 1
    assert len(bench.bugs) >= 1


@pytest.mark.parametrize("name", names())
def test_a_design_has_an_experiment(name):
    """Measured on data, generated or real."""
    assert any(part in design(name).parts for part in EXPERIMENTS)


@pytest.mark.parametrize("name", names())
def test_commands_are_made_from_settings(name):
    """Frozen settings whose fields are options, and a function that says what it does."""
    parts = [part for part in WORKING if part in design(name).parts]
    for part in parts:
        command = design(name).part(part)
        assert isinstance(command, Command)
        assert options_of(command.settings)
        assert command.settings.__dataclass_params__.frozen
        assert command.run.__doc__


@pytest.mark.parametrize("name", names())
def test_a_design_has_a_page_of_the_documentation(name):
    """Named as the design is."""
    assert (DOCS / f"{name}.md").exists()


def test_no_design_is_called_like_a_mechanism():
    """`tacit guarantee NAME` and `tacit audit NAME` know both."""
    assert not set(names()) & set(MECHANISMS)
