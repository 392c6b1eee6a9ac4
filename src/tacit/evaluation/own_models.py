"""The caller's own models in a comparison: recommenders of any kind that `adapters` knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, adapt, find_recbole_model
from tacit.auditing.attacks.any_model.named_models import find_model
from tacit.auditing.attacks.any_model.runner import find_card_with_epsilon, predicts_stars
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.base import History, Recommendation, Recommendations

WHOLE_PROFILE = "a person's whole profile, added or removed"
"""Unit of an epsilon whose card has the adjacency `WHOLE_ADJACENCY`."""
WHOLE_ADJACENCY = "add or remove one user"
"""Text of the adjacency of a card that protects a person's whole profile."""


@dataclass(frozen=True)
class OwnClaim:
    """Claim of a fitted model's card about adding or removing a whole profile."""

    epsilon: float
    """Claimed epsilon."""
    delta: float
    """Claimed delta; 0 if the card states none."""
    against: str
    """Adversary against whom the claim holds."""


class OwnModel:
    """A recommender of any kind, with the methods of tacit's recommenders: fit, recommend, predict.

    Args:
        model: The recommender: an object, a class, a function, or a text that `find_model` reads.
        arguments: Keyword arguments of the class that a text names. Any other model has none.

    Raises:
        ConfigError: There are arguments although `model` is no text.
    """

    def __init__(self, model: Any, arguments: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._arguments = dict(arguments or {})
        if self._arguments and not isinstance(model, str):
            raise ConfigError(
                f"{name_of_model(model)} takes no arguments here: only a class that a text names "
                "does. Give an object that is made with them, or a text such as mine.py:Model."
            )

    def adapt(self) -> AdaptedModel:
        """Return the recommender with the interface that `adapters` gives to every kind.

        Raises:
            ConfigError: The recommender is of no known kind (the error names the missing method),
                or a text names none that can be found and made.
        """
        model = self._model
        if isinstance(model, str):
            model = find_model(model, self._arguments)
        return adapt(model)

    def fit(self, ratings: Ratings) -> OwnModel:
        """Fit a new model to the ratings. A fixed model learns nothing from them."""
        self._ratings = ratings
        self._answers = self.adapt().fit(ratings)
        return self

    @property
    def predicts_stars(self) -> bool:
        """Whether the fitted model's predictions are stars."""
        return predicts_stars(self._answers, self._ratings)

    @property
    def claim(self) -> OwnClaim | None:
        """Claim of the fitted model's first card about adding or removing a whole profile.

        None if no such card states an epsilon.
        """
        card = find_card_with_epsilon(self._answers)
        if card is None or card.epsilon is None:
            return None
        return OwnClaim(card.epsilon, card.delta or 0.0, card.against)

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """List the best items for a history, or for a person in the training ratings.

        The scores in the list are NaN, since not every recommender has scores.

        Args:
            user: Id of the person. With a history, the id is only copied into the list.
            history: Stars by item id; None: the person's ratings in training.
            n: Length of the list.
            candidates: Ids of the items that the list may hold; None: every item.
        """
        known_ratings = self._find_history(user, history)
        # With candidates, all items are ranked, and the others are then removed.
        length = n if candidates is None else self._ratings.n_items
        if history is None:
            ranking = self._answers.rank_for_person(user, known_ratings, length)
        else:
            ranking = self._answers.rank(known_ratings, length)
        ids = [self._answers.ids[number] for number in ranking.tolist()]
        if candidates is not None:
            allowed = set(candidates)
            ids = [item for item in ids if item in allowed][:n]
        rows = []
        for rank, item in enumerate(ids, 1):
            rows.append(Recommendation(user, item, float("nan"), rank))
        return Recommendations(tuple(rows))

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> NDArray[np.float64]:
        """Predict the scores of items for a history, or for a person in the training ratings.

        Args:
            items: Ids of the items.
            user: Id of the person; not used if there is a history.
            history: Stars by item id; None: the person's ratings in training.

        Returns:
            Shape (len(items),): predictions, NaN for an item that the model does not score.
        """
        scores = self._answers.scores(self._find_history(user, history))
        predictions = np.full(len(items), np.nan)
        if scores is None:
            return predictions
        for position, item in enumerate(items):
            number = self._answers.number.get(item)
            if number is not None:
                predictions[position] = scores[number]
        return predictions

    def _find_history(self, user: Any, history: History | None) -> History:
        """Return the history, or the person's ratings in training if there is no history."""
        return self._ratings.history(user) if history is None else history


def name_of_model(model: Any) -> str:
    """Return a model's name for tables: the end of its text, its class or its function."""
    if isinstance(model, str):
        name = model.rpartition(":")[2]  # "mine.py:Model" -> "Model"
        return name.rpartition("/")[2]  # "models/shop.tacit" -> "shop.tacit"
    trained = find_recbole_model(model)
    if trained is not None:
        model = trained[0]
    return str(getattr(model, "__name__", type(model).__name__))
