"""Attacks on an attribute of any number of values: one attack per value against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.base import AttributeAttack, Floats
from tacit.auditing.attacks.judging import auc
from tacit.errors import ConfigError, DataError, NotFittedError

Column = NDArray[Any]
"""(n_users,) values of the attribute, of any type that compares by ==."""


class OneVersusRest:
    """Fit once, judge any number of releases.

    values: the attribute's values, at least two. Of two, the second is label 1 and one attack is
    made; of more, each is label 1 of its own attack.
    """

    def __init__(self, make: Callable[[], AttributeAttack], values: Sequence[Any]) -> None:
        if len(values) < 2 or len(set(values)) != len(values):
            raise ConfigError(f"An attack needs two or more different values; got {list(values)}.")
        self._make = make
        self.targets = list(values[1:]) if len(values) == 2 else list(values)
        self._attacks: dict[Any, AttributeAttack] = {}

    def fit(self, ratings: sparse.csr_array, labels: Column) -> Self:
        """A value held by fewer than two training people, or by all but one, gets no attack."""
        attacks = {}
        for value in self.targets:
            ones = (np.asarray(labels) == value).astype(np.int64)
            if 2 <= ones.sum() <= len(ones) - 2:
                attacks[value] = self._make().fit(ratings, ones)
        if not attacks:
            raise DataError(
                "the attack has too few people to learn from",
                expected="at least two people of two values of the attribute",
            )
        self._attacks = attacks
        return self

    def score(self, ratings: sparse.csr_array) -> dict[Any, Floats]:
        """Each attacked value's (n_users,) scores."""
        if not self._attacks:
            raise NotFittedError("The attack has learned nothing yet: call fit first.")
        return {value: attack.score(ratings) for value, attack in self._attacks.items()}

    def auc(self, ratings: sparse.csr_array, labels: Column) -> float:
        """Macro average: every value's AUC weighs the same, however few people hold it.

        Values that nobody or everybody here holds have no AUC and are left out. With more than two
        values, AUCs on either side of 0.5 cancel in the mean: `aucs` tells them apart.
        """
        return float(np.mean(list(self.aucs(ratings, labels).values())))

    def aucs(self, ratings: sparse.csr_array, labels: Column) -> dict[Any, float]:
        """The AUC of every value that has one; `DataError` if none has."""
        areas = {}
        for value, scores in self.score(ratings).items():
            ones = (np.asarray(labels) == value).astype(np.int64)
            if 0 < ones.sum() < len(ones):
                areas[value] = auc(ones, scores)
        if not areas:
            raise DataError(
                "these people all hold the same value, so the attack cannot be judged on them",
                fix="Use fewer folds, or more people.",
            )
        return areas


def one_vs_rest_auc(
    make: Callable[[], AttributeAttack],
    train: sparse.csr_array,
    labels: Column,
    test: sparse.csr_array,
    test_labels: Column,
    values: Sequence[Any],
) -> float:
    """Fit on `train`, judge on `test`: the plain AUC of two values, the macro average of more."""
    return OneVersusRest(make, values).fit(train, labels).auc(test, test_labels)
