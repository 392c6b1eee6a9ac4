"""The suite for designs."""

from __future__ import annotations

from tacit.design import Command, Design, options_of
from tacit.mechanisms.guarantees import NAMES as MECHANISMS

COMMANDS = ("fit", "evaluate", "attack", "plan", "simulate", "replay")
"""Parts of a design that are a `Command`."""


class DesignConformance:
    """Subclass it and write `make`, which gives the `Design`."""

    def make(self) -> Design:
        """Return the design."""
        raise NotImplementedError

    def test_it_has_a_card(self) -> None:
        """Cards exist for default settings with an epsilon, before anything is fitted."""
        found = self.make()
        given = {"epsilon": 1.0} if "epsilon" in options_of(found.card_settings) else {}
        cards = found.cards(found.card_settings(**given))
        assert cards, "a design states at least one guarantee, or that there is none"
        assert all(card.sentence for card in cards), "every card begins with a sentence"

    def test_it_has_an_audit_with_planted_bugs(self) -> None:
        """An audit has claims, and bugs that it has to catch."""
        plan = self.make().part("audit")()
        assert sum(map(len, plan.claims.values())) >= 1, "an audit tests at least one claim"
        assert len(plan.bugs) >= 1, "an audit that finds no planted bug shows nothing"

    def test_it_has_an_experiment(self) -> None:
        """Measured on data, generated or real."""
        assert {"evaluate", "simulate"} & set(self.make().parts), "add evaluate or simulate"

    def test_commands_are_made_from_settings(self) -> None:
        """Frozen settings whose fields are options, and a function that says what it does."""
        found = self.make()
        for part in [part for part in COMMANDS if part in found.parts]:
            command = found.part(part)
            assert isinstance(command, Command), f"{part} names a Command"
            assert options_of(command.settings), f"{part} has at least one option"
            frozen = command.settings.__dataclass_params__.frozen
            assert frozen, f"the settings of {part} are a frozen dataclass"
            assert command.run.__doc__, f"{part} says what it does in a docstring"

    def test_it_is_not_called_like_a_mechanism(self) -> None:
        """`tacit guarantee NAME` and `tacit audit NAME` know both."""
        assert self.make().name not in MECHANISMS
