"""The design `private` as the registry knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, option
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    epsilon: float = option("Epsilon for a person's whole profile; inf: no privacy.")
    delta: float = option("Probability that the bound of epsilon fails.", default=1e-6)


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of one fit whose catalogue and scale are public."""
    from tacit.designs.private import guarantees
    from tacit.designs.private.settings import Settings

    return (guarantees.card(Settings(epsilon=settings.epsilon, delta=settings.delta)),)


def useful(model: Any) -> str:
    return str(model.summary())


DESIGN = Design(
    "private",
    "Private lists",
    "tacit: noisy sums over people (docs/private.md)",
    {"private": "Private"},
    CardSettings,
    cards,
    "tacit plan private --help  says how many people it takes.",
    {
        "audit": "audit:audit",
        "fit": "commands:FIT",
        "evaluate": "commands:EVALUATE",
        "plan": "commands:PLAN",
        "tour": "experiment:tour",
        "compare": "experiment:contenders",
        "useful": "design:useful",
    },
    "Works from about 1,900 people at epsilon 1 and 1,700 items; with fewer, a list of popular "
    "items may be better. tacit plan private says how many yours takes.",
)
