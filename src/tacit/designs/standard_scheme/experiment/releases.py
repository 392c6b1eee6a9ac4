"""What people of each fold release, as an attacker on one fold sees it.

Everybody's releases are made with tables estimated without them and without the people under
attack. Training on releases made with tables that had already seen their people would teach an
attacker a cleaner picture than it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks import Public, Seen, stacked
from tacit.designs.standard_scheme.disclosure import Tables
from tacit.designs.standard_scheme.experiment.experiment import (
    REFITTED,
    Experiment,
    Pairs,
    at_entries,
    entry_rows,
    refitted,
    released,
)
from tacit.designs.standard_scheme.messages import MICRO, RELEASES, Rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Letter = tuple[sparse.csr_array, sparse.csr_array | None]
"""Released levels, and 1 + the epoch of each if epochs are seen."""


class Releases:
    """Of the people under attack (those of `fold`) and of an attacker's training people."""

    def __init__(self, experiment: Experiment, fold: int, tables: Pairs) -> None:
        self.experiment = experiment
        self.fold = fold
        self.others = [other for other in range(experiment.folds) if other != fold]
        self._tables = tables
        # Training people in the order in which their releases are stacked.
        self.train = np.concatenate([experiment.inside(other) for other in self.others])
        self.test = experiment.inside(fold)

    def all_tables(self) -> list[Tables]:
        """Tables of the people under attack first, then those of each training fold."""
        return [self._pair(other)[0] for other in (self.fold, *self.others)]

    def public(self, target: int) -> Public:
        """What everybody knows, where this value is guessed."""
        levels, tables = self.experiment.people.levels, self.all_tables()
        raters = np.bincount(levels[self.train].indices, minlength=levels.shape[1])
        offsets = [two_rows(table.offsets, target) for table in tables]
        keep = [np.maximum(two_rows(table.keep, target), 1) for table in tables]
        levels_apart = np.stack([rows[1] - rows[0] for rows in offsets]) / MICRO
        return Public(
            popularity=raters.astype(float),
            offsets=levels_apart * self.experiment.step,
            log_keep=np.stack([np.log(rows[1] / rows[0]) for rows in keep]),
            genres=self.experiment.genres,
            years=self.experiment.years,
        )

    def seen(self, folds: Sequence[int], name: str, public: Public) -> Seen:
        """One letter of everybody in these folds."""
        return self._stacked(folds, public, lambda other: (self.shown(other, name), None))

    def shown(self, other: int, name: str, rule: Rule | None = None) -> sparse.csr_array:
        """Released levels of the people of a fold. name: of the random stream, and of the rule."""
        return self._released(other, rule or RELEASES[name], f"{self.fold}/{name}/{other}")

    def with_epochs(self, seen: Seen, schedule: str) -> Seen:
        """With the same tables in every epoch the last letter is that of one release."""
        people = self.train if seen.ratings.shape[0] == len(self.train) else self.test
        epochs = self.experiment.epochs(schedule)[people]
        return replace(seen, epochs=at_entries(seen.ratings, epochs))

    def by_turns(self, folds: Sequence[int], name: str, schedule: str, public: Public) -> Seen:
        """The same tables in every epoch, but what is shown by then has a say in the next one."""

        def letter(other: int) -> Letter:
            epochs = self.experiment.epochs(schedule)[self.experiment.inside(other)]
            draw = f"{self.fold}/{schedule}/{other}"
            levels = self._released(other, RELEASES[name], draw, epochs)
            return levels, at_entries(levels, epochs)

        return self._stacked(folds, public, letter)

    def refitted(self, folds: Sequence[int], name: str, schedule: str, public: Public) -> Seen:
        """The last of several letters, each of which decided with tables of its own."""
        return self._stacked(folds, public, lambda other: self._refitted(other, name, schedule))

    def sequence(self, name: str, schedule: str) -> list[sparse.csr_array]:
        """All letters of the people under attack, by tables of several fits."""
        every = range(REFITTED[schedule])
        return [self._refitted(self.fold, name, schedule, until)[0] for until in every]

    def _refitted(
        self, other: int, name: str, schedule: str, until: int | None = None
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        people = self.experiment.inside(other)
        return refitted(
            self.experiment,
            self.experiment.people.levels[people],
            self.experiment.labels[people],
            self._pair(other),
            RELEASES[name],
            self.experiment.epochs(schedule)[people],
            f"{self.fold}/{schedule}/{other}",
            until,
        )

    def _released(
        self, other: int, rule: Rule, draw: str, epochs: sparse.csr_array | None = None
    ) -> sparse.csr_array:
        people = self.experiment.inside(other)
        levels, labels = self.experiment.people.levels[people], self.experiment.labels[people]
        return released(self.experiment, levels, labels, self._pair(other)[0], rule, draw, epochs)

    def _stacked(
        self, folds: Sequence[int], public: Public, letter: Callable[[int], Letter]
    ) -> Seen:
        parts = []
        for other in folds:
            levels, epochs = letter(other)
            row = 0 if other == self.fold else 1 + self.others.index(other)
            table = np.full(levels.shape[0], row)
            parts.append(Seen(self.experiment.stars(levels), public, table, epochs))
        return stacked(parts)

    def _pair(self, other: int) -> tuple[Tables, ...]:
        return self._tables[min(self.fold, other), max(self.fold, other)]


def two_rows(table: Ints, target: int) -> Floats:
    """(2, items): the mean over all other values, and the target's own."""
    return np.stack([np.delete(table, target, axis=0).mean(axis=0), table[target].astype(float)])


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
