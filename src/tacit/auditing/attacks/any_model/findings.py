"""Findings of an attack: AUC, people found at a low false-alarm rate, a lower bound of epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.auc_bounds import auc, mean_interval
from tacit.auditing.attacks.base import Floats
from tacit.auditing.attacks.membership import count_guesses, least_epsilon

Labels = NDArray[np.bool_]
LISTS = "lists"
SCORES = "predictions"
SHARES = (0.05, 0.2, 0.5, 1.0)
"""Shares of people who are guessed about; the bounds of all of them share the level."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class AttackRow:
    """Figures of one attack."""

    attack: str
    """Name of the attack."""
    auc: float
    """Mean AUC."""
    low: float
    """Lower end of the AUC's 95 % interval."""
    high: float
    """Upper end of the AUC's 95 % interval."""
    tpr_at_fpr_0_001: float | None
    """Share of those who are in, found while 0.1 % of the others are accused."""
    tpr_at_fpr_0_01: float | None
    """Share of those who are in, found while 1 % of the others are accused."""
    epsilon_lower_bound: float | None
    """Lower bound of epsilon, in nats, wrong with a chance of at most the row's level; None where
    nobody's presence was tossed."""

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


def judge(
    attack: str,
    labels: Labels,
    scores: Floats,
    *,
    delta: float | None,
    level: float = 1 - CONFIDENCE,
) -> AttackRow:
    """Judge guesses about people who were in or out in several fits.

    Args:
        attack: Name of the attack.
        labels: (fits, people) who was in.
        scores: (fits, people), higher = more likely in.
        delta: Delta at which epsilon is bounded: the best of several numbers of guesses, which
            share the level. None if presence was not tossed: no bound.
        level: Chance with which the bound may be wrong.
    """
    areas = []
    for inside, given in zip(labels, scores, strict=True):
        areas.append(auc(inside.astype(np.int64), given))
    if delta is None:
        return make_row(attack, areas, labels, scores)
    coded = labels.ravel().astype(np.int64)
    flat = scores.ravel()
    bounds = []
    for share in SHARES:
        right, made = count_guesses(coded, flat, share)
        bound = least_epsilon(
            right, made, people=len(coded), delta=delta, level=level / len(SHARES)
        )
        bounds.append(bound)
    return make_row(attack, areas, labels, scores, max(bounds))


def make_row(
    attack: str, areas: Sequence[float], labels: Labels, scores: Floats, bound: float | None = None
) -> AttackRow:
    """Return the figures of one attack.

    The interval is Student's t over the AUCs; for a single AUC it is that of Hanley and McNeil
    (1982).
    """
    middle, low, high = mean_interval(areas)
    if len(areas) == 1:
        half = 1.96 * _auc_standard_error(middle, int(labels.sum()), int((~labels).sum()))
        low = max(0.0, middle - half)
        high = min(1.0, middle + half)
    in_1000 = share_found(labels, scores, 0.001)
    in_100 = share_found(labels, scores, 0.01)
    return AttackRow(attack, middle, low, high, in_1000, in_100, bound)


def share_found(labels: Labels, scores: Floats, share: float) -> float:
    """Return the share of those in whose score is above all but `share` of those out."""
    out = np.sort(scores[~labels])[::-1]
    return float((scores[labels] > out[math.floor(share * len(out))]).mean())


def _auc_standard_error(area: float, n1: int, n0: int) -> float:
    """Compute the standard error of one AUC (Hanley and McNeil, 1982).

    With Q1 = A / (2 - A) and Q2 = 2 A^2 / (1 + A), its square is

        [A (1 - A) + (n1 - 1) (Q1 - A^2) + (n0 - 1) (Q2 - A^2)] / (n1 n0).

    Args:
        area: A: the AUC.
        n1: Number of those in.
        n0: Number of those out.
    """
    q1 = area / (2 - area)
    q2 = 2 * area**2 / (1 + area)
    scaled_variance = area * (1 - area) + (n1 - 1) * (q1 - area**2) + (n0 - 1) * (q2 - area**2)
    return math.sqrt(max(scaled_variance, 0.0) / (n1 * n0))
