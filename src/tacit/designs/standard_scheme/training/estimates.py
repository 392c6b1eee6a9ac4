"""Estimates of how people with each value rate an item, and how often, shrunk.

Runs at     the recommender.
Sees        `people.Statistics`; nothing else.
Why shrink  A raw half gap is the true one plus an error e. Subtracting it plants -x0 e in the
            release, and an attacker who knows the same public gaps finds it: on real ratings that
            alone tells the attribute *better*, with the sign turned. If what is subtracted is the
            best prediction of the gap for unseen people, the planted error has mean zero against
            every attack built on the same data. So every shrinkage here is chosen by predicting
            people who were left out, or is a posterior mean.
Coarse      Counts, and the sums by which a value's stars deviate, are rounded to multiples of
            ROUNDED_TO. How much is shrunk is chosen before that: it is one number of sixteen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tacit.designs.standard_scheme.theory import quantile_coupling
from tacit.designs.standard_scheme.training.people import Floats, Statistics

ROUNDED_TO = 5
LEAST_COUPLED = 1e-4
"""Every level is released for every item with at least this chance, whatever the value."""
_PSEUDO_RATINGS: list[float] = np.geomspace(1.0, 1000.0, 16).tolist()
_LOG_ODDS = np.linspace(-4.0, 4.0, 49)


def estimate_offsets(statistics: Statistics, *, shrink: bool = True) -> Floats:
    """(values, items) levels to subtract; for two values, plus and minus half the mean gap.

    Args:
        statistics: Sums of one attribute.
        shrink: Pull each group's item mean towards the item's mean, and take rounded counts;
            otherwise the plain means, as published.
    """
    pseudo = _best_shrinkage(statistics) if shrink else 0.0
    counts = statistics.counts.sum(axis=0)
    sums = statistics.sums.sum(axis=0)
    return _offsets(counts, sums, pseudo, coarse=shrink)


def _best_shrinkage(statistics: Statistics) -> float:
    """Find the pseudo-ratings with which offsets of other parts predict a left-out part best."""
    counts = statistics.counts.sum(axis=0)
    sums = statistics.sums.sum(axis=0)
    losses = np.zeros(len(_PSEUDO_RATINGS))
    for held, held_sums in zip(statistics.counts, statistics.sums, strict=True):
        held_means = mean_or_default(held_sums, held, 0.0)
        other_counts = counts - held
        deviating = _deviating_sums(other_counts, sums - held_sums)
        for number, pseudo in enumerate(_PSEUDO_RATINGS):
            offsets = _shrink_deviations(deviating, other_counts, pseudo)
            losses[number] += _unexplained_error(held, held_means - offsets)
    return _PSEUDO_RATINGS[int(np.argmin(losses))]


def round_counts(counts: Floats) -> Floats:
    """Round counts to the nearest multiples of ROUNDED_TO."""
    return np.asarray(ROUNDED_TO * np.round(counts / ROUNDED_TO))


def _offsets(counts: Floats, sums: Floats, pseudo: float, coarse: bool = False) -> Floats:
    """Compute the deviations of groups' means from the item's mean, centred over values.

    Args:
        counts: (values, items) numbers of ratings.
        sums: (values, items) sums of levels.
        pseudo: Ratings at the mean that are added to each group.
        coarse: Whether counts and sums are rounded first.

    Returns:
        (values, items) levels.
    """
    deviating = _deviating_sums(counts, sums)
    if coarse:
        counts = round_counts(counts)
        deviating = round_counts(deviating)
    return _shrink_deviations(deviating, counts, pseudo)


def _deviating_sums(counts: Floats, sums: Floats) -> Floats:
    """(values, items) sums of what levels differ by from the item's mean."""
    return sums - mean_or_default(sums.sum(axis=0), counts.sum(axis=0), 0.0) * counts


def _shrink_deviations(deviating: Floats, counts: Floats, pseudo: float) -> Floats:
    """(values, items) deviations of groups' means, shrunk by pseudo-ratings, centred over values.

    Args:
        deviating: (values, items) sums of deviations from the item's mean.
        counts: (values, items) numbers of ratings.
        pseudo: Ratings at the item's mean that are added to each group.
    """
    weights = counts + pseudo
    deviations = np.divide(deviating, weights, out=np.zeros_like(deviating), where=weights > 0)
    return np.asarray(deviations - deviations.mean(axis=0))


def _unexplained_error(counts: Floats, residuals: Floats) -> float:
    """Squared error of left-out group means around (item mean + offset), summed over ratings.

    Args:
        counts: (values, items) left-out ratings.
        residuals: (values, items) left-out group means less the offsets.
    """
    weighted = (counts * residuals).sum(axis=0)
    explained = np.divide(
        weighted**2, counts.sum(axis=0), out=np.zeros_like(weighted), where=counts.sum(axis=0) > 0
    )
    return float((counts * residuals**2).sum() - explained.sum())


def estimate_shown(statistics: Statistics, *, shrink: bool = True) -> Floats:
    """Estimate P(item rated | value), for the selection rule.

    Args:
        statistics: Sums over people.
        shrink: Whether to take posterior means, from rounded counts, under a normal prior on the
            log odds ratio of a value against the rest, fitted to all items together: rounded counts
            of rare items would pass for real differences in a prior of their own. Otherwise add-one
            smoothing, as published.

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
    everyone = people.sum()
    total = counts.sum(axis=0)
    shares = [
        _posterior_shares(own, n_own, total - own, everyone - n_own)
        for own, n_own in zip(counts, people, strict=True)
    ]
    return np.stack([own for own, _ in shares])


def _posterior_shares(
    first: Floats, n_first: float, second: Floats, n_second: float
) -> tuple[Floats, Floats]:
    """(items,) posterior mean shares of two groups of people who rated each item.

    Counts are rounded, so that few pairs of them differ: each pair is computed once.
    """
    pairs, place, items_of_pair = np.unique(
        np.stack([first, second]), axis=1, return_inverse=True, return_counts=True
    )
    log_likelihood, first_share, second_share = profile_likelihood(
        pairs[0], n_first, pairs[1], n_second, items_of_pair
    )
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    posterior = posterior_of(likelihood, items_of_pair)
    first_means = (posterior * first_share).sum(axis=1)
    second_means = (posterior * second_share).sum(axis=1)
    return first_means[place], second_means[place]


def posterior_of(likelihood: Floats, weights: NDArray[np.int64]) -> Floats:
    """(rows, grid) posteriors under one normal prior, fitted by expectation maximisation.

    Args:
        likelihood: (rows, grid) likelihoods of each log odds ratio of the grid.
        weights: (rows,) number of items with this likelihood.
    """
    shares = weights / weights.sum()
    mean = 0.0
    sd = 0.3
    posterior: Floats = likelihood
    for _ in range(60):  # converges in about 30 rounds
        prior = np.exp(-0.5 * ((_LOG_ODDS - mean) / sd) ** 2)
        posterior = likelihood * (prior / prior.sum())
        posterior /= posterior.sum(axis=1, keepdims=True)
        mean = float(shares @ posterior @ _LOG_ODDS)
        sd = max(0.05, float(np.sqrt(shares @ posterior @ (_LOG_ODDS - mean) ** 2)))
    return posterior


def profile_likelihood(
    first: Floats,
    n_first: float,
    second: Floats,
    n_second: float,
    weights: NDArray[np.int64] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """(rows, grid) binomial log likelihood and both shares, for each log odds ratio of the grid.

    The grid is centred on the groups' log ratio over all items. Each item's base rate is profiled
    out (expected = observed total), with the usual half log-information correction.

    Args:
        first: (rows,) people of the first group who rated an item.
        n_first: People of the first group.
        second: (rows,) people of the second group who rated it.
        n_second: People of the second group.
        weights: (rows,) number of items with these counts; None: one each.
    """
    items = np.ones(len(first)) if weights is None else weights
    n_first = max(n_first, 1.0)
    n_second = max(n_second, 1.0)
    first = np.minimum(first, n_first)
    second = np.minimum(second, n_second)
    everyone = n_first + n_second
    total_first = float(items @ first)
    total_second = float(items @ second)
    centre = np.log((total_first + 1.0) / n_first) - np.log((total_second + 1.0) / n_second)
    odds = _LOG_ODDS + centre
    total = np.clip(first + second, 0.5, everyone - 0.5)[:, None]
    base = np.log(total / (everyone - total)) - odds * n_first / everyone
    for _ in range(10):  # Newton
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
    """(values, items, levels, levels) chances of the released level given the own level.

    Every group's distribution of stars is coupled to the plain average of all groups'. A group's
    distribution has its shape from the rounded histogram plus pseudo-ratings of the item's (as many
    as predict left-out people best) and its mean from `estimate_offsets`. Every level is released
    with a small chance more, the same for all values: no released level proves a value.

    Args:
        statistics: Sums of one attribute.
        common: (items,) whether an item has a coupling. Stars of other items are released as they
            are, but for that small chance.

    Returns:
        None on a continuous scale.
    """
    if statistics.histogram is None:
        return None
    histogram = statistics.histogram.sum(axis=0)
    for_means = _best_shrinkage(statistics)
    log_likelihoods = np.zeros(len(_PSEUDO_RATINGS))  # of left-out people, by pseudo-ratings
    for held in statistics.histogram:
        for index, pseudo in enumerate(_PSEUDO_RATINGS):
            shares = _star_shares(histogram - held, pseudo, for_means)
            log_likelihoods[index] += np.sum(held * np.log(shares))
    pseudo = _PSEUDO_RATINGS[np.argmax(log_likelihoods)]
    shares = _star_shares(round_counts(histogram), pseudo, for_means)
    coupled = quantile_coupling(shares, np.broadcast_to(shares.mean(axis=0), shares.shape))
    levels = shares.shape[-1]
    coupled = np.where(common[:, None, None], coupled, np.eye(levels))
    return np.asarray(LEAST_COUPLED + (1 - levels * LEAST_COUPLED) * coupled)


def _star_shares(histogram: Floats, pseudo: float, for_means: float) -> Floats:
    """(values, items, levels) star distributions: smoothed histograms with the right means."""
    overall = histogram.sum(axis=(0, 1)) + 1.0
    item = histogram.sum(axis=0) + 10.0 * overall / overall.sum()
    item /= item.sum(axis=-1, keepdims=True)
    smoothed = histogram + pseudo * item
    levels = np.arange(histogram.shape[-1], dtype=float)
    offsets = _offsets(histogram.sum(axis=-1), histogram @ levels, for_means)
    return _tilt_to_means(smoothed / smoothed.sum(axis=-1, keepdims=True), item @ levels + offsets)


def _tilt_to_means(shares: Floats, means: Floats) -> Floats:
    """Tilt each distribution q to q exp(t level), with t such that it has the given mean.

    t by Newton's method.
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
    """Divide sums by counts; `otherwise` where nothing or fewer were counted."""
    quotients: Floats = np.broadcast_to(np.asarray(otherwise, dtype=float), sums.shape).copy()
    np.divide(sums, counts, out=quotients, where=(counts > 0) & (counts >= fewest))
    return quotients
