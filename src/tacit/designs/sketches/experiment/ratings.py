"""Sketches on real ratings: the quality of lists from learned clusters, by population and epsilon.

Ratings of at least `liked_from` stars are likes. A population of any size is drawn from the people
of the training half, with replacement; one that is larger than the data stands for more people of
the same tastes. The simulation differs from a campaign in two ways. The counts of each item are
drawn independently, although all items of a set get the same answer. And all sets of a size are
equally likely, although a campaign draws only sets that are runs of its wheel (`sensing.py`). The
device of every person in the data makes a list from the published clusters, and the lists are
evaluated by held-out likes. Spectral co-clustering, popular items and item kNN use the same
training half without privacy.
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
from tacit.designs.sketches.planner import NO_NOISE_EPSILON, Plan, plan
from tacit.designs.sketches.population import mark_likes
from tacit.errors import ConfigError, DataError
from tacit.evaluation import group_by, mean_interval
from tacit.evaluation.metrics import ranking_metrics
from tacit.evaluation.runner import Progress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = dict[str, Any]
METHOD = "multi-maxsense"
"""Method of the campaigns."""
_LIST_LENGTH = 10
"""Length of the evaluated lists."""
_NEIGHBOURS = 50
"""Number of neighbours of an item in item kNN."""
_NEAR_INFINITE = 0.95
"""Least share of an infinite population's NDCG@10 at which a population counts as near it."""
_MOST_PEOPLE = 10**15
"""Largest population: counts are 64-bit integers."""
_STREAM_OF_CAMPAIGN = 3
"""Second word of the seed of a campaign's questions."""
_STREAM_OF_COUNTS = 1
"""Third word of the seed that draws counts; the second is the number of people."""


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
    """Measure the quality of lists by population and epsilon, and of methods without privacy.

    All methods are measured on the same splits. Theta and the number of questions are those that
    the planner advises.

    Args:
        ratings: Ratings in memory.
        users: Sizes of populations, from 1 to 10^15. For every epsilon an infinite population is
            added; for each finite epsilon also the number of people that the planner computes, if
            it is below 10^15.
        epsilons: Nats of a report, above 0; inf without noise.
        rated: w, the number of items that a person is assumed to have rated. A device uses at most
            w of its likes.
        clusters: Number of item clusters that are learned.
        liked_from: Least stars of a like.
        seeds: Seeds of the splits.
        progress: Called with 1 after each epsilon in each split.

    Returns:
        `items`, `people`: numbers of items and people of the ratings.
        `rated`, `clusters`, `seeds`: the arguments.
        `rows`: quality of lists by method, epsilon (inf without noise), users (inf for an infinite
        population) and seed; epsilon and users are None for methods without privacy.
        `needed`: a row of `_people_needed` for each finite epsilon.
        `points`: means over seeds.
        `sentences`: `needed` in words.

    Raises:
        ConfigError: There is no population, epsilon or seed, or a number is out of range.
        DataError: One side of a split has no likes, or the training half has too few to cluster.
    """
    if not (users and epsilons and seeds) or min(users) < 1 or max(users) > _MOST_PEOPLE:
        raise ConfigError(
            f"A curve needs populations of 1 to {_MOST_PEOPLE:,} people, an epsilon and a seed."
        )
    items = ratings.n_items
    plans = {}
    for epsilon in epsilons:
        planned_epsilon = min(epsilon, NO_NOISE_EPSILON)
        plans[epsilon] = plan(items=items, rated=rated, epsilon=planned_epsilon, clusters=clusters)
    rows: list[Row] = []
    for seed in seeds:
        trial = _Trial(ratings, liked_from, seed)
        for name, lists in trial.non_private_lists(clusters):
            rows.append(trial.make_row(lists, name, None, None))
        for epsilon, planned in plans.items():
            campaign = plan_campaign(trial.catalogue, planned, epsilon, liked_from, seed)
            populations = set(users)
            planned_users = planned.method_plan(METHOD).users_clt
            if math.isfinite(epsilon) and planned_users < _MOST_PEOPLE:
                populations.add(round(planned_users))
            for population in (*sorted(populations), math.inf):
                clustering = _learn_clusters(campaign, trial.likes, clusters, population, seed)
                lists = trial.make_lists(publish(campaign, clustering))
                rows.append(trial.make_row(lists, METHOD, epsilon, population))
            progress(1)
    finite_epsilons = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    needed = [_people_needed(epsilon, plans[epsilon], rows) for epsilon in finite_epsilons]
    people = ratings.n_users
    sentences = []
    for epsilon, need in zip(finite_epsilons, needed, strict=True):
        sentences.append(_describe_needed(need, plans[epsilon], people))
    return {
        "items": items,
        "people": people,
        "rated": rated,
        "clusters": clusters,
        "seeds": list(seeds),
        "rows": rows,
        "needed": needed,
        "points": _average_over_seeds(rows),
        "sentences": sentences,
    }


class _Trial:
    """One split of the ratings, and the lists that are evaluated on it."""

    def __init__(self, ratings: Ratings, liked_from: float, seed: int) -> None:
        split = random_per_user(ratings, seed=seed)
        self.catalogue = ratings.item_ids.tolist()
        """Item ids, in the order of the campaigns."""
        self.seed = seed
        self.rated = split.train.matrix
        """(people, items) stars of the training half; these items are left out of lists."""
        self.likes = mark_likes(split.train.matrix, liked_from)
        """(people, items) 1 for a like in the training half."""
        self.held_out_likes = mark_likes(split.test.matrix, liked_from)
        """(people, items) 1 for a like in the test half, by which lists are evaluated."""
        if self.likes.nnz == 0 or self.held_out_likes.nnz == 0:
            raise DataError(
                "one side of the split has no likes",
                expected=f"ratings of {liked_from:g} and more on both sides of the split",
                fix="Lower --liked-from.",
            )

    def make_lists(self, clusters: Clusters) -> Ints:
        """Make everybody's list of ten from the clusters: (people, 10) item numbers."""
        return make_lists(clusters, self.rated, self.likes, n=_LIST_LENGTH)

    def non_private_lists(self, clusters: int) -> Iterator[tuple[str, Ints]]:
        """Yield the name of each method without privacy, and its lists of ten (people, 10).

        Args:
            clusters: Number of clusters of spectral co-clustering.
        """
        popularity = np.asarray(self.likes.sum(axis=0)).ravel()
        coclusters = spectral_coclusters(self.likes, clusters, seed=self.seed)
        # With one cluster of all items, every list has the most popular unrated items.
        one_cluster = np.zeros_like(coclusters)
        # No device reports to this campaign: it exists because `publish` needs one.
        campaign = new_campaign(self.catalogue, rated=1, epsilon=math.inf, seed=bytes(16))
        for name, labels in (("spectral-coclustering", coclusters), ("popularity", one_cluster)):
            yield name, self.make_lists(publish(campaign, Clustering(labels, popularity)))
        yield "item-knn", self._make_knn_lists()

    def _make_knn_lists(self) -> Ints:
        """Make everybody's list of ten by item kNN on likes: (people, 10), -1 for no item."""
        scores = (self.likes @ _cosine_similarities(self.likes)).toarray()
        scores[self.rated.nonzero()] = -1.0
        best = np.argsort(-scores, axis=1, kind="stable")[:, :_LIST_LENGTH]
        is_unrated = np.take_along_axis(scores, best, axis=1) >= 0
        return np.where(is_unrated, best, -1)

    def make_row(self, lists: Ints, method: str, epsilon: float | None, users: float | None) -> Row:
        """Evaluate lists by the held-out likes, and return a row of `evaluate_ratings`.

        Args:
            lists: (people, 10) item numbers, -1 for no item.
            method: Name of the method.
            epsilon: Nats of a report; None for a method without privacy.
            users: Size of the population; None for a method without privacy.
        """
        metrics = ranking_metrics(lists, self.held_out_likes)
        return {
            "method": method,
            "epsilon": epsilon,
            "users": users,
            "seed": self.seed,
            "ndcg_at_10": metrics.ndcg,
            "recall_at_10": metrics.recall,
        }


def _cosine_similarities(likes: sparse.csr_array) -> sparse.csr_array:
    """Compute the cosine similarities of each item, by likes, to its nearest neighbours.

    Args:
        likes: (people, items) 1 for a like.

    Returns:
        (items, items); column j has the positive similarities of item j to its 50 nearest
        neighbours (more if some are equally near), and 0 elsewhere. So a person's likes times this
        matrix are the scores of all items.
    """
    lengths = np.sqrt(np.maximum(np.asarray(likes.sum(axis=0)).ravel(), 1))
    cosine = (likes.T @ likes).toarray() / np.outer(lengths, lengths)
    np.fill_diagonal(cosine, 0.0)
    neighbours = min(_NEIGHBOURS, len(cosine))
    least_of_neighbours = np.partition(cosine, -neighbours, axis=1)[:, [-neighbours]]
    is_neighbour = (cosine >= least_of_neighbours) & (cosine > 0)
    return sparse.csr_array(np.where(is_neighbour, cosine, 0.0).T)


def _learn_clusters(
    campaign: Campaign, likes: sparse.csr_array, clusters: int, users: float, seed: int
) -> Clustering:
    """Learn clusters from the simulated answers of a population.

    For an infinite population the items' scores are the `hit_chances`, without noise.

    Args:
        campaign: The campaign that people answer.
        likes: (people, items) 1 for a like; the population is drawn from these people.
        clusters: Number of clusters.
        users: Size of the population; inf for an infinite one.
        seed: Seed of the answers.
    """
    if math.isinf(users):
        chances = hit_chances(campaign, likes)
        return Clustering(kmeans_line(chances, clusters), chances)
    return score_clusters(draw_counts(campaign, likes, users=int(users), seed=seed), clusters)


def _average_over_seeds(rows: Sequence[Row]) -> list[Row]:
    """Average NDCG and recall of each method, epsilon and population over seeds.

    Returns:
        A row for each method with each epsilon and population, whose `ndcg_at_10` and
        `recall_at_10` are [mean, low, high] with the bounds of the mean's 95 % interval.
    """
    points = []
    groups = group_by(rows, itemgetter("method", "epsilon", "users"))
    for (method, epsilon, users), rows_of_point in groups.items():
        point: Row = {"method": method, "epsilon": epsilon, "users": users}
        for name in ("ndcg_at_10", "recall_at_10"):
            values = [row[name] for row in rows_of_point]
            point[name] = list(mean_interval(values, bounds=(0.0, 1.0)))
        points.append(point)
    return points


def _people_needed(epsilon: float, planned: Plan, rows: Sequence[Row]) -> Row:
    """Compute how many people are needed at an epsilon, by theory and as measured.

    Args:
        epsilon: A finite epsilon.
        planned: The plan for this epsilon.
        rows: All rows of `evaluate_ratings`.

    Returns:
        `epsilon`: the argument.
        `lower_bound`: with fewer people than this, no learner whose questions are fixed beforehand
            gets all labels right with the plan's chance, 1 - `Plan.eta`.
        `users_clt`: the number of people with whom, as the planner computes, all labels are right
            in its assumed world.
        `users_near`: the smallest measured population such that its NDCG@10, and that of all larger
        ones, is at least 95 % of an infinite population's; None if there is none.
    """
    rows_of_epsilon = [row for row in rows if row["epsilon"] == epsilon]
    mean_ndcg = {}
    for users, rows_of_users in group_by(rows_of_epsilon, itemgetter("users")).items():
        mean_ndcg[users] = np.mean([row["ndcg_at_10"] for row in rows_of_users])
    ndcg_of_infinite = mean_ndcg.pop(math.inf)
    users_near = None
    for users in sorted(mean_ndcg, reverse=True):
        if mean_ndcg[users] < _NEAR_INFINITE * ndcg_of_infinite:
            break
        users_near = users
    # The bound `one_bit` is left out: the campaign may ask a person several questions.
    bounds = [bound for name, bound in planned.lower_bounds.items() if name != "one_bit"]
    return {
        "epsilon": epsilon,
        "lower_bound": max(bounds),
        "users_clt": planned.method_plan(METHOD).users_clt,
        "users_near": users_near,
    }


def _describe_needed(need: Row, planned: Plan, people: int) -> str:
    """Describe a row of `_people_needed` in sentences.

    Args:
        need: The row.
        planned: The plan for its epsilon.
        people: Number of people of the ratings.
    """
    users_near = need["users_near"]
    lower_bound = math.ceil(need["lower_bound"])
    planned_users = float(f"{need['users_clt']:.2g}")
    if users_near is None:
        measured = "No population that was tried gave lists within 5 % of those of an infinite one."
    else:
        measured = (
            f"With {users_near:,.0f} people like these, and with every larger number that was "
            "tried, lists are within 5 % of those of an infinite population."
        )
    return (
        f"At epsilon {need['epsilon']:g}, if each person rated {planned.rated} items and questions "
        f"are fixed beforehand, nobody can put all of {planned.items:,} items into their clusters, "
        f"with a chance of {1 - planned.eta:.0%}, from fewer than {lower_bound:,} people; the "
        f"planner says about {planned_users:,.0f} for this design. These ratings have {people:,} "
        f"people. {measured}"
    )


def plan_campaign(
    items: Sequence[Any], planned: Plan, epsilon: float, liked_from: float, seed: int
) -> Campaign:
    """Make a Multi-MaxSense campaign for a catalogue, with the parameters of a plan.

    Args:
        items: Item ids of the catalogue.
        planned: The plan.
        epsilon: Nats of a report; inf without noise.
        liked_from: Least stars of a like.
        seed: Seed of the questions.
    """
    multi_maxsense = planned.method_plan(METHOD)
    assert multi_maxsense.theta is not None
    return new_campaign(
        items,
        rated=planned.rated,
        epsilon=epsilon,
        theta=multi_maxsense.theta,
        questions=multi_maxsense.questions,
        liked_from=liked_from,
        seed=np.random.default_rng((seed, _STREAM_OF_CAMPAIGN)).bytes(16),
    )


def draw_counts(
    campaign: Campaign, likes: sparse.csr_array, *, users: int, seed: int
) -> ItemCounts:
    """Draw the counts of answers about each item, independently of other items; see the module.

    Args:
        campaign: A campaign that senses sets.
        likes: (people, items) 1 for a like; the population is drawn from these people.
        users: Size of the population.
        seed: Seed of the counts.
    """
    generator = np.random.default_rng((seed, users, _STREAM_OF_COUNTS))
    truth = campaign.truth / WHOLE
    hits = hit_chances(campaign, likes)
    chances = truth * hits + (1 - truth) * (1 - hits)
    asked = generator.binomial(users, campaign.asked_share, size=campaign.n_items).astype(np.int64)
    return ItemCounts(asked, generator.binomial(asked, chances).astype(np.int64))


def hit_chances(campaign: Campaign, likes: sparse.csr_array) -> Floats:
    """Compute, for each item, the chance that the true answer about a set with this item is yes.

    The person is a random one, and the set is random among all sets with the item. If the campaign
    caps likes, a random choice of each person's likes is used.

    Args:
        campaign: A campaign that senses sets.
        likes: (people, items), 1 for a like.

    Returns:
        (items,) chances.
    """
    liked_items = np.diff(likes.indptr).astype(np.int64)  # (people,)
    cap = campaign.likes_cap
    used_items = liked_items if cap is None else np.minimum(liked_items, cap)
    # (people,) chance of a yes if no like of the item is used: then another place has a used like
    log_chance_of_none = hypergeom.logpmf(
        0, campaign.modulus - 1, used_items, campaign.set_size - 1
    )
    other_hit = -np.expm1(np.minimum(log_chance_of_none, 0))  # never negative by rounding
    # (people,) what liking the item itself adds to this chance: if that like is used, it is 1
    used_share = used_items / np.maximum(liked_items, 1)
    added_by_like = used_share * (1 - other_hit)
    is_like = likes.T.astype(bool).astype(np.float64)  # (items, people)
    people = len(liked_items)
    chances: Floats = other_hit.mean() + np.asarray(is_like @ added_by_like) / people
    return chances


def make_lists(
    clusters: Clusters, rated: sparse.csr_array, likes: sparse.csr_array, *, n: int
) -> Ints:
    """Make everybody's list as `Device.recommend` does.

    Args:
        clusters: The learned clusters.
        rated: (people, items) stars of rated items, which are left out.
        likes: (people, items), 1 for a like.
        n: Length of the lists.

    Returns:
        (people, n) item numbers, -1 for no item.
    """
    labels = np.frombuffer(clusters.labels, dtype=np.uint8).astype(np.int64)
    scores = np.asarray(clusters.scores, dtype=np.int64)
    is_member = np.eye(int(labels.max()) + 1)[labels]  # (items, clusters)
    liked_in_cluster = (likes != 0).astype(float) @ is_member  # (people, clusters)
    rated_in_cluster = (rated != 0).astype(float) @ is_member
    shares = (1 + liked_in_cluster) / (2 + rated_in_cluster)
    lists = np.full((rated.shape[0], n), -1, dtype=np.int64)
    for person in range(rated.shape[0]):
        order = np.lexsort((-scores, -shares[person, labels]))  # ties in the catalogue's order
        rated_items = rated.indices[rated.indptr[person] : rated.indptr[person + 1]]
        best = order[~np.isin(order, rated_items)][:n]
        lists[person, : len(best)] = best
    return lists
