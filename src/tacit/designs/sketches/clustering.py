"""Item clusters, computed by the recommender from counts of randomised answers.

`spectral_coclusters` is the exception: it clusters items from likes, for comparison.

Source      Banerjee, Hegde, Massoulié (2012), the last steps of Figures 1 to 3. k-means on a line:
            Grønlund et al.: Fast exact k-means in 1D (2017), the divide-and-conquer form.
Deviations  the diagonal of the matrix of pairs is estimated, where the paper leaves it 0; the
            scores of MaxSense are shares of ones, where the paper has counts.
Added       k-means in one dimension is exact; the number of clusters can be chosen by the known
            noise; `confidence` tells how stable each label is. None of this costs epsilon, as it
            reads nothing but counts of randomised answers.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.sketches.counting import ItemCounts, PairCounts, item_counts, pair_counts
from tacit.designs.sketches.messages import MICRO, Campaign, Clusters
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_CLUSTERS = 8
"""Largest number of clusters that is tried if the number is to be chosen."""
_NOISE_DEVIATIONS = 3.0
"""Standard deviations by which a sum of squared noises may exceed its mean."""
_DIAGONAL_ITERATIONS = 10
"""Number of times that the diagonal of the matrix of pairs is estimated again."""
_DENSE_ITEMS = 400
"""Largest number of items for which all eigenvalues are computed. With more items, only those of
largest absolute value are, unless all are needed."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """Clusters of items, and the scores they were found by."""

    labels: Ints
    """(N,) number of each item's cluster, from 0. Clusters that are found from counts are in
    ascending order of their mean scores."""
    scores: Floats
    """(N,) score of each item; better liked items have higher scores."""

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


def cluster_items(server: Server, clusters: int | None = None) -> Clustering:
    """Cluster the items by the counts of a server, with the campaign's method.

    Args:
        server: The server that counted the reports.
        clusters: Number of clusters; None to choose it, see `score_clusters` and `pair_clusters`.

    Raises:
        ConfigError: The number is below 1 or above the number of items.
    """
    if server.campaign.asks_about_sets:
        return score_clusters(item_counts(server), clusters)
    return pair_clusters(pair_counts(server), clusters)


def score_clusters(counts: ItemCounts, clusters: int | None = None) -> Clustering:
    """Cluster items by one-dimensional k-means on their scores, the last step of MaxSense.

    Args:
        counts: Counts of answers by item.
        clusters: L, number of clusters; None for the smallest number with which the spread of
            scores within clusters is no larger than noise explains, but at most MOST_CLUSTERS.

    Raises:
        ConfigError: The number is below 1 or above the number of items.
    """
    scores = counts.normalised_scores
    if clusters is None:
        clusters = _choose_line_clusters(counts)
    _check_clusters(clusters, len(scores))
    return Clustering(kmeans_line(scores, clusters), scores)


def pair_clusters(counts: PairCounts, clusters: int | None = None) -> Clustering:
    """Cluster items by the eigenvectors of the matrix of their pairs' counts.

    An item's score is the number of ones among the answers about its pairs, divided by the largest
    such number of any item, or by 1 if that is 0.

    Args:
        counts: Counts of answers by pair.
        clusters: L, number of clusters; None for the number of eigenvalues that exceed those of
            noise, but at least 1 and at most MOST_CLUSTERS.

    Raises:
        ConfigError: The number is below 1 or above the number of items.
    """
    matrix = counts.matrix()
    if clusters is None:
        clusters = _choose_pair_clusters(matrix)
    _check_clusters(clusters, len(matrix))
    scores = matrix.sum(axis=1)
    labels = kmeans(spectral_embedding(matrix, clusters), clusters)
    sizes = np.maximum(np.bincount(labels), 1)
    mean_scores = np.bincount(labels, scores) / sizes
    rank_of_cluster = np.argsort(np.argsort(mean_scores, kind="stable"))
    ranked_labels = rank_of_cluster[labels].astype(np.int64)
    return Clustering(ranked_labels, scores / max(1.0, scores.max()))


def confidence(
    counts: ItemCounts | PairCounts, clustering: Clustering, *, resamples: int = 20, seed: int = 0
) -> Floats:
    """Measure how often each item keeps its label if the answers are resampled (bootstrap).

    In each resample, the answers about an item (or pair) are drawn with replacement from the
    answers that were counted for it. The new clusters are renumbered so that as many items as
    possible keep their labels.

    Args:
        counts: Counts that were clustered.
        clustering: Clusters found from them.
        resamples: Number of resamples, at least 1.
        seed: Seed of the resampling; it does not affect privacy.

    Returns:
        (N,) share of the resamples in which each item has the same label as in `clustering`.

    Raises:
        ConfigError: `resamples` is below 1.
    """
    from scipy.optimize import linear_sum_assignment  # imported here, since it is slow

    if resamples < 1:
        raise ConfigError(f"A confidence needs at least one resample; got {resamples}.")
    generator = np.random.default_rng(seed)
    shares = counts.ones / np.maximum(counts.asked, 1)
    clusters = clustering.clusters
    agreements = np.zeros(len(clustering.labels))
    for _ in range(resamples):
        resampled = replace(counts, ones=generator.binomial(counts.asked, shares))
        if isinstance(resampled, ItemCounts):
            new_labels = score_clusters(resampled, clusters).labels
        else:
            new_labels = pair_clusters(resampled, clusters).labels
        common_items = np.zeros((clusters, clusters), dtype=np.int64)
        np.add.at(common_items, (new_labels, clustering.labels), 1)
        # Numbers of clusters are arbitrary: match new and old ones so that most items agree.
        _, old_label_of_new = linear_sum_assignment(common_items, maximize=True)
        agreements += old_label_of_new[new_labels] == clustering.labels
    return agreements / resamples


def spectral_embedding(matrix: Floats, dimensions: int) -> Floats:
    """Embed items by the eigenvectors of the eigenvalues of largest absolute value, times sqrt(N).

    Args:
        matrix: (N, N) symmetric counts, with 0 on the diagonal. `_fill_diagonal` estimates it.
        dimensions: Number of eigenvectors.

    Returns:
        (N, dimensions) one row for each item.
    """
    _, vectors = _spectrum(_fill_diagonal(matrix, dimensions), dimensions)
    rows: Floats = vectors * np.sqrt(len(matrix))
    return rows


def _fill_diagonal(matrix: Floats, dimensions: int) -> Floats:
    """Return the matrix of counts (N, N) with an estimated diagonal, about which nobody is asked.

    The first estimate of an item's entry is the mean of its counts with other items. Each iteration
    approximates the matrix by its `dimensions` eigenvalues of largest absolute value, and takes the
    diagonal of the approximation. Source: Zhang, Cai, Wu: Heteroskedastic PCA (2022).

    The paper leaves the diagonal 0. This lowers all eigenvalues by about the missing entry, so that
    the negative ones, which are noise, become larger in absolute value.
    """
    filled = matrix + np.diag(matrix.sum(axis=1) / (len(matrix) - 1))
    for _ in range(_DIAGONAL_ITERATIONS):
        values, vectors = _spectrum(filled, dimensions)
        np.fill_diagonal(filled, (vectors**2) @ values)
    return filled


def _spectrum(matrix: Floats, dimensions: int) -> tuple[Floats, Floats]:
    """Compute the eigenvalues of largest absolute value, the largest first, and their eigenvectors.

    Args:
        matrix: (N, N), symmetric.
        dimensions: Number of eigenvalues, at most N.

    Returns:
        (dimensions,) eigenvalues with their signs, and (N, dimensions) eigenvectors in columns.
    """
    if dimensions >= len(matrix) or len(matrix) <= _DENSE_ITEMS:
        values, vectors = np.linalg.eigh(matrix)
    else:
        from scipy.sparse.linalg import eigsh  # imported here, since it is slow

        # A fixed start, so that equal counts give equal clusters.
        start = np.full(len(matrix), 1 / np.sqrt(len(matrix)))
        values, vectors = eigsh(matrix, k=dimensions, which="LM", v0=start)
    largest = np.argsort(-np.abs(values), kind="stable")[:dimensions]
    return values[largest], vectors[:, largest]


def publish(campaign: Campaign, clustering: Clustering) -> Clusters:
    """Make the message from which devices read the clusters.

    Scores are divided by the largest absolute score, if that is above 1, and rounded to millionths.

    Raises:
        ConfigError: There are more than 256 clusters, or another number of items than the campaign
            has.
    """
    if clustering.clusters > 256:
        raise ConfigError(f"A label is one byte: at most 256 clusters, not {clustering.clusters}.")
    scale = max(1.0, float(np.abs(clustering.scores).max()))
    scores = np.round(clustering.scores / scale * MICRO).astype(np.int64).tolist()
    labels = bytes(clustering.labels.astype(np.uint8).tolist())
    if len(labels) != campaign.n_items:
        raise ConfigError(
            f"These are labels of {len(labels)} items; the campaign has {campaign.n_items}."
        )
    return Clusters(campaign.digest, campaign.catalogue_digest, labels, tuple(scores))


def _choose_line_clusters(counts: ItemCounts) -> int:
    """Choose the smallest number of clusters whose residual is no larger than noise explains.

    The residual is the sum of squared distances of the N scores p from their clusters' means. By
    binomial noise alone its mean is the sum of p (1 - p) / asked, and its standard deviation about
    sqrt(2 / N) times that. Noise explains up to three standard deviations above the mean. The
    largest number, MOST_CLUSTERS or N if that is less, is chosen if no smaller one is.
    """
    shares = counts.normalised_scores
    mean_noise = float(np.sum(shares * (1 - shares) / np.maximum(counts.asked, 1)))
    allowed_residual = mean_noise * (1 + _NOISE_DEVIATIONS * np.sqrt(2 / len(shares)))
    most = min(MOST_CLUSTERS, len(shares))
    for clusters in range(1, most):
        labels = kmeans_line(shares, clusters)
        means = np.bincount(labels, shares) / np.bincount(labels)
        residual = float(np.sum((shares - means[labels]) ** 2))
        if residual <= allowed_residual:
            return clusters
    return most


def _choose_pair_clusters(matrix: Floats) -> int:
    """Choose the smallest number of clusters such that the next eigenvalue may be noise.

    The largest eigenvalue of a random symmetric (N, N) matrix, whose entries have the variance v,
    is about 2 sqrt(N v), and varies by about the share N^(-2/3) of that. The largest number,
    MOST_CLUSTERS or N - 1 if that is less, is chosen if no smaller one is.
    """
    size = len(matrix)
    # The mean count, an upper bound of the variance of a count
    variance = matrix.sum() / (size * (size - 1))
    largest_of_noise = 2 * np.sqrt(size * variance) * (1 + size ** (-2 / 3))
    most = min(MOST_CLUSTERS, size - 1)
    for clusters in range(1, most):
        values, _ = _spectrum(_fill_diagonal(matrix, clusters), clusters + 1)
        if abs(values[clusters]) <= largest_of_noise:
            return clusters
    return most


def _check_clusters(clusters: int, items: int) -> None:
    """Raise ConfigError unless the number of clusters is from 1 to the number of items."""
    if not 1 <= clusters <= items:
        raise ConfigError(
            f"The number of clusters is from 1 to {items}, the number of items; got {clusters}."
        )


def kmeans_line(values: Floats, clusters: int) -> Ints:
    """Split values into clusters with the least sum of squares within clusters (exact k-means).

    Args:
        values: (n,) values, in any order.
        clusters: Number of clusters, from 1 to n.

    Returns:
        (n,) labels from 0, in ascending order of the values. If there are more clusters than
        different values, some equal values have different labels.
    """
    order = np.argsort(values, kind="stable")
    starts = _find_cluster_starts(values[order], clusters)
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.searchsorted(starts, np.arange(len(values)), side="right")
    return labels


class _Search(NamedTuple):
    """A range of numbers m for which a search is still to be made.

    It looks for the best start of the last cluster, if the first m values are clustered.
    """

    low: int
    """Smallest m."""
    high: int
    """Largest m."""
    first_start: int
    """Smallest position at which the last cluster can begin, for all these m."""
    last_start: int
    """Largest position at which the last cluster can begin, for all these m."""


def _find_cluster_starts(ordered: Floats, clusters: int) -> Ints:
    """Find the positions at which the second and all later clusters of ordered values begin.

    Dynamic programme over the number of clusters k. The least cost of the first m values in k
    clusters is the minimum, over the start s of the last cluster, of the least cost of the first s
    values in k - 1 clusters plus the cost of values s .. m - 1. The best s does not fall as m
    grows, so the best s of a middle m limits the range of s for all smaller and all larger m.

    Args:
        ordered: (n,) ascending values.
        clusters: Number of clusters.

    Returns:
        (clusters - 1,) ascending positions.
    """
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
    least_costs = np.concatenate([[0.0], cost(np.zeros(size, dtype=np.int64), ends)])
    last_starts = []  # last_starts[k - 2][m]: where the last of k clusters of m values begins
    for k in range(2, clusters + 1):
        new_costs = np.full(size + 1, np.inf)
        last_start = np.zeros(size + 1, dtype=np.int64)
        smallest_m = size if k == clusters else k  # in the last round only m = size is needed
        searches = [_Search(smallest_m, size, k - 1, size - 1)]
        while searches:
            search = searches.pop()
            if search.low > search.high:
                continue
            middle = (search.low + search.high) // 2
            starts = np.arange(search.first_start, min(search.last_start, middle - 1) + 1)
            totals = least_costs[starts] + cost(starts, np.full(len(starts), middle))
            cheapest = int(np.argmin(totals))
            best_start = int(starts[cheapest])
            new_costs[middle] = totals[cheapest]
            last_start[middle] = best_start
            searches += [
                _Search(search.low, middle - 1, search.first_start, best_start),
                _Search(middle + 1, search.high, best_start, search.last_start),
            ]
        least_costs = new_costs
        last_starts.append(last_start)
    cluster_starts = []
    end = size
    for last_start in reversed(last_starts):
        end = int(last_start[end])
        cluster_starts.append(end)
    return np.array(cluster_starts[::-1], dtype=np.int64)


def kmeans(points: Floats, clusters: int) -> Ints:
    """Cluster (n, d) points by the best of ten runs of Lloyd's algorithm: (n,) labels from 0."""
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning about fewer different points than clusters
        labels: Ints = KMeans(clusters, n_init=10, random_state=0).fit_predict(points)
    return labels.astype(np.int64)


def spectral_coclusters(likes: sparse.csr_array, clusters: int, *, seed: int) -> Ints:
    """Cluster items without privacy, by spectral co-clustering of people and items.

    Experiments compare sketches with this method. Items that nobody likes are put into the largest
    cluster of liked items. Source: Dhillon, Co-clustering documents and words using bipartite
    spectral graph partitioning (2001), as implemented in scikit-learn.

    Args:
        likes: (people, items), 1 for a like.
        clusters: Number of clusters.
        seed: Seed of the singular value decomposition and of the k-means step.

    Returns:
        (items,) labels from 0.

    Raises:
        DataError: At most `clusters` people like something, or at most `clusters` items are liked.
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
