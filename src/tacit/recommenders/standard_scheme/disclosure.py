"""What the recommender discloses about items, estimated from consenting people's statistics.

Runs at     the recommender.
Sees        statistics (see `statistics.py`); nothing else.
Releases    per item and value: an offset, a chance of being shown, a coupling of stars.
Why shrink  A raw half gap is the true one plus an error e. Subtracting it plants -x0 e in the
            release, and whoever knows the same public gaps finds it: on real ratings that alone
            tells the attribute *better*, with the sign turned. If what is subtracted is the best
            prediction of the gap for unseen people, the planted error has mean zero against every
            attack built on the same data. So every shrinkage here is chosen by predicting people
            who were left out, or is a posterior mean.
Coarse      Counts are rounded to multiples of ROUNDED_TO before any table is computed, and so are
            the sums by which a value's stars deviate; items with fewer than FEWEST raters have no
            chance to be shown and no offset. That is no guarantee; it keeps single raters out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tacit.recommenders.standard_scheme.messages import (
    MICRO,
    WEEK,
    AttributeTable,
    Disclosure,
    ItemId,
    Rule,
)
from tacit.recommenders.standard_scheme.refusing import CAP, FLOOR, MOST_OFFSET
from tacit.recommenders.standard_scheme.statistics import Statistics
from tacit.recommenders.standard_scheme.theory import keep_probability, quantile_coupling

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PSEUDO_RATINGS = np.geomspace(1.0, 1000.0, 16)
ARRAYS = ("offsets", "keep", "means", "coupling", "item_means")
ROUNDED_TO = 5
FEWEST = 10
LEAST_COUPLED = 1e-4
"""Every level is released for every item with at least this chance, whatever the value."""
ITEMS_PER_PRIOR = 400
"""Items of like popularity that share one prior: rare items differ more between groups."""
_LOG_ODDS = np.linspace(-4.0, 4.0, 49)


@dataclass(frozen=True)
class Tables:
    """One attribute's integers, as in `messages.AttributeTable` but as arrays.

    offsets, keep, means   (values, items)
    coupling               (values, items, levels, levels), or None if not asked for
    item_means             (items,) average level over all consenting people
    """

    values: tuple[str, ...]
    offsets: Ints
    keep: Ints
    means: Ints
    coupling: Ints | None
    item_means: Ints

    @classmethod
    def from_arrays(cls, values: Sequence[str], arrays: Mapping[str, Ints | None]) -> Tables:
        """From arrays by the names in ARRAYS; only `coupling` may be missing."""
        coupling = arrays["coupling"]
        given = {key: array for key, array in arrays.items() if array is not None}
        return cls(
            values=tuple(values),
            offsets=given["offsets"],
            keep=given["keep"],
            means=given["means"],
            coupling=coupling,
            item_means=given["item_means"],
        )

    def to_message(self, name: str, rule: Rule) -> AttributeTable:
        """What devices need for this rule, and nothing else."""
        coupling = self.coupling if rule.transform == "coupling" else None
        return AttributeTable(
            name,
            self.values,
            _tuples(self.offsets),
            _tuples(self.keep),
            _tuples(self.means) if rule.transform == "attribute-average" else (),
            () if coupling is None else _tuples(coupling),
        )


def estimate_tables(
    values: tuple[str, ...],
    statistics: Statistics,
    raters: Floats,
    *,
    shrink: bool = True,
    coupling: bool = False,
) -> Tables:
    """All of one attribute's tables.

    raters: (items,) how many people rated each item. shrink=False: raw gaps, add-one smoothing and
    chances up to 1, as published.
    """
    common = raters >= FEWEST if shrink else np.ones(len(raters), dtype=bool)
    shown = estimate_shown(statistics, shrink=shrink)
    ratios = np.stack([keep_probability(own, shown) for own in shown])
    counts, sums = statistics.counts.sum(axis=0), statistics.sums.sum(axis=0)
    item_means = _mean(sums.sum(axis=0), counts.sum(axis=0), _overall(counts, sums))
    offsets = np.where(common, estimate_offsets(statistics, shrink=shrink), 0.0)
    chances = estimate_coupling(statistics, common) if coupling else None
    return Tables(
        values=values,
        offsets=_micro(offsets),
        keep=_capped(ratios, common) if shrink else _micro(ratios),
        means=_micro(_mean(sums, counts, item_means)),
        coupling=None if chances is None else _cumulative(chances),
        item_means=_micro(item_means),
    )


def within_bounds(tables: dict[str, Tables]) -> dict[str, Tables]:
    """The same with offsets that add up to half a level at most, whatever a person's values."""
    largest = sum(np.abs(table.offsets).max(axis=0) for table in tables.values())
    part = np.minimum(1.0, MOST_OFFSET / np.maximum(largest, 1))
    return {
        name: replace(table, offsets=np.trunc(table.offsets * part).astype(np.int64))
        for name, table in tables.items()
    }


def _capped(ratios: Floats, common: NDArray[np.bool_]) -> Ints:
    """(values, items) chances in parts per million, CAP at most; 0 for all values or for none."""
    keep = np.round(ratios * CAP).astype(np.int64)
    decided: Ints = np.where(common & (keep.min(axis=0) >= FLOOR), keep, 0)
    return decided


def to_message(
    tables: dict[str, Tables],
    rule: Rule,
    *,
    minimum: float,
    step: float,
    levels: int,
    items: tuple[ItemId, ...],
    epoch_length: int = WEEK,
    aliases: tuple[tuple[ItemId, ItemId], ...] = (),
) -> Disclosure:
    """The disclosure that goes to every device."""
    first = next(iter(tables.values()))
    return Disclosure(
        rule=rule,
        minimum=minimum,
        step=step,
        levels=levels,
        items=items,
        epoch_length=epoch_length,
        aliases=aliases,
        item_means=_tuples(first.item_means) if rule.transform == "movie-average" else (),
        attributes=tuple(table.to_message(name, rule) for name, table in tables.items()),
    )


def estimate_offsets(statistics: Statistics, *, shrink: bool = True) -> Floats:
    """(values, items) levels to subtract; for two values, plus and minus half the mean gap.

    shrink: pull each group's item mean towards the item's mean by as many pseudo-ratings as predict
    left-out parts of the people best, and take rounded counts; otherwise the plain means, as
    published.
    """
    counts, sums = statistics.counts.sum(axis=0), statistics.sums.sum(axis=0)
    if not shrink:
        return _offsets(counts, sums, 0.0)
    return _offsets(counts, sums, _best_shrinkage(statistics), rounded=rounded)


def _best_shrinkage(statistics: Statistics) -> float:
    """Pseudo-ratings with which the offsets of the other parts predict a left-out part best."""
    counts, sums = statistics.counts.sum(axis=0), statistics.sums.sum(axis=0)
    losses = np.zeros(len(_PSEUDO_RATINGS))
    for held_counts, held_sums in zip(statistics.counts, statistics.sums, strict=True):
        for index, pseudo in enumerate(_PSEUDO_RATINGS):
            offsets = _offsets(counts - held_counts, sums - held_sums, pseudo)
            losses[index] += _unexplained(held_counts, held_sums, offsets)
    return float(_PSEUDO_RATINGS[np.argmin(losses)])


def rounded(counts: Floats) -> Floats:
    """To the nearest multiples of ROUNDED_TO."""
    nearest: Floats = ROUNDED_TO * np.round(counts / ROUNDED_TO)
    return nearest


def _as_it_is(counts: Floats) -> Floats:
    return counts


def _offsets(
    counts: Floats,
    sums: Floats,
    pseudo: float,
    rounded: Callable[[Floats], Floats] = _as_it_is,
) -> Floats:
    """Deviations of the groups' means from the item's, centred over values."""
    pooled = _mean(sums.sum(axis=0), counts.sum(axis=0), 0.0)
    weights = rounded(counts) + pseudo
    deviations = np.divide(
        rounded(sums - pooled * counts), weights, out=np.zeros_like(sums), where=weights > 0
    )
    centred: Floats = deviations - deviations.mean(axis=0)
    return centred


def _unexplained(counts: Floats, sums: Floats, offsets: Floats) -> float:
    """Squared error of left-out group means around (item mean + offset), per rating."""
    residuals = _mean(sums, counts, 0.0) - offsets
    weighted = (counts * residuals).sum(axis=0)
    explained = np.divide(
        weighted**2, counts.sum(axis=0), out=np.zeros_like(weighted), where=counts.sum(axis=0) > 0
    )
    return float((counts * residuals**2).sum() - explained.sum())


def estimate_shown(statistics: Statistics, *, shrink: bool = True) -> Floats:
    """(values, items) estimates of P(item rated | value), for the selection rule.

    shrink: from rounded counts, posterior means under a normal prior on the log odds ratio of a
    value against the rest, whose mean and variance are fitted to items of like popularity;
    otherwise add-one smoothing, as published.
    """
    people, counts = statistics.people.sum(axis=0), statistics.counts.sum(axis=0)
    if not shrink:
        smoothed: Floats = (counts + 1) / (people[:, None] + 2)
        return smoothed
    people, counts = rounded(people), rounded(counts)
    if len(people) == 2:
        return np.stack(_posterior_shares(counts[0], people[0], counts[1], people[1]))
    everyone, total = people.sum(), counts.sum(axis=0)
    shares = [
        _posterior_shares(own, n_own, total - own, everyone - n_own)
        for own, n_own in zip(counts, people, strict=True)
    ]
    return np.stack([own for own, _ in shares])


def _posterior_shares(
    first: Floats, n_first: float, second: Floats, n_second: float
) -> tuple[Floats, Floats]:
    """(items,) posterior mean shares of two groups of people who rated each item."""
    log_likelihood, first_share, second_share = _profile(first, n_first, second, n_second)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    posterior = np.empty_like(likelihood)
    by_popularity = np.argsort(first + second, kind="stable")
    for group in np.array_split(by_popularity, max(1, len(by_popularity) // ITEMS_PER_PRIOR)):
        posterior[group] = _posterior(likelihood[group])
    return (posterior * first_share).sum(axis=1), (posterior * second_share).sum(axis=1)


def _posterior(likelihood: Floats) -> Floats:
    """(items, grid) posteriors under one normal prior, fitted by expectation maximisation."""
    mean, sd = 0.0, 0.3
    posterior: Floats = likelihood
    for _ in range(60):  # converges in about 30 rounds
        prior = np.exp(-0.5 * ((_LOG_ODDS - mean) / sd) ** 2)
        posterior = likelihood * (prior / prior.sum())
        posterior /= posterior.sum(axis=1, keepdims=True)
        mean = float((posterior @ _LOG_ODDS).mean())
        sd = max(0.05, float(np.sqrt((posterior @ (_LOG_ODDS - mean) ** 2).mean())))
    return posterior


def _profile(
    first: Floats, n_first: float, second: Floats, n_second: float
) -> tuple[Floats, Floats, Floats]:
    """(items, grid) binomial log likelihood and both shares, for each log odds ratio of the grid.

    The grid is centred on the groups' log ratio over all items. Each item's base rate is
    profiled out (it solves: expected = observed total), with the usual half log-information
    correction.
    """
    n_first, n_second = max(n_first, 1.0), max(n_second, 1.0)
    first, second = np.minimum(first, n_first), np.minimum(second, n_second)
    everyone = n_first + n_second
    centre = np.log((first.sum() + 1.0) / n_first) - np.log((second.sum() + 1.0) / n_second)
    odds = _LOG_ODDS + centre
    total = np.clip(first + second, 0.5, everyone - 0.5)[:, None]
    base = np.log(total / (everyone - total)) - odds * n_first / everyone
    for _ in range(10):  # Newton
        p, q = expit(base + odds), expit(base)
        information = n_first * p * (1 - p) + n_second * q * (1 - q)
        base = base - np.clip((n_first * p + n_second * q - total) / information, -2, 2)
    p, q = expit(base + odds), expit(base)
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
    with a small chance more, the same for all values, so that none is a certificate. common:
    (items,) whether an item has a coupling; the others' stars are released as they are, but for
    that chance.
    """
    if statistics.histogram is None:
        return None
    histogram = statistics.histogram.sum(axis=0)
    for_means = _best_shrinkage(statistics)
    fits = np.zeros(len(_PSEUDO_RATINGS))
    for held in statistics.histogram:
        rest = histogram - held
        for index, pseudo in enumerate(_PSEUDO_RATINGS):
            fits[index] += np.sum(held * np.log(_star_shares(rest, pseudo, for_means)))
    pseudo = float(_PSEUDO_RATINGS[np.argmax(fits)])
    shares = _star_shares(rounded(histogram), pseudo, for_means)
    coupled = quantile_coupling(shares, np.broadcast_to(shares.mean(axis=0), shares.shape))
    levels = shares.shape[-1]
    coupled = np.where(common[:, None, None], coupled, np.eye(levels))
    possible: Floats = LEAST_COUPLED + (1 - levels * LEAST_COUPLED) * coupled
    return possible


def _star_shares(histogram: Floats, pseudo: float, for_means: float) -> Floats:
    """(values, items, levels) star distributions: smoothed histograms with the right means."""
    overall = histogram.sum(axis=(0, 1)) + 1.0
    item = histogram.sum(axis=0) + 10.0 * overall / overall.sum()
    item /= item.sum(axis=-1, keepdims=True)
    smoothed = histogram + pseudo * item
    levels = np.arange(histogram.shape[-1], dtype=float)
    offsets = _offsets(histogram.sum(axis=-1), histogram @ levels, for_means)
    return _tilted(smoothed / smoothed.sum(axis=-1, keepdims=True), item @ levels + offsets)


def _tilted(shares: Floats, means: Floats) -> Floats:
    """Each distribution q as q exp(t level) with the given mean; t by Newton's method."""
    levels = np.arange(shares.shape[-1], dtype=float)
    target = np.clip(means, 0.02, levels[-1] - 0.02)
    tilt, tilted = np.zeros_like(target), shares
    for _ in range(8):
        mean = tilted @ levels
        variance = tilted @ levels**2 - mean**2
        tilt = tilt + np.clip((target - mean) / np.maximum(variance, 1e-6), -1, 1)
        tilted = shares * np.exp(tilt[..., None] * levels)
        tilted /= tilted.sum(axis=-1, keepdims=True)
    return tilted


def _mean(sums: Floats, counts: Floats, otherwise: Floats | float) -> Floats:
    """sums / counts, and `otherwise` where nothing was counted."""
    base = np.broadcast_to(np.asarray(otherwise, dtype=float), sums.shape).copy()
    means: Floats = np.divide(sums, counts, out=base, where=counts > 0)
    return means


def _overall(counts: Floats, sums: Floats) -> float:
    return float(sums.sum() / max(1.0, counts.sum()))


def _micro(numbers: Floats) -> Ints:
    return np.round(numbers * MICRO).astype(np.int64)


def _cumulative(chances: Floats) -> Ints:
    cumulative = _micro(np.cumsum(chances, axis=-1))
    cumulative[..., -1] = MICRO
    return np.minimum(cumulative, MICRO)


def _tuples(array: Ints) -> tuple:  # type: ignore[type-arg]  # nested as deep as the array
    return tuple(map(_tuples, array)) if array.ndim > 1 else tuple(array.tolist())
