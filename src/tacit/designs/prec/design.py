"""The entry of p-REC in the registry of designs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit.design import Design, ServedSection, option
from tacit.design.people_needed import people_needed
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """Options of `tacit guarantee prec`."""

    epsilon: float | None = option(
        "Epsilon of all that --clients clients see together.", default=None
    )
    delta: float = option(
        "Probability by which any event may exceed the bound of epsilon.", default=1e-6
    )
    objects: int = option("Largest number of objects in a round.", default=2, least=2)
    rounds: int = option("Largest number of rounds of one client.", default=1000, least=1)
    voters: int = option("Largest number of voters.", default=5000, least=1)
    peers: int | None = option(
        "Least number of voters that the gate requires, or that are assumed to agree with the "
        "client.",
        default=None,
    )
    clients: int = option(
        "Number of clients; epsilon is for what they see together.", default=1, least=1
    )
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Return the cards of a run with these settings.

    Raises:
        ConfigError: Neither epsilon nor peers are given, or `PRecSettings` refuses the settings.
    """
    from tacit.designs.prec import PRecSettings
    from tacit.designs.prec import cards as cards_of_settings

    if settings.epsilon is None and settings.peers is None:
        raise ConfigError(
            "What prec promises depends on its epsilon: add --epsilon, such as 1, or --peers."
        )
    values = asdict(settings)
    values["clients_together"] = values.pop("clients")
    return cards_of_settings(PRecSettings(**values))


def contenders(*_: Any) -> str:
    """Return the reason why p-REC has no entries in `tacit compare`."""
    return "it learns from votes in rounds, not from ratings: tacit simulate prec"


DESIGN = Design(
    name="prec",
    title="p-REC",
    citation=(
        "Gilbert, Liu, Yu: On differentially private online collaborative recommendation (2015)"
    ),
    models={},
    card_settings=CardSettings,
    cards=cards,
    after_cards="tacit audit prec  looks for violations of it.",
    parts={
        "audit": "audit.audits:audit",
        "plan": "commands:PLAN",
        "replay": "commands:REPLAY",
        "simulate": "experiment.commands:SIMULATE",
        "tour": "experiment.tour:tour",
        "compare": "design:contenders",
        "reproduce": "paper_results:PAPER_RESULTS",
    },
    works_from=people_needed("prec").works_from,
    served=(
        ServedSection(
            "rounds",
            "serve.rounds:ServedRounds",
            "serve.router:router",
            "serve.rounds:make_demo",
            counts_names=True,
        ),
    ),
)
