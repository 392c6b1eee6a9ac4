"""Sketches on real ratings: how good lists from learned clusters are, by population and epsilon.

Likes are ratings from some stars on. People are drawn from the training half with replacement, in
any number: a population above the data's own stands for so many people of the same tastes. An
item's counts are drawn from their own exact distribution; what is left out is that items in one set
get the same answer, and that the wheel's sets are not quite all equally likely. Every person's
device recommends from the published clusters; held-out likes judge the lists. Spectral
co-clustering, popular items and item kNN see the same training half, without privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import hypergeom

from tacit.data.ratings import Ratings
from tacit.data.splits import random_per_user
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import (
    Clustering,
    kmeans_line,
    publish,
    score_clusters,
    spectral_coclusters,
)
from tacit.designs.sketches.counting import ItemCounts
from tacit.designs.sketches.messages import WHOLE, Campaign, Clusters
from tacit.designs.sketches.planner import Plan, plan
from tacit.designs.sketches.population import likes_of
from tacit.errors import ConfigError, DataError
from tacit.evaluation import group_by, mean_interval
from tacit.evaluation.metrics import ranking_metrics
from tacit.evaluation.runner import Progress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = dict[str, Any]
METHOD = "multi-maxsense"
_LIST_LENGTH = 10
_NEIGHBOURS = 50
_NEAR = 0.95  # share of an infinite population's NDCG that counts as near it
_MOST_PEOPLE = 10**15  # counts are 64-bit integers


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
    """Measure the curve over populations and epsilons, and methods without privacy beside it.

    All are measured on the same splits. Theta and the number of questions are the planner's.

    Args:
        ratings: In memory.
        users: Sizes of populations; the planner's own number of people is added for each epsilon.
        epsilons: Nats of a report, above 0; inf without noise.
        rated: w, a public guess of how many items a person has rated; a device uses at most so many
            of its likes.
        clusters: Item clusters that are learned.
        liked_from: Stars from which on an item is liked.
        seeds: Seeds of the splits.
        progress: Called with 1 after each epsilon of each seed.

    Returns:
        Items and people of the ratings; the settings; `rows`, each one way to learn, judged by the
        lists, with epsilon (inf without noise) and users (inf for an infinite population), both
        None without privacy; `needed`, see `_people_needed`; `points`, means over seeds;
        `sentences`.

    Raises:
        ConfigError: There is no population, epsilon or seed, or a population is out of range.
        DataError: Nobody likes anything on one side of a split.
    """
    if not (users and epsilons and seeds) or min(users) < 1 or max(users) > _MOST_PEOPLE:
        raise ConfigError(
            f"A curve needs populations of 1 to {_MOST_PEOPLE:,} people, an epsilon and a seed."
        )
    items = ratings.n_items
    plans = {
        epsilon: plan(items=items, rated=rated, epsilon=min(epsilon, 20.0), clusters=clusters)
        for epsilon in epsilons
    }
    rows: list[Row] = []
    for seed in seeds:
        trial = _Trial(ratings, liked_from, seed)
        for name, lists in trial.non_private_lists(clusters):
            rows.append(trial.make_row(lists, name, None, None))
        for epsilon, advice in plans.items():
            campaign = plan_campaign(trial.catalogue, advice, epsilon, liked_from, seed)
            sizes = set(users)
            planned = advice.method_plan(METHOD).users_clt
            if math.isfinite(epsilon) and planned < _MOST_PEOPLE:
                sizes.add(round(planned))
            for size in (*sorted(sizes), math.inf):
                found = _learn_clusters(campaign, trial.likes, clusters, size, seed)
                lists = trial.make_lists(publish(campaign, found))
                rows.append(trial.make_row(lists, METHOD, epsilon, size))
            progress(1)
    finite = filter(math.isfinite, epsilons)
    needed = [_people_needed(epsilon, plans[epsilon], rows) for epsilon in finite]
    size_of_data = {"items": items, "people": ratings.n_users, "rated": rated}
    return {
        **size_of_data,
        "clusters": clusters,
        "seeds": list(seeds),
        "rows": rows,
        "needed": needed,
        "points": _average_over_seeds(rows),
        "sentences": [_sentence(need, **size_of_data) for need in needed],
    }


class _Trial:
    """One split: likes to learn from, what is seen, and held-out likes."""

    def __init__(self, ratings: Ratings, liked_from: float, seed: int) -> None:
        split = random_per_user(ratings, seed=seed)
        self.catalogue = ratings.item_ids.tolist()
        self.seed = seed
        self.seen = split.train.matrix
        self.likes = likes_of(split.train.matrix, liked_from)
        self.held = likes_of(split.test.matrix, liked_from)
        if self.likes.nnz == 0 or self.held.nnz == 0:
            raise DataError(
                "nobody likes anything",
                expected=f"ratings of {liked_from:g} and more on both sides of the split",
                fix="Lower --liked-from.",
            )

    def make_lists(self, clusters: Clusters) -> Ints:
        """Make everybody's list of ten on their device: (people, 10) item numbers."""
        return lists_on_devices(clusters, self.seen, self.likes, n=_LIST_LENGTH)

    def non_private_lists(self, clusters: int) -> Iterator[tuple[str, Ints]]:
        """Yield the lists of ten of each method without privacy, with its name."""
        liked = np.asarray(self.likes.sum(axis=0)).ravel()
        together = spectral_coclusters(self.likes, clusters, seed=self.seed)
        campaign = new_campaign(self.catalogue, rated=1, epsilon=math.inf, seed=bytes(16))
        for name, labels in (
            ("spectral-coclustering", together),
            ("popularity", np.zeros_like(together)),
        ):
            yield name, self.make_lists(publish(campaign, Clustering(labels, liked)))
        scores = (self.likes @ _cosine_similarities(self.likes)).toarray()
        scores[self.seen.nonzero()] = -1.0
        best = np.argsort(-scores, axis=1, kind="stable")[:, :_LIST_LENGTH]
        yield "item-knn", np.where(np.take_along_axis(scores, best, axis=1) >= 0, best, -1)

    def make_row(self, lists: Ints, method: str, epsilon: float | None, users: float | None) -> Row:
        """Judge lists by the held-out likes."""
        found = ranking_metrics(lists, self.held)
        return {
            "method": method,
            "epsilon": epsilon,
            "users": users,
            "seed": self.seed,
            "ndcg_at_10": found.ndcg,
            "recall_at_10": found.recall,
        }


def _cosine_similarities(likes: sparse.csr_array) -> sparse.csr_array:
    """Compute the (items, items) cosine of likes, row by row the most similar items alone."""
    length = np.sqrt(np.maximum(np.asarray(likes.sum(axis=0)).ravel(), 1))
    cosine = (likes.T @ likes).toarray() / np.outer(length, length)
    np.fill_diagonal(cosine, 0.0)
    neighbours = min(_NEIGHBOURS, len(cosine))
    least = np.partition(cosine, -neighbours, axis=1)[:, [-neighbours]]
    # A column holds whom an item is near to: its own nearest count, as from the person's items.
    return sparse.csr_array(np.where((cosine >= least) & (cosine > 0), cosine, 0.0).T)


def _learn_clusters(
    campaign: Campaign, likes: sparse.csr_array, clusters: int, users: float, seed: int
) -> Clustering:
    """Learn clusters from simulated answers of so many people.

    An infinite population answers by the chances themselves, to the digits that are published.
    """
    if math.isinf(users):
        chances = hit_chances(campaign, likes)
        return Clustering(kmeans_line(chances, clusters), chances)
    return score_clusters(draw_counts(campaign, likes, users=int(users), seed=seed), clusters)


def _average_over_seeds(rows: Sequence[Row]) -> list[Row]:
    """Average NDCG and recall over seeds, as [mean, low, high], 95 % intervals."""
    points = []
    for key, of_seeds in group_by(rows, itemgetter("method", "epsilon", "users")).items():
        point: Row = dict(zip(("method", "epsilon", "users"), key, strict=True))
        for name in ("ndcg_at_10", "recall_at_10"):
            point[name] = list(mean_interval([row[name] for row in of_seeds], bounds=(0.0, 1.0)))
        points.append(point)
    return points


def _people_needed(epsilon: float, planned: Plan, rows: Sequence[Row]) -> Row:
    """Say how many people an epsilon needs on this catalogue.

    Returns:
        `lower_bound`: nobody can do with fewer, questions fixed beforehand; `users_clt`: by the
        planner's formula, all labels right in its assumed world; `users_near`: the smallest
        measured population from which on NDCG@10 stays within 5 % of an infinite population, None
        if there is none.
    """
    of_epsilon = [row for row in rows if row["epsilon"] == epsilon]
    means = {}
    for users, of_users in group_by(of_epsilon, itemgetter("users")).items():
        means[users] = np.mean([row["ndcg_at_10"] for row in of_users])
    infinite = means.pop(math.inf)
    near = None
    for users in sorted(means, reverse=True):
        if means[users] < _NEAR * infinite:
            break
        near = users
    return {
        "epsilon": epsilon,
        "lower_bound": max(planned.lower_bounds.values()),
        "users_clt": planned.method_plan(METHOD).users_clt,
        "users_near": near,
    }


def _sentence(need: Row, items: int, people: int, rated: int) -> str:
    """Say what an epsilon needs, by theory and as measured."""
    users = need["users_near"]
    least = math.ceil(need["lower_bound"])
    planned = float(f"{need['users_clt']:.2g}")
    if users is None:
        near = "With no population that was tried did its lists come within 5 % of an infinite one."
    else:
        near = (
            "Its lists come within 5 % of those of an infinite population from "
            f"{users:,.0f} people of this kind on."
        )
    return (
        f"At epsilon {need['epsilon']:g}, nobody can put all of {items:,} items into their "
        f"clusters with fewer than {least:,} people, of whom each rated {rated}, and "
        f"questions fixed beforehand; the planner says about {planned:,.0f} for this design. "
        f"These ratings have {people:,}. {near}"
    )


def plan_campaign(
    items: Sequence[Any], advice: Plan, epsilon: float, liked_from: float, seed: int
) -> Campaign:
    """Design a campaign as the planner advises for a catalogue."""
    multi_maxsense = advice.method_plan(METHOD)
    return new_campaign(
        items,
        rated=advice.rated,
        epsilon=epsilon,
        theta=multi_maxsense.theta or 1.0,
        questions=multi_maxsense.questions,
        liked_from=liked_from,
        seed=np.random.default_rng((seed, 3)).bytes(16),
    )


def draw_counts(
    campaign: Campaign, likes: sparse.csr_array, *, users: int, seed: int
) -> ItemCounts:
    """Draw the counts of so many people by item, from their marginal distributions."""
    generator = np.random.default_rng((seed, users, 1))
    truth = campaign.truth / WHOLE
    hits = hit_chances(campaign, likes)
    chances = truth * hits + (1 - truth) * (1 - hits)
    asked = generator.binomial(users, campaign.asked_share, size=campaign.items).astype(np.int64)
    return ItemCounts(asked, generator.binomial(asked, chances).astype(np.int64))


def hit_chances(campaign: Campaign, likes: sparse.csr_array) -> Floats:
    """Compute the chance that a random person likes something in a set that holds an item.

    Under the unit 'user' only `rated` likes of each count, a random choice.

    Args:
        campaign: Senses sets.
        likes: (people, items).

    Returns:
        (items,) chances.
    """
    liked = np.diff(likes.indptr).astype(np.int64)
    cap = campaign.likes_cap
    used = liked if cap is None else np.minimum(liked, cap)
    none = hypergeom.logpmf(0, campaign.modulus - 1, used, campaign.set_size - 1)
    others = -np.expm1(np.minimum(none, 0))  # rounding must not make a chance negative
    # For who likes the item itself: used for sure with this share, and else as for all others.
    share = used / np.maximum(liked, 1)
    own = likes.T.astype(bool).astype(np.float64) @ (share * (1 - others))
    chances: Floats = others.mean() + np.asarray(own) / len(liked)
    return chances


def lists_on_devices(
    clusters: Clusters, rated: sparse.csr_array, likes: sparse.csr_array, *, n: int
) -> Ints:
    """Make everybody's list, as `Device.recommend` orders it.

    Args:
        clusters: What was learned.
        rated: (people, items) stars of what is seen and left out.
        likes: (people, items).
        n: Length of the lists.

    Returns:
        (people, n) item numbers, -1 where there are none left.
    """
    labels = np.frombuffer(clusters.labels, dtype=np.uint8).astype(np.int64)
    scores = np.asarray(clusters.scores, dtype=np.int64)
    member = np.eye(int(labels.max()) + 1)[labels]
    shares = (1 + (likes != 0).astype(float) @ member) / (2 + (rated != 0).astype(float) @ member)
    lists = np.full((rated.shape[0], n), -1, dtype=np.int64)
    for person in range(rated.shape[0]):
        order = np.lexsort((-scores, -shares[person, labels]))  # equal ones stay in their order
        seen = rated.indices[rated.indptr[person] : rated.indptr[person + 1]]
        best = order[~np.isin(order, seen)][:n]
        lists[person, : len(best)] = best
    return lists
