"""What `tacit evaluate standard-scheme` and `tacit attack standard-scheme` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tacit.design import Command, Run, option
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment import DEFAULT_RELEASE
from tacit.evaluation import REPORT, SEED, WORKERS, Result, manifest

ATTACK_ON = "The user attribute to hide."
PANEL = "Attackers: 'quick', or 'full' for all eleven and those of packages."
ATTACKERS = "These attackers in place of the panel, with commas."
VARIANT = "'sound', or 'published' as the paper prints it."
FOLDS = "Folds by person."
FACTORS = "Length of an item profile."
DISCLOSED = "Epsilon for each training person in the public item tables; inf: exact."
CONTRIBUTIONS = "Ratings a person counts with, if that epsilon is finite."


@dataclass(frozen=True)
class EvaluateSettings:
    """Of `tacit evaluate standard-scheme`."""

    attribute: str = option(ATTACK_ON, default="gender")
    folds: int = option(FOLDS, default=5, least=3)
    release: tuple[str, ...] = option(
        "Measure these releases, with commas; 'all' for every one.",
        default=("none", DEFAULT_RELEASE),
    )
    panel: str = option(PANEL, default="quick")
    attack: tuple[str, ...] = option(ATTACKERS, default=())
    variant: str = option(VARIANT, default="sound")
    disclosure_epsilon: float = option(DISCLOSED, default=math.inf)
    contributions: int = option(CONTRIBUTIONS, default=50, least=1)
    factors: int = option(FACTORS, default=20, least=1)
    report: Path | None = option(REPORT, default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Run a panel of attacks on releases, once and over time.

    The strongest attacker comes first, with a bound for all together; errors and lists follow.
    """
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps
    from tacit.designs.standard_scheme.experiment.report import page_of, shown

    names = ("folds", "panel", "variant", "disclosure_epsilon", "factors")
    facts = {name: getattr(settings, name) for name in names}
    ratings = run.read()
    with run.progress("Evaluating", steps(settings.folds)) as advance:
        table = evaluate_hiding(
            ratings,
            settings.attribute,
            releases=tuple(RELEASES) if "all" in settings.release else settings.release,
            attacks=settings.attack or None,
            contributions=settings.contributions,
            seed=settings.seed,
            workers=settings.workers,
            progress=advance,
            **facts,
        )
    facts["panel"] = settings.attack or settings.panel
    made_with = manifest(ratings, seed=settings.seed, command=run.command, **facts)
    if settings.report is not None:
        page_of(table, made_with).write(settings.report)
    after = "--report out.html draws it;  --json prints every figure."
    return Result(table.to_dict() | {"manifest": made_with}, tuple(shown(table)), after)


@dataclass(frozen=True)
class AttackSettings:
    """Of `tacit attack standard-scheme`."""

    attribute: str = option(ATTACK_ON, default="gender")
    release: str = option("What devices send; 'none' attacks true stars.", default=DEFAULT_RELEASE)
    panel: str = option(PANEL, default="quick")
    attack: tuple[str, ...] = option(ATTACKERS, default=())
    variant: str = option(VARIANT, default="sound")
    folds: int = option(FOLDS, default=10, least=3)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


def attack(settings: AttackSettings, run: Run) -> Result:
    """Attack one release of people whose attribute is unknown.

    Their attribute is unknown to the attacker, fold by fold.
    """
    from tacit.auditing.attacks import distance
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps
    from tacit.designs.standard_scheme.experiment.report import shown

    ratings = run.read()
    with run.progress("Attacking", steps(settings.folds)) as advance:
        table = evaluate_hiding(
            ratings,
            settings.attribute,
            folds=settings.folds,
            releases=tuple(dict.fromkeys(["none", settings.release])),
            panel=settings.panel,
            attacks=settings.attack or None,
            variant=settings.variant,
            seed=settings.seed,
            workers=settings.workers,
            progress=advance,
        )
    found = table.to_dict()
    rows = [
        row | {"distance": distance(row["auc"])}
        for row in found["rows"]
        if row["release"] == settings.release or row["trained_on"] == "raw"
    ]
    made_with = manifest(ratings, seed=settings.seed, command=run.command, folds=settings.folds)
    data = {name: found[name] for name in ("attribute", "values", "people", "worst", "control")}
    data |= {"sentence": table.sentence(settings.release), "rows": rows, "manifest": made_with}
    after = "tacit evaluate standard-scheme RATINGS --report out.html"
    return Result(data, tuple(shown(table)), after)


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
ATTACK = Command(AttackSettings, attack, ratings=True)
