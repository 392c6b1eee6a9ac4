"""Sketches of these very people, one report each, for `tacit compare`."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from tacit.data.ratings import Ratings
from tacit.design import Comparison, Entry
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.experiment.on_device import lists_at_home
from tacit.designs.sketches.experiment.populations import reported
from tacit.designs.sketches.experiment.ratings import campaign_of, likes_of
from tacit.designs.sketches.planner import plan
from tacit.recommenders.base import Recommendation, Recommendations

RATED, CLUSTERS = 50, 2


class OnDevices:
    """As many reports as there are people; every device makes its own list of ten."""

    def __init__(self, *, epsilon: float) -> None:
        self.epsilon = epsilon

    def fit(self, ratings: Ratings) -> OnDevices:
        seen, likes = ratings.matrix, likes_of(ratings.matrix, ratings.scale.liked_from)
        advice = plan(
            items=ratings.n_items,
            rated=min(RATED, ratings.n_items // 2),
            epsilon=min(self.epsilon, 20.0),
            clusters=CLUSTERS,
        )
        items = ratings.item_ids.tolist()
        campaign = campaign_of(items, advice, self.epsilon, ratings.scale.liked_from, 0)
        counts = reported(campaign, likes, users=ratings.n_users, seed=0)
        found = score_clusters(counts, CLUSTERS, resamples=1, seed=0)
        self.lists_ = lists_at_home(publish(campaign, found), seen, likes, n=10)
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """One of the lists that were made."""
        number = self.ratings_.user_number(user)
        items = self.ratings_.item_ids[[each for each in self.lists_[number][:n] if each >= 0]]
        return Recommendations(
            tuple(
                Recommendation(user, item, -rank, rank)
                for rank, item in enumerate(items.tolist(), 1)
            )
        )


def contenders(asked: Comparison) -> tuple[Entry, ...] | str:
    """In one domain."""
    if asked.source is not None:
        return "works in one domain: leave --source and --target out"
    return tuple(
        Entry(
            "sketches", "sound" if math.isfinite(epsilon) else "non-private", epsilon,
            "one report of a device, for the whole profile", "the server and everybody else",
            f"{__name__}:OnDevices", {"epsilon": epsilon}, attacked=False,
        )
        for epsilon in asked.epsilons
    )  # fmt: skip
