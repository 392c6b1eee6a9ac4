"""Public tables: what the recommender discloses about items, estimated from consenting people.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Releases    per item and value: an offset, a chance of being shown, a coupling of stars; how they
            are estimated: `estimates.py`.
Guarantee   none for the consenting people, unless the tables are estimated privately.
Coarse      Estimates are of rounded counts; items with fewer than FEWEST raters have no chance to
            be shown and no offset. That is no guarantee; it keeps single raters out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import (
    CAP,
    FLOOR,
    MOST_OFFSET,
    AttributeTable,
    Disclosure,
    Rule,
)
from tacit.designs.standard_scheme.messages import MICRO, WEEK, as_tuples
from tacit.designs.standard_scheme.theory import keep_probability
from tacit.designs.standard_scheme.training import estimates
from tacit.designs.standard_scheme.training.people import (
    ConsentingPeople,
    Floats,
    Ints,
    Statistics,
    add_noise,
    entry_people,
    limit_contributions,
    replace_data,
    sum_statistics,
)
from tacit.errors import ConfigError
from tacit.randomness import Source, integers_below, secure

FEWEST = 10
"""Items with fewer raters have no chance to be shown and no offset."""
PARTS = 8
"""Disjoint parts of the people over which shrinkage is validated."""
BACKFITTING_ROUNDS = 3
"""How often the tables of several attributes are estimated in turn."""
PRIVATE_PARTS = 2
"""Parts where tables have an epsilon: fewer, since the noise of every part adds up."""


@dataclass(frozen=True)
class Tables:
    """One attribute's integers, as in `disclosure.AttributeTable` but as arrays."""

    values: tuple[str, ...]
    """Values of the attribute."""
    offsets: Ints
    """(values, items) micro-levels."""
    keep: Ints
    """(values, items) parts per million."""
    means: Ints
    """(values, items) micro-levels."""
    coupling: Ints | None
    """(values, items, levels, levels) parts per million; None if not asked for."""
    item_means: Ints
    """(items,) micro-levels: average level over all consenting people."""


def estimate_all_tables(
    people: ConsentingPeople,
    *,
    epsilon: float = math.inf,
    contributions: int = 50,
    shrink: bool = True,
    coupling: bool = False,
    seed: int = 0,
) -> dict[str, Tables]:
    """Estimate the tables of every attribute.

    With several attributes each one's tables are estimated on what the others leave: offsets by
    backfitting (effects add up), shown sets and couplings in turn.

    Args:
        people: Consenting people.
        epsilon: Nats for one of them, added or removed; infinity: exact statistics.
        contributions: Most ratings that a person counts with, if that epsilon is finite.
        shrink: Shrunk estimates and bounds; otherwise raw ones, as published.
        coupling: Whether couplings are estimated, too.
        seed: Places people in parts.
    """
    if not math.isinf(epsilon):
        return estimate_privately(
            people, secure(), epsilon=epsilon, contributions=contributions, coupling=coupling
        )
    parts = np.random.default_rng(seed).integers(0, PARTS, people.n_people)
    raters = np.bincount(people.levels.indices, minlength=people.levels.shape[1]).astype(float)
    tables: dict[str, Tables] = {}
    rounds = 1 if len(people.names) == 1 else BACKFITTING_ROUNDS
    for _ in range(rounds):
        for position, name in enumerate(people.names):
            others = {other: table for other, table in tables.items() if other != name}
            levels, weights, spread = _subtract_other_attributes(people, others)
            labels = people.labels[:, position]
            values = people.values[position]
            shape = {"n_values": len(values), "n_levels": people.n_levels, "n_parts": PARTS}
            sums = sum_statistics(levels, labels, parts, **shape, weights=weights, spread=spread)
            tables[name] = estimate_tables(values, sums, raters, shrink=shrink, coupling=coupling)
    return shrink_to_bounds(tables) if shrink else tables


def estimate_privately(
    people: ConsentingPeople,
    source: Source,
    *,
    epsilon: float,
    contributions: int,
    coupling: bool = False,
) -> dict[str, Tables]:
    """The tables of one attribute, epsilon-DP for adding or removing one consenting person."""
    if len(people.names) != 1:
        raise ConfigError(f"A private disclosure covers one attribute; got {people.names}.")
    limited = limit_contributions(people.levels, contributions, source)
    exact = sum_statistics(
        limited,
        people.labels[:, 0],
        integers_below(source, PRIVATE_PARTS, people.n_people),  # independent of their data
        n_values=len(people.values[0]),
        n_levels=people.n_levels,
        n_parts=PRIVATE_PARTS,  # never counted from the data: the shape is released too
    )
    noisy = add_noise(exact, epsilon=epsilon, contributions=contributions)
    raters = noisy.counts.sum(axis=(0, 1))
    tables = estimate_tables(people.values[0], noisy, raters, coupling=coupling)
    return shrink_to_bounds({people.names[0]: tables})


def _subtract_other_attributes(
    people: ConsentingPeople, others: dict[str, Tables]
) -> tuple[sparse.csr_array, Floats | None, Floats | None]:
    """Find what other attributes' tables leave: levels, and weights and spread of their sums."""
    levels = people.levels
    if not others:
        return levels, None, None
    rows = entry_people(levels)
    values = levels.data.copy()
    items = levels.indices
    weights = np.ones(len(values))
    spread = np.eye(people.n_levels)[values.astype(np.int64)] if people.n_levels else None
    for name, table in others.items():
        own = people.labels[rows, people.names.index(name)]
        values -= table.offsets[own, items] / MICRO
        weights *= table.keep[own, items] / MICRO
        if spread is not None and table.coupling is not None:
            chances = np.diff(table.coupling[own, items], axis=-1, prepend=0) / MICRO
            spread = np.einsum("nl,nlk->nk", spread, chances)
    return replace_data(levels, values), weights, spread


def estimate_tables(
    values: tuple[str, ...],
    statistics: Statistics,
    raters: Floats,
    *,
    shrink: bool = True,
    coupling: bool = False,
) -> Tables:
    """Estimate all of one attribute's tables.

    Args:
        values: Values of the attribute.
        statistics: Sums of its people.
        raters: (items,) how many people rated each item.
        shrink: False for raw gaps, add-one smoothing and chances up to 1, as published.
        coupling: Whether a coupling is estimated, too.
    """
    common = raters >= FEWEST if shrink else np.ones(len(raters), dtype=bool)
    shown = estimates.estimate_shown(statistics, shrink=shrink)
    ratios = np.stack([keep_probability(own, shown) for own in shown])
    counts = statistics.counts.sum(axis=0)
    sums = statistics.sums.sum(axis=0)
    fewest = FEWEST if shrink else 1
    if shrink:
        counts = estimates.round_counts(counts)
        sums = estimates.round_counts(sums)
    overall = float(sums.sum() / max(1.0, counts.sum()))
    item_means = estimates.mean_or_default(sums.sum(axis=0), counts.sum(axis=0), overall, fewest)
    offsets = np.where(common, estimates.estimate_offsets(statistics, shrink=shrink), 0.0)
    chances = estimates.estimate_coupling(statistics, common) if coupling else None
    return Tables(
        values=values,
        offsets=_to_micro(offsets),
        keep=_cap_chances(ratios, common) if shrink else _to_micro(ratios),
        means=_to_micro(estimates.mean_or_default(sums, counts, item_means, fewest)),
        coupling=None if chances is None else _cumulate(chances),
        item_means=_to_micro(item_means),
    )


def shrink_to_bounds(tables: dict[str, Tables]) -> dict[str, Tables]:
    """Shrink offsets until they add up to half a level at most, whatever a person's values."""
    largest = sum(np.abs(table.offsets).max(axis=0) for table in tables.values())
    part = np.minimum(1.0, MOST_OFFSET / np.maximum(largest, 1))
    return {
        name: replace(table, offsets=np.trunc(table.offsets * part).astype(np.int64))
        for name, table in tables.items()
    }


def _cap_chances(ratios: Floats, common: NDArray[np.bool_]) -> Ints:
    """(values, items) chances in parts per million, CAP at most; 0 for all values or for none."""
    keep = np.round(ratios * CAP).astype(np.int64)
    return np.where(common & (keep.min(axis=0) >= FLOOR), keep, 0)


def make_disclosure(tables: dict[str, Tables], rule: Rule, **others: Any) -> Disclosure:
    """Make the disclosure that goes to every device: what it needs for this rule, and nothing else.

    Args:
        tables: Tables of each attribute.
        rule: What devices do.
        others: Further fields of `Disclosure`; `epoch_length` is a week unless given, `aliases`
            are none.
    """

    def array_if(transform: str, array: Ints | None) -> Any:
        """Return the array as tuples if the rule has this transform, else an empty tuple."""
        is_needed = array is not None and rule.transform == transform
        return as_tuples(array.tolist()) if is_needed else ()  # type: ignore[union-attr]  # see above

    attributes = tuple(
        AttributeTable(
            name,
            table.values,
            offsets=as_tuples(table.offsets.tolist()),
            keep=as_tuples(table.keep.tolist()),
            means=array_if("attribute-average", table.means),
            coupling=array_if("coupling", table.coupling),
        )
        for name, table in tables.items()
    )
    item_means = array_if("movie-average", next(iter(tables.values())).item_means)
    given: dict[str, Any] = {"epoch_length": WEEK, "aliases": ()} | others
    return Disclosure(rule, item_means=item_means, attributes=attributes, **given)


def _to_micro(numbers: Floats) -> Ints:
    """Round to whole micro-levels, or parts per million."""
    return np.round(numbers * MICRO).astype(np.int64)


def _cumulate(chances: Floats) -> Ints:
    """Cumulative parts per million over the last axis, which end at 1,000,000."""
    cumulative = _to_micro(np.cumsum(chances, axis=-1))
    cumulative[..., -1] = MICRO
    return np.minimum(cumulative, MICRO)
