"""p-REC as the registry knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, PaperResult, Served, option
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    epsilon: float | None = option("Epsilon for what --clients clients see.", default=None)
    delta: float = option("Probability that the bound of epsilon fails.", default=1e-6)
    objects: int = option("Objects of a round.", default=2, least=2)
    rounds: int = option("Rounds of one client.", default=1000, least=1)
    voters: int = option("Largest number of voters.", default=5000, least=1)
    peers: int | None = option(
        "Voters that the gate requires, or that are assumed to agree.", default=None
    )
    clients: int = option("Clients whom epsilon is for, all together.", default=1, least=1)
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of a run with these settings; ConfigError unless epsilon or peers are given."""
    from tacit.designs.prec import PRecSettings
    from tacit.designs.prec import cards as cards_of

    if settings.epsilon is None and settings.peers is None:
        raise ConfigError(
            "What prec promises depends on its epsilon: add --epsilon, such as 1, or --peers."
        )
    asked: dict[str, Any] = dict(vars(settings))
    return cards_of(PRecSettings(clients_together=asked.pop("clients"), **asked))


def contenders(*_: Any) -> str:
    """Why `tacit compare` leaves it out."""
    return "it learns from votes in rounds, not from ratings: tacit simulate prec"


_PLAN = "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300 --json"
_EXACT = "tacit plan prec --objects 2 --rounds 1000 --peers 12 --voters 306 --epsilon 1 --json"
ITEMS = (
    PaperResult("Table 1", "no figure", "", "a table of notations"),
    PaperResult(
        "Theorems 1 and 2, Lemmas 3 to 5",
        "exact",
        _PLAN,
        "steps of the proofs; what they lead to is computed exactly",
    ),
    PaperResult(
        "Theorem 6",
        "bound",
        _PLAN,
        "least loss of any algorithm, with its constants",
        shows=("loss_lower_bound",),
    ),
    PaperResult(
        "Theorem 7, Lemma 8, Theorem 15",
        "bound",
        _PLAN,
        "least loss and epsilon, with explicit constants, next to what the method has",
    ),
    PaperResult(
        "Theorems 9 and 10",
        "measured",
        "tacit simulate prec --rounds 2000 --voters 400 --peers 20 --method p-rec-no-gate "
        "--seeds 15",
        "mean loss below the bound on generated votes",
    ),
    PaperResult(
        "Theorem 11",
        "refuted",
        "tacit audit prec --planted",
        "holds under a promise that nothing checks; without a gate a client makes the leak grow",
    ),
    PaperResult(
        "Lemmas 12 to 14",
        "bound",
        _EXACT,
        "a sharper form is computed; Lemma 14 needs six peers or more",
    ),
    PaperResult(
        "Theorem 16",
        "measured",
        "tacit simulate prec --rounds 2000 --voters 400 --peers 20 --diversity 10 --radius 5 "
        "--method p-rec-no-gate --seeds 15",
        "mean loss below the bound with diversity and radius",
    ),
    PaperResult(
        "Theorem 17",
        "refuted",
        "tacit simulate prec --world victim --clients 5 --seeds 3 --method p-rec "
        "--method p-rec-no-gate --json",
        "as Theorem 11; with the gate the exact leak is below the epsilon that was asked for",
    ),
    PaperResult(
        "Lemmas 18 and 19", "exact", _EXACT, "steps of Theorem 17; replaced by the exact chain"
    ),
)
"""What the paper prints, and the command that makes it here; docs/results.md has the figures."""

DESIGN = Design(
    "prec",
    "p-REC",
    "Gilbert, Liu, Yu: On differentially private online collaborative recommendation (2015)",
    {},
    CardSettings,
    cards,
    "tacit plan prec --help  says how many voters it takes.",
    {
        "audit": "audit:audit",
        "plan": "commands:PLAN",
        "replay": "commands:REPLAY",
        "simulate": "experiment:SIMULATE",
        "tour": "experiment:tour",
        "compare": "design:contenders",
        "reproduce": "design:ITEMS",
    },
    "Works from about 300 voters who agree with a client, at epsilon 1 for 1,000 rounds. On"
    " MovieLens 100K nobody has so many: there the weighted majority, without privacy, is "
    "better.",
    served=(
        Served(
            "rounds",
            "serve.rounds:ServedRounds",
            "serve:router",
            "serve.rounds:make_demo",
            counts_names=True,
        ),
    ),
)
