"""The conformance suite for designs."""

from __future__ import annotations

from tacit.design import Command, Design, options_of
from tacit.mechanisms.guarantees import NAMES as MECHANISMS

COMMANDS = ("fit", "evaluate", "attack", "plan", "simulate", "replay")
"""Parts of a design that are a `Command`."""


class DesignConformance:
    """Tests of a design. Subclass this class, and write `make`."""

    def make(self) -> Design:
        """Return the design."""
        raise NotImplementedError

    def test_cards_come_before_fitting(self) -> None:
        """`cards` returns cards for default settings, with epsilon 1 if there is an epsilon."""
        design = self.make()
        if "epsilon" in options_of(design.card_settings):
            settings = design.card_settings(epsilon=1.0)
        else:
            settings = design.card_settings()
        cards = design.cards(settings)
        assert cards, "a design states at least one guarantee, or that there is none"
        assert all(card.sentence for card in cards), "every card begins with a sentence"

    def test_audit_has_claims_and_planted_bugs(self) -> None:
        """The design's audit has at least one claim, and at least one planted bug to find."""
        plan = self.make().part("audit")()
        assert sum(map(len, plan.claims.values())) >= 1, "an audit tests at least one claim"
        assert len(plan.bugs) >= 1, "an audit that finds no planted bug shows nothing"

    def test_evaluate_or_simulate_is_a_part(self) -> None:
        """The design has a part `evaluate` (on real data) or `simulate` (on generated data)."""
        assert {"evaluate", "simulate"} & set(self.make().parts), "add evaluate or simulate"

    def test_commands_are_made_from_settings(self) -> None:
        """Each command has frozen settings with options, and a function with a docstring."""
        design = self.make()
        for part in [part for part in COMMANDS if part in design.parts]:
            command = design.part(part)
            assert isinstance(command, Command), f"{part} names a Command"
            assert options_of(command.settings), f"{part} has at least one option"
            is_frozen = command.settings.__dataclass_params__.frozen
            assert is_frozen, f"the settings of {part} are a frozen dataclass"
            assert command.run.__doc__, f"{part} says what it does in a docstring"

    def test_no_mechanism_has_its_name(self) -> None:
        """No mechanism has the design's name, since `tacit audit NAME` takes names of both."""
        assert self.make().name not in MECHANISMS, "choose a name that no mechanism has"
