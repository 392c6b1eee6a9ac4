"""Simulated releases of many people's devices, for training and for experiments.

Runs at     a simulation: nobody's real release is made here.
Equals      `device.Device.release` in every epoch and rating, if both get the same draws: a test
            compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import Rule
from tacit.designs.standard_scheme.epochs import LAST_EPOCH_OF_FIRST_DAY
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.rounding import highest_level
from tacit.designs.standard_scheme.training.people import (
    Ints,
    entry_people,
    replace_data,
    select_entries,
)
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.randomness import Source, integers_below


def simulate_release(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    *,
    n_levels: int,
    source: Source,
) -> sparse.csr_array:
    """Simulate one release of every person.

    Args:
        levels: (people, items) CSR of true levels: whole numbers from 0 to n_levels - 1, or real
            numbers on a continuous scale.
        labels: (people, attributes) row of each person's value in the tables of each attribute.
        tables: The tables of each attribute, in the same order.
        rule: What devices do.
        n_levels: Number of whole levels of the scale; 0 on a continuous scale.
        source: Source of all draws.

    Returns:
        (people, items) CSR float64 of released levels, without the items that are held back.
    """
    first_epoch = np.zeros(levels.nnz, dtype=np.int64)
    released, _ = simulate_epochs(
        levels, labels, {0: tables}, first_epoch, rule, n_levels=n_levels, source=source
    )
    return released


def simulate_epochs(
    levels: sparse.csr_array,
    labels: Ints,
    tables_of_epoch: Mapping[int, Sequence[Tables]],
    epoch_of_rating: Ints,
    rule: Rule,
    *,
    n_levels: int,
    source: Source,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Simulate what people have released after several epochs: all items shown in any of them.

    An item is decided in the first of these epochs that is not before the epoch in which it was
    rated; with selection, the tables of the epoch must also have a chance above 0 to show it. After
    the account's first day a device decides items only if it has shown none yet.

    Args:
        levels: As for `simulate_release`.
        labels: As for `simulate_release`.
        tables_of_epoch: The tables by which devices decide items, for the label of each epoch in
            which they send.
        epoch_of_rating: (ratings,) label of the epoch in which each entry of `levels` was rated.
        rule: As for `simulate_release`.
        n_levels: As for `simulate_release`.
        source: As for `simulate_release`.

    Returns:
        Two (people, items) CSR matrices that store the same entries: the released levels, and the
        label of the epoch in which each item was decided. The label 0 is stored as well.
    """
    # All arrays but `shows_something` have an element for each rating, in the order of `levels`.
    released = np.zeros(levels.nnz, dtype=np.int64)
    shown = np.zeros(levels.nnz, dtype=bool)
    decided_in = np.full(levels.nnz, -1)
    people = entry_people(levels)
    value_rows = labels[people]
    items = levels.indices
    shows_something = np.zeros(levels.shape[0], dtype=bool)
    true_levels = np.round(levels.data * MICRO).astype(np.int64)
    for epoch, tables in sorted(tables_of_epoch.items()):
        may_decide = (epoch <= LAST_EPOCH_OF_FIRST_DAY) | ~shows_something[people]
        is_due = (decided_in < 0) & (epoch_of_rating <= epoch) & may_decide
        decided = np.flatnonzero(is_due)  # numbers of the ratings that are decided in this epoch
        if rule.selection:  # an item waits for tables that have a chance for it
            chances = _chances_to_show(value_rows[decided], items[decided], tables)
            decided = decided[(chances > 0).all(axis=0)]
        released[decided], shown[decided] = _decide(
            true_levels[decided],
            value_rows[decided],
            items[decided],
            tables,
            rule,
            n_levels,
            source,
        )
        decided_in[decided] = epoch
        shows_something[people[decided[shown[decided]]]] = True
    return (
        select_entries(replace_data(levels, released / MICRO), shown),
        select_entries(replace_data(levels, decided_in.astype(float)), shown),
    )


def _decide(
    true_levels: Ints,
    value_rows: Ints,
    items: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    n_levels: int,
    source: Source,
) -> tuple[Ints, NDArray[np.bool_]]:
    """Decide which ratings are shown, and with which levels.

    Args:
        true_levels: (ratings,) true micro-levels.
        value_rows: (ratings, attributes) row of the person's value in the tables of each attribute.
        items: (ratings,) numbers of the items.
        tables: The tables of each attribute.
        rule: What devices do.
        n_levels: Number of whole levels of the scale; 0 on a continuous scale.
        source: Source of all draws.

    Returns:
        (ratings,) micro-levels to release, and (ratings,) whether they are shown.
    """
    is_shown = np.ones(len(true_levels), dtype=bool)
    if rule.selection:
        for chances in _chances_to_show(value_rows, items, tables):
            is_shown &= _draw_millionths(source, len(true_levels)) < chances
    released = _transform(true_levels, value_rows, items, tables, rule, source)
    if rule.rounding:
        released = _round_levels(released, n_levels, source)
    if rule.mix < MICRO:
        is_obfuscated = _draw_millionths(source, len(true_levels)) < rule.mix
        released = np.where(is_obfuscated, released, true_levels)
        is_shown = is_shown | ~is_obfuscated
    return released, is_shown


def _chances_to_show(value_rows: Ints, items: Ints, tables: Sequence[Tables]) -> Ints:
    """Return (attributes, ratings) the chances to show each item, in parts per million.

    Args:
        value_rows: (ratings, attributes) row of the person's value in the tables of each attribute.
        items: (ratings,) numbers of the items.
        tables: The tables of each attribute.
    """
    return np.stack([table.keep[value_rows[:, n], items] for n, table in enumerate(tables)])


def _transform(
    true_levels: Ints,
    value_rows: Ints,
    items: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    source: Source,
) -> Ints:
    """Return (ratings,) the micro-levels that the rule's transform makes, before any rounding.

    Arguments are those of `_decide`.
    """
    if rule.transform == "scheme":
        released = true_levels
        for position, table in enumerate(tables):
            released = released - table.offsets[value_rows[:, position], items]
        return released
    if rule.transform == "coupling":
        whole_levels = true_levels // MICRO
        for position, table in enumerate(tables):
            assert table.coupling is not None  # a continuous scale was refused with the rule
            # A draw picks the first level whose cumulative chance is above it.
            cumulative = table.coupling[value_rows[:, position], items, whole_levels]
            draws = _draw_millionths(source, len(true_levels))
            whole_levels = (cumulative <= draws[:, None]).sum(axis=1)
        return whole_levels * MICRO
    if rule.transform == "movie-average":
        return tables[0].item_means[items]
    if rule.transform == "attribute-average":
        means = tables[0].means
        return means[integers_below(source, len(means), len(true_levels)), items]
    return true_levels


def _round_levels(released: Ints, n_levels: int, source: Source) -> Ints:
    """Round micro-levels at random to whole levels, as `rounding.round_level` does; clip them."""
    whole_levels, fractions = np.divmod(released, MICRO)
    whole_levels = whole_levels + (_draw_millionths(source, len(released)) < fractions)
    return np.clip(whole_levels, 0, highest_level(n_levels)) * MICRO


def _draw_millionths(source: Source, count: int) -> Ints:
    """Draw (count,) uniform whole numbers from 0 to 999,999, to compare with parts per million."""
    return integers_below(source, MICRO, count)
