"""Nonlinear attackers: classifiers on directions and summaries, nearest neighbours, a stack."""

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
    replace_data,
)
from tacit.auditing.attacks.features import FEW_PEOPLE, Blocks, space_of

NEIGHBOURS = 100
PEOPLE_AT_A_TIME = 1000
ENOUGH_TO_STOP_EARLY = 50
"""People of the rarer label; with fewer, none is set aside to stop the training of a network."""


class OnRatings:
    """An attack on the released stars alone."""

    reads_epochs = False

    def __init__(self, make: Callable[[], AttributeAttack]) -> None:
        self._attack = make()
        self.name = self._attack.name

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from people whose label is known."""
        self._attack.fit(seen.ratings, labels)
        return self

    def score(self, seen: Releases) -> Floats:
        """Return the scores of other people."""
        return self._attack.score(seen.ratings)


class OnFeatures(Learner):
    """Scikit-learn classifiers on features; the score is the mean of their log odds.

    Args:
        name: Name in the registry.
        columns: Selects the features of people from their blocks.
        make: Makes the unfitted classifiers; settings may depend on the (people,) labels.
    """

    reads_epochs = True

    def __init__(
        self,
        name: str,
        columns: Callable[[Blocks], Floats],
        make: Callable[[Labels], Sequence[Any]],
    ) -> None:
        self.name = name
        self._columns = columns
        self._make = make

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from people whose label is known."""
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits

        known = self._check_training(seen.ratings, labels)
        self._space = space_of(seen)
        features = self._columns(self._space.blocks(seen))
        self._centre = features.mean(axis=0)
        spread = features.std(axis=0)
        self._spread = np.where(spread > 1e-9 * (1.0 + np.abs(self._centre)), spread, np.inf)
        with threadpool_limits(1), catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # a network may stop before it converges
            standard = self._standardise(features)
            self._models = [model.fit(standard, known) for model in self._make(known)]
        return self

    def score(self, seen: Releases) -> Floats:
        """Return the scores of other people."""
        self._check_scored(seen.ratings)
        features = self._standardise(self._columns(self._space.blocks(seen)))
        scores: Floats = np.mean([log_odds(model, features) for model in self._models], axis=0)
        return scores

    def _standardise(self, features: Floats) -> Floats:
        """Centre and scale columns as in training; one that was constant becomes 0."""
        standard: Floats = (features - self._centre) / self._spread
        return standard


class NearestNeighbours(Learner):
    """The share of label 1 among the 100 training people with the most similar shown items.

    Similarity is the cosine of masks, items weighed by log(people / raters).
    """

    name = "nearest-neighbours"
    reads_epochs = False

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from people whose label is known."""
        known = self._check_training(seen.ratings, labels)
        raters = np.bincount(seen.ratings.indices, minlength=seen.ratings.shape[1])
        self._weights = np.log((1.0 + len(known)) / (1.0 + raters))
        self._people = self._unit_rows(seen.ratings)
        # (people,) labels less their mean, so that a score of 0 is the share among all people.
        self._surplus = known - known.mean()
        return self

    def score(self, seen: Releases) -> Floats:
        """Return the scores of other people."""
        self._check_scored(seen.ratings)
        unit_rows = self._unit_rows(seen.ratings)
        starts = range(0, unit_rows.shape[0], PEOPLE_AT_A_TIME)
        parts = [self._scores(unit_rows[start : start + PEOPLE_AT_A_TIME]) for start in starts]
        return np.concatenate([np.zeros(0), *parts])

    def _scores(self, unit_rows: sparse.csr_array) -> Floats:
        """(rows,) mean surplus of the nearest training people, weighed by similarity."""
        similarities = (unit_rows @ self._people.T).toarray()
        n_neighbours = min(NEIGHBOURS, similarities.shape[1])
        nearest = np.argpartition(-similarities, n_neighbours - 1, axis=1)[:, :n_neighbours]
        weights = np.take_along_axis(similarities, nearest, axis=1)
        total = np.maximum(weights.sum(axis=1), 1e-12)
        scores: Floats = (weights * self._surplus[nearest]).sum(axis=1) / total
        return scores

    def _unit_rows(self, ratings: sparse.csr_array) -> sparse.csr_array:
        """(people, items) weights of shown items, each row of length 1."""
        data = self._weights[ratings.indices]
        rows = np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr))
        length = np.sqrt(np.bincount(rows, data**2, minlength=ratings.shape[0]))
        data = data / np.maximum(length, 1e-12)[rows]
        return replace_data(ratings, data)


class Stack:
    """Mean rank of some attackers' scores among the people under attack, ties averaged."""

    def __init__(self, name: str, members: tuple[str, ...]) -> None:
        self.name = name
        self.members = members

    def combine(self, scores: Mapping[str, Floats]) -> Floats:
        """Return (people,) mean ranks over the members, from 0 to 1."""
        ranks = [average_ranks(scores[member]) / len(scores[member]) for member in self.members]
        combined: Floats = np.mean(ranks, axis=0)
        return combined


class _Quadratic:
    """Two normal distributions, each covariance .9 of its own and .1 of the identity.

    scikit-learn's refuses more features than people.
    """

    def fit(self, features: Floats, labels: Labels) -> Self:
        """Fit a distribution to the (people, columns) features of each label."""
        self._groups = [self._group(features[labels == label]) for label in (0, 1)]
        return self

    def decision_function(self, features: Floats) -> Floats:
        """(people,) log density under label 1 less that under label 0."""
        of_zero, of_one = (self._log_density(features, *group) for group in self._groups)
        log_ratio: Floats = of_one - of_zero
        return log_ratio

    @staticmethod
    def _group(features: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the regularised covariance."""
        covariance = 0.9 * np.atleast_2d(np.cov(features, rowvar=False))
        return features.mean(axis=0), covariance + 0.1 * np.eye(features.shape[1])

    @staticmethod
    def _log_density(features: Floats, mean: Floats, covariance: Floats) -> Floats:
        """(people,) -(d' C^-1 d + ln det C) / 2, with d the deviations from the mean."""
        deviations = features - mean
        squares = (deviations * np.linalg.solve(covariance, deviations.T).T).sum(axis=1)
        log_density: Floats = -(squares + np.linalg.slogdet(covariance)[1]) / 2
        return log_density


def boosted_trees(labels: Labels, *, quick: bool = False) -> list[Any]:
    """Make one unfitted classifier of boosted trees, with leaves that suit so many people.

    Args:
        labels: (people,) of 0 and 1.
        quick: Whether to take fewer and smaller trees, in larger steps, on fewer bins.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [
        HistGradientBoostingClassifier(
            learning_rate=0.1 if quick else 0.05,
            max_iter=60 if quick else 150,
            max_leaf_nodes=8 if quick else 15,
            min_samples_leaf=15 if len(labels) < FEW_PEOPLE else 40,
            max_features=0.3,
            max_bins=64 if quick else 255,
            early_stopping=False,
            random_state=0,
        )
    ]


def log_odds(model: Any, features: Floats) -> Floats:
    """(people,) log odds of 1 of a fitted scikit-learn classifier."""
    from threadpoolctl import threadpool_limits

    # Each of 150 trees is a moment's work: several threads mostly wait for each other, and spin.
    with threadpool_limits(1, "openmp"):
        if hasattr(model, "decision_function"):
            odds: Floats = np.asarray(model.decision_function(features), dtype=np.float64)
            return odds
        chance = np.clip(model.predict_proba(features)[:, 1], 1e-12, 1 - 1e-12)
    logit: Floats = np.log(chance / (1 - chance))
    return logit


def _logistic(_: Labels) -> list[Any]:
    """Make one unfitted logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return [LogisticRegression(C=0.01, max_iter=2000)]


def _networks(labels: Labels) -> list[Any]:
    """Make three small unfitted networks, which differ in their seeds."""
    from sklearn.neural_network import MLPClassifier

    stop = int(np.bincount(labels).min()) >= ENOUGH_TO_STOP_EARLY
    return [
        MLPClassifier((64,), alpha=3.0, early_stopping=stop, random_state=seed) for seed in range(3)
    ]


def _all_features(blocks: Blocks) -> Floats:
    """(people, columns) all directions, and summaries."""
    return np.hstack([blocks.directions(60, 60), blocks.summaries()])


def _half_of_directions(blocks: Blocks) -> Floats:
    """(people, columns) the first 30 directions of mask and residuals, and summaries."""
    return np.hstack([blocks.directions(30, 30), blocks.summaries()])


def _few_directions(blocks: Blocks) -> Floats:
    """(people, 30) directions over the root of the number of items, without summaries."""
    return np.hstack([blocks.mask[:, :10], blocks.residuals[:, :20]]) / blocks.root


NONLINEAR: Mapping[str, Callable[[], Attacker]] = {
    "logistic-svd": partial(OnFeatures, "logistic-svd", _all_features, _logistic),
    "boosting-meta": partial(OnFeatures, "boosting-meta", Blocks.summaries, boosted_trees),
    "boosting-svd": partial(OnFeatures, "boosting-svd", _half_of_directions, boosted_trees),
    "mlp": partial(OnFeatures, "mlp", _all_features, _networks),
    "nearest-neighbours": NearestNeighbours,
    "quadratic": partial(OnFeatures, "quadratic", _few_directions, lambda _: [_Quadratic()]),
}


def make_quick_boosting() -> OnFeatures:
    """Make "boosting-meta" with fewer and smaller trees."""
    return OnFeatures("boosting-meta", Blocks.summaries, partial(boosted_trees, quick=True))
