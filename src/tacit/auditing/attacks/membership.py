"""Was this person among those a recommender learned from? Guesses from lists and predictions.

Source   lists: Calandrino, Kilzer, Narayanan, Felten, Shmatikov: You might also like: privacy risks
         of collaborative filtering (S&P 2011), which reads related-item lists; here accounts that
         the attacker made for the purpose stand in for them. predictions: after Yeom, Giacomelli,
         Fredrikson, Jha: Privacy risk in machine learning (CSF 2018). Guesses into epsilon:
         Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023).
Knows    the person's ratings, as a friend or a data set elsewhere would. Not who else was there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import optimize, stats

from tacit.auditing.attacks.base import Floats, Labels
from tacit.errors import ConfigError, DataError
from tacit.recommenders.base import History, Recommendations

Known = Mapping[Any, float]
"""The target's ratings: item id to stars."""


class Asked(Protocol):
    """What an account can ask a recommender for."""

    def recommend(
        self, user: Any = None, *, history: History | None = None, n: int = 10
    ) -> Recommendations: ...

    def predict(
        self, items: Any, user: Any = None, *, history: History | None = None
    ) -> Floats: ...


@dataclass(frozen=True)
class FromLists:
    """An account that holds ONE of the target's items, at its best, sees where the lists put the
    others. Where nobody else rated both, they rise only if they were there.

    length: of a list. best: the scale's top, stars.
    """

    length: int
    best: float
    name: str = "lists"

    def score(self, model: Asked, known: Known) -> float:
        """Mean places gained against an account without ratings, as a share of the list."""
        before = self._places(model, {})
        gains = []
        for item in known:
            after = self._places(model, {item: self.best})
            gains += [
                self._place(before, other) - self._place(after, other)
                for other in known
                if other != item
            ]
        return float(np.mean(gains)) / self.length if gains else 0.0

    def _places(self, model: Asked, history: History) -> dict[Any, int]:
        listed = model.recommend(history=history, n=self.length)
        return {row.item_id: row.rank for row in listed}

    def _place(self, places: Mapping[Any, int], item: Any) -> int:
        return places.get(item, self.length + 1)


@dataclass(frozen=True)
class FromPredictions:
    """An account that holds ONE of the target's ratings sees how far predictions of the others
    move towards what they gave."""

    name: str = "predictions"

    def score(self, model: Asked, known: Known) -> float:
        """Mean stars by which a prediction comes nearer to their rating."""
        items = list(known)
        given = np.array([known[item] for item in items])
        before = np.abs(model.predict(items, history={}) - given)
        gains = []
        for place, item in enumerate(items):
            after = np.abs(model.predict(items, history={item: known[item]}) - given)
            gains.append(np.delete(before - after, place))
        nearer = np.concatenate(gains)
        nearer = nearer[np.isfinite(nearer)]  # items outside the target domain have no prediction
        return float(nearer.mean()) if nearer.size else 0.0


MembershipAttack = FromLists | FromPredictions


def guesses(labels: Labels, scores: Floats, share: float = 1.0) -> tuple[int, int]:
    """(right, made): the upper half of the scores is guessed to be in, the lower half out.

    labels: 1 in, 0 out. share: of the people who are guessed about at all, those at both ends.
    """
    if len(labels) != len(scores) or len(labels) < 2:
        raise DataError("guesses need one score per person, of two people or more")
    made = max(1, round(share * len(scores) / 2))
    order = np.argsort(scores, kind="stable")
    right = int((labels[order[:made]] == 0).sum() + (labels[order[-made:]] == 1).sum())
    return right, 2 * made


def least_epsilon(
    right: int, made: int, *, people: int, delta: float = 0.0, level: float = 0.05
) -> float:
    """Lower bound of epsilon from guesses about people who were each in or out by a fair coin.

    people: all of them, guessed about or not. With chance 1 - level it is at most the epsilon of
    an (epsilon, delta)-private training. If delta is 0 this is Clopper and Pearson's limit p of
    the chance of a right guess, as ln(p / (1 - p)): guesses of one run depend on each other, but
    private ones are right no more often than independent ones (Steinke et al., Theorem 5.2).
    """
    if not 0 <= right <= made <= people or made == 0:
        raise ConfigError(f"{right} right of {made} guesses about {people} people is no count.")

    def chance(epsilon: float) -> float:
        """That so many or more are right, at most."""
        p = 1 / (1 + math.exp(-epsilon))
        tail = float(stats.binom.sf(right - 1, made, p))
        if delta == 0:
            return tail
        fewer = np.arange(1, right + 1)
        within = stats.binom.sf(right - 1 - fewer, made, p) - tail
        return tail + 2 * people * delta * float((within / fewer).max(initial=0.0))

    if chance(0.0) > level:
        return 0.0
    if chance(50.0) <= level:
        return math.inf
    return float(optimize.brentq(lambda epsilon: chance(epsilon) - level, 0.0, 50.0))
