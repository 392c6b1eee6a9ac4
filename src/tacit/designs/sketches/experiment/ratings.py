"""Sketches on real ratings: how good lists from learned clusters are, by population and epsilon.

Likes are ratings from some stars on. People are drawn from the training half with replacement,
in any number: more reports than people stand for a larger population of the same taste. Clusters
are learned from reports, published, and every person's device recommends from them; held-out likes
judge the lists. Other methods see the same training half, without privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.splits import random_per_user
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import Clustering, kmeans_line, publish, score_clusters
from tacit.designs.sketches.experiment.populations import (
    SKETCHES,
    advised,
    campaign_of,
    drawn,
    hit_chances,
    likes_of,
    lists_at_home,
    reported,
)
from tacit.designs.sketches.messages import Campaign
from tacit.designs.sketches.planner import Plan, plan
from tacit.errors import ConfigError, DataError
from tacit.evaluation import grouped, mean_interval
from tacit.evaluation.metrics import ranking_metrics
from tacit.evaluation.parallel import Progress

IN_THE_CLEAR = ("spectral-coclustering", "popularity", "item-knn")
REPORTED = 20_000
"""Populations up to this size send reports; larger ones are drawn item by item."""
_N = 10
_NEIGHBOURS = 50
_NEAR = 0.95
_MOST = 10**15  # people in a population: counts are 64-bit integers

Ints = NDArray[np.int64]
Row = dict[str, Any]


def evaluate_ratings(
    ratings: Ratings,
    *,
    users: Sequence[int],
    epsilons: Sequence[float] = (1.0,),
    rated: int = 50,
    clusters: int = 2,
    liked_from: float = 4.0,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """The curve over populations and epsilons, and the methods without privacy, on the same splits.

    rated: w, a public guess of how many items a person has rated; a device uses at most so many of
    its likes. theta and the number of questions are the planner's for it. epsilons: above 0, or
    inf. users: sizes of populations; the planner's own number of people is added for each epsilon.

    Given back: items and people of the ratings, the settings; rows, each one way to learn, judged
    by the devices' lists, with epsilon (inf without noise) and users (inf for an infinite
    population), both None in the clear; needed, see `_needed`; points, see `_points`; sentences.
    """
    if not (users and epsilons and seeds) or min(users) < 1 or max(users) > _MOST:
        raise ConfigError(
            f"A curve needs populations of 1 to {_MOST:,} people, an epsilon and a seed."
        )
    plans = {
        epsilon: plan(
            items=ratings.n_items, rated=rated, epsilon=min(epsilon, 20.0), clusters=clusters
        )
        for epsilon in epsilons
    }
    rows: list[Row] = []
    for seed in seeds:
        trial = _Trial(ratings, liked_from, seed)
        rows += _in_the_clear(trial, clusters, seed)
        progress(1)
        for epsilon in epsilons:
            campaign = campaign_of(trial.catalogue, plans[epsilon], epsilon, liked_from, seed)
            own = advised(plans[epsilon]).users_clt
            reached = math.isfinite(epsilon) and own < _MOST
            for size in sorted({*users, *([round(own)] if reached else [])}):
                rows.append(_sketched(trial, campaign, clusters, epsilon, size, seed))
                progress(1)
            rows.append(_sketched(trial, campaign, clusters, epsilon, math.inf, seed))
    finite = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    needed = [_needed(epsilon, plans[epsilon], rows) for epsilon in finite]
    sizes = {"items": ratings.n_items, "people": ratings.n_users, "rated": rated}
    return {
        **sizes,
        "clusters": clusters,
        "seeds": list(seeds),
        "rows": rows,
        "needed": needed,
        "points": _points(rows),
        "sentences": [_sentence(need, **sizes) for need in needed],
    }


def steps(users: Sequence[int], epsilons: Sequence[float], seeds: int) -> int:
    """How often `progress` is called at most."""
    return seeds * (1 + len(epsilons) * (len(set(users)) + 1))


def _points(rows: Sequence[Row]) -> list[Row]:
    """Means over seeds: NDCG and recall as [mean, low, high], 95 % intervals."""
    names = ("method", "epsilon", "users")

    def mean(name: str, rows: list[Row]) -> list[float]:
        return list(mean_interval([row[name] for row in rows], bounds=(0.0, 1.0)))

    return [
        dict(zip(names, key, strict=True))
        | {name: mean(name, found) for name in ("ndcg_at_10", "recall_at_10")}
        for key, found in grouped(rows, itemgetter(*names)).items()
    ]


class _Trial:
    """One split: likes to learn from, what is seen, and held-out likes."""

    def __init__(self, ratings: Ratings, liked_from: float, seed: int) -> None:
        split = random_per_user(ratings, seed=seed)
        self.catalogue = ratings.item_ids.tolist()
        self.seen = split.train.matrix
        self.likes = likes_of(split.train.matrix, liked_from)
        self.held = likes_of(split.test.matrix, liked_from)
        if self.likes.nnz == 0 or self.held.nnz == 0:
            raise DataError(
                "nobody likes anything",
                expected=f"ratings of {liked_from:g} and more on both sides of the split",
                fix="Lower --liked-from.",
            )

    def row(
        self, lists: Ints, method: str, seed: int, epsilon: float | None, users: float | None
    ) -> Row:
        found = ranking_metrics(lists, self.held)
        return {
            "method": method,
            "epsilon": epsilon,
            "users": users,
            "seed": seed,
            "ndcg_at_10": found.ndcg,
            "recall_at_10": found.recall,
        }

    def at_home(self, campaign: Campaign, clustering: Clustering) -> Ints:
        return lists_at_home(publish(campaign, clustering), self.seen, self.likes, n=_N)

    def ranked(self, scores: Callable[[int], NDArray[np.float64]]) -> Ints:
        """Lists by the scores of each person, seen items left out."""
        lists = np.empty((self.seen.shape[0], _N), dtype=np.int64)
        for person in range(len(lists)):
            own = scores(person).copy()
            own[self.seen.indices[self.seen.indptr[person] : self.seen.indptr[person + 1]]] = -1.0
            best = np.argsort(-own, kind="stable")[:_N]
            lists[person] = np.where(own[best] >= 0, best, -1)
        return lists


def _sketched(
    trial: _Trial, campaign: Campaign, clusters: int, epsilon: float, users: float, seed: int
) -> Row:
    """users: inf for the chances themselves, to the digits that are published."""
    if math.isinf(users):
        chances = hit_chances(campaign, trial.likes)
        labels = kmeans_line(chances, clusters)
        found = Clustering(labels, chances, np.ones(len(labels)))
    else:
        counted = reported if users <= REPORTED else drawn
        counts = counted(campaign, trial.likes, users=int(users), seed=seed)
        found = score_clusters(counts, clusters, resamples=1, seed=seed)
    return trial.row(trial.at_home(campaign, found), SKETCHES, seed, epsilon, users)


def _in_the_clear(trial: _Trial, clusters: int, seed: int) -> list[Row]:
    from tacit.evaluation.metrics import spectral_coclusters

    liked = np.asarray(trial.likes.sum(axis=0)).ravel()
    labels = spectral_coclusters(trial.likes, clusters, seed=seed)
    # Published and used on devices exactly as learned clusters are.
    campaign = new_campaign(trial.catalogue, rated=1, epsilon=math.inf, seed=bytes(16), theta=1.0)
    spectral = trial.at_home(campaign, Clustering(labels, liked, np.ones(len(labels))))
    similar = _similar(trial.likes)
    lists = {
        "spectral-coclustering": spectral,
        "popularity": trial.ranked(lambda _: liked),
        "item-knn": trial.ranked(
            lambda person: (trial.likes[[person]] @ similar).toarray().ravel()
        ),
    }
    return [trial.row(lists[name], name, seed, None, None) for name in IN_THE_CLEAR]


def _similar(likes: sparse.csr_array) -> sparse.csr_array:
    """(items, items) cosine of likes; row by row the most similar items alone."""
    length = np.sqrt(np.maximum(np.asarray(likes.sum(axis=0)).ravel(), 1))
    both = (likes.T @ likes).toarray() / np.outer(length, length)
    np.fill_diagonal(both, 0.0)
    kept = min(_NEIGHBOURS, len(both))
    least = np.partition(both, -kept, axis=1)[:, [-kept]]
    # A column holds whom an item is near to: its own nearest count, as from the person's items.
    return sparse.csr_array(np.where((both >= least) & (both > 0), both, 0.0).T)


def _needed(epsilon: float, planned: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """How many people an epsilon needs on this catalogue.

    lower_bound: nobody can do with fewer, questions fixed beforehand. users_clt: by the planner's
    formula, all labels right in its assumed world. users_near: the smallest measured population
    from which on NDCG@10 stays within 5 % of an infinite population; None if none.
    """
    means: dict[float, list[float]] = {}
    for row in rows:
        if row["epsilon"] == epsilon and row["users"] is not None:
            means.setdefault(row["users"], []).append(row["ndcg_at_10"])
    infinite = float(np.mean(means.pop(math.inf)))
    near = None
    for users in sorted(means, reverse=True):
        if float(np.mean(means[users])) < _NEAR * infinite:
            break
        near = users
    return {
        "epsilon": epsilon,
        "lower_bound": max(planned.lower_bounds.values()),
        "users_clt": advised(planned).users_clt,
        "users_near": near,
    }


def _sentence(need: dict[str, Any], items: int, people: int, rated: int) -> str:
    users, least = need["users_near"], math.ceil(need["lower_bound"])
    planned = float(f"{need['users_clt']:.2g}")
    near = (
        "With no population that was tried did its lists come within 5 % of an infinite one."
        if users is None
        else "Its lists come within 5 % of those of an infinite population from "
        f"{users:,.0f} people of this kind on."
    )
    return (
        f"At epsilon {need['epsilon']:g}, nobody can put all of {items:,} items into their "
        f"clusters with fewer than {least:,} people, of whom each rated {rated}, and "
        f"questions fixed beforehand; the planner says about {planned:,.0f} for this design. "
        f"These ratings have {people:,}. {near}"
    )
