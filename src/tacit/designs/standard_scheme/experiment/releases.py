"""What people of each fold release, as an attacker on one fold sees it; and what that costs.

Everybody's releases are made with tables estimated without them and without the people under
attack. Training on releases made with tables that had already seen their people would teach an
attacker a cleaner picture than it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks import Public, Seen, stacked
from tacit.designs.standard_scheme.disclosure import RELEASES, Rule
from tacit.designs.standard_scheme.experiment import (
    REFITTED,
    Experiment,
    Pairs,
    at_entries,
    released,
    some,
)
from tacit.designs.standard_scheme.experiment.table import AccuracyRow
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import chosen, entry_rows, ranks, with_data
from tacit.designs.standard_scheme.training.population import over_epochs
from tacit.designs.standard_scheme.training.profiles import choose_penalty, ease, train_profiles
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.evaluation import auc_interval, mean_interval
from tacit.evaluation.metrics import RankingMetrics, mae, ranking_metrics, rmse
from tacit.evaluation.page import MixPoint
from tacit.randomness import replay, simulation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Letter = tuple[sparse.csr_array, sparse.csr_array | None]
"""Released levels, and 1 + the epoch of each if epochs are seen."""


class Releases:
    """Of the people under attack (those of `fold`) and of an attacker's training people."""

    def __init__(self, experiment: Experiment, fold: int, tables: Pairs) -> None:
        self.experiment = experiment
        self.fold = fold
        self.others = [other for other in range(experiment.folds) if other != fold]
        self._tables = tables
        # Training people in the order in which their releases are stacked.
        self.train = np.concatenate([experiment.inside(other) for other in self.others])
        self.test = experiment.inside(fold)

    def all_tables(self) -> list[Tables]:
        """Tables of the people under attack first, then those of each training fold."""
        return [self._pair(other)[0] for other in (self.fold, *self.others)]

    def public(self, target: int) -> Public:
        """What everybody knows, where this value is guessed."""
        levels, tables = self.experiment.people.levels, self.all_tables()
        raters = np.bincount(levels[self.train].indices, minlength=levels.shape[1])
        offsets = [two_rows(table.offsets, target) for table in tables]
        keep = [np.maximum(two_rows(table.keep, target), 1) for table in tables]
        levels_apart = np.stack([rows[1] - rows[0] for rows in offsets]) / MICRO
        return Public(
            popularity=raters.astype(float),
            offsets=levels_apart * self.experiment.step,
            log_keep=np.stack([np.log(rows[1] / rows[0]) for rows in keep]),
            genres=self.experiment.genres,
            years=self.experiment.years,
        )

    def seen(self, folds: Sequence[int], name: str, public: Public) -> Seen:
        """One letter of everybody in these folds."""
        return self._stacked(folds, public, lambda other: (self.shown(other, name), None))

    def shown(self, other: int, name: str, rule: Rule | None = None) -> sparse.csr_array:
        """Released levels of the people of a fold. name: of the random stream, and of the rule."""
        return self._released(other, rule or RELEASES[name], f"{self.fold}/{name}/{other}")

    def with_epochs(self, seen: Seen, schedule: str) -> Seen:
        """With the same tables in every epoch the last letter is that of one release."""
        people = self.train if seen.ratings.shape[0] == len(self.train) else self.test
        epochs = self.experiment.epochs(schedule)[people]
        return replace(seen, epochs=at_entries(seen.ratings, epochs))

    def refitted(self, folds: Sequence[int], name: str, schedule: str, public: Public) -> Seen:
        """The last of several letters, each of which decided with tables of its own."""
        return self._stacked(folds, public, lambda other: self._refitted(other, name, schedule))

    def sequence(self, name: str, schedule: str) -> list[sparse.csr_array]:
        """All letters of the people under attack, by tables of several fits."""
        every = range(REFITTED[schedule])
        return [self._refitted(self.fold, name, schedule, until)[0] for until in every]

    def _refitted(
        self, other: int, name: str, schedule: str, until: int | None = None
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Last letters, and 1 + the epoch of each item, where every epoch has tables of its own.

        until: the last epoch that counts. Letters up to it are the same, whichever it is.
        """
        people, tables = self.experiment.inside(other), self._pair(other)
        epochs = self.experiment.epochs(schedule)[people]
        last = int(epochs.data.max(initial=1)) if until is None else until + 1
        levels, decided = over_epochs(
            self.experiment.people.levels[people],
            self.experiment.labels[people][:, None],
            {epoch: [tables[epoch]] for epoch in range(last)},
            epochs.data.astype(np.int64) - 1,
            RELEASES[name],
            n_levels=self.experiment.people.n_levels,
            source=replay(f"{self.experiment.seed}/{self.fold}/{schedule}/{other}"),
        )
        return levels, with_data(decided, decided.data + 1)

    def _released(self, other: int, rule: Rule, draw: str) -> sparse.csr_array:
        people = self.experiment.inside(other)
        levels, labels = self.experiment.people.levels[people], self.experiment.labels[people]
        return released(self.experiment, levels, labels, self._pair(other)[0], rule, draw)

    def _stacked(
        self, folds: Sequence[int], public: Public, letter: Callable[[int], Letter]
    ) -> Seen:
        parts = []
        for other in folds:
            levels, epochs = letter(other)
            row = 0 if other == self.fold else 1 + self.others.index(other)
            table = np.full(levels.shape[0], row)
            parts.append(Seen(self.experiment.stars(levels), public, table, epochs))
        return stacked(parts)

    def _pair(self, other: int) -> tuple[Tables, ...]:
        return self._tables[min(self.fold, other), max(self.fold, other)]


def two_rows(table: Ints, target: int) -> Floats:
    """(2, items): the mean over all other values, and the target's own."""
    return np.stack([np.delete(table, target, axis=0).mean(axis=0), table[target].astype(float)])


def fraction_scores(levels: sparse.csr_array, tables: Tables, lattice: int = MICRO) -> Floats:
    """(people, values) share of released levels that are whole once a value's offset is added.

    lattice: micro-levels between true stars, within 2 millionths. Nothing is learned: offsets are
    public. True stars lie on the lattice, so an unrounded release fits the true value only, and
    everybody is read exactly. A rounded one fits none.
    """
    rows = entry_rows(levels)
    micro = np.round(levels.data * MICRO).astype(np.int64)
    fits = [
        np.bincount(
            rows, (micro + own[levels.indices] + 2) % lattice <= 4, minlength=levels.shape[0]
        )
        for own in tables.offsets
    ]
    shares: Floats = np.stack(fits, axis=1) / np.maximum(1, np.diff(levels.indptr))[:, None]
    return shares


Belief = Callable[[sparse.csr_array], Floats]
"""(people, values) what an attacker believes of people with these released levels."""

HELD_OUT = 0.3
"""Share of a test person's ratings that predictions are judged on."""
LIST_LENGTH = 10


Figures = dict[str, float]
"""Errors in stars: at the recommender, where the attribute is an attacker's belief, and
`_at_home`, where it is known; of lists by item-item weights, and by predicted `_stars`."""
RANKING = tuple(
    field.name
    for field in fields(RankingMetrics)
    if field.name not in ("n", "users", "users_left_out", "ndcg")
)


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

    def accuracy(self, rule: Rule, name: str) -> Figures:
        """Of one release of the ratings that are not held out; and the share of them it shows."""
        shown, at_home, elsewhere = self._levels(rule, name)
        lists = self._lists(self._ease.preferences(shown, at_home).astype(float))
        return {
            **self._errors(at_home, elsewhere),
            "ndcg": lists.ndcg,
            "ndcg_stars": self._lists(at_home).ndcg,
            "shown": shown.nnz / self._seen.nnz,
            **{f"{metric}_at_10": getattr(lists, metric) for metric in RANKING},
        }

    def errors(self, rule: Rule, name: str) -> Figures:
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
            known = with_data(shown, shown.data - expected[entry_rows(shown), shown.indices])
        people = self._profiles.estimate(known)
        levels = self._profiles.intercepts + people @ self._profiles.factors.T
        return shown, levels + offsets[self._labels], levels + expected

    def _errors(self, at_home: Floats, elsewhere: Floats) -> Figures:
        truth = self._experiment.stars(self._held).data
        home, away = self._stars_at(at_home), self._stars_at(elsewhere)
        return {
            "rmse": rmse(truth, away),
            "mae": mae(truth, away),
            "rmse_at_home": rmse(truth, home),
            "mae_at_home": mae(truth, home),
        }

    def _stars_at(self, levels: Floats) -> Floats:
        """Predicted stars of the held-out ratings, clipped to the scale."""
        lowest, step = self._experiment.minimum, self._experiment.step
        top = (self._experiment.people.n_levels or 5) - 1
        stars = lowest + step * levels[entry_rows(self._held), self._held.indices]
        clipped: Floats = np.clip(stars, lowest, lowest + step * top)
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
    counts = np.diff(levels.indptr)[entry_rows(levels)]
    held = ranks(levels, generator.random(levels.nnz)) < np.clip(
        np.round(HELD_OUT * counts), 1, np.maximum(counts - 1, 0)
    )
    return chosen(levels, ~held), chosen(levels, held)


def accuracy_row(release: str, folds: Sequence[Figures]) -> AccuracyRow:
    """Means over folds, with intervals."""
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


def mix_point(mix: float, points: Sequence[tuple[dict[str, float], float]]) -> MixPoint:
    """From each fold's AUC by attacker, and RMSE."""
    areas = {a: auc_interval([aucs[a] for aucs, _ in points]) for a in points[0][0]}
    error = mean_interval([rmse for _, rmse in points])
    return MixPoint(
        mix,
        {attack: area.mean for attack, area in areas.items()},
        error.mean,
        {attack: (area.low, area.high) for attack, area in areas.items()},
        (error.low, error.high),
    )
