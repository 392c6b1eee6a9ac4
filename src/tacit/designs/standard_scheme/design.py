"""The standard scheme as the registry knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, PaperResult, Served, option
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")
    release: str = option("What devices send.", default="scheme+selection+rounding")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """The card of the person who hides an attribute, and that of those who consented."""
    from tacit.designs.standard_scheme import guarantees
    from tacit.designs.standard_scheme.settings import Settings
    from tacit.recommenders.inputs import TAKEN

    chosen = Settings(variant=settings.variant, release=settings.release)  # type: ignore[arg-type]  # checked there
    return guarantees.cards(chosen, (), tuple(TAKEN))


LEAST_PEOPLE = 600
"""Who train it, from whom on lists were measured to beat popularity: docs/results.md."""


def useful(model: Any) -> str:
    """Whether lists are expected to beat popularity, by the number of consenting people.

    Where devices can show few items, their number is said instead: nothing was measured there.
    """
    from tacit.designs.standard_scheme.training.fitting import describe_showable

    people = model.fitted_.n_consenting
    if model.fitted_.shows_few_items:
        lists = (
            f"{describe_showable(model.fitted_)} With so few, a list of popular items may be "
            "better, and less is hidden among them."
        )
    elif people < LEAST_PEOPLE:
        lists = (
            f"About {LEAST_PEOPLE - people:,} are missing: with so few, a list of popular items "
            "may be better."
        )
    else:
        lists = "Lists were measured to beat popular items with so many."
    return f"{people:,} people train it. {lists}"


PRINTED = (
    PaperResult(
        "Theorem 1, Lemmas 1 and 2",
        "exact",
        "tacit guarantee standard-scheme --variant published",
        "true under the linear model alone; real ratings break its premises",
    ),
    PaperResult(
        "Table 1",
        "measured",
        (
            "tacit evaluate standard-scheme FOLDER/ml-100k --variant published --release "
            "none --release selection --release scheme --release scheme+rounding --release "
            "scheme+selection --folds 10 --json"
        ),
        "the table is missing from the text; its claims in words are compared, on MovieLens 100K",
        "in words: AUC of four attackers about .5 with scheme+selection; RMSE at most 1.5 % higher",
    ),
    PaperResult(
        "Curve of alpha",
        "measured",
        (
            "tacit evaluate standard-scheme FOLDER/ml-100k --folds 5 --release none "
            "--release scheme+selection+rounding --json"
        ),
        "the mixing knob, `tradeoff` of the output",
    ),
)
"""What the paper prints, and the command that makes it here; docs/results.md has the figures."""

DESIGN = Design(
    "standard-scheme",
    "Standard scheme",
    "US patent application: Privacy protection against curious recommenders",
    {"standard-scheme": "StandardScheme"},
    CardSettings,
    cards,
    "tacit attack standard-scheme RATINGS  measures the attacks.",
    {
        "audit": "audit:audit",
        "fit": "commands:FIT",
        "evaluate": "experiment.commands:EVALUATE",
        "attack": "experiment.commands:ATTACK",
        "tour": "commands:tour",
        "compare": "commands:contenders",
        "reproduce": "design:PRINTED",
        "useful": "design:useful",
    },
    "Works from about 600 people who agree to train it: lists beat popular items on "
    "MovieLens with 631 and 943 people. Hiding needs more of them: the card's attacks say "
    "how well it works.",
    served=(
        Served("disclosures", "serve:ServedDisclosure", "serve:router", "serve.operator:make_demo"),
    ),
)
