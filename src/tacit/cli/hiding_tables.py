"""The tables of an attribute's hiding, narrow enough for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.cli import output

if TYPE_CHECKING:
    from tacit.evaluation.hiding import AccuracyRow

Row = Mapping[str, Any]
TITLES = {
    "raw": "Frozen attackers, trained on true stars: AUC (0.5 is guessing)",
    "released": "Retrained attackers, who know the method: AUC",
}


def attacks(rows: Sequence[Row]) -> None:
    """One table per kind of attacker: releases down, attacks across."""
    for trained_on, title in TITLES.items():
        kind = [row for row in rows if row["trained_on"] == trained_on]
        columns = list(dict.fromkeys(row["attack"] for row in kind))
        areas = {(row["release"], row["attack"]): row["auc"] for row in kind}
        output.table(
            title,
            ("release", *columns),
            [
                (release, *(areas.get((release, attack)) for attack in columns))
                for release in dict.fromkeys(row["release"] for row in kind)
            ],
        )


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
    """Few releases, each figure with its 95 % interval over folds; a table per attacker."""
    for trained_on, title in TITLES.items():
        kind = [row for row in rows if row["trained_on"] == trained_on]
        output.table(
            title,
            ("release", "attack", "AUC", "95 % interval"),
            [
                (
                    row["release"],
                    row["attack"],
                    row["auc"],
                    f"{row['low']:.2f} to {row['high']:.2f}",
                )
                for row in sorted(kind, key=lambda row: row["attack"])
            ],
        )


def accuracy(rows: Sequence[AccuracyRow]) -> None:
    """Errors, their change against no obfuscation, and lists."""
    base = next((row.rmse for row in rows if row.release == "none"), None)
    output.table(
        "Error in stars, lists of 10, and how much is shown",
        ("release", "RMSE", "change", "at home", "NDCG", "recall", "shown"),
        [
            (
                row.release,
                f"{row.rmse:.4f}",
                "" if base is None else f"{row.rmse / base - 1:+.1%}",
                f"{row.rmse_at_home:.4f}",
                row.ranking["ndcg_at_10"],
                row.ranking["recall_at_10"],
                f"{row.shown:.0%}",
            )
            for row in rows
        ],
    )


def watched(rows: Sequence[Row]) -> None:
    """The default release sent after every rating, to an attacker who keeps them all."""
    if rows:
        output.table(
            "Sent after every rating, all kept: frozen attackers",
            ("attack", "AUC", "interval"),
            [(row["attack"], row["auc"], f"{row['low']:.2f} to {row['high']:.2f}") for row in rows],
        )


def control(rows: Sequence[Row]) -> None:
    """The same attacks where nothing can be found."""
    output.table(
        "Control: the same attacks on permuted labels",
        ("attack", "AUC", "interval"),
        [(row["attack"], row["auc"], f"{row['low']:.2f} to {row['high']:.2f}") for row in rows],
    )
