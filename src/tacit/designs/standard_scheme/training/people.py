"""Consenting people, who agreed to show ratings and attribute, and sums over them.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Guarantee   none for the exact statistics; `add_noise` releases a whole set of them with
            epsilon-differential privacy for one consenting person (add or remove).

If few people changed between two models, the difference of the models shows what these people like.
So a model stores a keyed hash of each consenting person and all their ratings, and those of the
models that it replaced, one after the other. The next fit is refused if some people changed since
any of these models, but fewer than FEWEST_CHANGED. The hash leaves attributes out: a
person who has another value of the attribute and the same ratings counts as unchanged, and the
difference of the models can show what this person likes. The key is in the file beside the hashes.
So anyone who has the file can test whether a guess of all ratings of a person is right, and the
file stays with the recommender. An attribute in the hash could be tested likewise, value by value:
with the file and the ratings, anyone could read off the attribute of each consenting person, which
nothing else in the file tells.
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
from tacit.designs.standard_scheme.training.attributes import (
    Edges,
    attribute_texts,
    attribute_values,
)
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.laplace import discrete_laplace
from tacit.randomness import Source, integers_below

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

FEWEST_CHANGED = 50
"""A new fit is refused if some people came, left or have other ratings since the model that it
replaces, but fewer than this."""


@dataclass(frozen=True)
class ConsentingPeople:
    """People whose attributes are known, ready for training."""

    levels: sparse.csr_array
    """(people, items) CSR of levels: stars above the scale's minimum, in units of `level_size`."""
    labels: Ints
    """(people, attributes) number of each person's value in `values`."""
    names: tuple[str, ...]
    """Names of the attributes."""
    values: tuple[tuple[str, ...], ...]
    """Values of each attribute."""
    n_levels: int
    """Number of whole levels of the scale; 0 for a continuous scale."""

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.labels)


def level_size(scale: RatingScale) -> float:
    """Return the stars in one level: the scale's step, or a quarter of a continuous scale."""
    return scale.step if scale.discrete else scale.span / CONTINUOUS_LEVELS


def find_consenting_people(
    ratings: Ratings,
    names: Sequence[str],
    public_values: Mapping[str, Sequence[str]] | None = None,
    public_edges: Mapping[str, Edges] | None = None,
    *,
    leave_out_unreadable: bool = False,
) -> tuple[ConsentingPeople, Ints]:
    """Find the people of whom every named attribute is known.

    Args:
        ratings: Ratings of everybody, with the attributes.
        names: Names of the attributes.
        public_values: Public values of attributes, by name: people with another value are left out.
            The values of other attributes are those that occur. None: no attribute has any.
        public_edges: Public edges at which numeric attributes are cut into bins, by name. Other
            attributes with many numbers are cut at `attributes.DEFAULT_EDGES`.
        leave_out_unreadable: Whether people are left out whose value of an attribute with edges is
            no number; False: that is an error. A private fit leaves them out, because an error
            would let one person decide whether the others are read.

    Returns:
        The people, and their numbers in `ratings`, shape (people,).

    Raises:
        DataError: An attribute does not exist, has fewer than two values among these people, or is
            cut at edges and has a value that is no number.
        ConfigError: A numeric attribute has many values and no edges.
    """
    listed = {name: tuple(sorted(values)) for name, values in (public_values or {}).items()}
    edges = dict(public_edges or {})
    # For each attribute, each person's value; None if it is unknown or not a listed one.
    columns: list[list[str | None]] = []
    for name in names:
        if name in listed:
            column = attribute_texts(ratings, name)
            column = [value if value in listed[name] else None for value in column]
        else:
            column, bins = attribute_values(
                ratings, name, edges.get(name), leave_out_unreadable=leave_out_unreadable
            )
            if bins is not None:
                # Bins between default edges count only if they hold a person.
                occupied = tuple(label for label in bins if label in column)
                listed[name] = bins if name in edges else occupied
        columns.append(column)
    # Numbers of the people of whom all attributes are known.
    numbers = [
        number for number, values in enumerate(zip(*columns, strict=True)) if None not in values
    ]
    labels_by_attribute = []
    values_by_attribute = []
    for name, column in zip(names, columns, strict=True):
        values_of_people = [str(column[number]) for number in numbers]
        distinct = listed.get(name) or tuple(sorted(set(values_of_people)))
        if len(distinct) < 2:
            raise DataError(
                f"attribute '{name}' has one value or none among people with known attributes",
                found=distinct,
                expected="at least two values",
            )
        labels_by_attribute.append([distinct.index(value) for value in values_of_people])
        values_by_attribute.append(distinct)
    rows = np.array(numbers, dtype=np.int64)
    scale = ratings.scale
    level_data = (ratings.matrix.data - scale.minimum) / level_size(scale)
    if scale.discrete:
        level_data = np.round(level_data)
    people = ConsentingPeople(
        levels=replace_data(ratings.matrix, level_data)[rows],
        labels=np.array(labels_by_attribute, dtype=np.int64).T,
        names=tuple(names),
        values=tuple(values_by_attribute),
        n_levels=scale.levels,
    )
    return people, rows


@dataclass(frozen=True)
class Statistics:
    """Sums over people by the value of one attribute.

    The people are divided into disjoint parts with sums of their own, so that an estimate from some
    parts can be validated on another part.
    """

    people: Floats
    """(parts, values) numbers of people."""
    counts: Floats
    """(parts, values, items) numbers of ratings, or sums of their weights."""
    sums: Floats
    """(parts, values, items) sums of the levels of these ratings, with the same weights."""
    histogram: Floats | None
    """(parts, values, items, levels) numbers of these ratings at each level, with the same weights;
    None on a continuous scale."""


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
    """Compute the `Statistics` of one attribute from people's levels.

    Args:
        levels: (people, items) CSR of levels; real numbers if offsets were subtracted already.
        labels: (people,) number of each person's value of the attribute.
        parts: (people,) number of the part that each person is in.
        n_values: Number of values of the attribute.
        n_levels: Number of whole levels of the scale; 0: without a histogram.
        n_parts: Number of parts.
        weights: (ratings,) weight of each rating: the chance that a device shows it; None: 1 each.
        spread: (ratings, n_levels) chances of the level at which each rating is shown, by which it
            is counted in the histogram; None: at its own level, rounded.
    """
    shape = (n_parts, n_values, levels.shape[1])
    rows = entry_people(levels)
    # `group`: flat index (part, value) of each person. `cell`: flat index (part, value, item) of
    # each rating.
    group = parts * n_values + labels
    cell = group[rows] * levels.shape[1] + levels.indices
    weight = np.ones(len(cell)) if weights is None else weights

    def tally(cells: Ints, weights: Floats, *shape: int) -> Floats:
        """Sum weights into an array of this shape, of which `cells` are flat positions."""
        summed = np.bincount(cells, weights, minlength=math.prod(shape))
        return summed.astype(np.float64).reshape(shape)

    histogram = None
    if n_levels and spread is None:
        whole_levels = np.round(levels.data).astype(np.int64).clip(0, n_levels - 1)
        histogram = tally(cell * n_levels + whole_levels, weight, *shape, n_levels)
    elif spread is not None:
        by_level = [tally(cell, weight * chance, *shape) for chance in spread.T]
        histogram = np.stack(by_level, axis=-1)
    return Statistics(
        people=tally(group, np.ones(len(group)), n_parts, n_values),
        counts=tally(cell, weight, *shape),
        sums=tally(cell, weight * levels.data, *shape),
        histogram=histogram,
    )


def limit_contributions(levels: sparse.csr_array, most: int, source: Source) -> sparse.csr_array:
    """Keep at most `most` ratings of each person, drawn uniformly at random from all of them.

    Raises:
        ConfigError: `most` is below 1.
    """
    if most < 1:
        raise ConfigError(f"A person contributes at least one rating; got {most}.")
    return select_entries(
        levels, rank_in_person(levels, integers_below(source, 1 << 62, levels.nnz)) < most
    )


def add_noise(statistics: Statistics, *, epsilon: float, contributions: int) -> Statistics:
    """Add noise to statistics: epsilon-DP for adding or removing one consenting person.

    All histograms and numbers of people are one release. A person is in one part and changes at
    most `contributions` cells of the histogram by one each, and one number of people by one. So the
    L1 sensitivity is contributions + 1, and every number gets discrete Laplace noise of scale
    (contributions + 1) / epsilon. All else is post-processing, by `clip_noisy_sums`.

    Args:
        statistics: Exact sums of ratings that `limit_contributions` cut to `contributions`, with a
            weight of 1 each.
        epsilon: Epsilon of the release, in nats.
        contributions: Largest number of ratings of a person.

    Raises:
        ConfigError: There is no histogram, because the scale is continuous.
    """
    if statistics.histogram is None:
        raise ConfigError(
            "A private disclosure needs a scale of whole stars; this one is continuous."
        )
    # Rounded up to the next float, so that the noise is never smaller than it has to be.
    scale = math.nextafter((contributions + 1) / epsilon, math.inf)
    exact = np.concatenate([statistics.people.ravel(), statistics.histogram.ravel()])
    noisy = discrete_laplace(np.round(exact).astype(np.int64), scale).astype(float)
    people = noisy[: statistics.people.size].reshape(statistics.people.shape)
    histogram = noisy[statistics.people.size :].reshape(statistics.histogram.shape)
    return clip_noisy_sums(people, histogram)


def clip_noisy_sums(people: Floats, histogram: Floats) -> Statistics:
    """Make possible statistics of noisy numbers: no count is below 0, no mean is off the scale.

    Counts and sums of levels are clipped after they are summed over the levels. If every cell of
    the histogram were clipped, each would be too large in the mean, and the counts of a rare value,
    most of whose cells are near 0, by far the most in proportion.

    Args:
        people: (parts, values) numbers of people with noise; those below 1 become 1.
        histogram: (parts, values, items, levels) numbers of ratings with noise. Its cells below 0
            become 0, and those of each part, value and item are scaled to the count.
    """
    levels = np.arange(histogram.shape[-1], dtype=float)
    counts = np.maximum(histogram.sum(axis=-1), 0.0)
    sums = np.clip(histogram @ levels, 0.0, levels[-1] * counts)
    clipped = np.maximum(histogram, 0.0)
    in_cells = clipped.sum(axis=-1)
    factor = np.divide(counts, in_cells, out=np.zeros_like(counts), where=in_cells > 0)
    clipped *= factor[..., None]
    return Statistics(np.maximum(people, 1.0), counts=counts, sums=sums, histogram=clipped)


def entry_people(matrix: sparse.csr_array) -> Ints:
    """Return (entries,) the row, which is the person, of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def replace_data(pattern: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    """Return a matrix that stores (entries,) other data for the same rows and columns."""
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def select_entries(matrix: sparse.csr_array, mask: NDArray[np.bool_]) -> sparse.csr_array:
    """Return a matrix with only those stored entries for which the (entries,) mask is true."""
    # Where each row begins and ends among the entries that are kept.
    ends = np.concatenate([[0], np.cumsum(mask)])[matrix.indptr].astype(np.int32)
    return sparse.csr_array((matrix.data[mask], matrix.indices[mask], ends), shape=matrix.shape)


def rank_in_person(matrix: sparse.csr_array, keys: NDArray[Any]) -> Ints:
    """Rank the stored entries of each row, which is a person, by (entries,) keys.

    Returns:
        (entries,) rank of each entry within its row, 0 for the smallest key.
    """
    # In order of rows, then keys: a rank is a position minus that of the first entry in its row.
    order = np.lexsort((keys, entry_people(matrix)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    return rank


@dataclass(frozen=True)
class PeopleHashes:
    """Keyed hashes of the consenting people and their ratings."""

    key: bytes
    """Random key, drawn at the first fit and kept by the fits that replace it."""
    hashes: Hashes
    """(people,) one hash of each person and their ratings, ascending."""
    changes: tuple[Hashes, ...] = ()
    """For each replacement, the newest first: the hashes, ascending, that only one of the two
    models had."""

    def list_all(self) -> list[Hashes]:
        """List the hashes of this model and of each model before it, the newest first."""
        models = [self.hashes]
        for changed in self.changes:
            models.append(np.setxor1d(models[-1], changed, assume_unique=True))
        return models


def hash_people(
    ratings: Ratings, numbers: NDArray[np.int64], earlier: PeopleHashes | None
) -> PeopleHashes:
    """Hash the people with these numbers, and compare them with those of the replaced models.

    A person changed who came, left or has other ratings; attributes are not compared. Ids are
    hashed as texts, because one id that is a text makes texts of all ids of a file.

    Args:
        ratings: Ratings of everybody.
        numbers: (people,) numbers of the consenting people in `ratings`.
        earlier: Hashes of the model that is replaced, and of those before it; None: there is none,
            so nothing is compared.

    Raises:
        ConfigError: From 1 to FEWEST_CHANGED - 1 people changed since one of these models. This is
            the number of new hashes or the number of gone hashes, whichever is larger.
    """
    if earlier is None:
        key = secrets.token_bytes(16)
        return PeopleHashes(key, np.sort(_hash_all_people(key, ratings)[numbers]))
    hashes = np.sort(_hash_all_people(earlier.key, ratings)[numbers])
    for age, earlier_hashes in enumerate(earlier.list_all()):
        n_new = len(np.setdiff1d(hashes, earlier_hashes))
        n_gone = len(np.setdiff1d(earlier_hashes, hashes))
        changed = max(n_new, n_gone)
        if 0 < changed < FEWEST_CHANGED:
            model = "the previous model" if age == 0 else "an earlier model"
            raise ConfigError(
                f"Only {changed} of the training people changed since {model} was fitted, and the "
                "difference of two models shows what so few people like. Keep the previous model, "
                f"or fit again when {FEWEST_CHANGED} changed."
            )
    changed_hashes = np.setxor1d(hashes, earlier.hashes)
    if len(changed_hashes) == 0:  # the same people: a model that tells nothing new
        return PeopleHashes(earlier.key, hashes, earlier.changes)
    return PeopleHashes(earlier.key, hashes, (changed_hashes, *earlier.changes))


def _hash_all_people(key: bytes, ratings: Ratings) -> Hashes:
    """Return (people,) keyed hashes of the id and ratings of everybody in `ratings`.

    The ratings enter as the sum, modulo 2^64, of item hash * (stars hash, made odd), which does not
    depend on their order.
    """
    items = _hash_each(key, b"item", ratings.item_ids)[ratings.items]
    distinct_stars, number_of_stars = np.unique(ratings.values, return_inverse=True)
    stars = _hash_each(key, b"stars", distinct_stars)[number_of_stars]
    sums = np.zeros(ratings.n_users, dtype=np.uint64)
    np.add.at(sums, ratings.users, items * (stars | np.uint64(1)))
    people = zip(ratings.user_ids.tolist(), sums.tolist(), strict=True)
    return _hash_each(key, b"person", [f"({person}, {total})" for person, total in people])


def _hash_each(key: bytes, kind: bytes, values: Any) -> Hashes:
    """Return (values,) keyed 64-bit hashes of the texts of values.

    Args:
        key: Key of the hash.
        kind: What the values are, so that an item and a person with one id have different hashes.
        values: An array, or another iterable.
    """
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    hashes = []
    for value in listed:
        text = str(value).encode(errors="surrogatepass")
        digest = blake2b(text, digest_size=8, key=key, person=kind).digest()
        hashes.append(int.from_bytes(digest, "big"))
    return np.array(hashes, dtype=np.uint64)
