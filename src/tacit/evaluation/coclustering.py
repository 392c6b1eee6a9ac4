"""Item clusters from everybody's likes in the clear: what sketches are measured against.

Source   Dhillon: Co-clustering documents and words using bipartite spectral graph partitioning
         (2001), by scikit-learn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import SpectralCoclustering

from tacit.errors import DataError


def spectral_coclusters(
    likes: sparse.csr_array, clusters: int, *, seed: int = 0
) -> NDArray[np.int64]:
    """(n_items,) labels from 0. likes: (n_users, n_items), above 0 where a person likes an item.

    Items that nobody likes say nothing of their cluster and come into the largest one.
    """
    known = np.flatnonzero(np.asarray(likes.sum(axis=0)).ravel() > 0)
    people = np.flatnonzero(np.asarray(likes.sum(axis=1)).ravel() > 0)
    if min(len(known), len(people)) <= clusters:
        raise DataError(
            "there are too few likes to cluster",
            found=f"{len(people)} people who like {len(known)} items",
            expected=f"more than {clusters} of each",
        )
    model = SpectralCoclustering(n_clusters=clusters, random_state=seed)
    model.fit(sparse.csr_matrix(likes[people][:, known]))
    found = np.asarray(model.column_labels_, dtype=np.int64)
    labels = np.full(likes.shape[1], np.bincount(found).argmax(), dtype=np.int64)
    labels[known] = found
    return labels
