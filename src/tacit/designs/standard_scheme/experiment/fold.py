"""One fold of the standard scheme's experiment: people the recommender never saw, attacked.

An attacker is frozen (trained on true stars) or retrained: it knows the method and trains on
releases of people whose attribute it knows. Those people's releases are made with tables estimated
without them, as the releases of the people under attack are. Training on releases made with tables
that had already seen them would teach the attacker a cleaner picture than it meets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from tacit.auditing.attacks import (
    ATTACKS,
    OneVersusRest,
    Panel,
    Public,
    Seen,
    auc,
    permuted,
    readers_of_epochs,
    stacked,
)
from tacit.auditing.attacks.outside import KnownCount, known_items, vanished
from tacit.designs.standard_scheme.disclosure import Tables
from tacit.designs.standard_scheme.experiment.experiment import (
    REFITTED,
    UNION,
    Experiment,
    Key,
    Pairs,
    at_entries,
    entry_rows,
    refitted,
    released,
)
from tacit.designs.standard_scheme.experiment.lists import Accuracy, Judge
from tacit.designs.standard_scheme.messages import MICRO, RELEASES, Rule
from tacit.randomness import simulation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
KNOWN_ITEMS = (1, 3, 10)
VANISH = "vanish or appear"
"""An attacker without training."""


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
    accuracy: dict[str, Accuracy] = field(default_factory=dict)
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
        self.tables = tables
        self.own = tables[fold, fold][0]
        self.others = [other for other in range(experiment.folds) if other != fold]
        # Training people in the order in which their releases are stacked.
        self.train = np.concatenate([experiment.inside(other) for other in self.others])
        self.test = experiment.inside(fold)
        self.train_labels = experiment.labels[self.train]
        self.test_labels = experiment.labels[self.test]
        self.raw = experiment.stars(experiment.people.levels[self.train])
        dealt = permuted(experiment.labels, experiment.seed)
        self.dealt = dealt[self.train].astype(np.int64)
        self.discriminant = OneVersusRest(
            ATTACKS["lda"], range(len(experiment.people.values[0]))
        ).fit(self.raw, self.train_labels)
        self.judge = Judge(experiment, fold, self.own, self._belief)
        self.found = FoldResult()

    def result(self) -> FoldResult:
        for target in self.experiment.targets:
            self._attack(target)
        for name in self.experiment.releases:
            rule = RELEASES[name]
            self.found.accuracy[name] = self.judge.accuracy(rule, name)
            self.found.fractions[name] = self._fractions(self._shown(self.fold, rule, name))
        return self.found

    def _attack(self, target: int) -> None:
        experiment, public = self.experiment, self._public(target)
        known = (self.train_labels == target).astype(np.int64)
        frozen = Panel(experiment.attacks).fit(Seen.of(self.raw, public), known)
        for name in experiment.releases:
            test = self._seen([self.fold], name, public)
            raw = frozen.scores(test)
            self._add(name, UNION, "raw", target, raw)
            train = None
            if name == "none":
                self._add(name, UNION, "released", target, raw)
            else:
                train = self._seen(self.others, name, public)
                retrained = Panel(experiment.attacks).fit(train, known)
                self._add(name, UNION, "released", target, retrained.scores(test))
            if name == (experiment.judged or "none"):
                self._control(name, target, train or Seen.of(self.raw, public), test)
                if train is not None:
                    self._over_time(name, target, train, test)
                    if RELEASES[name].selection:
                        self._outside(name, target, train, test)
        if target == experiment.targets[-1]:
            self._mixed(frozen, public, target)

    def _over_time(self, name: str, target: int, train: Seen, test: Seen) -> None:
        """Retrained attackers who see in which epoch each item came."""
        readers = readers_of_epochs(self.experiment.attacks)
        known = (self.train_labels == target).astype(np.int64)
        if not readers:
            return
        for schedule in self.experiment.schedules:
            if schedule in REFITTED:
                sides = self._sides()
                views = [self._refitted(f, name, schedule, target, train.public) for f in sides]
            elif self.experiment.second_order == "taste":
                views = [self._timed(f, name, schedule, train.public) for f in self._sides()]
            else:
                views = [self._labelled(seen, schedule) for seen in (train, test)]
            panel = Panel(readers).fit(views[0], known)
            self._add(name, schedule, "released", target, panel.scores(views[1]))

    def _sides(self) -> tuple[list[int], list[int]]:
        return self.others, [self.fold]

    def _labelled(self, seen: Seen, schedule: str) -> Seen:
        """The same tables in every epoch: the last letter is that of one release."""
        people = self.train if seen.ratings.shape[0] == len(self.train) else self.test
        epochs = self.experiment.epochs(schedule)[people]
        return replace(seen, epochs=at_entries(seen.ratings, epochs))

    def _timed(self, folds: Sequence[int], name: str, schedule: str, public: Public) -> Seen:
        """The same tables in every epoch, but what is shown by then has a say in the next one."""
        parts = []
        for other in folds:
            people = self.experiment.inside(other)
            epochs = self.experiment.epochs(schedule)[people]
            draw = f"{self.fold}/{schedule}/{other}"
            levels = self._released(other, RELEASES[name], draw, epochs)
            table = np.full(len(people), self._row(other))
            labels = at_entries(levels, epochs)
            parts.append(Seen(self.experiment.stars(levels), public, table, labels))
        return stacked(parts)

    def _refitted(
        self, folds: Sequence[int], name: str, schedule: str, target: int, public: Public
    ) -> Seen:
        parts = []
        for other in folds:
            people = self.experiment.inside(other)
            epochs = self.experiment.epochs(schedule)[people]
            letters = [
                self._letter(other, name, schedule, epochs, until)
                for until in (range(REFITTED[schedule]) if other == self.fold else (None,))
            ]
            if other == self.fold:
                lost = vanished([levels for levels, _ in letters], public.log_keep[0])
                self.found.lost[schedule] = int(lost.events.sum())
                self._add(name, schedule, "nothing", target, {VANISH: lost.scores})
            levels, labels = letters[-1]
            table = np.full(len(people), self._row(other))
            parts.append(Seen(self.experiment.stars(levels), public, table, labels))
        return stacked(parts)

    def _letter(
        self, other: int, name: str, schedule: str, epochs: sparse.csr_array, until: int | None
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        people = self.experiment.inside(other)
        return refitted(
            self.experiment,
            self.experiment.people.levels[people],
            self.experiment.labels[people],
            self._pair(other),
            RELEASES[name],
            epochs,
            f"{self.fold}/{schedule}/{other}",
            until,
        )

    def _outside(self, name: str, target: int, train: Seen, test: Seen) -> None:
        """Attackers who know items or their number beside the release."""
        keep = np.stack([_two_rows(t.keep, target) / MICRO for t in self._all_tables()])
        rated = self.experiment.people.levels
        for number in KNOWN_ITEMS:
            found = known_items(
                rated[self.test], test.ratings, keep[0], number, self.experiment.seed
            )
            self.found.known_items[number, target] = found.scores
            self.found.certain[number] = float(found.certain.mean())
        counts = np.diff(rated.indptr)
        known = (self.train_labels == target).astype(np.int64)
        attacker = KnownCount().fit(train, counts[self.train], keep, known)
        self.found.known_count[target] = attacker.score(test, counts[self.test], keep)

    def _control(self, name: str, target: int, train: Seen, test: Seen) -> None:
        dealt = (self.dealt == target).astype(np.int64)
        for attack, scores in Panel(self.experiment.attacks).fit(train, dealt).scores(test).items():
            self.found.control[Key(name, UNION, attack, "released", target)] = scores

    def _mixed(self, frozen: Panel, public: Public, target: int) -> None:
        """The trade-off between hiding and accuracy, for the release that is judged."""
        if self.experiment.judged is None or not self.experiment.schedules:
            return
        labels = (self.test_labels == target).astype(np.int64)
        for mix in MIXES:
            rule = replace(RELEASES[self.experiment.judged], mix=round(mix * MICRO))
            shown = self.experiment.stars(self._shown(self.fold, rule, f"mix {mix}"))
            scores = frozen.scores(Seen.of(shown, public))
            aucs = {name: auc(labels, each) for name, each in scores.items()}
            self.found.mixed[mix] = (aucs, self.judge.errors(rule, f"mix {mix}").rmse)

    def _add(
        self, release: str, view: str, trained_on: str, target: int, scores: Mapping[str, Floats]
    ) -> None:
        for attack, each in scores.items():
            self.found.scores[Key(release, view, attack, trained_on, target)] = each

    def _public(self, target: int) -> Public:
        """Tables of the people under attack first, then those of each training fold."""
        levels = self.experiment.people.levels
        tables = self._all_tables()
        offsets = [_two_rows(table.offsets, target) for table in tables]
        keep = [np.maximum(_two_rows(table.keep, target), 1) for table in tables]
        return Public(
            popularity=np.bincount(levels[self.train].indices, minlength=levels.shape[1]).astype(
                float
            ),
            offsets=np.stack([rows[1] - rows[0] for rows in offsets])
            / MICRO
            * self.experiment.step,
            log_keep=np.stack([np.log(rows[1] / rows[0]) for rows in keep]),
            genres=self.experiment.genres,
            years=self.experiment.years,
        )

    def _all_tables(self) -> list[Tables]:
        return [self.own, *(self._pair(other)[0] for other in self.others)]

    def _row(self, other: int) -> int:
        return 0 if other == self.fold else 1 + self.others.index(other)

    def _pair(self, other: int) -> tuple[Tables, ...]:
        return self.tables[min(self.fold, other), max(self.fold, other)]

    def _seen(self, folds: Sequence[int], name: str, public: Public) -> Seen:
        parts = []
        for other in folds:
            stars = self.experiment.stars(self._shown(other, RELEASES[name], name))
            parts.append(Seen(stars, public, np.full(stars.shape[0], self._row(other))))
        return stacked(parts)

    def _shown(self, other: int, rule: Rule, draw: str) -> sparse.csr_array:
        """Released levels of the people of a fold, by tables without them and without ours."""
        return self._released(other, rule, f"{self.fold}/{draw}/{other}")

    def _released(
        self, other: int, rule: Rule, draw: str, epochs: sparse.csr_array | None = None
    ) -> sparse.csr_array:
        people = self.experiment.inside(other)
        return released(
            self.experiment,
            self.experiment.people.levels[people],
            self.experiment.labels[people],
            self._pair(other)[0],
            rule,
            draw,
            epochs,
        )

    def _belief(self, shown: sparse.csr_array) -> Floats:
        """(people, values) what the frozen linear discriminant believes."""
        log_odds = self.discriminant.score(self.experiment.stars(shown))
        count = len(self.experiment.people.values[0])
        if count == 2:
            second = expit(log_odds[1])
            return np.stack([1 - second, second], axis=1)
        chances = np.full((shown.shape[0], count), 1e-9)
        for value, odds in log_odds.items():
            chances[:, value] = expit(odds)
        normed: Floats = chances / chances.sum(axis=1, keepdims=True)
        return normed

    def _fractions(self, shown: sparse.csr_array) -> float:
        lattice = MICRO
        if not self.experiment.people.n_levels:  # people type two digits at most
            lattice = max(1, round(0.01 / self.experiment.step * MICRO))
        scores = fraction_scores(shown, self.own, lattice)
        areas = [
            auc((self.test_labels == value).astype(np.int64), scores[:, value])
            for value in self.experiment.targets
        ]
        return float(np.mean(areas))


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


def _two_rows(table: Ints, target: int) -> Floats:
    """(2, items): the mean over all other values, and the target's own."""
    return np.stack([np.delete(table, target, axis=0).mean(axis=0), table[target].astype(float)])
