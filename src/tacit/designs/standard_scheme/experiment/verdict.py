"""What the experiment on hiding found, in words computed from its numbers."""

from __future__ import annotations

from tacit.designs.standard_scheme.experiment.table import HidingTable, WorstRow
from tacit.evaluation.result import Verdict
from tacit.privacy.guarantee import SMALL

NEAR = 0.06
"""An AUC this close to 0.5 counts as near guessing."""


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
