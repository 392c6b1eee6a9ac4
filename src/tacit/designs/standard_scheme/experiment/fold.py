"""One fold of the standard scheme's experiment: people the recommender never saw, attacked.

An attacker is frozen (trained on true stars) or retrained: it knows the method and trains on
releases of people whose attribute it knows. Everybody's releases are made with tables estimated
without them and without the people under attack: tables that had seen their people would teach an
attacker a cleaner picture than it meets.

At the end are attackers who know more than releases: items known to be rated, and their number.
They are not part of the panel: they show what a release does not protect from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks import (
    Panel,
    PublicKnowledge,
    Releases,
    auc,
    permute_labels,
    readers_of_epochs,
    stack_releases,
)
from tacit.auditing.attacks.base import Labels
from tacit.auditing.attacks.features import space_of
from tacit.auditing.attacks.modern import boosted_trees, log_odds
from tacit.designs.standard_scheme.disclosure import RELEASES, Rule
from tacit.designs.standard_scheme.experiment.accuracy import Figures, FoldEvaluation
from tacit.designs.standard_scheme.experiment.at_device import FoldLists
from tacit.designs.standard_scheme.experiment.setup import (
    REFITTED,
    UNION,
    Experiment,
    Floats,
    Ints,
    Key,
    Pairs,
    read_entries,
    simulate_one_release,
)
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import entry_people, replace_data
from tacit.designs.standard_scheme.training.population import simulate_epochs
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.randomness import replay, simulation

MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
KNOWN_ITEMS = (1, 3, 10)
KNOWN = "items known to be rated"
"""View of attackers who know some rated items by name."""
COUNTED = "number of rated items known"
"""View of attackers who know how many items were rated."""
SURE = 1e6
"""Stands for infinite log odds."""


@dataclass
class FoldResult:
    """Findings of one fold; scores are (test people,) each."""

    lists: FoldLists | None = None
    """NDCG of each person's lists, from releases and made on the device; None if not judged."""
    scores: dict[Key, Floats] = field(default_factory=dict)
    """Scores of each attacker."""
    control: dict[Key, Floats] = field(default_factory=dict)
    """Scores of attackers who learned from permuted labels."""
    certain: dict[int, float] = field(default_factory=dict)
    """Share of people for whom one value alone is possible, by the number of known items."""
    fractions: dict[str, float] = field(default_factory=dict)
    """AUC of a look at the released fractions, by release: see `fraction_scores`."""
    accuracy: dict[str, Figures] = field(default_factory=dict)
    """Errors and lists, by release."""
    mixed: dict[float, tuple[dict[str, float], float]] = field(default_factory=dict)
    """AUC of each frozen attack and the RMSE, by mix."""


def run_fold(experiment: Experiment, fold: int, tables: Pairs, penalty: int) -> FoldResult:
    """Measure everything on the people of one fold.

    Args:
        experiment: Data and settings.
        fold: Number of the fold.
        tables: Tables estimated without it and another fold.
        penalty: Penalty of the item-item weights that make the lists.
    """
    with simulation():
        return _Fold(replace(experiment, penalty=penalty), fold, tables).measure()


class _Fold:
    """One fold under attack: its people are tested, those of the other folds are trained on."""

    def __init__(self, experiment: Experiment, fold: int, tables: Pairs) -> None:
        self.experiment = experiment
        self.fold = fold
        self.pairs = tables
        self.others = [other for other in range(experiment.folds) if other != fold]
        # Training people in the order in which their releases are stacked.
        self.train = np.concatenate([experiment.people_inside(other) for other in self.others])
        self.test = experiment.people_inside(fold)
        self.labels = experiment.labels[self.train]
        self.tables = [self.tables_of_pair(other)[0] for other in (fold, *self.others)]
        self.raw = experiment.stars(experiment.people.levels[self.train])
        self.evaluation: FoldEvaluation | None = None
        self.result = FoldResult()
        if not experiment.attackers_only:
            self.evaluation = FoldEvaluation(experiment, fold, self.tables[0], self.train)
            self.result.lists = self.evaluation.lists

    def tables_of_pair(self, other: int) -> tuple[Tables, ...]:
        """Look up the tables estimated without this fold and another, and those of the refits."""
        return self.pairs[min(self.fold, other), max(self.fold, other)]

    def measure(self) -> FoldResult:
        """Attack every value, and judge every release unless attackers alone are measured."""
        for target in self.experiment.targets:
            self.attack(target)
        if self.evaluation is None:
            return self.result
        for name in self.experiment.releases:
            self.result.accuracy[name] = self.evaluation.accuracy(RELEASES[name], name)
            self.result.fractions[name] = self.read_fractions(name)
        self.evaluation.judge_device_lists()
        return self.result

    def attack(self, target: int) -> None:
        """Attack one value on every release; on the judged one also over time and with more."""
        experiment = self.experiment
        public = self.make_public(target)
        dealt = permute_labels(experiment.labels, experiment.seed)[self.train]
        frozen = Panel(experiment.attacks, quick=experiment.quick).fit(
            Releases.from_ratings(self.raw, public), _indicate(self.labels, target)
        )
        for name in experiment.releases:
            train = self.release_people(self.others, name, public)
            test = self.release_people([self.fold], name, public)
            raw = learned = frozen.scores(test)
            if name != "none":
                learned = self.learn_and_score(experiment.attacks, self.labels, target, train, test)
            self.add_scores(name, UNION, "raw", target, raw)
            self.add_scores(name, UNION, "released", target, learned)
            if name == (experiment.judged_release or "none"):
                chance = self.learn_and_score(experiment.attacks, dealt, target, train, test)
                for attack, scores in chance.items():
                    self.result.control[Key(name, UNION, attack, "released", target)] = scores
                self.attack_over_time(name, target, public)
                if RELEASES[name].selection and not experiment.attackers_only:
                    self.attack_with_knowledge(name, target, train, test)
                    self.count_certain(test)  # of all values at once: the same for each target
        if self.evaluation is None or target != experiment.targets[-1]:
            return
        if experiment.judged_release and experiment.schedules:
            self.measure_mixes(self.evaluation, experiment.judged_release, frozen, public, target)

    def make_public(self, target: int) -> PublicKnowledge:
        """Make what everybody knows, where this value is guessed."""
        levels = self.experiment.people.levels
        raters = np.bincount(levels[self.train].indices, minlength=levels.shape[1])
        offsets = [_two_rows(table.offsets, target) for table in self.tables]
        keep = [np.maximum(_two_rows(table.keep, target), 1) for table in self.tables]
        levels_apart = np.stack([rows[1] - rows[0] for rows in offsets]) / MICRO
        return PublicKnowledge(
            popularity=raters.astype(float),
            offsets=levels_apart * self.experiment.step,
            log_keep=np.stack([np.log(rows[1] / rows[0]) for rows in keep]),
            genres=self.experiment.genres,
            years=self.experiment.years,
        )

    def release_people(self, folds: Sequence[int], name: str, public: PublicKnowledge) -> Releases:
        """One letter of everybody in these folds."""
        rule = RELEASES[name]
        return stack_releases(
            [
                self.make_releases(each, public, self.simulate_people(each, rule, name))
                for each in folds
            ]
        )

    def make_releases(
        self,
        other: int,
        public: PublicKnowledge,
        levels: sparse.csr_array,
        epochs: sparse.csr_array | None = None,
    ) -> Releases:
        row = 0 if other == self.fold else 1 + self.others.index(other)
        table = np.full(levels.shape[0], row)
        return Releases(self.experiment.stars(levels), public, table, epochs)

    def simulate_people(self, other: int, rule: Rule, name: str) -> sparse.csr_array:
        """Simulate the released levels of the people of a fold.

        Args:
            other: Number of the fold.
            rule: What devices do.
            name: Name of the random stream.
        """
        people = self.experiment.people_inside(other)
        levels = self.experiment.people.levels[people]
        labels = self.experiment.labels[people]
        draw = f"{self.fold}/{name}/{other}"
        return simulate_one_release(
            self.experiment, levels, labels, self.tables_of_pair(other)[0], rule, draw
        )

    def attack_over_time(self, name: str, target: int, public: PublicKnowledge) -> None:
        """Attack with retrained attackers who see in which epoch each item came."""
        readers = readers_of_epochs(self.experiment.attacks)
        if name == "none" or not readers:
            return
        for schedule in self.experiment.schedules:
            of_train = self.watch_people(self.others, name, schedule, public)
            of_test = self.watch_people([self.fold], name, schedule, public)
            scores = self.learn_and_score(readers, self.labels, target, of_train, of_test)
            self.add_scores(name, schedule, "released", target, scores)

    def watch_people(
        self, folds: Sequence[int], name: str, schedule: str, public: PublicKnowledge
    ) -> Releases:
        """Simulate the last letters of everybody in these folds, over a schedule's epochs."""
        parts = [self.simulate_letters(other, name, schedule, public) for other in folds]
        return stack_releases(parts)

    def simulate_letters(
        self, other: int, name: str, schedule: str, public: PublicKnowledge
    ) -> Releases:
        """Simulate the last of several letters, each made with the tables of its time."""
        people = self.experiment.people_inside(other)
        tables = self.tables_of_pair(other)
        epochs = self.experiment.epochs(schedule)[people]
        tables_of_epoch = {}
        for number, label in enumerate(self.experiment.epoch_labels(schedule)):
            tables_of_epoch[label] = [tables[number if schedule in REFITTED else 0]]
        levels, decided = simulate_epochs(
            self.experiment.people.levels[people],
            self.experiment.labels[people][:, None],
            tables_of_epoch,
            epochs.data.astype(np.int64) - 1,
            RELEASES[name],
            n_levels=self.experiment.people.n_levels,
            source=replay(f"{self.experiment.seed}/{self.fold}/{schedule}/{other}"),
        )
        return self.make_releases(other, public, levels, replace_data(decided, decided.data + 1))

    def attack_with_knowledge(
        self, name: str, target: int, train: Releases, test: Releases
    ) -> None:
        """Attack with items known to be rated, or their number, beside the release."""
        keep = np.stack([_two_rows(table.keep, target) / MICRO for table in self.tables])
        rated = self.experiment.people.levels
        seed = self.experiment.seed
        for number in KNOWN_ITEMS:
            scores = known_items(rated[self.test], test.ratings, keep[0], number, seed)
            self.add_scores(name, KNOWN, "nothing", target, {str(number): scores})
        counts = np.diff(rated.indptr)
        known = _indicate(self.labels, target)
        attacker = KnownCount(quick=self.experiment.quick).fit(
            train, counts[self.train], keep, known
        )
        scores = attacker.score(test, counts[self.test], keep)
        self.add_scores(name, COUNTED, "released", target, {COUNTED: scores})

    def count_certain(self, test: Releases) -> None:
        """Count the people whose value is certain once some of their items are known."""
        rated = self.experiment.people.levels[self.test]
        keep = self.tables[0].keep / MICRO
        for number in KNOWN_ITEMS:
            certain = is_certain(rated, test.ratings, keep, number, self.experiment.seed)
            self.result.certain[number] = float(certain.mean())

    def measure_mixes(
        self,
        evaluation: FoldEvaluation,
        judged: str,
        frozen: Panel,
        public: PublicKnowledge,
        target: int,
    ) -> None:
        """The trade-off between hiding and accuracy, for the release that is judged."""
        labels = _indicate(self.experiment.labels[self.test], target)
        for mix in MIXES:
            name = f"mix {mix}"
            rule = replace(RELEASES[judged], mix=round(mix * MICRO))
            shown = self.experiment.stars(self.simulate_people(self.fold, rule, name))
            scores = frozen.scores(Releases.from_ratings(shown, public))
            aucs = {attack: auc(labels, each) for attack, each in scores.items()}
            self.result.mixed[mix] = (aucs, evaluation.errors(rule, name)["rmse"])

    def read_fractions(self, name: str) -> float:
        """AUC of a look at the released fractions."""
        lattice = MICRO
        if not self.experiment.people.n_levels:  # people type two digits at most
            lattice = max(1, round(0.01 / self.experiment.step * MICRO))
        shown = self.simulate_people(self.fold, RELEASES[name], name)
        scores = fraction_scores(shown, self.tables[0], lattice)
        labels = self.experiment.labels[self.test]
        targets = self.experiment.targets
        return float(np.mean([auc(_indicate(labels, each), scores[:, each]) for each in targets]))

    def learn_and_score(
        self, attacks: Sequence[str], labels: Labels, target: int, train: Releases, test: Releases
    ) -> dict[str, Floats]:
        panel = Panel(attacks, quick=self.experiment.quick)
        return panel.fit(train, _indicate(labels, target)).scores(test)

    def add_scores(
        self, release: str, view: str, trained_on: str, target: int, scores: Mapping[str, Floats]
    ) -> None:
        for attack, each in scores.items():
            self.result.scores[Key(release, view, attack, trained_on, target)] = each


def _indicate(labels: Labels, target: int) -> Ints:
    return np.where(labels == target, 1, 0)


def _two_rows(table: Ints, target: int) -> Floats:
    """(2, items): the mean over all other values, and the target's own."""
    return np.stack([np.delete(table, target, axis=0).mean(axis=0), table[target].astype(float)])


def fraction_scores(levels: sparse.csr_array, tables: Tables, lattice: int = MICRO) -> Floats:
    """Compute the share of released levels that are whole once a value's offset is added.

    Nothing is learned: offsets are public. True stars lie on the lattice, so an unrounded release
    fits the true value only, and everybody is read exactly. A rounded one fits none.

    Args:
        levels: (people, items) CSR of released levels.
        tables: The public tables.
        lattice: Micro-levels between true stars, within 2 millionths.

    Returns:
        (people, values) shares.
    """
    rows = entry_people(levels)
    people = levels.shape[0]
    micro = np.round(levels.data * MICRO).astype(np.int64)
    fits = [(micro + own[levels.indices] + 2) % lattice <= 4 for own in tables.offsets]
    sums = np.stack([np.bincount(rows, each, minlength=people) for each in fits], axis=1)
    return np.asarray(sums / np.maximum(1, np.diff(levels.indptr))[:, None])


def known_items(
    rated: sparse.csr_array, shown: sparse.csr_array, keep: Floats, number: int, seed: int
) -> Floats:
    """Compute log odds of label 1 from some items that are known to be rated.

    Nothing is learned: the chances to be shown are public.

    Args:
        rated: (people, items) CSR of true levels.
        shown: (people, items) CSR of released levels, of the same people.
        keep: (2, items) chances to be shown, by label.
        number: How many of each person's items the attacker knows, drawn at random; all, of people
            with fewer.
        seed: Seed of these draws.

    Returns:
        (people,) log odds; an item that one label cannot explain counts SURE.
    """
    rows, items = _draw_known(rated, number, seed)
    there = np.isfinite(read_entries(shown, rows, items))
    chances = np.where(there, keep[:, items], 1 - keep[:, items])
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN where both are 0
        ratio = np.nan_to_num(np.log(chances[1]) - np.log(chances[0]), posinf=SURE, neginf=-SURE)
    undecided = keep[:, items].max(axis=0) == 0  # never shown, no matter who rated it
    ratio = np.where(undecided & ~there, 0.0, ratio)
    return np.bincount(rows, ratio, minlength=rated.shape[0]).astype(np.float64)


def is_certain(
    rated: sparse.csr_array, shown: sparse.csr_array, keep: Floats, number: int, seed: int
) -> NDArray[np.bool_]:
    """Say whose value is certain once some items are known to be rated.

    A value is possible where it explains all known items: one that is shown has a chance to be
    shown under it, one that is not a chance to be left out.

    Args:
        rated: (people, items) CSR of true levels.
        shown: (people, items) CSR of released levels, of the same people.
        keep: (values, items) chances to be shown.
        number: How many items are known, as for `known_items`, which draws the same ones.
        seed: Seed of these draws.

    Returns:
        (people,) whether at most one value is possible.
    """
    rows, items = _draw_known(rated, number, seed)
    there = np.isfinite(read_entries(shown, rows, items))
    possible = np.zeros(rated.shape[0], dtype=np.int64)
    for chances in keep:
        contradicts = np.where(there, chances[items] == 0, chances[items] == 1)
        possible += np.bincount(rows, contradicts, minlength=rated.shape[0]) == 0
    return possible <= 1


def _draw_known(rated: sparse.csr_array, number: int, seed: int) -> tuple[Ints, Ints]:
    """Draw the rated items that the attacker knows: their people and their numbers."""
    rows = entry_people(rated)
    order = np.lexsort((np.random.default_rng(seed).random(len(rows)), rows))
    drawn = order[np.arange(len(rows)) - rated.indptr[rows] < number]
    return rows[drawn], rated.indices[drawn]


class KnownCount:
    """Boosted trees on summaries, where the number of rated items is known.

    Under the right value v the sum of 1 / keep_v over shown items comes near that number.

    Args:
        quick: Whether to take fewer trees.
    """

    def __init__(self, *, quick: bool = False) -> None:
        self.quick = quick

    def fit(self, seen: Releases, counts: Ints, keep: Floats, labels: Labels) -> Self:
        """Learn from people whose labels are known.

        Args:
            seen: What is released of them.
            counts: (people,) rated items.
            keep: (tables, 2, items) chances to be shown, by label.
            labels: (people,) 0 or 1.
        """
        self._space = space_of(seen)
        (self._model,) = boosted_trees(labels, quick=self.quick)
        self._model.fit(self._features(seen, counts, keep), labels)
        return self

    def score(self, seen: Releases, counts: Ints, keep: Floats) -> Floats:
        """(people,) log odds, as the attacker learned them."""
        return log_odds(self._model, self._features(seen, counts, keep))

    def _features(self, seen: Releases, counts: Ints, keep: Floats) -> Floats:
        """Compute summaries, and the error of each value's estimate of the number of ratings."""
        rows = seen.rows
        people = seen.ratings.shape[0]
        columns = []
        for label in (0, 1):
            chance = np.maximum(keep[seen.table[rows], label, seen.ratings.indices], 1e-6)
            away = np.bincount(rows, 1 / chance, minlength=people) - counts
            variance = np.bincount(rows, (1 - chance) / chance**2, minlength=people)
            columns += [away / np.maximum(counts, 1), away / np.sqrt(1 + variance)]
        return np.hstack([np.stack(columns, axis=1), self._space.blocks(seen).summaries()])
