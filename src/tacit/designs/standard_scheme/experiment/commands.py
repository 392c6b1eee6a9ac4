"""Commands `tacit evaluate standard-scheme` and `tacit attack standard-scheme`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE, RELEASES
from tacit.errors import ConfigError
from tacit.evaluation import REPORT, SEED, WORKERS, Result, manifest

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.standard_scheme.experiment.table import HidingTable

ATTRIBUTE_HELP = "The user attribute to hide."
ATTACKERS_HELP = "These attackers in place of the panel, with commas."


@dataclass(frozen=True, kw_only=True)
class AttackOptions:
    """Options of commands that measure attackers, named as the arguments of `evaluate_hiding`."""

    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")
    panel: str = option(
        "Attackers: 'quick', or 'full' for all eleven and those of installed packages.",
        default="quick",
    )
    folds: int = option("Folds by person.", default=5, least=3)
    edges: tuple[str, ...] = option(
        "Public edges that cut a numeric attribute into bins, such as age=25,45; repeat for "
        "several.",
        default=(),
        repeat=True,
    )
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)

    @property
    def public_edges(self) -> dict[str, tuple[float, ...]]:
        """Public edges by attribute, from texts such as age=25,45."""
        texts_by_name = split_assignments(
            "edges", self.edges, "ascending numbers, such as age=25,45"
        )
        edges: dict[str, tuple[float, ...]] = {}
        for name, numbers in texts_by_name.items():
            try:
                edges[name] = tuple(map(float, numbers))
            except ValueError:
                raise ConfigError(
                    f"--edges names an attribute and ascending numbers, such as age=25,45; got "
                    f"{name}={','.join(numbers)}."
                ) from None
        return edges


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(AttackOptions):
    """Options of commands that measure attackers and train a model."""

    profiles: str = option(
        "What describes an item when stars are predicted: latent, features (genres, years) or "
        "latent+features.",
        default="latent",
    )
    factors: int = option("Length of an item profile.", default=20, least=1)
    disclosure_epsilon: float = option(
        "Epsilon for each training person in the public item tables; inf: exact.", default=math.inf
    )
    contributions: int = option(
        "Most ratings of a person that are used, if that epsilon is finite.", default=50, least=1
    )


def split_assignments(flag: str, texts: Sequence[str], expected: str) -> dict[str, list[str]]:
    """Split texts such as gender=F,M into a name and its entries.

    Args:
        flag: Name of the option, for the error.
        texts: What a user typed.
        expected: What follows the name, for the error.

    Returns:
        Entries by name.

    Raises:
        ConfigError: A text has another form.
    """
    entries_by_name: dict[str, list[str]] = {}
    for text in texts:
        name, equals_sign, entries = text.partition("=")
        if not (name and equals_sign and entries):
            raise ConfigError(f"--{flag} names an attribute and {expected}; got {text}.")
        entries_by_name[name] = [entry.strip() for entry in entries.split(",")]
    return entries_by_name


def evaluation_arguments(settings: AttackOptions) -> dict[str, Any]:
    """Return the options as arguments of `evaluate_hiding`, by name."""
    arguments: dict[str, Any] = {
        "variant": settings.variant,
        "panel": settings.panel,
        "folds": settings.folds,
        "edges": settings.public_edges,
        "seed": settings.seed,
        "workers": settings.workers,
    }
    if isinstance(settings, TrainingOptions):
        arguments |= {
            "profiles": settings.profiles,
            "factors": settings.factors,
            "disclosure_epsilon": settings.disclosure_epsilon,
            "contributions": settings.contributions,
        }
    return arguments


def run_attacks(
    settings: AttackOptions,
    run: Run,
    ratings: Ratings,
    attribute: str,
    releases: Sequence[str],
    attacks: Sequence[str] = (),
    *,
    attackers_only: bool = False,
) -> HidingTable:
    """Run the experiment with a command's options.

    Args:
        settings: The options.
        run: The run of the command, which shows progress.
        ratings: Ratings of everybody.
        attribute: Name of the attribute.
        releases: Names of the releases to attack; duplicates are ignored.
        attacks: Names of attackers in place of the panel's; empty for the panel.
        attackers_only: As in `evaluate_hiding`.
    """
    from tacit.designs.standard_scheme.experiment.evaluation import count_steps, evaluate_hiding

    with run.progress("Attacking", count_steps(settings.folds)) as advance:
        return evaluate_hiding(
            ratings,
            attribute,
            releases=tuple(dict.fromkeys(releases)),
            attacks=attacks or None,
            attackers_only=attackers_only,
            progress=advance,
            **evaluation_arguments(settings),
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(TrainingOptions):
    """Options of `tacit evaluate standard-scheme`."""

    attribute: str = option(ATTRIBUTE_HELP, default="gender")
    release: tuple[str, ...] = option(
        "Measure these releases, with commas; 'all' for all releases.",
        default=("none", DEFAULT_RELEASE),
    )
    attack: tuple[str, ...] = option(ATTACKERS_HELP, default=())
    report: Path | None = option(REPORT, default=None, writes=True)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Run a panel of attacks on releases.

    The strongest attacker comes first, with a bound for all attackers together; errors and lists
    follow.
    """
    from tacit.designs.standard_scheme.experiment.report import describe_table, page_of

    ratings = run.read_ratings()
    releases = tuple(RELEASES) if "all" in settings.release else settings.release
    table = run_attacks(settings, run, ratings, settings.attribute, releases, settings.attack)
    arguments = evaluation_arguments(settings) | {"panel": settings.attack or settings.panel}
    del arguments["workers"]  # results do not depend on it
    manifest_of_run = manifest(ratings, command=run.command, **arguments)
    if settings.report is None:
        after = f"{run.command} --report evaluation.html  draws it on one page."
    else:
        page_of(table, manifest_of_run).write(settings.report)
        after = "tacit guarantee standard-scheme  says what is promised about a device's letters."
    data = table.to_dict() | {"manifest": manifest_of_run}
    return Result(data, tuple(describe_table(table)), after)


@dataclass(frozen=True, kw_only=True)
class AttackSettings(AttackOptions):
    """Options of `tacit attack standard-scheme`."""

    attribute: str = option(ATTRIBUTE_HELP, default="gender")
    release: str = option("What devices send; 'none' attacks true stars.", default=DEFAULT_RELEASE)
    attack: tuple[str, ...] = option(ATTACKERS_HELP, default=())
    folds: int = option("Folds by person.", default=10, least=3)


def attack(settings: AttackSettings, run: Run) -> Result:
    """Attack one release of people whose attribute is unknown.

    In each fold, the attacker does not know the attribute of the fold's people.
    """
    from tacit.auditing.attacks import distance
    from tacit.designs.standard_scheme.experiment.report import describe_table

    ratings = run.read_ratings()
    releases = ("none", settings.release)
    table = run_attacks(
        settings, run, ratings, settings.attribute, releases, settings.attack, attackers_only=True
    )
    results = table.to_dict()
    rows = [
        row | {"distance": distance(row["auc"])}
        for row in results["rows"]
        if row["release"] == settings.release or row["trained_on"] == "raw"
    ]
    data = {name: results[name] for name in ("attribute", "values", "people", "worst", "control")}
    data["sentence"] = table.sentence(settings.release)
    data["rows"] = rows
    data["manifest"] = manifest(
        ratings, seed=settings.seed, command=run.command, folds=settings.folds
    )
    evaluate_command = run.command.replace(" attack ", " evaluate ", 1)
    after = f"{evaluate_command} --report evaluation.html  also measures what the release costs."
    return Result(data, tuple(describe_table(table)), after)


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
ATTACK = Command(AttackSettings, attack, ratings=True)
