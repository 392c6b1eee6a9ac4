"""Results of the experiment on hiding, as rows and as a verdict in words."""

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
    """What the attacker sees: union (the last release), epochs (also in which week each item was
    released), a schedule, or the knowledge that it has besides the release."""
    attack: str
    """Name of the attacker."""
    trained_on: str
    """`raw` (frozen: trained on true stars) or `released` (retrained: knows the method)."""
    auc: float
    """AUC of the scores of all folds together."""
    low: float
    """Lower end of its 95 % interval over people, for this row alone."""
    high: float
    """Upper end."""
    auc_of_folds: float
    """Mean over folds of the AUC within a fold, as in the patent's Table 1."""


@dataclass(frozen=True)
class AccuracyRow:
    """Errors and lists under one release, means over folds."""

    release: str
    """What people send."""
    rmse: float
    """RMSE in stars of predictions by the recommender, which guesses the attribute, as in the
    paper."""
    mae: float
    """Mean absolute error in stars of the same predictions."""
    ndcg: float
    """NDCG of lists of 10 by item-item weights."""
    shown: float
    """Share of the ratings that is released."""
    rmse_low: float
    """Lower end of the interval of `rmse` over folds."""
    rmse_high: float
    """Upper end."""
    rmse_at_home: float
    """RMSE in stars of predictions on the person's device, which adds the attribute's effect."""
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
    """An attacker who knows some of a person's rated items by name."""

    known: int
    """How many rated items are known by name."""
    auc: float
    """AUC of the attacker."""
    low: float
    """Lower end of its 95 % interval over people."""
    high: float
    """Upper end."""
    certain: float
    """Share of people for whom at most one value is possible."""


@dataclass(frozen=True)
class WorstRow:
    """The strongest attacker on a release, over all views and schedules."""

    release: str
    """What the attacked people send."""
    auc: float
    """0.5 plus the distance of the attacker's AUC from 0.5."""
    upper: float
    """0.5 plus an upper 95 % bound on the distances of all attackers' AUCs from 0.5."""
    lower: float
    """0.5 plus a lower 95 % bound on the distance of the strongest attacker's AUC from 0.5."""
    attack: str
    """Name of the strongest attacker."""
    view: str
    """What it sees."""
    trained_on: str
    """`raw` (frozen: trained on true stars) or `released` (retrained: knows the method)."""
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
    """Whether these are too few people for the bound to say anything."""


@dataclass(frozen=True)
class HidingTable:
    """Results of the whole experiment."""

    attribute: str
    """Name of the attribute."""
    values: tuple[str, ...]
    """Its values."""
    people: int
    """How many people were attacked."""
    judged: str | None
    """The release that the verdict is about; None where only true stars were attacked."""
    rows: tuple[AttackRow, ...]
    """Attackers on each release; on the judged one also those who see the week of each item."""
    worst: tuple[WorstRow, ...]
    """The strongest attacker on each release."""
    over_time: tuple[AttackRow, ...]
    """Attackers on a sequence of releases, who see in which epoch each item was released."""
    known_items: tuple[KnownRow, ...]
    """Attackers who know rated items by name."""
    counts: tuple[AttackRow, ...]
    """Attackers who know the number of rated items."""
    control: tuple[AttackRow, ...]
    """Attackers on permuted labels."""
    accuracy: tuple[AccuracyRow, ...]
    """Errors and lists under each release."""
    at_device: tuple[DeviceListRow, ...]
    """Lists made on the device, for which nothing is sent."""
    lists_compared: tuple[ListComparison, ...]
    """Differences of the judged release's lists from those made on the device."""
    fractions: dict[str, float]
    """AUC of the lattice attack, by release. It adds the public offsets to the released levels and
    looks at their fractions. Its AUC is about 1 if obfuscated whole stars are not rounded."""
    tradeoff: tuple[MixPoint, ...]
    """Curve over the mix (the patent's alpha): attacks and error."""

    def strongest_on(self, release: str) -> WorstRow | None:
        """Find the row of the strongest attacker on a release; None if it was not attacked."""
        return next((row for row in self.worst if row.release == release), None)

    def measurements(self, release: str, data: str) -> tuple[Measurement, ...]:
        """List the measurements of a release for its guarantee card.

        Args:
            release: Name of the release.
            data: The attacked people, in words.

        Returns:
            The strongest attacker and its control. Then, of the attackers who see nothing but the
            last release: every one on this release, and every frozen one on true stars.
        """
        worst = self.strongest_on(release)
        strongest = () if worst is None else _panel_measurements(worst, data)
        attackers = []
        for row in self.rows:
            is_on_true_stars = row.release == "none" and row.trained_on == "raw"
            if row.view == UNION and (row.release == release or is_on_true_stars):
                attackers.append(
                    Measurement(
                        attack=row.attack,
                        trained_on=row.trained_on,
                        release=row.release,
                        auc=row.auc,
                        low=row.low,
                        high=row.high,
                        data=data,
                    )
                )
        return (*strongest, *attackers)

    def sentence(self, release: str) -> str | None:
        """Say how well the strongest attacker guesses, as a card does; None if not attacked."""
        worst = self.strongest_on(release)
        if worst is None:
            return None
        return attack_summary(_panel_measurements(worst, f"{self.people:,} people"))

    def describe_lists(self) -> list[str]:
        """Compare the judged release's lists with each list made on the device, in sentences."""
        if not self.lists_compared:
            return []
        names = map(at_device_name, SIZES)
        return [describe_comparison(self.lists_compared, name) for name in names]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values.

        Lists made on the device follow the releases in `accuracy`. Rows over time name their view
        `schedule`; these rows, those of counts and those of the control leave out their release,
        view and training data. The judged release is called `default_release`; if only true stars
        were attacked, it is the name of the release that devices send by default.
        """
        plain = asdict(self)
        plain["accuracy"] = [*plain["accuracy"], *plain.pop("at_device")]
        for row in plain["over_time"]:
            row["schedule"] = row["view"]
        for row in (*plain["over_time"], *plain["counts"], *plain["control"]):
            for key in ("release", "view", "trained_on"):
                del row[key]
        return plain | {"default_release": plain.pop("judged") or DEFAULT_RELEASE}


def _panel_measurements(worst: WorstRow, data: str) -> tuple[Measurement, ...]:
    """Make the measurement of the strongest attacker, and that of its control if it has one."""
    attacker = f"{worst.attack}, {worst.view}, trained on {worst.trained_on} data"
    strongest = Measurement(
        attack=f"strongest of {worst.attackers} attackers ({attacker})",
        trained_on=PANEL,
        release=worst.release,
        auc=worst.auc,
        low=worst.lower,
        high=worst.upper,
        data=data,
        people=worst.people,
        rarest=worst.rarest,
    )
    if worst.control is None or worst.control_upper is None:
        return (strongest,)
    control = Measurement(
        attack="strongest attacker",
        trained_on=PERMUTED,
        release=worst.release,
        auc=worst.control,
        low=0.5,
        high=worst.control_upper,
        data=data,
        people=worst.people,
        rarest=worst.rarest,
    )
    return strongest, control


def verdict(table: HidingTable) -> Verdict:
    """Make the verdict about the strongest attacker: a headline and a few sentences."""
    on_true_stars = table.strongest_on("none")
    on_release = None if table.judged is None else table.strongest_on(table.judged)
    about_true_stars = ""
    if on_true_stars is not None:
        about_true_stars = f"On true stars the strongest reaches {on_true_stars.auc:.2f}."
    about_cost = _describe_cost(table)
    if on_release is None:
        return Verdict("none", "Nothing was obfuscated", f"{about_true_stars} {about_cost}".strip())
    distance_by_learning = on_release.auc - 0.5
    distance_by_arithmetic = shown_distance(table.fractions[on_release.release])
    about_fractions = ""
    if distance_by_arithmetic > max(NEAR, distance_by_learning):
        about_fractions = (
            "Arithmetic on the released fractions, which needs no learning, reaches AUC "
            f"{0.5 + distance_by_arithmetic:.2f}."
        )
    about_release = table.sentence(on_release.release) or ""
    sentences = (about_release, about_true_stars, about_fractions, about_cost)
    distance = max(distance_by_learning, distance_by_arithmetic)
    state, headline = _headline(on_true_stars, on_release, distance)
    return Verdict(state, headline, " ".join(filter(None, sentences)))


def _headline(before: WorstRow | None, after: WorstRow, distance: float) -> tuple[str, str]:
    """Choose the state and the headline of the verdict.

    Args:
        before: The strongest attacker on true stars; None if they were not attacked.
        after: The strongest attacker on the judged release.
        distance: Largest distance of an AUC on the judged release from 0.5.
    """
    if after.too_few and distance < SMALL_DISTANCE:
        return "none", "Too few people to say"
    if before is not None and distance > max(before.auc - 0.5, NEAR):
        return "worse", "Easier to guess than before"
    state = "open" if before is None or distance > (before.auc - 0.5) / 2 else "weakened"
    return state, f"Guessed with AUC {0.5 + distance:.2f} by the strongest attacker"


def _describe_cost(table: HidingTable) -> str:
    """Say what the judged release costs in error and in lists; "" if its error was not measured."""
    errors = {row.release: row for row in table.accuracy}
    before = errors.get("none")
    after = errors.get(table.judged or "")
    if after is None:
        return ""
    if before is None:
        return f"The error of predicted ratings (RMSE) is {after.rmse:.3f} stars."
    change = round(after.rmse / before.rmse - 1, 3)
    if change == 0:
        change_of_error = "stays the same"
    else:
        verb = "rises" if change > 0 else "falls"
        change_of_error = f"{verb} by {abs(change):.1%}"
    lists = f", and lists keep {after.ndcg / before.ndcg:.0%} of their NDCG" if before.ndcg else ""
    return (
        f"The error of predicted ratings (RMSE) {change_of_error}, from {before.rmse:.3f} to "
        f"{after.rmse:.3f} stars{lists}."
    )
