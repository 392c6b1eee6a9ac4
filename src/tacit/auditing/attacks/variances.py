"""How much of what is left of ratings is taste, and how much noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from tacit.auditing.attacks.base import Floats


@dataclass(frozen=True, slots=True)
class Variances:
    """noise: sigma^2, squared stars; kappa = sigma^2 / tau^2, tau^2 the variance of each taste."""

    noise: float
    kappa: float


def estimate_variances(residuals: sparse.csr_array, profiles: Floats) -> Variances:
    """Largest likelihood of people whom the (n_items, d) profiles were not fitted to.

    Each person's residuals are e ~ N(0, sigma^2 (I + V V' / kappa)). With V'V = Q diag(l) Q' and
    b = Q'V'e, minus twice the log likelihood of all N residuals is
        N ln sigma^2 + sum ln(1 + l / kappa) + [sum e^2 - sum b^2 / (l + kappa)] / sigma^2,
    whose best sigma^2 is the bracket over N: a search over kappa alone is left.
    """
    total, count = float(residuals.data @ residuals.data), int(residuals.nnz)
    if total == 0.0:
        return Variances(1.0, 1.0)
    scales, projections = _by_direction(residuals, profiles)
    scale = float(scales.mean())
    if scale == 0.0:  # no profile reaches these people
        return Variances(total / count, 1.0)

    def noise(kappa: float) -> float:
        explained = float(np.sum(projections**2 / (scales + kappa)))
        return max(total - explained, 1e-9 * total) / count

    def loss(log_kappa: float) -> float:
        kappa = float(np.exp(log_kappa))
        return float(count * np.log(noise(kappa)) + np.sum(np.log1p(scales / kappa)))

    centre = np.log(scale)
    found = minimize_scalar(loss, bounds=(centre - 7, centre + 7), method="bounded")
    kappa = float(np.exp(found.x))
    return Variances(noise(kappa), kappa)


def _by_direction(residuals: sparse.csr_array, profiles: Floats) -> tuple[Floats, Floats]:
    """Per person and principal direction of the rated profiles: l and b, each (n_users, d)."""
    grams = np.stack(
        [
            profiles[rated].T @ profiles[rated]
            for rated in np.split(residuals.indices, residuals.indptr[1:-1])
        ]
    )
    scales, directions = np.linalg.eigh(grams)
    projections: Floats = np.einsum("ud,ude->ue", residuals @ profiles, directions)
    return np.maximum(scales, 0.0), projections
