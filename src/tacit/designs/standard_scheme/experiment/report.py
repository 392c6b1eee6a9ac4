"""One self-contained page about how well an attribute is hidden, for a person who knows no AUC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.designs.standard_scheme.experiment.table import HidingTable, TimeRow, WorstRow
from tacit.evaluation.page import fill, flat, write_page
from tacit.evaluation.result import Verdict
from tacit.privacy.guarantee import SMALL

NEAR = 0.06
"""An AUC this close to 0.5 counts as near guessing."""

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


def write_report(table: HidingTable, manifest: Mapping[str, Any], path: str | Path) -> None:
    """Render the page and write it."""
    write_page(render(table, manifest), path)


def render(table: HidingTable, manifest: Mapping[str, Any]) -> str:
    """The page as HTML: no script, no address, every word of the data escaped."""
    filters = {
        "level": _level,
        "leak": lambda area: LEVELS[_level(area)][1],
        "change": lambda share: f"{share:+.1%}".replace("-", "\N{MINUS SIGN}"),
    }
    return fill(__package__, _facts(table, manifest), filters)


def _facts(table: HidingTable, manifest: Mapping[str, Any]) -> dict[str, Any]:
    attacks = list(dict.fromkeys(row.attack for row in table.rows))
    judged = table.judged or "none"
    return {
        "table": table,
        "verdict": verdict(table),
        "judged": judged,
        "tiles": _tiles(table, judged),
        "attacks": {attack: ATTACK_NAMES.get(attack, attack) for attack in attacks},
        "columns": _columns(table, judged),
        "cells": {(r.release, r.view, r.trained_on, r.attack): r for r in table.rows},
        "control": {row.attack: row for row in table.control},
        "watched": _watched(table),
        "meanings": RELEASE_NAMES,
        "accuracy": {row.release: row for row in table.accuracy},
        "worst": {row.release: row for row in table.worst},
        "read": [name for name, area in table.fractions.items() if _level(area) == TOP],
        "levels": LEVELS,
        "folds": max(len(row.folds) for row in table.rows),
        "manifest": list(flat(manifest)),
        "date": manifest.get("date"),
    } | _plots(table, attacks)


def _tiles(table: HidingTable, judged: str) -> list[tuple[str, float, float, str]]:
    """Name, AUC, bound and a note of the figure, its control, and the same on true stars."""
    found = {row.release: row for row in table.worst}
    tiles = []
    for release, name in {judged: "After obfuscation", "none": "True stars"}.items():
        if release in found:
            row = found[release]
            name = "True stars" if release == "none" else name
            note = f"{ATTACK_NAMES.get(row.attack, row.attack)}, strongest of {row.attackers}"
            tiles.append((name, row.auc, row.upper, note))
    row = found[judged]
    if row.control is not None and row.control_upper is not None:
        note = "as expected" if row.control_holds else "not within its bound: read with care"
        tiles.append(("Permuted labels: nothing to find", row.control, row.control_upper, note))
    return tiles


def _columns(table: HidingTable, judged: str) -> list[tuple[str, tuple[str, str, str]]]:
    """Headings of the panel's table, and release, view and training of the cells below."""
    wanted = {
        "true stars": ("none", "union", "raw"),
        "frozen": (judged, "union", "raw"),
        "retrained": (judged, "union", "released"),
        "retrained, with weeks": (judged, "epochs", "released"),
    }
    there = {(row.release, row.view, row.trained_on) for row in table.rows}
    if judged == "none":
        return [("true stars", wanted["true stars"])]
    return [(name, place) for name, place in wanted.items() if place in there]


def _watched(table: HidingTable) -> dict[str, list[TimeRow]]:
    """Rows over time by schedule, the strongest first."""
    watched: dict[str, list[TimeRow]] = {row.schedule: [] for row in table.over_time}
    for row in sorted(table.over_time, key=lambda row: -abs(row.auc - 0.5)):
        watched[row.schedule].append(row)
    return watched


def _plots(table: HidingTable, attacks: list[str]) -> dict[str, Any]:
    from tacit.evaluation import plots

    names = {attack: ATTACK_NAMES.get(attack, attack) for attack in attacks}
    drawn = plots.tradeoff(table.tradeoff, names) if table.tradeoff else ""
    scored, shares = _score_shares(table, attacks)
    highest = max([0.2, *(float(share.max()) * 1.08 for _, share in shares)])
    return {
        "tradeoff": drawn,
        "spread": plots.fold_spread(list(_groups(table, names))),
        "scored": scored,
        "target": table.values[_target(table)],
        "bars": [(name, plots.score_bars(share, highest)) for name, share in shares],
    }


def _groups(
    table: HidingTable, names: Mapping[str, str]
) -> Iterator[tuple[str, str, str, tuple[float, ...]]]:
    cells = {(r.release, r.view, r.trained_on, r.attack): r for r in table.rows}
    places = {
        "before": ("none", "union", "raw"),
        "frozen": (table.judged, "union", "raw"),
        "retrained": (table.judged, "union", "released"),
    }
    for attack, name in names.items():
        for group, place in places.items():
            row = cells.get((*place, attack))  # type: ignore[arg-type]  # nothing judged: no row
            if row is not None:
                yield name, group, f"var(--{group})", row.folds


def _score_shares(table: HidingTable, attacks: list[str]) -> tuple[str | None, list[Any]]:
    """The frozen attack that sees most in true ratings, and `tenths` before and after."""
    from tacit.evaluation.plots import tenths

    names = [name for name in ("none", table.judged) if name is not None]
    raw = {(r.release, r.attack): r for r in table.rows if r.trained_on == "raw"}
    for release in names:
        able = [a for a in attacks if (release, a) in table.scores and (release, a) in raw]
        if able:
            attack = max(able, key=lambda each: abs(raw[release, each].auc - 0.5))
            shares = [
                (name, tenths(*table.scores[name, attack], _target(table)))
                for name in names
                if (name, attack) in table.scores
            ]
            return attack, shares
    return None, []


def _target(table: HidingTable) -> int:
    """The value that scores speak of: the second of two, the first of more."""
    return 1 if len(table.values) == 2 else 0


def _level(area: float) -> int:
    away = shown_distance(area)
    return next(number for number, (end, _) in enumerate(LEVELS) if away <= end)


def shown_distance(area: float) -> float:
    """Distance from 0.5 of an AUC as the reader sees it, in hundredths."""
    return round(abs(round(area, 2) - 0.5), 2)


def verdict(table: HidingTable) -> Verdict:
    """One headline and a few plain sentences, about the strongest attacker of all."""
    after = None if table.judged is None else table.worst_of(table.judged)
    before = table.worst_of("none")
    state, headline = _headline(table, before, after)
    opening = "" if before is None else f"On true stars the strongest reaches {before.auc:.2f}."
    found = "" if after is None else table.sentence(after.release)
    parts = [found, opening, _fractions(table), _cost(table)]
    return Verdict(state, headline, " ".join(part for part in parts if part))


def _headline(
    table: HidingTable, before: WorstRow | None, after: WorstRow | None
) -> tuple[str, str]:
    if after is None:
        return "none", "Nothing was obfuscated"
    distance = max(after.auc, 0.5 + _read_from_fractions(table)) - 0.5
    if after.too_few and distance < SMALL:
        return "none", "Too few people to say"
    if before is not None and distance > max(before.auc - 0.5, NEAR):
        return "worse", "Easier to guess than before"
    state = "open" if before is None or distance > (before.auc - 0.5) / 2 else "weakened"
    return state, f"Guessed with AUC {0.5 + distance:.2f} by the strongest attacker"


def _read_from_fractions(table: HidingTable) -> float:
    return shown_distance(table.fractions.get(table.judged or "", 0.5))


def _fractions(table: HidingTable) -> str:
    after = None if table.judged is None else table.worst_of(table.judged)
    read = _read_from_fractions(table)
    if after is None or read <= max(NEAR, after.auc - 0.5):
        return ""
    return (
        "Arithmetic on the released fractions, which needs no learning, reaches AUC "
        f"{0.5 + read:.2f}."
    )


def _cost(table: HidingTable) -> str:
    errors = {row.release: row for row in table.accuracy}
    before, after = errors.get("none"), errors.get(table.judged or "")
    if after is None:
        return ""
    if before is None:
        return f"The error of predicted ratings (RMSE) is {after.rmse:.3f} stars."
    change = round(after.rmse / before.rmse - 1, 3)
    verb = "rises" if change > 0 else "falls"
    error = "stays the same" if change == 0 else f"{verb} by {abs(change):.1%}"
    lists = f", and lists keep {after.ndcg / before.ndcg:.0%} of their NDCG" if before.ndcg else ""
    return (
        f"The error of predicted ratings (RMSE) {error}, from {before.rmse:.3f} to "
        f"{after.rmse:.3f} stars{lists}."
    )
