"""NX-Map on the small current MovieLens, cut into two domains by genre."""

from __future__ import annotations

import math

import numpy as np

from tacit import ItemMean, Popularity, XMap
from tacit.data.domains import cross_domain_split, items_in, split_by_genre
from tacit.data.movielens import read_movielens
from tacit.designs.xmap.experiment.judgements import judge_target


def test_cold_start_beats_means_and_popularity(ml_latest_small):
    """For people who rated nothing in the target, predictions beat item means by more than .02
    stars, and lists beat popularity by more than .05 of NDCG@10."""
    ratings = split_by_genre(read_movielens(ml_latest_small))
    split = cross_domain_split(ratings, source="D1", target="D2", seed=0)
    target = np.zeros(ratings.n_items, dtype=bool)
    target[items_in(ratings, "D2")] = True
    nx_map, means, popularity = (
        judge_target(model.fit(split.train), split, target, stars=stars)
        for model, stars in (
            (XMap(source="D1", target="D2", variant="published", epsilon=math.inf), True),
            (ItemMean(damping=0.0), True),
            (Popularity(), False),
        )
    )
    assert nx_map.mae < means.mae - 0.02
    assert nx_map.mean_ndcg > popularity.mean_ndcg + 0.05
