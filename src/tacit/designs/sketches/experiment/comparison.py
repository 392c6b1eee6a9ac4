"""Sketches in `tacit compare`: each person of the ratings sends one report."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from tacit.data.ratings import Ratings
from tacit.design import Comparison, ComparisonEntry
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.experiment.ratings import make_lists, plan_campaign
from tacit.designs.sketches.planner import NO_NOISE_EPSILON, plan
from tacit.designs.sketches.population import count_simulated_reports, mark_likes
from tacit.randomness import replay, simulation
from tacit.recommenders.base import Recommendation, Recommendations

LIST_LENGTH = 10
"""Length of the lists that are made, which the comparison evaluates."""
RATED = 50
"""Number of items that a person is assumed to have rated; half of the catalogue if that is less."""
CLUSTERS = 2
"""Number of item clusters."""
SEED = 0
"""Seed of questions, tickets and noise."""


class SketchesRecommender:
    """A recommender whose devices report once, and make their lists from the learned clusters."""

    def __init__(self, *, epsilon: float) -> None:
        self.epsilon = epsilon

    def fit(self, ratings: Ratings) -> SketchesRecommender:
        """Simulate a campaign in which all people of the ratings report, and make their lists.

        Args:
            ratings: Ratings in memory. `recommend` serves the people of these ratings.
        """
        liked_from = ratings.scale.liked_from
        likes = mark_likes(ratings.matrix, liked_from)
        planned = plan(
            items=ratings.n_items,
            rated=min(RATED, ratings.n_items // 2),
            epsilon=min(self.epsilon, NO_NOISE_EPSILON),
            clusters=CLUSTERS,
        )
        campaign = plan_campaign(ratings.item_ids.tolist(), planned, self.epsilon, liked_from, SEED)
        with simulation():
            server = count_simulated_reports(campaign, likes, replay(f"crowd {SEED}"))
        clustering = score_clusters(item_counts(server), CLUSTERS)
        clusters = publish(campaign, clustering)
        self.lists_ = make_lists(clusters, ratings.matrix, likes, n=LIST_LENGTH)
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """Return the first n items of a person's list, at most ten.

        Args:
            user: Id of a person of the ratings. Anybody else has sent no report and gets an empty
                list.
            n: Length of the list.
            candidates: Not used: lists are compared in one domain, where all items are candidates.
        """
        user_number = self.ratings_.user_number(user)
        if user_number is None:
            return Recommendations(())
        numbers = self.lists_[user_number][:n]
        items = self.ratings_.item_ids[numbers[numbers >= 0]].tolist()
        rows = [Recommendation(user, item, -rank, rank) for rank, item in enumerate(items, 1)]
        return Recommendations(tuple(rows))


def contenders(comparison: Comparison) -> tuple[ComparisonEntry, ...] | str:
    """List the sketches' entries in `tacit compare`, one for each epsilon.

    Returns:
        The entries; across domains the reason why there are none.
    """
    if comparison.source is not None:
        return "works in one domain: leave --source and --target out"
    return tuple(_make_entry(epsilon) for epsilon in comparison.epsilons)


def _make_entry(epsilon: float) -> ComparisonEntry:
    """Make the entry for an epsilon; inf: without noise."""
    return ComparisonEntry(
        design="sketches",
        variant="sound" if math.isfinite(epsilon) else "non-private",
        epsilon=epsilon,
        unit="one report of a device, for the whole profile",
        against="the server and everybody else",
        maker=f"{__name__}:{SketchesRecommender.__name__}",
        settings={"epsilon": epsilon},
        attacked=False,
    )
