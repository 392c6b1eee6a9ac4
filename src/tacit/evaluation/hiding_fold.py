"""One fold of the standard scheme's experiment: people the recommender never saw, attacked.

An attacker is frozen (trained on true stars) or retrained: it knows the method and trains on
releases of people whose attribute it knows. Those people's releases are made with tables estimated
without them, as the releases of the people under attack are. Training on releases made with tables
that had already seen them would teach the attacker a cleaner picture than it meets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from tacit.auditing.attacks import ATTACKS, OneVersusRest, auc
from tacit.evaluation.accuracy import mae, rmse
from tacit.evaluation.ranking import RankingMetrics, ranking_metrics
from tacit.randomness import replay, secure, simulation
from tacit.recommenders.standard_scheme.disclosure import Tables
from tacit.recommenders.standard_scheme.messages import MICRO, RELEASES, Rule
from tacit.recommenders.standard_scheme.population import release
from tacit.recommenders.standard_scheme.training import (
    Consenting,
    Factorization,
    estimate,
    estimate_privately,
    train_profiles,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HELD_OUT = 0.3
"""Share of a test person's ratings that her predictions are judged on."""
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
MIXED_RELEASE = "scheme+selection+rounding"
LIST_LENGTH = 10


@dataclass(frozen=True)
class Experiment:
    """What every fold shares.

    fold_of    (people,) which fold each person is tested in
    """

    people: Consenting
    fold_of: Ints
    minimum: float
    step: float
    factorization: Factorization
    shrink: bool
    disclosure_epsilon: float
    contributions: int
    releases: tuple[str, ...]
    attacks: tuple[str, ...]
    seed: int

    @property
    def labels(self) -> Ints:
        return self.people.labels[:, 0]

    @property
    def values(self) -> range:
        return range(len(self.people.values[0]))

    def outside(self, *folds: int) -> Ints:
        """Numbers of the people in none of these folds."""
        return np.flatnonzero(~np.isin(self.fold_of, folds))

    def stars(self, levels: sparse.csr_array) -> sparse.csr_array:
        return _with_data(levels, self.minimum + self.step * levels.data)


@dataclass(frozen=True)
class Accuracy:
    """Errors in stars.

    At the recommender the attribute is the attack's belief; at home it is known.
    """

    rmse: float
    mae: float
    rmse_at_home: float
    mae_at_home: float
    ranking: RankingMetrics
    shown: float


@dataclass(frozen=True)
class FoldResult:
    """(release, attack, trained_on) -> AUC, and so on; scores are the frozen attackers'.

    fractions: AUC of a look at the released fractions, see `fraction_scores`.
    as_she_rates: attack -> AUC of frozen attackers who keep every release of MIXED_RELEASE: each
    item is decided once, so the last one holds the others.
    """

    aucs: Mapping[tuple[str, str, str], float]
    fractions: Mapping[str, float]
    as_she_rates: Mapping[str, float]
    accuracy: Mapping[str, Accuracy]
    control: Mapping[str, float]
    mixed: Mapping[float, tuple[Mapping[str, float], float]]
    scores: Mapping[tuple[str, str], tuple[Ints, Floats]]


def tables_without(experiment: Experiment, first: int, second: int) -> Tables:
    """Tables estimated without the people of one or two folds."""
    numbers = experiment.outside(first, second)
    people = _some(experiment.people, numbers)
    coupling = any(RELEASES[name].transform == "coupling" for name in experiment.releases)
    if math.isinf(experiment.disclosure_epsilon):
        made = estimate(people, shrink=experiment.shrink, coupling=coupling, seed=experiment.seed)
    else:
        made = estimate_privately(
            people,
            secure(),
            epsilon=experiment.disclosure_epsilon,
            contributions=experiment.contributions,
            coupling=coupling,
        )
    return made[people.names[0]]


def run_fold(
    experiment: Experiment, fold: int, tables: Mapping[tuple[int, int], Tables]
) -> FoldResult:
    """Everything measured on the people of one fold. tables: by unordered pair of folds."""
    with simulation():
        return _Fold(experiment, fold, tables).result()


class _Fold:
    def __init__(
        self, experiment: Experiment, fold: int, tables: Mapping[tuple[int, int], Tables]
    ) -> None:
        self.experiment = experiment
        self.fold = fold
        self.tables = tables
        self.own = tables[fold, fold]
        self.train = experiment.outside(fold)
        self.test = np.flatnonzero(experiment.fold_of == fold)
        self.test_levels = experiment.people.levels[self.test]
        self.test_labels = experiment.labels[self.test]
        self.train_labels = experiment.labels[self.train]
        raw = experiment.stars(experiment.people.levels[self.train])
        self.frozen = self._fitted(raw, self.train_labels)
        self.discriminant = self.frozen.get("lda") or OneVersusRest(
            ATTACKS["lda"], experiment.values
        ).fit(raw, self.train_labels)
        training = _some(experiment.people, self.train)
        self.profiles = train_profiles(
            training.levels,
            training.labels,
            [self.own],
            experiment.factorization,
            lowest=experiment.minimum / experiment.step,
        )
        generator = np.random.default_rng([experiment.seed, fold])
        self.seen, self.held = _split(self.test_levels, generator)

    def result(self) -> FoldResult:
        aucs: dict[tuple[str, str, str], float] = {}
        accuracy, scores, fractions = {}, {}, {}
        for name in self.experiment.releases:
            rule = RELEASES[name]
            shown = self._released(self.test_levels, self.test_labels, self.own, rule, name)
            for attack, fitted in self.frozen.items():
                aucs[name, attack, "raw"] = fitted.auc(shown, self.test_labels)
                scores[name, attack] = (self.test_labels, self._one_score(fitted, shown))
            fractions[name] = self._fractions(shown)
            retrained = self.frozen if name == "none" else self._retrained(rule, name)
            for attack, fitted in retrained.items():
                aucs[name, attack, "released"] = fitted.auc(shown, self.test_labels)
            accuracy[name] = self._accuracy(rule, name)
        return FoldResult(
            aucs, fractions, self._as_she_rates(), accuracy, self._control(), self._mixed(), scores
        )

    def _fitted(self, stars: sparse.csr_array, labels: Ints) -> dict[str, OneVersusRest]:
        values = self.experiment.values
        return {
            name: OneVersusRest(ATTACKS[name], values).fit(stars, labels)
            for name in self.experiment.attacks
        }

    def _retrained(self, rule: Rule, name: str) -> dict[str, OneVersusRest]:
        released, labels = [], []
        for other in range(int(self.experiment.fold_of.max()) + 1):
            if other == self.fold:
                continue
            members = np.flatnonzero(self.experiment.fold_of == other)
            table = self.tables[min(self.fold, other), max(self.fold, other)]
            own = self.experiment.labels[members]
            levels = self.experiment.people.levels[members]
            released.append(self._released(levels, own, table, rule, f"{name}/{other}"))
            labels.append(own)
        stacked = sparse.csr_array(sparse.vstack(released, format="csr"))
        return self._fitted(stacked, np.concatenate(labels))

    def _released(
        self, levels: sparse.csr_array, labels: Ints, table: Tables, rule: Rule, draw: str
    ) -> sparse.csr_array:
        """Released stars; `draw` names the random stream."""
        return self.experiment.stars(self._released_levels(levels, labels, table, rule, draw))

    def _released_levels(
        self,
        levels: sparse.csr_array,
        labels: Ints,
        table: Tables,
        rule: Rule,
        draw: str,
    ) -> sparse.csr_array:
        seed = f"{self.experiment.seed}/{self.fold}/{draw}"
        return release(
            levels,
            labels[:, None],
            [table],
            rule,
            n_levels=self.experiment.people.n_levels,
            source=replay(seed),
        )

    def _as_she_rates(self) -> dict[str, float]:
        if MIXED_RELEASE not in self.experiment.releases:
            return {}
        shown = self._released_levels(
            self.test_levels,
            self.test_labels,
            self.own,
            RELEASES[MIXED_RELEASE],
            "as she rates",
        )
        stars = self.experiment.stars(shown)
        return {name: each.auc(stars, self.test_labels) for name, each in self.frozen.items()}

    def _fractions(self, shown: sparse.csr_array) -> float:
        levels = _with_data(shown, (shown.data - self.experiment.minimum) / self.experiment.step)
        lattice = MICRO
        if not self.experiment.people.n_levels:  # people type two digits at most
            lattice = max(1, round(0.01 / self.experiment.step * MICRO))
        scores = fraction_scores(levels, self.own, lattice)
        areas = [
            auc((self.test_labels == value).astype(np.int64), scores[:, value])
            for value in self.experiment.values
            if value > 0 or len(scores.T) > 2
        ]
        return float(np.mean(areas))

    def _one_score(self, fitted: OneVersusRest, shown: sparse.csr_array) -> Floats:
        return next(iter(fitted.score(shown).values()))

    def _accuracy(self, rule: Rule, name: str) -> Accuracy:
        shown = self._released_levels(
            self.seen,
            self.test_labels,
            self.own,
            rule,
            f"{name}/accuracy",
        )
        offsets = self.own.offsets / MICRO
        expected = self._belief(shown) @ offsets
        known = shown
        if rule.transform == "none":
            # True stars still hold the attribute's effect: take out what the attack believes.
            known = _with_data(shown, shown.data - _entries(shown, expected))
        people = self.profiles.estimate(known)
        levels = self.profiles.intercepts + people @ self.profiles.factors.T
        at_home = levels + offsets[self.test_labels]
        elsewhere = levels + expected
        truth = self.experiment.stars(self.held).data
        return Accuracy(
            rmse=rmse(truth, self._stars_at(elsewhere)),
            mae=mae(truth, self._stars_at(elsewhere)),
            rmse_at_home=rmse(truth, self._stars_at(at_home)),
            mae_at_home=mae(truth, self._stars_at(at_home)),
            ranking=self._ranking(at_home),
            shown=shown.nnz / self.seen.nnz,
        )

    def _belief(self, shown: sparse.csr_array) -> Floats:
        """(people, values) what the frozen linear discriminant believes."""
        log_odds = self.discriminant.score(self.experiment.stars(shown))
        if len(self.experiment.values) == 2:
            second = expit(log_odds[1])
            return np.stack([1 - second, second], axis=1)
        chances = np.full((shown.shape[0], len(self.experiment.values)), 1e-9)
        for value, odds in log_odds.items():
            chances[:, value] = expit(odds)
        normed: Floats = chances / chances.sum(axis=1, keepdims=True)
        return normed

    def _stars_at(self, levels: Floats) -> Floats:
        """Predicted stars of the held-out ratings, clipped to the scale."""
        predicted = self.experiment.minimum + self.experiment.step * _entries(self.held, levels)
        top = self.experiment.people.n_levels - 1
        highest = self.experiment.minimum + self.experiment.step * (top if top > 0 else 4)
        clipped: Floats = np.clip(predicted, self.experiment.minimum, highest)
        return clipped

    def _ranking(self, levels: Floats) -> RankingMetrics:
        """Lists of unseen items; relevant: held out and in the top quarter of the scale."""
        ranked = levels.copy()
        rows = np.repeat(np.arange(ranked.shape[0]), np.diff(self.seen.indptr))
        ranked[rows, self.seen.indices] = -np.inf
        lists = np.argsort(-ranked, axis=1, kind="stable")[:, :LIST_LENGTH]
        span = (self.experiment.people.n_levels or 5) - 1
        relevant = _with_data(self.held, (self.held.data >= 0.75 * span).astype(float))
        return ranking_metrics(lists, relevant)

    def _control(self) -> dict[str, float]:
        """Attacks on labels dealt out at random, where nothing is to be found."""
        generator = np.random.default_rng(self.experiment.seed)
        dealt = generator.permutation(self.experiment.labels)
        raw = self.experiment.stars(self.experiment.people.levels)
        fitted = self._fitted(raw[self.train], dealt[self.train])
        return {name: each.auc(raw[self.test], dealt[self.test]) for name, each in fitted.items()}

    def _mixed(self) -> dict[float, tuple[Mapping[str, float], float]]:
        """mix -> (frozen attack -> AUC, RMSE): the trade-off between hiding and accuracy."""
        if MIXED_RELEASE not in self.experiment.releases:
            return {}
        points: dict[float, tuple[Mapping[str, float], float]] = {}
        for mix in MIXES:
            rule = replace(RELEASES[MIXED_RELEASE], mix=round(mix * MICRO))
            draw = f"mix {mix}"
            shown = self._released(self.test_levels, self.test_labels, self.own, rule, draw)
            aucs = {name: each.auc(shown, self.test_labels) for name, each in self.frozen.items()}
            points[mix] = (aucs, self._accuracy(rule, draw).rmse)
        return points


def fraction_scores(levels: sparse.csr_array, tables: Tables, lattice: int = MICRO) -> Floats:
    """(people, values) share of released levels that are whole once a value's offset is put back.

    lattice: micro-levels between true stars, within 2 millionths. Nothing is learned: offsets are
    public. True stars lie on the lattice, so an unrounded release fits the true value only, and
    everybody is read exactly. A rounded one fits none.
    """
    rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))
    micro = np.round(levels.data * MICRO).astype(np.int64)
    fits = [
        np.bincount(
            rows, (micro + own[levels.indices] + 2) % lattice <= 4, minlength=levels.shape[0]
        )
        for own in tables.offsets
    ]
    shares: Floats = np.stack(fits, axis=1) / np.maximum(1, np.diff(levels.indptr))[:, None]
    return shares


def _some(people: Consenting, numbers: Ints) -> Consenting:
    return replace(people, levels=people.levels[numbers], labels=people.labels[numbers])


def _split(
    levels: sparse.csr_array, generator: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Ratings the person has made, and ratings she will make: one or more of each if she can."""
    rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))
    order = np.lexsort((generator.random(len(rows)), rows))
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = np.arange(len(rows)) - levels.indptr[rows[order]]
    counts = np.diff(levels.indptr)[rows]
    held = rank < np.clip(np.round(HELD_OUT * counts), 1, np.maximum(counts - 1, 0))
    return _masked(levels, rows, ~held), _masked(levels, rows, held)


def _masked(levels: sparse.csr_array, rows: Ints, mask: NDArray[Any]) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[mask], minlength=levels.shape[0]))])
    return sparse.csr_array(
        (levels.data[mask], levels.indices[mask], indptr.astype(np.int32)), shape=levels.shape
    )


def _entries(pattern: sparse.csr_array, dense: Floats) -> Floats:
    """Entries of a dense (people, items) array where the CSR has some."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    entries: Floats = dense[rows, pattern.indices]
    return entries


def _with_data(pattern: sparse.csr_array, data: Floats) -> sparse.csr_array:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
