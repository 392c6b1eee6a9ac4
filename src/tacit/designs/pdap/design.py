"""P-DAP as the registry knows it. ITEMS is what the paper prints, and the commands that make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, PaperResult, Served, option
from tacit.errors import ConfigError
from tacit.privacy import Guarantee

_AUDIT = "tacit audit pdap"
_BOUNDS = "tacit simulate pdap --arrivals 3000 --lipschitz 2 --policies dap,p-dap --seeds 2 --json"
_PLAIN = (
    "tacit simulate pdap --arrivals 50000 --lipschitz 2 --policies cap,solo,dup,dap"
    " --seeds 4 --test 1000 --json"
)
_PRIVATE = (
    "tacit simulate pdap --arrivals 50000 --lipschitz 0.1 --policies "
    "solo,dup,dap,p-dap,gp-dap --epsilon 0.01,0.1,1 --gamma 0 --seeds 4 --json"
)
_GEOMETRIC = (
    "tacit simulate pdap --vendors 1 --dimensions 1 --arrivals 10000 --lipschitz "
    "0.01 --policies p-dap,gp-dap --epsilon 0.01 --gamma 0 --seeds 8 --json"
)

_NOT_PUBLIC = "the paper's data are not public: generated rewards, order and gaps are compared"
_TABLE_II = (
    "accuracy at N = 5,000 / 50,000: CAP 70.32 / 77.34 %, DUP 73.32 / 75.08 %, DAP 87.34 / 92.17 %"
)
_TABLES_III_IV = (
    "accuracy at N = 5,000 / 50,000: P-DAP at epsilon .01 77.54 / 80.12 %, .1 77.78 / 81.16 %, "
    "1 78.96 / 82.12 %, DAP 86.84 / 91.56 %; at N = 5,000 / 30,000: GP-DAP 82.44 / 88.17 %, "
    "P-DAP at .01 77.31 / 81.64 %"
)

ITEMS = tuple(
    PaperResult(*row)
    for row in (
        ("Figures 1 to 5", "no figure", "", "drawings of the system"),
        (
            *("Theorems 1 to 3, Lemmas 1 to 6", "bound", _BOUNDS),
            "regret beside the bound; Theorem 2's last term is not proved",
        ),
        ("Lemma 2", "refuted", _AUDIT, "a change of one attribute can move the mean by L"),
        (
            *("Lemma 7, Corollary 2", "bound", _BOUNDS),
            "levels of cells; Theorem 4 and the corollary cannot both hold",
        ),
        ("Theorem 4", "refuted", _AUDIT, "the loss of one visit exceeds the claim"),
        ("Theorem 5", "refuted", _AUDIT, "four noise scales are printed; none gives the claim"),
        ("Theorem 6", "measured", _GEOMETRIC, "less regret, because epsilon grows with the level"),
        ("Table II", "measured", _PLAIN, _NOT_PUBLIC, _TABLE_II),
        ("Tables III and IV", "measured", _PRIVATE, "generated rewards", _TABLES_III_IV),
        (
            *("Figure 6", "measured", _PLAIN, "regret of CAP, DUP and DAP, generated rewards"),
            "average regret of DAP below .02 a user at the end",
        ),
        (
            *("Figures 7 and 8", "measured", _PRIVATE, "the 32 % of the text are compared there"),
            "average regret of P-DAP at most .03 at epsilon .01; regret of GP-DAP 32 % below P-DAP",
        ),
    )
)


@dataclass(frozen=True)
class CardSettings:
    """Of cards in a usual setting: 4 vendors, 20 videos each, 2 features, 200,000 visits."""

    epsilon: float = option("Epsilon of one visit.")
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of the vendors' learners, and of what crosses between vendors."""
    from tacit.designs.pdap import guarantees, published_guarantees

    if settings.variant not in ("sound", "published"):
        raise ConfigError(f"--variant is sound or published; got '{settings.variant}'.")
    if settings.variant == "published":
        return published_guarantees.usual(settings.epsilon)
    return guarantees.usual(settings.epsilon)


def contenders(*_: Any) -> str:
    """Why `tacit compare` leaves it out."""
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
        "audit": "audit:audit",
        "simulate": "experiment:SIMULATE",
        "tour": "experiment:tour",
        "compare": "design:contenders",
        "reproduce": "design:ITEMS",
    },
    "Works from about 12,500 visits of each of four vendors at epsilon 1: half the regret "
    "of videos chosen by chance, on generated clicks. Popular videos were not compared.",
    served=(
        Served(
            "vendors",
            "serve:ServedVendor",
            "serve.visits:router",
            "serve:make_demo",
            counts_names=True,
        ),
    ),
)
