"""The device's rule for many people at once, for training the estimator and for experiments.

Runs at     a simulation: nobody's real release is made here.
Equals      `device.Device.release`, epoch by epoch and rating by rating, and `taste.by_taste`,
            decision by decision, when both see the same draws (tested).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import FLOOR, Rule
from tacit.designs.standard_scheme.drawing import (
    MILLI,
    MOST_EXCESS,
    START,
    TURNS,
    kept,
    scaled,
    shown_fraction,
)
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO
from tacit.designs.standard_scheme.training.people import chosen, entry_rows, with_data
from tacit.designs.standard_scheme.training.tables import Tables, TasteArrays
from tacit.randomness import Source, integers_below

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def release(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    *,
    n_levels: int,
    source: Source,
    epoch_of_rating: Ints | None = None,
) -> sparse.csr_array:
    """(people, items) CSR float64 of released levels; what was held back is absent.

    levels: CSR of whole levels 0 .. n_levels - 1 (real-valued if n_levels is 0). labels: (people,
    attributes) row of each person in each of the tables. epoch_of_rating: (ratings,) when each
    entry is decided, where all epochs have these tables; it matters for chances by taste alone.
    """
    decidable = _decidable(levels, labels, tables, rule)
    nothing = np.zeros(levels.nnz, dtype=np.int64)
    epochs = nothing if epoch_of_rating is None else epoch_of_rating
    earlier = nothing, nothing > 0, epochs
    released, shown = _decided(levels, labels, tables, rule, n_levels, source, decidable, earlier)
    return chosen(with_data(levels, released / MICRO), shown)


def over_epochs(
    levels: sparse.csr_array,
    labels: Ints,
    tables_of_epoch: Mapping[int, Sequence[Tables]],
    epoch_of_rating: Ints,
    rule: Rule,
    *,
    n_levels: int,
    source: Source,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """The last letters of people who speak in several epochs, and in which epoch each item came.

    tables_of_epoch: the tables with which items are decided, by the epochs in which devices speak.
    epoch_of_rating: (ratings,) epoch of each entry of `levels`. An item is decided in the first
    epoch from its own on whose tables have a chance for it. Both results have the same entries; the
    second holds labels, of which 0 is one.
    """
    released = np.zeros(levels.nnz, dtype=np.int64)
    shown = np.zeros(levels.nnz, dtype=bool)
    decided_in = np.full(levels.nnz, -1)
    for epoch in sorted(tables_of_epoch):
        tables = tables_of_epoch[epoch]
        now = (decided_in < 0) & (epoch_of_rating <= epoch)
        now &= _decidable(levels, labels, tables, rule)
        earlier = released, shown, np.zeros_like(released)
        made, passed = _decided(levels, labels, tables, rule, n_levels, source, now, earlier)
        released[now], shown[now], decided_in[now] = made[now], passed[now], epoch
    return (
        chosen(with_data(levels, released / MICRO), shown),
        chosen(with_data(levels, decided_in.astype(float)), shown),
    )


def _decided(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    n_levels: int,
    source: Source,
    now: Mask,
    earlier: tuple[Ints, Mask, Ints],
) -> tuple[Ints, Mask]:
    """(ratings,) released micro-levels, and which are shown; draws for those `now` alone.

    earlier: the same before this epoch; and in which epochs these are decided, if their tables are
    the same in several.
    """
    before, shown_before, epochs = earlier
    rows = entry_rows(levels)[now]
    items, own = levels.indices[now], labels[rows]
    true = np.round(levels.data[now] * MICRO).astype(np.int64)
    passed = np.ones(len(rows), dtype=bool)
    if rule.selection:
        for position, table in enumerate(tables):
            dice = _draw(source, len(rows))
            passed &= (dice < table.keep[own[:, position], items]) & (table.taste is None)
    made = _transform(true, own, items, tables, rule, source)
    if rule.rounding:
        made = _round(made, n_levels, source)
    if rule.mix < MICRO:
        obfuscated = _draw(source, len(rows)) < rule.mix
        made, passed = np.where(obfuscated, made, true), passed | ~obfuscated
    released = before.copy()
    shown = np.zeros(levels.nnz, dtype=bool)
    released[now], shown[now] = made, passed
    taste = tables[0].taste
    if taste is not None and rule.selection:
        drawn = Drawn(np.zeros_like(released), released, np.zeros_like(released))
        drawn.dice[now] = np.where(passed, -1, dice)  # true stars of a mix are always shown
        turns = integers_below(source, TURNS, len(rows))
        in_order = np.lexsort((items, turns, epochs[now]))
        drawn.turns[np.flatnonzero(now)[in_order]] = np.arange(len(rows))
        shown, _ = passed_by_taste(levels, labels[:, 0], taste, drawn, now, shown_before)
    return released, shown


def _decidable(
    levels: sparse.csr_array, labels: Ints, tables: Sequence[Tables], rule: Rule
) -> Mask:
    """(ratings,) whether every table has a chance for the item."""
    found = np.ones(levels.nnz, dtype=bool)
    if rule.selection:
        rows = entry_rows(levels)
        for position, table in enumerate(tables):
            found &= table.keep[labels[rows, position], levels.indices] > 0
    return found


def _transform(
    true: Ints, own: Ints, items: Ints, tables: Sequence[Tables], rule: Rule, source: Source
) -> Ints:
    if rule.transform == "scheme":
        for position, table in enumerate(tables):
            true = true - table.offsets[own[:, position], items]
        return true
    if rule.transform == "coupling":
        whole = true // MICRO
        for position, table in enumerate(tables):
            assert table.coupling is not None  # a continuous scale was refused with the rule
            thresholds = table.coupling[own[:, position], items, whole]
            whole = (thresholds <= _draw(source, len(true))[:, None]).sum(axis=1)
        return whole * MICRO
    if rule.transform == "movie-average":
        return tables[0].item_means[items]
    if rule.transform == "attribute-average":
        means = tables[0].means
        return means[integers_below(source, len(means), len(true)), items]
    return true


def _round(released: Ints, n_levels: int, source: Source) -> Ints:
    whole, rest = np.divmod(released, MICRO)
    whole = whole + (_draw(source, len(released)) < rest)
    highest = n_levels - 1 if n_levels else CONTINUOUS_LEVELS
    return np.clip(whole, 0, highest) * MICRO


def _draw(source: Source, count: int) -> Ints:
    return integers_below(source, MICRO, count)


@dataclass(frozen=True)
class Drawn:
    """What was drawn for each rating: (ratings,) dice, micro-levels to release, turns."""

    dice: Ints
    levels: Ints
    turns: Ints


def passed_by_taste(
    pattern: sparse.csr_array,
    own: Ints,
    taste: TasteArrays,
    drawn: Drawn,
    now: Mask,
    before: Mask,
    states_of: Ints | None = None,
) -> tuple[Mask, Ints]:
    """(ratings,) which of the entries `now` are shown; and states before these decisions.

    own: (people,) 0 or 1. before: entries shown earlier, with their levels in `drawn`. states_of:
    (ratings,) the row of the second result in which to write an entry's state; -1: nowhere.
    """
    rows = entry_rows(pattern)
    people = _People(pattern, rows, taste, drawn, before)
    wanted = np.full(pattern.nnz, -1) if states_of is None else states_of
    states = np.zeros((int(wanted.max(initial=-1)) + 1, taste.response.shape[1]), dtype=np.int64)
    shown = np.zeros(pattern.nnz, dtype=bool)
    for entries in _turns(rows, pattern, drawn.turns, now):
        state = people.state(rows[entries])
        noted = wanted[entries] >= 0
        states[wanted[entries[noted]]] = state[noted]
        items = pattern.indices[entries]
        chance = _chances(taste, own[rows[entries]], items, drawn.levels[entries], state)
        taken = entries[drawn.dice[entries] < chance]
        shown[taken] = True
        people.add(taken)
    return shown, states


class _People:
    """What each person shows so far, summed up."""

    def __init__(
        self, pattern: sparse.csr_array, rows: Ints, taste: TasteArrays, drawn: Drawn, before: Mask
    ) -> None:
        self._rows, self._items, self._taste = rows, pattern.indices, taste
        self._above = drawn.levels // MILLI - taste.levels[pattern.indices]
        people = pattern.shape[0]
        self._counts = np.bincount(rows[before], minlength=people)
        self._basis = np.zeros((people, taste.basis.shape[1]), dtype=np.int64)
        self._stars = np.zeros((people, taste.stars.shape[1]), dtype=np.int64)
        earlier = np.flatnonzero(before)
        np.add.at(self._basis, rows[earlier], taste.basis[self._items[earlier]])
        above = self._above[earlier, None]
        np.add.at(self._stars, rows[earlier], above * taste.stars[self._items[earlier]])

    def add(self, entries: Ints) -> None:
        """At most one entry of each person."""
        rows, items = self._rows[entries], self._items[entries]
        self._counts[rows] += 1
        self._basis[rows] += self._taste.basis[items]
        self._stars[rows] += self._above[entries, None] * self._taste.stars[items]

    def state(self, rows: Ints) -> Ints:
        counts = self._counts[rows]
        root = np.sqrt(((counts + START) << 20).astype(np.float64)).astype(np.int64)[:, None]
        basis = scaled(self._basis[rows], root)
        stars = scaled(self._stars[rows] // MILLI, root)
        squares = self._taste.response.shape[1] - basis.shape[1] - stars.shape[1] - 1
        squared = basis[:, :squares] ** 2 // MILLI
        return np.concatenate([basis, stars, shown_fraction(counts)[:, None], squared], axis=1)


def _chances(taste: TasteArrays, own: Ints, items: Ints, levels: Ints, state: Ints) -> Ints:
    above = levels // MILLI - taste.levels[items]
    ratio = taste.base[items] + taste.slope[items] * above // MILLI
    ratio = ratio + np.einsum("ns,ns->n", taste.response[items], state) // MILLI
    excess = np.clip(np.where(own > 0, ratio, -ratio), 0, MOST_EXCESS)
    chances: Ints = np.maximum(FLOOR, kept(excess))
    return chances


def _turns(rows: Ints, pattern: sparse.csr_array, turns: Ints, now: Mask) -> list[Ints]:
    """Entries decided at the same time: each person's first, each person's second, and so on."""
    entries = np.flatnonzero(now)
    ordered = entries[np.lexsort((pattern.indices[entries], turns[entries], rows[entries]))]
    counts = np.bincount(rows[ordered], minlength=pattern.shape[0])
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(ordered)) - starts[rows[ordered]]
    by_rank = ordered[np.argsort(rank, kind="stable")]
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]) if len(rank) else []
