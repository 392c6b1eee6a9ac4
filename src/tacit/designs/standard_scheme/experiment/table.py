"""Findings of the experiment on hiding: rows for people and programs, and a verdict in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE
from tacit.designs.standard_scheme.experiment.at_device import (
    SIZES,
    DeviceListRow,
    ListComparison,
    at_device_name,
    describe_comparison,
)
from tacit.designs.standard_scheme.experiment.levels import NEAR, shown_distance
from tacit.designs.standard_scheme.experiment.setup import UNION
from tacit.evaluation import Verdict
from tacit.privacy import PANEL, PERMUTED, SMALL_DISTANCE, Measurement, attack_summary


@dataclass(frozen=True)
class AttackRow:
    """One attacker on one release."""

    release: str
    """What the attacked people send."""
    view: str
    """What the attacker sees: union (the last set), epochs (and in which week each item came), a
    schedule, or what is known beside the release."""
    attack: str
    """Name of the attacker."""
    trained_on: str
    """`raw` (frozen) or `released` (knows the method)."""
    auc: float
    """AUC of the scores of all folds together."""
    low: float
    """Lower end of its 95 % interval over people, this row by itself."""
    high: float
    """Upper end."""
    auc_of_folds: float
    """Mean of the folds' own AUC, as the patent's Table 1 has it."""


@dataclass(frozen=True)
class AccuracyRow:
    """Errors and lists under one release, means over folds."""

    release: str
    """What people send."""
    rmse: float
    """RMSE in stars where the recommender guesses the attribute, as in the paper."""
    mae: float
    """Mean absolute error in stars, likewise."""
    ndcg: float
    """NDCG of lists of 10 by item-item weights."""
    shown: float
    """Share of the ratings that is released."""
    rmse_low: float
    """Lower end of the interval of `rmse` over folds."""
    rmse_high: float
    """Upper end."""
    rmse_at_home: float
    """RMSE where the person's own device adds the attribute's effect."""
    ndcg_low: float
    """Lower end of the interval of `ndcg` over folds."""
    ndcg_high: float
    """Upper end."""
    recall_at_10: float
    """Recall of lists of 10 by item-item weights."""
    ndcg_stars: float
    """NDCG of lists of 10 by predicted stars on the device."""


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated: the patent's alpha."""

    mix: float
    """Share of the ratings that is obfuscated."""
    aucs: dict[str, float]
    """AUC of each frozen attack."""
    rmse: float
    """RMSE in stars."""
    auc_ranges: dict[str, tuple[float, float]]
    """Ends of the 95 % intervals of `aucs` over folds."""
    rmse_range: tuple[float, float]
    """Ends of the 95 % interval of `rmse` over folds."""


@dataclass(frozen=True)
class KnownRow:
    """An attacker who knows so many rated items by name."""

    known: int
    """How many rated items are known by name."""
    auc: float
    """AUC of the attacker."""
    low: float
    """Lower end of its 95 % interval over people."""
    high: float
    """Upper end."""
    certain: float
    """Share of people for whom one value alone is possible."""


@dataclass(frozen=True)
class WorstRow:
    """The strongest attacker on a release, over all views and schedules that a device allows."""

    release: str
    """What the attacked people send."""
    auc: float
    """0.5 plus the distance of the attacker's AUC from 0.5."""
    upper: float
    """Upper bound for all attackers at once, 95 %."""
    lower: float
    """AUC that some attacker reaches, 95 %."""
    attack: str
    """Name of the strongest attacker."""
    view: str
    """What it sees."""
    trained_on: str
    """`raw` (frozen) or `released` (knows the method)."""
    attackers: int
    """How many attackers were tried."""
    control: float | None
    """`auc` on permuted labels; None where it was not measured."""
    control_upper: float | None
    """`upper` on permuted labels."""
    control_holds: bool | None
    """Whether 0.5 lies within the bound on permuted labels, as it should."""
    people: int
    """How many people were attacked."""
    rarest: int
    """How many of them have the rarest value."""
    too_few: bool
    """Whether they are too few for the bound to say anything."""


@dataclass(frozen=True)
class HidingTable:
    """Findings of the whole experiment."""

    attribute: str
    """Name of the attribute."""
    values: tuple[str, ...]
    """Its values."""
    people: int
    """How many people were attacked."""
    judged: str | None
    """The release that the verdict is about; None where only true stars were attacked."""
    rows: tuple[AttackRow, ...]
    """Every attacker on every release."""
    worst: tuple[WorstRow, ...]
    """The strongest attacker on each release."""
    over_time: tuple[AttackRow, ...]
    """Attackers on the last of a sequence of letters, who see when each item came."""
    known_items: tuple[KnownRow, ...]
    """Attackers who know rated items by name."""
    counts: tuple[AttackRow, ...]
    """Attackers who know the number of rated items."""
    control: tuple[AttackRow, ...]
    """Attackers on permuted labels."""
    accuracy: tuple[AccuracyRow, ...]
    """Errors and lists under each release."""
    at_device: tuple[DeviceListRow, ...]
    """Lists for which nothing is sent."""
    lists_compared: tuple[ListComparison, ...]
    """The judged release's lists less those made on the device."""
    fractions: dict[str, float]
    """AUC, by release, of looking at the released fractions with the public offsets in hand; 1 on
    unrounded whole stars, where nothing has to be learned."""
    tradeoff: tuple[MixPoint, ...]
    """The patent's alpha: attacks and error by mix."""

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
    release = worst.release
    facts = (data, worst.people, worst.rarest)
    strongest = Measurement(name, PANEL, release, worst.auc, worst.lower, worst.upper, *facts)
    if worst.control is None or worst.control_upper is None:
        return (strongest,)
    area = (worst.control, 0.5, worst.control_upper)
    return strongest, Measurement("strongest attacker", PERMUTED, release, *area, *facts)


def verdict(table: HidingTable) -> Verdict:
    """One headline and a few plain sentences, about the strongest attacker of all."""
    after = None if table.judged is None else table.strongest_on(table.judged)
    before = table.strongest_on("none")
    opening = "" if before is None else f"On true stars the strongest reaches {before.auc:.2f}."
    if after is None:
        return Verdict(
            "none", "Nothing was obfuscated", f"{opening} {_describe_cost(table)}".strip()
        )
    learned = after.auc - 0.5
    arithmetic = shown_distance(table.fractions[after.release])
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
    if after.too_few and distance < SMALL_DISTANCE:
        return "none", "Too few people to say"
    if before is not None and distance > max(before.auc - 0.5, NEAR):
        return "worse", "Easier to guess than before"
    state = "open" if before is None or distance > (before.auc - 0.5) / 2 else "weakened"
    return state, f"Guessed with AUC {0.5 + distance:.2f} by the strongest attacker"


def _describe_cost(table: HidingTable) -> str:
    errors = {row.release: row for row in table.accuracy}
    before = errors.get("none")
    after = errors.get(table.judged or "")
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
