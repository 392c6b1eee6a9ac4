"""The sketches as the registry knows them."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design import Design, Served, option
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """What the cards depend on: neither the number of items nor the size of sets."""

    epsilon: float = option("Epsilon of one report, for the unit.")
    method: str = option(
        "multi-maxsense (maxsense has 1 question), pairwise-preference or pairwise-rated.",
        default="multi-maxsense",
    )
    questions: int = option("Bits of a report.", default=1, least=1)
    rated: int = option("Likes that a device uses.", default=50, least=1)
    unit: str = option("user, rating or moved rating.", default="user")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of one report of a campaign with these settings."""
    from tacit.designs.sketches import cards as cards_of
    from tacit.designs.sketches import new_campaign
    from tacit.designs.sketches.messages import METHODS, UNITS

    checked = (("--method", settings.method, METHODS), ("--unit", settings.unit, UNITS))
    for name, given, known in checked:
        if given not in known:
            raise ConfigError(f"{name} is one of {', '.join(known)}; got '{given}'.")
    campaign = new_campaign(
        range(max(2, settings.questions, settings.rated)),
        rated=settings.rated,
        epsilon=settings.epsilon,
        method=settings.method,
        theta=1e-6,
        questions=settings.questions,
        unit=settings.unit,
    )
    return cards_of(campaign)


DESIGN = Design(
    "sketches",
    "Sketches",
    "Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines (2012)",
    {},
    CardSettings,
    cards,
    "tacit device explain  shows what is sent, byte by byte.",
    {
        "audit": "audit.bench:audit",
        "plan": "commands:PLAN",
        "simulate": "commands:SIMULATE",
        "evaluate": "experiment.commands:EVALUATE",
        "tour": "experiment.tour:tour",
        "compare": "experiment.contenders:contenders",
        "reproduce": "reproduce:ITEMS",
    },
    "Works from about a million people at epsilon 1, and on MovieLens 100K a list of "
    "popular items was better however many there were. tacit plan sketches says how many "
    "yours takes.",
    served=(
        Served(
            "campaigns",
            "serve.campaigns:ServedCampaign",
            "serve.resources:router",
            "serve.demo:make_demo",
            counts_names=True,
        ),
    ),
)
