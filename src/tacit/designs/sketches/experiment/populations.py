"""Populations as large as a plan asks for, drawn with replacement from the likes of real people.

Two ways. Reports: every drawn person answers, and the server counts. Marginals: an item's counts
are drawn from their own exact distribution, quickly for any population; what is left out is that
items in one set get the same answer, and that the wheel's sets are not quite all equally likely.
Devices of all people then make lists from the published clusters; for `tacit compare` the very
people report, once each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from tacit.data.ratings import Ratings
from tacit.design import Comparison, Entry
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.messages import WHOLE, Campaign, Clusters
from tacit.designs.sketches.model import answer
from tacit.designs.sketches.planner import MethodPlan, Plan, plan
from tacit.designs.sketches.server import ItemCounts, Server, item_counts
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation
from tacit.recommenders.base import Recommendation, Recommendations

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SKETCHES = "multi-maxsense"
_AT_ONCE = 20_000
_RATED, _CLUSTERS = 50, 2  # of contenders


def reported(campaign: Campaign, likes: sparse.csr_array, *, users: int, seed: int) -> ItemCounts:
    """Counts of so many reports, each of a person drawn from the rows of `likes`."""
    generator = np.random.default_rng((seed, users))
    server, sizes = Server(campaign), np.diff(likes.indptr).astype(np.int64)
    with simulation():
        source = replay(f"crowd {seed} {users}")
        for start in range(0, users, _AT_ONCE):
            people = generator.integers(len(sizes), size=min(_AT_ONCE, users - start))
            starts = np.concatenate([[0], np.cumsum(sizes[people])])
            # Places of each drawn row, one row behind the other.
            places = np.arange(starts[-1]) + np.repeat(
                likes.indptr[people] - starts[:-1], sizes[people]
            )
            items = likes.indices[places].astype(np.int64)
            server.fold(answer(campaign, starts, items, source), now=0)
    return item_counts(server)


def drawn(campaign: Campaign, likes: sparse.csr_array, *, users: int, seed: int) -> ItemCounts:
    """Counts of so many people by item, from their marginal distributions."""
    generator = np.random.default_rng((seed, users, 1))
    truth = campaign.truth / WHOLE
    hits = hit_chances(campaign, likes)
    chances = truth * hits + (1 - truth) * (1 - hits)
    asked = generator.binomial(users, campaign.asked_share, size=campaign.items).astype(np.int64)
    return ItemCounts(asked, generator.binomial(asked, chances).astype(np.int64))


def hit_chances(campaign: Campaign, likes: sparse.csr_array) -> Floats:
    """(items,) chance that a random row of `likes` likes something in a set that holds the item.

    Under the unit 'user' only `rated` likes of each count, a random choice.
    """
    if not campaign.senses:
        raise ConfigError("Chances by item are for campaigns that sense sets.")
    liked = np.diff(likes.indptr).astype(np.int64)
    cap = campaign.likes_cap
    used = liked if cap is None else np.minimum(liked, cap)
    others = _some(campaign.modulus - 1, used, campaign.set_size - 1)
    # For who likes the item itself: used for sure with this share, and else as for all others.
    share = used / np.maximum(liked, 1)
    own = likes.T.astype(bool).astype(np.float64) @ (share * (1 - others))
    chances: Floats = others.mean() + np.asarray(own) / len(liked)
    return chances


def _some(places: int, marked: NDArray[np.int64], chosen: int) -> Floats:
    """Chance that some of the chosen places is marked: 1 - C(p - k, m) / C(p, m)."""
    left = places - marked
    possible = left >= chosen
    left = np.where(possible, left, chosen)
    none = (
        gammaln(left + 1)
        - gammaln(left - chosen + 1)
        - gammaln(places + 1)
        + gammaln(places - chosen + 1)
    )
    found: Floats = np.where(possible, -np.expm1(none), 1.0)
    return found


def lists_at_home(
    clusters: Clusters, rated: sparse.csr_array, likes: sparse.csr_array, *, n: int
) -> Ints:
    """(people, n) item numbers, -1 where there are none left: as `Device.recommend` orders them.

    rated: (people, items), what is seen and left out. likes: the same shape.
    """
    labels = np.frombuffer(clusters.labels, dtype=np.uint8).astype(np.int64)
    scores = np.asarray(clusters.scores, dtype=np.int64)
    items = len(labels)
    member = np.zeros((items, int(labels.max()) + 1))
    member[np.arange(items), labels] = 1.0
    shares = (1 + (likes != 0).astype(float) @ member) / (2 + (rated != 0).astype(float) @ member)
    by_score = np.empty(items, dtype=np.int64)
    by_score[np.lexsort((np.arange(items), -scores))] = np.arange(items)
    lists = np.full((rated.shape[0], n), -1, dtype=np.int64)
    for person in range(rated.shape[0]):
        # Equal shares get equal ranks, so that the score decides among their clusters.
        _, rank = np.unique(-shares[person], return_inverse=True)
        order = rank[labels] * items + by_score
        order[rated.indices[rated.indptr[person] : rated.indptr[person + 1]]] = items * items
        best = np.argsort(order)[:n]
        best = best[order[best] < items * items]
        lists[person, : len(best)] = best
    return lists


def likes_of(matrix: sparse.csr_array, liked_from: float) -> sparse.csr_array:
    """1 where a rating is a like; no other entry."""
    kept = matrix.copy()
    kept.data = (kept.data >= liked_from).astype(float)
    kept.eliminate_zeros()
    return kept


def campaign_of(
    items: Sequence[Any], advice: Plan, epsilon: float, liked_from: float, seed: int
) -> Campaign:
    """As the planner advises for a catalogue."""
    own = advised(advice)
    return new_campaign(
        items,
        rated=advice.rated,
        epsilon=epsilon,
        theta=own.theta or 1.0,
        questions=own.questions,
        liked_from=liked_from,
        seed=np.random.default_rng((seed, 3)).bytes(16),
    )


def advised(planned: Plan) -> MethodPlan:
    """Of Multi-MaxSense."""
    return next(method for method in planned.methods if method.method == SKETCHES)


class OnDevices:
    """As many reports as there are people; every device makes its own list of ten."""

    def __init__(self, *, epsilon: float) -> None:
        self.epsilon = epsilon

    def fit(self, ratings: Ratings) -> OnDevices:
        seen, likes = ratings.matrix, likes_of(ratings.matrix, ratings.scale.liked_from)
        advice = plan(
            items=ratings.n_items,
            rated=min(_RATED, ratings.n_items // 2),
            epsilon=min(self.epsilon, 20.0),
            clusters=_CLUSTERS,
        )
        items = ratings.item_ids.tolist()
        campaign = campaign_of(items, advice, self.epsilon, ratings.scale.liked_from, 0)
        counts = reported(campaign, likes, users=ratings.n_users, seed=0)
        found = score_clusters(counts, _CLUSTERS, resamples=1, seed=0)
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
