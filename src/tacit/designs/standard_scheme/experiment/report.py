"""Tables and the page of `tacit evaluate standard-scheme` and `tacit attack standard-scheme`.

The page is written for readers who do not know what an AUC is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.designs.standard_scheme.experiment.levels import NEAR, shown_distance
from tacit.designs.standard_scheme.experiment.table import (
    AttackRow,
    HidingTable,
    KnownRow,
    WorstRow,
    verdict,
)
from tacit.evaluation import Table, group_by
from tacit.evaluation.page import Cell, Mark, Page, Section, Tile

LEAK_LEVELS = (
    (0.02, "guessing"),
    (NEAR, "near guessing"),
    (0.12, "slight leak"),
    (0.2, "clear leak"),
    (0.3, "strong leak"),
    (0.5, "very strong leak"),
)
"""(largest distance of an AUC from 0.5, name) of each level of a leak, the smallest first."""
TOP_LEVEL = len(LEAK_LEVELS) - 1
_LEVEL_KEY = [
    Mark(f"{word} ≤ {end:.2f}" if level < TOP_LEVEL else word, level=level)
    for level, (end, word) in enumerate(LEAK_LEVELS)
]
"""Key of the colours of the levels."""


def page_of(table: HidingTable, manifest: Mapping[str, Any]) -> Page:
    """Make the page: lists on devices, attackers, attackers who know more, what releases cost."""
    judged = table.judged or "none"
    panel_title = f"The panel on {judged}"
    knowledge_title = "What breaks it: items known to be rated, and their number"
    sections = [
        Section("First: lists on the device", [lists_table(table)], notes=table.describe_lists()),
        Section(panel_title, [attackers_table(table)], key=_LEVEL_KEY),
        Section("Over time", [over_time_table(table)] if table.over_time else ()),
        Section(knowledge_title, [knowledge_table(table)] if table.known_items else ()),
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
        facts={"table": table, "panel": panel_title},
    )


def _tiles(table: HidingTable, judged: str) -> Iterator[Tile]:
    """Yield tiles for the judged release, true stars and the control, where they were measured."""
    worst = {row.release: row for row in table.worst}
    for release, title in {judged: "After obfuscation", "none": "True stars"}.items():
        if release in worst:
            row = worst[release]
            note = f"{row.attack}, strongest of {row.attackers}"
            yield _tile(title, row.auc, row.upper, note)
    row = worst[judged]
    if row.control is not None and row.control_upper is not None:
        note = "as expected" if row.control_holds else "not within its bound: read with care"
        yield _tile("Permuted labels: nothing to find", row.control, row.control_upper, note)


def _tile(title: str, area: float, upper: float, note: str) -> Tile:
    """Make the tile of an AUC with the upper bound for all attackers together."""
    level = _leak_level(area)
    _, word = LEAK_LEVELS[level]
    distance = 2 * abs(area - 0.5)  # from 0.5, as a share of the largest distance
    return Tile(
        name=title,
        value=f"{area:.3f}",
        unit="AUC of the strongest",
        note=f"{note}; 95% bound for all attackers together: {upper:.3f}",
        share=distance,
        level=level,
        says=word,
    )


def _area_cell(area: float | None, small: str = "") -> Cell | None:
    """Make the cell of an AUC, coloured by its level, with a text in small print below it."""
    if area is None:
        return None
    level = _leak_level(area)
    _, word = LEAK_LEVELS[level]
    return Cell(f"{area:.3f}", small=small, level=level, spoken=word)


def _attack_cell(row: AttackRow | KnownRow | None) -> Cell | None:
    """Make the cell of an attacker's AUC with its interval; None without an attacker."""
    return None if row is None else _area_cell(row.auc, f"{row.low:.2f}–{row.high:.2f}")


def attackers_table(table: HidingTable) -> Table:
    """Tabulate the attackers on true stars, on the judged release and on permuted labels."""
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
    """Tabulate the strongest attacker on each schedule."""
    rows = []
    for schedule, attackers in group_by(table.over_time, lambda row: row.view).items():
        strongest = max(attackers, key=lambda row: abs(row.auc - 0.5))
        rows.append((schedule, strongest.attack, _attack_cell(strongest)))
    columns = ("schedule", "strongest attacker", "AUC")
    return Table("Attackers who see every letter, over time", columns, rows)


def knowledge_table(table: HidingTable) -> Table:
    """Tabulate attackers who know rated items by name, or their number."""
    rows: list[tuple[object, ...]] = []
    for row in table.known_items:
        items = f"{row.known} rated item{'s' if row.known > 1 else ''}"
        rows.append((items, _attack_cell(row), f"{row.certain:.1%}"))
    rows += [(count.attack, _attack_cell(count), None) for count in table.counts]
    heads = ("known beside the release", "AUC", "people read with certainty")
    return Table("What breaks it: other knowledge than the release", heads, rows)


def cost_table(table: HidingTable) -> Table:
    """Tabulate, for each release, the strongest attacker, errors in stars, and quality of lists."""
    errors = {row.release: row for row in table.accuracy}
    rmse_of_true_stars = errors["none"].rmse if "none" in errors else None

    def make_cells(worst: WorstRow) -> tuple[object, ...]:
        """Make the cells of one release, in the order of `columns`."""
        release = worst.release
        row = errors[release]
        if rmse_of_true_stars is None or release == "none":
            change = "–"
        else:
            change = f"{row.rmse / rmse_of_true_stars - 1:+.1%}"
        return (
            Cell(release, mark="judged" if release == table.judged else ""),
            Cell(f"{worst.auc:.3f}", level=_leak_level(worst.auc)),
            f"{worst.upper:.3f}",
            _area_cell(table.fractions[release]),
            Cell(f"{row.rmse:.4f}", f"{row.rmse_low:.3f}–{row.rmse_high:.3f}"),
            change.replace("-", "\N{MINUS SIGN}"),
            f"{row.rmse_at_home:.4f}",
            f"{row.shown:.1%}",
            f"{row.ndcg:.3f}",
            f"{row.recall_at_10:.3f}",
            f"{row.ndcg_stars:.3f}",
        )

    # Headings above the columns, each with the number of columns that it covers.
    heads = [("", 1), ("strongest attacker", 2), ("", 1), ("RMSE, stars", 3), ("", 1)]
    heads += [("lists of 10", 3)]
    columns = ["release", "AUC", "bound", "fractions", "error", "change", "on device", "shown"]
    columns += ["NDCG", "recall", "NDCG, by stars"]
    return Table("Releases and what they cost", columns, list(map(make_cells, table.worst)), heads)


def lists_table(table: HidingTable) -> Table:
    """Tabulate the lists made on the device, then those made from releases."""
    rows: list[tuple[object, ...]] = []
    for device_row in table.at_device:
        interval = f"{device_row.ndcg_low:.3f}–{device_row.ndcg_high:.3f}"
        ndcg = Cell(f"{device_row.ndcg:.3f}", interval)
        rows.append((device_row.release, "nothing", device_row.numbers or None, ndcg))
    for row in table.accuracy:
        interval = f"{row.ndcg_low:.3f}–{row.ndcg_high:.3f}"
        sent = f"{row.shown:.0%} of the ratings"
        rows.append((row.release, sent, None, Cell(f"{row.ndcg:.3f}", interval)))
    heads = ("list", "sent", "public numbers an item", "NDCG")
    return Table("Lists of 10 made on the device and from releases", heads, rows)


def describe_exact_leaks(table: HidingTable) -> list[str]:
    """Say which releases reveal the attribute by the fractions of their levels."""
    leaking = [name for name, area in table.fractions.items() if _leak_level(area) == TOP_LEVEL]
    if not leaking:
        return []
    sentence = (
        f"The released fractions of {' and '.join(leaking)} tell {table.attribute} without any "
        "learning. The attackers do not look at them."
    )
    return [sentence]


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
    """Make a table of texts for the terminal, with small print below the number.

    Args:
        table: The table, with cells.
        columns: Names of the columns to keep; all if none is given.
    """
    numbers = [table.columns.index(name) for name in columns or table.columns]
    rows = [_plain_texts(row, numbers) for row in table.rows]
    return Table(table.title, [table.columns[number] for number in numbers], rows)


def _plain_texts(row: Sequence[object], columns: Sequence[int]) -> list[object]:
    """Return the texts of the cells of a row in these columns."""
    return [_plain_text(row[column]) for column in columns]


def _plain_text(value: object) -> object:
    """Return a cell's text with its small print below; other values unchanged."""
    return f"{value.text}\n{value.small}".strip() if isinstance(value, Cell) else value


def _leak_level(area: float) -> int:
    """Return the number of the level in `LEAK_LEVELS` that an AUC belongs to."""
    distance = shown_distance(area)
    return next(level for level, (end, _) in enumerate(LEAK_LEVELS) if distance <= end)
