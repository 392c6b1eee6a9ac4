"""The entry of P-DAP in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, ServedSection, option
from tacit.design.people_needed import people_needed
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """Options of the cards, which are for 4 vendors, 20 videos each, 2 features, 200,000 visits."""

    epsilon: float = option("Epsilon of one visit.")
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Return the cards of one variant, for the sizes that `CardSettings` names.

    Raises:
        ConfigError: The variant is neither "sound" nor "published".
    """
    from tacit.designs.pdap import guarantees, published_guarantees

    if settings.variant not in ("sound", "published"):
        raise ConfigError(f"--variant is sound or published; got '{settings.variant}'.")
    if settings.variant == "published":
        return published_guarantees.example_cards(settings.epsilon)
    return guarantees.example_cards(settings.epsilon)


def contenders(*_: Any) -> str:
    """Return the reason why `tacit compare` leaves P-DAP out."""
    return "it learns from visits with rewards, not from ratings: tacit simulate pdap"


DESIGN = Design(
    "pdap",
    "P-DAP",
    "Zhou, Zhou, Wu, Jin: Differentially private online learning for video recommendation (2015)",
    {},
    CardSettings,
    cards,
    "tacit audit pdap  looks for violations of it.",
    {
        "audit": "audit.plan:audit",
        "simulate": "experiment.commands:SIMULATE",
        "replay": "commands:REPLAY",
        "tour": "experiment.tour:tour",
        "compare": "design:contenders",
        "reproduce": "paper_results:RESULTS",
    },
    people_needed("pdap").works_from,
    served=(
        ServedSection(
            "vendors",
            "serve.served_vendor:ServedVendor",
            "serve.routes:router",
            "serve.demo:make_demo",
            counts_names=True,
        ),
    ),
)
