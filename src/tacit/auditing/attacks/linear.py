"""Attacks on the plain item vector: stars where rated, zeros elsewhere.

The zeros make these attacks read *which* items a person rated as much as *how*. A stored rating of
exactly 0 looks like an unrated item to them.

Source   Weinsberg, Bhagat, Ioannidis, Taft: BlurMe, inferring and obfuscating user gender based on
         ratings (RecSys 2012), where the same three families do best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.base import (
    Floats,
    Labels,
    check_ratings,
    check_training,
    not_fitted,
)
from tacit.auditing.attacks.judging import auc

STRENGTHS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
"""Inverse penalties tried, strongest penalty first, for stars of at most 5."""

ENOUGH_PEOPLE = 1000
"""People to judge penalties on, if there are so many."""


class NaiveBayes:
    """Multinomial naive Bayes with add-one smoothing, stars as counts.

    Counts cannot be negative: where training ratings are, their minimum is subtracted from every
    rating first, so that a rating at the minimum reads as unrated.
    """

    name: ClassVar[str] = "naive-bayes"

    def __init__(self) -> None:
        self._model: Any = None
        self._minimum = 0.0

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        from sklearn.naive_bayes import MultinomialNB

        known = check_training(ratings, labels)
        self._minimum = min(0.0, float(ratings.data.min(initial=0.0)))
        self._model = MultinomialNB(alpha=1.0).fit(self._counts(ratings), known)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Log odds of 1; far too sure of themselves, for items are not independent."""
        if self._model is None:
            raise not_fitted(self.name)
        check_ratings(ratings, self._model.n_features_in_)
        weights = self._model.feature_log_prob_[1] - self._model.feature_log_prob_[0]
        prior = self._model.class_log_prior_[1] - self._model.class_log_prior_[0]
        log_odds: Floats = self._counts(ratings) @ weights + prior
        return log_odds

    def _counts(self, ratings: sparse.csr_array) -> sparse.csr_array:
        return _short(ratings, np.maximum(ratings.data - self._minimum, 0.0))


class _Penalised:
    """A linear classifier whose penalty is chosen on the attacker's own training people.

    A fifth of them, stratified by label, is set aside (of few people, each fifth in turn); the
    inverse penalty with the best AUC there is used to refit on all (of equals, the strongest
    penalty). Stars are brought to at most 5, so that the same penalties suit every scale.
    """

    name: ClassVar[str]

    def __init__(self, strengths: Sequence[float] = STRENGTHS, *, seed: int = 0) -> None:
        self.strengths = tuple(sorted(strengths))
        self.seed = seed
        self.chosen_strength: float | None = None
        self._model: Any = None
        self._unit = 1.0

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        from threadpoolctl import threadpool_limits

        known = check_training(ratings, labels)
        self._unit = float(np.abs(ratings.data).max(initial=0.0)) / 5 or 1.0
        features = self._features(ratings)
        # The vectors are short: on a busy machine several threads mostly wait for each other.
        with threadpool_limits(1):
            self.chosen_strength = self._choose(features, known)
            self._model = self._classifier().set_params(C=self.chosen_strength).fit(features, known)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Signed distance from the separating plane."""
        if self._model is None:
            raise not_fitted(self.name)
        check_ratings(ratings, self._model.n_features_in_)
        decision: Floats = self._model.decision_function(self._features(ratings))
        return decision

    def _choose(self, features: sparse.csr_array, labels: Labels) -> float:
        areas = np.zeros(len(self.strengths))
        for aside in fifths_aside(labels, self.seed):
            model = self._classifier()
            for number, strength in enumerate(self.strengths):
                model.set_params(C=strength).fit(features[~aside], labels[~aside])
                decision = model.decision_function(features[aside])
                areas[number] += auc(labels[aside], decision)
        return self.strengths[int(np.argmax(areas))]

    def _features(self, ratings: sparse.csr_array) -> sparse.csr_array:
        return _short(ratings, ratings.data / self._unit)

    def _classifier(self) -> Any:
        """An unfitted scikit-learn classifier with a parameter C."""
        raise NotImplementedError


class LogisticRegression(_Penalised):
    """Logistic regression with a squared penalty."""

    name = "logistic-regression"

    def _classifier(self) -> Any:
        from sklearn.linear_model import LogisticRegression as Classifier

        # Going from strong to weak penalties, each fit starts where the last one ended.
        return Classifier(solver="lbfgs", max_iter=10_000, warm_start=True)


class SupportVectorMachine(_Penalised):
    """Linear support vector machine with squared hinge loss.

    The penalties tried are ten times those of the logistic regression, whose loss is flatter.
    """

    name = "svm"

    def __init__(
        self,
        strengths: Sequence[float] = (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01),
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(strengths, seed=seed)

    def _classifier(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(dual=True, max_iter=100_000, random_state=self.seed)


def fifths_aside(labels: Labels, seed: int) -> list[NDArray[np.bool_]]:
    """Masks of people set aside, a fifth at a time, each and its rest with both labels.

    As many as it takes to judge on ENOUGH_PEOPLE: the AUC of a few people is mostly chance.
    """
    generator = np.random.default_rng(seed)
    fifth = np.empty(len(labels), dtype=np.int64)
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        fifth[generator.permutation(rows)] = np.arange(len(rows)) % 5
    scarce = min(int(np.sum(labels == 0)), int(np.sum(labels == 1)))
    wanted = -(-5 * ENOUGH_PEOPLE // len(labels))
    return [fifth == part for part in range(min(5, scarce, wanted))]


def _short(ratings: sparse.csr_array, data: Floats) -> sparse.csr_array:
    # liblinear reads 32-bit column numbers only
    places = (ratings.indices.astype(np.int32), ratings.indptr.astype(np.int32))
    return sparse.csr_array((data, *places), shape=ratings.shape)
