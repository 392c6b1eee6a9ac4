"""Settings of the guarantee cards, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design import option
from tacit.designs.sketches.messages import METHODS, UNITS
from tacit.errors import ConfigError


@dataclass(frozen=True)
class CardSettings:
    """Choices that the cards depend on. Cards depend neither on the catalogue nor on theta.

    Raises:
        ConfigError: No campaign has this method, or none has this unit.
    """

    epsilon: float = option("Epsilon of one report, for the unit.")
    method: str = option(
        f"A campaign's method: {', '.join(METHODS)}; maxsense is multi-maxsense with 1 question.",
        default="multi-maxsense",
    )
    questions: int = option("Bits of a report.", default=1, least=1)
    rated: int = option("Most likes that a device uses for unit user.", default=50, least=1)
    unit: str = option("What epsilon is for: user, rating or moved rating.", default="user")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"--method is one of {', '.join(METHODS)}; got '{self.method}'.")
        if self.unit not in UNITS:
            raise ConfigError(f"--unit is one of {', '.join(UNITS)}; got '{self.unit}'.")
