"""k-means: exact on a line, by Lloyd's steps from several starts elsewhere.

Source   Grønlund et al.: Fast exact k-means in 1D (2017), the divide-and-conquer form.
         Arthur, Vassilvitskii: k-means++ (SODA 2007), for the starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_STARTS, _MOST_STEPS = 10, 100


def kmeans_line(values: Floats, clusters: int) -> Ints:
    """(n,) labels that minimise the sum of squares within clusters; they go up with the values."""
    order = np.argsort(values, kind="stable")
    ends = _line_ends(values[order], clusters)
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.searchsorted(ends, np.arange(len(values)), side="right")
    return labels


def _line_ends(ordered: Floats, clusters: int) -> Ints:
    """Where each cluster of ordered values begins, but the first."""
    centred = ordered - ordered.mean()  # against cancellation in the sums of squares
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])

    def cost(start: Ints, end: Ints) -> Floats:
        """Sum of squares of values [start, end), where start < end."""
        width = end - start
        residual: Floats = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / width
        return residual

    size = len(ordered)
    ends = np.arange(1, size + 1)
    best = np.concatenate([[0.0], cost(np.zeros(size, dtype=np.int64), ends)])
    splits = []  # splits[k][m]: where the last of k + 2 clusters of the first m values begins
    for wanted in range(2, clusters + 1):
        layer, split = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int64)
        # Only the whole list matters in the last layer.
        first = size if wanted == clusters else wanted
        waiting = [(first, size, wanted - 1, size - 1)]
        while waiting:
            low, high, least, most = waiting.pop()
            if low > high:
                continue
            middle = (low + high) // 2
            starts = np.arange(least, min(most, middle - 1) + 1)
            totals = best[starts] + cost(starts, np.full(len(starts), middle))
            place = int(np.argmin(totals))
            layer[middle], split[middle] = totals[place], starts[place]
            # The best split goes up with the number of values.
            waiting += [
                (low, middle - 1, least, split[middle]),
                (middle + 1, high, split[middle], most),
            ]
        best = layer
        splits.append(split)
    found, end = [], size
    for split in reversed(splits):
        end = int(split[end])
        found.append(end)
    return np.array(found[::-1], dtype=np.int64)


def kmeans(points: Floats, clusters: int, generator: np.random.Generator) -> Ints:
    """(n,) labels of (n, d) points: the best of ten runs of Lloyd's algorithm."""
    best, least = np.zeros(len(points), dtype=np.int64), np.inf
    for _ in range(_STARTS):
        labels, spread = _lloyd(points, _spread_out(points, clusters, generator))
        if spread < least:
            best, least = labels, spread
    return best


def _lloyd(points: Floats, centres: Floats) -> tuple[Ints, float]:
    labels = np.full(len(points), -1)
    for _ in range(_MOST_STEPS):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
        nearest = distances.argmin(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        for cluster in np.unique(labels):  # a centre without points stays where it is
            centres[cluster] = points[labels == cluster].mean(axis=0)
    return labels.astype(np.int64), float(distances.min(axis=1).sum())


def _spread_out(points: Floats, clusters: int, generator: np.random.Generator) -> Floats:
    """Starting centres: each next one is likely to be far from those before."""
    chosen = [int(generator.integers(len(points)))]
    distances = np.full(len(points), np.inf)
    for _ in range(clusters - 1):
        distances = np.minimum(distances, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        total = distances.sum()
        weights = distances / total if total > 0 else None
        chosen.append(int(generator.choice(len(points), p=weights)))
    return points[chosen].copy()
