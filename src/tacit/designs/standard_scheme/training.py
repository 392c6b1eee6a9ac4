"""Learning item profiles and disclosures from people who agreed to show ratings and attribute.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Releases    tables for the disclosure; item profiles stay with the recommender.
Guarantee   none for the consenting people, unless the disclosure is estimated privately (then for
            the disclosure alone: item profiles are still fitted to their exact ratings).
Deviations  alternating ridge regressions where the patent uses 20 rounds of gradient descent; item
            means are taken out first, so that a ridge pulls towards the item's mean and not to 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.standard_scheme.disclosure import FEWEST, Tables, estimate_tables, within_bounds
from tacit.designs.standard_scheme.features import item_features
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO
from tacit.designs.standard_scheme.server import Profiles
from tacit.designs.standard_scheme.statistics import (
    collect,
    limit_contributions,
    private,
    random_parts,
)
from tacit.engine.ridge import alternating_ridge
from tacit.errors import ConfigError, DataError
from tacit.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Profile = Literal["latent", "features", "both"]

PROFILES = get_args(Profile)
"""What describes an item where stars are predicted."""
PARTS = 8
"""Disjoint parts of the people over which shrinkage is validated."""
PRIVATE_PARTS = 2
"""Fewer when every part pays with noise of its own."""
_MEAN_PSEUDO_RATINGS = 5.0


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
    return sparse.csr_array(
        (levels, ratings.matrix.indices, ratings.matrix.indptr), shape=ratings.matrix.shape
    )


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
            left = _left_by(people, others)
            labels, values = people.labels[:, position], people.values[position]
            statistics = collect(
                left.levels,
                labels,
                parts,
                n_values=len(values),
                n_levels=people.n_levels,
                n_parts=PARTS,
                weights=left.weights,
                spread=left.spread,
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


@dataclass(frozen=True)
class _Left:
    """What some attributes' tables leave of the ratings for the next attribute's."""

    levels: sparse.csr_array
    weights: Floats | None
    spread: Floats | None


def _left_by(people: Consenting, others: dict[str, Tables]) -> _Left:
    levels = people.levels
    if not others:
        return _Left(levels, None, None)
    rows = np.repeat(np.arange(people.n_people), np.diff(levels.indptr))
    values, items = levels.data.copy(), levels.indices
    weights = np.ones(len(values))
    spread = np.eye(people.n_levels)[values.astype(np.int64)] if people.n_levels else None
    for name, table in others.items():
        position = people.names.index(name)
        own = people.labels[rows, position]
        values -= table.offsets[own, items] / MICRO
        weights *= table.keep[own, items] / MICRO
        if spread is not None and table.coupling is not None:
            spread = np.einsum("nl,nlk->nk", spread, _chances(table.coupling[own, items]))
    matrix = sparse.csr_array((values, items, levels.indptr), shape=levels.shape)
    return _Left(matrix, weights, spread)


def _chances(cumulative: Ints) -> Floats:
    chances: Floats = np.diff(cumulative, axis=-1, prepend=0) / MICRO
    return chances


def without_offsets(levels: sparse.csr_array, labels: Ints, tables: Sequence[Tables]) -> Floats:
    """(ratings,) levels less the person's offsets: what the linear model says x alone explains."""
    rows = np.repeat(np.arange(levels.shape[0]), np.diff(levels.indptr))
    residuals = levels.data.copy()
    for position, table in enumerate(tables):
        residuals -= table.offsets[labels[rows, position], levels.indices] / MICRO
    left: Floats = residuals
    return left


@dataclass(frozen=True)
class Factorization:
    """How item profiles are learned. Penalties in levels.

    regularization   of the factorisation; ridge: of one person's estimate from a release
    per_rating       regularization is paid once per rating
    centred          item means (shrunk by 5 pseudo-ratings) are taken out first; otherwise stars
                     are factorised as they are. Items with few raters then have one mean together
                     and no factors: a mean of their own is the star of a single rater
    latent           whether items have factors; features: (items, d) what is known of them besides
    """

    factors: int
    regularization: float
    ridge: float
    sweeps: int
    per_rating: bool
    centred: bool
    seed: int
    latent: bool = True
    features: Floats | None = None


def sound_factorization(
    n_levels: int, *, factors: int = 20, sweeps: int = 10, seed: int = 0
) -> Factorization:
    """Penalty 10 for five whole stars, carried over to scales with other levels.

    Profiles and tastes share the size of the ratings evenly, so penalties grow like a rating.
    """
    penalty = 10.0 * ((n_levels or 5) - 1) / 4
    return Factorization(factors, penalty, penalty, sweeps, False, True, seed)


def published_factorization(*, factors: int = 20, sweeps: int = 20, seed: int = 0) -> Factorization:
    """The patent's numbers: d = 20, regularization 0.02, 20 rounds, ridge 0.1."""
    return Factorization(factors, 0.02, 0.1, sweeps, True, False, seed)


def of_kind(kind: Profile, how: Factorization, ratings: Ratings) -> Factorization:
    """The same, with what is to describe an item.

    Features are scaled like factors are, which share the size of a rating evenly with tastes.
    """
    if kind == "latent":
        return how
    scale = np.sqrt(((ratings.scale.levels or CONTINUOUS_LEVELS + 1) - 1) / 4)
    return replace(how, latent=kind == "both", features=scale * item_features(ratings))


def train_profiles(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    how: Factorization,
    *,
    lowest: float,
) -> Profiles:
    """Item profiles from r - x0 v0 of consenting people. lowest: the lowest star, in levels."""
    residuals = without_offsets(levels, labels, tables)
    intercepts, common = np.full(levels.shape[1], -lowest), np.ones(levels.shape[1], dtype=bool)
    if how.centred:
        intercepts, common = _item_means(levels.indices, residuals, levels.shape[1])
    matrix = sparse.csr_array(
        (residuals - intercepts[levels.indices], levels.indices, levels.indptr), shape=levels.shape
    )
    described = [np.empty((levels.shape[1], 0)) if how.features is None else how.features]
    if how.latent:
        factors = np.zeros((levels.shape[1], how.factors))
        factors[common] = _factors(matrix[:, np.flatnonzero(common)], how)
        described.append(factors)
    return Profiles(intercepts=intercepts, factors=np.hstack(described), ridge=how.ridge)


def _item_means(items: Ints, residuals: Floats, n_items: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Mean level of each item, and which items have enough raters for one of their own."""
    counts = np.bincount(items, minlength=n_items).astype(float)
    sums = np.bincount(items, residuals, minlength=n_items)
    common = counts >= FEWEST
    counts[~common], sums[~common] = counts[~common].sum(), sums[~common].sum()
    pull = _MEAN_PSEUDO_RATINGS
    return (sums + pull * float(residuals.mean())) / (counts + pull), common


def _factors(matrix: sparse.csr_array, how: Factorization) -> Floats:
    _, items = alternating_ridge(
        matrix,
        factors=how.factors,
        penalty=how.regularization,
        sweeps=how.sweeps,
        seed=how.seed,
        per_rating=how.per_rating,
    )
    return items
