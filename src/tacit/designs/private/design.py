"""The design `private` as the registry knows it."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design import Design, option
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """What the cards depend on."""

    epsilon: float = option("For a person's whole profile; inf: no privacy.")
    delta: float = option("A chance.", default=1e-6)


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of one fit whose catalogue and scale are public."""
    from tacit.designs.private import Settings, guarantees

    return (guarantees.card(Settings(epsilon=settings.epsilon, delta=settings.delta)),)


DESIGN = Design(
    "private",
    "Private lists",
    "tacit: noisy sums over people (docs/private.md)",
    {"private": "Private"},
    CardSettings,
    cards,
    "tacit plan private --help  says how many people it takes.",
)
