"""Shrunk estimates of how people with each attribute value rate an item, and how often.

Runs at     the recommender.
Sees        `people.Statistics`, and which items have enough raters.
Why shrink  For two values, x0 = 1 and x0 = -1, x0 times half of the gap between their means is
            subtracted from a level. A raw half gap is the true one plus an error e. So -x0 e is
            added to the release, and an attacker who knows the public gaps finds it: on real
            ratings this error alone reveals the attribute *better* than true stars do, with the
            opposite sign. If the
            best prediction of the gap for unseen people is subtracted, the error has mean zero
            against every attack built on the same data. So offsets and couplings are shrunk by the
            amount that predicts left-out people best, and chances to rate an item are posterior
            means.
Coarse      In the sound variant, counts, histograms and sums of deviations are rounded to multiples
            of ROUNDED_TO before the estimates are made. Only the numbers of pseudo-ratings are
            chosen from unrounded sums: each is one of sixteen numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tacit.designs.standard_scheme.theory import quantile_coupling
from tacit.designs.standard_scheme.training.people import Floats, Statistics

ROUNDED_TO = 5
"""Counts and sums are rounded to multiples of this."""
LEAST_LEVEL_CHANCE = 1e-4
"""Least chance of each released level, for every item, true level and attribute value."""
_PSEUDO_RATINGS: list[float] = np.geomspace(1.0, 1000.0, 16).tolist()
"""Numbers of pseudo-ratings that are tried."""
_LOG_ODDS = np.linspace(-4.0, 4.0, 49)
"""Grid of log odds ratios, relative to the centre of `profile_likelihood`."""


def estimate_offsets(statistics: Statistics, *, shrink: bool = True) -> Floats:
    """Estimate the offsets, in levels, that the scheme subtracts from true levels.

    The offset of a value says how much higher people with this value rate an item than the average
    over the values.

    Args:
        statistics: Sums of one attribute.
        shrink: Whether each value's mean of an item is pulled towards the item's mean, and counts
            and sums are rounded first; False: plain means, as published.

    Returns:
        (values, items) offsets, with mean 0 over the values: for two values, plus and minus half of
        the gap between their means.
    """
    pseudo = _choose_pseudo_ratings(statistics) if shrink else 0.0
    counts = statistics.counts.sum(axis=0)
    sums = statistics.sums.sum(axis=0)
    return _offsets(counts, sums, pseudo, coarse=shrink)


def _choose_pseudo_ratings(statistics: Statistics) -> float:
    """Choose one of `_PSEUDO_RATINGS` by cross-validation over the parts of the people.

    Each part is left out in turn. The number is chosen for which offsets from the other parts have
    the least squared error on the left-out part, summed over the parts.
    """
    counts = statistics.counts.sum(axis=0)
    sums = statistics.sums.sum(axis=0)
    losses = np.zeros(len(_PSEUDO_RATINGS))
    for left_out_counts, left_out_sums in zip(statistics.counts, statistics.sums, strict=True):
        left_out_means = mean_or_default(left_out_sums, left_out_counts, 0.0)
        other_counts = counts - left_out_counts
        deviation_sums = _sum_deviations(other_counts, sums - left_out_sums)
        for index, pseudo in enumerate(_PSEUDO_RATINGS):
            offsets = _shrink_deviations(deviation_sums, other_counts, pseudo)
            losses[index] += _unexplained_error(left_out_counts, left_out_means - offsets)
    return _PSEUDO_RATINGS[int(np.argmin(losses))]


def round_counts(counts: Floats) -> Floats:
    """Round counts, or sums, to the nearest multiples of ROUNDED_TO."""
    return np.asarray(ROUNDED_TO * np.round(counts / ROUNDED_TO))


def _offsets(counts: Floats, sums: Floats, pseudo: float, coarse: bool = False) -> Floats:
    """Compute offsets: how the mean of each value deviates from the item's mean, shrunk.

    Args:
        counts: (values, items) numbers of ratings.
        sums: (values, items) sums of levels.
        pseudo: Number of pseudo-ratings at the item's mean, which are added to those of each value.
        coarse: Whether counts and sums of deviations are rounded first.

    Returns:
        (values, items) offsets in levels, with mean 0 over the values.
    """
    deviation_sums = _sum_deviations(counts, sums)
    if coarse:
        counts = round_counts(counts)
        deviation_sums = round_counts(deviation_sums)
    return _shrink_deviations(deviation_sums, counts, pseudo)


def _sum_deviations(counts: Floats, sums: Floats) -> Floats:
    """Return (values, items) sums of the deviations of levels from the item's mean."""
    return sums - mean_or_default(sums.sum(axis=0), counts.sum(axis=0), 0.0) * counts


def _shrink_deviations(deviation_sums: Floats, counts: Floats, pseudo: float) -> Floats:
    """Divide sums of deviations by the numbers of ratings and pseudo-ratings, and centre them.

    Args:
        deviation_sums: (values, items) sums of deviations from the item's mean.
        counts: (values, items) numbers of ratings.
        pseudo: Number of pseudo-ratings at the item's mean, which are added to those of each value.

    Returns:
        (values, items) mean deviations minus their mean over the values; 0 before centring where
        nothing was counted.
    """
    weights = counts + pseudo
    deviations = np.divide(
        deviation_sums, weights, out=np.zeros_like(deviation_sums), where=weights > 0
    )
    return np.asarray(deviations - deviations.mean(axis=0))


def _unexplained_error(counts: Floats, residuals: Floats) -> float:
    """Return the squared error of offsets on left-out people, each mean weighed by its ratings.

    The left-out mean of a value is predicted by the item's mean plus the offset. The item's mean is
    unknown for left-out people, so the one that fits them best is taken: the mean over values of
    the residuals, weighed by ratings.

        error = sum of counts * residuals^2 - sum over items of (sum of counts * residuals)^2 / sum
                of counts

    Args:
        counts: (values, items) numbers of left-out ratings.
        residuals: (values, items) left-out mean of each value, minus the offset.
    """
    weighted = (counts * residuals).sum(axis=0)
    # The second sum of the formula, for each item.
    explained = np.divide(
        weighted**2, counts.sum(axis=0), out=np.zeros_like(weighted), where=counts.sum(axis=0) > 0
    )
    return float((counts * residuals**2).sum() - explained.sum())


def estimate_rating_chances(statistics: Statistics, *, shrink: bool = True) -> Floats:
    """Estimate the chance that a person with each value rates an item, for the selection rule.

    Args:
        statistics: Sums over people.
        shrink: Whether the chances are posterior means, computed from rounded counts. The prior is
            normal in the log odds ratio of people with the value against all others. One prior is
            fitted to all items: with a prior for rare items alone, the rounding of their counts
            would pass for real differences. False: add-one smoothing, as published.

    Returns:
        (values, items) chances.
    """
    people = statistics.people.sum(axis=0)
    counts = statistics.counts.sum(axis=0)
    if not shrink:
        return np.asarray((counts + 1) / (people[:, None] + 2))
    people = round_counts(people)
    counts = round_counts(counts)
    if len(people) == 2:
        return np.stack(_posterior_shares(counts[0], people[0], counts[1], people[1]))
    all_people = people.sum()
    all_counts = counts.sum(axis=0)
    shares = []
    for counts_of_value, people_of_value in zip(counts, people, strict=True):
        share_with_value, _ = _posterior_shares(
            counts_of_value,
            people_of_value,
            all_counts - counts_of_value,
            all_people - people_of_value,
        )
        shares.append(share_with_value)
    return np.stack(shares)


def _posterior_shares(
    first: Floats, n_first: float, second: Floats, n_second: float
) -> tuple[Floats, Floats]:
    """Estimate, by posterior means, which share of each of two groups of people rates an item.

    Counts are rounded, so many items have the same pair of counts. Each pair is computed once.

    Args:
        first: (items,) numbers of people of the first group who rated each item.
        n_first: Number of people of the first group.
        second: (items,) numbers of people of the second group who rated each item.
        n_second: Number of people of the second group.

    Returns:
        (items,) shares of the first group, and (items,) shares of the second.
    """
    pairs, pair_of_item, items_of_pair = np.unique(
        np.stack([first, second]), axis=1, return_inverse=True, return_counts=True
    )
    log_likelihood, first_share, second_share = profile_likelihood(
        pairs[0], n_first, pairs[1], n_second, items_of_pair
    )
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    posterior = posterior_of(likelihood, items_of_pair)
    first_means = (posterior * first_share).sum(axis=1)
    second_means = (posterior * second_share).sum(axis=1)
    return first_means[pair_of_item], second_means[pair_of_item]


def posterior_of(likelihood: Floats, weights: NDArray[np.int64]) -> Floats:
    """Compute posteriors under one normal prior, which is fitted by expectation maximisation.

    Args:
        likelihood: (rows, grid) likelihoods of the log odds ratios of `_LOG_ODDS`.
        weights: (rows,) numbers of items that have the likelihood of each row.

    Returns:
        (rows, grid) posterior probabilities, which sum to 1 in each row.
    """
    shares = weights / weights.sum()
    mean = 0.0
    sd = 0.3  # where the maximisation starts
    posterior: Floats = likelihood
    for _ in range(60):  # converges in about 30 rounds
        prior = np.exp(-0.5 * ((_LOG_ODDS - mean) / sd) ** 2)
        posterior = likelihood * (prior / prior.sum())
        posterior /= posterior.sum(axis=1, keepdims=True)
        mean = float(shares @ posterior @ _LOG_ODDS)
        variance = float(shares @ posterior @ (_LOG_ODDS - mean) ** 2)
        sd = max(0.05, math.sqrt(variance))  # about a third of the grid's step
    return posterior


def profile_likelihood(
    first: Floats,
    n_first: float,
    second: Floats,
    n_second: float,
    weights: NDArray[np.int64] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Compute the binomial log likelihood of each log odds ratio of the grid, for pairs of counts.

    The grid `_LOG_ODDS` is centred on the log ratio of the first group's ratings per person to
    those of the second group, over all items. Each item's base rate is profiled out: for each log
    odds ratio, it is set so that the expected number of the item's raters is the counted one. The
    log likelihood is corrected by minus half the log of the base rate's information, as usual for
    profile likelihoods.

    Args:
        first: (rows,) numbers of people of the first group who rated an item.
        n_first: Number of people of the first group.
        second: (rows,) numbers of people of the second group who rated it.
        n_second: Number of people of the second group.
        weights: (rows,) numbers of items that have these counts; None: one each.

    Returns:
        The log likelihood, the first group's share and the second group's share, each of shape
        (rows, grid).
    """
    items = np.ones(len(first)) if weights is None else weights
    n_first = max(n_first, 1.0)
    n_second = max(n_second, 1.0)
    first = np.minimum(first, n_first)
    second = np.minimum(second, n_second)
    n_people = n_first + n_second
    total_first = float(items @ first)
    total_second = float(items @ second)
    centre = np.log((total_first + 1.0) / n_first) - np.log((total_second + 1.0) / n_second)
    odds = _LOG_ODDS + centre
    # Half a person away from 0 and from all people, where the base rate's log odds are infinite.
    total = np.clip(first + second, 0.5, n_people - 0.5)[:, None]
    base = np.log(total / (n_people - total)) - odds * n_first / n_people
    # `base` is the log odds of the second group's share q, and base + odds that of the first's, p.
    for _ in range(10):  # Newton steps towards n_first p + n_second q = total
        p = expit(base + odds)
        q = expit(base)
        information = n_first * p * (1 - p) + n_second * q * (1 - q)
        base = base - np.clip((n_first * p + n_second * q - total) / information, -2, 2)
    p = expit(base + odds)
    q = expit(base)
    information = n_first * p * (1 - p) + n_second * q * (1 - q)
    log_likelihood = (
        first[:, None] * np.log(p)
        + (n_first - first)[:, None] * np.log1p(-p)
        + second[:, None] * np.log(q)
        + (n_second - second)[:, None] * np.log1p(-q)
        - 0.5 * np.log(information)
    )
    return log_likelihood, p, q


def estimate_coupling(statistics: Statistics, common: NDArray[np.bool_]) -> Floats | None:
    """Estimate the chances of each released level given the true level, for every value.

    For each item, the distribution of stars of each value is coupled to the plain average of these
    distributions over the values. The shape of a value's distribution comes from its rounded
    histogram plus pseudo-ratings with the distribution of the item, as many as predict left-out
    people best. Its mean is the item's mean plus an offset, which is shrunk as in
    `estimate_offsets`. Every released level gets the chance LEAST_LEVEL_CHANCE in addition, so that
    no released level proves a value.

    Args:
        statistics: Sums of one attribute.
        common: (items,) whether an item is coupled. Stars of other items are released unchanged,
            except for the additional chance.

    Returns:
        (values, items, levels, levels) chances, the released levels along the last axis; None on a
        continuous scale.
    """
    if statistics.histogram is None:
        return None
    histogram = statistics.histogram.sum(axis=0)
    pseudo_of_means = _choose_pseudo_ratings(statistics)
    log_likelihoods = np.zeros(len(_PSEUDO_RATINGS))  # of left-out people, by pseudo-ratings
    for left_out in statistics.histogram:
        for index, pseudo in enumerate(_PSEUDO_RATINGS):
            shares = _level_shares(histogram - left_out, pseudo, pseudo_of_means)
            log_likelihoods[index] += np.sum(left_out * np.log(shares))
    pseudo = _PSEUDO_RATINGS[np.argmax(log_likelihoods)]
    shares = _level_shares(round_counts(histogram), pseudo, pseudo_of_means)
    coupled = quantile_coupling(shares, np.broadcast_to(shares.mean(axis=0), shares.shape))
    levels = shares.shape[-1]
    coupled = np.where(common[:, None, None], coupled, np.eye(levels))
    return np.asarray(LEAST_LEVEL_CHANCE + (1 - levels * LEAST_LEVEL_CHANCE) * coupled)


def _level_shares(histogram: Floats, pseudo: float, pseudo_of_means: float) -> Floats:
    """Estimate the distribution of levels for each value and item.

    Args:
        histogram: (values, items, levels) numbers of ratings.
        pseudo: Number of pseudo-ratings with the item's distribution, which are added to those of
            each value. The item's distribution is itself smoothed by ten pseudo-ratings with the
            distribution of all items together.
        pseudo_of_means: Number of pseudo-ratings at the item's mean by which each value's mean is
            shrunk.

    Returns:
        (values, items, levels) chances: the smoothed histograms, tilted to the shrunk means.
    """
    # Distributions over levels: of all items together, and of each item, smoothed by the former.
    overall = histogram.sum(axis=(0, 1)) + 1.0
    item_shares = histogram.sum(axis=0) + 10.0 * overall / overall.sum()
    item_shares /= item_shares.sum(axis=-1, keepdims=True)
    smoothed = histogram + pseudo * item_shares
    levels = np.arange(histogram.shape[-1], dtype=float)
    offsets = _offsets(histogram.sum(axis=-1), histogram @ levels, pseudo_of_means)
    shares = smoothed / smoothed.sum(axis=-1, keepdims=True)
    return _tilt_to_means(shares, item_shares @ levels + offsets)


def _tilt_to_means(shares: Floats, means: Floats) -> Floats:
    """Change each distribution q to one in proportion to q exp(t level) with a given mean.

    t is found by eight steps of Newton's method, each of 1 at most. Means are kept 0.02 levels away
    from both ends of the scale, where t would be infinite.

    Args:
        shares: (..., levels) distributions q.
        means: (...) means to reach, in levels.
    """
    levels = np.arange(shares.shape[-1], dtype=float)
    target = np.clip(means, 0.02, levels[-1] - 0.02)
    tilt = np.zeros_like(target)
    tilted = shares
    for _ in range(8):
        mean = tilted @ levels
        variance = tilted @ levels**2 - mean**2
        tilt = tilt + np.clip((target - mean) / np.maximum(variance, 1e-6), -1, 1)
        tilted = shares * np.exp(tilt[..., None] * levels)
        tilted /= tilted.sum(axis=-1, keepdims=True)
    return tilted


def mean_or_default(
    sums: Floats, counts: Floats, otherwise: Floats | float, fewest: float = 0.0
) -> Floats:
    """Return sums / counts, and `otherwise` where counts are 0 or below `fewest`.

    `sums` and `counts` have the same shape; `otherwise` is broadcast to that shape.
    """
    quotients: Floats = np.broadcast_to(np.asarray(otherwise, dtype=float), sums.shape).copy()
    np.divide(sums, counts, out=quotients, where=(counts > 0) & (counts >= fewest))
    return quotients
