"""How well an attribute is hidden from a panel of attackers, and what that costs.

People are split in folds, and the recommender never saw the people who are attacked. An AUC of 0.5
is guessing; the distance from it is what counts, on either side. The figure of a release is that of
the strongest attacker, with a bound that holds for all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks import Bound, auc, panel_names, permuted, simultaneous
from tacit.auditing.attacks.panel import checked
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment import (
    DEFAULT_RELEASE,
    EPOCHS,
    QUICK_SCHEDULES,
    REFUSED,
    SCHEDULES,
    UNION,
    WEEKLY,
    Experiment,
    Key,
    genres_of,
    order_of,
    tables_without,
    weeks_of,
    years_of,
)
from tacit.designs.standard_scheme.experiment.fold import KNOWN_ITEMS, FoldResult, run_fold
from tacit.designs.standard_scheme.experiment.releases import accuracy_row, best_penalty, mix_point
from tacit.designs.standard_scheme.experiment.table import (
    AttackRow,
    HidingTable,
    KnownRow,
    SingleRow,
    TimeRow,
    WorstRow,
)
from tacit.designs.standard_scheme.training import check_names
from tacit.designs.standard_scheme.training.people import consenting, unit
from tacit.designs.standard_scheme.training.profiles import factorization
from tacit.errors import ConfigError
from tacit.evaluation import grouped
from tacit.evaluation.parallel import Pool, Progress
from tacit.privacy import too_few

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def evaluate_hiding(
    ratings: Ratings,
    attribute: str,
    *,
    folds: int = 10,
    releases: Sequence[str] = ("none", DEFAULT_RELEASE),
    panel: str = "quick",
    attacks: Sequence[str] | None = None,
    schedules: Sequence[str] | None = None,
    variant: str = "sound",
    disclosure_epsilon: float = math.inf,
    contributions: int = 50,
    factors: int = 20,
    seed: int = 0,
    workers: int = 0,
    progress: Progress | None = None,
) -> HidingTable:
    """Attack every release, folds by user. `steps(folds)` says how far progress counts.

    attacks: names of attackers in place of those of the panel. schedules: how the release that is
    judged is also watched over time; by default all of them with the full panel, and two with the
    quick one.

    Results depend on the seed and the data only, not on the number of workers; with a finite
    `disclosure_epsilon` also on its noise, which takes no seed. These are simulations: no draw here
    is a real release.
    """
    names = panel_names(panel) if attacks is None else checked(attacks)
    if schedules is None:
        schedules = SCHEDULES if panel == "full" else QUICK_SCHEDULES
    if ratings.timestamps is None:
        schedules = [schedule for schedule in schedules if schedule != WEEKLY]
    if folds < 3:
        # A retrained attacker learns from releases of tables without its people and the attacked.
        raise ConfigError(f"Hiding needs at least 3 folds; got {folds}.")
    check_names(variant=variant)
    for name in releases:
        check_names(release=name)
    if not ratings.scale.discrete:  # coupling has no meaning here; the rest is measured
        releases = [name for name in releases if RELEASES[name].transform != "coupling"]
    people, numbers = consenting(ratings, [attribute])
    weekly = weeks_of(ratings)
    labels, fold_of = people.labels[:, 0], np.empty(people.n_people, dtype=np.int64)
    for number, (_, test) in enumerate(k_fold_users(len(labels), folds, seed=seed, labels=labels)):
        fold_of[test] = number
    experiment = Experiment(
        people=people,
        fold_of=fold_of,
        order=order_of(ratings, seed)[numbers],
        weekly=None if weekly is None else weekly[numbers],
        genres=genres_of(ratings),
        years=years_of(ratings),
        minimum=ratings.scale.minimum,
        step=unit(ratings.scale),
        factorization=factorization(people.n_levels, variant=variant, factors=factors, seed=seed),
        shrink=variant == "sound",
        disclosure_epsilon=disclosure_epsilon,
        contributions=contributions,
        releases=tuple(releases),
        attacks=names,
        schedules=tuple(schedules),
        seed=seed,
    )
    return _run(experiment, workers, progress or (lambda _: None))


def steps(folds: int) -> int:
    """How many steps `evaluate_hiding` reports."""
    return folds * (folds + 1) // 2 + folds


def _run(experiment: Experiment, workers: int, advance: Progress) -> HidingTable:
    folds = experiment.folds
    pairs = [(a, b) for a in range(folds) for b in range(a, folds)]
    with Pool(experiment, workers=workers) as pool:
        made = pool.run(tables_without, pairs, advance)
    tables = dict(zip(pairs, made, strict=True))
    experiment = replace(experiment, penalty=best_penalty(experiment, tables[0, 0][0]))
    tasks = [
        (fold, {pair: table for pair, table in tables.items() if fold in pair})
        for fold in range(folds)
    ]
    with Pool(experiment, workers=workers) as pool:
        return _table(experiment, pool.run(run_fold, tasks, advance))


def _table(experiment: Experiment, results: Sequence[FoldResult]) -> HidingTable:
    """Everybody's out-of-fold scores judged together."""
    pooled = _Pooled(experiment, results)
    accuracy = tuple(
        accuracy_row(name, [found.accuracy[name] for found in results])
        for name in experiment.releases
    )
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
        tradeoff=tuple(
            mix_point(mix, [found.mixed[mix] for found in results]) for mix in results[0].mixed
        ),
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
        self._scores, self._control = self._joined("scores"), self._joined("control")
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
        scores = self._joined("known_items")
        if not scores:
            return ()
        bound = self._bound(self._labels, scores, target=lambda key: key[1])
        certain = {n: float(np.mean([r.certain[n] for r in self._results])) for n in KNOWN_ITEMS}
        return tuple(
            KnownRow(number, *self._area(bound, keys), certain[number])
            for number, keys in grouped(scores, lambda key: key[0]).items()
        )

    def counts(self) -> tuple[SingleRow, ...]:
        scores = self._joined("known_count")
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

    def _joined(self, part: str) -> dict[Any, Floats]:
        parts = [getattr(result, part) for result in self._results]
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
