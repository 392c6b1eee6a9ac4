"""Findings of the experiment on hiding: rows for people and programs, and a verdict in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit.designs.standard_scheme.experiment.at_device import (
    SIZES,
    DeviceListRow,
    ListComparison,
    at_device_name,
    describe_comparison,
)
from tacit.designs.standard_scheme.experiment.setup import DEFAULT_RELEASE, UNION
from tacit.evaluation import Verdict
from tacit.privacy import PANEL, PERMUTED, SMALL, Measurement, attack_summary

NEAR = 0.06
"""An AUC this close to 0.5 counts as near guessing."""


@dataclass(frozen=True)
class AttackRow:
    """One attacker on one release.

    view: union (the last set), epochs (and in which week each item came), a schedule, or what is
    known beside the release. trained_on: raw (frozen) or released (knows the method). auc: of the
    scores of all folds together. low, high: 95 % over people, this row by itself. auc_of_folds:
    mean of the folds' own AUC, as the patent's Table 1 has it.
    """

    release: str
    view: str
    attack: str
    trained_on: str
    auc: float
    low: float
    high: float
    auc_of_folds: float


@dataclass(frozen=True)
class AccuracyRow:
    """Errors in stars, means over folds, where the recommender guesses the attribute (as in the
    paper); `_at_home`: where the person's own device adds its effect. ndcg, recall: lists of 10 by
    item-item weights; ndcg_stars: by predicted stars on the device. shown: share of the ratings
    released.
    """

    release: str
    rmse: float
    mae: float
    ndcg: float
    shown: float
    rmse_low: float
    rmse_high: float
    rmse_at_home: float
    ndcg_low: float
    ndcg_high: float
    recall_at_10: float
    ndcg_stars: float


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated: the patent's alpha.

    auc_ranges, rmse_range: ends of the 95 % intervals over folds.
    """

    mix: float
    aucs: dict[str, float]
    rmse: float
    auc_ranges: dict[str, tuple[float, float]]
    rmse_range: tuple[float, float]


@dataclass(frozen=True)
class KnownRow:
    """An attacker who knows so many rated items by name. certain: share of people read for sure."""

    known: int
    auc: float
    low: float
    high: float
    certain: float


@dataclass(frozen=True)
class WorstRow:
    """The strongest attacker on a release, over all views and schedules that a device allows.

    auc: 0.5 plus its distance from 0.5. upper: bound for all attackers at once, 95 %; lower: some
    attacker reaches so much. control, control_upper: the same on permuted labels, which `holds`
    guessing if it should.
    """

    release: str
    auc: float
    upper: float
    lower: float
    attack: str
    view: str
    trained_on: str
    attackers: int
    control: float | None
    control_upper: float | None
    control_holds: bool | None
    people: int
    rarest: int
    too_few: bool


@dataclass(frozen=True)
class HidingTable:
    """The whole experiment.

    over_time  attackers on the last of a sequence of letters, who see when each item came
    counts     attackers who know the number of rated items; control: on permuted labels
    fractions  release -> AUC of looking at the released fractions with the public offsets in hand;
               1 on unrounded whole stars, where nothing has to be learned
    at_device  lists for which nothing is sent
    lists_compared  the judged release's lists less those made on the device, for whom
    """

    attribute: str
    values: tuple[str, ...]
    people: int
    judged: str | None
    rows: tuple[AttackRow, ...]
    worst: tuple[WorstRow, ...]
    over_time: tuple[AttackRow, ...]
    known_items: tuple[KnownRow, ...]
    counts: tuple[AttackRow, ...]
    control: tuple[AttackRow, ...]
    accuracy: tuple[AccuracyRow, ...]
    at_device: tuple[DeviceListRow, ...]
    lists_compared: tuple[ListComparison, ...]
    fractions: dict[str, float]
    tradeoff: tuple[MixPoint, ...]

    def strongest_on(self, release: str) -> WorstRow | None:
        """Row of the strongest attacker on a release; None if it was not attacked."""
        return next((row for row in self.worst if row.release == release), None)

    def measurements(self, release: str, data: str) -> tuple[Measurement, ...]:
        """For a guarantee card: the figure and its control, then this release's attackers."""
        worst = self.strongest_on(release)
        rows = [
            Measurement(r.attack, r.trained_on, r.release, r.auc, r.low, r.high, data)
            for r in self.rows
            if r.view == UNION
            and (r.release == release or (r.release == "none" and r.trained_on == "raw"))
        ]
        figures = () if worst is None else _panel_measurements(worst, data)
        return (*figures, *rows)

    def sentence(self, release: str) -> str | None:
        """The figure in words, as on a card."""
        worst = self.strongest_on(release)
        if worst is None:
            return None
        return attack_summary(_panel_measurements(worst, f"{self.people:,} people"))

    def describe_lists(self) -> list[str]:
        """Sentences: how a release's lists do beside each list on the device, and for whom."""
        if not self.lists_compared:
            return []
        names = map(at_device_name, SIZES)
        return [describe_comparison(self.lists_compared, name) for name in names]

    def to_dict(self) -> dict[str, Any]:
        """The findings as JSON holds them."""
        plain = asdict(self)
        plain["accuracy"] = [*plain["accuracy"], *plain.pop("at_device")]
        for row in plain["over_time"]:
            row["schedule"] = row["view"]
        for row in (*plain["over_time"], *plain["counts"], *plain["control"]):
            for key in ("release", "view", "trained_on"):
                del row[key]
        return plain | {"default_release": plain.pop("judged") or DEFAULT_RELEASE}


def _panel_measurements(worst: WorstRow, data: str) -> tuple[Measurement, ...]:
    where = f"{worst.attack}, {worst.view}, trained on {worst.trained_on} data"
    name = f"strongest of {worst.attackers} attackers ({where})"
    release, facts = worst.release, (data, worst.people, worst.rarest)
    strongest = Measurement(name, PANEL, release, worst.auc, worst.lower, worst.upper, *facts)
    if worst.control is None or worst.control_upper is None:
        return (strongest,)
    area = (worst.control, 0.5, worst.control_upper)
    return strongest, Measurement("strongest attacker", PERMUTED, release, *area, *facts)


def shown_distance(area: float) -> float:
    """Distance from 0.5 of an AUC as the reader sees it, in hundredths."""
    return round(abs(round(area, 2) - 0.5), 2)


def verdict(table: HidingTable) -> Verdict:
    """One headline and a few plain sentences, about the strongest attacker of all."""
    after = None if table.judged is None else table.strongest_on(table.judged)
    before = table.strongest_on("none")
    opening = "" if before is None else f"On true stars the strongest reaches {before.auc:.2f}."
    if after is None:
        return Verdict(
            "none", "Nothing was obfuscated", f"{opening} {_describe_cost(table)}".strip()
        )
    learned, arithmetic = after.auc - 0.5, shown_distance(table.fractions[after.release])
    read = ""
    if arithmetic > max(NEAR, learned):
        read = (
            "Arithmetic on the released fractions, which needs no learning, reaches AUC "
            f"{0.5 + arithmetic:.2f}."
        )
    sentences = (table.sentence(after.release) or "", opening, read, _describe_cost(table))
    state, headline = _headline(before, after, max(learned, arithmetic))
    return Verdict(state, headline, " ".join(filter(None, sentences)))


def _headline(before: WorstRow | None, after: WorstRow, distance: float) -> tuple[str, str]:
    if after.too_few and distance < SMALL:
        return "none", "Too few people to say"
    if before is not None and distance > max(before.auc - 0.5, NEAR):
        return "worse", "Easier to guess than before"
    state = "open" if before is None or distance > (before.auc - 0.5) / 2 else "weakened"
    return state, f"Guessed with AUC {0.5 + distance:.2f} by the strongest attacker"


def _describe_cost(table: HidingTable) -> str:
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
