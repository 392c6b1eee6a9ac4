"""Features of the nonlinear attackers: directions, summaries and the order of items.

The mask of a release has 1 for each shown item; its residuals are stars less the training people's
item means. Directions are the leading right singular vectors of either matrix of the training
people. The features of a person depend on their own release, public knowledge and the training
people, not on who else is scored.
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
"""With fewer training people there are `DIRECTIONS_OF_FEW` directions instead of `DIRECTIONS`."""
DIRECTIONS = 60
"""Largest number of directions of the mask, and of the residuals."""
DIRECTIONS_OF_FEW = 20
"""Largest number of directions of the mask, and of the residuals, with few training people."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles of popularity among a person's items."""
BINS = 10
"""Bins of the histogram of stars, if there are more than twice as many different values."""
QUARTERS = 4
"""Number of parts into which a person's items are divided by time. Items of one epoch are in the
same part; without such ties the parts are about equal in size."""


@dataclass(frozen=True)
class Blocks:
    """Features of some people, with a row for each person."""

    mask: Floats
    """(people, directions) coordinates of the mask, for the largest singular value first."""
    residuals: Floats
    """(people, directions) coordinates of the residuals, for the largest singular value first."""
    root: Floats
    """(people, 1) square root of the number of shown items, at least 1."""
    meta: Floats
    """(people, columns) summaries of the release, as `_summary_features` lists them."""
    order: Floats
    """(people, columns) features of the order in time: the columns of `_order_features`, and the
    time-weighted coordinates divided by `root`. (people, 0) without epoch labels."""

    def directions(self, mask: int, residuals: int) -> Floats:
        """Return columns of coordinates, unchanged, and again divided by `root`.

        Args:
            mask: How many of the first coordinates of the mask are returned.
            residuals: How many of the first coordinates of the residuals are returned.
        """
        plain = np.hstack([self.mask[:, :mask], self.residuals[:, :residuals]])
        return np.hstack([plain, plain / self.root])

    def summaries(self) -> Floats:
        """Return the columns of `meta` and `order`."""
        return np.hstack([self.meta, self.order])


class Space:
    """Item means, directions and histogram bins of the training people.

    Args:
        seen: The releases of the training people.
    """

    def __init__(self, seen: Releases) -> None:
        self._means = item_means(seen.ratings)
        has_few_people = seen.ratings.shape[0] < FEW_PEOPLE
        directions = DIRECTIONS_OF_FEW if has_few_people else DIRECTIONS
        size = min(directions, *seen.ratings.shape)
        self._mask_directions = _leading_directions(_mask(seen), size)
        self._residual_directions = _leading_directions(self._residuals(seen), size)
        self._histogram_edges = _histogram_edges(seen.ratings.data)
        self._blocks_of: WeakKeyDictionary[Releases, Blocks] = WeakKeyDictionary()

    def blocks(self, seen: Releases) -> Blocks:
        """Return the features of these people; they are computed once for all attackers."""
        if seen not in self._blocks_of:
            self._blocks_of[seen] = self._compute_blocks(seen)
        return self._blocks_of[seen]

    def _compute_blocks(self, seen: Releases) -> Blocks:
        """Compute the features of these people."""
        mask = _mask(seen)
        residuals = self._residuals(seen)
        counts = np.diff(seen.ratings.indptr).astype(float)
        root = np.sqrt(np.maximum(counts, 1.0))[:, None]
        order = np.zeros((len(counts), 0))
        if seen.epochs is not None:
            time_weighted = self._time_weighted_coordinates(seen, mask, residuals) / root
            order = np.hstack([_order_features(seen, residuals), time_weighted])
        return Blocks(
            mask=mask @ self._mask_directions,
            residuals=residuals @ self._residual_directions,
            root=root,
            meta=_summary_features(seen, residuals, self._histogram_edges),
            order=order,
        )

    def _time_weighted_coordinates(
        self, seen: Releases, mask: sparse.csr_array, residuals: sparse.csr_array
    ) -> Floats:
        """Return (people, columns) coordinates of mask and residuals, with items weighed by time.

        The weights are `positions`: negative for a person's early items, positive for late ones.
        Only the first DIRECTIONS / 2 coordinates of each matrix are returned.
        """
        half = DIRECTIONS // 2
        time_weights = positions(seen)
        return np.hstack(
            [
                replace_data(mask, time_weights) @ self._mask_directions[:, :half],
                replace_data(residuals, residuals.data * time_weights)
                @ self._residual_directions[:, :half],
            ]
        )

    def _residuals(self, seen: Releases) -> sparse.csr_array:
        """Return (people, items) stars less the training people's item means."""
        return replace_data(seen.ratings, seen.ratings.data - self._means[seen.ratings.indices])


_spaces: WeakKeyDictionary[Releases, Space] = WeakKeyDictionary()
"""Space of each group of training people, for as long as their releases exist."""


def space_of(seen: Releases) -> Space:
    """Return the space of these training people; attackers trained on the same object share it."""
    if seen not in _spaces:
        _spaces[seen] = Space(seen)
    return _spaces[seen]


def positions(seen: Releases) -> Floats:
    """Return (shown,) ranks of items by epoch among the person's items, between -1/2 and 1/2.

    Items of the same epoch share the mean of their ranks.
    """
    assert seen.epochs is not None
    rows = seen.rows
    labels = seen.epochs.data
    counts = np.diff(seen.ratings.indptr)
    order = np.lexsort((labels, rows))
    sorted_ranks = np.arange(len(rows)) - seen.ratings.indptr[rows[order]]
    # A group holds a person's items of one epoch.
    _, group = np.unique(_number_pairs(rows, labels)[order], return_inverse=True)
    mean_ranks = np.bincount(group, sorted_ranks) / np.bincount(group)
    ranks = np.empty(len(rows))
    ranks[order] = mean_ranks[group]
    centred: Floats = (ranks + 0.5) / counts[rows] - 0.5
    return centred


def _leading_directions(matrix: sparse.csr_array, size: int) -> Floats:
    """Return (items, size) leading right singular vectors; zeros for a matrix of zeros."""
    from sklearn.utils.extmath import randomized_svd

    if not matrix.nnz or not np.any(matrix.data):
        return np.zeros((matrix.shape[1], size))
    vectors: Floats = randomized_svd(matrix, size, n_iter=4, random_state=0)[2].T
    return vectors


def _histogram_edges(stars: Floats) -> Floats:
    """Return the edges between histogram bins of stars, ascending.

    They lie halfway between neighbouring values, one value a bin; if there are more than 2 * BINS
    different values, they are the quantiles that divide the stars into BINS equal parts.
    """
    distinct = np.unique(stars)
    if len(distinct) > 2 * BINS:
        return np.quantile(stars, np.arange(1, BINS) / BINS)
    edges: Floats = (distinct[1:] + distinct[:-1]) / 2
    return edges


def _summary_features(seen: Releases, residuals: sparse.csr_array, edges: Floats) -> Floats:
    """Return (people, columns) summaries of releases that ignore the order of items.

    The columns are: log(1 + number of items); mean and variance of stars; mean and mean square of
    residuals; a histogram of stars; the columns of `_table_features`,
    `_log_popularity_quantiles` and `_year_features`; for each genre its share of the items; for
    each genre the sum of its items' residuals over 1 + their number.

    Args:
        seen: Releases of the people.
        residuals: (people, items) stars less item means.
        edges: Edges between the histogram bins of stars.
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
        _mean(rows, residuals.data, counts),
        _mean(rows, residuals.data**2, counts),
        *histogram,
        *_table_features(rows, residuals.data, offsets, log_keep, counts),
        *_log_popularity_quantiles(seen, rows, counts),
        *_year_features(seen, rows),
    ]
    genres = seen.public.genres
    in_genre = _mask(seen) @ genres
    shares = in_genre / np.maximum(counts, 1.0)[:, None]
    return np.hstack([np.stack(columns, axis=1), shares, (residuals @ genres) / (in_genre + 1.0)])


def _table_features(
    rows: Ints, residuals: Floats, offsets: Floats, log_keep: Floats, counts: Floats
) -> list[Floats]:
    """Return eight (people,) columns that compare shown items with the public tables.

    Four are means over a person's items: of residual * offset, offset, log_keep and
    residual * log_keep. The other four are these means times the square root of the number of
    items, that is, in units proportional to their standard errors.

    Args:
        rows: (shown,) row number of the person of each entry.
        residuals: (shown,) stars less item means.
        offsets: (shown,) public offset of the shown item.
        log_keep: (shown,) public `log_keep` of the shown item.
        counts: (people,) number of shown items.
    """
    root = np.sqrt(np.maximum(counts, 1.0))
    means = [
        _mean(rows, column, counts)
        for column in (residuals * offsets, offsets, log_keep, residuals * log_keep)
    ]
    return [*means, *(mean * root for mean in means)]


def _log_popularity_quantiles(seen: Releases, rows: Ints, counts: Floats) -> list[Floats]:
    """Return for each of QUANTILES a (people,) column of quantiles of log(1 + popularity).

    They are over the person's shown items; 0 for a person who shows nothing.

    Args:
        seen: Releases of the people.
        rows: (shown,) row number of the person of each entry.
        counts: (people,) number of shown items.
    """
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
    """Return two (people,) columns: mean and variance of the years of a person's shown items.

    The mean is relative to the mean year of the catalogue. Items of unknown year are left out.
    The list is empty if no year of the catalogue is known.
    """
    has_year = np.isfinite(seen.public.years)
    if not has_year.any():
        return []
    mean_year = float(seen.public.years[has_year].mean())
    years = np.where(has_year, seen.public.years - mean_year, 0.0)[seen.ratings.indices]
    counts = np.bincount(
        rows, has_year[seen.ratings.indices].astype(float), minlength=seen.ratings.shape[0]
    )
    mean = _mean(rows, years, counts)
    return [mean, _mean(rows, years**2, counts) - mean**2]


def _order_features(seen: Releases, residuals: sparse.csr_array) -> Floats:
    """Return (people, columns): log(1 + number of epochs), and features of four parts in time.

    A person's items are divided into QUARTERS parts by epoch. The features of each part are its
    share of the items, its mean residual, its mean log(1 + popularity), and the share of each genre
    in it.

    Args:
        seen: Releases of the people, with epoch labels.
        residuals: (people, items) stars less item means.
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
    for quarter in range(QUARTERS):
        in_quarter = (quarters == quarter).astype(float)
        counts: Floats = np.bincount(rows, in_quarter, minlength=people).astype(float)
        share = counts / n_shown
        mean_residual = _mean(rows, residuals.data * in_quarter, counts)
        mean_log_popularity = _mean(rows, log_popularity * in_quarter, counts)
        genres = replace_data(seen.ratings, in_quarter) @ seen.public.genres
        columns.append(np.stack([share, mean_residual, mean_log_popularity], axis=1))
        columns.append(genres / np.maximum(counts, 1.0)[:, None])
    return np.hstack(columns)


def _number_pairs(rows: Ints, epochs: Floats) -> Ints:
    """Return (shown,) numbers, one for each shown rating, that name its pair of person and epoch.

    Two ratings have the same number exactly if they are of the same person and epoch. Numbers
    ascend by person, then by epoch.
    """
    labels = epochs.astype(np.int64)
    numbers: Ints = rows * (labels.max(initial=0) + 1) + labels
    return numbers


def _mean(rows: Ints, values: Floats, counts: NDArray[Any]) -> Floats:
    """Return (people,) sums of each person's values over `counts`; 0 for a person without values.

    Args:
        rows: (shown,) row number of the person of each value.
        values: (shown,) values.
        counts: (people,) numbers to divide by; below 1 they count as 1.
    """
    means: Floats = np.bincount(rows, values, minlength=len(counts)) / np.maximum(counts, 1.0)
    return means


def _mask(seen: Releases) -> sparse.csr_array:
    """Return (people, items) with 1 for each shown item."""
    return replace_data(seen.ratings, np.ones(seen.ratings.nnz))
