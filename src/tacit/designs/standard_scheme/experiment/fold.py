"""One fold of the standard scheme's experiment: people the recommender never saw, attacked.

An attacker is frozen (trained on true stars) or retrained: it knows the method and trains on
releases of people whose attribute it knows. At the end are attackers who know more than releases:
items known to be rated, their number, earlier letters. None of them is part of the panel: they show
what a release does not protect from, and that a letter never says more than the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from tacit.auditing.attacks import (
    ATTACKS,
    Panel,
    Public,
    Seen,
    auc,
    permuted,
    readers_of_epochs,
)
from tacit.auditing.attacks.base import Labels
from tacit.auditing.attacks.features import space_of
from tacit.auditing.attacks.modern import boosting, log_odds
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment import (
    REFITTED,
    UNION,
    Experiment,
    Key,
    Pairs,
)
from tacit.designs.standard_scheme.experiment.releases import (
    Figures,
    Judge,
    Releases,
    fraction_scores,
    two_rows,
)
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import entry_rows
from tacit.randomness import simulation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
KNOWN_ITEMS = (1, 3, 10)
VANISH = "vanish or appear"
"""An attacker without training."""
SURE = 1e6
"""Stands for infinite log odds."""


@dataclass
class FoldResult:
    """What one fold found; scores are (test people,) each.

    control       scores of attackers who learned from permuted labels
    known_items   number of known items -> scores; certain: -> share of people read with certainty
    known_count   scores of the attacker who knows how many items were rated
    fractions     release -> AUC of a look at the released fractions, see `fraction_scores`
    mixed         mix -> (frozen attack -> AUC, RMSE)
    lost          schedule -> how many items of a letter were missing or changed in a later one
    """

    scores: dict[Key, Floats] = field(default_factory=dict)
    control: dict[Key, Floats] = field(default_factory=dict)
    known_items: dict[tuple[int, int], Floats] = field(default_factory=dict)
    certain: dict[int, float] = field(default_factory=dict)
    known_count: dict[int, Floats] = field(default_factory=dict)
    fractions: dict[str, float] = field(default_factory=dict)
    accuracy: dict[str, Figures] = field(default_factory=dict)
    mixed: dict[float, tuple[dict[str, float], float]] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)


def run_fold(experiment: Experiment, fold: int, tables: Pairs) -> FoldResult:
    """Everything measured on the people of one fold. tables: by unordered pair of folds."""
    with simulation():
        return _Fold(experiment, fold, tables).result()


class _Fold:
    def __init__(self, experiment: Experiment, fold: int, tables: Pairs) -> None:
        self.experiment = experiment
        self.fold = fold
        self.own = tables[fold, fold][0]
        self.releases = Releases(experiment, fold, tables)
        self.train, self.test = self.releases.train, self.releases.test
        self.train_labels = experiment.labels[self.train]
        self.test_labels = experiment.labels[self.test]
        self.raw = experiment.stars(experiment.people.levels[self.train])
        dealt = permuted(experiment.labels, experiment.seed)
        self.dealt = dealt[self.train].astype(np.int64)
        self.discriminants = {
            target: ATTACKS["lda"]().fit(self.raw, _is(self.train_labels, target))
            for target in experiment.targets
        }
        self.judge = Judge(experiment, fold, self.own, self._belief)
        self.found = FoldResult()

    def result(self) -> FoldResult:
        for target in self.experiment.targets:
            self._attack(target)
        for name in self.experiment.releases:
            self.found.accuracy[name] = self.judge.accuracy(RELEASES[name], name)
            self.found.fractions[name] = self._fractions(self.releases.shown(self.fold, name))
        return self.found

    def _attack(self, target: int) -> None:
        experiment, public = self.experiment, self.releases.public(target)
        known = _is(self.train_labels, target)
        frozen = Panel(experiment.attacks).fit(Seen.of(self.raw, public), known)
        for name in experiment.releases:
            train, test = (
                self.releases.seen(folds, name, public)
                for folds in (self.releases.others, [self.fold])
            )
            raw = learned = frozen.scores(test)
            if name != "none":
                learned = self._learned(experiment.attacks, self.train_labels, target, train, test)
            self._add(name, UNION, "raw", target, raw)
            self._add(name, UNION, "released", target, learned)
            if name == (experiment.judged or "none"):
                dealt = self._learned(experiment.attacks, self.dealt, target, train, test)
                for attack, scores in dealt.items():
                    self.found.control[Key(name, UNION, attack, "released", target)] = scores
                self._over_time(name, target, train, test)
                if RELEASES[name].selection:
                    self._outside(target, train, test)
        if target == experiment.targets[-1]:
            self._mixed(frozen, public, target)

    def _learned(
        self, attacks: Sequence[str], labels: Ints, target: int, train: Seen, test: Seen
    ) -> dict[str, Floats]:
        return Panel(attacks).fit(train, _is(labels, target)).scores(test)

    def _over_time(self, name: str, target: int, train: Seen, test: Seen) -> None:
        """Retrained attackers who see in which epoch each item came."""
        readers = readers_of_epochs(self.experiment.attacks)
        if name == "none" or not readers:
            return
        for schedule in self.experiment.schedules:
            if schedule in REFITTED:
                self._vanished(name, schedule, target, train.public)
            views = [
                self._watched(folds, name, schedule, seen)
                for folds, seen in ((self.releases.others, train), ([self.fold], test))
            ]
            scores = self._learned(readers, self.train_labels, target, *views)
            self._add(name, schedule, "released", target, scores)

    def _watched(self, folds: list[int], name: str, schedule: str, seen: Seen) -> Seen:
        if schedule in REFITTED:
            return self.releases.refitted(folds, name, schedule, seen.public)
        if self.experiment.second_order == "taste":
            return self.releases.by_turns(folds, name, schedule, seen.public)
        return self.releases.with_epochs(seen, schedule)

    def _vanished(self, name: str, schedule: str, target: int, public: Public) -> None:
        """The attacker without training: what a letter held, and a later one does not."""
        events, scores = vanished(self.releases.sequence(name, schedule), public.log_keep[0])
        self.found.lost[schedule] = int(events.sum())
        self._add(name, schedule, "nothing", target, {VANISH: scores})

    def _outside(self, target: int, train: Seen, test: Seen) -> None:
        """Attackers who know items or their number beside the release."""
        tables = self.releases.all_tables()
        keep = np.stack([two_rows(table.keep, target) / MICRO for table in tables])
        rated = self.experiment.people.levels
        for number in KNOWN_ITEMS:
            scores, certain = known_items(
                rated[self.test], test.ratings, keep[0], number, self.experiment.seed
            )
            self.found.known_items[number, target] = scores
            self.found.certain[number] = float(certain.mean())
        counts = np.diff(rated.indptr)
        known = _is(self.train_labels, target)
        attacker = KnownCount().fit(train, counts[self.train], keep, known)
        self.found.known_count[target] = attacker.score(test, counts[self.test], keep)

    def _mixed(self, frozen: Panel, public: Public, target: int) -> None:
        """The trade-off between hiding and accuracy, for the release that is judged."""
        if self.experiment.judged is None or not self.experiment.schedules:
            return
        labels = _is(self.test_labels, target)
        for mix in MIXES:
            name = f"mix {mix}"
            rule = replace(RELEASES[self.experiment.judged], mix=round(mix * MICRO))
            shown = self.experiment.stars(self.releases.shown(self.fold, name, rule))
            scores = frozen.scores(Seen.of(shown, public))
            aucs = {attack: auc(labels, each) for attack, each in scores.items()}
            self.found.mixed[mix] = (aucs, self.judge.errors(rule, name)["rmse"])

    def _add(
        self, release: str, view: str, trained_on: str, target: int, scores: Mapping[str, Floats]
    ) -> None:
        for attack, each in scores.items():
            self.found.scores[Key(release, view, attack, trained_on, target)] = each

    def _belief(self, shown: sparse.csr_array) -> Floats:
        """(people, values) what the frozen linear discriminant believes."""
        stars, count = self.experiment.stars(shown), len(self.experiment.people.values[0])
        if count == 2:
            second = expit(self.discriminants[1].score(stars))
            return np.stack([1 - second, second], axis=1)
        chances = np.full((shown.shape[0], count), 1e-9)
        for value, attack in self.discriminants.items():
            chances[:, value] = expit(attack.score(stars))
        normed: Floats = chances / chances.sum(axis=1, keepdims=True)
        return normed

    def _fractions(self, shown: sparse.csr_array) -> float:
        lattice = MICRO
        if not self.experiment.people.n_levels:  # people type two digits at most
            lattice = max(1, round(0.01 / self.experiment.step * MICRO))
        scores = fraction_scores(shown, self.own, lattice)
        targets = self.experiment.targets
        areas = [auc(_is(self.test_labels, value), scores[:, value]) for value in targets]
        return float(np.mean(areas))


def _is(labels: Ints, target: int) -> Ints:
    found: Ints = (labels == target).astype(np.int64)
    return found


def known_items(
    rated: sparse.csr_array, shown: sparse.csr_array, keep: Floats, number: int, seed: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """(people,) log odds of label 1 from some items known to be rated, and for whom nothing but
    the value found is possible. Nothing is learned: the chances to be shown are public.

    rated, shown: (people, items) CSR of the same people; keep: (2, items) chances by label. The
    attacker knows `number` of each person's items, drawn at random (all, of people with fewer).
    """
    rows = entry_rows(rated)
    order = np.lexsort((np.random.default_rng(seed).random(len(rows)), rows))
    drawn = order[np.arange(len(rows)) - rated.indptr[rows] < number]
    rows, items = rows[drawn], rated.indices[drawn]
    there = np.isfinite(_values(shown, rows, items))
    ratio = np.where(there, _log_ratio(keep[:, items]), _log_ratio(1 - keep[:, items]))
    undecided = keep[:, items].max(axis=0) == 0  # never shown, no matter who rated it
    ratio = np.where(undecided & ~there, 0.0, ratio)
    finite = np.clip(ratio, -SURE, SURE)
    sums = np.bincount(rows, finite, minlength=rated.shape[0])
    certain = np.bincount(rows[np.abs(finite) == SURE], minlength=rated.shape[0]) > 0
    return sums.astype(np.float64), certain


class KnownCount:
    """Boosted trees on summaries, where the number of rated items is known.

    Under each value v the sum of 1 / keep_v over shown items estimates that number; under the right
    value it comes near.
    """

    def fit(self, seen: Seen, counts: Ints, keep: Floats, labels: Labels) -> Self:
        """counts: (people,) rated items; keep: (tables, 2, items) chances by label."""
        self._space = space_of(seen)
        (self._model,) = boosting(labels)
        self._model.fit(self._features(seen, counts, keep), labels)
        return self

    def score(self, seen: Seen, counts: Ints, keep: Floats) -> Floats:
        return log_odds(self._model, self._features(seen, counts, keep))

    def _features(self, seen: Seen, counts: Ints, keep: Floats) -> Floats:
        """Summaries, and how far each estimate lies from the number, plain and in its sd."""
        rows, people = seen.rows, seen.ratings.shape[0]
        columns = []
        for label in (0, 1):
            chance = np.maximum(keep[seen.table[rows], label, seen.ratings.indices], 1e-6)
            away = np.bincount(rows, 1 / chance, minlength=people) - counts
            variance = np.bincount(rows, (1 - chance) / chance**2, minlength=people)
            columns += [away / np.maximum(counts, 1), away / np.sqrt(1 + variance)]
        return np.hstack([np.stack(columns, axis=1), self._space.blocks(seen).summaries()])


def vanished(letters: Sequence[sparse.csr_array], log_keep: Floats) -> tuple[Ints, Floats]:
    """(people,) how many items of a letter are missing from a later one, or have another star
    there; and scores from that, higher = more likely label 1.

    letters: (people, items) CSR each, in order of time. log_keep: (items,) log of the chance to be
    shown under label 1 over that under label 0. An item vanishes where its chance is low, so each
    speaks for the label with the lower one. Under the rule none ever vanishes.
    """
    people = letters[0].shape[0]
    events, scores = np.zeros(people, dtype=np.int64), np.zeros(people)
    for before, after in pairwise(letters):
        rows = entry_rows(before)
        gone = _values(after, rows, before.indices) != before.data
        events += np.bincount(rows[gone], minlength=people)
        signs = np.sign(log_keep[before.indices[gone]])
        scores -= np.bincount(rows[gone], signs, minlength=people)
    return events, scores


def _values(matrix: sparse.csr_array, rows: Ints, items: Ints) -> Floats:
    """Stored entries at these places, NaN where nothing is stored."""
    width = matrix.shape[1]
    places = entry_rows(matrix) * width + matrix.indices
    order = np.argsort(places)
    known = np.append(places[order], -1)
    at = np.searchsorted(known[:-1], rows * width + items)
    values = np.append(matrix.data[order], np.nan)
    found: Floats = np.where(known[at] == rows * width + items, values[at], np.nan)
    return found


def _log_ratio(chances: Floats) -> Floats:
    """Log of the second over the first; 0 where both are 0, infinite where one is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(chances[1]) - np.log(chances[0])
    cleaned: Floats = np.nan_to_num(ratio, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return cleaned
