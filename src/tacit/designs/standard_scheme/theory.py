"""Closed formulas of the standard scheme. Pure: no data, no randomness.

Source     the patent: equations (3), (4) and (7), Theorem 1 with Lemmas 1 and 2; a correction is
           marked *.
Model      equation (1): r_i = <v_i, x> + x0 v_i0 + z_i with independent noise of mean 0 and
           variance sigma^2. `profiles` are the (items, d) v_i, `gaps` the (items,) v_i0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def keep_probability(p_own: Floats, p_all: Floats) -> Floats:
    """* Equation (7) with min, where the patent prints max: min(1, min_c p_c / p_own).

    Then P(item shown | value) = min_c p_c for every value. The sound variant multiplies it with a
    cap below 1, the same for every value, which changes nothing about that.

    Args:
        p_own: (n,) chance that an item is rated, for the person's own value.
        p_all: (values, n) chances for every value.

    Returns:
        (n,) chances that a rated item is shown.
    """
    kept: Floats = np.minimum(1.0, p_all.min(axis=0) / p_own)
    return kept


def quantile_coupling(own: Floats, target: Floats) -> Floats:
    """Monotone coupling of two distributions over the stars.

    Both are laid on [0, 1) as intervals, and a star is released as whatever target interval lies
    over its own. A star of chance 0 is released as itself: nobody gives it.

    Args:
        own: (..., levels) distribution of the true stars.
        target: (..., levels) distribution of the released ones.

    Returns:
        (..., levels, levels) chances P(released | own star).
    """
    high_own, high_target = np.cumsum(own, axis=-1), np.cumsum(target, axis=-1)
    low_own, low_target = high_own - own, high_target - target
    overlap = np.minimum(high_own[..., :, None], high_target[..., None, :]) - np.maximum(
        low_own[..., :, None], low_target[..., None, :]
    )
    overlap = np.maximum(overlap, 0.0)
    mass = overlap.sum(axis=-1, keepdims=True)
    itself = np.broadcast_to(np.eye(own.shape[-1]), overlap.shape)
    return np.where(mass > 0, overlap / np.where(mass > 0, mass, 1.0), itself)


def least_squares_risk(profiles: Floats, sigma: float) -> float:
    """Equation (4): sigma^2 tr[(sum v_i v_i^T)^-1], the same for every x and x0.

    The mean squared error of equation (3)'s estimate of x from y_i = r_i - x0 v_i0. Infinity where
    the profiles do not span all d dimensions.
    """
    if np.linalg.matrix_rank(profiles) < profiles.shape[1]:
        return math.inf
    return float(sigma**2 * np.trace(np.linalg.inv(profiles.T @ profiles)))


def risk_ignoring_attribute(profiles: Floats, gaps: Floats, sigma: float) -> float:
    """Risk of least squares on true ratings by a recommender that takes x0 v_i0 for noise.

    Equation (4) plus the squared bias |V^+ v_0|^2, whatever the attribute.
    """
    bias = np.linalg.pinv(profiles) @ gaps
    return least_squares_risk(profiles, sigma) + float(bias @ bias)


def risk_estimating_attribute(profiles: Floats, gaps: Floats, sigma: float) -> float:
    """Risk in x of least squares on true ratings that estimates x0 as one coordinate more.

    sigma^2 times the trace of x's block of (W^T W)^-1 with W = [V, v_0].
    """
    width = profiles.shape[1]
    augmented = np.column_stack([profiles, gaps])
    inverse = np.linalg.inv(augmented.T @ augmented)
    return float(sigma**2 * np.trace(inverse[:width, :width]))


def bayes_risk(profiles: Floats, sigma: float, prior_sd: float) -> float:
    """Lemma 1, as its proof has it: with Gaussian noise no estimator has a smaller supremum.

    The least mean risk of any estimator if x is normal with this standard deviation in each
    coordinate: tr[(V^T V / sigma^2 + I / prior_sd^2)^-1]. It bounds every estimator's worst risk
    from below, and tends to equation (4) as the prior widens.
    """
    width = profiles.shape[1]
    precision = profiles.T @ profiles / sigma**2 + np.eye(width) / prior_sd**2
    return float(np.trace(np.linalg.inv(precision)))


def worst_ridge_risk(profiles: Floats, sigma: float, penalty: float, radius: float) -> float:
    """Largest risk of ridge regression over all x of length `radius` or less.

    With A = V^T V + penalty I: variance sigma^2 tr(A^-1 V^T V A^-1), and squared bias at most
    (penalty radius / smallest eigenvalue of A)^2. Unbounded in the radius unless the penalty is 0.
    """
    gram = profiles.T @ profiles
    inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
    variance = sigma**2 * float(np.trace(inverse @ gram @ inverse))
    bias = penalty * radius * float(np.linalg.eigvalsh(inverse).max())
    return variance + bias**2


def least_risk_of_coarse_disclosure(gap_difference: float, profile: float, radius: float) -> float:
    """Theorem 1, part 3: what a private scheme loses that cannot distinguish two gaps.

    By Lemma 2 its output has the same law for x and for x + K xi / v, with xi twice the difference
    of the gaps and any whole K. Among |x| <= radius some x then has at least the square of half the
    largest such distance for its risk, whatever the estimator.
    """
    period = abs(2 * gap_difference / profile)
    distance = period * math.floor(2 * radius / period)
    return (distance / 2) ** 2
