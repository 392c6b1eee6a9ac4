"""X-Map as the registry knows it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.design import Design, option
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """What the cards depend on."""

    epsilon: float = option("For a person's whole profile; inf: no privacy.")
    delta: float = option("A chance.", default=1e-6)
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of the sound variant. The published one counts what a fitted model has drawn: ConfigError."""
    from tacit.designs.xmap import XMap, guarantees

    if settings.variant != "sound":
        raise ConfigError(
            f"The card of the {settings.variant} variant counts what a fitted model has drawn. "
            f"Run  tacit fit xmap RATINGS --variant {settings.variant} -o m.tacit  and then  "
            "tacit guarantee m.tacit"
        )
    epsilon, delta = settings.epsilon, settings.delta
    XMap(target="any", epsilon=epsilon, delta=delta)  # refuses what it could not be fitted with
    if math.isinf(epsilon):
        return (guarantees.without_noise(settings.variant),)
    return (guarantees.sound(epsilon=epsilon, delta=delta),)


DESIGN = Design(
    "xmap",
    "X-Map",
    "Guerraoui and others: What you might like to read after watching Interstellar (2017)",
    {"xmap": "XMap", "x-map": "XMap"},
    CardSettings,
    cards,
    "tacit evaluate xmap RATINGS --domain-column D --source S --target T  measures what it costs.",
)
