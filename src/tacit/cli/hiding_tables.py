"""The tables of an attribute's hiding, narrow enough for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.cli import output

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


def worst(table: HidingTable) -> None:
    """The strongest attacker of each release, in the card's words."""
    for row in table.worst:
        sentence = table.sentence(row.release)
        output.console.print(f"{row.release}: {sentence}", soft_wrap=True, markup=False)


def attacks(rows: Sequence[Row]) -> None:
    """One table per release: attackers down, frozen and retrained across."""
    for release in dict.fromkeys(row["release"] for row in rows):
        cells = {
            (row["attack"], (row["view"], row["trained_on"])): row
            for row in rows
            if row["release"] == release
        }
        kinds = [kind for kind in VIEWS if any(place == kind for _, place in cells)]
        output.table(
            f"{release}: AUC (0.5 is guessing) and 95 % interval",
            ("attacker", *(VIEWS[kind] for kind in kinds)),
            [
                (attack, *(_cell(cells.get((attack, kind))) for kind in kinds))
                for attack in dict.fromkeys(attack for attack, _ in cells)
            ],
        )


def over_time(rows: Sequence[Row]) -> None:
    """Attackers who see every letter, by schedule."""
    if rows:
        output.table(
            "All letters seen: AUC",
            ("schedule", "attacker", "AUC", "95 % interval"),
            [
                (
                    row["schedule"] + (" (refused by devices)" if row["refused"] else ""),
                    row["attack"],
                    row["auc"],
                    f"{row['low']:.2f} to {row['high']:.2f}",
                )
                for row in rows
            ],
        )


def known(items: Sequence[Row], counts: Sequence[Row]) -> None:
    """Attackers who know rated items, or how many there are."""
    rows = [(f"{row['known']} rated items", row["auc"], f"{row['certain']:.1%}") for row in items]
    rows += [(row["attack"], row["auc"], "") for row in counts]
    if rows:
        output.table(
            "What breaks it: other knowledge than the release",
            ("known", "AUC", "read with certainty"),
            rows,
        )


def _cell(row: Row | None) -> str | None:
    if row is None:
        return None
    return f"{row['auc']:.3f} ({row['low']:.2f} to {row['high']:.2f})"


def fractions(areas: Mapping[str, float]) -> None:
    """A sentence about releases that arithmetic reads without any learning."""
    read = [release for release, area in areas.items() if area > 0.9]
    if read:
        output.console.print(
            f"{' and '.join(read)}: the released fractions tell the attribute exactly, without any "
            "learning. The attackers above do not look at them.",
            style="bold",
        )


def intervals(rows: Sequence[Row]) -> None:
    """Few releases, each figure with its 95 % interval; a table per kind of attacker."""
    for trained_on, title in TITLES.items():
        output.table(
            title,
            ("release", "attacker", "AUC", "95 % interval"),
            [
                (
                    row["release"],
                    row["attack"],
                    row["auc"],
                    f"{row['low']:.2f} to {row['high']:.2f}",
                )
                for row in sorted(rows, key=lambda row: str(row["attack"]))
                if row["trained_on"] == trained_on
            ],
        )


def accuracy(rows: Sequence[AccuracyRow]) -> None:
    """Errors, their change against no obfuscation, and lists."""
    base = next((row.rmse for row in rows if row.release == "none"), None)
    output.table(
        "Error in stars, lists of 10, and how much is shown",
        ("release", "RMSE", "change", "on device", "NDCG", "recall", "shown"),
        [
            (
                row.release,
                f"{row.rmse:.4f}",
                "" if base is None else f"{row.rmse / base - 1:+.1%}",
                f"{row.rmse_at_home:.4f}",
                row.ndcg,
                row.ranking["recall_at_10"],
                f"{row.shown:.0%}",
            )
            for row in rows
        ],
    )


def control(rows: Sequence[Row]) -> None:
    """The same attacks where nothing can be found."""
    output.table(
        "Control: the same attacks on permuted labels",
        ("attack", "AUC", "interval"),
        [(row["attack"], row["auc"], f"{row['low']:.2f} to {row['high']:.2f}") for row in rows],
    )
