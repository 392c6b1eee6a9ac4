"""Sketches in `tacit compare`: the very people report, once each."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.design import Comparison, Entry
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.experiment.ratings import campaign_of, likes_of, lists_at_home
from tacit.designs.sketches.messages import Campaign
from tacit.designs.sketches.model import answer
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.server import ItemCounts, Server, item_counts
from tacit.randomness import replay, simulation
from tacit.recommenders.base import Recommendation, Recommendations

_N, _RATED, _CLUSTERS = 10, 50, 2


class OnDevices:
    """Everybody reports once; every device makes its own list of ten."""

    def __init__(self, *, epsilon: float) -> None:
        self.epsilon = epsilon

    def fit(self, ratings: Ratings) -> OnDevices:
        liked_from = ratings.scale.liked_from
        seen, likes = ratings.matrix, likes_of(ratings.matrix, liked_from)
        advice = plan(
            items=ratings.n_items,
            rated=min(_RATED, ratings.n_items // 2),
            epsilon=min(self.epsilon, 20.0),
            clusters=_CLUSTERS,
        )
        campaign = campaign_of(ratings.item_ids.tolist(), advice, self.epsilon, liked_from, 0)
        found = score_clusters(reported(campaign, likes, seed=0), _CLUSTERS)
        self.lists_ = lists_at_home(publish(campaign, found), seen, likes, n=_N)
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """One of the lists that were made."""
        own = self.lists_[self.ratings_.user_number(user)][:n]
        items = enumerate(self.ratings_.item_ids[own[own >= 0]].tolist(), 1)
        return Recommendations(
            tuple(Recommendation(user, item, -rank, rank) for rank, item in items)
        )


def reported(campaign: Campaign, likes: sparse.csr_array, *, seed: int) -> ItemCounts:
    """Counts of one report from each row of `likes`."""
    server = Server(campaign, keep_tickets=False)
    starts, items = likes.indptr.astype(np.int64), likes.indices.astype(np.int64)
    with simulation():
        server.fold(answer(campaign, starts, items, replay(f"crowd {seed}")), now=0)
    return item_counts(server)


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
