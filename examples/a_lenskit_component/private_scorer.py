"""Recommenders of tacit as a LensKit component: in a pipeline, and in its batch evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery
from lenskit.pipeline.components import Component
from lenskit.training import Trainable, TrainingOptions

import tacit
from tacit.recommenders.model_files import model_reader


@dataclass
class TacitConfig:
    """Settings of the component."""

    model: str = "private"
    """Name of a recommender of tacit, such as "private", "ease" or "item-item"."""
    settings: dict[str, Any] = field(default_factory=lambda: {"epsilon": 1.0})
    """Arguments of its class."""


class TacitScorer(Component[ItemList], Trainable):
    """Scores items for a query by a recommender of tacit, fitted to LensKit's data set."""

    config: TacitConfig

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Fit the recommender anew; a data set without ratings is one of events."""
        frame = data.interaction_table(format="pandas", original_ids=True)
        stars = frame["rating"] if "rating" in frame else np.ones(len(frame))
        ratings = tacit.Ratings.from_arrays(
            frame["user_id"].to_numpy(), frame["item_id"].to_numpy(), np.asarray(stars, float)
        )
        self.model_ = model_reader(self.config.model)(**self.config.settings).fit(ratings)

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Score items from the query's own items; a query without any is a new account."""
        query = RecQuery.create(query)
        history = {}
        if query.user_items is not None and len(query.user_items):
            own = query.user_items
            stars = own.field("rating")
            values = np.ones(len(own)) if stars is None else stars
            history = dict(zip(own.ids().tolist(), np.asarray(values, float).tolist(), strict=True))
        known = set(self.model_.item_ids_.tolist())
        history = {item: value for item, value in history.items() if item in known}
        scores = self.model_.predict(items.ids().tolist(), history=history)
        return ItemList(items, scores=scores)
