"""The device's rule for many people at once, for training the estimator and for experiments.

Runs at     a simulation: nobody's real release is made here.
Equals      `device.Device.release`, rating by rating, when both see the same draws (tested).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.randomness import Source, integers_below
from tacit.recommenders.standard_scheme.disclosure import Tables
from tacit.recommenders.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO, Rule
from tacit.recommenders.standard_scheme.statistics import stratum_of

Ints = NDArray[np.int64]


def release(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    rule: Rule,
    *,
    n_levels: int,
    source: Source,
    activity: Ints | None = None,
    given_at: Ints | None = None,
) -> sparse.csr_array:
    """(people, items) CSR float64 of released levels; what was held back is absent.

    levels: CSR of whole levels 0 .. n_levels - 1 (real-valued if n_levels is 0). labels: (people,
    attributes) row of each person in each of the tables. activity: (people,) how many items each
    has rated, where `levels` holds only some of them. given_at: (ratings,) how many items the
    person had rated when this one came (it counts): then everything is shown that any of her
    releases up to now has shown, one after each rating.
    """
    rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))
    items, own = levels.indices, labels[rows]
    true = np.round(levels.data * MICRO).astype(np.int64)
    shown = np.ones(len(rows), dtype=bool)
    if rule.selection:
        now = np.diff(levels.indptr) if activity is None else activity
        for position, table in enumerate(tables):
            bounds = table.bounds[labels[:, position]]
            last = stratum_of(now, bounds)[rows]
            first = last if given_at is None else stratum_of(given_at, bounds[rows])
            keep = _highest(table.keep[own[:, position], :, items], first, last)
            shown &= _draw(source, len(rows)) < keep
    released = _transform(true, own, items, tables, rule, source)
    if rule.rounding:
        released = _round(released, n_levels, source)
    if rule.mix < MICRO:
        obfuscated = _draw(source, len(rows)) < rule.mix
        released, shown = np.where(obfuscated, released, true), shown | ~obfuscated
    counts = np.bincount(rows[shown], minlength=levels.shape[0])
    return sparse.csr_array(
        (
            released[shown] / MICRO,
            items[shown],
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        ),
        shape=levels.shape,
    )


def _highest(keep: Ints, first: Ints, last: Ints) -> Ints:
    """(ratings,) largest of (ratings, strata) chances from stratum `first` to `last`, inclusive."""
    strata = np.arange(keep.shape[1])
    inside = (strata >= first[:, None]) & (strata <= last[:, None])
    largest: Ints = np.where(inside, keep, 0).max(axis=1)
    return largest


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
