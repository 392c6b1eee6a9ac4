"""Released linear maps of tastes, which sums 2b and 3 use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre, TasteMap

Floats = NDArray[np.float64]

LEAST_REST = 1e-9
"""A like counts as all that a person has if the weights of the other items add up to at most this.

Without other items there are no tastes: sum 2b leaves the like out, and sum 3 only counts it."""


def taste_map(matrix: Floats, centre: ProfileCentre, targets: sparse.csr_array) -> TasteMap:
    """Prepare a released linear map: compute the images of the mean profile and of the items.

    Args:
        matrix: (f, d) released map.
        centre: Has the mean features (f,) of a profile.
        targets: (target items, f) features.
    """
    images = np.ascontiguousarray(targets @ matrix)
    return TasteMap(matrix, map_features(centre.mean, matrix), images)


def map_features(vector: Floats, matrix: Floats) -> Floats:
    """Return `matrix.T @ vector` (d,), added up in the order of features.

    The order makes the result equal to the last bit on every machine.

    Args:
        vector: (f,) features.
        matrix: (f, d) linear map.
    """
    image = np.zeros(matrix.shape[1])
    for share, row in zip(vector, matrix, strict=True):
        if share != 0:
            image += share * row
    return image


def orient_columns(vectors: Floats) -> Floats:
    """Give each column the sign that makes its entry of largest absolute value positive.

    Singular vectors are defined up to a sign, which differs between machines otherwise.

    Args:
        vectors: (n, k) columns.
    """
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
