"""Everybody's out-of-fold scores judged together: from folds to the rows of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks import Bound, auc, permuted, simultaneous
from tacit.designs.standard_scheme.experiment.experiment import (
    EPOCHS,
    REFUSED,
    UNION,
    WEEKLY,
    Experiment,
    Key,
)
from tacit.designs.standard_scheme.experiment.fold import KNOWN_ITEMS, FoldResult
from tacit.designs.standard_scheme.experiment.table import (
    AccuracyRow,
    AttackRow,
    HidingTable,
    KnownRow,
    SingleRow,
    TimeRow,
    WorstRow,
)
from tacit.evaluation.page import MixPoint
from tacit.evaluation.result import auc_interval, grouped, mean_interval
from tacit.privacy import too_few

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
        lost={
            schedule: sum(result.lost[schedule] for result in results)
            for schedule in results[0].lost
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
        return list(grouped(scores, lambda key: key._replace(target=0)).values())

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


def _accuracy(release: str, results: Sequence[FoldResult]) -> AccuracyRow:
    folds = [result.accuracy[release] for result in results]
    means = {name: float(np.mean([fold[name] for fold in folds])) for name in folds[0]}
    error = mean_interval([fold["rmse"] for fold in folds])
    lists = mean_interval([fold["ndcg"] for fold in folds], bounds=(0.0, 1.0))
    ranking = {name: means.pop(name) for name in folds[0] if name.endswith("_at_10")}
    return AccuracyRow(
        release=release,
        rmse_low=error.low,
        rmse_high=error.high,
        ndcg_low=lists.low,
        ndcg_high=lists.high,
        ranking=ranking,
        **means | {"rmse": error.mean, "ndcg": lists.mean},
    )


def _mix_point(mix: float, results: Sequence[FoldResult]) -> MixPoint:
    points = [result.mixed[mix] for result in results]
    areas = {a: auc_interval([aucs[a] for aucs, _ in points]) for a in points[0][0]}
    error = mean_interval([rmse for _, rmse in points])
    return MixPoint(
        mix,
        {attack: area.mean for attack, area in areas.items()},
        error.mean,
        {attack: (area.low, area.high) for attack, area in areas.items()},
        (error.low, error.high),
    )
