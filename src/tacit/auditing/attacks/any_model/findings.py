"""Findings of an attack: AUC, share found at a low false-alarm rate, a lower bound of epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.auc_bounds import auc, mean_interval
from tacit.auditing.attacks.base import Floats
from tacit.auditing.attacks.membership import count_guesses, least_epsilon
from tacit.errors import DataError

Labels = NDArray[np.bool_]
LISTS = "lists"
"""The view of an attacker who sees lists of items."""
SCORES = "predictions"
"""The view of an attacker who sees predictions."""
SHARES = (0.05, 0.2, 0.5, 1.0)
"""Shares of people about whom guesses are made. Each share gives a bound; it is wrong with a chance
of at most the level divided by the number of shares. The largest bound is reported."""
CONFIDENCE = 0.95
"""Confidence of intervals, and of all bounds of epsilon together."""


@dataclass(frozen=True)
class AttackRow:
    """Figures of one attack.

    People are "in" if the recommender learned from them. For an attack on an attribute, people with
    its commonest value count as in; for a reconstruction, items that a target added.
    """

    attack: str
    """Name of the attack."""
    auc: float
    """AUC: the mean over fits or targets, or one AUC of all people."""
    low: float
    """Lower end of the AUC's 95 % interval."""
    high: float
    """Upper end of the AUC's 95 % interval."""
    tpr_at_fpr_0_001: float | None
    """Of those who are in: the share with a score above all but at most 0.1 % of the scores of
    those who are out."""
    tpr_at_fpr_0_01: float | None
    """Of those who are in: the share with a score above all but at most 1 % of the scores of
    those who are out."""
    epsilon_lower_bound: float | None
    """Lower bound of epsilon, in nats, wrong with a chance of at most the row's level; None if
    no coin was tossed for anybody's presence."""

    def to_dict(self) -> dict[str, float | str | None]:
        """Return the figures under the names of the machine output."""
        return {
            "attack": self.attack,
            "auc": self.auc,
            "low": self.low,
            "high": self.high,
            "tpr_at_fpr_0.001": self.tpr_at_fpr_0_001,
            "tpr_at_fpr_0.01": self.tpr_at_fpr_0_01,
            "epsilon_lower_bound": self.epsilon_lower_bound,
        }


def check_coins(labels: Labels, fix: str) -> None:
    """Raise DataError unless some people are in and others out in each fit; only then is an AUC.

    Args:
        labels: (fits, people) True where the person is in.
        fix: What to do, as the error says it.
    """
    n_in = labels.sum(axis=1)
    is_mixed = (n_in > 0) & (n_in < labels.shape[1])
    if not is_mixed.all():
        raise DataError(
            "chance put all people of a fit in, or all of them out",
            found=f"{labels.shape[1]} people",
            expected="some of each in every fit",
            fix=fix,
        )


def judge(
    attack: str,
    labels: Labels,
    scores: Floats,
    *,
    delta: float | None,
    level: float = 1 - CONFIDENCE,
) -> AttackRow:
    """Judge scores of people who were in or out in one fit or more.

    Args:
        attack: Name of the attack.
        labels: (fits, people) True where the person was in.
        scores: (fits, people); a higher score means more likely in.
        delta: Delta at which epsilon is bounded, once for each share in SHARES. None if no coin
            was tossed for presence: then there is no bound.
        level: Largest chance with which the bound may be wrong.
    """
    areas = []
    for fit_labels, fit_scores in zip(labels, scores, strict=True):
        areas.append(auc(fit_labels.astype(np.int64), fit_scores))
    if delta is None:
        return make_row(attack, areas, labels, scores)
    all_labels = labels.ravel().astype(np.int64)
    all_scores = scores.ravel()
    bounds = []
    for share in SHARES:
        right, guesses = count_guesses(all_labels, all_scores, share)
        bound = least_epsilon(
            right, guesses, people=len(all_labels), delta=delta, level=level / len(SHARES)
        )
        bounds.append(bound)
    return make_row(attack, areas, labels, scores, max(bounds))


def make_row(
    attack: str, areas: Sequence[float], labels: Labels, scores: Floats, bound: float | None = None
) -> AttackRow:
    """Return the row of figures of one attack.

    The interval is Student's t over the AUCs; for a single AUC it is the normal one with the
    standard error of Hanley and McNeil (1982).

    Args:
        attack: Name of the attack.
        areas: AUCs, whose mean is reported.
        labels: True for people who were in, of any shape: all are judged together.
        scores: Scores of these people, of the same shape.
        bound: Lower bound of epsilon; None: there is none.
    """
    mean_auc, low, high = mean_interval(areas)
    if len(areas) == 1:
        half_width = 1.96 * _auc_standard_error(mean_auc, int(labels.sum()), int((~labels).sum()))
        low = max(0.0, mean_auc - half_width)
        high = min(1.0, mean_auc + half_width)
    return AttackRow(
        attack=attack,
        auc=mean_auc,
        low=low,
        high=high,
        tpr_at_fpr_0_001=share_found(labels, scores, 0.001),
        tpr_at_fpr_0_01=share_found(labels, scores, 0.01),
        epsilon_lower_bound=bound,
    )


def share_found(labels: Labels, scores: Floats, share: float) -> float:
    """Return the true-positive rate at a false-positive rate of at most `share`.

    Of those who are in, it is the share with a score above all but floor(share * n) of the scores
    of the n people who are out.
    """
    scores_of_out = np.sort(scores[~labels])[::-1]
    threshold = scores_of_out[math.floor(share * len(scores_of_out))]
    return float((scores[labels] > threshold).mean())


def _auc_standard_error(area: float, n1: int, n0: int) -> float:
    """Return the standard error of one AUC A (Hanley and McNeil, 1982).

    With Q1 = A / (2 - A) and Q2 = 2 A^2 / (1 + A), its square is

        [A (1 - A) + (n1 - 1) (Q1 - A^2) + (n0 - 1) (Q2 - A^2)] / (n1 n0).

    Args:
        area: The AUC A.
        n1: Number of people who are in.
        n0: Number of people who are out.
    """
    q1 = area / (2 - area)
    q2 = 2 * area**2 / (1 + area)
    scaled_variance = area * (1 - area) + (n1 - 1) * (q1 - area**2) + (n0 - 1) * (q2 - area**2)
    return math.sqrt(max(scaled_variance, 0.0) / (n1 * n0))
