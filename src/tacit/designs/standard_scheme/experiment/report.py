"""The experiment's tables, and one page of them for a person who knows no AUC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tacit.designs.standard_scheme.experiment.table import (
    NEAR,
    AttackRow,
    HidingTable,
    KnownRow,
    SingleRow,
    TimeRow,
    WorstRow,
    shown_distance,
    verdict,
)
from tacit.evaluation import Table, grouped
from tacit.evaluation.page import Cell, Mark, Page, Section, Tile

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


def page_of(table: HidingTable, manifest: Mapping[str, Any]) -> Page:
    """The panel, over time, what breaks it, releases and their cost."""
    judged = table.judged or "none"
    panel = f"The panel on {judged}"
    breaks = "What breaks it: items known to be rated, and their number"
    sections = [
        Section(panel, [attackers(table)], key=_LEVEL_KEY),
        Section("Over time", [over_time(table)] if table.over_time else ()),
        Section(breaks, [knowledge(table)] if table.known_items else ()),
        Section("Releases and what they cost", [releases(table)], notes=read_exactly(table)),
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
    """The figure, the same on true stars, and the control."""
    found = {row.release: row for row in table.worst}
    shown = [
        (name, row.auc, row.upper, f"{row.attack}, strongest of {row.attackers}")
        for release, name in {judged: "After obfuscation", "none": "True stars"}.items()
        if (row := found.get(release))
    ]
    row = found[judged]
    if row.control is not None and row.control_upper is not None:
        note = "as expected" if row.control_holds else "not within its bound: read with care"
        shown.append(("Permuted labels: nothing to find", row.control, row.control_upper, note))
    for name, area, upper, note in shown:
        level = _level(area)
        bound = f"{note}; 95% bound for all attackers together: {upper:.3f}"
        unit, share = "AUC of the strongest", 2 * abs(area - 0.5)
        yield Tile(name, f"{area:.3f}", unit, bound, share, level, LEVELS[level][1])


def _area(area: float | None, small: str = "") -> Cell | None:
    if area is None:
        return None
    level = _level(area)
    return Cell(f"{area:.3f}", small, level, said=LEVELS[level][1])


def _attacked(row: AttackRow | TimeRow | KnownRow | SingleRow | None) -> Cell | None:
    return None if row is None else _area(row.auc, f"{row.low:.2f}–{row.high:.2f}")


def attackers(table: HidingTable) -> Table:
    """Every attacker on true stars and on the release that is judged."""
    cells = {(r.release, r.view, r.trained_on, r.attack): r for r in table.rows}
    there = {place[:3] for place in cells}
    wanted = {
        "true stars": ("none", "union", "raw"),
        "frozen": (table.judged, "union", "raw"),
        "retrained": (table.judged, "union", "released"),
        "weeks": (table.judged, "epochs", "released"),
    }
    places = {name: place for name, place in wanted.items() if place in there}
    control = {row.attack: row for row in table.control}
    rows = [
        (
            attack,
            *(_attacked(cells.get((*place, attack))) for place in places.values()),
            _attacked(control.get(attack)),
        )
        for attack in dict.fromkeys(row.attack for row in table.rows)
    ]
    columns = ("attacker", *places, "permuted")
    return Table("AUC of every attacker with its 95% interval", columns, rows)


def over_time(table: HidingTable) -> Table:
    """The strongest on each schedule."""
    columns: dict[str, Callable[[TimeRow], object]] = {
        "schedule": lambda row: row.schedule,
        "strongest attacker": lambda row: row.attack,
        "AUC": _attacked,
    }
    strongest = [
        max(rows, key=lambda row: abs(row.auc - 0.5))
        for rows in grouped(table.over_time, lambda row: row.schedule).values()
    ]
    return Table.of("Attackers who see every letter, over time", columns, strongest)


def knowledge(table: HidingTable) -> Table:
    """Attackers who know rated items, or how many there are."""
    rows: list[tuple[object, ...]] = []
    for row in table.known_items:
        items = f"{row.known} rated item{'s' if row.known > 1 else ''}"
        rows.append((items, _attacked(row), f"{row.certain:.1%}"))
    rows += [(count.attack, _attacked(count), None) for count in table.counts]
    heads = ("known beside the release", "AUC", "people read with certainty")
    return Table("What breaks it: other knowledge than the release", heads, rows)


def releases(table: HidingTable) -> Table:
    """The strongest attacker on each release, errors in stars, and lists."""
    errors = {row.release: row for row in table.accuracy}
    base = errors["none"].rmse if "none" in errors else None

    def cells(found: WorstRow) -> tuple[object, ...]:
        release, row = found.release, errors[found.release]
        changed = base is not None and release != "none"
        change = f"{row.rmse / base - 1:+.1%}" if base is not None and changed else "–"
        return (
            Cell(release, mark="judged" if release == table.judged else ""),
            Cell(f"{found.auc:.3f}", level=_level(found.auc)),
            f"{found.upper:.3f}",
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
    columns = (
        "release", "AUC", "bound", "fractions", "error", "change", "on device", "shown",
        "NDCG", "recall", "NDCG, by stars",
    )  # fmt: skip
    return Table("Releases and what they cost", columns, [cells(row) for row in table.worst], heads)


def read_exactly(table: HidingTable) -> list[str]:
    """Whose fractions tell all."""
    read = [name for name, area in table.fractions.items() if _level(area) == TOP]
    if not read:
        return []
    said = f"The released fractions of {' and '.join(read)} tell {table.attribute} without any "
    return [f"{said}learning. The attackers do not look at them."]


def shown(table: HidingTable) -> Iterator[Table | str]:
    """What the commands show."""
    yield f"Guessing {table.attribute} of {table.people:,} people."
    for row in table.worst:
        yield f"{row.release}: {table.sentence(row.release)}"
    yield plain(attackers(table))
    if table.over_time:
        yield plain(over_time(table))
    if table.known_items:
        yield plain(knowledge(table))
    yield from read_exactly(table)
    yield plain(releases(table), "release", "AUC", "error", "change", "NDCG", "shown")


def plain(table: Table, *columns: str) -> Table:
    """Some columns as text: what stands in small print comes below the number."""
    places = [table.columns.index(name) for name in columns or table.columns]

    def text(value: object) -> object:
        return f"{value.text}\n{value.small}".strip() if isinstance(value, Cell) else value

    rows = [[text(row[place]) for place in places] for row in table.rows]
    return Table(table.title, [table.columns[place] for place in places], rows)


def _level(area: float) -> int:
    away = shown_distance(area)
    return next(number for number, (end, _) in enumerate(LEVELS) if away <= end)
