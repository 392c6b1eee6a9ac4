"""The sketches as the registry knows them."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design import Design, PaperResult, Served, option
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


def _bound(item: str, reason: str, options: str = "") -> PaperResult:
    command = f"tacit plan sketches --items 1682 --rated 50 --epsilon 1 --json{options}"
    return PaperResult(item, "bound", command, reason)


def _measured(item: str, options: str, reason: str) -> PaperResult:
    return PaperResult(item, "measured", f"tacit simulate sketches {options}", reason)


ITEMS = (
    PaperResult(
        *("Propositions 2.2 to 2.4, Lemma 2.5", "exact", "tacit audit sketches"),
        "composition and privacy of reports, by enumeration",
    ),
    _bound("Lemma 3.1, Theorem 3.3", "least number of people"),
    _measured(
        "Figure 1, Theorem 3.5",
        "--items 60 --rated 20 --people 10000,100000,1000000 --likes 0.9,0.1 "
        "--method pairwise-preference,pairwise-rated",
        "pairwise preferences, ratings private and rated items public: labels right by population",
    ),
    _bound(
        *("Appendix A", "least number of people where a share of the labels may be wrong"),
        " --wrong 0.1",
    ),
    _bound("Lemmas 4.1 to 4.7, Theorem 4.3", "information of a report, sharper than printed"),
    _bound("Theorems 4.8 and 4.10", "one explicit bound implies both, at every w and epsilon"),
    _measured(
        "Figure 2, Theorem 5.1",
        "--likes 0.9,0.1 --items 100,200 --rated 20 --epsilon 1 --people 25000,50000,100000,200000",
        "MaxSense: labels right by population; twice the items take four times the people",
    ),
    _measured(
        "Figure 3, Theorem 5.3",
        "--likes 0.9,0.1 --items 200 --rated 20 --epsilon 6 --people 4000,8000,16000 "
        "--method maxsense,multi-maxsense",
        "labels right by population: Multi-MaxSense needs fewer people",
    ),
    PaperResult(
        *("Lemmas 6.2 and 6.4, Theorem 6.1", "bound"),
        "tacit plan sketches --items 1682 --rated 1 --epsilon 1 --json",
        "adaptive questions",
    ),
)
"""What the paper prints, and the command that makes it here; docs/results.md has the figures."""

DESIGN = Design(
    "sketches",
    "Sketches",
    "Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines (2012)",
    {},
    CardSettings,
    cards,
    "tacit device explain  shows what is sent, byte by byte.",
    {
        "audit": "audit:audit",
        "plan": "commands:PLAN",
        "simulate": "commands:SIMULATE",
        "evaluate": "commands:EVALUATE",
        "tour": "experiment:tour",
        "compare": "experiment:contenders",
        "reproduce": "design:ITEMS",
    },
    "Works from about a million people at epsilon 1, and on MovieLens 100K a list of "
    "popular items was better however many there were. tacit plan sketches says how many "
    "yours takes.",
    served=(
        Served(
            "campaigns",
            "serve.campaigns:ServedCampaign",
            "serve:router",
            "serve.campaigns:make_demo",
            counts_names=True,
        ),
    ),
)
