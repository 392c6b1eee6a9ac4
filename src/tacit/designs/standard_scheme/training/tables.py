"""Public tables: what the recommender discloses about items, estimated from consenting people.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Releases    for each item and attribute value, an offset and a chance to show the item; if the rule
            needs them, also mean levels or couplings of stars for each item and value, or a mean
            level for each item. `estimates.py` estimates them.
Guarantee   none for the consenting people, unless the tables are estimated privately.
Coarse      In the sound variant estimates are made from rounded counts, and items with fewer than
            FEWEST raters have no offset and no chance to be shown. That is no guarantee; it only
            limits how much tables depend on a single rater.
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
"""An item with fewer raters has no offset and the chance 0 to be shown, in the sound variant."""
PARTS = 8
"""Number of disjoint parts of the people, for the cross-validation of the shrinkage."""
BACKFITTING_ROUNDS = 3
"""How often the tables of each attribute are estimated, if there are several attributes."""
PRIVATE_PARTS = 2
"""Number of parts if the tables have an epsilon: fewer, since the noise of every part adds up."""


@dataclass(frozen=True)
class Tables:
    """One attribute's public numbers, as in `disclosure.AttributeTable` but as arrays."""

    values: tuple[str, ...]
    """Values of the attribute."""
    offsets: Ints
    """(values, items) micro-levels to subtract for a person with this value."""
    keep: Ints
    """(values, items) chance that a rated item is shown, in parts per million."""
    means: Ints
    """(values, items) average micro-levels that people with this value give."""
    coupling: Ints | None
    """(values, items, levels, levels) cumulative chances of the released levels, along the last
    axis, given the true level, in parts per million; None if they were not estimated."""
    item_means: Ints
    """(items,) average micro-levels over all consenting people."""


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

    With several attributes, each attribute's tables are estimated from what the tables of the other
    attributes would release: levels minus offsets, weighed by the chances to show an item and
    spread by the couplings of these tables. This is done BACKFITTING_ROUNDS times for every
    attribute.

    Args:
        people: Consenting people.
        epsilon: Epsilon, in nats, for one consenting person, added or removed; infinity: exact
            statistics without noise.
        contributions: Largest number of ratings of a person that are used, if epsilon is finite.
        shrink: Whether estimates are shrunk and bounded; False: raw estimates, as published. A
            finite epsilon always shrinks.
        coupling: Whether couplings are estimated as well.
        seed: Seed by which people are assigned to parts; not used if epsilon is finite.

    Returns:
        The tables by the name of the attribute.

    Raises:
        ConfigError: Epsilon is finite, and there are several attributes or a continuous scale.
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
    """Estimate the tables of one attribute, epsilon-DP for adding or removing a consenting person.

    Args:
        people: Consenting people.
        source: Source of randomness that draws parts, and the ratings that are used.
        epsilon: Epsilon of the tables, in nats.
        contributions: Largest number of ratings of a person that are used.
        coupling: Whether a coupling is estimated as well.

    Returns:
        The tables by the name of the attribute.

    Raises:
        ConfigError: There are several attributes, or the scale is continuous.
    """
    noisy = release_statistics(people, source, epsilon=epsilon, contributions=contributions)
    return estimate_from_noisy(people.names[0], people.values[0], noisy, coupling=coupling)


def release_statistics(
    people: ConsentingPeople, source: Source, *, epsilon: float, contributions: int
) -> Statistics:
    """Release noisy sums over the consenting people, from which private tables are estimated.

    Arguments and errors are those of `estimate_privately`.
    """
    if len(people.names) != 1:
        raise ConfigError(f"A private disclosure covers one attribute; got {people.names}.")
    limited = limit_contributions(people.levels, contributions, source)
    exact = sum_statistics(
        limited,
        people.labels[:, 0],
        integers_below(source, PRIVATE_PARTS, people.n_people),  # independent of their data
        n_values=len(people.values[0]),
        n_levels=people.n_levels,
        n_parts=PRIVATE_PARTS,  # a constant, because the shape of the sums is released as well
    )
    return add_noise(exact, epsilon=epsilon, contributions=contributions)


def estimate_from_noisy(
    name: str, values: tuple[str, ...], noisy: Statistics, *, coupling: bool = False
) -> dict[str, Tables]:
    """Estimate the tables of one attribute from released statistics: post-processing.

    Args:
        name: Name of the attribute.
        values: Values of the attribute.
        noisy: What `release_statistics` released.
        coupling: Whether a coupling is estimated as well.

    Returns:
        The tables by the name of the attribute.
    """
    raters = noisy.counts.sum(axis=(0, 1))
    return shrink_to_bounds({name: estimate_tables(values, noisy, raters, coupling=coupling)})


def _subtract_other_attributes(
    people: ConsentingPeople, others: dict[str, Tables]
) -> tuple[sparse.csr_array, Floats | None, Floats | None]:
    """Compute what the tables of other attributes would release, as `sum_statistics` takes it.

    Args:
        people: Consenting people.
        others: Tables of the other attributes, by name; may be empty.

    Returns:
        (people, items) CSR of the levels minus the offsets; (ratings,) chances that an item is
        shown by all these tables; and (ratings, levels) chances of the level that their couplings
        release. Both kinds of chances are None if there are no other attributes, and those of
        levels also on a continuous scale.
    """
    levels = people.levels
    if not others:
        return levels, None, None
    rows = entry_people(levels)
    reduced = levels.data.copy()
    items = levels.indices
    weights = np.ones(len(reduced))
    spread = None
    if people.n_levels:
        spread = np.eye(people.n_levels)[levels.data.astype(np.int64)]
    for name, table in others.items():
        value_rows = people.labels[rows, people.names.index(name)]
        reduced -= table.offsets[value_rows, items] / MICRO
        weights *= table.keep[value_rows, items] / MICRO
        if spread is not None and table.coupling is not None:
            # Chances of the level after this coupling, if `spread` are those before it.
            chances = np.diff(table.coupling[value_rows, items], axis=-1, prepend=0) / MICRO
            spread = np.einsum("nl,nlk->nk", spread, chances)
    return replace_data(levels, reduced), weights, spread


def estimate_tables(
    values: tuple[str, ...],
    statistics: Statistics,
    raters: Floats,
    *,
    shrink: bool = True,
    coupling: bool = False,
) -> Tables:
    """Estimate all tables of one attribute.

    Args:
        values: Values of the attribute.
        statistics: Sums over people, by these values.
        raters: (items,) number of people who rated each item.
        shrink: Whether estimates are shrunk, made from rounded counts, and chances to show an item
            are at most CAP; False: raw gaps, add-one smoothing and chances up to 1, as published.
        coupling: Whether a coupling is estimated as well.
    """
    common = raters >= FEWEST if shrink else np.ones(len(raters), dtype=bool)
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
        keep=estimate_chances_to_show(statistics, raters, shrink=shrink),
        means=_to_micro(estimates.mean_or_default(sums, counts, item_means, fewest)),
        coupling=None if chances is None else _cumulate(chances),
        item_means=_to_micro(item_means),
    )


def estimate_chances_to_show(
    statistics: Statistics, raters: Floats, *, shrink: bool = True
) -> Ints:
    """Estimate (values, items) the chance that a rated item is shown, in parts per million.

    Arguments are those of `estimate_tables`.
    """
    rating_chances = estimates.estimate_rating_chances(statistics, shrink=shrink)
    # Equation (7), for the value of each row.
    ratios = np.stack([keep_probability(own, rating_chances) for own in rating_chances])
    return _cap_chances(ratios, raters >= FEWEST) if shrink else _to_micro(ratios)


def shrink_to_bounds(tables: dict[str, Tables]) -> dict[str, Tables]:
    """Scale down the offsets of each item so that they move no star by more than half a level.

    The largest offsets that the attributes have for the item are added up; this sum is at most
    MOST_OFFSET afterwards.
    """
    largest = sum(np.abs(table.offsets).max(axis=0) for table in tables.values())
    factor = np.minimum(1.0, MOST_OFFSET / np.maximum(largest, 1))
    return {
        name: replace(table, offsets=np.trunc(table.offsets * factor).astype(np.int64))
        for name, table in tables.items()
    }


def _cap_chances(ratios: Floats, common: NDArray[np.bool_]) -> Ints:
    """Return (values, items) chances to show an item, in parts per million: ratio * CAP.

    They are 0 for all values if the item is not common or one of its chances is below FLOOR.

    Args:
        ratios: (values, items) chances of equation (7), of which the largest of an item is 1.
        common: (items,) whether the item has enough raters.
    """
    keep = np.round(ratios * CAP).astype(np.int64)
    return np.where(common & (keep.min(axis=0) >= FLOOR), keep, 0)


def make_disclosure(tables: dict[str, Tables], rule: Rule, **others: Any) -> Disclosure:
    """Make the disclosure for all devices, with only those tables that the rule needs.

    Args:
        tables: Tables of each attribute, by name.
        rule: What devices do.
        others: Other fields of `Disclosure`. By default `epoch_length` is a week, and there are no
            `aliases`; the scale and the items must be given.
    """

    def tuples_for(transform: str, array: Ints | None) -> Any:
        """Return the array as tuples if the rule has this transform, else an empty tuple."""
        if array is None or rule.transform != transform:
            return ()
        return as_tuples(array.tolist())

    attributes = tuple(
        AttributeTable(
            name,
            table.values,
            offsets=as_tuples(table.offsets.tolist()),
            keep=as_tuples(table.keep.tolist()),
            means=tuples_for("attribute-average", table.means),
            coupling=tuples_for("coupling", table.coupling),
        )
        for name, table in tables.items()
    )
    item_means = tuples_for("movie-average", next(iter(tables.values())).item_means)
    fields: dict[str, Any] = {"epoch_length": WEEK, "aliases": ()} | others
    return Disclosure(rule, item_means=item_means, attributes=attributes, **fields)


def _to_micro(numbers: Floats) -> Ints:
    """Convert levels to whole micro-levels, or chances to whole parts per million."""
    return np.round(numbers * MICRO).astype(np.int64)


def _cumulate(chances: Floats) -> Ints:
    """Return cumulative chances along the last axis, in parts per million, up to 1,000,000."""
    cumulative = _to_micro(np.cumsum(chances, axis=-1))
    cumulative[..., -1] = MICRO
    return np.minimum(cumulative, MICRO)
