"""What `tacit evaluate standard-scheme` and `tacit attack standard-scheme` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tacit.design import Command, Run, option
from tacit.designs.standard_scheme.experiment.experiment import DEFAULT_RELEASE
from tacit.designs.standard_scheme.messages import RELEASES
from tacit.evaluation.result import REPORT, SEED, WORKERS, Result, manifest

ATTACK_ON = "The user attribute to hide."
PANEL = "Attackers: 'quick', or 'full' for all eleven and those of packages."
ATTACKERS = "These attackers in place of the panel, with commas."
VARIANT = "'sound', or 'published' as the paper prints it."
FOLDS = "Folds by person."
PROFILES = "What describes an item: latent, features (genres, year) or both."
FACTORS = "Length of an item profile."
DISCLOSED = "Nats per training person for the public item tables; inf: exact."
CONTRIBUTIONS = "Ratings a person counts with, if that epsilon is finite."
SECOND_ORDER = "'off', or 'taste': experimental chances that depend on taste."


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
    second_order: str = option(SECOND_ORDER, default="off")
    profiles: str = option(PROFILES, default="latent")
    factors: int = option(FACTORS, default=20, least=1)
    report: Path | None = option(REPORT, default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Run a panel of attacks on releases, once and over time.

    The strongest attacker comes first, with a bound for all together; errors and lists follow.
    """
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps
    from tacit.designs.standard_scheme.experiment.shown import everything

    ratings = run.read()
    with run.progress("Evaluating", steps(settings.folds)) as advance:
        table = evaluate_hiding(
            ratings,
            settings.attribute,
            folds=settings.folds,
            releases=tuple(RELEASES) if "all" in settings.release else settings.release,
            panel=settings.panel,
            attacks=settings.attack or None,
            variant=settings.variant,
            disclosure_epsilon=settings.disclosure_epsilon,
            contributions=settings.contributions,
            second_order=settings.second_order,
            profiles=settings.profiles,  # type: ignore[arg-type]  # checked there
            factors=settings.factors,
            seed=settings.seed,
            workers=settings.workers,
            progress=advance,
        )
    made_with = manifest(
        ratings,
        seed=settings.seed,
        command=run.command,
        folds=settings.folds,
        second_order=settings.second_order,
        panel=settings.attack or settings.panel,
        variant=settings.variant,
        disclosure_epsilon=settings.disclosure_epsilon,
        profiles=settings.profiles,
        factors=settings.factors,
    )
    if settings.report is not None:
        from tacit.designs.standard_scheme.experiment.report import write_report

        write_report(table, made_with, settings.report)
    return Result(
        table.to_dict() | {"manifest": made_with},
        tuple(everything(table)),
        "--report out.html draws it;  --json prints every fold.",
    )


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
    from tacit.designs.standard_scheme.experiment import shown
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps

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
    kept = ("release", "view", "attack", "trained_on", "auc", "low", "high")
    rows = [
        {name: getattr(row, name) for name in kept} | {"distance": distance(row.auc)}
        for row in table.rows
        if row.release == settings.release or row.trained_on == "raw"
    ]
    found, sentence = table.to_dict(), table.sentence(settings.release)
    data = {
        "attribute": settings.attribute,
        "values": list(table.values),
        "people": table.people,
        "worst": found["worst"],
        "sentence": sentence,
        "rows": rows,
        "control": found["control"],
        "manifest": manifest(
            ratings, seed=settings.seed, command=run.command, folds=settings.folds
        ),
    }
    return Result(
        data,
        (
            f"Guessing {settings.attribute} of {table.people:,} people.",
            sentence or "",
            *shown.attacks(rows),
            shown.control(found["control"]),
        ),
        "tacit evaluate standard-scheme RATINGS --report out.html",
    )


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
ATTACK = Command(AttackSettings, attack, ratings=True)
