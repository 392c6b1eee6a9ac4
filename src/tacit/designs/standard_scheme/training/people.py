"""Consenting people, who agreed to show ratings and attribute, and sums over them.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Guarantee   none for the exact statistics; `add_noise` releases a whole set of them with
            epsilon-differential privacy for one consenting person (add or remove).

Two models that differ by few people show, by their difference, what these people like. So a model
keeps a keyed hash of each consenting person with all their ratings, and the next fit is refused
where some changed, but fewer than FEWEST_CHANGED. A hash shows anyone who has the file whether a
guess of all of a person's ratings is right: the file stays with the recommender.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS
from tacit.designs.standard_scheme.training.attributes import Edges, attribute_values
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.laplace import discrete_laplace
from tacit.randomness import Source, integers_below

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

FEWEST_CHANGED = 50
"""A new fit is refused where fewer people changed since the last one, but some."""


@dataclass(frozen=True)
class ConsentingPeople:
    """People whose attributes are known, ready for training."""

    levels: sparse.csr_array
    """(people, items) CSR of levels: stars from the lowest, in units of `level_size`."""
    labels: Ints
    """(people, attributes) number of each person's value in `values`."""
    names: tuple[str, ...]
    """Names of the attributes."""
    values: tuple[tuple[str, ...], ...]
    """Values of each attribute."""
    n_levels: int
    """Whole levels of the scale; 0 on a continuous one."""

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.labels)


def level_size(scale: RatingScale) -> float:
    """Number of stars in one level: the step of the scale, or a fixed part of a continuous one."""
    return scale.step if scale.discrete else scale.span / CONTINUOUS_LEVELS


def find_consenting_people(
    ratings: Ratings,
    names: Sequence[str],
    public_values: Mapping[str, Sequence[str]] | None = None,
    public_edges: Mapping[str, Edges] | None = None,
) -> tuple[ConsentingPeople, Ints]:
    """Find the people whose every named attribute is known, and their numbers in `ratings`.

    Args:
        ratings: Ratings of everybody.
        names: Names of the attributes.
        public_values: An attribute's public values: people with another one are left out. Values of
            other attributes are read off the people.
        public_edges: Where numeric attributes are cut into bins; see `attributes.DEFAULT_EDGES`.

    Raises:
        DataError: An attribute has one value or none among these people.
        ConfigError: a numeric attribute has many values and no edges.
    """
    listed = {name: tuple(sorted(values)) for name, values in (public_values or {}).items()}
    edges = dict(public_edges or {})
    columns: list[list[str | None]] = []
    for name in names:
        if name in listed:
            column = [None if value is None else str(value) for value in ratings.attribute(name)]
            column = [value if value in listed[name] else None for value in column]
        else:
            column, bins = attribute_values(ratings, name, edges.get(name))
            if bins is not None:
                occupied = tuple(label for label in bins if label in column)
                listed[name] = bins if name in edges else occupied
        columns.append(column)
    known = [
        number for number, values in enumerate(zip(*columns, strict=True)) if None not in values
    ]
    labels = []
    values_of = []
    for name, column in zip(names, columns, strict=True):
        own = [str(column[number]) for number in known]
        distinct = listed.get(name) or tuple(sorted(set(own)))
        if len(distinct) < 2:
            raise DataError(
                f"attribute '{name}' has one value or none among the people with ratings",
                found=distinct,
                expected="at least two values",
            )
        labels.append([distinct.index(value) for value in own])
        values_of.append(distinct)
    numbers = np.array(known, dtype=np.int64)
    scale = ratings.scale
    stars = (ratings.matrix.data - scale.minimum) / level_size(scale)
    levels = replace_data(ratings.matrix, np.round(stars) if scale.discrete else stars)[numbers]
    of_people = np.array(labels, dtype=np.int64).T
    return ConsentingPeople(
        levels, of_people, tuple(names), tuple(values_of), scale.levels
    ), numbers


@dataclass(frozen=True)
class Statistics:
    """Sums over people, apart for disjoint parts of them so that estimates can be validated."""

    people: Floats
    """(parts, values) numbers of people."""
    counts: Floats
    """(parts, values, items) numbers of ratings."""
    sums: Floats
    """(parts, values, items) sums of the levels given."""
    histogram: Floats | None
    """(parts, values, items, levels) numbers of ratings at each level; None on a continuous
    scale."""


def sum_statistics(
    levels: sparse.csr_array,
    labels: Ints,
    parts: Ints,
    *,
    n_values: int,
    n_levels: int,
    n_parts: int,
    weights: Floats | None = None,
    spread: Floats | None = None,
) -> Statistics:
    """Sum up ratings by part, value and item.

    Args:
        levels: (people, items) CSR of levels, real-valued if something was subtracted already.
        labels: (people,) value of the attribute.
        parts: (people,) part that each person is in.
        n_values: Number of values.
        n_levels: Whole levels of the scale; 0: leave the histogram out.
        n_parts: Number of parts.
        weights: (ratings,) chance that a rating is shown at all, default 1.
        spread: (ratings, n_levels) chances of the level shown, default the level itself.
    """
    shape = (n_parts, n_values, levels.shape[1])
    rows = entry_people(levels)
    group = parts * n_values + labels
    cell = group[rows] * levels.shape[1] + levels.indices
    weight = np.ones(len(cell)) if weights is None else weights

    def tally(cells: Ints, weights: Floats, *shape: int) -> Floats:
        """Sum the weights of each cell, and shape the sums."""
        summed = np.bincount(cells, weights, minlength=math.prod(shape))
        return summed.astype(np.float64).reshape(shape)

    histogram = None
    if n_levels and spread is None:
        whole = np.round(levels.data).astype(np.int64).clip(0, n_levels - 1)
        histogram = tally(cell * n_levels + whole, weight, *shape, n_levels)
    elif spread is not None:
        histogram = np.stack([tally(cell, weight * each, *shape) for each in spread.T], axis=-1)
    return Statistics(
        people=tally(group, np.ones(len(group)), n_parts, n_values),
        counts=tally(cell, weight, *shape),
        sums=tally(cell, weight * levels.data, *shape),
        histogram=histogram,
    )


def limit_contributions(levels: sparse.csr_array, most: int, source: Source) -> sparse.csr_array:
    """Keep at most `most` ratings of each person, chosen uniformly at random."""
    if most < 1:
        raise ConfigError(f"A person contributes at least one rating; got {most}.")
    return select_entries(
        levels, rank_in_person(levels, integers_below(source, 1 << 62, levels.nnz)) < most
    )


def add_noise(statistics: Statistics, *, epsilon: float, contributions: int) -> Statistics:
    """Add noise to statistics: epsilon-DP for adding or removing one consenting person.

    One release of all histograms and head counts together. A person stands in one part, changes at
    most `contributions` histogram cells by one and one head count by one, so the L1 sensitivity is
    contributions + 1 and every number gets discrete Laplace noise of scale
    (contributions + 1) / epsilon. Negative counts are set to 0 afterwards (post-processing).
    `statistics` must come from ratings that `limit_contributions` cut to `contributions`.
    """
    if statistics.histogram is None:
        raise ConfigError(
            "A private disclosure needs a scale of whole stars; this one is continuous."
        )
    scale = math.nextafter((contributions + 1) / epsilon, math.inf)  # never a hair too little
    exact = np.concatenate([statistics.people.ravel(), statistics.histogram.ravel()])
    noisy = np.maximum(discrete_laplace(np.round(exact).astype(np.int64), scale), 0).astype(float)
    people = np.maximum(noisy[: statistics.people.size].reshape(statistics.people.shape), 1.0)
    histogram: Floats = noisy[statistics.people.size :].reshape(statistics.histogram.shape)
    sums = histogram @ np.arange(histogram.shape[-1], dtype=float)
    return Statistics(people, counts=histogram.sum(axis=-1), sums=sums, histogram=histogram)


def entry_people(matrix: sparse.csr_array) -> Ints:
    """(entries,) person of each entry, in the order of the entries."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def replace_data(pattern: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    """Make a matrix with other numbers in the same places."""
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def select_entries(matrix: sparse.csr_array, mask: NDArray[np.bool_]) -> sparse.csr_array:
    """Keep the entries of a mask (entries,) alone."""
    ends = np.concatenate([[0], np.cumsum(mask)])[matrix.indptr].astype(np.int32)
    return sparse.csr_array((matrix.data[mask], matrix.indices[mask], ends), shape=matrix.shape)


def rank_in_person(matrix: sparse.csr_array, keys: NDArray[Any]) -> Ints:
    """(entries,) rank of each entry among its person's, from 0, by ascending keys (entries,)."""
    order = np.lexsort((keys, entry_people(matrix)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    return place


@dataclass(frozen=True)
class PeopleHashes:
    """Keyed hashes of people with their ratings."""

    key: bytes
    """Key of the first fit; later ones keep it."""
    hashes: Hashes
    """(people,) ascending."""


def hash_people(
    ratings: Ratings, numbers: NDArray[np.int64], earlier: PeopleHashes | None
) -> PeopleHashes:
    """Hash the people with these numbers.

    Raises:
        ConfigError: Fewer than FEWEST_CHANGED of them differ from the earlier fit's, but not none.
    """
    key = secrets.token_bytes(16) if earlier is None else earlier.key
    now = np.sort(_hashes(key, ratings)[numbers])
    before = now if earlier is None else earlier.hashes
    changed = max(len(np.setdiff1d(now, before)), len(np.setdiff1d(before, now)))
    if 0 < changed < FEWEST_CHANGED:
        raise ConfigError(
            f"Only {changed} of the training people changed since the model before was fitted, and "
            "the difference of two models shows what so few people like. Keep that model, or fit "
            f"again when {FEWEST_CHANGED} changed."
        )
    return PeopleHashes(key, now)


def _hashes(key: bytes, ratings: Ratings) -> Hashes:
    """(people,) hashes of a person's id and of the sum of item hash times stars' hash."""
    items = _hash_each(key, b"item", ratings.item_ids)[ratings.items]
    distinct, which = np.unique(ratings.values, return_inverse=True)
    rated = items * (_hash_each(key, b"stars", distinct)[which] | np.uint64(1))
    sums = np.zeros(ratings.n_users, dtype=np.uint64)
    np.add.at(sums, ratings.users, rated)
    return _hash_each(key, b"person", zip(ratings.user_ids.tolist(), sums.tolist(), strict=True))


def _hash_each(key: bytes, kind: bytes, values: Any) -> Hashes:
    """(values,) keyed hash of each value's text."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    hashes = []
    for value in listed:
        digest = blake2b(repr(value).encode(), digest_size=8, key=key, person=kind).digest()
        hashes.append(int.from_bytes(digest, "big"))
    return np.array(hashes, dtype=np.uint64)
