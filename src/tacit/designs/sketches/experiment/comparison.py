"""Sketches in `tacit compare`: the very people of the ratings report, once each."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from tacit.data.ratings import Ratings
from tacit.design import Comparison, ComparisonEntry
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.experiment.ratings import lists_on_devices, plan_campaign
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.population import likes_of, server_of_reports
from tacit.randomness import replay, simulation
from tacit.recommenders.base import Recommendation, Recommendations

LIST_LENGTH = 10
RATED = 50
"""Items a person is taken to have rated, at most half of the catalogue."""
CLUSTERS = 2
SEED = 0


class OnDevices:
    """Everybody reports once; every device makes its own list of ten."""

    def __init__(self, *, epsilon: float) -> None:
        self.epsilon = epsilon

    def fit(self, ratings: Ratings) -> OnDevices:
        """Let everybody report once, and make their lists."""
        liked_from = ratings.scale.liked_from
        seen = ratings.matrix
        likes = likes_of(seen, liked_from)
        advice = plan(
            items=ratings.n_items,
            rated=min(RATED, ratings.n_items // 2),
            epsilon=min(self.epsilon, 20.0),
            clusters=CLUSTERS,
        )
        campaign = plan_campaign(ratings.item_ids.tolist(), advice, self.epsilon, liked_from, 0)
        with simulation():
            counts = item_counts(server_of_reports(campaign, likes, replay(f"crowd {SEED}")))
        found = score_clusters(counts, CLUSTERS)
        self.lists_ = lists_on_devices(publish(campaign, found), seen, likes, n=LIST_LENGTH)
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """Look up a list that was made."""
        numbers = self.lists_[self.ratings_.user_number(user)][:n]
        items = self.ratings_.item_ids[numbers[numbers >= 0]].tolist()
        rows = [Recommendation(user, item, -rank, rank) for rank, item in enumerate(items, 1)]
        return Recommendations(tuple(rows))


def contenders(asked: Comparison) -> tuple[ComparisonEntry, ...] | str:
    """List the sketches for `tacit compare`; or say why not, where two domains are named."""
    if asked.source is not None:
        return "works in one domain: leave --source and --target out"
    return tuple(map(_make_entry, asked.epsilons))


def _make_entry(epsilon: float) -> ComparisonEntry:
    """Describe the sketches at an epsilon."""
    return ComparisonEntry(
        "sketches",
        "sound" if math.isfinite(epsilon) else "non-private",
        epsilon,
        "one report of a device, for the whole profile",
        "the server and everybody else",
        f"{__name__}:OnDevices",
        {"epsilon": epsilon},
        attacked=False,
    )
