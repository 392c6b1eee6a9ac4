"""One fold of the standard scheme's experiment: attacks on people whom the recommender never saw.

`run_fold` also measures errors and lists for these people, by `accuracy.FoldEvaluation`.

An attacker is frozen (trained on true stars) or retrained: a retrained one knows the method and
trains on releases of people whose attribute it knows. The releases of a person are made with tables
that were estimated without this person and without the people under attack. Otherwise the releases
that an attacker trains on would follow their tables better than those that it attacks.

At the end are attackers that are not part of the panel: one computes with the public offsets alone,
the others also know some rated items, or the number of rated items. They show what a release does
not protect from.
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
from tacit.auditing.attacks.modern import decision_values, make_boosted_trees
from tacit.designs.standard_scheme.disclosure import RELEASES, Rule
from tacit.designs.standard_scheme.experiment.accuracy import Figures, FoldEvaluation, MixFigures
from tacit.designs.standard_scheme.experiment.at_device import FoldLists
from tacit.designs.standard_scheme.experiment.setup import (
    RELEASES_OF_SCHEDULE,
    UNION,
    Experiment,
    Floats,
    Ints,
    Key,
    TablesByPair,
    read_entries,
    simulate_one_release,
)
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import entry_people, replace_data
from tacit.designs.standard_scheme.training.population import simulate_epochs
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.randomness import replay, simulation

MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the ratings that are obfuscated, for the curve of the patent's alpha."""
KNOWN_ITEMS = (1, 3, 10)
"""How many of a person's rated items an attacker knows by name; one attack for each number."""
KNOWN = "items known to be rated"
"""View of attackers who know some rated items by name."""
COUNTED = "number of rated items known"
"""View of attackers who know how many items were rated."""
CERTAIN_LOG_ODDS = 1e6
"""Finite number in place of infinite log odds."""
_ROUNDING_SLACK = 2
"""Micro-levels by which the sum of a released level and an offset may miss the lattice of stars,
because both are rounded."""
_TYPED_STEP = 0.01
"""Smallest step of stars that people type on a continuous scale."""


@dataclass
class FoldResult:
    """Results of one fold."""

    lists: FoldLists | None = None
    """Quality of the lists from releases and of those made on the device; None if not judged."""
    scores: dict[Key, Floats] = field(default_factory=dict)
    """(test people,) scores of each attacker."""
    control: dict[Key, Floats] = field(default_factory=dict)
    """(test people,) scores of attackers who learned from permuted labels."""
    certain: dict[int, float] = field(default_factory=dict)
    """Share of people for whom at most one value is possible, by the number of known items."""
    lattice_auc: dict[str, float] = field(default_factory=dict)
    """AUC of the lattice attack (`lattice_scores`), by release."""
    accuracy: dict[str, Figures] = field(default_factory=dict)
    """Errors and quality of lists, by release."""
    mixed: dict[float, MixFigures] = field(default_factory=dict)
    """AUC of the frozen attacks, and RMSE, by mix."""


def run_fold(experiment: Experiment, fold: int, tables: TablesByPair, penalty: int) -> FoldResult:
    """Measure everything on the people of one fold.

    Args:
        experiment: Data and settings.
        fold: Number of the fold.
        tables: For each pair of this fold with another fold or with itself: the tables estimated
            without the people of both.
        penalty: Penalty of the item-item weights that make the lists.
    """
    with simulation():
        return _Fold(replace(experiment, penalty=penalty), fold, tables).measure()


class _Fold:
    """One fold under attack. Its people are tested; attackers train on those of the other folds."""

    def __init__(self, experiment: Experiment, fold: int, tables: TablesByPair) -> None:
        self.experiment = experiment
        self.fold = fold
        self.tables_by_pair = tables
        self.other_folds = [other for other in range(experiment.folds) if other != fold]
        # Numbers of the training people, in the order in which their releases are stacked.
        self.train = np.concatenate([experiment.people_inside(other) for other in self.other_folds])
        self.test = experiment.people_inside(fold)
        self.labels = experiment.labels[self.train]
        # Tables of the test people's releases, then those of the people of each other fold.
        self.tables = [self.tables_of_pair(other)[0] for other in (fold, *self.other_folds)]
        self.true_stars = experiment.stars(experiment.people.levels[self.train])
        self.evaluation: FoldEvaluation | None = None
        self.result = FoldResult()
        if not experiment.attackers_only:
            self.evaluation = FoldEvaluation(experiment, fold, self.tables[0], self.train)
            self.result.lists = self.evaluation.lists

    def tables_of_pair(self, other: int) -> tuple[Tables, ...]:
        """Look up the tables estimated without this fold and `other`, then those of refits.

        If `other` is this fold, the tables were estimated without the people of this fold alone.
        """
        return self.tables_by_pair[order_pair(self.fold, other)]

    def measure(self) -> FoldResult:
        """Attack every target value, and judge every release unless only attackers are measured."""
        for target in self.experiment.targets:
            self.attack(target)
        if self.evaluation is None:
            return self.result
        for name in self.experiment.releases:
            self.result.accuracy[name] = self.evaluation.accuracy(RELEASES[name], name)
            self.result.lattice_auc[name] = self.auc_of_lattice_attack(name)
        self.evaluation.judge_device_lists()
        return self.result

    def attack(self, target: int) -> None:
        """Attack one value of the attribute on every release, and on the judged one in more ways.

        The judged release is also attacked over time, with additional knowledge, and by attackers
        who learned from permuted labels.
        """
        experiment = self.experiment
        public = self.make_public_knowledge(target)
        permuted_labels = permute_labels(experiment.labels, experiment.seed)[self.train]
        frozen = Panel(experiment.attacks, quick=experiment.quick).fit(
            Releases.from_ratings(self.true_stars, public), _is_target(self.labels, target)
        )
        for name in experiment.releases:
            train = self.release_people(self.other_folds, name, public)
            test = self.release_people([self.fold], name, public)
            frozen_scores = frozen.scores(test)
            retrained_scores = frozen_scores
            if name != "none":
                retrained_scores = self.learn_and_score(
                    experiment.attacks, self.labels, target, train, test
                )
            self.add_scores(name, UNION, "raw", target, frozen_scores)
            self.add_scores(name, UNION, "released", target, retrained_scores)
            if name == (experiment.judged_release or "none"):
                control_scores = self.learn_and_score(
                    experiment.attacks, permuted_labels, target, train, test
                )
                for attack, scores in control_scores.items():
                    self.result.control[Key(name, UNION, attack, "released", target)] = scores
                self.attack_over_time(name, target, public)
                if RELEASES[name].selection and not experiment.attackers_only:
                    self.attack_with_knowledge(name, target, train, test)
                    # All values at once are compared, so the result is the same for each target.
                    self.measure_certain_share(test)
        is_last_target = target == experiment.targets[-1]
        if self.evaluation is None or not is_last_target:
            return
        if experiment.judged_release and experiment.schedules:
            self.measure_mixes(self.evaluation, experiment.judged_release, frozen, public, target)

    def make_public_knowledge(self, target: int) -> PublicKnowledge:
        """Collect what every attacker knows when it guesses whether a person has this value.

        (tables, items) `offsets` are the target value's minus the mean of the other values', in
        stars; (tables, items) `log_keep` is the logarithm of a ratio: the target value's chance to
        show an item, divided by the mean chance of the other values.
        """
        levels = self.experiment.people.levels
        raters = np.bincount(levels[self.train].indices, minlength=levels.shape[1])
        offset_differences = []
        log_ratios = []
        for table in self.tables:
            offset_of_others, offset_of_target = _two_rows(table.offsets, target)
            keep_of_others, keep_of_target = np.maximum(_two_rows(table.keep, target), 1)
            offset_differences.append(offset_of_target - offset_of_others)
            log_ratios.append(np.log(keep_of_target / keep_of_others))
        return PublicKnowledge(
            popularity=raters.astype(float),
            offsets=np.stack(offset_differences) / MICRO * self.experiment.step,
            log_keep=np.stack(log_ratios),
            genres=self.experiment.genres,
            years=self.experiment.years,
        )

    def release_people(self, folds: Sequence[int], name: str, public: PublicKnowledge) -> Releases:
        """Simulate one release of everybody in these folds."""
        parts = []
        for fold in folds:
            levels = self.simulate_people(fold, RELEASES[name], name)
            parts.append(self.make_releases(fold, public, levels))
        return stack_releases(parts)

    def make_releases(
        self,
        fold: int,
        public: PublicKnowledge,
        levels: sparse.csr_array,
        epochs: sparse.csr_array | None = None,
    ) -> Releases:
        """Combine the released levels of a fold's people with what attackers know about them.

        Args:
            fold: Number of the fold.
            public: What every attacker knows.
            levels: (people, items) CSR of released levels.
            epochs: CSR like the levels: 1 + label of the epoch in which each item was released.
        """
        position = 0 if fold == self.fold else 1 + self.other_folds.index(fold)  # in self.tables
        table = np.full(levels.shape[0], position)
        return Releases(self.experiment.stars(levels), public, table, epochs)

    def simulate_people(self, fold: int, rule: Rule, name: str) -> sparse.csr_array:
        """Simulate the released levels of the people of a fold.

        Args:
            fold: Number of the fold.
            rule: What devices do.
            name: Name of the release, by which the random stream is named.
        """
        people = self.experiment.people_inside(fold)
        levels = self.experiment.people.levels[people]
        labels = self.experiment.labels[people]
        stream = f"{self.fold}/{name}/{fold}"
        return simulate_one_release(
            self.experiment, levels, labels, self.tables_of_pair(fold)[0], rule, stream
        )

    def attack_over_time(self, name: str, target: int, public: PublicKnowledge) -> None:
        """Attack a value with retrained attackers who see in which epoch each item was released."""
        attacks = readers_of_epochs(self.experiment.attacks)
        if name == "none" or not attacks:
            return
        for schedule in self.experiment.schedules:
            train = self.release_people_over_time(self.other_folds, name, schedule, public)
            test = self.release_people_over_time([self.fold], name, schedule, public)
            scores = self.learn_and_score(attacks, self.labels, target, train, test)
            self.add_scores(name, schedule, "released", target, scores)

    def release_people_over_time(
        self, folds: Sequence[int], name: str, schedule: str, public: PublicKnowledge
    ) -> Releases:
        """Simulate a schedule's epochs for everybody in these folds; return their last releases."""
        parts = [self.simulate_schedule(fold, name, schedule, public) for fold in folds]
        return stack_releases(parts)

    def simulate_schedule(
        self, fold: int, name: str, schedule: str, public: PublicKnowledge
    ) -> Releases:
        """Simulate a fold's releases of all epochs of a schedule, and return the last ones.

        Under a schedule with refits, each epoch has the tables of its own fit.
        """
        people = self.experiment.people_inside(fold)
        tables = self.tables_of_pair(fold)
        epochs = self.experiment.epochs(schedule)[people]
        has_refits = schedule in RELEASES_OF_SCHEDULE
        tables_of_epoch = {}
        for number, label in enumerate(self.experiment.epoch_labels(schedule)):
            tables_of_epoch[label] = [tables[number if has_refits else 0]]
        levels, epoch_of_item = simulate_epochs(
            self.experiment.people.levels[people],
            self.experiment.labels[people][:, None],
            tables_of_epoch,
            epochs.data.astype(np.int64) - 1,
            RELEASES[name],
            n_levels=self.experiment.people.n_levels,
            source=replay(f"{self.experiment.seed}/{self.fold}/{schedule}/{fold}"),
        )
        labels_from_1 = replace_data(epoch_of_item, epoch_of_item.data + 1)
        return self.make_releases(fold, public, levels, labels_from_1)

    def attack_with_knowledge(
        self, name: str, target: int, train: Releases, test: Releases
    ) -> None:
        """Attack a value with a release and known rated items, or the number of rated items."""
        keep = np.stack([_two_rows(table.keep, target) / MICRO for table in self.tables])
        rated = self.experiment.people.levels
        seed = self.experiment.seed
        for number in KNOWN_ITEMS:
            scores = log_odds_of_known_items(rated[self.test], test.ratings, keep[0], number, seed)
            self.add_scores(name, KNOWN, "nothing", target, {str(number): scores})
        counts = np.diff(rated.indptr)
        attacker = CountAttacker(quick=self.experiment.quick).fit(
            train, counts[self.train], keep, _is_target(self.labels, target)
        )
        scores = attacker.score(test, counts[self.test], keep)
        self.add_scores(name, COUNTED, "released", target, {COUNTED: scores})

    def measure_certain_share(self, test: Releases) -> None:
        """Compute the share of people whose value is certain if some rated items are known."""
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
        """Measure the frozen attacks and the RMSE for each mix of the judged release.

        Args:
            evaluation: Measures the RMSE.
            judged: Name of the judged release.
            frozen: The frozen attackers.
            public: What every attacker knows.
            target: Number of the value that is guessed.
        """
        labels = _is_target(self.experiment.labels[self.test], target)
        for mix in MIXES:
            name = f"mix {mix}"
            rule = replace(RELEASES[judged], mix=round(mix * MICRO))
            shown = self.experiment.stars(self.simulate_people(self.fold, rule, name))
            scores = frozen.scores(Releases.from_ratings(shown, public))
            aucs = {attack: auc(labels, attack_scores) for attack, attack_scores in scores.items()}
            rmse = evaluation.errors(rule, name)["rmse"]
            self.result.mixed[mix] = MixFigures(aucs, rmse)

    def auc_of_lattice_attack(self, name: str) -> float:
        """Compute the AUC of `lattice_scores` on a release, the mean over the guessed values."""
        lattice = MICRO
        if not self.experiment.people.n_levels:  # a continuous scale
            lattice = max(1, round(_TYPED_STEP / self.experiment.step * MICRO))
        shown = self.simulate_people(self.fold, RELEASES[name], name)
        scores = lattice_scores(shown, self.tables[0], lattice)
        labels = self.experiment.labels[self.test]
        targets = self.experiment.targets
        areas = [auc(_is_target(labels, target), scores[:, target]) for target in targets]
        return float(np.mean(areas))

    def learn_and_score(
        self, attacks: Sequence[str], labels: Labels, target: int, train: Releases, test: Releases
    ) -> dict[str, Floats]:
        """Train attackers on releases of people with known labels, and score the test people.

        Args:
            attacks: Names of the attackers.
            labels: (training people,) numbers of their attribute values.
            target: Number of the value that is guessed.
            train: Releases of the training people.
            test: Releases of the test people.

        Returns:
            (test people,) scores by attacker.
        """
        panel = Panel(attacks, quick=self.experiment.quick)
        return panel.fit(train, _is_target(labels, target)).scores(test)

    def add_scores(
        self, release: str, view: str, trained_on: str, target: int, scores: Mapping[str, Floats]
    ) -> None:
        """Store the scores, given by attacker, in the result. Other arguments are as in `Key`."""
        for attack, attack_scores in scores.items():
            self.result.scores[Key(release, view, attack, trained_on, target)] = attack_scores


def _is_target(labels: Labels, target: int) -> Ints:
    """Return 1 for each person with the target value, 0 for the others."""
    return np.where(labels == target, 1, 0)


def _two_rows(table: Ints, target: int) -> Floats:
    """Reduce a (values, items) table to two rows for an attack on one value.

    Returns:
        (2, items): the mean over all other values, then the target value's row.
    """
    mean_of_others = np.delete(table, target, axis=0).mean(axis=0)
    return np.stack([mean_of_others, table[target].astype(float)])


def lattice_scores(levels: sparse.csr_array, tables: Tables, lattice: int = MICRO) -> Floats:
    """Compute the share of released levels that are on the lattice once a value's offset is added.

    Nothing has to be learned for this attack, because offsets are public. True levels are multiples
    of the lattice. An unrounded release plus the offset of the person's own value is on the
    lattice; plus another value's offset it is not, unless the two offsets are almost equal. So
    nearly everybody's value is read. A rounded release plus an offset is on the lattice only if the
    offset is almost 0, whatever the person's value.

    Args:
        levels: (people, items) CSR of released levels.
        tables: The public tables.
        lattice: Distance between two true levels, in micro-levels.

    Returns:
        (people, values) shares of the released levels that lie on the lattice.
    """
    rows = entry_people(levels)
    people = levels.shape[0]
    micro_levels = np.round(levels.data * MICRO).astype(np.int64)
    counts = []
    for offsets in tables.offsets:
        shifted = micro_levels + offsets[levels.indices] + _ROUNDING_SLACK
        is_on_lattice = shifted % lattice <= 2 * _ROUNDING_SLACK
        counts.append(np.bincount(rows, is_on_lattice, minlength=people))
    n_released = np.maximum(1, np.diff(levels.indptr))
    return np.asarray(np.stack(counts, axis=1) / n_released[:, None])


def log_odds_of_known_items(
    rated: sparse.csr_array, shown: sparse.csr_array, keep: Floats, number: int, seed: int
) -> Floats:
    """Compute the log odds of label 1 from some items that are known to be rated.

    Nothing has to be learned, because the chances to show an item are public:
    log odds = sum over known items of log P(shown or not | label 1) - log P(... | label 0).

    Args:
        rated: (people, items) CSR of true levels.
        shown: (people, items) CSR of released levels, of the same people.
        keep: (2, items) chances to be shown, by label.
        number: How many of each person's rated items the attacker knows, drawn at random; all items
            of people with fewer.
        seed: Seed of these draws.

    Returns:
        (people,) log odds. An outcome that is impossible under label 0 adds CERTAIN_LOG_ODDS; one
        that is impossible under label 1 subtracts it.
    """
    rows, items = _draw_known(rated, number, seed)
    is_shown = np.isfinite(read_entries(shown, rows, items))
    chances = np.where(is_shown, keep[:, items], 1 - keep[:, items])
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN if both chances are 0
        log_ratio = np.nan_to_num(
            np.log(chances[1]) - np.log(chances[0]),
            posinf=CERTAIN_LOG_ODDS,
            neginf=-CERTAIN_LOG_ODDS,
        )
    is_never_shown = keep[:, items].max(axis=0) == 0  # such an item says nothing about the label
    log_ratio = np.where(is_never_shown & ~is_shown, 0.0, log_ratio)
    return np.bincount(rows, log_ratio, minlength=rated.shape[0]).astype(np.float64)


def is_certain(
    rated: sparse.csr_array, shown: sparse.csr_array, keep: Floats, number: int, seed: int
) -> NDArray[np.bool_]:
    """Say whose attribute value is certain if some items are known to be rated.

    A value is possible if it explains all known items: under it, a shown item has a positive chance
    to be shown, and an item that is not shown has a positive chance to be held back.

    Args:
        rated: (people, items) CSR of true levels.
        shown: (people, items) CSR of released levels, of the same people.
        keep: (values, items) chances to be shown.
        number: How many items are known. They are the same as those of `log_odds_of_known_items`.
        seed: Seed of these draws.

    Returns:
        (people,) whether at most one value is possible.
    """
    rows, items = _draw_known(rated, number, seed)
    is_shown = np.isfinite(read_entries(shown, rows, items))
    n_possible_values = np.zeros(rated.shape[0], dtype=np.int64)
    for chances in keep:
        is_impossible = np.where(is_shown, chances[items] == 0, chances[items] == 1)
        n_impossible = np.bincount(rows, is_impossible, minlength=rated.shape[0])
        n_possible_values += n_impossible == 0
    return n_possible_values <= 1


def _draw_known(rated: sparse.csr_array, number: int, seed: int) -> tuple[Ints, Ints]:
    """Draw the rated items that the attacker knows, up to `number` of each person.

    Returns:
        Numbers of the people, and of the items.
    """
    rows = entry_people(rated)
    # A random order of each person's entries; rows are sorted, so people stay in their places.
    order = np.lexsort((np.random.default_rng(seed).random(len(rows)), rows))
    rank_in_row = np.arange(len(rows)) - rated.indptr[rows]
    drawn = order[rank_in_row < number]
    return rows[drawn], rated.indices[drawn]


class CountAttacker:
    """Boosted trees that know the number of a person's rated items.

    For the person's true value v, the sum of 1 / keep_v over shown items estimates that number.

    Args:
        quick: Whether to use fewer trees.
    """

    def __init__(self, *, quick: bool = False) -> None:
        self.quick = quick

    def fit(self, seen: Releases, counts: Ints, keep: Floats, labels: Labels) -> Self:
        """Learn from people whose labels are known.

        Args:
            seen: Their releases.
            counts: (people,) numbers of rated items.
            keep: (tables, 2, items) chances to be shown, by label.
            labels: (people,) 0 or 1.
        """
        self._space = space_of(seen)
        (self._model,) = make_boosted_trees(labels, quick=self.quick)
        self._model.fit(self._features(seen, counts, keep), labels)
        return self

    def score(self, seen: Releases, counts: Ints, keep: Floats) -> Floats:
        """Score people: (people,) log odds of label 1. Arguments are those of `fit`."""
        return decision_values(self._model, self._features(seen, counts, keep))

    def _features(self, seen: Releases, counts: Ints, keep: Floats) -> Floats:
        """Compute features of releases for the trees.

        Two for each label: the error of the estimate sum(1 / keep) of the number of ratings, once
        divided by that number and once by about the estimate's standard deviation. Then summaries
        of the release.
        """
        rows = seen.rows
        people = seen.ratings.shape[0]
        columns = []
        for label in (0, 1):
            chance = keep[seen.table[rows], label, seen.ratings.indices]
            chance = np.maximum(chance, 1 / MICRO)  # the smallest chance that tables can hold
            error = np.bincount(rows, 1 / chance, minlength=people) - counts
            variance = np.bincount(rows, (1 - chance) / chance**2, minlength=people)
            columns += [error / np.maximum(counts, 1), error / np.sqrt(1 + variance)]
        return np.hstack([np.stack(columns, axis=1), self._space.blocks(seen).summaries()])


def order_pair(fold: int, other: int) -> tuple[int, int]:
    """Return the key of a pair of folds in `tables_by_pair`: the smaller number first."""
    return min(fold, other), max(fold, other)
