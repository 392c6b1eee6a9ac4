"""Released linear maps of tastes, which sums 2b and 3 use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre, TasteMap

Floats = NDArray[np.float64]

LEAST_REST = 1e-9
"""A like is left out where all other weights of the person add up to at most this."""


def taste_map(matrix: Floats, centre: ProfileCentre, targets: sparse.csr_array) -> TasteMap:
    """Map the mean profile and each target item's features.

    Args:
        matrix: (f, d) released map.
        centre: The mean profile (f,).
        targets: (target items, f) features.
    """
    images = np.ascontiguousarray(targets @ matrix)
    return TasteMap(matrix, map_features(centre.mean, matrix), images)


def map_features(vector: Floats, matrix: Floats) -> Floats:
    """Return `matrix.T @ vector`, added up feature by feature: equal to the bit everywhere."""
    image = np.zeros(matrix.shape[1])
    for share, row in zip(vector, matrix, strict=True):
        if share != 0:
            image += share * row
    return image


def orient_columns(vectors: Floats) -> Floats:
    """Give each column the sign that makes its largest entry positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
