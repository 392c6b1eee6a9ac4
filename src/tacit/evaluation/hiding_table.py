"""What the experiment on hiding found, pooled over folds: rows for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks import Bound, auc, permuted, simultaneous
from tacit.evaluation.hiding_experiment import (
    DEFAULT_RELEASE,
    EPOCHS,
    REFITTED,
    REFUSED,
    UNION,
    WEEKLY,
    Experiment,
    Key,
)
from tacit.evaluation.hiding_fold import KNOWN_ITEMS, FoldResult
from tacit.evaluation.intervals import mean_interval
from tacit.evaluation.ranking import RankingMetrics
from tacit.privacy import Measurement, figure
from tacit.privacy.panel import PANEL, PERMUTED, too_few

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RANKING = tuple(
    field.name
    for field in fields(RankingMetrics)
    if field.name not in ("n", "users", "users_left_out", "ndcg")
)
EACH_RATING_NOTE = "the device refuses this; measured as though it did not"


@dataclass(frozen=True)
class AttackRow:
    """One attacker on one release.

    view: union (the last set) or epochs (and in which week each item came). trained_on: raw
    (frozen) or released (knows the method). low, high: 95 % over people, this row by itself.
    """

    release: str
    view: str
    attack: str
    trained_on: str
    auc: float
    low: float
    high: float
    folds: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyRow:
    """Errors in stars, means over folds, where the recommender guesses the attribute (as in the
    paper); `_at_home`: where the person's own device adds its effect. ndcg, ranking: lists of 10 by
    item-item weights; ndcg_stars: by predicted stars at home. shown: share of the ratings released.
    """

    release: str
    rmse: float
    mae: float
    ndcg: float
    shown: float
    rmse_low: float
    rmse_high: float
    rmse_at_home: float
    mae_at_home: float
    ndcg_stars: float
    ranking: dict[str, float]


@dataclass(frozen=True)
class SingleRow:
    """One attack under one condition, with its 95 % interval over people."""

    attack: str
    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class TimeRow:
    """One attacker on the last of a sequence of letters, and when each item came.

    refused: whether the device refuses the schedule; it is then measured as though it did not.
    """

    schedule: str
    attack: str
    auc: float
    low: float
    high: float
    refused: bool


@dataclass(frozen=True)
class KnownRow:
    """An attacker who knows so many rated items by name. certain: share of people read for sure."""

    known: int
    auc: float
    low: float
    high: float
    certain: float


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated."""

    mix: float
    aucs: dict[str, float]
    rmse: float


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

    scores     (release, attack) -> labels and frozen attackers' scores of all people
    fractions  release -> AUC of looking at the released fractions with the public offsets in hand;
               1 on unrounded whole stars, where nothing has to be learned
    changed    schedule -> items of a letter that were missing or changed in a later one
    """

    attribute: str
    values: tuple[str, ...]
    people: int
    judged: str | None
    rows: tuple[AttackRow, ...]
    worst: tuple[WorstRow, ...]
    over_time: tuple[TimeRow, ...]
    known_items: tuple[KnownRow, ...]
    counts: tuple[SingleRow, ...]
    control: tuple[SingleRow, ...]
    accuracy: tuple[AccuracyRow, ...]
    fractions: dict[str, float]
    changed: dict[str, int]
    tradeoff: tuple[MixPoint, ...]
    scores: dict[tuple[str, str], tuple[Ints, Floats]]

    def row(self, release: str, attack: str, trained_on: str, view: str = UNION) -> AttackRow:
        """One cell of the table."""
        wanted = (release, view, attack, trained_on)
        return next(r for r in self.rows if (r.release, r.view, r.attack, r.trained_on) == wanted)

    def worst_of(self, release: str) -> WorstRow | None:
        """The figure of one release."""
        return next((row for row in self.worst if row.release == release), None)

    def measurements(self, release: str, data: str) -> tuple[Measurement, ...]:
        """For a guarantee card: the figure and its control, then this release's attackers."""
        found = self.worst_of(release)
        rows = [
            Measurement(r.attack, r.trained_on, r.release, r.auc, r.low, r.high, data)
            for r in self.rows
            if r.view == UNION
            and (r.release == release or (r.release == "none" and r.trained_on == "raw"))
        ]
        return (*(() if found is None else _figures(found, data)), *rows)

    def sentence(self, release: str) -> str | None:
        """The figure in words, as on a card."""
        found = self.worst_of(release)
        return None if found is None else figure(_figures(found, f"{self.people:,} people"))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute,
            "values": list(self.values),
            "people": self.people,
            "default_release": self.judged or DEFAULT_RELEASE,
            "worst": [vars(row) | {} for row in self.worst],
            "rows": [vars(row) | {"folds": list(row.folds)} for row in self.rows],
            "over_time": [
                vars(row) | ({"note": EACH_RATING_NOTE} if row.refused else {})
                for row in self.over_time
            ],
            "known_items": [vars(row) | {} for row in self.known_items],
            "counts": [vars(row) | {} for row in self.counts],
            "control": [vars(row) | {} for row in self.control],
            "accuracy": [
                {k: v for k, v in vars(row).items() if k != "ranking"} | row.ranking
                for row in self.accuracy
            ],
            "fractions": self.fractions,
            "changed": self.changed,
            "tradeoff": [vars(point) | {} for point in self.tradeoff],
        }


def table_of(experiment: Experiment, results: Sequence[FoldResult]) -> HidingTable:
    """Everybody's out-of-fold scores judged together."""
    pooled = _Pooled(experiment, results)
    accuracy = tuple(_accuracy(name, results) for name in experiment.releases)
    return HidingTable(
        attribute=experiment.people.names[0],
        values=experiment.people.values[0],
        people=experiment.people.n_people,
        judged=experiment.judged,
        rows=pooled.rows(),
        worst=tuple(pooled.worst(name) for name in experiment.releases),
        over_time=pooled.over_time(),
        known_items=pooled.known_items(),
        counts=pooled.counts(),
        control=pooled.control_rows(),
        accuracy=accuracy,
        fractions={
            name: float(np.mean([result.fractions[name] for result in results]))
            for name in experiment.releases
        },
        changed={
            schedule: sum(result.changed[schedule] for result in results)
            for schedule in results[0].changed
        },
        tradeoff=tuple(_mix_point(mix, results) for mix in results[0].mixed),
        scores=pooled.frozen_scores(),
    )


class _Pooled:
    """All people's scores, fold after fold, and bounds from them."""

    def __init__(self, experiment: Experiment, results: Sequence[FoldResult]) -> None:
        self._experiment = experiment
        self._results = results
        order = np.concatenate([experiment.inside(fold) for fold in range(experiment.folds)])
        self._fold_of = experiment.fold_of[order]
        self._labels = experiment.labels[order]
        self._dealt = permuted(experiment.labels, experiment.seed)[order].astype(np.int64)
        self._scores = self._joined(lambda result: result.scores)
        self._control = self._joined(lambda result: result.control)
        self._all = self._bound(self._labels, self._scores)

    def rows(self) -> tuple[AttackRow, ...]:
        views = {UNION: UNION, WEEKLY: EPOCHS}
        return tuple(
            AttackRow(
                keys[0].release,
                views[keys[0].view],
                keys[0].attack,
                keys[0].trained_on,
                *self._area(self._all, keys),
                self._by_fold(keys),
            )
            for keys in self._by_target(self._scores)
            if keys[0].view in views
        )

    def worst(self, release: str) -> WorstRow:
        family = {
            key: scores
            for key, scores in self._scores.items()
            if key.release == release and key.view not in REFUSED
        }
        bound = self._bound(self._labels, family)
        chance = None
        if release == (self._experiment.judged or "none"):
            chance = self._bound(self._dealt, self._control)
        people, rarest = len(self._labels), int(np.bincount(self._labels).min())
        found = bound.worst
        return WorstRow(
            release=release,
            auc=0.5 + bound.distance,
            upper=0.5 + bound.upper,
            lower=0.5 + bound.lower,
            attack=found.attack,
            view=found.view,
            trained_on=found.trained_on,
            attackers=len(self._experiment.attacks),
            control=None if chance is None else 0.5 + chance.distance,
            control_upper=None if chance is None else 0.5 + chance.upper,
            control_holds=None if chance is None else chance.lower == 0,
            people=people,
            rarest=rarest,
            too_few=too_few(people, rarest),
        )

    def over_time(self) -> tuple[TimeRow, ...]:
        rows = []
        for schedule in self._experiment.schedules:
            for keys in self._by_target(self._scores):
                if keys[0].view == schedule:
                    area = self._area(self._all, keys)
                    rows.append(TimeRow(schedule, keys[0].attack, *area, schedule in REFUSED))
            if schedule in REFITTED and self._results[0].changed:
                events = sum(result.changed[schedule] for result in self._results)
                area = (0.5, 0.5, 0.5) if events == 0 else (1.0, 0.5, 1.0)
                rows.append(TimeRow(schedule, "vanish or appear", *area, refused=False))
        return tuple(rows)

    def known_items(self) -> tuple[KnownRow, ...]:
        scores = self._joined(lambda result: result.known_items)
        if not scores:
            return ()
        bound = self._bound(self._labels, scores, target=lambda key: key[1])
        rows = []
        for number in KNOWN_ITEMS:
            keys = [key for key in scores if key[0] == number]
            certain = float(np.mean([result.certain[number] for result in self._results]))
            rows.append(KnownRow(number, *self._area(bound, keys), certain))
        return tuple(rows)

    def counts(self) -> tuple[SingleRow, ...]:
        scores = self._joined(lambda result: result.known_count)
        if not scores:
            return ()
        bound = self._bound(self._labels, scores, target=lambda key: key)
        name = "number of rated items known"
        return (SingleRow(name, *self._area(bound, list(scores))),)

    def control_rows(self) -> tuple[SingleRow, ...]:
        bound = self._bound(self._dealt, self._control)
        return tuple(
            SingleRow(keys[0].attack, *self._area(bound, keys))
            for keys in self._by_target(self._control)
        )

    def frozen_scores(self) -> dict[tuple[str, str], tuple[Ints, Floats]]:
        target = self._experiment.targets[0]
        return {
            (key.release, key.attack): (self._labels, scores)
            for key, scores in self._scores.items()
            if (key.view, key.trained_on, key.target) == (UNION, "raw", target)
        }

    def _joined(self, part: Callable[[FoldResult], dict[Any, Floats]]) -> dict[Any, Floats]:
        parts = [part(result) for result in self._results]
        return {key: np.concatenate([each[key] for each in parts]) for key in parts[0]}

    def _bound(
        self,
        labels: Ints,
        scores: dict[Any, Floats],
        target: Callable[[Any], int] = lambda key: key.target,
    ) -> Bound[Any]:
        return simultaneous(
            labels, scores, self._fold_of, target=target, seed=self._experiment.seed
        )

    @staticmethod
    def _by_target(scores: Iterable[Key]) -> list[list[Key]]:
        """Keys that differ in the attacked value alone."""
        grouped: dict[Key, list[Key]] = {}
        for key in scores:
            grouped.setdefault(key._replace(target=0), []).append(key)
        return list(grouped.values())

    @staticmethod
    def _area(bound: Bound[Any], keys: Sequence[Any]) -> tuple[float, float, float]:
        """AUC and ends of its interval; of several attacked values, means."""
        ends = [bound.interval(key) for key in keys]
        return (
            float(np.mean([bound.areas[key] for key in keys])),
            float(np.mean([low for low, _ in ends])),
            float(np.mean([high for _, high in ends])),
        )

    def _by_fold(self, keys: Sequence[Key]) -> tuple[float, ...]:
        areas = []
        for fold in range(self._experiment.folds):
            inside = self._fold_of == fold
            found = []
            for key in keys:
                ones = (self._labels[inside] == key.target).astype(np.int64)
                if 0 < ones.sum() < len(ones):
                    found.append(auc(ones, self._scores[key][inside]))
            areas.append(float(np.mean(found)) if found else 0.5)
        return tuple(areas)


def _figures(found: WorstRow, data: str) -> tuple[Measurement, ...]:
    where = f"{found.attack}, {found.view}, trained on {found.trained_on} data"
    name = f"strongest of {found.attackers} attackers ({where})"
    facts = {"release": found.release, "data": data, "people": found.people}
    made = Measurement(
        name, PANEL, auc=found.auc, low=found.lower, high=found.upper, rarest=found.rarest, **facts
    )
    if found.control is None or found.control_upper is None:
        return (made,)
    chance = Measurement(
        "strongest attacker",
        PERMUTED,
        auc=found.control,
        low=0.5,
        high=found.control_upper,
        rarest=found.rarest,
        **facts,
    )
    return made, chance


def _accuracy(release: str, results: Sequence[FoldResult]) -> AccuracyRow:
    folds = [result.accuracy[release] for result in results]
    error = mean_interval([fold.errors.rmse for fold in folds])

    def mean(figure: Callable[[Any], float]) -> float:
        return float(np.mean([figure(fold) for fold in folds]))

    return AccuracyRow(
        release=release,
        rmse=error.mean,
        mae=mean(lambda fold: fold.errors.mae),
        ndcg=mean(lambda fold: fold.ranking.ndcg),
        shown=mean(lambda fold: fold.shown),
        rmse_low=error.low,
        rmse_high=error.high,
        rmse_at_home=mean(lambda fold: fold.errors.rmse_at_home),
        mae_at_home=mean(lambda fold: fold.errors.mae_at_home),
        ndcg_stars=mean(lambda fold: fold.by_stars.ndcg),
        ranking={
            f"{name}_at_10": float(np.mean([getattr(fold.ranking, name) for fold in folds]))
            for name in RANKING
        },
    )


def _mix_point(mix: float, results: Sequence[FoldResult]) -> MixPoint:
    attacks = results[0].mixed[mix][0]
    aucs = {a: float(np.mean([result.mixed[mix][0][a] for result in results])) for a in attacks}
    return MixPoint(mix, aucs, float(np.mean([result.mixed[mix][1] for result in results])))
