"""Noisy top as the registry knows it."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design import Design, option
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class Settings:
    """Of the card, of `tacit fit noisy-top` and of `tacit evaluate noisy-top`."""

    epsilon: float = option("Nats for a person's whole profile.", default=1.0)
    most: int = option("Likes of a person that count.", default=10, least=1)


def cards(settings: Settings) -> tuple[Guarantee, ...]:
    """Of a fit with these settings."""
    from noisy_top.model import NoisyTop, card

    return (card(NoisyTop(epsilon=settings.epsilon, most=settings.most)),)


DESIGN = Design(
    "noisy-top",
    "Noisy top",
    "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (2006)",
    {"noisy-top": "NoisyTop"},
    Settings,
    cards,
    "tacit audit noisy-top --planted  looks for violations of it.",
    {"audit": "audit:audit"},
)
