"""OpenDP's exact samplers of discrete noise, on integers.

They draw from the operating system's generator and take no seed.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Add noise k with P(k) proportional to exp(-|k| / scale) to `values` (any shape)."""
    return _add_noise(_laplace_measurement(scale), values)


def discrete_gaussian(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """Add noise k with P(k) proportional to exp(-k^2 / (2 sigma^2)) to `values` (any shape)."""
    return _add_noise(_gaussian_measurement(sigma), values)


# A measurement holds its scale and no random state, so keeping it repeats no draw.
@lru_cache(maxsize=64)
def _laplace_measurement(scale: float) -> Any:
    vectors, measurements, metrics = _opendp()
    return measurements.make_laplace(vectors, metrics.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=64)
def _gaussian_measurement(sigma: float) -> Any:
    vectors, measurements, metrics = _opendp()
    return measurements.make_gaussian(vectors, metrics.l2_distance(T="f64"), scale=sigma)


def _add_noise(measurement: Any, values: NDArray[np.int64]) -> NDArray[np.int64]:
    noisy = measurement(values.ravel().tolist())
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)


@cache
def _opendp() -> tuple[Any, Any, Any]:
    """Load the domain of integer vectors and two modules of OpenDP.

    Its prelude would load scikit-learn as well, where that is installed.
    """
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")
    vectors = domains.vector_domain(domains.atom_domain(T="i64"))
    return vectors, measurements, metrics
