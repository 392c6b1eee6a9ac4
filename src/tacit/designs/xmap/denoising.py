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
_ROUNDS = 30  # of variational updates


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
    seen = np.isfinite(noise)
    trust = 1 / (noise[seen] + least) ** 2
    excess = (values[seen] - prior[seen]) ** 2 - noise[seen]
    return max(least, float((trust * excess).sum() / trust.sum()))


def along_popularity(values: Floats, noise: Floats, counts: Floats, least: float) -> Floats:
    """(items,) weighted straight line of the values over log counts: a prior that costs nothing."""
    trust = 1 / (noise + least)
    design = np.stack([np.ones_like(counts), np.log(counts)], axis=1)
    normal = design.T @ (design * trust[:, None]) + 1e-9 * np.eye(2)
    line: Floats = design @ np.linalg.solve(normal, design.T @ (trust * values))
    return line


class Factors(NamedTuple):
    """Posterior of the items' factors: means (items, d), covariances (items, d, d); prior: (d,)
    variances of each factor over the items."""

    means: Floats
    covariances: Floats
    prior: Floats


def head_factors(gram: Floats, sizes: Floats, noise: Floats, taste: float, factors: int) -> Factors:
    """Factors q of a few items from products seen with noise: gram_ij = sizes_i sizes_j q_i.q_j.

    gram: symmetric; its diagonal is ignored, for it holds the spread of single ratings. noise:
    (items, items) variances. taste: of all factors together, to begin with. Variational Bayes with
    one prior variance per factor, found along the way: a factor that the noise hides is switched
    off (Nakajima, Sugiyama, Babacan, Tomioka, 2013).
    """
    items = len(gram)
    rank = min(factors, items - 1)
    table, weight = gram.copy(), np.outer(sizes, sizes)
    np.fill_diagonal(table, 0)
    precision = weight**2 / noise
    np.fill_diagonal(precision, 0)
    told = weight / noise * table
    values, vectors = np.linalg.eigh(table / np.sqrt(noise.mean()))
    means = np.zeros((items, factors))
    means[:, :rank] = vectors[:, ::-1][:, :rank] * np.sqrt(np.maximum(values[::-1][:rank], 0))
    means *= noise.mean() ** 0.25 / sizes[:, None]
    prior = np.full(factors, taste / factors)
    covariances = np.tile(np.diag(prior) * 0.1, (items, 1, 1))
    for _ in range(_ROUNDS):
        for item in range(items):
            outer = means[:, :, None] * means[:, None, :] + covariances
            sharp = np.diag(1 / prior) + np.tensordot(precision[item], outer, 1)
            covariances[item] = np.linalg.inv(sharp)
            means[item] = covariances[item] @ (told[item] @ means)
        found = (means**2).mean(axis=0) + np.diagonal(covariances, axis1=1, axis2=2).mean(axis=0)
        prior = np.maximum(found, 1e-6 * taste)
    return Factors(means, covariances, prior)


def updated(
    before: Factors, seen: Floats, second: Floats, noise: Floats, chance: Floats
) -> Factors:
    """The same items after seeing `second` @ q with noise: a Kalman step for each.

    seen: (items, d). second: (d, d) second moment of the tastes the sums were taken with. noise:
    (items,) variances of every entry, inf where nothing was seen; chance: (items,) what multiplies
    `second` to give the covariance of the sampling error.
    """
    unit = np.eye(len(second))
    there = np.isfinite(noise)
    covariance = before.covariances
    spread = second @ covariance @ second
    total = spread + chance[:, None, None] * second
    total += np.where(there, noise, 1)[:, None, None] * unit
    gain = covariance @ second @ np.linalg.inv(total)
    gain[~there] = 0
    surprise = seen - before.means @ second
    means = before.means + np.einsum("iab,ib->ia", gain, np.where(there[:, None], surprise, 0))
    left = covariance - gain @ second @ covariance
    return Factors(means, (left + left.transpose(0, 2, 1)) / 2, before.prior)
