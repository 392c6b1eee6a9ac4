"""How well attacks do: AUC, the permuted control, and a bound for many attackers at once.

An attacker's AUC is computed from out-of-fold scores, which become ranks within each fold and are
pooled over the folds. The people are then resampled with replacement, the same resamples for all
attackers. Let AUC_a be the AUC of attacker a, AUC*_a its AUC on a resample, and sd_a the standard
deviation of AUC*_a. With c the 95 % quantile of max_a |AUC*_a - AUC_a| / sd_a, the bound
max_a (|AUC_a - .5| + c sd_a) holds for all attackers at once.

The resamples show how much the AUC depends on who is scored, but not how much it depends on who is
learned from. So with fewer than 5 folds the standard deviation of the AUC between folds is added to
sd_a in quadrature.

A resample in which all people have one label has no AUC. Its AUC counts as that end of [0, 1] which
is farther from AUC_a, so that a rare label makes the bound wider.

With few people of a label, resamples vary less than new samples of people would. So attackers are
also compared with guesses: with their own AUCs after the labels are permuted within each fold, by
the same permutations for all attackers. Let AUC'_a be attacker a's AUC on permuted labels, s_a its
standard deviation, and g the 95 % quantile of max_a |AUC'_a - .5| / s_a over the permutations.
The lower bound is above 0 only if some |AUC_a - .5| exceeds max(g, 1.96) s_a. The interval of a
single attacker contains .5 unless |AUC_a - .5| exceeds 1.96 s_a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from tacit.auditing.attacks.base import Floats, Ints, Labels
from tacit.errors import DataError

DRAWS = 200
"""Resamples of the people, and as many permutations of the labels."""
CONFIDENCE = 0.95
"""Confidence of bounds and intervals."""
NORMAL_QUANTILE = float(ndtri((1 + CONFIDENCE) / 2))
"""Half-width of a 95 % interval in standard deviations: 1.96."""
ENOUGH_FOLDS = 5
"""With fewer folds, the standard deviation between folds is added to those of the resamples."""
LARGEST_DISTANCE = 0.5
"""Largest possible distance of an AUC from 0.5."""


def average_ranks(values: Floats) -> Floats:
    """Return the (n,) ranks of (n,) values, from 1 for the smallest.

    Equal values share the mean of their ranks. If any value is NaN, all ranks are NaN.
    """
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_rank = np.cumsum(counts)
    ranks: Floats = (last_rank - (counts - 1) / 2)[group]
    return ranks


def auc(labels: Labels, scores: Floats) -> float:
    """Return the chance that a random person of label 1 scores above a random one of label 0.

    A tie counts half. This is the exact rank statistic of Mann and Whitney.

    Args:
        labels: (people,) 1, or anything else for label 0.
        scores: (people,) scores.

    Raises:
        DataError: The lengths differ, a score is not finite, or all people have the same label.
    """
    ones = np.asarray(labels) == 1
    values = np.asarray(scores, dtype=np.float64)
    if ones.shape != values.shape or ones.ndim != 1:
        raise DataError("labels and scores differ in length", found=(ones.shape, values.shape))
    is_finite = np.isfinite(values)
    if not is_finite.all():
        raise DataError("a score is not a finite number", row=int(np.argmin(is_finite)) + 1)
    n_ones = int(ones.sum())
    n_zeros = len(ones) - n_ones
    if n_ones == 0 or n_zeros == 0:
        raise DataError("an AUC needs people of both labels", found=(n_zeros, n_ones))
    ranks = average_ranks(values)
    return float((ranks[ones].sum() - n_ones * (n_ones + 1) / 2) / (n_ones * n_zeros))


def distance(area: float) -> float:
    """Return the distance of an AUC from 0.5.

    An AUC of 0.35 leaks as much as one of 0.65: the attacker inverts the guesses.
    """
    return abs(area - 0.5)


def permute_labels(labels: NDArray[np.generic], seed: int) -> NDArray[np.generic]:
    """Return the (people,) labels in random order: about these, an attack can only guess."""
    return np.random.default_rng(seed).permutation(labels)


def mean_interval(areas: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of AUCs, and the lower and upper end of its 95 % interval by Student's t.

    The ends are clipped to [0, 1]. A single AUC has no spread: both ends are the AUC itself.
    """
    mean = float(np.mean(areas))
    half_width = 0.0
    if len(areas) > 1:
        standard_error = float(np.std(areas, ddof=1)) / math.sqrt(len(areas))
        half_width = float(stdtrit(len(areas) - 1, 0.975)) * standard_error
    return mean, max(0.0, mean - half_width), min(1.0, mean + half_width)


Key = TypeVar("Key", bound=Hashable)
"""Type of the keys of attackers, such as names."""


@dataclass(frozen=True)
class Bound(Generic[Key]):
    """AUCs of several attackers, and a bound that holds for all of them at once."""

    areas: Mapping[Key, float]
    """AUC of each attacker."""
    deviations: Mapping[Key, float]
    """Standard deviation of each attacker's AUC: sd_a of the module's text."""
    deviations_of_guesses: Mapping[Key, float]
    """Standard deviation of each attacker's AUC if it guesses: s_a of the module's text."""
    quantile: float
    """Factor c of the module's text."""
    quantile_of_guesses: float
    """Factor g of the module's text."""

    @property
    def worst_attacker(self) -> Key:
        """The attacker whose AUC is farthest from 0.5."""
        return max(self.areas, key=lambda key: abs(self.areas[key] - 0.5))

    @property
    def distance(self) -> float:
        """Distance of the worst attacker's AUC from 0.5."""
        return abs(self.areas[self.worst_attacker] - 0.5)

    @property
    def upper(self) -> float:
        """Upper bound, at 95 % confidence, of the distance from 0.5 of every attacker's AUC."""
        return min(LARGEST_DISTANCE, max(self._ends(+1)))

    @property
    def lower(self) -> float:
        """Lower bound, at 95 % confidence, of the largest distance from 0.5 of all AUCs.

        It is 0 if random guesses may have an AUC as far from 0.5 as each of these AUCs.
        """
        largest = 0.0
        for key, end in zip(self.areas, self._ends(-1), strict=True):
            if not self._may_be_guesses(key, max(self.quantile_of_guesses, NORMAL_QUANTILE)):
                largest = max(largest, end)
        return largest

    def interval(self, key: Key) -> tuple[float, float]:
        """Return the 95 % interval of one attacker's AUC, regardless of the other attackers.

        It contains 0.5 if random guesses may have an AUC as far from 0.5.
        """
        area = self.areas[key]
        half_width = NORMAL_QUANTILE * self.deviations[key]
        low, high = max(0.0, area - half_width), min(1.0, area + half_width)
        if self._may_be_guesses(key, NORMAL_QUANTILE):
            low, high = min(low, 0.5), max(high, 0.5)
        return low, high

    def _may_be_guesses(self, key: Key, quantile: float) -> bool:
        """Return whether random guesses may have an AUC as far from 0.5 as the attacker's.

        Args:
            key: The attacker.
            quantile: Number of standard deviations that the AUC of guesses may be from 0.5.
        """
        return abs(self.areas[key] - 0.5) <= quantile * self.deviations_of_guesses[key]

    def _ends(self, side: int) -> list[float]:
        """Return |AUC_a - .5| + side * c * sd_a for each attacker; `side` is +1 or -1."""
        return [
            abs(area - 0.5) + side * self.quantile * self.deviations[key]
            for key, area in self.areas.items()
        ]


def bound_attackers(
    labels: Ints,
    scores: Mapping[Key, Floats],
    fold_of: Ints,
    *,
    target: Callable[[Key], int] = lambda _: 1,
    draws: int = DRAWS,
    seed: int = 0,
) -> Bound[Key]:
    """Bound all attackers' AUCs at once, as the module's text says.

    Args:
        labels: (people,) values of the attribute.
        scores: (people,) out-of-fold scores of each attacker, by its key.
        fold_of: (people,) fold that each person was scored in.
        target: Maps an attacker's key to the attribute value that high scores stand for.
        draws: Number of resamples of the people, and of permutations of the labels.
        seed: Seed of the resamples and permutations.

    Raises:
        DataError: There are no scores, a score is NaN, or some attacker's target is the value of
            all people or of nobody.
    """
    if not scores:
        raise DataError("a bound needs the scores of at least one attacker")
    for key, key_scores in scores.items():
        has_no_score = np.isnan(key_scores)
        if has_no_score.any():
            row = int(np.argmax(has_no_score)) + 1
            raise DataError(f"a score of '{key}' is not a number", row=row)
    ones = {key: (labels == target(key)).astype(np.int64) for key in scores}
    ranks = {key: pooled_ranks(key_scores, fold_of) for key, key_scores in scores.items()}
    areas = {key: auc(ones[key], ranks[key]) for key in scores}
    generator = np.random.default_rng(seed)
    people = len(labels)
    weights = generator.multinomial(people, np.full(people, 1 / people), size=draws)
    resampled = {key: _resampled_aucs(ones[key], ranks[key], weights, areas[key]) for key in scores}
    resampled_deviations = {key: float(np.std(aucs, ddof=1)) for key, aucs in resampled.items()}
    standardised = []
    deviations = {}
    for key, resampled_deviation in resampled_deviations.items():
        errors = np.abs(resampled[key] - areas[key])
        standardised.append(errors / max(resampled_deviation, 1e-12))
        between_folds = _deviation_between_folds(ones[key], ranks[key], fold_of)
        deviations[key] = math.hypot(resampled_deviation, between_folds)
    largest = np.max(standardised, axis=0)
    deviations_of_guesses = {
        key: _deviation_of_guesses(ones[key], ranks[key], fold_of) for key in scores
    }
    orders = _permute_within_folds(fold_of, draws, generator)
    largest_of_guesses = np.zeros(draws)
    for key, deviation in deviations_of_guesses.items():
        guessed_areas = _permuted_aucs(ones[key], ranks[key], orders)
        standardised_guesses = np.abs(guessed_areas - 0.5) / max(deviation, 1e-12)
        largest_of_guesses = np.maximum(largest_of_guesses, standardised_guesses)
    return Bound(
        areas,
        deviations,
        deviations_of_guesses,
        quantile=float(np.quantile(largest, CONFIDENCE)),
        quantile_of_guesses=float(np.quantile(largest_of_guesses, CONFIDENCE)),
    )


def pooled_ranks(scores: Floats, fold_of: Ints) -> Floats:
    """Return (people,) ranks within each fold, less 1/2, divided by the fold's size.

    They lie between 0 and 1. Scores of different fits are not comparable; these ranks are.

    Args:
        scores: (people,) scores.
        fold_of: (people,) fold that each person was scored in.
    """
    ranks = np.empty(len(scores))
    for fold in np.unique(fold_of):
        inside = fold_of == fold
        ranks[inside] = (average_ranks(scores[inside]) - 0.5) / inside.sum()
    return ranks


def _deviation_of_guesses(labels: Ints, pooled: Floats, fold_of: Ints) -> float:
    """Return the standard deviation of the AUC if labels are permuted within each fold.

    Let m_1 and m_0 people of a fold have the labels 1 and 0, and S^2 be the variance of the ranks
    in the fold. The sum of the ranks of its people of label 1 then has the variance
    m_1 m_0 / (m_1 + m_0) S^2. For one fold without ties, the deviation is
    sqrt((n_1 + n_0 + 1) / (12 n_1 n_0)) with n_1 and n_0 people of the labels (Mann and Whitney,
    1947).

    Args:
        labels: (people,) 1 or 0.
        pooled: (people,) the attacker's pooled ranks.
        fold_of: (people,) fold that each person was scored in.
    """
    ranks = average_ranks(pooled)
    variance = 0.0
    for fold in np.unique(fold_of):
        is_inside = fold_of == fold
        size = int(is_inside.sum())
        n_ones = int(labels[is_inside].sum())
        if 0 < n_ones < size:
            variance_of_ranks = float(np.var(ranks[is_inside], ddof=1))
            variance += n_ones * (size - n_ones) / size * variance_of_ranks
    n_ones_of_all = int(labels.sum())
    return math.sqrt(variance) / (n_ones_of_all * (len(labels) - n_ones_of_all))


def _permute_within_folds(fold_of: Ints, draws: int, generator: np.random.Generator) -> Ints:
    """Return (draws, people) numbers of the people, permuted at random within each fold.

    Args:
        fold_of: (people,) fold that each person was scored in.
        draws: Number of permutations.
        generator: Of the permutations.
    """
    people_of_folds = [np.flatnonzero(fold_of == fold) for fold in np.unique(fold_of)]
    orders = np.empty((draws, len(fold_of)), dtype=np.int64)
    for order in orders:
        for people in people_of_folds:
            order[people] = generator.permutation(people)
    return orders


def _permuted_aucs(labels: Ints, pooled: Floats, orders: Ints) -> Floats:
    """Return the (draws,) AUCs if labels are permuted.

    Args:
        labels: (people,) 1 or 0.
        pooled: (people,) the attacker's pooled ranks.
        orders: (draws, people) number of the person whose label each person gets.
    """
    ones = int(labels.sum())
    sums_of_ranks = labels[orders] @ average_ranks(pooled)
    areas: Floats = (sums_of_ranks - ones * (ones + 1) / 2) / (ones * (len(labels) - ones))
    return areas


def _deviation_between_folds(labels: Ints, pooled: Floats, fold_of: Ints) -> float:
    """Return the standard deviation of the AUC between folds, if these are few.

    It is 0 with ENOUGH_FOLDS folds or more, or if fewer than two folds have people of both labels.
    """
    folds = np.unique(fold_of)
    mixed_folds = [fold for fold in folds if 0 < labels[fold_of == fold].mean() < 1]
    if len(folds) >= ENOUGH_FOLDS or len(mixed_folds) < 2:
        return 0.0
    areas = [auc(labels[fold_of == fold], pooled[fold_of == fold]) for fold in mixed_folds]
    return float(np.std(areas, ddof=1))


def _resampled_aucs(labels: Ints, ranks: Floats, weights: Ints, area: float) -> Floats:
    """Compute the AUC of each resample, with each person counted as often as drawn.

    A tie counts half. A resample in which all people have one label gets that end of [0, 1] which
    is farther from the AUC of all people.

    Args:
        labels: (people,) 1 or 0; high ranks stand for 1.
        ranks: (people,) the attacker's pooled ranks.
        weights: (draws, people) how often each person was drawn.
        area: AUC of all people.

    Returns:
        (draws,) AUCs.
    """
    # People of equal rank form a group. `ones` and `zeros` are (draws, groups) numbers of people of
    # each label; `below` counts the zeros of lower groups, and half of those of the same group.
    _, group = np.unique(ranks, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    ones = np.add.reduceat((weights * labels)[:, order], starts, axis=1).astype(float)
    zeros = np.add.reduceat((weights * (1 - labels))[:, order], starts, axis=1).astype(float)
    below = np.cumsum(zeros, axis=1) - zeros / 2
    pairs = ones.sum(axis=1) * zeros.sum(axis=1)
    farther_end = 0.0 if area >= 0.5 else 1.0
    areas: Floats = (ones * below).sum(axis=1) / np.maximum(pairs, 1.0)
    areas[pairs == 0] = farther_end
    return areas
