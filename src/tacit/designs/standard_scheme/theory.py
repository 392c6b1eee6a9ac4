"""Closed formulas of the standard scheme: pure functions without data or randomness.

Source     the patent: equations (3), (4) and (7), Theorem 1 with Lemmas 1 and 2. Equation (7) is
           corrected here: see `keep_probability`. `quantile_coupling` is an addition to the patent.
Model      equation (1): r_i = <v_i, x> + x0 v_i0 + z_i with independent noise of mean 0 and
           variance sigma^2. `profiles` are the (items, d) v_i, `gaps` the (items,) v_i0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def keep_probability(p_own: Floats, p_all: Floats) -> Floats:
    """Equation (7), corrected: min(1, min_c p_c / p_own), where the patent prints max(1, ..).

    Then P(item shown | value) = min_c p_c, which is the same for every value. The sound variant
    also multiplies the chance by a cap below 1, which is the same for every value too.

    Args:
        p_own: (n,) chance that an item is rated, for the person's own value.
        p_all: (values, n) chances for every value.

    Returns:
        (n,) chances that a rated item is shown.
    """
    keep: Floats = np.minimum(1.0, p_all.min(axis=0) / p_own)
    return keep


def quantile_coupling(own: Floats, target: Floats) -> Floats:
    """Compute the monotone coupling of two distributions over the levels.

    Each distribution cuts [0, 1) into intervals, one for each level, whose length is the level's
    chance. A true level is released as a target level with a chance in proportion to the overlap of
    their two intervals. A true level of chance 0, which nobody gives, is released as itself.

    Args:
        own: (..., levels) distribution of the true levels.
        target: (..., levels) distribution of the released levels.

    Returns:
        (..., levels, levels) chances P(released | true level).
    """
    # Ends of the intervals: true levels along rows, released levels along columns.
    own_end = np.cumsum(own, axis=-1)
    target_end = np.cumsum(target, axis=-1)
    own_start = own_end - own
    target_start = target_end - target
    overlap_end = np.minimum(own_end[..., :, None], target_end[..., None, :])
    overlap_start = np.maximum(own_start[..., :, None], target_start[..., None, :])
    overlap = np.maximum(overlap_end - overlap_start, 0.0)

    total = overlap.sum(axis=-1, keepdims=True)
    is_given = total > 0
    unchanged = np.broadcast_to(np.eye(own.shape[-1]), overlap.shape)
    return np.where(is_given, overlap / np.where(is_given, total, 1.0), unchanged)


def least_squares_risk(profiles: Floats, sigma: float) -> float:
    """Equation (4): sigma^2 tr[(sum v_i v_i^T)^-1], the same for every x and x0.

    The mean squared error of equation (3)'s estimate of x from y_i = r_i - x0 v_i0. Infinity if the
    profiles do not span all d dimensions.
    """
    if np.linalg.matrix_rank(profiles) < profiles.shape[1]:
        return math.inf
    return float(sigma**2 * np.trace(np.linalg.inv(profiles.T @ profiles)))


def risk_ignoring_attribute(profiles: Floats, gaps: Floats, sigma: float) -> float:
    """Risk of least squares on true ratings by a recommender that treats x0 v_i0 as noise.

    Equation (4) plus the squared bias |V^+ v_0|^2, which is the same for both values of x0.
    """
    bias = np.linalg.pinv(profiles) @ gaps
    return least_squares_risk(profiles, sigma) + float(bias @ bias)


def risk_estimating_attribute(profiles: Floats, gaps: Floats, sigma: float) -> float:
    """Risk in x of least squares on true ratings that estimates x0 as an additional coordinate.

    sigma^2 times the trace of x's (d, d) block of (W^T W)^-1 with W = [V, v_0].
    """
    width = profiles.shape[1]
    augmented = np.column_stack([profiles, gaps])
    inverse = np.linalg.inv(augmented.T @ augmented)
    return float(sigma**2 * np.trace(inverse[:width, :width]))


def bayes_risk(profiles: Floats, sigma: float, prior_sd: float) -> float:
    """Lower bound on every estimator's worst risk, by which Lemma 1 is proved.

    It is the least mean risk of any estimator if the noise is Gaussian and x is normal with
    standard deviation `prior_sd` in each coordinate: tr[(V^T V / sigma^2 + I / prior_sd^2)^-1]. As
    the prior widens it tends to equation (4): no worst risk is smaller than that of least squares.
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
    """Theorem 1, part 3: lower bound on the risk of a scheme that is private under two gaps.

    It is private whichever of them is the true gap, because it cannot know which one that is.

    By Lemma 2 the release has the same law for x and for x + K xi / v, where xi is twice the
    difference of the gaps, v the profile and K any integer. So no estimator can tell apart two such
    x with |x| <= radius, and for one of them its risk is at least the square of half their
    distance.
    """
    period = abs(2 * gap_difference / profile)
    largest_distance = period * math.floor(2 * radius / period)
    return (largest_distance / 2) ** 2
