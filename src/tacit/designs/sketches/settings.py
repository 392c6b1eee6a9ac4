"""Settings of the guarantee cards, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design import option
from tacit.designs.sketches.messages import METHODS, UNITS
from tacit.errors import ConfigError


@dataclass(frozen=True)
class CardSettings:
    """Choices that the cards depend on: neither the number of items nor the size of sets.

    Raises:
        ConfigError: a method or a unit that no campaign has.
    """

    epsilon: float = option("Epsilon of one report, for the unit.")
    method: str = option(
        f"A campaign's method: {', '.join(METHODS)}; maxsense is multi-maxsense with 1 question.",
        default="multi-maxsense",
    )
    questions: int = option("Bits of a report.", default=1, least=1)
    rated: int = option("Likes that a device uses.", default=50, least=1)
    unit: str = option("user, rating or moved rating.", default="user")

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("--method", self.method, METHODS),
            ("--unit", self.unit, UNITS),
        ):
            if value not in allowed:
                raise ConfigError(f"{name} is one of {', '.join(allowed)}; got '{value}'.")
