"""How well an attribute is hidden from a panel of attackers, and what that costs.

People are split into folds. The releases of each fold's people, made with tables that were
estimated without these people, are attacked. An attacker is as strong as its AUC is far from 0.5,
above or below. Each release is judged by its strongest attacker, with a bound that holds for all
attackers at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks import Bound, auc, bound_attackers, panel_names, permute_labels
from tacit.auditing.attacks.panel import check_attackers
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE, RELEASES
from tacit.designs.standard_scheme.experiment import accuracy
from tacit.designs.standard_scheme.experiment.at_device import (
    ListComparison,
    compare_lists,
    device_list_rows,
)
from tacit.designs.standard_scheme.experiment.fold import COUNTED, KNOWN, FoldResult, run_fold
from tacit.designs.standard_scheme.experiment.setup import (
    EPOCHS,
    QUICK_SCHEDULES,
    SCHEDULES,
    UNION,
    WEEKLY,
    Experiment,
    Floats,
    Ints,
    Key,
    estimate_without,
    rating_order,
    rating_weeks,
)
from tacit.designs.standard_scheme.experiment.table import (
    AttackRow,
    HidingTable,
    KnownRow,
    WorstRow,
)
from tacit.designs.standard_scheme.settings import check_names
from tacit.designs.standard_scheme.training.attributes import Edges, check_edges
from tacit.designs.standard_scheme.training.features import item_features, item_genres, item_years
from tacit.designs.standard_scheme.training.people import find_consenting_people, level_size
from tacit.designs.standard_scheme.training.profiles import ProfileKind, ProfileSettings
from tacit.errors import ConfigError, DataError
from tacit.evaluation import group_by
from tacit.evaluation.runner import Progress, Runner
from tacit.privacy import has_too_few_people

LEAST_PEOPLE_OF_VALUE = 4
"""Fewest people with each value: at least two of them are outside each fold, to learn from."""


def _refuse_rare_value(attribute: str, values: Sequence[str], labels: Ints) -> None:
    """Raise DataError if a value of the attribute has too few people for an attack on it."""
    counts = np.bincount(labels, minlength=len(values))
    rarest = int(counts.argmin())
    if counts[rarest] >= LEAST_PEOPLE_OF_VALUE:
        return
    raise DataError(
        f"too few people have the value {values[rarest]!r} of '{attribute}' to attack it",
        found=f"{counts[rarest]}",
        expected=f"{LEAST_PEOPLE_OF_VALUE} people or more of each value",
        fix=f"Leave these people out of the file of people (an empty {attribute}), or give them a "
        "value that others have.",
    )


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
    profiles: ProfileKind = "latent",
    factors: int = 20,
    edges: Mapping[str, Edges] | None = None,
    attackers_only: bool = False,
    seed: int = 0,
    workers: int = 0,
    progress: Progress | None = None,
) -> HidingTable:
    """Attack every release, fold by fold, and measure what it costs in errors and lists.

    Results depend only on the seed and the data, not on the number of workers. With a finite
    `disclosure_epsilon` they also depend on its noise, which takes no seed. Everything here is
    simulated: no draw is a real release.

    Args:
        ratings: Ratings of people with the attribute in `user_attributes`.
        attribute: Name of the attribute.
        folds: Number of folds.
        releases: What the attacked people send: names in `RELEASES`. Couplings are left out on a
            continuous scale.
        panel: `quick` or `full`: which attackers there are.
        attacks: Names of attackers in place of those of the panel.
        schedules: Schedules under which the judged release is also attacked over time; by default
            all schedules with the full panel, and two with the quick one. Weekly epochs are left
            out if ratings have no times.
        variant: As in `Settings`.
        disclosure_epsilon: As in `Settings`.
        contributions: As in `Settings`.
        profiles: As in `Settings`.
        factors: As in `Settings`.
        edges: Public edges at which a numeric attribute is cut, by name of the attribute.
        attackers_only: Whether to measure only what a guarantee card states: attackers of each
            release, once and over time. Their figures are the same; the other fields of the table
            are empty.
        seed: Seed of folds, draws and attackers.
        workers: Processes; 0: one for each core.
        progress: Called with the number of steps done since the last call; there are
            `count_steps(folds)` in all.

    Raises:
        ConfigError: An unknown name, fewer than 3 folds, or wrong or missing edges.
        DataError: Too few people have one of the attribute's values, or the attribute or the item
            features are missing or unusable.
    """
    attackers = panel_names(panel) if attacks is None else check_attackers(attacks)
    if schedules is None:
        schedules = SCHEDULES if panel == "full" else QUICK_SCHEDULES
    if ratings.timestamps is None:
        schedules = [schedule for schedule in schedules if schedule != WEEKLY]
    if folds < 3:
        # A retrained attacker learns from releases of one fold, which is attacked on a second fold,
        # and the tables of both come from the people of the other folds.
        raise ConfigError(f"Hiding needs at least 3 folds; got {folds}.")
    check_names(variant=variant, profiles=profiles)
    for name in releases:
        check_names(release=name)
    if not ratings.scale.discrete:  # coupling needs a scale with steps; the others are measured
        releases = [name for name in releases if RELEASES[name].transform != "coupling"]
        if not releases:
            raise ConfigError(
                f"A coupling needs a scale of whole stars; this one is {ratings.scale}. Measure "
                "another release, such as scheme+selection+rounding."
            )
    for name, edges_of_name in (edges or {}).items():
        check_edges(name, edges_of_name)
    people, numbers = find_consenting_people(ratings, [attribute], public_edges=edges)
    weekly = rating_weeks(ratings)
    labels = people.labels[:, 0]
    _refuse_rare_value(attribute, people.values[0], labels)
    fold_of = np.empty(people.n_people, dtype=np.int64)
    for number, (_, test) in enumerate(k_fold_users(len(labels), folds, seed=seed, labels=labels)):
        fold_of[test] = number
    experiment = Experiment(
        people=people,
        fold_of=fold_of,
        order=rating_order(ratings, seed)[numbers],
        weekly=None if weekly is None else weekly[numbers],
        genres=item_genres(ratings),
        years=item_years(ratings),
        minimum=ratings.scale.minimum,
        step=level_size(ratings.scale),
        published=variant == "published",
        profiles=ProfileSettings(profiles, factors, published=variant == "published", seed=seed),
        features=None if profiles == "latent" else item_features(ratings),
        disclosure_epsilon=disclosure_epsilon,
        contributions=contributions,
        releases=tuple(releases),
        attacks=attackers,
        quick=attacks is None and panel == "quick",
        schedules=tuple(schedules),
        attackers_only=attackers_only,
        seed=seed,
    )
    return _run(experiment, workers, progress or (lambda _: None))


def count_steps(folds: int) -> int:
    """Count the steps of `evaluate_hiding`: one for each pair of folds, and one for each fold."""
    pairs = folds * (folds + 1) // 2  # with pairs of a fold and itself
    return pairs + folds


def _run(experiment: Experiment, workers: int, advance: Progress) -> HidingTable:
    """Estimate the tables without each pair of folds, measure each fold, and judge all together."""
    folds = experiment.folds
    pairs = list(combinations_with_replacement(range(folds), 2))
    with Runner(experiment, workers=workers) as runner:
        tables_of_pairs = runner.run(estimate_without, pairs, advance)
        tables = dict(zip(pairs, tables_of_pairs, strict=True))
        penalty = 0  # no lists are made if only attackers are measured
        if not experiment.attackers_only:
            table_without_fold_0, *_ = tables[0, 0]  # the rest are tables of refits
            penalty = accuracy.choose_list_penalty(experiment, table_without_fold_0)
        tasks = []
        for fold in range(folds):
            tables_of_fold = {pair: table for pair, table in tables.items() if fold in pair}
            tasks.append((fold, tables_of_fold, penalty))
        results = runner.run(run_fold, tasks, advance)
    return _PooledScores(experiment, results).table()


class _PooledScores:
    """Scores of all people, each from the fold that tested them, judged together."""

    def __init__(self, experiment: Experiment, results: Sequence[FoldResult]) -> None:
        self._experiment = experiment
        self._results = results
        # Numbers of the people fold by fold, as their scores are joined.
        order = np.concatenate([experiment.people_inside(fold) for fold in range(experiment.folds)])
        self._fold_of = experiment.fold_of[order]
        self._labels = experiment.labels[order]
        permuted = permute_labels(experiment.labels, experiment.seed)
        self._permuted_labels = permuted[order].astype(np.int64)
        self._scores = _join_folds([fold.scores for fold in results])
        self._control_scores = _join_folds([fold.control for fold in results])
        self._bounds = self._bound(self._labels, self._scores)
        self._control_bounds = self._bound(self._permuted_labels, self._control_scores)

    def table(self) -> HidingTable:
        """Make the table of all results."""
        experiment = self._experiment
        results = self._results
        rows = self.rows(self._bounds, self._scores, self._labels)
        view_names = {UNION: UNION, WEEKLY: EPOCHS}  # names in `HidingTable.rows`, by `Key.view`
        listed_rows = [row for row in rows if row.view in view_names]
        certain = accuracy.average_over_folds([fold.certain for fold in results])
        over_time: list[AttackRow] = []
        for schedule in experiment.schedules:
            over_time += [row for row in rows if row.view == schedule]
        accuracy_rows = []
        for name in results[0].accuracy:
            figures = [fold.accuracy[name] for fold in results]
            accuracy_rows.append(accuracy.accuracy_row(name, figures))
        tradeoff = []
        for mix in results[0].mixed:
            figures_of_folds = [fold.mixed[mix] for fold in results]
            tradeoff.append(accuracy.mix_point(mix, figures_of_folds))
        known_rows = []
        for row in rows:
            if row.view == KNOWN:
                n_known = int(row.attack)  # such an attack is named by the number of known items
                known_rows.append(KnownRow(n_known, row.auc, row.low, row.high, certain[n_known]))
        control = self.rows(self._control_bounds, self._control_scores, self._permuted_labels)
        values = experiment.people.values[0]
        lists = [fold.lists for fold in results if fold.lists is not None]
        lists_compared: tuple[ListComparison, ...] = ()
        if lists:
            judged = experiment.judged_release or "none"
            lists_compared = compare_lists(judged, lists, values)
        return HidingTable(
            attribute=experiment.people.names[0],
            values=values,
            people=experiment.people.n_people,
            judged=experiment.judged_release,
            rows=tuple(replace(row, view=view_names[row.view]) for row in listed_rows),
            worst=tuple(map(self.strongest_row, experiment.releases)),
            over_time=tuple(over_time),
            known_items=tuple(known_rows),
            counts=tuple(row for row in rows if row.view == COUNTED),
            control=tuple(control),
            accuracy=tuple(accuracy_rows),
            at_device=device_list_rows(lists) if lists else (),
            lists_compared=lists_compared,
            fractions=accuracy.average_over_folds([fold.lattice_auc for fold in results]),
            tradeoff=tuple(tradeoff),
        )

    def strongest_row(self, release: str) -> WorstRow:
        """Find the strongest attacker on people who send this release.

        The attacker sees one release of a person or a sequence of them. Attackers with additional
        knowledge are left out.
        """
        scores_of_release = {
            key: scores
            for key, scores in self._scores.items()
            if key.release == release and key.view not in (KNOWN, COUNTED)
        }
        bound = self._bound(self._labels, scores_of_release)
        control: Bound[Key] | None = None
        if release == (self._experiment.judged_release or "none"):
            control = self._control_bounds
        people = len(self._labels)
        rarest = int(np.bincount(self._labels).min())
        strongest = bound.worst_attacker
        return WorstRow(
            release=release,
            auc=0.5 + bound.distance,
            upper=0.5 + bound.upper,
            lower=0.5 + bound.lower,
            attack=strongest.attack,
            view=strongest.view,
            trained_on=strongest.trained_on,
            attackers=len(self._experiment.attacks),
            control=None if control is None else 0.5 + control.distance,
            control_upper=None if control is None else 0.5 + control.upper,
            control_holds=None if control is None else control.lower == 0,
            people=people,
            rarest=rarest,
            too_few=has_too_few_people(people, rarest),
        )

    def rows(self, bound: Bound[Key], scores: dict[Key, Floats], labels: Ints) -> list[AttackRow]:
        """Make a row for each attacker, with means over the values if several are attacked.

        Args:
            bound: AUC of each attacker and value, with intervals.
            scores: (people,) scores of each attacker and value.
            labels: (people,) numbers of the values that are guessed.
        """
        # Keys of one attacker differ in the target only: group them by the key with target 0.
        keys_of_attacker = group_by(bound.areas, lambda key: key._replace(target=0))
        rows = []
        for attacker, keys in keys_of_attacker.items():
            areas = [(bound.areas[key], *bound.interval(key)) for key in keys]
            area, low, high = np.mean(areas, axis=0).tolist()
            areas_of_folds = [self.mean_of_folds(scores[key], labels == key.target) for key in keys]
            rows.append(
                AttackRow(
                    release=attacker.release,
                    view=attacker.view,
                    attack=attacker.attack,
                    trained_on=attacker.trained_on,
                    auc=area,
                    low=low,
                    high=high,
                    auc_of_folds=float(np.mean(areas_of_folds)),
                )
            )
        return rows

    def mean_of_folds(self, scores: Floats, has_value: NDArray[np.bool_]) -> float:
        """Compute the mean over folds of the AUC within each fold.

        Args:
            scores: (people,) scores of one attacker for one value.
            has_value: (people,) whether each person has this value.
        """
        areas = []
        for fold in range(self._experiment.folds):
            is_member = self._fold_of == fold
            areas.append(auc(has_value[is_member].astype(np.int64), scores[is_member]))
        return float(np.mean(areas))

    def _bound(self, labels: Ints, scores: dict[Key, Floats]) -> Bound[Key]:
        """Compute AUCs, and a bound that holds for all these attackers at once."""
        seed = self._experiment.seed
        folds = self._fold_of
        return bound_attackers(labels, scores, folds, target=lambda key: key.target, seed=seed)


def _join_folds(folds: Sequence[dict[Key, Floats]]) -> dict[Key, Floats]:
    """Concatenate the scores of all folds, by attacker."""
    joined = {}
    for key in folds[0]:
        joined[key] = np.concatenate([scores[key] for scores in folds])
    return joined
