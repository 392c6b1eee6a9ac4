"""Linear attackers on the plain item vector; all attackers by name; panels of several attackers.

The plain item vector has stars where rated and zeros elsewhere. The zeros make a linear attacker
read *which* items a person rated as much as *how*. A stored rating of exactly 0 looks like an
unrated item to such an attacker.

Source   Weinsberg, Bhagat, Ioannidis, Taft: BlurMe, inferring and obfuscating user gender based on
         ratings (RecSys 2012), where naive Bayes, logistic regression
         and support vector machines do best.

All attackers of a panel learn from the same people.

Other packages add attackers under the entry point group `tacit.attackers`. An entry point names a
class or function that is called without arguments and returns a new `Attacker`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.auc_bounds import auc
from tacit.auditing.attacks.base import (
    Attacker,
    AttributeAttack,
    Floats,
    Labels,
    Learner,
    Releases,
    limit_threads,
)
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.modern import NONLINEAR, OnRatings, Stack, make_quick_boosting
from tacit.errors import ConfigError
from tacit.extensions import ATTACKERS, find_entry_points

INVERSE_PENALTIES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
"""Inverse penalties of logistic regression for stars of at most 5, the strongest penalty first."""
ENOUGH_PEOPLE = 1000
"""Penalties are judged on fifths of the people until these fifths hold so many people."""
QUICK_PARTS = 2
"""Most fifths of the people that a quick search judges penalties on."""
TOLERANCE = 1e-4
"""Largest gradient of the mean loss at which a fit of logistic regression may end."""
QUICK_TOLERANCE = 1e-3
"""Tolerance of a quick fit. The AUC differs from that with `TOLERANCE` by .0002 on average, and by
.006 in the fold where it differs most."""
QUICK_SWEEPS = 6
"""Sweeps of the linear discriminant's factorization in the quick panel."""


Features: TypeAlias = sparse.csr_array | Floats
"""(people, items) scaled stars."""


class NaiveBayes(Learner):
    """Multinomial naive Bayes with add-one smoothing, stars as counts.

    Counts cannot be negative. If some training rating is negative, the smallest one is subtracted
    from every rating; a rating equal to it, or below it, then looks like an unrated item.
    """

    name = "naive-bayes"

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Learn from (people, items) ratings and (people,) labels of 0 and 1."""
        from sklearn.naive_bayes import MultinomialNB

        checked_labels = self._check_training(ratings, labels)
        self._minimum = min(0.0, float(ratings.data.min(initial=0.0)))
        self._model = MultinomialNB(alpha=1.0).fit(self._stars_as_counts(ratings), checked_labels)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Return (people,) log odds of label 1.

        Their absolute values are too large, because naive Bayes takes items for independent.
        """
        self._check_scored(ratings)
        weights = self._model.feature_log_prob_[1] - self._model.feature_log_prob_[0]
        prior = self._model.class_log_prior_[1] - self._model.class_log_prior_[0]
        log_odds: Floats = self._stars_as_counts(ratings) @ weights + prior
        return log_odds

    def _stars_as_counts(self, ratings: sparse.csr_array) -> sparse.csr_array:
        """Return stars minus `_minimum`, which is 0 or negative; a negative result becomes 0."""
        return _with_short_indices(ratings, np.maximum(ratings.data - self._minimum, 0.0))


class _PenalisedClassifier(Learner):
    """A linear classifier whose penalty is chosen on the attacker's own training people.

    The people are divided into fifths, stratified by label. Each penalty is judged by the AUC on
    one fifth, after a fit to the other four. With few people, this is done for several fifths in
    turn (see `mask_fifths`), and the AUCs are added. The last fit, to all training people, has the
    penalty with the largest sum; of equal sums, the strongest penalty. Stars are scaled so that the
    largest is 5: the same penalties then suit every rating scale.

    A quick search judges on `QUICK_PARTS` fifths at most. It tries every third penalty, then those
    just above and below the best of them.

    Args:
        inverse_penalties: Values to choose from; None or an empty sequence: those of the class.
        seed: Seed of the fifths, and of fits that need one.
        quick: Whether to search quickly.
    """

    inverse_penalties: tuple[float, ...] = INVERSE_PENALTIES
    """Inverse penalties to choose from, ascending: the strongest penalty first."""

    def __init__(
        self,
        inverse_penalties: Sequence[float] | None = None,
        *,
        seed: int = 0,
        quick: bool = False,
    ) -> None:
        self.inverse_penalties = tuple(sorted(inverse_penalties or self.inverse_penalties))
        self.seed = seed
        self.quick = quick
        self.chosen_inverse_penalty: float | None = None

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Choose a penalty, then learn from (people, items) ratings and (people,) labels."""
        checked_labels = self._check_training(ratings, labels)
        self._unit = float(np.abs(ratings.data).max(initial=0.0)) / 5 or 1.0
        features = self._scale_stars(ratings)
        with limit_threads():
            self.chosen_inverse_penalty = self._choose_inverse_penalty(features, checked_labels)
            self._model = (
                self._make_classifier()
                .set_params(C=self.chosen_inverse_penalty)
                .fit(features, checked_labels)
            )
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Return (people,) decision values, which rise with the chance of label 1."""
        self._check_scored(ratings)
        decision: Floats = self._model.decision_function(self._scale_stars(ratings))
        return decision

    def _choose_inverse_penalty(self, features: Features, labels: Labels) -> float:
        """Choose the inverse penalty for these people."""
        if len(self.inverse_penalties) == 1:
            return self.inverse_penalties[0]
        parts = mask_fifths(labels, self.seed)
        if not self.quick:
            areas = self._sum_aucs(features, labels, parts, self.inverse_penalties)
        else:
            parts = parts[:QUICK_PARTS]
            every_third = self.inverse_penalties[1::3] or self.inverse_penalties
            areas = self._sum_aucs(features, labels, parts, every_third)
            best = self.inverse_penalties.index(max(areas, key=lambda value: areas[value]))
            neighbours = self.inverse_penalties[max(0, best - 1) : best + 2]
            untried = [value for value in neighbours if value not in areas]
            areas |= self._sum_aucs(features, labels, parts, untried)
        return max(sorted(areas), key=lambda value: areas[value])

    def _sum_aucs(
        self,
        features: Features,
        labels: Labels,
        parts: Sequence[NDArray[np.bool_]],
        inverse_penalties: Sequence[float],
    ) -> dict[float, float]:
        """Return the sum of AUCs of each inverse penalty, over the parts of the people.

        Args:
            features: (people, items) scaled stars.
            labels: (people,) 0 or 1.
            parts: (people,) masks. An AUC is of the masked people, after a fit to all others.
            inverse_penalties: Inverse penalties to judge.
        """
        areas = dict.fromkeys(inverse_penalties, 0.0)
        for is_judged in parts:
            model = self._make_classifier()
            learned_from = features[~is_judged]
            judged_on = features[is_judged]
            for inverse_penalty in inverse_penalties:
                model.set_params(C=inverse_penalty).fit(learned_from, labels[~is_judged])
                areas[inverse_penalty] += auc(labels[is_judged], model.decision_function(judged_on))
        return areas

    def _scale_stars(self, ratings: sparse.csr_array) -> Features:
        """Scale stars by the factor that brings the largest absolute training rating to 5.

        Returns:
            (people, items) scaled stars; an array if more than half of the cells are filled, as
            with predictions of all items, because learning from it is faster and it takes about as
            much memory.
        """
        scaled = _with_short_indices(ratings, ratings.data / self._unit)
        n_people, n_items = scaled.shape
        return scaled.toarray() if 2 * scaled.nnz > n_people * n_items else scaled

    def _make_classifier(self) -> Any:
        """Return an unfitted scikit-learn classifier that has a parameter C, the inverse penalty.

        It may be fitted several times, with ascending C.
        """
        raise NotImplementedError


class LogisticRegression(_PenalisedClassifier):
    """Logistic regression with a squared penalty."""

    name = "logistic-regression"

    def _make_classifier(self) -> Any:
        from sklearn.linear_model import LogisticRegression as Classifier

        # `warm_start`: each fit, from strong to weak penalties, starts where the last one ended.
        tolerance = QUICK_TOLERANCE if self.quick else TOLERANCE
        return Classifier(solver="lbfgs", tol=tolerance, max_iter=10_000, warm_start=True)


class SupportVectorMachine(_PenalisedClassifier):
    """Linear support vector machine with squared hinge loss.

    Its penalties are ten times those of the logistic regression, whose loss is flatter.
    """

    name = "svm"
    inverse_penalties = (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01)

    def _make_classifier(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(dual=True, max_iter=100_000, random_state=self.seed)


def mask_fifths(labels: Labels, seed: int) -> list[NDArray[np.bool_]]:
    """Return a (people,) mask of each fifth of the people on which penalties are judged.

    There are as many fifths as are needed to hold ENOUGH_PEOPLE together: the AUC of few people is
    mostly chance. There are at most five, and no more than people of the rarer label, so that there
    are people of both labels inside and outside each fifth.

    Args:
        labels: (people,) 0 or 1, at least two people of each.
        seed: Seed of the division into fifths.
    """
    generator = np.random.default_rng(seed)
    fifth = np.empty(len(labels), dtype=np.int64)
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        fifth[generator.permutation(rows)] = np.arange(len(rows)) % 5
    n_of_rarer_label = min(int(np.sum(labels == 0)), int(np.sum(labels == 1)))
    parts_needed = math.ceil(5 * ENOUGH_PEOPLE / len(labels))
    return [fifth == part for part in range(min(5, n_of_rarer_label, parts_needed))]


def _with_short_indices(ratings: sparse.csr_array, data: Floats) -> sparse.csr_array:
    """Return a matrix with the stored places of `ratings` and the values of `data`.

    Its indices have 32 bits, which liblinear needs.
    """
    indices = ratings.indices.astype(np.int32)
    row_starts = ratings.indptr.astype(np.int32)
    return sparse.csr_array((data, indices, row_starts), shape=ratings.shape)


ATTACKS: Mapping[str, Callable[[], AttributeAttack]] = MappingProxyType(
    {
        NaiveBayes.name: NaiveBayes,
        LogisticRegression.name: LogisticRegression,
        SupportVectorMachine.name: SupportVectorMachine,
        LinearDiscriminant.name: LinearDiscriminant,
    }
)
"""The linear attackers, by name. They read released stars alone."""

SHIPPED: Mapping[str, Callable[[], Attacker]] = MappingProxyType(
    {name: partial(OnRatings, make) for name, make in ATTACKS.items()} | dict(NONLINEAR)
)
"""The attackers of this package, by name, without stacks."""
STACKS: Mapping[str, Stack] = MappingProxyType(
    {
        "stack": Stack("stack", ("boosting-meta", "boosting-svd", "mlp", "nearest-neighbours")),
        "stack-lite": Stack("stack-lite", ("boosting-meta", "logistic-svd", "nearest-neighbours")),
    }
)
"""Stacks, by name: they combine the scores of other attackers."""
QUICK = (*ATTACKS, "logistic-svd", "boosting-meta", "nearest-neighbours", "stack-lite")
"""Names of the attackers of the quick panel."""
QUICKER: Mapping[str, Callable[[], Attacker]] = MappingProxyType(
    {
        LogisticRegression.name: partial(OnRatings, partial(LogisticRegression, quick=True)),
        SupportVectorMachine.name: partial(OnRatings, partial(SupportVectorMachine, quick=True)),
        LinearDiscriminant.name: partial(
            OnRatings, partial(LinearDiscriminant, sweeps=QUICK_SWEEPS)
        ),
        "boosting-meta": make_quick_boosting,
    }
)
"""Faster variants that the quick panel uses under these names: a quick search for the penalty,
fewer sweeps of the factorization, fewer and smaller trees."""
FULL = (*SHIPPED, "stack")
"""Names of this package's attackers in the full panel."""


def attackers() -> dict[str, Callable[[], Attacker]]:
    """Return the constructor of each attacker by name: of this package and of installed packages.

    Stacks are not included: they are not fitted and only combine the scores of other attackers.
    """
    makers = dict(SHIPPED)
    for name, entry in find_entry_points(ATTACKERS, (*SHIPPED, *STACKS)).items():
        makers[name] = entry.load()
    return makers


def panel_names(panel: str) -> tuple[str, ...]:
    """Return the names of a panel's attackers.

    Args:
        panel: "quick", or "full", which has the attackers of installed packages too.

    Raises:
        ConfigError: There is no panel of this name.
    """
    if panel == "quick":
        return QUICK
    if panel == "full":
        return (*FULL, *(name for name in attackers() if name not in SHIPPED))
    raise ConfigError(f"No panel '{panel}'. Known: quick, full.")


def check_attackers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names as a tuple; raise ConfigError for a name of neither attacker nor stack."""
    known_names = (*attackers(), *STACKS)
    for name in names:
        if name not in known_names:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(known_names)}.")
    return tuple(names)


class Panel:
    """Several attackers, by name. Members of a stack are fitted even if they are not named.

    Args:
        names: Names of attackers and stacks.
        quick: Whether to use the faster variants of `QUICKER`.

    Raises:
        ConfigError: A name is of neither an attacker nor a stack.
    """

    def __init__(self, names: Sequence[str], *, quick: bool = False) -> None:
        self.names = check_attackers(names)
        makers = attackers()
        if quick:
            makers |= QUICKER
        members = dict.fromkeys(itertools.chain.from_iterable(map(_attackers_behind, self.names)))
        self._attackers: dict[str, Attacker] = {name: makers[name]() for name in members}

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Fit each attacker to the releases of the same people and their (people,) labels 0, 1."""
        for attacker in self._attackers.values():
            attacker.fit(seen, labels)
        return self

    def scores(self, seen: Releases) -> dict[str, Floats]:
        """Return (people,) scores by name; those of a stack are mean ranks among these people."""
        single = {name: attacker.score(seen) for name, attacker in self._attackers.items()}
        return {
            name: STACKS[name].combine(single) if name in STACKS else single[name]
            for name in self.names
        }


def readers_of_epochs(names: Sequence[str]) -> tuple[str, ...]:
    """Return the attackers and stacks among `names` whose scores depend on epoch labels."""
    readers = {name for name, make in attackers().items() if make().reads_epochs}
    return tuple(name for name in names if not readers.isdisjoint(_attackers_behind(name)))


def _attackers_behind(name: str) -> tuple[str, ...]:
    """Return the names that are fitted for a name: a stack's members, or the attacker itself."""
    return STACKS[name].members if name in STACKS else (name,)
