"""Discrete Laplace noise on integers, from OpenDP's exact sampler.

Source     Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy mechanisms
           (STOC 2009); sampler: Canonne, Kamath, Steinke (2020), as implemented in OpenDP.
Guarantee  (L1 sensitivity / scale, 0)-differential privacy; OpenDP draws from the system's
           generator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """`values` (n,) plus independent noise with P(k) proportional to exp(-|k| / scale)."""
    if not np.isfinite(scale) or scale <= 0:
        raise ConfigError(f"A noise scale is a finite number above 0; got {scale}.")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=float(scale)
    )
    return np.asarray(measurement(values.tolist()), dtype=np.int64)
