"""Lists that devices make from published clusters, for all people at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.sketches.messages import Clusters

Ints = NDArray[np.int64]


def lists_at_home(
    clusters: Clusters, rated: sparse.csr_array, likes: sparse.csr_array, *, n: int
) -> Ints:
    """(people, n) item numbers, -1 where there are none left: as `Device.recommend` orders them.

    rated: (people, items), what is seen and left out. likes: the same shape.
    """
    labels = np.frombuffer(clusters.labels, dtype=np.uint8).astype(np.int64)
    scores = np.asarray(clusters.scores, dtype=np.int64)
    items = len(labels)
    member = np.zeros((items, int(labels.max()) + 1))
    member[np.arange(items), labels] = 1.0
    shares = (1 + (likes != 0).astype(float) @ member) / (2 + (rated != 0).astype(float) @ member)
    by_score = np.empty(items, dtype=np.int64)
    by_score[np.lexsort((np.arange(items), -scores))] = np.arange(items)
    lists = np.full((rated.shape[0], n), -1, dtype=np.int64)
    for person in range(rated.shape[0]):
        # Equal shares get equal ranks, so that the score decides among their clusters.
        _, rank = np.unique(-shares[person], return_inverse=True)
        order = rank[labels] * items + by_score
        order[rated.indices[rated.indptr[person] : rated.indptr[person + 1]]] = items * items
        best = np.argsort(order)[:n]
        best = best[order[best] < items * items]
        lists[person, : len(best)] = best
    return lists
