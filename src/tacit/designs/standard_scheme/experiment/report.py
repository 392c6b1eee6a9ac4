"""One self-contained page about how well an attribute is hidden, for a person who knows no AUC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tacit.designs.standard_scheme.experiment.table import (
    NEAR,
    AccuracyRow,
    AttackRow,
    HidingTable,
    KnownRow,
    SingleRow,
    TimeRow,
    WorstRow,
    shown_distance,
    verdict,
)
from tacit.evaluation import Table, grouped, plots
from tacit.evaluation.page import Cell, Figure, Mark, Page, Section, Tile

ATTACK_NAMES = {
    "naive-bayes": "naive Bayes",
    "logistic-regression": "logistic regression",
    "svm": "support vector machine",
    "lda": "linear discriminant",
    "logistic-svd": "logistic regression, directions",
    "boosting-meta": "boosted trees, summaries",
    "boosting-svd": "boosted trees, directions",
    "mlp": "neural network",
    "nearest-neighbours": "nearest neighbours",
    "quadratic": "quadratic discriminant",
    "stack": "stack of four",
    "stack-lite": "stack of three",
}
RELEASE_NAMES = {
    "none": "true stars of every rated item",
    "selection": "true stars, some items held back",
    "scheme": "the attribute’s effect taken out",
    "scheme+rounding": "effect taken out, whole stars",
    "scheme+selection": "effect taken out, items held back",
    "scheme+selection+rounding": "effect taken out, items held back, whole stars",
    "movie-average": "every rating replaced by the item’s mean",
    "attribute-average": "replaced by the mean of a random group",
    "coupling": "stars redrawn to look alike in every group",
    "coupling+selection": "stars redrawn, items held back",
}
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
TIME, BREAKS = "Over time", "What breaks it: items known to be rated, and their number"
COST = "Releases and what they cost"


def page_of(table: HidingTable, manifest: Mapping[str, Any]) -> Page:
    """The panel, over time, what breaks it, releases and their cost, before and after."""
    judged = table.judged or "none"
    names = {row.attack: ATTACK_NAMES.get(row.attack, row.attack) for row in table.rows}
    spread = Figure(
        "AUC in every fold",
        "Strip plot of the AUC in every fold, by attacker, before and after obfuscation; figures "
        "are in the first table.",
        (("", plots.fold_spread(list(_groups(table, names)))),),
        "A dot is one fold of people, a thick bar the mean"
        + (f". After: {_spaced(judged)}." if table.judged else "."),
        [
            Mark("before (none)", "var(--before)", sign="●"),
            *(
                Mark(f"after, {name}", f"var(--{name})", sign="●")
                for name in ("frozen", "retrained")
                if table.judged
            ),
            Mark("guessing", "var(--ink)", sign="╎"),
        ],
    )
    panel = f"The panel on {_spaced(judged)}"
    sections = [
        Section(panel, [_panel(table, names)], key=_LEVEL_KEY),
        Section(TIME, [_over_time(table, names)] if table.over_time else ()),
        Section(BREAKS, [_known(table)] if table.known_items else ()),
        Section(COST, [_releases(table)], notes=_read(table)),
    ]
    if table.tradeoff:
        sections.append(Section("What hiding costs", figures=[_tradeoff(table, names)]))
    sections.append(Section("Before and after", figures=[spread, *_bars(table, names)]))
    return Page(
        f"How well is {table.attribute} hidden?",
        sections,
        manifest,
        verdict(table),
        list(_tiles(table, judged)),
        design="standard scheme",
        package=__package__,
        facts={
            "table": table,
            "folds": max(len(row.folds) for row in table.rows),
            "panel": panel,
            "judged": _spaced(judged),
        },
    )


def _spaced(release: str) -> str:
    return release.replace("+", " + ")


def _tiles(table: HidingTable, judged: str) -> Iterator[Tile]:
    """The figure, its control, and the same on true stars."""

    def tile(name: str, area: float, upper: float, note: str) -> Tile:
        level = _level(area)
        bound = f"{note}; 95% bound for all attackers together: {upper:.3f}"
        unit, says = "AUC of the strongest", LEVELS[level][1]
        return Tile(name, f"{area:.3f}", unit, bound, 2 * abs(area - 0.5), level, says)

    found = {row.release: row for row in table.worst}
    for release, name in {judged: "After obfuscation", "none": "True stars"}.items():
        if release in found:
            row = found[release]
            note = f"{ATTACK_NAMES.get(row.attack, row.attack)}, strongest of {row.attackers}"
            yield tile("True stars" if release == "none" else name, row.auc, row.upper, note)
    row = found[judged]
    if row.control is not None and row.control_upper is not None:
        note = "as expected" if row.control_holds else "not within its bound: read with care"
        yield tile("Permuted labels: nothing to find", row.control, row.control_upper, note)


def _area(area: float | None, small: str = "") -> Cell | None:
    if area is None:
        return None
    level = _level(area)
    return Cell(f"{area:.3f}", small, level, said=LEVELS[level][1])


def _attacked(row: AttackRow | TimeRow | KnownRow | SingleRow | None) -> Cell | None:
    return None if row is None else _area(row.auc, f"{row.low:.2f}–{row.high:.2f}")


def _cells(table: HidingTable) -> dict[tuple[str | None, str, str, str], AttackRow]:
    return {(r.release, r.view, r.trained_on, r.attack): r for r in table.rows}


def _panel(table: HidingTable, names: Mapping[str, str]) -> Table:
    cells = _cells(table)
    there = {place[:3] for place in cells}
    wanted = {
        "true stars": ("none", "union", "raw"),
        "frozen": (table.judged, "union", "raw"),
        "retrained": (table.judged, "union", "released"),
        "retrained, with weeks": (table.judged, "epochs", "released"),
    }
    places = {name: place for name, place in wanted.items() if place in there}
    control = {row.attack: row for row in table.control}
    rows = [
        (
            name,
            *(_attacked(cells.get((*place, attack))) for place in places.values()),
            _attacked(control.get(attack)),
        )
        for attack, name in names.items()
    ]
    columns = ("attacker", *places, "permuted labels")
    return Table("AUC of every attacker with its 95% interval", columns, rows)


def _over_time(table: HidingTable, names: Mapping[str, str]) -> Table:
    """The strongest on each schedule."""
    columns: dict[str, Callable[[TimeRow], object]] = {
        "schedule": lambda row: Cell(row.schedule, "the device refuses it" if row.refused else ""),
        "strongest attacker": lambda row: names.get(row.attack, row.attack),
        "AUC": _attacked,
        "items lost or changed": lambda row: table.lost.get(row.schedule, "–"),
    }
    strongest = [
        max(rows, key=lambda row: abs(row.auc - 0.5))
        for rows in grouped(table.over_time, lambda row: row.schedule).values()
    ]
    return Table.of("Table of schedules", columns, strongest)


def _known(table: HidingTable) -> Table:
    rows: list[tuple[object, ...]] = []
    for row in table.known_items:
        items = f"{row.known} rated item{'s' if row.known > 1 else ''}"
        rows.append((items, _attacked(row), f"{row.certain:.1%}"))
    rows += [(count.attack, _attacked(count), None) for count in table.counts]
    heads = ("known beside the release", "AUC", "people read with certainty")
    return Table("Table of attackers with other knowledge", heads, rows)


def _releases(table: HidingTable) -> Table:
    errors = {row.release: row for row in table.accuracy}
    base = errors["none"].rmse if "none" in errors else None

    def change(row: AccuracyRow) -> str:
        if base is None or row.release == "none":
            return "–"
        return f"{row.rmse / base - 1:+.1%}".replace("-", "\N{MINUS SIGN}")

    def cells(found: WorstRow) -> tuple[object, ...]:
        release, row = found.release, errors[found.release]
        mark = "judged" if release == table.judged else ""
        return (
            Cell(_spaced(release), RELEASE_NAMES.get(release, ""), mark=mark),
            Cell(f"{found.auc:.3f}", level=_level(found.auc)),
            f"{found.upper:.3f}",
            _area(table.fractions[release]),
            Cell(f"{row.rmse:.4f}", f"{row.rmse_low:.3f}–{row.rmse_high:.3f}"),
            change(row),
            f"{row.rmse_at_home:.4f}",
            f"{row.shown:.1%}",
            f"{row.ndcg:.3f}",
            f"{row.ranking['recall_at_10']:.3f}",
            f"{row.ndcg_stars:.3f}",
        )

    heads = [("", 1), ("strongest attacker", 2), ("", 1), ("RMSE, stars", 3), ("", 1)]
    heads += [("lists of 10", 3)]
    columns = (
        "release", "AUC", "bound", "fractions", "error", "change", "on device", "ratings shown",
        "NDCG", "recall", "NDCG, by stars",
    )  # fmt: skip
    return Table("Table of releases", columns, [cells(row) for row in table.worst], heads)


def _read(table: HidingTable) -> list[str]:
    """Whose fractions tell all."""
    read = [_spaced(name) for name, area in table.fractions.items() if _level(area) == TOP]
    if not read:
        return []
    said = f"The released fractions of {' and '.join(read)} tell {table.attribute} without any "
    return [f"{said}learning. The attackers do not look at them."]


def _tradeoff(table: HidingTable, names: Mapping[str, str]) -> Figure:
    rows = [
        (f"{p.mix:.0%}", f"{p.rmse:.4f}", *(_area(p.aucs.get(attack)) for attack in names))
        for p in table.tradeoff
    ]
    key = [
        Mark(name, plots.ATTACK_COLOURS[place % 4], sign="●■▲◆"[place % 4])
        for place, name in enumerate(names.values())
    ]
    return Figure(
        "",
        "Line plot: error of predictions against AUC of each attacker, for growing shares of "
        "obfuscated ratings; the table holds the same figures.",
        (("", plots.tradeoff(table.tradeoff, names)),),
        "Dice are thrown anew for this plot, so its ends differ a little from the tables above.",
        [*key, Mark("guessing", "var(--ink)", sign="╌")],
        Table("Table of the trade-off", ("obfuscated", "RMSE", *names.values()), rows),
    )


def _groups(
    table: HidingTable, names: Mapping[str, str]
) -> Iterator[tuple[str, str, str, tuple[float, ...]]]:
    cells = _cells(table)
    places = {
        "before": ("none", "union", "raw"),
        "frozen": (table.judged, "union", "raw"),
        "retrained": (table.judged, "union", "released"),
    }
    for attack, name in names.items():
        for group, place in places.items():
            row = cells.get((*place, attack))
            if row is not None:
                yield name, group, f"var(--{group})", row.folds


def _bars(table: HidingTable, names: Mapping[str, str]) -> Iterator[Figure]:
    """What the frozen attack that sees most in true ratings sees before and after."""
    attack, shares = _score_shares(table, list(names))
    if attack is None:
        return
    target = table.values[_target(table)]
    others = f"{table.attribute} {table.values[0]}" if len(table.values) == 2 else "all others"
    highest = max([0.2, *(float(share.max()) * 1.08 for share in shares.values())])
    yield Figure(
        f"What one attacker sees: {names[attack]}, frozen",
        "Bar plot: share of each group in every tenth of the attacker’s scores.",
        [(title, plots.score_bars(share, highest)) for title, share in shares.items()],
        "Everybody in the order of the attacker’s score: it believes those on the right to be "
        f"{target}. Where two bars are equally high, the score says nothing.",
        [
            Mark(others, "var(--v1)", sign="■"),
            Mark(f"{table.attribute} {target}", "var(--v2)", sign="■"),
            Mark("guessing", "var(--ink)", sign="╌"),
        ],
    )


def _score_shares(table: HidingTable, attacks: list[str]) -> tuple[str | None, dict[str, Any]]:
    """The frozen attack that sees most in true ratings, and `tenths` by title."""
    names = {"none": "Before"}
    if table.judged is not None:
        names[table.judged] = f"After {_spaced(table.judged)}"
    raw = {(r.release, r.attack): r for r in table.rows if r.trained_on == "raw"}
    for release in names:
        able = [a for a in attacks if (release, a) in table.scores and (release, a) in raw]
        if able:
            attack = max(able, key=lambda each: abs(raw[release, each].auc - 0.5))
            return attack, {
                title: plots.tenths(*table.scores[name, attack], _target(table))
                for name, title in names.items()
                if (name, attack) in table.scores
            }
    return None, {}


def _target(table: HidingTable) -> int:
    """The value that scores speak of: the second of two, the first of more."""
    return 1 if len(table.values) == 2 else 0


def _level(area: float) -> int:
    away = shown_distance(area)
    return next(number for number, (end, _) in enumerate(LEVELS) if away <= end)
