"""What `tacit evaluate standard-scheme` and `tacit attack standard-scheme` ask, do and show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment import DEFAULT_RELEASE
from tacit.evaluation import REPORT, SEED, WORKERS, Result, Table, manifest

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.experiment.table import AccuracyRow, HidingTable

ATTACK_ON = "The user attribute to hide."
PANEL = "Attackers: 'quick', or 'full' for all eleven and those of packages."
ATTACKERS = "These attackers in place of the panel, with commas."
VARIANT = "'sound', or 'published' as the paper prints it."
FOLDS = "Folds by person."
FACTORS = "Length of an item profile."
DISCLOSED = "Epsilon for each training person in the public item tables; inf: exact."
CONTRIBUTIONS = "Ratings a person counts with, if that epsilon is finite."


Row = Mapping[str, Any]
TITLES = {
    "raw": "Frozen attackers, trained on true stars: AUC (0.5 is guessing)",
    "released": "Retrained attackers, who know the method: AUC",
}
VIEWS = {
    ("union", "raw"): "frozen",
    ("union", "released"): "retrained",
    ("epochs", "released"): "with weeks",
}


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

    names = ["folds", "panel", "variant"]
    names += ["disclosure_epsilon", "factors"]
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
        from tacit.designs.standard_scheme.experiment.report import page_of

        page_of(table, made_with).write(settings.report)
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
            *attacks(rows),
            control(found["control"]),
        ),
        "tacit evaluate standard-scheme RATINGS --report out.html",
    )


def everything(table: HidingTable) -> Iterator[Table | str]:
    """What `tacit evaluate standard-scheme` shows."""
    result = table.to_dict()
    yield f"Guessing {table.attribute} of {table.people:,} people."
    for row in table.worst:
        yield f"{row.release}: {table.sentence(row.release)}"
    yield from attacks(result["rows"])
    yield from over_time(result["over_time"])
    yield from known(result["known_items"], result["counts"])
    yield from fractions(table.fractions)
    yield accuracy(table.accuracy)
    yield control(result["control"])


def _ends(row: Row) -> str:
    return f"{row['low']:.2f} to {row['high']:.2f}"


_AREA: dict[str, Callable[[Row], Any]] = {
    "attacker": lambda row: row["attack"],
    "AUC": lambda row: row["auc"],
    "95 % interval": _ends,
}


def attacks(rows: Sequence[Row]) -> Iterator[Table]:
    """One table per release: attackers down, frozen and retrained across."""
    for release in dict.fromkeys(row["release"] for row in rows):
        cells = {
            (row["attack"], (row["view"], row["trained_on"])): row
            for row in rows
            if row["release"] == release
        }
        kinds = [kind for kind in VIEWS if any(place == kind for _, place in cells)]
        yield Table(
            f"{release}: AUC (0.5 is guessing) and 95 % interval",
            ("attacker", *(VIEWS[kind] for kind in kinds)),
            [
                (attack, *(_cell(cells.get((attack, kind))) for kind in kinds))
                for attack in dict.fromkeys(attack for attack, _ in cells)
            ],
        )


def over_time(rows: Sequence[Row]) -> Iterator[Table]:
    """Attackers who see every letter, by schedule."""
    refused = {True: " (refused by devices)", False: ""}
    columns = {"schedule": lambda row: row["schedule"] + refused[row["refused"]], **_AREA}
    if rows:
        yield Table.of("All letters seen: AUC", columns, rows)


def known(items: Sequence[Row], counts: Sequence[Row]) -> Iterator[Table]:
    """Attackers who know rated items, or how many there are."""
    rows = [(f"{row['known']} rated items", row["auc"], f"{row['certain']:.1%}") for row in items]
    rows += [(row["attack"], row["auc"], "") for row in counts]
    if rows:
        title = "What breaks it: other knowledge than the release"
        yield Table(title, ("known", "AUC", "read with certainty"), rows)


def fractions(areas: Mapping[str, float]) -> Iterator[str]:
    """A sentence about releases that arithmetic reads without any learning."""
    read = [release for release, area in areas.items() if area > 0.9]
    if read:
        yield (
            f"{' and '.join(read)}: the released fractions tell the attribute exactly, without any "
            "learning. The attackers above do not look at them."
        )


def intervals(rows: Iterable[Row]) -> Iterator[Table]:
    """Few releases, each figure with its 95 % interval; a table per kind of attacker."""
    ordered = sorted(rows, key=lambda row: str(row["attack"]))
    columns = {"release": lambda row: row["release"], **_AREA}
    for trained_on, title in TITLES.items():
        yield Table.of(title, columns, [row for row in ordered if row["trained_on"] == trained_on])


def accuracy(rows: Sequence[AccuracyRow]) -> Table:
    """Errors, their change against no obfuscation, and lists."""
    base = next((row.rmse for row in rows if row.release == "none"), None)
    columns = {
        "release": lambda row: row.release,
        "RMSE": lambda row: f"{row.rmse:.4f}",
        "change": lambda row: "" if base is None else f"{row.rmse / base - 1:+.1%}",
        "on device": lambda row: f"{row.rmse_at_home:.4f}",
        "NDCG": lambda row: row.ndcg,
        "recall": lambda row: row.ranking["recall_at_10"],
        "shown": lambda row: f"{row.shown:.0%}",
    }
    return Table.of("Error in stars, lists of 10, and how much is shown", columns, rows)


def control(rows: Sequence[Row]) -> Table:
    """The same attacks where nothing can be found."""
    columns = {"attack": _AREA["attacker"], "AUC": _AREA["AUC"], "interval": _ends}
    return Table.of("Control: the same attacks on permuted labels", columns, rows)


def _cell(row: Row | None) -> str | None:
    return None if row is None else f"{row['auc']:.3f} ({_ends(row)})"


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
ATTACK = Command(AttackSettings, attack, ratings=True)
