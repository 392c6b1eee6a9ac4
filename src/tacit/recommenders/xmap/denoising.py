"""From noisy sums to numbers about items: shrinkage by the known level of noise, and nothing else.

Sees     released sums, the standard deviation of their noise, public settings. Never a rating.
Source   water filling: Cover and Thomas, Elements of information theory, 9.4; singular values under
         noise: Benaych-Georges and Nadakuditi (2011), Gavish and Donoho (2017); shrinkage of many
         means: Efron and Morris (1973).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROUNDS = 20  # of filling in the diagonal


class Estimate(NamedTuple):
    """Posterior means and variances, one row per item."""

    values: Floats
    variances: Floats


def water_filling(counts: Floats, worth: float) -> Floats:
    """(items,) weights of a person's entries whose squares, times counts, add up to 1.

    An item with n ratings and share t of the budget is known with a signal-to-noise ratio of
    n t worth. What is known of all ratings together is largest for t = c - 1 / (n worth), where
    that is positive: all popular items alike, rare ones nothing. worth inf: all items.
    """
    if np.isinf(worth):
        return np.full(len(counts), 1 / np.sqrt(counts.sum()))
    costs = np.sort(1 / (counts * worth))
    levels = (1 + np.cumsum(costs)) / np.arange(1, len(costs) + 1)
    level = levels[np.flatnonzero(levels > costs)[-1]]
    shares: Floats = np.maximum(0, level - 1 / (counts * worth))
    return np.sqrt(shares / counts)


def shrunk(values: Floats, noise: Floats, prior: Floats, spread: Floats | float) -> Estimate:
    """Normal posterior for values seen with `noise` (variances, inf where nothing was seen)."""
    trust = np.where(np.isinf(noise), 0, spread / (spread + np.where(np.isinf(noise), 1, noise)))
    seen = np.where(np.isinf(noise), prior, values)
    return Estimate(prior + trust * (seen - prior), (1 - trust) * spread)


def spread_of(values: Floats, noise: Floats, prior: Floats, least: float) -> float:
    """Variance of the true values around the prior, by moments; noisy ones weigh little."""
    trust = 1 / (noise + least) ** 2
    return max(least, float((trust * ((values - prior) ** 2 - noise)).sum() / trust.sum()))


def along_popularity(values: Floats, noise: Floats, counts: Floats, least: float) -> Floats:
    """(items,) weighted straight line of the values over log counts: a prior that costs nothing."""
    trust = 1 / (noise + least)
    design = np.stack([np.ones_like(counts), np.log(counts)], axis=1)
    normal = design.T @ (design * trust[:, None]) + 1e-9 * np.eye(2)
    line: Floats = design @ np.linalg.solve(normal, design.T @ (trust * np.where(trust, values, 0)))
    return line


def head_factors(gram: Floats, factors: int, deviation: float) -> Floats:
    """(items, factors) rows whose products are the off-diagonal entries without their noise.

    gram: symmetric; its diagonal, which holds noise of the ratings themselves, is ignored and
    filled in. deviation: of an off-diagonal entry. Eigenvalues within the noise's edge are dropped,
    the others and their vectors are shrunk as far as the noise has turned them.
    """
    table = gram.copy()
    edge = 2 * np.sqrt(len(table)) * deviation
    rank = min(factors, max(1, len(table) - 1))
    diagonal = np.zeros(len(table))
    for _ in range(_ROUNDS):
        np.fill_diagonal(table, diagonal)
        values, vectors = np.linalg.eigh(table)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        root = np.sqrt(np.maximum(values**2 - edge**2, 0))
        true = np.where(values > edge, (values + root) / 2, 0)
        diagonal = (vectors**2) @ true
    kept = np.where(true > 0, 1 - (edge / 2 / np.where(true > 0, true, 1)) ** 2, 0)
    rows = np.zeros((len(table), factors))
    rows[:, :rank] = vectors * np.sqrt(true * kept)
    return rows
