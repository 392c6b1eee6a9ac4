"""The tables of an attribute's hiding, narrow enough for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.evaluation.result import Table

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.experiment.table import AccuracyRow, HidingTable

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
    columns = {
        "schedule": lambda row: (
            row["schedule"] + (" (refused by devices)" if row["refused"] else "")
        ),
        "attacker": lambda row: row["attack"],
        "AUC": lambda row: row["auc"],
        "95 % interval": _ends,
    }
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
    columns = {
        "release": lambda row: row["release"],
        "attacker": lambda row: row["attack"],
        "AUC": lambda row: row["auc"],
        "95 % interval": _ends,
    }
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
    columns = {
        "attack": lambda row: row["attack"],
        "AUC": lambda row: row["auc"],
        "interval": _ends,
    }
    return Table.of("Control: the same attacks on permuted labels", columns, rows)


def _ends(row: Row) -> str:
    return f"{row['low']:.2f} to {row['high']:.2f}"


def _cell(row: Row | None) -> str | None:
    return None if row is None else f"{row['auc']:.3f} ({_ends(row)})"
