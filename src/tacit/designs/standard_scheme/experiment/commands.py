"""Commands `tacit evaluate standard-scheme` and `tacit attack standard-scheme`.

The page is for a person who knows no AUC.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE, RELEASES
from tacit.designs.standard_scheme.experiment.levels import NEAR, shown_distance
from tacit.errors import ConfigError
from tacit.evaluation import REPORT, SEED, WORKERS, Result, Table, group_by, manifest
from tacit.evaluation.page import Cell, Mark, Page, Section, Tile

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.standard_scheme.experiment.table import (
        AttackRow,
        HidingTable,
        KnownRow,
        WorstRow,
    )

ATTACK_ON = "The user attribute to hide."
ATTACKERS = "These attackers in place of the panel, with commas."
LEVELS = (
    (0.02, "guessing"),
    (NEAR, "near guessing"),
    (0.12, "slight leak"),
    (0.2, "clear leak"),
    (0.3, "strong leak"),
    (0.5, "very strong leak"),
)
"""Distance of an AUC from 0.5, up to and including, in words."""
TOP = len(LEVELS) - 1
_LEVEL_KEY = [
    Mark(f"{word} ≤ {end:.2f}" if place < TOP else word, level=place)
    for place, (end, word) in enumerate(LEVELS)
]


@dataclass(frozen=True, kw_only=True)
class AttackOptions:
    """Options of what measures attackers, by the names that `evaluate_hiding` has for them."""

    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")
    panel: str = option(
        "Attackers: 'quick', or 'full' for all eleven and those of packages.", default="quick"
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
    def known_edges(self) -> dict[str, tuple[float, ...]]:
        """Public edges by attribute, from words such as age=25,45."""
        words = split_words("edges", self.edges, "ascending numbers, such as age=25,45")
        edges: dict[str, tuple[float, ...]] = {}
        for name, numbers in words.items():
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
    """Options of what measures attackers and trains a model."""

    profiles: str = option(
        "What describes an item where stars are predicted: latent, features (genres, years) or "
        "latent+features.",
        default="latent",
    )
    factors: int = option("Length of an item profile.", default=20, least=1)
    disclosure_epsilon: float = option(
        "Epsilon for each training person in the public item tables; inf: exact.", default=math.inf
    )
    contributions: int = option(
        "Ratings a person counts with, if that epsilon is finite.", default=50, least=1
    )


def split_words(flag: str, words: Sequence[str], expected: str) -> dict[str, list[str]]:
    """Split words such as gender=F,M by name; ConfigError for other words."""
    listed: dict[str, list[str]] = {}
    for word in words:
        name, sign, entries = word.partition("=")
        if not (name and sign and entries):
            raise ConfigError(f"--{flag} names an attribute and {expected}; got {word}.")
        listed[name] = [entry.strip() for entry in entries.split(",")]
    return listed


def evaluation_arguments(settings: AttackOptions) -> dict[str, Any]:
    """The options as arguments of `evaluate_hiding`, by name."""
    arguments: dict[str, Any] = {
        "variant": settings.variant,
        "panel": settings.panel,
        "folds": settings.folds,
        "edges": settings.known_edges,
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
        run: The command's run.
        ratings: Ratings of everybody.
        attribute: Name of the attribute.
        releases: What the attacked people send.
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
    ratings = run.read()
    chosen = tuple(RELEASES) if "all" in settings.release else settings.release
    table = run_attacks(settings, run, ratings, settings.attribute, chosen, settings.attack)
    facts = evaluation_arguments(settings) | {"panel": settings.attack or settings.panel}
    del facts["workers"]  # no result depends on it
    made_with = manifest(ratings, command=run.command, **facts)
    if settings.report is not None:
        page_of(table, made_with).write(settings.report)
    after = "tacit guarantee standard-scheme  reads what a device's letters promise."
    if settings.report is None:
        after = f"{run.command} --report evaluation.html  draws it on one page."
    return Result(table.to_dict() | {"manifest": made_with}, tuple(describe_table(table)), after)


@dataclass(frozen=True, kw_only=True)
class AttackSettings(AttackOptions):
    """Options of `tacit attack standard-scheme`."""

    attribute: str = option(ATTACK_ON, default="gender")
    release: str = option("What devices send; 'none' attacks true stars.", default=DEFAULT_RELEASE)
    attack: tuple[str, ...] = option(ATTACKERS, default=())
    folds: int = option("Folds by person.", default=10, least=3)


def attack(settings: AttackSettings, run: Run) -> Result:
    """Attack one release of people whose attribute is unknown.

    Their attribute is unknown to the attacker, fold by fold.
    """
    from tacit.auditing.attacks import distance

    ratings = run.read()
    pair = ("none", settings.release)
    table = run_attacks(
        settings, run, ratings, settings.attribute, pair, settings.attack, attackers_only=True
    )
    figures = table.to_dict()
    rows = [
        row | {"distance": distance(row["auc"])}
        for row in figures["rows"]
        if row["release"] == settings.release or row["trained_on"] == "raw"
    ]
    made_with = manifest(ratings, seed=settings.seed, command=run.command, folds=settings.folds)
    data = {name: figures[name] for name in ("attribute", "values", "people", "worst", "control")}
    data |= {"sentence": table.sentence(settings.release), "rows": rows, "manifest": made_with}
    evaluate = run.command.replace(" attack ", " evaluate ", 1)
    after = f"{evaluate} --report evaluation.html  measures every attack."
    return Result(data, tuple(describe_table(table)), after)


def page_of(table: HidingTable, manifest: Mapping[str, Any]) -> Page:
    """Lay out the page: lists on devices, the panel, what breaks a release, what releases cost."""
    from tacit.designs.standard_scheme.experiment.table import verdict

    judged = table.judged or "none"
    panel = f"The panel on {judged}"
    breaks = "What breaks it: items known to be rated, and their number"
    sections = [
        Section("First: lists on the device", [lists_table(table)], notes=table.describe_lists()),
        Section(panel, [attackers_table(table)], key=_LEVEL_KEY),
        Section("Over time", [over_time_table(table)] if table.over_time else ()),
        Section(breaks, [knowledge_table(table)] if table.known_items else ()),
        Section(
            "Releases and what they cost", [cost_table(table)], notes=describe_exact_leaks(table)
        ),
    ]
    return Page(
        f"How well is {table.attribute} hidden?",
        sections,
        manifest,
        verdict(table),
        list(_tiles(table, judged)),
        design="standard scheme",
        package=__package__,
        facts={"table": table, "panel": panel},
    )


def _tiles(table: HidingTable, judged: str) -> Iterator[Tile]:
    """Yield the judged release's figure, that of true stars, and the control."""
    worst = {row.release: row for row in table.worst}
    figures = []
    for release, name in {judged: "After obfuscation", "none": "True stars"}.items():
        if release in worst:
            row = worst[release]
            note = f"{row.attack}, strongest of {row.attackers}"
            figures.append((name, row.auc, row.upper, note))
    row = worst[judged]
    if row.control is not None and row.control_upper is not None:
        note = "as expected" if row.control_holds else "not within its bound: read with care"
        figures.append(("Permuted labels: nothing to find", row.control, row.control_upper, note))
    for name, area, upper, note in figures:
        level = _level(area)
        bound = f"{note}; 95% bound for all attackers together: {upper:.3f}"
        unit = "AUC of the strongest"
        share = 2 * abs(area - 0.5)
        yield Tile(name, f"{area:.3f}", unit, bound, share, level, LEVELS[level][1])


def _area(area: float | None, small: str = "") -> Cell | None:
    if area is None:
        return None
    level = _level(area)
    return Cell(f"{area:.3f}", small, level, spoken=LEVELS[level][1])


def _attack_cell(row: AttackRow | KnownRow | None) -> Cell | None:
    return None if row is None else _area(row.auc, f"{row.low:.2f}–{row.high:.2f}")


def attackers_table(table: HidingTable) -> Table:
    """Tabulate every attacker on true stars and on the release that is judged."""
    names = {
        ("none", "union", "raw"): "true stars",
        (table.judged, "union", "raw"): "frozen",
        (table.judged, "union", "released"): "retrained",
        (table.judged, "epochs", "released"): "weeks",
    }
    columns: dict[str, dict[str, AttackRow]] = {name: {} for name in names.values()}
    for row in table.rows:
        name = names.get((row.release, row.view, row.trained_on))
        if name is not None:
            columns[name][row.attack] = row
    columns = {name: column for name, column in columns.items() if column}
    columns["permuted"] = {row.attack: row for row in table.control}
    rows: list[tuple[object, ...]] = []
    for attack in dict.fromkeys(row.attack for row in table.rows):
        cells = [_attack_cell(column.get(attack)) for column in columns.values()]
        rows.append((attack, *cells))
    return Table("AUC of every attacker with its 95% interval", ("attacker", *columns), rows)


def over_time_table(table: HidingTable) -> Table:
    """The strongest on each schedule."""
    rows = []
    for schedule, every in group_by(table.over_time, lambda row: row.view).items():
        strongest = max(every, key=lambda row: abs(row.auc - 0.5))
        rows.append((schedule, strongest.attack, _attack_cell(strongest)))
    columns = ("schedule", "strongest attacker", "AUC")
    return Table("Attackers who see every letter, over time", columns, rows)


def knowledge_table(table: HidingTable) -> Table:
    """Attackers who know rated items, or how many there are."""
    rows: list[tuple[object, ...]] = []
    for row in table.known_items:
        items = f"{row.known} rated item{'s' if row.known > 1 else ''}"
        rows.append((items, _attack_cell(row), f"{row.certain:.1%}"))
    rows += [(count.attack, _attack_cell(count), None) for count in table.counts]
    heads = ("known beside the release", "AUC", "people read with certainty")
    return Table("What breaks it: other knowledge than the release", heads, rows)


def cost_table(table: HidingTable) -> Table:
    """The strongest attacker on each release, errors in stars, and lists."""
    errors = {row.release: row for row in table.accuracy}
    base = errors["none"].rmse if "none" in errors else None

    def cells(worst: WorstRow) -> tuple[object, ...]:
        release = worst.release
        row = errors[worst.release]
        change = "–" if base is None or release == "none" else f"{row.rmse / base - 1:+.1%}"
        return (
            Cell(release, mark="judged" if release == table.judged else ""),
            Cell(f"{worst.auc:.3f}", level=_level(worst.auc)),
            f"{worst.upper:.3f}",
            _area(table.fractions[release]),
            Cell(f"{row.rmse:.4f}", f"{row.rmse_low:.3f}–{row.rmse_high:.3f}"),
            change.replace("-", "\N{MINUS SIGN}"),
            f"{row.rmse_at_home:.4f}",
            f"{row.shown:.1%}",
            f"{row.ndcg:.3f}",
            f"{row.recall_at_10:.3f}",
            f"{row.ndcg_stars:.3f}",
        )

    heads = [("", 1), ("strongest attacker", 2), ("", 1), ("RMSE, stars", 3), ("", 1)]
    heads += [("lists of 10", 3)]
    columns = ["release", "AUC", "bound", "fractions", "error", "change", "on device", "shown"]
    columns += ["NDCG", "recall", "NDCG, by stars"]
    return Table("Releases and what they cost", columns, [cells(row) for row in table.worst], heads)


def lists_table(table: HidingTable) -> Table:
    """Lists for which nothing is sent beside those from releases."""
    rows: list[tuple[object, ...]] = []
    for alone in table.at_device:
        interval = f"{alone.ndcg_low:.3f}–{alone.ndcg_high:.3f}"
        numbers = alone.numbers or None
        rows.append((alone.release, "nothing", numbers, Cell(f"{alone.ndcg:.3f}", interval)))
    for row in table.accuracy:
        interval = f"{row.ndcg_low:.3f}–{row.ndcg_high:.3f}"
        sent = f"{row.shown:.0%} of the ratings"
        rows.append((row.release, sent, None, Cell(f"{row.ndcg:.3f}", interval)))
    heads = ("list", "sent", "public numbers an item", "NDCG")
    return Table("Lists of 10 made on the device and from releases", heads, rows)


def describe_exact_leaks(table: HidingTable) -> list[str]:
    """Say which releases tell the attribute by the fractions of their levels."""
    read = [name for name, area in table.fractions.items() if _level(area) == TOP]
    if not read:
        return []
    named = f"The released fractions of {' and '.join(read)} tell {table.attribute}"
    return [f"{named} without any learning. The attackers do not look at them."]


def describe_table(table: HidingTable) -> Iterator[Table | str]:
    """Describe the experiment in words and tables, for the terminal."""
    yield f"Guessing {table.attribute} of {table.people:,} people."
    for row in table.worst:
        yield f"{row.release}: {table.sentence(row.release)}"
    yield plain_table(attackers_table(table))
    if table.over_time:
        yield plain_table(over_time_table(table))
    if table.known_items:
        yield plain_table(knowledge_table(table))
    if not table.accuracy:  # attackers alone were measured
        return
    yield from describe_exact_leaks(table)
    yield from table.describe_lists()
    yield plain_table(lists_table(table))
    yield plain_table(cost_table(table), "release", "AUC", "error", "change", "NDCG", "shown")


def plain_table(table: Table, *columns: str) -> Table:
    """Some columns as text: what stands in small print comes below the number."""
    places = [table.columns.index(name) for name in columns or table.columns]

    rows = [_plain_cells(row, places) for row in table.rows]
    return Table(table.title, [table.columns[place] for place in places], rows)


def _plain_cells(row: Sequence[object], places: Sequence[int]) -> list[object]:
    """Texts of some cells of a row."""
    return [_plain_text(row[place]) for place in places]


def _plain_text(value: object) -> object:
    """A cell's text with its small print below; anything else as it is."""
    return f"{value.text}\n{value.small}".strip() if isinstance(value, Cell) else value


def _level(area: float) -> int:
    away = shown_distance(area)
    return next(number for number, (end, _) in enumerate(LEVELS) if away <= end)


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
ATTACK = Command(AttackSettings, attack, ratings=True)
