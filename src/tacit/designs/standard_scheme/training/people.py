"""People who agreed to show ratings and attribute, and the tables estimated from them.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Releases    tables for the disclosure.
Guarantee   none for the consenting people, unless the disclosure is estimated privately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO
from tacit.designs.standard_scheme.training.disclosure import Tables, estimate_tables, within_bounds
from tacit.designs.standard_scheme.training.statistics import (
    collect,
    entry_rows,
    limit_contributions,
    private,
    random_parts,
    with_data,
)
from tacit.errors import ConfigError, DataError
from tacit.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTS = 8
"""Disjoint parts of the people over which shrinkage is validated."""
PRIVATE_PARTS = 2
"""Fewer when every part pays with noise of its own."""


@dataclass(frozen=True)
class Consenting:
    """People whose attributes are known, ready for training.

    levels    (people, items) CSR of levels (stars counted in `unit`s from the lowest)
    labels    (people, attributes) number of each person's value in `values`
    """

    levels: sparse.csr_array
    labels: Ints
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    n_levels: int

    @property
    def n_people(self) -> int:
        return len(self.labels)


def unit(scale: RatingScale) -> float:
    """Stars in one level: the step of the scale, a fixed part of its span where it has none."""
    return scale.step if scale.discrete else scale.span / CONTINUOUS_LEVELS


def to_levels(ratings: Ratings) -> sparse.csr_array:
    """(people, items) CSR of levels; whole numbers on a scale of whole stars."""
    levels = (ratings.matrix.data - ratings.scale.minimum) / unit(ratings.scale)
    if ratings.scale.discrete:
        levels = np.round(levels)
    return with_data(ratings.matrix, levels)


def consenting(
    ratings: Ratings, names: Sequence[str], given: Mapping[str, Sequence[str]] | None = None
) -> tuple[Consenting, Ints]:
    """The people with every named attribute, and their numbers in `ratings`.

    given: an attribute's public values; who has another one is left out. Values of others are read
    off the people.
    """
    public = {name: tuple(sorted(values)) for name, values in (given or {}).items()}
    columns = [ratings.attribute(name) for name in names]
    known = np.flatnonzero(
        np.all(
            [
                [entry is not None and str(entry) in public.get(name, (str(entry),)) for entry in c]
                for name, c in zip(names, columns, strict=True)
            ],
            axis=0,
        )
    )
    values = []
    labels = np.zeros((len(known), len(names)), dtype=np.int64)
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        read = {str(column[number]) for number in known}
        distinct = public.get(name) or tuple(sorted(read))
        if len(distinct) < 2:
            raise DataError(
                f"attribute '{name}' has one value or none among the people with ratings",
                found=distinct,
                expected="at least two values",
            )
        labels[:, position] = [distinct.index(str(column[number])) for number in known]
        values.append(distinct)
    levels = to_levels(ratings)[known]
    people = Consenting(levels, labels, tuple(names), tuple(values), ratings.scale.levels)
    return people, known


def estimate(
    people: Consenting, *, shrink: bool = True, coupling: bool = False, seed: int = 0
) -> dict[str, Tables]:
    """Tables of every attribute from exact statistics. The seed places people in parts.

    With several attributes each one's tables are estimated on what the others leave: offsets by
    backfitting (effects add up), shown sets and couplings one after the other.
    """
    parts = np.random.default_rng(seed).integers(0, PARTS, people.n_people)
    raters = np.bincount(people.levels.indices, minlength=people.levels.shape[1]).astype(float)
    tables: dict[str, Tables] = {}
    for _ in range(1 if len(people.names) == 1 else 3):
        for position, name in enumerate(people.names):
            others = {other: table for other, table in tables.items() if other != name}
            levels, weights, spread = _left_by(people, others)
            labels, values = people.labels[:, position], people.values[position]
            statistics = collect(
                levels,
                labels,
                parts,
                n_values=len(values),
                n_levels=people.n_levels,
                n_parts=PARTS,
                weights=weights,
                spread=spread,
            )
            tables[name] = estimate_tables(
                values, statistics, raters, shrink=shrink, coupling=coupling
            )
    return within_bounds(tables) if shrink else tables


def estimate_privately(
    people: Consenting,
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
    exact = collect(
        limited,
        people.labels[:, 0],
        random_parts(people.n_people, PRIVATE_PARTS, source),
        n_values=len(people.values[0]),
        n_levels=people.n_levels,
        n_parts=PRIVATE_PARTS,  # never counted from the data: the shape is released too
    )
    noisy = private(exact, epsilon=epsilon, contributions=contributions)
    tables = estimate_tables(people.values[0], noisy, noisy.raters, coupling=coupling)
    return within_bounds({people.names[0]: tables})


def _left_by(
    people: Consenting, others: dict[str, Tables]
) -> tuple[sparse.csr_array, Floats | None, Floats | None]:
    """What some attributes' tables leave for the next one's: levels, and `collect`'s weights and
    spread."""
    levels = people.levels
    if not others:
        return levels, None, None
    rows, values, items = entry_rows(levels), levels.data.copy(), levels.indices
    weights = np.ones(len(values))
    spread = np.eye(people.n_levels)[values.astype(np.int64)] if people.n_levels else None
    for name, table in others.items():
        own = people.labels[rows, people.names.index(name)]
        values -= table.offsets[own, items] / MICRO
        weights *= table.keep[own, items] / MICRO
        if spread is not None and table.coupling is not None:
            chances = np.diff(table.coupling[own, items], axis=-1, prepend=0) / MICRO
            spread = np.einsum("nl,nlk->nk", spread, chances)
    return with_data(levels, values), weights, spread
