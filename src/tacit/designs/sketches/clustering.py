"""Counts of randomised answers into item clusters: the recommender's computation.

Source      Banerjee, Hegde, Massoulié (2012), the last steps of Figures 1 to 3. k-means on a line:
            Grønlund et al.: Fast exact k-means in 1D (2017), the divide-and-conquer form.
Deviations  the diagonal of the matrix of pairs is filled in, not 0; scores are shares of ones, not
            their printed counts.
Added       k-means on one dimension is exact; the number of clusters can be chosen by the known
            noise; each label has a confidence. All of it is post-processing: it costs no epsilon.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import eigsh

from tacit.designs.sketches.counting import ItemCounts, PairCounts, item_counts, pair_counts
from tacit.designs.sketches.messages import MICRO, Campaign, Clusters
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_CLUSTERS = 8
"""Largest number of clusters that is tried when it is to be chosen."""
_SURE = 3.0  # standard deviations of the noise's own spread
_FILLINGS = 10
_DENSE = 400  # items up to which all eigenvalues are computed


@dataclass(frozen=True, eq=False)
class Clustering:
    """Items in clusters."""

    labels: Ints
    """(N,) cluster of each item, from 0, the cluster with the lowest scores first."""
    scores: Floats
    """(N,) score of each item; higher is better liked."""

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max()) + 1


def cluster_items(server: Server, clusters: int | None = None) -> Clustering:
    """Cluster the items by the counts of a server, with the campaign's own method.

    Args:
        server: Has counted the reports.
        clusters: How many; None to have the number chosen.

    Raises:
        ConfigError: There are fewer items than clusters, or no cluster.
    """
    if server.campaign.senses:
        return score_clusters(item_counts(server), clusters)
    return pair_clusters(pair_counts(server), clusters)


def score_clusters(counts: ItemCounts, clusters: int | None = None) -> Clustering:
    """Cluster MaxSense's scores by one-dimensional k-means.

    Args:
        counts: Answers by item.
        clusters: L; None for the smallest whose spread within clusters the known noise explains.

    Raises:
        ConfigError: There are fewer items than clusters, or no cluster.
    """
    scores = counts.normalised_scores
    if clusters is None:
        clusters = _choose_line_clusters(counts)
    _check_clusters(clusters, len(scores))
    return Clustering(kmeans_line(scores, clusters), scores)


def pair_clusters(counts: PairCounts, clusters: int | None = None) -> Clustering:
    """Cluster Pairwise-Preference's counts by their spectrum.

    Args:
        counts: Answers by pair.
        clusters: L; None for as many eigenvalues as stand out from what noise alone would have.

    Raises:
        ConfigError: There are fewer items than clusters, or no cluster.
    """
    matrix = counts.matrix()
    if clusters is None:
        clusters = _choose_pair_clusters(matrix)
    _check_clusters(clusters, len(matrix))
    scores = matrix.sum(axis=1)
    labels = kmeans(spectral_embedding(matrix, clusters), clusters)
    # The same clusters, numbered by their mean score.
    sizes = np.maximum(np.bincount(labels), 1)
    rank = np.argsort(np.argsort(np.bincount(labels, scores) / sizes, kind="stable"))
    return Clustering(rank[labels].astype(np.int64), scores / max(1.0, scores.max()))


def confidence(
    counts: ItemCounts | PairCounts, found: Clustering, *, resamples: int = 20, seed: int = 0
) -> Floats:
    """Measure how often each item keeps its label when the reports are drawn again.

    Reports are redrawn item by item (pair by pair): given how often it was asked about, an item's
    answers are the reports' answers drawn with replacement.

    Args:
        counts: Answers that were clustered.
        found: Their clusters.
        resamples: How often the reports are drawn again.
        seed: Seed of these draws, which are no noise.

    Returns:
        (N,) share of the resamples in which each item has the label that was found.

    Raises:
        ConfigError: There is no resample.
    """
    if resamples < 1:
        raise ConfigError(f"A confidence needs at least one resample; got {resamples}.")
    generator = np.random.default_rng(seed)
    shares = counts.ones / np.maximum(counts.asked, 1)
    clusters = found.clusters
    agreed = np.zeros(len(found.labels))
    for _ in range(resamples):
        drawn = replace(counts, ones=generator.binomial(counts.asked, shares))
        if isinstance(drawn, ItemCounts):
            again = score_clusters(drawn, clusters)
        else:
            again = pair_clusters(drawn, clusters)
        shared = np.zeros((clusters, clusters), dtype=np.int64)
        np.add.at(shared, (again.labels, found.labels), 1)
        _, names = linear_sum_assignment(shared, maximize=True)  # the renaming that agrees most
        agreed += names[again.labels] == found.labels
    return agreed / resamples


def spectral_embedding(matrix: Floats, dimensions: int) -> Floats:
    """Compute the (N, L) eigenvectors of the largest absolute eigenvalues, times sqrt(N)."""
    _, vectors = _spectrum(_fill_diagonal(matrix, dimensions), dimensions)
    rows: Floats = vectors * np.sqrt(len(matrix))
    return rows


def _fill_diagonal(matrix: Floats, dimensions: int) -> Floats:
    """Fill the diagonal, about which nobody can be asked, as the L largest eigenvalues have it.

    The paper leaves it 0, which takes an item's own expected count off the eigenvalues: noise then
    looks larger in absolute value than it is. Zhang, Cai, Wu: Heteroskedastic PCA (2022).
    """
    filled = matrix + np.diag(matrix.sum(axis=1) / (len(matrix) - 1))
    for _ in range(_FILLINGS):
        values, vectors = _spectrum(filled, dimensions)
        np.fill_diagonal(filled, (vectors**2) @ values)
    return filled


def _spectrum(matrix: Floats, dimensions: int) -> tuple[Floats, Floats]:
    """Compute the largest absolute eigenvalues, largest first, and their vectors in columns."""
    if dimensions >= len(matrix) or len(matrix) <= _DENSE:
        values, vectors = np.linalg.eigh(matrix)
    else:
        # A fixed start, so that equal counts give equal clusters.
        start = np.full(len(matrix), 1 / np.sqrt(len(matrix)))
        values, vectors = eigsh(matrix, k=dimensions, which="LM", v0=start)
    largest = np.argsort(-np.abs(values), kind="stable")[:dimensions]
    return values[largest], vectors[:, largest]


def publish(campaign: Campaign, clustering: Clustering) -> Clusters:
    """Write the message for all devices.

    Raises:
        ConfigError: There are more than 256 clusters, or the items are not the campaign's.
    """
    if clustering.clusters > 256:
        raise ConfigError(f"A label is one byte: at most 256 clusters, not {clustering.clusters}.")
    scale = max(1.0, float(np.abs(clustering.scores).max()))
    scores = np.round(clustering.scores / scale * MICRO).astype(np.int64).tolist()
    labels = bytes(clustering.labels.astype(np.uint8).tolist())
    if len(labels) != campaign.items:
        raise ConfigError(
            f"These are labels of {len(labels)} items; the campaign has {campaign.items}."
        )
    return Clusters(campaign.digest, campaign.catalogue, labels, tuple(scores))


def _choose_line_clusters(counts: ItemCounts) -> int:
    """Choose the smallest number of clusters whose residual is within the binomial noise."""
    shares = counts.normalised_scores
    noise = float(np.sum(shares * (1 - shares) / np.maximum(counts.asked, 1)))
    allowed = noise * (1 + _SURE * np.sqrt(2 / len(shares)))
    most = min(MOST_CLUSTERS, len(shares))
    for clusters in range(1, most):
        labels = kmeans_line(shares, clusters)
        means = np.bincount(labels, shares) / np.bincount(labels)
        if float(np.sum((shares - means[labels]) ** 2)) <= allowed:
            return clusters
    return most


def _choose_pair_clusters(matrix: Floats) -> int:
    """Choose the smallest number of eigenvalues that leaves no more than noise.

    Noise: eigenvalues up to 2 sqrt(N v) of a random symmetric matrix of variance v.
    """
    size = len(matrix)
    variance = matrix.sum() / (size * (size - 1))  # of a count: at most its mean
    edge = 2 * np.sqrt(size * variance) * (1 + size ** (-2 / 3))
    most = min(MOST_CLUSTERS, size - 1)
    for clusters in range(1, most):
        values, _ = _spectrum(_fill_diagonal(matrix, clusters), clusters + 1)
        if abs(values[clusters]) <= edge:
            return clusters
    return most


def _check_clusters(clusters: int, items: int) -> None:
    """Refuse a number of clusters that the items cannot have."""
    if not 1 <= clusters <= items:
        raise ConfigError(f"Clusters are 1 to {items}, the number of items; got {clusters}.")


def kmeans_line(values: Floats, clusters: int) -> Ints:
    """Cluster values so that the sum of squares within clusters is least.

    Returns:
        (n,) labels, which go up with the values.
    """
    order = np.argsort(values, kind="stable")
    starts = _later_starts(values[order], clusters)
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.searchsorted(starts, np.arange(len(values)), side="right")
    return labels


def _later_starts(ordered: Floats, clusters: int) -> Ints:
    """Find where each cluster of ordered values begins, except the first cluster."""
    centred = ordered - ordered.mean()  # against cancellation in the sums of squares
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])

    def cost(start: Ints, end: Ints) -> Floats:
        """Sum the squares of values [start, end) about their mean, where start < end."""
        width = end - start
        residual: Floats = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / width
        return residual

    size = len(ordered)
    ends = np.arange(1, size + 1)
    best = np.concatenate([[0.0], cost(np.zeros(size, dtype=np.int64), ends)])
    splits = []  # splits[k][m]: where the last of k + 2 clusters of the first m values begins
    for count in range(2, clusters + 1):
        layer = np.full(size + 1, np.inf)
        split = np.zeros(size + 1, dtype=np.int64)
        # Only the whole list matters in the last layer.
        first = size if count == clusters else count
        waiting = [(first, size, count - 1, size - 1)]
        while waiting:
            low, high, least, most = waiting.pop()
            if low > high:
                continue
            middle = (low + high) // 2
            starts = np.arange(least, min(most, middle - 1) + 1)
            totals = best[starts] + cost(starts, np.full(len(starts), middle))
            place = int(np.argmin(totals))
            layer[middle] = totals[place]
            split[middle] = starts[place]
            # The best split goes up with the number of values.
            waiting += [
                (low, middle - 1, least, split[middle]),
                (middle + 1, high, split[middle], most),
            ]
        best = layer
        splits.append(split)
    starts_found = []
    end = size
    for split in reversed(splits):
        end = int(split[end])
        starts_found.append(end)
    return np.array(starts_found[::-1], dtype=np.int64)


def kmeans(points: Floats, clusters: int) -> Ints:
    """Label (n, d) points by the best of ten runs of Lloyd's algorithm: (n,)."""
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fewer different points than clusters
        labels: Ints = KMeans(clusters, n_init=10, random_state=0).fit_predict(points)
    return labels.astype(np.int64)


def spectral_coclusters(likes: sparse.csr_array, clusters: int, *, seed: int) -> Ints:
    """Cluster items without privacy, by spectral co-clustering of people and items.

    Sketches are measured against it. Items that nobody likes come into the largest cluster.
    Source: Dhillon, Co-clustering documents and words using bipartite spectral graph partitioning
    (2001), by scikit-learn.

    Args:
        likes: (people, items).
        clusters: How many.
        seed: Seed of the k-means in it.

    Returns:
        (items,) labels from 0.

    Raises:
        DataError: There are no more people or liked items than clusters.
    """
    from sklearn.cluster import SpectralCoclustering

    people = np.flatnonzero(np.asarray(likes.sum(axis=1)).ravel())
    liked = np.flatnonzero(np.asarray(likes.sum(axis=0)).ravel())
    if min(len(liked), len(people)) <= clusters:
        raise DataError(
            "there are too few likes to cluster",
            found=f"{len(people)} people who like {len(liked)} items",
            expected=f"more than {clusters} of each",
        )
    model = SpectralCoclustering(n_clusters=clusters, random_state=seed)
    model.fit(sparse.csr_matrix(likes[people][:, liked]))
    labels = np.full(likes.shape[1], np.bincount(model.column_labels_).argmax(), dtype=np.int64)
    labels[liked] = model.column_labels_
    return labels
