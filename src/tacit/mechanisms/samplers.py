"""OpenDP's exact samplers, on integers. They draw from the system's generator and take no seed."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """`values` (any shape) plus noise with P(k) proportional to exp(-|k| / scale)."""
    return _apply(_laplace(scale), values)


def discrete_gaussian(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """`values` (any shape) plus noise with P(k) proportional to exp(-k^2 / (2 sigma^2))."""
    return _apply(_gaussian(sigma), values)


def noisy_max(rows: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """For each row, the index of the largest score with exponential noise of that scale added."""
    dp = _opendp()
    measurement = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64"),
        dp.max_divergence(),
        scale,
    )
    return np.array([measurement(row.tolist()) for row in rows], dtype=np.int64)


# A measurement holds its scale and no random state, so keeping it repeats no draw.
@lru_cache(maxsize=64)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    return dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale
    )


@lru_cache(maxsize=64)
def _gaussian(sigma: float) -> Any:
    dp = _opendp()
    return dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=sigma
    )


def _apply(measurement: Any, values: NDArray[np.int64]) -> NDArray[np.int64]:
    noisy = measurement(values.ravel().tolist())
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)


@lru_cache(maxsize=1)
def _opendp() -> Any:
    """The parts of OpenDP that are used here: its prelude loads scikit-learn, if that is there."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    return SimpleNamespace(
        m=measurements,
        atom_domain=domains.atom_domain,
        vector_domain=domains.vector_domain,
        l1_distance=metrics.l1_distance,
        l2_distance=metrics.l2_distance,
        linf_distance=metrics.linf_distance,
        max_divergence=measures.max_divergence,
    )
