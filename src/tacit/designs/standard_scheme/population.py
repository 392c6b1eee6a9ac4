"""The device's rule for many people at once, for training the estimator and for experiments.

Runs at     a simulation: nobody's real release is made here.
Equals      `device.Device.release`, epoch by epoch and rating by rating, when both see the same
            draws (tested).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import Tables
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO, Rule
from tacit.designs.standard_scheme.taste import TURNS
from tacit.designs.standard_scheme.taste_population import Drawn
from tacit.designs.standard_scheme.taste_population import passed as passed_by_taste
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
    nothing = _Letter.empty(levels.nnz, epoch_of_rating)
    released, shown = _decided(levels, labels, tables, rule, n_levels, source, decidable, nothing)
    return _entries(levels, released, shown)


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
        earlier = _Letter(released, shown, np.zeros_like(released))
        made, passed = _decided(levels, labels, tables, rule, n_levels, source, now, earlier)
        released[now], shown[now], decided_in[now] = made[now], passed[now], epoch
    return (
        _entries(levels, released, shown),
        _entries(levels, decided_in * MICRO, shown),
    )


@dataclass(frozen=True)
class _Letter:
    """(ratings,) released micro-levels, and which entries are shown, before an epoch; and in which
    epochs the next ones are decided, if the tables are the same in several."""

    released: Ints
    shown: Mask
    epochs: Ints

    @classmethod
    def empty(cls, entries: int, epochs: Ints | None = None) -> _Letter:
        nothing = np.zeros(entries, dtype=np.int64)
        return cls(nothing, nothing > 0, nothing if epochs is None else epochs)


def _decided(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    n_levels: int,
    source: Source,
    chosen: Mask,
    earlier: _Letter,
) -> tuple[Ints, Mask]:
    """(ratings,) released micro-levels, and which are shown; draws for the chosen ones alone."""
    rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))[chosen]
    items, own = levels.indices[chosen], labels[rows]
    true = np.round(levels.data[chosen] * MICRO).astype(np.int64)
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
    released = earlier.released.copy()
    shown = np.zeros(levels.nnz, dtype=bool)
    released[chosen], shown[chosen] = made, passed
    taste = tables[0].taste
    if taste is not None and rule.selection:
        drawn = Drawn(np.zeros_like(released), released, np.zeros_like(released))
        drawn.dice[chosen] = np.where(passed, -1, dice)  # true stars of a mix are always shown
        turns = integers_below(source, TURNS, len(rows))
        in_order = np.lexsort((items, turns, earlier.epochs[chosen]))
        drawn.turns[np.flatnonzero(chosen)[in_order]] = np.arange(len(rows))
        shown, _ = passed_by_taste(levels, labels[:, 0], taste, drawn, chosen, earlier.shown)
    return released, shown


def _decidable(
    levels: sparse.csr_array, labels: Ints, tables: Sequence[Tables], rule: Rule
) -> Mask:
    """(ratings,) whether every table has a chance for the item."""
    found = np.ones(levels.nnz, dtype=bool)
    if rule.selection:
        rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))
        for position, table in enumerate(tables):
            found &= table.keep[labels[rows, position], levels.indices] > 0
    return found


def _entries(levels: sparse.csr_array, micro: Ints, shown: Mask) -> sparse.csr_array:
    """The shown entries, in millionths."""
    rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))
    counts = np.bincount(rows[shown], minlength=levels.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return sparse.csr_array(
        (micro[shown] / MICRO, levels.indices[shown], indptr), shape=levels.shape
    )


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
