"""Exact discrete noise on integers, from the operating system's generator; no seed.

Noise of a scale up to 2^48 is drawn by `blocks`. Larger noise is drawn by OpenDP (the extra
`opendp`), with which the tests also compare `blocks`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import MissingExtra
from tacit.mechanisms import blocks
from tacit.mechanisms.blocks import LARGEST_SCALE


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Add noise with P(k) proportional to exp(-|k| / scale).

    Args:
        values: Integers of any shape.
        scale: Scale of the noise, in steps.

    Returns:
        The sums, cut off at the ends of int64; shape of `values`.

    Raises:
        MissingExtra: The scale is above 2^48 or is 0, so OpenDP is needed, and it is not installed.
    """
    scale = float(scale)
    if 0 < scale <= LARGEST_SCALE:
        return blocks.add_noise(values, "laplace", scale)
    return reference_laplace(values, scale)


def discrete_gaussian(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """Add noise with P(k) proportional to exp(-k^2 / (2 sigma^2)).

    Args:
        values: Integers of any shape.
        sigma: Parameter of the noise, in steps.

    Returns:
        The sums, cut off at the ends of int64; shape of `values`.

    Raises:
        MissingExtra: Sigma is above 2^48 or is 0, so OpenDP is needed, and it is not installed.
    """
    sigma = float(sigma)
    if 0 < sigma <= LARGEST_SCALE:
        return blocks.add_noise(values, "gaussian", sigma)
    return reference_gaussian(values, sigma)


def reference_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Add discrete Laplace noise by OpenDP, one draw at a time; for any scale that it takes."""
    return _add_by_opendp(_laplace_measurement(scale), values)


def reference_gaussian(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """Add discrete Gaussian noise by OpenDP, one draw at a time; for any sigma that it takes."""
    return _add_by_opendp(_gaussian_measurement(sigma), values)


# Measurements are cached: they hold a scale and no random state, so no draw is repeated.
@lru_cache(maxsize=64)
def _laplace_measurement(scale: float) -> Any:
    """Make OpenDP's measurement that adds discrete Laplace noise to a list of integers."""
    vectors, measurements, metrics = load_opendp()
    return measurements.make_laplace(vectors, metrics.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=64)
def _gaussian_measurement(sigma: float) -> Any:
    """Make OpenDP's measurement that adds discrete Gaussian noise to a list of integers."""
    vectors, measurements, metrics = load_opendp()
    return measurements.make_gaussian(vectors, metrics.l2_distance(T="f64"), scale=sigma)


def _add_by_opendp(measurement: Any, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add the noise of a measurement to values; same shape."""
    noisy = measurement(values.ravel().tolist())
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)


@cache
def load_opendp() -> tuple[Any, Any, Any]:
    """Import OpenDP without its usual entry `opendp.prelude`, which would import scikit-learn too.

    Returns:
        OpenDP's domain of integer vectors, its module of measurements, and its module of metrics.

    Raises:
        MissingExtra: OpenDP is not installed.
    """
    try:
        from opendp import domains, measurements, metrics, mod
    except ImportError:
        raise MissingExtra("opendp", "opendp") from None

    # This switch allows constructors whose proofs OpenDP's committee has not vetted yet. Of them,
    # only `make_laplace` and `make_gaussian` are used, both above (docs/decisions/0007).
    mod.enable_features("contrib")
    vectors = domains.vector_domain(domains.atom_domain(T="i64"))
    return vectors, measurements, metrics
