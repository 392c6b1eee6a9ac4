"""What an experiment on hiding an attribute found, in words computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.evaluation.hiding import AttackRow, HidingTable

NEAR = 0.06
"""An AUC this close to 0.5 counts as near guessing: what the standard scheme is held to here."""

RECOMMENDED = (
    "scheme+selection+rounding",
    "coupling+selection",
    "scheme+selection",
    "scheme+rounding",
    "coupling",
    "scheme",
    "selection",
    "attribute-average",
    "movie-average",
)
"""Releases in the order in which one is chosen to be judged, before any number is seen."""

ATTACK_NAMES = {
    "naive-bayes": "naive Bayes",
    "logistic-regression": "logistic regression",
    "svm": "support vector machine",
    "lda": "linear discriminant",
}


@dataclass(frozen=True)
class Verdict:
    """state: hidden, weakened, open, worse, little (to hide) or none (nothing obfuscated)."""

    state: str
    headline: str
    sentence: str


@dataclass(frozen=True)
class Strongest:
    """The attacks farthest from 0.5: without obfuscation, and frozen and retrained with it.

    fractions: AUC of a look at the released fractions of the release that is judged
    """

    before: AttackRow | None
    frozen: AttackRow | None
    retrained: AttackRow | None
    fractions: float

    @property
    def after(self) -> list[AttackRow]:
        return [row for row in (self.frozen, self.retrained) if row is not None]


def recommended(table: HidingTable) -> str | None:
    """The release to judge; None where nothing is obfuscated."""
    measured = {row.release for row in table.rows}
    return next((name for name in RECOMMENDED if name in measured), None)


def shown_distance(area: float) -> float:
    """Distance from 0.5 of an AUC as the reader sees it, in hundredths."""
    return round(abs(round(area, 2) - 0.5), 2)


def strongest(table: HidingTable) -> Strongest:
    """Chosen among the attacks measured, so each is biased away from 0.5, if anything."""
    release = recommended(table)

    def of(name: str | None, trained_on: str) -> AttackRow | None:
        return _farthest(r for r in table.rows if (r.release, r.trained_on) == (name, trained_on))

    before = of("none", "raw") or of("none", "released")
    fractions = table.fractions.get(release or "", 0.5)
    return Strongest(before, of(release, "raw"), of(release, "released"), fractions)


def verdict(table: HidingTable) -> Verdict:
    """One headline and a few plain sentences."""
    found = strongest(table)
    state = _state(found)
    headline = {
        "hidden": "Well hidden from these attackers",
        "weakened": "Harder to guess, but not hidden",
        "open": "Not hidden",
        "worse": "Easier to guess than before",
        "little": "There was little to hide",
        "none": "Nothing was obfuscated",
    }[state]
    if state == "hidden" and found.retrained is None:
        headline = "Well hidden from attackers who do not know the method"
    if state == "hidden" and found.frozen is None:
        headline = "Well hidden from attackers who know the method"
    parts = [_before(table, found), _after(table, found), _cost(table)]
    return Verdict(state, headline, " ".join(part for part in parts if part))


def _farthest(rows: Iterable[AttackRow]) -> AttackRow | None:
    return max(rows, key=lambda row: abs(row.auc - 0.5), default=None)


def _state(found: Strongest) -> str:
    if not found.after:
        return "none"
    after = max(shown_distance(area) for area in [found.fractions, *_areas(found)])
    if found.before is None:
        return "hidden" if after <= NEAR else "open"
    before = shown_distance(found.before.auc)
    if after > max(before, NEAR):
        return "worse"
    if before <= NEAR:
        return "little"
    if after <= NEAR:
        return "hidden"
    return "weakened" if after <= before / 2 else "open"


def rate(area: float) -> str:
    """How often a pair is told apart: an AUC below 0.5 is the same guess turned round."""
    return f"{0.5 + shown_distance(area):.0%}"


def _areas(found: Strongest) -> list[float]:
    return [row.auc for row in found.after]


def _fractions_lead(found: Strongest) -> bool:
    return shown_distance(found.fractions) > max(NEAR, *map(shown_distance, _areas(found)))


def _pair(table: HidingTable) -> str:
    if len(table.values) == 2:
        first, second = table.values
        return f"one person of {table.attribute} {first} and one of {table.attribute} {second}"
    return f"a person of one {table.attribute} and a person of another"


def _before(table: HidingTable, found: Strongest) -> str:
    if found.before is None:
        return ""
    return (
        f"Without obfuscation, the best attacker shown {_pair(table)} tells which is which "
        f"{rate(found.before.auc)} of the time, where 50% is guessing."
    )


def _after(table: HidingTable, found: Strongest) -> str:
    release = recommended(table)
    if release is None:
        return ""
    opening = f"After {release.replace('+', ' + ')},"
    guessing = ""
    if found.before is None:
        opening += f" with {_pair(table)} to tell apart,"
        guessing = ", where 50% is guessing"
    told = []
    if found.frozen is not None:
        told.append(
            "the best attacker trained on true ratings is right "
            f"{rate(found.frozen.auc)} of the time"
        )
    if found.retrained is not None:
        told.append(
            "the best attacker who knows the method, trained on obfuscated ratings, is right "
            f"{rate(found.retrained.auc)} of the time"
        )
    sentence = f"{opening} {' and '.join(told)}{guessing}."
    if found.retrained is None:
        sentence += " Attackers who know the method were not measured."
    if _fractions_lead(found):
        sentence += (
            " Arithmetic on the released fractions, which needs no learning, is right "
            f"{rate(found.fractions)} of the time."
        )
    return sentence


def _cost(table: HidingTable) -> str:
    errors = {row.release: row.rmse for row in table.accuracy}
    before, after = errors.get("none"), errors.get(recommended(table) or "")
    if after is None:
        return ""
    if before is None:
        return f"The error of predicted ratings (RMSE) is {after:.3f} stars."
    change = round(after / before - 1, 3)
    span = f"from {before:.3f} to {after:.3f} stars"
    if change == 0:
        return f"The error of predicted ratings (RMSE) stays the same, {span}."
    verb = "rises" if change > 0 else "falls"
    return f"The error of predicted ratings (RMSE) {verb} by {abs(change):.1%}, {span}."
