"""X-Map as the registry knows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
    from tacit.designs.xmap import XMap, guarantees, sound

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
    return (guarantees.sound(sound.card(epsilon, delta), epsilon),)


def useful(model: Any) -> str:
    """Of the sound variant, by released numbers alone."""
    said: str = DESIGN.works_from if model.sound_ is None else model.sound_.summary()
    return said


DESIGN = Design(
    "xmap",
    "X-Map",
    "Guerraoui and others: What you might like to read after watching Interstellar (2017)",
    {"xmap": "XMap", "x-map": "XMap"},
    CardSettings,
    cards,
    "tacit evaluate xmap RATINGS --domain-column D --source S --target T  measures what it costs.",
    {
        "audit": "audit.bench:audit",
        "fit": "commands:FIT",
        "evaluate": "experiment.commands:EVALUATE",
        "models": "serve.demo:make_demo",
        "tour": "experiment.tour:tour",
        "compare": "experiment.contenders:contenders",
        "reproduce": "reproduce:ITEMS",
        "useful": "design:useful",
    },
    "Works from about 1,400 people with both domains at epsilon 1 and 1,700 items; with fewer, a "
    "list of popular items is better. tacit plan private --across says how many yours takes.",
)
