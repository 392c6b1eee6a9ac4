"""Cost of releases in one fold: errors of predicted stars, and the quality of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

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
"""Results by the field names of `AccuracyRow`."""


class MixFigures(NamedTuple):
    """Figures of one fold for one mix, the share of the ratings that is obfuscated."""

    aucs: dict[str, float]
    """AUC by frozen attack."""
    rmse: float
    """RMSE in stars."""


K = TypeVar("K")

HELD_OUT = 0.3
"""Share of a test person's ratings that predictions are judged on."""
LIST_LENGTH = 10
"""Length of the lists that are judged."""
LIKED_SHARE_OF_SCALE = 0.75
"""A held-out item is relevant if its level is at least this share of the highest level."""
_LEAST_BELIEF = 1e-9
"""Smallest probability of a value before probabilities are divided by their sum."""


def choose_list_penalty(experiment: Experiment, table: Tables) -> int:
    """Choose the penalty of item-item weights whose lists are best for people outside fold 0.

    Lists are made from simulated releases of the judged release, or from true stars if none is
    judged; see `choose_penalty`.
    """
    numbers = experiment.people_outside(0)
    rule = RELEASES[experiment.judged_release or "none"]

    def simulate(levels: sparse.csr_array, chosen: Ints) -> sparse.csr_array:
        """Simulate the releases of the people at the positions `chosen` of `numbers`."""
        labels = experiment.labels[numbers[chosen]]
        return simulate_one_release(experiment, levels, labels, table, rule, "penalty")

    levels = experiment.people.levels[numbers]
    with simulation():
        return choose_penalty(levels, experiment.whole_levels, simulate, seed=experiment.seed)


class PredictedLevels(NamedTuple):
    """A simulated release, and the levels that are predicted from it."""

    released: sparse.csr_array
    """(people, items) CSR of released levels."""
    on_device: Floats
    """(people, items) predictions with the person's true attribute, as their device makes them."""
    at_recommender: Floats
    """(people, items) predictions with the attribute that the recommender guesses."""


class FoldEvaluation:
    """Errors and lists of one fold's recommender, for the releases of the fold's people.

    The recommender is fitted to the people outside the fold, and judged on those inside.

    Args:
        experiment: Data and settings.
        fold: Number of the fold.
        table: Public tables of the disclosure.
        train: Numbers of the people outside the fold, in the order in which an attacker learns
            from them.
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
        self._seen, self._held_out = _hold_out(experiment.people.levels[test], generator)
        self.lists = FoldLists(self._labels, np.diff(self._seen.indptr))
        """Quality of the lists that were judged so far."""

    def judge_device_lists(self) -> None:
        """Judge the lists made on the device, and keep their quality in `lists`.

        They are those of each size of embedding, and the list by popularity.
        """
        for size in SIZES:
            preferences = self._embedding.keep_first_numbers(size).preferences(self._seen)
            self._judge_device_list(at_device_name(size), preferences)
        preference_of_item = -self._embedding.popularity_rank.astype(float)
        preferences = np.broadcast_to(preference_of_item, self._seen.shape)
        self._judge_device_list(POPULARITY, preferences)

    def _judge_device_list(self, name: str, preferences: Floats) -> None:
        """Judge the lists by (people, items) preferences; keep NDCG and recall in `lists`."""
        self.lists.ndcg[name] = ranking_by_person(*self._rank(preferences))["ndcg"]
        self.lists.recall[name] = self._judge_lists(preferences).recall

    def accuracy(self, rule: Rule, name: str) -> Figures:
        """Judge a simulated release of the ratings that are not held out.

        Args:
            rule: What devices do.
            name: Name of the release.

        Returns:
            Errors, quality of lists, and the share of these ratings that is shown.
        """
        predicted = self._predict(rule, name)
        preferences = self._ease.preferences(predicted.released, predicted.on_device).astype(float)
        self.lists.ndcg[name] = ranking_by_person(*self._rank(preferences))["ndcg"]
        lists = self._judge_lists(preferences)
        return {
            **self._errors(predicted),
            "ndcg": lists.ndcg,
            "recall_at_10": lists.recall,
            "ndcg_stars": self._judge_lists(predicted.on_device).ndcg,
            "shown": predicted.released.nnz / self._seen.nnz,
        }

    def errors(self, rule: Rule, name: str) -> Figures:
        """Judge the errors of predicted stars of a simulated release, without lists."""
        return self._errors(self._predict(rule, name))

    def _predict(self, rule: Rule, name: str) -> PredictedLevels:
        """Simulate a release, and predict levels on the device and at the recommender.

        predicted level = level without the attribute's effect + offset of the attribute value,
        where the recommender takes the mean offset under the value's guessed probabilities.
        """
        stream = f"{self._fold}/{name}/accuracy"
        released = simulate_one_release(
            self._experiment, self._seen, self._labels, self._table, rule, stream
        )
        offsets = self._table.offsets / MICRO
        guessed_offsets = self._guess_values(released) @ offsets
        without_effect = released
        if rule.transform == "none":
            # True stars contain the attribute's effect: subtract the effect that is guessed.
            effect = guessed_offsets[entry_people(released), released.indices]
            without_effect = replace_data(released, released.data - effect)
        levels = self._profiles.predict_levels(without_effect)
        return PredictedLevels(
            released=released,
            on_device=levels + offsets[self._labels],
            at_recommender=levels + guessed_offsets,
        )

    def _guess_values(self, released: sparse.csr_array) -> Floats:
        """Guess the attribute by a frozen linear discriminant: (people, values) probabilities."""
        stars = self._experiment.stars(released)
        beliefs = [expit(attack.score(stars)) for attack in self._attacks.values()]
        if len(beliefs) == 1:
            return np.stack([1 - beliefs[0], beliefs[0]], axis=1)
        chances = np.maximum(np.stack(beliefs, axis=1), _LEAST_BELIEF)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _errors(self, predicted: PredictedLevels) -> Figures:
        """Compute errors, in stars, of predictions with the guessed and with the true attribute."""
        truth = self._experiment.stars(self._held_out).data
        stars_at_recommender = self._stars_of_held_out(predicted.at_recommender)
        stars_on_device = self._stars_of_held_out(predicted.on_device)
        return {
            "rmse": rmse(truth, stars_at_recommender),
            "mae": mae(truth, stars_at_recommender),
            "rmse_at_home": rmse(truth, stars_on_device),
        }

    def _stars_of_held_out(self, levels: Floats) -> Floats:
        """Read the predicted stars of the held-out ratings, clipped to the scale.

        Args:
            levels: (people, items) predicted levels.
        """
        predicted = levels[entry_people(self._held_out), self._held_out.indices]
        on_scale = np.clip(predicted, 0, self._experiment.whole_levels - 1)
        return np.asarray(on_scale * self._experiment.step + self._experiment.minimum)

    def _judge_lists(self, preferences: Floats) -> RankingMetrics:
        """Judge the lists of unseen items that are ranked by (people, items) preferences."""
        return ranking_metrics(*self._rank(preferences))

    def _rank(self, preferences: Floats) -> tuple[Ints, sparse.csr_array]:
        """Rank unseen items by preference.

        Returns:
            (people, LIST_LENGTH) item numbers; and a CSR of the held-out ratings, 1 for relevant
            items and 0 for others.
        """
        scores = preferences.copy()
        scores[entry_people(self._seen), self._seen.indices] = -np.inf
        lists = np.argsort(-scores, axis=1, kind="stable")[:, :LIST_LENGTH]
        highest_level = self._experiment.whole_levels - 1
        is_relevant = self._held_out.data >= LIKED_SHARE_OF_SCALE * highest_level
        return lists, replace_data(self._held_out, is_relevant.astype(float))


def _hold_out(
    levels: sparse.csr_array, generator: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Hold out a random part of each person's ratings: HELD_OUT of them, at least one.

    A person's only rating is not held out.

    Args:
        levels: (people, items) CSR of levels.
        generator: Draws the ratings.

    Returns:
        CSR of the ratings that stay, and of those held out.
    """
    counts = np.diff(levels.indptr)[entry_people(levels)]
    n_held_out = np.clip(np.round(HELD_OUT * counts), 1, np.maximum(counts - 1, 0))
    rank = rank_in_person(levels, generator.random(levels.nnz))
    is_held_out = rank < n_held_out
    return select_entries(levels, ~is_held_out), select_entries(levels, is_held_out)


def average_over_folds(folds: Sequence[Mapping[K, float]]) -> dict[K, float]:
    """Average figures with the same names over folds."""
    averages = {}
    for name in folds[0]:
        averages[name] = float(np.mean([fold[name] for fold in folds]))
    return averages


def accuracy_row(release: str, folds: Sequence[Figures]) -> AccuracyRow:
    """Average a release's figures over folds, with intervals of RMSE and NDCG."""
    error = mean_interval([fold["rmse"] for fold in folds])
    ndcg = mean_interval([fold["ndcg"] for fold in folds], bounds=(0.0, 1.0))
    figures = average_over_folds(folds)
    figures |= {"rmse": error.mean, "rmse_low": error.low, "rmse_high": error.high}
    figures |= {"ndcg": ndcg.mean, "ndcg_low": ndcg.low, "ndcg_high": ndcg.high}
    return AccuracyRow(release, **figures)


def mix_point(mix: float, folds: Sequence[MixFigures]) -> MixPoint:
    """Make a point of the curve over the mix (the patent's alpha), with intervals over folds.

    Args:
        mix: Share of the ratings that is obfuscated.
        folds: The figures of each fold.
    """
    intervals = {}
    for attack in folds[0].aucs:
        intervals[attack] = auc_interval([fold.aucs[attack] for fold in folds])
    error = mean_interval([fold.rmse for fold in folds])
    return MixPoint(
        mix=mix,
        aucs={attack: interval.mean for attack, interval in intervals.items()},
        rmse=error.mean,
        auc_ranges={
            attack: (interval.low, interval.high) for attack, interval in intervals.items()
        },
        rmse_range=(error.low, error.high),
    )
