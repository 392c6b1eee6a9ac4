"""Cost of releases: errors of predicted stars, and lists, of one fold's recommender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.special import expit

from tacit.auditing.attacks import ATTACKS
from tacit.designs.standard_scheme.disclosure import RELEASES, Rule
from tacit.designs.standard_scheme.experiment.at_device import (
    POPULARITY,
    SIZES,
    FoldLists,
    at_device_name,
)
from tacit.designs.standard_scheme.experiment.setup import (
    Experiment,
    Floats,
    Ints,
    select_people,
    simulate_one_release,
)
from tacit.designs.standard_scheme.experiment.table import AccuracyRow, MixPoint
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.item_embedding import fit_item_embedding
from tacit.designs.standard_scheme.training.item_weights import choose_penalty, fit_ease_at_penalty
from tacit.designs.standard_scheme.training.people import (
    entry_people,
    rank_in_person,
    replace_data,
    select_entries,
)
from tacit.designs.standard_scheme.training.profiles import train_profiles
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.evaluation import auc_interval, mean_interval
from tacit.evaluation.metrics import (
    RankingMetrics,
    mae,
    ranking_by_person,
    ranking_metrics,
    rmse,
)
from tacit.randomness import simulation

Figures = dict[str, float]
"""By the names of `AccuracyRow`."""
K = TypeVar("K")

HELD_OUT = 0.3
"""Share of a test person's ratings that predictions are judged on."""
LIST_LENGTH = 10


def choose_list_penalty(experiment: Experiment, table: Tables) -> int:
    """Choose the penalty of the item-item weights, on people outside fold 0 and their releases."""
    numbers = experiment.people_outside(0)
    rule = RELEASES[experiment.judged_release or "none"]

    def simulate(levels: sparse.csr_array, chosen: Ints) -> sparse.csr_array:
        labels = experiment.labels[numbers[chosen]]
        return simulate_one_release(experiment, levels, labels, table, rule, "penalty")

    levels = experiment.people.levels[numbers]
    with simulation():
        return choose_penalty(levels, experiment.whole_levels, simulate, seed=experiment.seed)


class FoldEvaluation:
    """One fold's recommender, and the figures of the releases that it is given.

    It is fitted to the people outside the fold, and judged on those inside.

    Args:
        experiment: Data and settings.
        fold: Number of the fold.
        table: Tables of the disclosure.
        train: Numbers of the people outside, in the order in which an attacker learns from them.
    """

    def __init__(self, experiment: Experiment, fold: int, table: Tables, train: Ints) -> None:
        self._experiment = experiment
        self._fold = fold
        self._table = table
        test = experiment.people_inside(fold)
        self._labels = experiment.labels[test]
        training = select_people(experiment.people, experiment.people_outside(fold))
        self._profiles = train_profiles(
            training.levels,
            training.labels,
            [table],
            experiment.people.n_levels,
            lowest=experiment.minimum / experiment.step,
            settings=experiment.profiles,
            features=experiment.features,
        )
        self._ease = fit_ease_at_penalty(
            training.levels, experiment.whole_levels, experiment.penalty
        )
        self._embedding = fit_item_embedding(
            training.levels, experiment.whole_levels, experiment.penalty, max(SIZES)
        )
        stars = experiment.stars(experiment.people.levels[train])
        labels = experiment.labels[train]
        self._attacks = {  # one attack for each value of the attribute that is guessed
            target: ATTACKS["lda"]().fit(stars, (labels == target).astype(np.int64))
            for target in experiment.targets
        }
        generator = np.random.default_rng([experiment.seed, fold])
        self._seen, self._held = _split(experiment.people.levels[test], generator)
        self.lists = FoldLists(self._labels, np.diff(self._seen.indptr))
        """Lists judged so far: NDCG by person, and recall."""

    def judge_device_lists(self) -> None:
        """Judge the lists for which nothing is sent: by embeddings, and by popularity."""
        for size in SIZES:
            preferences = self._embedding.shorten(size).preferences(self._seen)
            self._judge_device_list(at_device_name(size), preferences)
        popularity = np.broadcast_to(-self._embedding.popularity.astype(float), self._seen.shape)
        self._judge_device_list(POPULARITY, popularity)

    def _judge_device_list(self, name: str, preferences: Floats) -> None:
        self.lists.ndcg[name] = ranking_by_person(*self._rank(preferences))["ndcg"]
        self.lists.recall[name] = self._lists(preferences).recall

    def accuracy(self, rule: Rule, name: str) -> Figures:
        """Judge one release of the ratings that are not held out: errors, lists, share shown."""
        shown, on_device, at_recommender = self._levels(rule, name)
        preferences = self._ease.preferences(shown, on_device).astype(float)
        self.lists.ndcg[name] = ranking_by_person(*self._rank(preferences))["ndcg"]
        lists = self._lists(preferences)
        return {
            **self._errors(on_device, at_recommender),
            "ndcg": lists.ndcg,
            "recall_at_10": lists.recall,
            "ndcg_stars": self._lists(on_device).ndcg,
            "shown": shown.nnz / self._seen.nnz,
        }

    def errors(self, rule: Rule, name: str) -> Figures:
        """Judge the errors of one release alone."""
        _, on_device, at_recommender = self._levels(rule, name)
        return self._errors(on_device, at_recommender)

    def _levels(self, rule: Rule, name: str) -> tuple[sparse.csr_array, Floats, Floats]:
        """Simulate a release, and predict levels on the device and at the recommender.

        Returns:
            The released levels; predictions with the person's true attribute, as a device makes
            them; and predictions with the attribute that the recommender guesses.
        """
        draw_name = f"{self._fold}/{name}/accuracy"
        shown = simulate_one_release(
            self._experiment, self._seen, self._labels, self._table, rule, draw_name
        )
        offsets = self._table.offsets / MICRO
        guessed_offsets = self._belief(shown) @ offsets
        neutral = shown
        if rule.transform == "none":
            # True stars contain the attribute's effect: subtract the effect that is guessed.
            effect = guessed_offsets[entry_people(shown), shown.indices]
            neutral = replace_data(shown, shown.data - effect)
        levels = self._profiles.predict_levels(neutral)
        return shown, levels + offsets[self._labels], levels + guessed_offsets

    def _belief(self, shown: sparse.csr_array) -> Floats:
        """(people, values) what a frozen linear discriminant believes of released levels."""
        stars = self._experiment.stars(shown)
        beliefs = [expit(attack.score(stars)) for attack in self._attacks.values()]
        if len(beliefs) == 1:
            return np.stack([1 - beliefs[0], beliefs[0]], axis=1)
        chances = np.maximum(np.stack(beliefs, axis=1), 1e-9)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _errors(self, on_device: Floats, at_recommender: Floats) -> Figures:
        """Compute errors in stars of predictions with the true attribute and with a guessed one."""
        truth = self._experiment.stars(self._held).data
        predicted = self._stars_at(at_recommender)
        return {
            "rmse": rmse(truth, predicted),
            "mae": mae(truth, predicted),
            "rmse_at_home": rmse(truth, self._stars_at(on_device)),
        }

    def _stars_at(self, levels: Floats) -> Floats:
        """Predicted stars of the held-out ratings, clipped to the scale."""
        lowest = self._experiment.minimum
        step = self._experiment.step
        predicted = levels[entry_people(self._held), self._held.indices]
        return np.asarray(np.clip(predicted, 0, self._experiment.whole_levels - 1) * step + lowest)

    def _lists(self, preferences: Floats) -> RankingMetrics:
        """Judge lists of unseen items."""
        return ranking_metrics(*self._rank(preferences))

    def _rank(self, preferences: Floats) -> tuple[Ints, sparse.csr_array]:
        """Rank unseen items: lists, and what is relevant: held out, in the scale's top quarter."""
        ranked = preferences.copy()
        ranked[entry_people(self._seen), self._seen.indices] = -np.inf
        lists = np.argsort(-ranked, axis=1, kind="stable")[:, :LIST_LENGTH]
        liked = self._held.data >= 0.75 * (self._experiment.whole_levels - 1)
        return lists, replace_data(self._held, liked.astype(float))


def _split(
    levels: sparse.csr_array, generator: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Ratings a person has made, and ratings to come: one or more of each where possible."""
    counts = np.diff(levels.indptr)[entry_people(levels)]
    held = rank_in_person(levels, generator.random(levels.nnz)) < np.clip(
        np.round(HELD_OUT * counts), 1, np.maximum(counts - 1, 0)
    )
    return select_entries(levels, ~held), select_entries(levels, held)


def average_over_folds(folds: Sequence[Mapping[K, float]]) -> dict[K, float]:
    """Average figures with the same names over folds."""
    averages = {}
    for name in folds[0]:
        averages[name] = float(np.mean([fold[name] for fold in folds]))
    return averages


def accuracy_row(release: str, folds: Sequence[Figures]) -> AccuracyRow:
    """Means over folds, with intervals."""
    error = mean_interval([fold["rmse"] for fold in folds])
    lists = mean_interval([fold["ndcg"] for fold in folds], bounds=(0.0, 1.0))
    figures = average_over_folds(folds)
    figures |= {"rmse": error.mean, "rmse_low": error.low, "rmse_high": error.high}
    figures |= {"ndcg": lists.mean, "ndcg_low": lists.low, "ndcg_high": lists.high}
    return AccuracyRow(release, **figures)


def mix_point(mix: float, points: Sequence[tuple[dict[str, float], float]]) -> MixPoint:
    """Make a point of the curve of alpha from each fold's AUC by attacker, and RMSE."""
    areas = {}
    for attack in points[0][0]:
        areas[attack] = auc_interval([aucs[attack] for aucs, _ in points])
    error = mean_interval([rmse for _, rmse in points])
    return MixPoint(
        mix,
        {attack: area.mean for attack, area in areas.items()},
        error.mean,
        {attack: (area.low, area.high) for attack, area in areas.items()},
        (error.low, error.high),
    )
