"""Sketches on generated people, and in `tacit compare`.

Simulations say how many item clusters are found by how many people. In a comparison the very people
of the ratings report, once each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import Blocks, Likes, draw, example
from tacit.design import Comparison, ComparisonEntry, Tour
from tacit.designs.sketches.campaigns import cards, new_campaign
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.device import Device, new_secret
from tacit.designs.sketches.experiment import one_bit
from tacit.designs.sketches.experiment.ratings import campaign_of, lists_at_home
from tacit.designs.sketches.messages import METHODS as CAMPAIGN_METHODS
from tacit.designs.sketches.messages import RATED_METHODS
from tacit.designs.sketches.model import answer, cluster, likes_of, reported
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.sensing import pairs
from tacit.designs.sketches.server import Server, item_counts
from tacit.errors import ConfigError
from tacit.evaluation.metrics import adjusted_rand, label_accuracy
from tacit.randomness import replay, simulation
from tacit.recommenders.base import Recommendation, Recommendations

Ints = NDArray[np.int64]
METHODS = ("maxsense", *CAMPAIGN_METHODS)
"""Methods of campaigns; MaxSense is Multi-MaxSense with one question."""
_TOUR: dict[str, Any] = {"items": 40, "rated": 40, "epsilon": 1.0}
_N, _RATED, _CLUSTERS, _SEED = 10, 50, 2, 0
_TOURED, _FEW, _MANY, _DEVICES = "pairwise-preference", 1000, 20_000, 2000


def simulate(
    method: str,
    *,
    items: int,
    rated: int,
    epsilon: float,
    users: Iterable[int],
    seed: int,
    blocks: Blocks | None = None,
    unit: str = "user",
) -> list[dict[str, Any]]:
    """One row for each number of users; a smaller number is a part of the same population.

    A row is the setting, in plain values, with accuracy, the share of right labels, and ari, the
    adjusted Rand index. An infinite epsilon is None. method: one of METHODS, or of
    `one_bit.SCHEMES`, which have no privacy and need rated 1 and an infinite epsilon.

    theta and the number of questions are as the planner advises. epsilon: inf for the non-private
    variant. blocks: who likes what; by default `synthetic_worlds.example(2)`. The items' clusters
    are dealt out at random.
    """
    world = example(2) if blocks is None else blocks
    stops = sorted(set(users))
    if not stops or stops[0] < 1:
        raise ConfigError("A simulation needs at least one person.")
    labels = np.random.default_rng((seed, 1)).permutation(world.labels(items))
    if method in one_bit.SCHEMES:
        one_bit.check_setting(method, rated, epsilon)
        learned = one_bit.learned_labels(method, world, labels, users=stops, seed=seed)
    else:
        setting: dict[str, Any] = {"rated": rated, "epsilon": epsilon, "unit": unit}
        learned = _learned_labels(method, world, labels, stops, seed, setting)
    rows = []
    for stop, found in zip(stops, learned, strict=True):
        rows.append(
            {
                "method": method,
                "items": items,
                "rated": rated,
                "epsilon": epsilon if math.isfinite(epsilon) else None,
                "users": stop,
                "seed": seed,
                "accuracy": label_accuracy(found, labels),
                "ari": adjusted_rand(found, labels),
            }
        )
    return rows


def _learned_labels(
    method: str,
    world: Blocks,
    labels: Ints,
    stops: Sequence[int],
    seed: int,
    setting: Mapping[str, Any],
) -> list[Ints]:
    """Labels that a campaign finds at each number of people.

    Args:
        method: one of METHODS.
        world: who likes what.
        labels: (items,) true clusters, from which people's likes are drawn.
        stops: ascending numbers of people; a smaller number is a part of the same population.
        seed: of people, tickets and noise.
        setting: rated, epsilon and unit of the campaign.
    """
    items = len(labels)
    theta, questions = _advised(method, world, items=items, **setting)
    campaign = new_campaign(
        range(items),
        method="multi-maxsense" if method == "maxsense" else method,
        theta=theta,
        questions=questions,
        seed=np.random.default_rng((seed, 3)).bytes(16),
        **setting,
    )
    # Tickets are random words of 64 bits here: nobody sends two.
    server = Server(campaign, keep_tickets=False)
    generator = np.random.default_rng((seed, 5))
    learned = []
    with simulation():
        source = replay(f"sketches {seed}")
        for part, stop in enumerate(stops):
            people = stop - (stops[part - 1] if part else 0)
            population = {"users": people, "rated": setting["rated"], "seed": (seed, 2, part)}
            for likes in draw(world, labels, **population):
                pair = named_pairs(likes, items, generator) if campaign.names_pair else None
                dislikes = rated_dislikes(likes, items) if campaign.asks_identical else None
                own = likes.starts, likes.items
                server.fold(answer(campaign, *own, source, pair, dislikes), now=0)
            learned.append(cluster(server, len(world.items)).labels)
    return learned


def named_pairs(likes: Likes, items: int, generator: np.random.Generator) -> Ints:
    """(people, 2) two rated items that each person names, all pairs equally likely.

    Rated items come in random order, unless everything is rated: then the pair is drawn here.
    """
    if likes.rated.shape[1] < items:
        return likes.rated[:, :2]
    first = generator.integers(items, size=len(likes))
    second = generator.integers(items - 1, size=len(likes))
    return np.stack([first, second + (second >= first)], axis=1)


def rated_dislikes(likes: Likes, items: int) -> tuple[Ints, Ints]:
    """Starts and numbers of the items that people rated and do not like, person after person.

    Args:
        likes: what people rated and like.
        items: of the catalogue.
    """
    person = np.arange(len(likes))
    liked = np.repeat(person, np.diff(likes.starts)) * items + likes.items
    is_disliked = ~np.isin(person[:, None] * items + likes.rated, liked)
    starts = np.concatenate([[0], np.cumsum(is_disliked.sum(axis=1))])
    return starts, likes.rated[is_disliked]


def _advised(method: str, world: Blocks, **setting: Any) -> tuple[float, int]:
    """theta, 0 for pairs, and the number of questions."""
    if method not in METHODS:
        known = ", ".join((*METHODS, *one_bit.SCHEMES))
        raise ConfigError(f"A method is one of {known}; got {method!r}.")
    if method in RATED_METHODS and setting["rated"] < 2:
        raise ConfigError(f"{method} asks about two items that a person rated.")
    # Without noise there is nothing to share: planned as for a large epsilon.
    setting["epsilon"] = min(setting["epsilon"], 1e3 if method == "maxsense" else 20.0)
    own = plan(**setting, clusters=len(world.items), blocks=world).of(method)
    return own.theta or 0.0, own.questions


def tour() -> Tour:
    """What one bit says about a person, and what many say about items."""
    items = _TOUR["items"]
    campaign = new_campaign(
        range(items), rated=items, epsilon=_TOUR["epsilon"], method=_TOURED, theta=0.5
    )
    liked = set(range(items // 2))
    stars: dict[int | str, float] = {item: 5.0 if item in liked else 1.0 for item in range(items)}
    right = 0
    for _ in range(_DEVICES):
        report = Device(new_secret(), {}).report(campaign, range(items), stars)
        (asked,) = pairs(campaign, report.ticket)
        right += bool(report.bits) == liked.issuperset(asked)
    few, many = simulate(_TOURED, **_TOUR, users=(_FEW, _MANY), seed=1)
    one, two = (f"item {item}" for item in asked)
    card = cards(campaign)[0]
    return Tour(
        asked=f"Each device is asked one question, such as: do you like both {one} and {two}? "
        f"Nobody has to be trusted. {_MANY:,} generated people answer about {items} items.",
        left=f"One report of {len(report.encode())} bytes: a random number, which chose the "
        "question, and one bit, which is flipped with probability 0.27.",
        learned="About a person: an attacker who believes the bit is right in "
        f"{right / _DEVICES:.0%} of {_DEVICES:,} reports; a coin is right in 50 %. About the "
        f"items: {many['accuracy']:.0%} are put into the right one of two clusters by {_MANY:,} "
        f"people, and {few['accuracy']:.0%} by {_FEW:,}.",
        cost=f"Epsilon {card.epsilon:.3g} for one report and all of a person's ratings. It takes "
        "very many people: on MovieLens 100K popular items were better however many there were.",
        read_on="docs/sketches.md",
        figures={"right": right / _DEVICES, "few": few, "many": many},
    )


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
        with simulation():
            counts = item_counts(reported(campaign, likes, replay(f"crowd {_SEED}")))
        found = score_clusters(counts, _CLUSTERS)
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


def contenders(asked: Comparison) -> tuple[ComparisonEntry, ...] | str:
    """In one domain."""
    if asked.source is not None:
        return "works in one domain: leave --source and --target out"
    return tuple(
        ComparisonEntry(
            "sketches", "sound" if math.isfinite(epsilon) else "non-private", epsilon,
            "one report of a device, for the whole profile", "the server and everybody else",
            f"{__name__}:OnDevices", {"epsilon": epsilon}, attacked=False,
        )
        for epsilon in asked.epsilons
    )  # fmt: skip
