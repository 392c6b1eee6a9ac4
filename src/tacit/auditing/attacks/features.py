"""Features of the nonlinear attackers: directions, summaries and the order of items.

Features of a person come from the person's own release and from directions learned on the training
people, so that scores do not depend on who else is scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.base import Floats, Ints, Releases, item_means, replace_data

FEW_PEOPLE = 1500
"""With fewer training people there are fewer directions."""
DIRECTIONS, DIRECTIONS_OF_FEW = 60, 20
"""Directions of the mask, and as many of the residuals: of enough people, and of few."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles of popularity among a person's items."""
BINS = 10
"""Bins of the histogram of stars, where there are many different stars."""
QUARTERS = 4
"""Equal parts of a person's items by time."""


@dataclass(frozen=True)
class Blocks:
    """Features of some people, a row each."""

    mask: Floats
    """(people, directions) coordinates of which items are shown, largest direction first."""
    residuals: Floats
    """(people, directions) coordinates of stars less item means, largest direction first."""
    root: Floats
    """(people, 1) square root of the number of shown items, at least 1."""
    meta: Floats
    """(people, summaries) summaries of the release."""
    order: Floats
    """(people, columns) how items are ordered in time; no column without epochs."""

    def directions(self, mask: int, residuals: int) -> Floats:
        """Return the first coordinates of each, plain and divided by `root`."""
        plain = np.hstack([self.mask[:, :mask], self.residuals[:, :residuals]])
        return np.hstack([plain, plain / self.root])

    def summaries(self) -> Floats:
        """Return the summaries, and how items are ordered in time."""
        return np.hstack([self.meta, self.order])


class Space:
    """Item means, directions and histogram bins of the training people."""

    def __init__(self, seen: Releases) -> None:
        self._means = item_means(seen.ratings)
        has_few_people = seen.ratings.shape[0] < FEW_PEOPLE
        directions = DIRECTIONS_OF_FEW if has_few_people else DIRECTIONS
        size = min(directions, *seen.ratings.shape)
        self._mask_directions = _directions(_mask(seen), size)
        self._residual_directions = _directions(self._errors(seen), size)
        self._edges = _edges(seen.ratings.data)
        self._blocks_of: WeakKeyDictionary[Releases, Blocks] = WeakKeyDictionary()

    def blocks(self, seen: Releases) -> Blocks:
        """Return the features of these people, computed once for all attackers."""
        if seen not in self._blocks_of:
            self._blocks_of[seen] = self._compute_blocks(seen)
        return self._blocks_of[seen]

    def _compute_blocks(self, seen: Releases) -> Blocks:
        """Compute the features of these people."""
        mask = _mask(seen)
        errors = self._errors(seen)
        counts = np.diff(seen.ratings.indptr).astype(float)
        root = np.sqrt(np.maximum(counts, 1.0))[:, None]
        order = np.zeros((len(counts), 0))
        if seen.epochs is not None:
            moments = self._moments(seen, mask, errors) / root
            order = np.hstack([_order_features(seen, errors), moments])
        return Blocks(
            mask=mask @ self._mask_directions,
            residuals=errors @ self._residual_directions,
            root=root,
            meta=_summary_features(seen, errors, self._edges),
            order=order,
        )

    def _moments(self, seen: Releases, mask: sparse.csr_array, errors: sparse.csr_array) -> Floats:
        """(people, columns) coordinates of items weighed by time, from -1/2 early to 1/2 late."""
        half = DIRECTIONS // 2
        late = positions(seen)
        return np.hstack(
            [
                replace_data(mask, late) @ self._mask_directions[:, :half],
                replace_data(errors, errors.data * late) @ self._residual_directions[:, :half],
            ]
        )

    def _errors(self, seen: Releases) -> sparse.csr_array:
        """(people, items) stars less the training people's item means."""
        return replace_data(seen.ratings, seen.ratings.data - self._means[seen.ratings.indices])


_spaces: WeakKeyDictionary[Releases, Space] = WeakKeyDictionary()


def space_of(seen: Releases) -> Space:
    """Return the training people's space; attackers trained on the same people share it."""
    if seen not in _spaces:
        _spaces[seen] = Space(seen)
    return _spaces[seen]


def positions(seen: Releases) -> Floats:
    """(shown,) rank of an item's epoch among the person's own, from -1/2 to 1/2, ties averaged."""
    assert seen.epochs is not None
    rows = seen.rows
    labels = seen.epochs.data
    counts = np.diff(seen.ratings.indptr)
    order = np.lexsort((labels, rows))
    sorted_ranks = np.arange(len(rows)) - seen.ratings.indptr[rows[order]]
    # A group holds a person's items of one epoch, which share the mean of their ranks.
    _, group = np.unique(_number_pairs(rows, labels)[order], return_inverse=True)
    mean_ranks = np.bincount(group, sorted_ranks) / np.bincount(group)
    ranks = np.empty(len(rows))
    ranks[order] = mean_ranks[group]
    centred: Floats = (ranks + 0.5) / counts[rows] - 0.5
    return centred


def _directions(matrix: sparse.csr_array, size: int) -> Floats:
    """(items, size) leading right singular vectors; zeros for a matrix of zeros."""
    from sklearn.utils.extmath import randomized_svd

    if not matrix.nnz or not np.any(matrix.data):
        return np.zeros((matrix.shape[1], size))
    vectors: Floats = randomized_svd(matrix, size, n_iter=4, random_state=0)[2].T
    return vectors


def _edges(stars: Floats) -> Floats:
    """Borders of histogram bins: between released stars, or tenths where these are many."""
    distinct = np.unique(stars)
    if len(distinct) > 2 * BINS:
        return np.quantile(stars, np.arange(1, BINS) / BINS)
    edges: Floats = (distinct[1:] + distinct[:-1]) / 2
    return edges


def _summary_features(seen: Releases, errors: sparse.csr_array, edges: Floats) -> Floats:
    """(people, summaries) what one release says, without the order of its items.

    In this order: log(1 + number of items); mean and variance of stars, mean and mean square of
    errors; a histogram of stars; public tables; quantiles of log(1 + popularity); years; for each
    genre its share of the items; for each genre its items' mean error, drawn towards 0.

    Args:
        seen: Releases of the people.
        errors: (people, items) stars less item means.
        edges: Borders of the histogram bins of stars.
    """
    rows = seen.rows
    items = seen.ratings.indices
    stars = seen.ratings.data
    people = seen.ratings.shape[0]
    counts = np.bincount(rows, minlength=people).astype(float)
    mean = _mean(rows, stars, counts)
    bins = np.searchsorted(edges, stars)
    histogram = [
        _mean(rows, (bins == number).astype(float), counts) for number in range(len(edges) + 1)
    ]
    offsets = seen.public.offsets[seen.table[rows], items]
    log_keep = seen.public.log_keep[seen.table[rows], items]
    columns = [
        np.log1p(counts),
        mean,
        _mean(rows, stars**2, counts) - mean**2,
        _mean(rows, errors.data, counts),
        _mean(rows, errors.data**2, counts),
        *histogram,
        *_table_features(rows, errors.data, offsets, log_keep, counts),
        *_log_popularity_quantiles(seen, rows, counts),
        *_year_features(seen, rows),
    ]
    genres = seen.public.genres
    in_genre = _mask(seen) @ genres
    shares = in_genre / np.maximum(counts, 1.0)[:, None]
    return np.hstack([np.stack(columns, axis=1), shares, (errors @ genres) / (in_genre + 1.0)])


def _table_features(
    rows: Ints, errors: Floats, offsets: Floats, log_keep: Floats, counts: Floats
) -> list[Floats]:
    """(people,) columns of what the public tables say of shown items: means, and means times root.

    `root` is the root of the number of items, so the second are means in units of their standard
    error.
    """
    root = np.sqrt(np.maximum(counts, 1.0))
    means = [
        _mean(rows, column, counts)
        for column in (errors * offsets, offsets, log_keep, errors * log_keep)
    ]
    return [*means, *(mean * root for mean in means)]


def _log_popularity_quantiles(seen: Releases, rows: Ints, counts: Floats) -> list[Floats]:
    """(people,) for each of QUANTILES, of log(1 + popularity); 0 for who shows nothing."""
    if not len(rows):
        return [counts * 0 for _ in QUANTILES]
    log_popularity = np.log1p(seen.public.popularity)[seen.ratings.indices]
    ordered = log_popularity[np.lexsort((log_popularity, rows))]
    starts = np.asarray(seen.ratings.indptr[:-1])
    shows_nothing = counts == 0
    quantiles = []
    for share in QUANTILES:
        position = starts + np.floor(share * np.maximum(counts - 1, 0)).astype(np.int64)
        values = ordered[np.minimum(position, len(ordered) - 1)]
        quantiles.append(np.where(shows_nothing, 0.0, values))
    return quantiles


def _year_features(seen: Releases, rows: Ints) -> list[Floats]:
    """(people,) mean and variance of the years of shown items, less the catalogue's mean year.

    Items of unknown years are left out. There is no column if no year of the catalogue is known.
    """
    known = np.isfinite(seen.public.years)
    if not known.any():
        return []
    middle = float(seen.public.years[known].mean())
    years = np.where(known, seen.public.years - middle, 0.0)[seen.ratings.indices]
    counts = np.bincount(
        rows, known[seen.ratings.indices].astype(float), minlength=seen.ratings.shape[0]
    )
    mean = _mean(rows, years, counts)
    return [mean, _mean(rows, years**2, counts) - mean**2]


def _order_features(seen: Releases, errors: sparse.csr_array) -> Floats:
    """(people, columns) log(1 + number of epochs), and facts of each quarter of a person's items.

    Items are divided into quarters by epoch. The facts of a quarter are its share of the items, its
    mean error (stars less item means), its mean log(1 + popularity), and the share of each genre.
    """
    assert seen.epochs is not None
    rows = seen.rows
    labels = seen.epochs.data
    people = seen.ratings.shape[0]
    _, first_entries = np.unique(_number_pairs(rows, labels), return_index=True)
    n_epochs = np.bincount(rows[first_entries], minlength=people)
    columns = [np.log1p(n_epochs)[:, None]]
    quarters = ((positions(seen) + 0.5) * QUARTERS).astype(np.int64)
    quarters = np.minimum(quarters, QUARTERS - 1)
    n_shown = np.maximum(np.bincount(rows, minlength=people), 1.0)
    log_popularity = np.log1p(seen.public.popularity)[seen.ratings.indices]
    for this_quarter in range(QUARTERS):
        inside = (quarters == this_quarter).astype(float)
        counts: Floats = np.bincount(rows, inside, minlength=people).astype(float)
        facts = [counts / n_shown, _mean(rows, errors.data * inside, counts)]
        facts.append(_mean(rows, log_popularity * inside, counts))
        genres = replace_data(seen.ratings, inside) @ seen.public.genres
        columns += [np.stack(facts, axis=1), genres / np.maximum(counts, 1.0)[:, None]]
    return np.hstack(columns)


def _number_pairs(rows: Ints, epochs: Floats) -> Ints:
    """(shown,) one number for each pair of a person and an epoch, ascending by person and epoch."""
    labels = epochs.astype(np.int64)
    numbers: Ints = rows * (labels.max(initial=0) + 1) + labels
    return numbers


def _mean(rows: Ints, values: Floats, counts: NDArray[Any]) -> Floats:
    """(people,) mean of each person's values; 0 for a person without any."""
    means: Floats = np.bincount(rows, values, minlength=len(counts)) / np.maximum(counts, 1.0)
    return means


def _mask(seen: Releases) -> sparse.csr_array:
    """(people, items) 1 for each shown item."""
    return replace_data(seen.ratings, np.ones(seen.ratings.nnz))
