"""Linear attackers on the plain item vector; all attackers by name, and panels of several.

The plain item vector has stars where rated and zeros elsewhere. The zeros make a linear attacker
read *which* items a person rated as much as *how*. A stored rating of exactly 0 looks like an
unrated item to it.

Source   Weinsberg, Bhagat, Ioannidis, Taft: BlurMe, inferring and obfuscating user gender based on
         ratings (RecSys 2012), where the same three families do best.

The attackers of a panel learn from the same people.

Packages add theirs under the entry point group `tacit.attackers`. An entry point's object is called
without arguments and gives a new `Attacker`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.auc_bounds import auc
from tacit.auditing.attacks.base import Attacker, AttributeAttack, Floats, Labels, Learner, Releases
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.modern import NONLINEAR, OnRatings, Stack, make_quick_boosting
from tacit.errors import ConfigError
from tacit.extensions import ATTACKERS, find_entry_points

STRENGTHS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
"""Inverse penalties tried, strongest penalty first, for stars of at most 5."""

ENOUGH_PEOPLE = 1000
"""People to judge penalties on, where there are as many."""
QUICK_PARTS = 2
"""Parts of the people, of at most five, that a quick search judges penalties on."""
TOLERANCE, QUICK_TOLERANCE = 1e-4, 1e-3
"""Largest slope of the mean loss at which a fit of logistic regression may end. The AUC differs by
.0002 on average, and by .006 in the fold where it differs most."""

QUICK_SWEEPS = 6
"""Sweeps of the linear discriminant's factorization in the quick panel."""


class NaiveBayes(Learner):
    """Multinomial naive Bayes with add-one smoothing, stars as counts.

    Counts cannot be negative: where training ratings are, their minimum is subtracted from every
    rating first, so that a rating at the minimum reads as unrated.
    """

    name = "naive-bayes"

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Learn from (people, items) ratings and (people,) labels of 0 and 1."""
        from sklearn.naive_bayes import MultinomialNB

        known = self._check_training(ratings, labels)
        self._minimum = min(0.0, float(ratings.data.min(initial=0.0)))
        self._model = MultinomialNB(alpha=1.0).fit(self._counts(ratings), known)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """(people,) log odds of 1, too far from 0, since they take items for independent."""
        self._check_scored(ratings)
        weights = self._model.feature_log_prob_[1] - self._model.feature_log_prob_[0]
        prior = self._model.class_log_prior_[1] - self._model.class_log_prior_[0]
        log_odds: Floats = self._counts(ratings) @ weights + prior
        return log_odds

    def _counts(self, ratings: sparse.csr_array) -> sparse.csr_array:
        """Return stars as counts: less the minimum of training, and 0 at least."""
        return _with_short_indices(ratings, np.maximum(ratings.data - self._minimum, 0.0))


class _PenalisedClassifier(Learner):
    """A linear classifier whose penalty is chosen on the attacker's own training people.

    A fifth of them, stratified by label, is set aside (of few people, each fifth in turn); the
    inverse penalty with the best AUC there is used to refit on all (of equals, the strongest
    penalty). Stars are brought to at most 5, so that the same penalties suit every scale.

    A quick search judges on two fifths at most. It tries every third penalty, then those beside the
    best of them. Fits of a quick logistic regression end earlier (QUICK_TOLERANCE).
    """

    strengths: tuple[float, ...] = STRENGTHS

    def __init__(
        self, strengths: Sequence[float] | None = None, *, seed: int = 0, quick: bool = False
    ) -> None:
        self.strengths = tuple(sorted(strengths or self.strengths))
        self.seed = seed
        self.quick = quick
        self.chosen_strength: float | None = None

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Choose a penalty, then learn from all these people."""
        from threadpoolctl import threadpool_limits

        known = self._check_training(ratings, labels)
        self._unit = float(np.abs(ratings.data).max(initial=0.0)) / 5 or 1.0
        features = self._features(ratings)
        # The vectors are short: on a busy machine several threads mostly wait for each other.
        with threadpool_limits(1):
            self.chosen_strength = self._choose(features, known)
            self._model = self._classifier().set_params(C=self.chosen_strength).fit(features, known)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Signed distance from the separating plane."""
        self._check_scored(ratings)
        decision: Floats = self._model.decision_function(self._features(ratings))
        return decision

    def _choose(self, features: sparse.csr_array, labels: Labels) -> float:
        """Choose the inverse penalty."""
        if len(self.strengths) == 1:
            return self.strengths[0]
        parts = mask_fifths(labels, self.seed)
        if not self.quick:
            areas = self._judge(features, labels, parts, self.strengths)
        else:
            parts = parts[:QUICK_PARTS]
            coarse = self.strengths[1::3] or self.strengths
            areas = self._judge(features, labels, parts, coarse)
            best = self.strengths.index(max(areas, key=lambda strength: areas[strength]))
            neighbours = self.strengths[max(0, best - 1) : best + 2]
            untried = [strength for strength in neighbours if strength not in areas]
            areas |= self._judge(features, labels, parts, untried)
        return max(sorted(areas), key=lambda strength: areas[strength])

    def _judge(
        self,
        features: sparse.csr_array,
        labels: Labels,
        parts: Sequence[NDArray[np.bool_]],
        strengths: Sequence[float],
    ) -> dict[float, float]:
        """Sum the AUC of each inverse penalty over parts of the people, each fitted on the rest."""
        areas = dict.fromkeys(strengths, 0.0)
        for is_judged in parts:
            model = self._classifier()
            learned_from = features[~is_judged]
            judged_on = features[is_judged]
            for strength in strengths:
                model.set_params(C=strength).fit(learned_from, labels[~is_judged])
                areas[strength] += auc(labels[is_judged], model.decision_function(judged_on))
        return areas

    def _features(self, ratings: sparse.csr_array) -> sparse.csr_array:
        """Return stars divided by a unit in which those of training are at most 5."""
        return _with_short_indices(ratings, ratings.data / self._unit)

    def _classifier(self) -> Any:
        """An unfitted scikit-learn classifier with a parameter C."""
        raise NotImplementedError


class LogisticRegression(_PenalisedClassifier):
    """Logistic regression with a squared penalty."""

    name = "logistic-regression"

    def _classifier(self) -> Any:
        from sklearn.linear_model import LogisticRegression as Classifier

        # Going from strong to weak penalties, each fit starts where the last one ended.
        tolerance = QUICK_TOLERANCE if self.quick else TOLERANCE
        return Classifier(solver="lbfgs", tol=tolerance, max_iter=10_000, warm_start=True)


class SupportVectorMachine(_PenalisedClassifier):
    """Linear support vector machine with squared hinge loss.

    The penalties tried are ten times those of the logistic regression, whose loss is flatter.
    """

    name = "svm"
    strengths = (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01)

    def _classifier(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(dual=True, max_iter=100_000, random_state=self.seed)


def mask_fifths(labels: Labels, seed: int) -> list[NDArray[np.bool_]]:
    """Return a (people,) mask for each fifth of the people that penalties are judged on.

    Inside and outside each fifth there are both labels. There are as many fifths as hold
    ENOUGH_PEOPLE together, since the AUC of a few people is mostly chance.
    """
    generator = np.random.default_rng(seed)
    fifth = np.empty(len(labels), dtype=np.int64)
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        fifth[generator.permutation(rows)] = np.arange(len(rows)) % 5
    scarce = min(int(np.sum(labels == 0)), int(np.sum(labels == 1)))
    parts_needed = -(-5 * ENOUGH_PEOPLE // len(labels))
    return [fifth == part for part in range(min(5, scarce, parts_needed))]


def _with_short_indices(ratings: sparse.csr_array, data: Floats) -> sparse.csr_array:
    """Make a matrix of these data at the same places, with the 32-bit indices of liblinear."""
    places = (ratings.indices.astype(np.int32), ratings.indptr.astype(np.int32))
    return sparse.csr_array((data, *places), shape=ratings.shape)


ATTACKS: Mapping[str, Callable[[], AttributeAttack]] = MappingProxyType(
    {
        NaiveBayes.name: NaiveBayes,
        LogisticRegression.name: LogisticRegression,
        SupportVectorMachine.name: SupportVectorMachine,
        LinearDiscriminant.name: LinearDiscriminant,
    }
)
"""The linear attackers. They read released stars alone."""

SHIPPED: Mapping[str, Callable[[], Attacker]] = MappingProxyType(
    {name: partial(OnRatings, make) for name, make in ATTACKS.items()} | dict(NONLINEAR)
)
STACKS: Mapping[str, Stack] = MappingProxyType(
    {
        "stack": Stack("stack", ("boosting-meta", "boosting-svd", "mlp", "nearest-neighbours")),
        "stack-lite": Stack("stack-lite", ("boosting-meta", "logistic-svd", "nearest-neighbours")),
    }
)
QUICK = (*ATTACKS, "logistic-svd", "boosting-meta", "nearest-neighbours", "stack-lite")
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
"""Attackers of the quick panel that take less time than under the same name elsewhere: a quick
search for the penalty, fewer sweeps of the factorization, fewer and smaller trees."""
FULL = (*SHIPPED, "stack")


def attackers() -> dict[str, Callable[[], Attacker]]:
    """Return what makes each attacker, by name: the shipped ones and those of installed packages.

    Stacks are not among them: they have no fit of their own and only combine scores.
    """
    makers = dict(SHIPPED)
    for name, entry in find_entry_points(ATTACKERS, (*SHIPPED, *STACKS)).items():
        makers[name] = entry.load()
    return makers


def panel_names(panel: str) -> tuple[str, ...]:
    """List a panel's attackers; `full` has those of installed packages too.

    Raises:
        ConfigError: There is no panel of this name.
    """
    if panel == "quick":
        return QUICK
    if panel == "full":
        return (*FULL, *(name for name in attackers() if name not in SHIPPED))
    raise ConfigError(f"No panel '{panel}'. Known: quick, full.")


def check_attackers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names if each is an attacker; else raise `ConfigError` with the known ones."""
    known_names = (*attackers(), *STACKS)
    for name in names:
        if name not in known_names:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(known_names)}.")
    return tuple(names)


class Panel:
    """Several attackers, by name. Members of a stack are fitted even where they are not named.

    Args:
        names: Names of the attackers.
        quick: Whether attackers in `QUICKER` are made as there, in less time.
    """

    def __init__(self, names: Sequence[str], *, quick: bool = False) -> None:
        self.names = check_attackers(names)
        makers = attackers()
        if quick:
            makers |= QUICKER
        members = dict.fromkeys(itertools.chain.from_iterable(map(_members, self.names)))
        self._attackers: dict[str, Attacker] = {name: makers[name]() for name in members}

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Fit each attacker to the same people. labels: (people,) of 0 and 1."""
        for attacker in self._attackers.values():
            attacker.fit(seen, labels)
        return self

    def scores(self, seen: Releases) -> dict[str, Floats]:
        """Return each named attacker's (people,) scores; a stack's are ranks among these people."""
        single = {name: attacker.score(seen) for name, attacker in self._attackers.items()}
        return {
            name: STACKS[name].combine(single) if name in STACKS else single[name]
            for name in self.names
        }


def readers_of_epochs(names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the attackers whose scores epoch labels can change."""
    readers = {name for name, make in attackers().items() if make().reads_epochs}
    return tuple(name for name in names if not readers.isdisjoint(_members(name)))


def _members(name: str) -> tuple[str, ...]:
    """List the attackers that are fitted for a name: a stack's members, or the attacker itself."""
    return STACKS[name].members if name in STACKS else (name,)
