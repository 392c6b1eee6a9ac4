"""How well attacks do: AUC, the permuted control, and the best of many attackers.

Of many attackers, AUCs are of out-of-fold scores: ranks within each fold, pooled over folds. People
are resampled, all attackers together. With sd_a the standard deviation of attacker a's AUC over the
resamples, c is the 95 % quantile of max_a |AUC*_a - AUC_a| / sd_a, and the bound
max_a (|AUC_a - .5| + c sd_a) holds for all attackers at once. It covers the draw of people, not
that of the training sets: with fewer than 5 folds the standard deviation between folds is added in
quadrature. A resample that holds one label alone has no AUC and says nothing of it: it counts as
the end of [0, 1] that is farther from the attacker's AUC. So bounds of a label that few people have
get wider and not narrower.
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
"""Resamples of the people."""
CONFIDENCE = 0.95
ENOUGH_FOLDS = 5
"""With fewer folds, the spread between folds is added to the deviations."""
MOST = 0.5
"""Largest distance of an AUC from 0.5."""


def average_ranks(values: Floats) -> Floats:
    """(n,) ranks of (n,) values from 1, equal ones sharing their mean rank; NaN if any is NaN."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[places]
    return ranks


def auc(labels: Labels, scores: Floats) -> float:
    """Chance that a random 1 scores above a random 0, a tie counting half; (people,) each.

    The rank statistic of Mann and Whitney, exact. Undefined where all labels agree: `DataError`.
    """
    ones = np.asarray(labels) == 1
    values = np.asarray(scores, dtype=np.float64)
    if ones.shape != values.shape or ones.ndim != 1:
        raise DataError("labels and scores differ in length", found=(ones.shape, values.shape))
    if not (finite := np.isfinite(values)).all():
        raise DataError("a score is not a finite number", row=int(np.argmin(finite)) + 1)
    n_ones = int(ones.sum())
    n_zeros = len(ones) - n_ones
    if n_ones == 0 or n_zeros == 0:
        raise DataError("an AUC needs people of both labels", found=(n_zeros, n_ones))
    ranks = average_ranks(values)
    return float((ranks[ones].sum() - n_ones * (n_ones + 1) / 2) / (n_ones * n_zeros))


def distance(area: float) -> float:
    """Distance of an AUC from 0.5: an AUC of 0.35 leaks as much as 0.65, with inverted guesses."""
    return abs(area - 0.5)


def permute_labels(labels: NDArray[np.generic], seed: int) -> NDArray[np.generic]:
    """(people,) labels in random order: the control on which every attack must end near 0.5."""
    return np.random.default_rng(seed).permutation(labels)


def mean_interval(areas: Sequence[float]) -> tuple[float, float, float]:
    """Compute the mean of AUCs and the ends of its 95 % interval by Student's t.

    A single AUC has no spread: both ends are the AUC itself.
    """
    middle = float(np.mean(areas))
    half = 0.0
    if len(areas) > 1:
        error = float(np.std(areas, ddof=1)) / math.sqrt(len(areas))
        half = float(stdtrit(len(areas) - 1, 0.975)) * error
    return middle, max(0.0, middle - half), min(1.0, middle + half)


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Bound(Generic[Key]):
    """AUC and standard deviation of each attacker; `quantile`: c of this module's text."""

    areas: Mapping[Key, float]
    deviations: Mapping[Key, float]
    quantile: float

    @property
    def worst_attacker(self) -> Key:
        """The attacker farthest from 0.5."""
        return max(self.areas, key=lambda key: abs(self.areas[key] - 0.5))

    @property
    def distance(self) -> float:
        """Distance of the worst attacker's AUC from 0.5."""
        return abs(self.areas[self.worst_attacker] - 0.5)

    @property
    def upper(self) -> float:
        """No attacker of the panel is farther from 0.5, with 95 % confidence for all at once."""
        return min(MOST, max(self._ends(+1)))

    @property
    def lower(self) -> float:
        """Some attacker is at least as far from 0.5, with 95 % confidence; 0 if all may guess."""
        return max(0.0, *self._ends(-1))

    def interval(self, key: Key) -> tuple[float, float]:
        """95 % interval of one attacker's AUC by itself."""
        half = float(ndtri((1 + CONFIDENCE) / 2)) * self.deviations[key]
        return max(0.0, self.areas[key] - half), min(1.0, self.areas[key] + half)

    def _ends(self, side: int) -> list[float]:
        """Return the end of each attacker's interval of distances: +1 the upper, -1 the lower."""
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
    """Bound all attackers' AUCs at once, by this module's text.

    Args:
        labels: (people,) values of the attribute.
        scores: (people,) scores of each attacker.
        fold_of: (people,) fold that each person was scored in.
        target: The value that an attacker guesses, by its key.
        draws: Number of resamples of the people.
        seed: Seed of the resamples.

    Raises:
        DataError: There are no scores.
    """
    if not scores:
        raise DataError("a bound needs the scores of at least one attacker")
    ones = {key: (labels == target(key)).astype(np.int64) for key in scores}
    ranks = {key: pooled_ranks(own, fold_of) for key, own in scores.items()}
    areas = {key: auc(ones[key], own) for key, own in ranks.items()}
    generator = np.random.default_rng(seed)
    people = len(labels)
    weights = generator.multinomial(people, np.full(people, 1 / people), size=draws)
    resampled = {
        key: _resampled_aucs(ones[key], own, weights, areas[key]) for key, own in ranks.items()
    }
    spreads = {key: float(np.std(aucs, ddof=1)) for key, aucs in resampled.items()}
    largest = np.max(
        [np.abs(resampled[key] - areas[key]) / max(spreads[key], 1e-12) for key in ranks], axis=0
    )
    deviations = {
        key: math.hypot(spread, _between_folds(ones[key], scores[key], fold_of))
        for key, spread in spreads.items()
    }
    return Bound(areas, deviations, float(np.quantile(largest, CONFIDENCE)))


def pooled_ranks(scores: Floats, fold_of: Ints) -> Floats:
    """(people,) ranks within the fold over its size: scores of different fits become comparable."""
    ranks = np.empty(len(scores))
    for fold in np.unique(fold_of):
        inside = fold_of == fold
        ranks[inside] = (average_ranks(scores[inside]) - 0.5) / inside.sum()
    return ranks


def _between_folds(labels: Ints, scores: Floats, fold_of: Ints) -> float:
    """Standard deviation of the AUC between few folds; 0 with enough of them."""
    folds = np.unique(fold_of)
    mixed_folds = [fold for fold in folds if 0 < labels[fold_of == fold].mean() < 1]
    if len(folds) >= ENOUGH_FOLDS or len(mixed_folds) < 2:
        return 0.0
    areas = [auc(labels[fold_of == fold], scores[fold_of == fold]) for fold in mixed_folds]
    return float(np.std(areas, ddof=1))


def _resampled_aucs(labels: Ints, ranks: Floats, weights: Ints, area: float) -> Floats:
    """Compute the AUC of each resample, with each person counted as often as drawn.

    A tie counts half. A resample with one label alone gets the end of [0, 1] that is farther from
    the AUC of all people.

    Args:
        labels: (people,) 1 for those to be found, 0 for the others.
        ranks: (people,) the attacker's pooled ranks.
        weights: (draws, people) how often each person was drawn.
        area: AUC of all people.

    Returns:
        (draws,) AUCs.
    """
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
