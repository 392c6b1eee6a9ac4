"""Nonlinear attackers: classifiers on features of releases, nearest neighbours, and stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy import sparse

from tacit.auditing.attacks.auc_bounds import average_ranks
from tacit.auditing.attacks.base import (
    Attacker,
    AttributeAttack,
    Floats,
    Labels,
    Learner,
    Releases,
    limit_threads,
    replace_data,
)
from tacit.auditing.attacks.features import FEW_PEOPLE, Blocks, space_of

NEIGHBOURS = 100
"""Largest number of training people whose labels score one person."""
PEOPLE_AT_A_TIME = 1000
"""Number of people whose similarities to all training people are held in memory together."""
ENOUGH_TO_STOP_EARLY = 50
"""With at least this many people of the rarer label, a validation set decides when the training of
a network stops."""


class OnRatings:
    """An attacker that runs an attack on ratings. It reads the released stars and nothing else.

    Args:
        make: Makes the unfitted attack.
    """

    reads_epochs = False

    def __init__(self, make: Callable[[], AttributeAttack]) -> None:
        self._attack = make()
        self.name = self._attack.name

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from people whose labels are known."""
        self._attack.fit(seen.ratings, labels)
        return self

    def score(self, seen: Releases) -> Floats:
        """Return the scores of other people."""
        return self._attack.score(seen.ratings)


class OnFeatures(Learner):
    """Classifiers on features; the score is the mean of their decision values or log odds.

    Args:
        name: Name of the attacker.
        select_features: Selects the (people, columns) features to use from the blocks of features.
        make_classifiers: Makes the unfitted classifiers; it is given the (people,) labels.
    """

    reads_epochs = True

    def __init__(
        self,
        name: str,
        select_features: Callable[[Blocks], Floats],
        make_classifiers: Callable[[Labels], Sequence[Any]],
    ) -> None:
        self.name = name
        self._select_features = select_features
        self._make_classifiers = make_classifiers

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from people whose labels are known."""
        from sklearn.exceptions import ConvergenceWarning

        checked_labels = self._check_training(seen.ratings, labels)
        self._space = space_of(seen)
        features = self._select_features(self._space.blocks(seen))
        self._centre = features.mean(axis=0)
        spread = features.std(axis=0)
        self._spread = np.where(spread > 1e-9 * (1.0 + np.abs(self._centre)), spread, np.inf)
        with limit_threads(), catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # a network may stop before it converges
            standard = self._standardise(features)
            classifiers = self._make_classifiers(checked_labels)
            self._models = [model.fit(standard, checked_labels) for model in classifiers]
        return self

    def score(self, seen: Releases) -> Floats:
        """Return the scores of other people."""
        self._check_scored(seen.ratings)
        features = self._standardise(self._select_features(self._space.blocks(seen)))
        values = [decision_values(model, features) for model in self._models]
        scores: Floats = np.mean(values, axis=0)
        return scores

    def _standardise(self, features: Floats) -> Floats:
        """Centre and scale columns as in training; a column constant in training becomes 0."""
        standard: Floats = (features - self._centre) / self._spread
        return standard


class NearestNeighbours(Learner):
    """Scores by the labels of up to 100 training people with the most similar shown items.

    The score is the mean label of these people, weighed by similarity, less the mean label of all
    training people. Similarity is the cosine of the masks of shown items. Each item is weighed by
    log((1 + people) / (1 + raters)): the number of training people, and of those who show the item.
    """

    name = "nearest-neighbours"
    reads_epochs = False

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from people whose labels are known."""
        checked_labels = self._check_training(seen.ratings, labels)
        raters = np.bincount(seen.ratings.indices, minlength=seen.ratings.shape[1])
        self._weights = np.log((1.0 + len(checked_labels)) / (1.0 + raters))
        self._people = self._unit_rows(seen.ratings)
        # (people,) labels less their mean.
        self._centred_labels = checked_labels - checked_labels.mean()
        return self

    def score(self, seen: Releases) -> Floats:
        """Return the scores of other people."""
        self._check_scored(seen.ratings)
        unit_rows = self._unit_rows(seen.ratings)
        starts = range(0, unit_rows.shape[0], PEOPLE_AT_A_TIME)
        parts = [self._score_rows(unit_rows[start : start + PEOPLE_AT_A_TIME]) for start in starts]
        return np.concatenate([np.zeros(0), *parts])

    def _score_rows(self, unit_rows: sparse.csr_array) -> Floats:
        """Return (rows,) means of the nearest people's centred labels, weighed by similarity."""
        similarities = (unit_rows @ self._people.T).toarray()
        n_neighbours = min(NEIGHBOURS, similarities.shape[1])
        nearest = np.argpartition(-similarities, n_neighbours - 1, axis=1)[:, :n_neighbours]
        weights = np.take_along_axis(similarities, nearest, axis=1)
        total = np.maximum(weights.sum(axis=1), 1e-12)
        scores: Floats = (weights * self._centred_labels[nearest]).sum(axis=1) / total
        return scores

    def _unit_rows(self, ratings: sparse.csr_array) -> sparse.csr_array:
        """Return (people, items) weights of shown items; nonzero rows have Euclidean length 1."""
        data = self._weights[ratings.indices]
        rows = np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr))
        lengths = np.sqrt(np.bincount(rows, data**2, minlength=ratings.shape[0]))
        data = data / np.maximum(lengths, 1e-12)[rows]
        return replace_data(ratings, data)


class Stack:
    """Combines the scores of several attackers by the mean of their ranks among the scored people.

    Args:
        name: Name of the stack.
        members: Names of the attackers.
    """

    def __init__(self, name: str, members: tuple[str, ...]) -> None:
        self.name = name
        self.members = members

    def combine(self, scores: Mapping[str, Floats]) -> Floats:
        """Return (people,) mean ranks over the members, divided by the number of people.

        Args:
            scores: (people,) scores by the attacker's name.
        """
        ranks = [average_ranks(scores[member]) / len(scores[member]) for member in self.members]
        combined: Floats = np.mean(ranks, axis=0)
        return combined


class _Quadratic:
    """Quadratic discriminant: a normal distribution of the features for each label.

    Each covariance is .9 of the sample covariance plus .1 of the identity. The class in
    scikit-learn refuses more features than people.
    """

    def fit(self, features: Floats, labels: Labels) -> Self:
        """Fit a distribution to the (people, columns) features of each label."""
        self._normals = [self._estimate_normal(features[labels == label]) for label in (0, 1)]
        return self

    def decision_function(self, features: Floats) -> Floats:
        """Return the (people,) log density under label 1 less that under label 0."""
        normal_of_zero, normal_of_one = self._normals
        log_density_of_zero = self._log_density(features, *normal_of_zero)
        log_ratio: Floats = self._log_density(features, *normal_of_one) - log_density_of_zero
        return log_ratio

    @staticmethod
    def _estimate_normal(features: Floats) -> tuple[Floats, Floats]:
        """Return the (columns,) mean and the regularised (columns, columns) covariance."""
        covariance = 0.9 * np.atleast_2d(np.cov(features, rowvar=False))
        return features.mean(axis=0), covariance + 0.1 * np.eye(features.shape[1])

    @staticmethod
    def _log_density(features: Floats, mean: Floats, covariance: Floats) -> Floats:
        """Return (people,) log densities, up to a constant.

        They are -(d' C^-1 d + ln det C) / 2, with d a person's deviations from the mean.
        """
        deviations = features - mean
        squares = (deviations * np.linalg.solve(covariance, deviations.T).T).sum(axis=1)
        log_density: Floats = -(squares + np.linalg.slogdet(covariance)[1]) / 2
        return log_density


def make_boosted_trees(labels: Labels, *, quick: bool = False) -> list[Any]:
    """Make one unfitted classifier of boosted trees, in a list.

    Args:
        labels: (people,) labels of the training people, whose number decides the size of leaves.
        quick: Whether to use fewer and smaller trees, a larger learning rate, and fewer bins.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [
        HistGradientBoostingClassifier(
            learning_rate=0.1 if quick else 0.05,
            max_iter=40 if quick else 150,
            max_leaf_nodes=8 if quick else 15,
            min_samples_leaf=15 if len(labels) < FEW_PEOPLE else 40,
            max_features=0.3,
            max_bins=64 if quick else 255,
            early_stopping=False,
            random_state=0,
        )
    ]


def decision_values(model: Any, features: Floats) -> Floats:
    """Return (people,) scores by a classifier: its decision values, or log odds of label 1.

    A classifier without `decision_function` gives chances instead. They are clipped to lie at least
    1e-12 from 0 and 1, and their log odds are returned.
    """
    with limit_threads():
        if hasattr(model, "decision_function"):
            decisions: Floats = np.asarray(model.decision_function(features), dtype=np.float64)
            return decisions
        chance = np.clip(model.predict_proba(features)[:, 1], 1e-12, 1 - 1e-12)
    log_odds: Floats = np.log(chance / (1 - chance))
    return log_odds


def _make_logistic_regression(_: Labels) -> list[Any]:
    """Make one unfitted logistic regression, in a list."""
    from sklearn.linear_model import LogisticRegression

    return [LogisticRegression(C=0.01, max_iter=2000)]


def _make_networks(labels: Labels) -> list[Any]:
    """Make three small unfitted networks, which differ in their seeds."""
    from sklearn.neural_network import MLPClassifier

    stops_early = int(np.bincount(labels).min()) >= ENOUGH_TO_STOP_EARLY
    networks = []
    for seed in range(3):
        network = MLPClassifier((64,), alpha=3.0, early_stopping=stops_early, random_state=seed)
        networks.append(network)
    return networks


def _all_features(blocks: Blocks) -> Floats:
    """Return (people, columns): all directions of mask and residuals, and summaries."""
    return np.hstack([blocks.directions(60, 60), blocks.summaries()])


def _half_of_directions(blocks: Blocks) -> Floats:
    """Return (people, columns): 30 directions of each of mask and residuals, and summaries."""
    return np.hstack([blocks.directions(30, 30), blocks.summaries()])


def _few_directions(blocks: Blocks) -> Floats:
    """Return (people, columns): the first 10 directions of the mask and 20 of the residuals.

    They are divided by the square root of the person's number of shown items.
    """
    return np.hstack([blocks.mask[:, :10], blocks.residuals[:, :20]]) / blocks.root


NONLINEAR: Mapping[str, Callable[[], Attacker]] = {
    "logistic-svd": partial(OnFeatures, "logistic-svd", _all_features, _make_logistic_regression),
    "boosting-meta": partial(OnFeatures, "boosting-meta", Blocks.summaries, make_boosted_trees),
    "boosting-svd": partial(OnFeatures, "boosting-svd", _half_of_directions, make_boosted_trees),
    "mlp": partial(OnFeatures, "mlp", _all_features, _make_networks),
    "nearest-neighbours": NearestNeighbours,
    "quadratic": partial(OnFeatures, "quadratic", _few_directions, lambda _: [_Quadratic()]),
}
"""Constructors of the nonlinear attackers, by name."""


def make_quick_boosting() -> OnFeatures:
    """Make the attacker "boosting-meta" with fewer and smaller trees."""
    return OnFeatures("boosting-meta", Blocks.summaries, partial(make_boosted_trees, quick=True))
