"""What hiding costs: errors in stars, and lists by item-item weights, on ratings held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import Tables
from tacit.designs.standard_scheme.ease import choose_penalty, ease
from tacit.designs.standard_scheme.experiment.experiment import (
    Experiment,
    dense_entries,
    entry_rows,
    released,
    some,
    with_data,
)
from tacit.designs.standard_scheme.messages import MICRO, RELEASES, Rule
from tacit.designs.standard_scheme.training import train_profiles
from tacit.evaluation.metrics import RankingMetrics, mae, ranking_metrics, rmse
from tacit.randomness import simulation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Belief = Callable[[sparse.csr_array], Floats]
"""(people, values) what an attacker believes of people with these released levels."""

HELD_OUT = 0.3
"""Share of a test person's ratings that predictions are judged on."""
LIST_LENGTH = 10


@dataclass(frozen=True)
class Errors:
    """In stars. At the recommender the attribute is an attacker's belief; on the device "
    "it is known."""

    rmse: float
    mae: float
    rmse_at_home: float
    mae_at_home: float


@dataclass(frozen=True)
class Accuracy:
    """ranking: of lists by item-item weights; by_stars: of lists by predicted stars on "
    "the device."""

    errors: Errors
    ranking: RankingMetrics
    by_stars: RankingMetrics
    shown: float


def best_penalty(experiment: Experiment, table: Tables) -> int:
    """Of the item-item weights, chosen once: on the people outside fold 0 and on their releases."""
    numbers = experiment.outside(0)
    rule = RELEASES[experiment.judged or "none"]

    def simulate(levels: sparse.csr_array, chosen: Ints) -> sparse.csr_array:
        labels = experiment.labels[numbers[chosen]]
        return released(experiment, levels, labels, table, rule, "penalty")

    levels, n_levels = experiment.people.levels[numbers], experiment.people.n_levels or 5
    with simulation():
        return choose_penalty(levels, n_levels, simulate, seed=experiment.seed)


class Judge:
    """One fold's recommender: profiles and item-item weights of the people outside."""

    def __init__(self, experiment: Experiment, fold: int, table: Tables, belief: Belief) -> None:
        self._experiment = experiment
        self._fold = fold
        self._table = table
        self._belief = belief
        test = experiment.inside(fold)
        self._labels = experiment.labels[test]
        training = some(experiment.people, experiment.outside(fold))
        self._profiles = train_profiles(
            training.levels,
            training.labels,
            [table],
            experiment.factorization,
            lowest=experiment.minimum / experiment.step,
        )
        self._ease = ease(training.levels, experiment.people.n_levels or 5, experiment.penalty)
        generator = np.random.default_rng([experiment.seed, fold])
        self._seen, self._held = _split(experiment.people.levels[test], generator)

    def accuracy(self, rule: Rule, name: str) -> Accuracy:
        """Of one release of the ratings that are not held out."""
        shown, at_home, elsewhere = self._levels(rule, name)
        preferences = self._ease.preferences(shown, at_home).astype(float)
        return Accuracy(
            errors=self._errors(at_home, elsewhere),
            ranking=self._lists(preferences),
            by_stars=self._lists(at_home),
            shown=shown.nnz / self._seen.nnz,
        )

    def errors(self, rule: Rule, name: str) -> Errors:
        """The same without lists."""
        _, at_home, elsewhere = self._levels(rule, name)
        return self._errors(at_home, elsewhere)

    def _levels(self, rule: Rule, name: str) -> tuple[sparse.csr_array, Floats, Floats]:
        """What is released, and predicted levels on the device and at the recommender."""
        draw = f"{self._fold}/{name}/accuracy"
        shown = released(self._experiment, self._seen, self._labels, self._table, rule, draw)
        offsets = self._table.offsets / MICRO
        expected = self._belief(shown) @ offsets
        known = shown
        if rule.transform == "none":
            # True stars still hold the attribute's effect: take out what the attack believes.
            known = with_data(shown, shown.data - dense_entries(shown, expected))
        people = self._profiles.estimate(known)
        levels = self._profiles.intercepts + people @ self._profiles.factors.T
        return shown, levels + offsets[self._labels], levels + expected

    def _errors(self, at_home: Floats, elsewhere: Floats) -> Errors:
        truth = self._experiment.stars(self._held).data
        home, away = self._stars_at(at_home), self._stars_at(elsewhere)
        return Errors(rmse(truth, away), mae(truth, away), rmse(truth, home), mae(truth, home))

    def _stars_at(self, levels: Floats) -> Floats:
        """Predicted stars of the held-out ratings, clipped to the scale."""
        lowest, step = self._experiment.minimum, self._experiment.step
        top = (self._experiment.people.n_levels or 5) - 1
        clipped: Floats = np.clip(
            lowest + step * dense_entries(self._held, levels), lowest, lowest + step * top
        )
        return clipped

    def _lists(self, preferences: Floats) -> RankingMetrics:
        """Of unseen items; relevant: held out and in the top quarter of the scale."""
        ranked = preferences.copy()
        ranked[entry_rows(self._seen), self._seen.indices] = -np.inf
        lists = np.argsort(-ranked, axis=1, kind="stable")[:, :LIST_LENGTH]
        span = (self._experiment.people.n_levels or 5) - 1
        relevant = with_data(self._held, (self._held.data >= 0.75 * span).astype(float))
        return ranking_metrics(lists, relevant)


def _split(
    levels: sparse.csr_array, generator: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Ratings a person has made, and ratings to come: one or more of each where possible."""
    rows = entry_rows(levels)
    order = np.lexsort((generator.random(len(rows)), rows))
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = np.arange(len(rows)) - levels.indptr[rows[order]]
    counts = np.diff(levels.indptr)[rows]
    held = rank < np.clip(np.round(HELD_OUT * counts), 1, np.maximum(counts - 1, 0))
    return _masked(levels, rows, ~held), _masked(levels, rows, held)


def _masked(levels: sparse.csr_array, rows: Ints, mask: NDArray[np.bool_]) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[mask], minlength=levels.shape[0]))])
    return sparse.csr_array(
        (levels.data[mask], levels.indices[mask], indptr.astype(np.int32)), shape=levels.shape
    )
