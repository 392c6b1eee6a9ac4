"""A reader's own model in a comparison: any recommender that an attack takes, judged like ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, adapt, find_recbole_model
from tacit.auditing.attacks.any_model.named_models import find_model
from tacit.auditing.attacks.any_model.runner import claim_of_card, predicts_stars
from tacit.data.ratings import Ratings
from tacit.recommenders.base import History, Recommendation, Recommendations

WHOLE_PROFILE = "a person's whole profile, added or removed"
"""Unit of an epsilon whose card says `WHOLE_ADJACENCY`."""
WHOLE_ADJACENCY = "add or remove one user"


@dataclass(frozen=True)
class OwnClaim:
    """Claim of a fitted model's card for whole profiles."""

    epsilon: float
    """Claimed epsilon."""
    delta: float
    """Claimed delta."""
    against: str
    """Adversary that the claim holds against."""


class OwnModel:
    """Any recommender as one that is fitted to ratings and lists items for a person.

    Args:
        model: The recommender: an object, a class, a function, or a text that `find_model` reads.
        arguments: Arguments of the class that a text names.
    """

    def __init__(self, model: Any, arguments: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._arguments = dict(arguments or {})

    def adapt(self) -> AdaptedModel:
        """Adapt the recommender by its kind.

        Raises:
            ConfigError: It is of no known kind; the error names the missing method.
        """
        model = self._model
        if isinstance(model, str):
            model = find_model(model, self._arguments)
        return adapt(model)

    def fit(self, ratings: Ratings) -> OwnModel:
        """Fit a new model; a fixed one, which learns nothing, stays as it is."""
        self._ratings = ratings
        self._answers = self.adapt().fit(ratings)
        return self

    @property
    def predicts_stars(self) -> bool:
        """Whether the fitted model's predictions are stars."""
        return predicts_stars(self._answers, self._ratings)

    @property
    def claim(self) -> OwnClaim | None:
        """Claim of the fitted model's card; None where it claims nothing."""
        stated = claim_of_card(self._answers)
        if stated is None or stated.epsilon is None:
            return None
        return OwnClaim(stated.epsilon, stated.delta or 0.0, stated.against)

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """List items for a history, or for what a person rated of the ratings fitted to.

        Scores are NaN: not every recommender has some.
        """
        own = self._history(user, history)
        length = n if candidates is None else self._ratings.n_items
        if history is None:
            numbers = self._answers.rank_for_person(user, own, length)
        else:
            numbers = self._answers.rank(own, length)
        if candidates is not None:
            allowed = set(candidates)
            ranked = numbers.tolist()
            kept = [number for number in ranked if self._answers.ids[number] in allowed]
            numbers = np.array(kept[:n], dtype=np.int64)
        rows = []
        for rank, number in enumerate(numbers.tolist(), 1):
            rows.append(Recommendation(user, self._answers.ids[number], float("nan"), rank))
        return Recommendations(tuple(rows))

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> NDArray[np.float64]:
        """(len(items),) predictions, NaN where there is none."""
        scores = self._answers.scores(self._history(user, history))
        if scores is None:
            return np.full(len(items), np.nan)
        numbers = [self._answers.number.get(item, -1) for item in items]
        return np.append(scores, np.nan)[numbers]

    def _history(self, user: Any, history: History | None) -> History:
        return self._ratings.history(user) if history is None else history


def name_of_model(model: Any) -> str:
    """Name a model for a table: by its text, its class or its function."""
    if isinstance(model, str):
        return model.rpartition(":")[2].rpartition("/")[2]
    trained = find_recbole_model(model)
    if trained is not None:
        model = trained[0]
    return str(getattr(model, "__name__", type(model).__name__))
