"""What `tacit evaluate standard-scheme` and `tacit attack standard-scheme` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tacit.design import Command, Run, option
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment import DEFAULT_RELEASE
from tacit.evaluation import REPORT, SEED, WORKERS, Result, manifest

ATTACK_ON = "The user attribute to hide."
ATTACKERS = "These attackers in place of the panel, with commas."


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """Options of whatever measures attackers, by the names that `evaluate_hiding` has for them."""

    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")
    panel: str = option(
        "Attackers: 'quick', or 'full' for all eleven and those of packages.", default="quick"
    )
    folds: int = option("Folds by person.", default=5, least=3)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


@dataclass(frozen=True, kw_only=True)
class Trained(Attacked):
    """And of how the public tables and the item profiles are made."""

    factors: int = option("Length of an item profile.", default=20, least=1)
    disclosure_epsilon: float = option(
        "Epsilon for each training person in the public item tables; inf: exact.", default=math.inf
    )
    contributions: int = option(
        "Ratings a person counts with, if that epsilon is finite.", default=50, least=1
    )


def named(settings: Attacked) -> dict[str, Any]:
    """Those options."""
    kind = Trained if isinstance(settings, Trained) else Attacked
    return {each.name: getattr(settings, each.name) for each in fields(kind)}


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Trained):
    """Of `tacit evaluate standard-scheme`."""

    attribute: str = option(ATTACK_ON, default="gender")
    release: tuple[str, ...] = option(
        "Measure these releases, with commas; 'all' for every one.",
        default=("none", DEFAULT_RELEASE),
    )
    attack: tuple[str, ...] = option(ATTACKERS, default=())
    report: Path | None = option(REPORT, default=None, writes=True)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Run a panel of attacks on releases, once and over time.

    The strongest attacker comes first, with a bound for all together; errors and lists follow.
    """
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps
    from tacit.designs.standard_scheme.experiment.report import page_of, shown

    ratings = run.read()
    with run.progress("Evaluating", steps(settings.folds)) as advance:
        table = evaluate_hiding(
            ratings,
            settings.attribute,
            releases=tuple(RELEASES) if "all" in settings.release else settings.release,
            attacks=settings.attack or None,
            progress=advance,
            **named(settings),
        )
    facts = named(settings) | {"panel": settings.attack or settings.panel}
    del facts["workers"]  # no result depends on it
    made_with = manifest(ratings, command=run.command, **facts)
    if settings.report is not None:
        page_of(table, made_with).write(settings.report)
    after = "--report out.html draws it;  --json prints every figure."
    return Result(table.to_dict() | {"manifest": made_with}, tuple(shown(table)), after)


@dataclass(frozen=True, kw_only=True)
class AttackSettings(Attacked):
    """Of `tacit attack standard-scheme`."""

    attribute: str = option(ATTACK_ON, default="gender")
    release: str = option("What devices send; 'none' attacks true stars.", default=DEFAULT_RELEASE)
    attack: tuple[str, ...] = option(ATTACKERS, default=())
    folds: int = option("Folds by person.", default=10, least=3)


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
            releases=tuple(dict.fromkeys(["none", settings.release])),
            attacks=settings.attack or None,
            progress=advance,
            **named(settings),
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
