"""Campaigns of generated people: how many item clusters are found by how many people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, Likes, draw, example
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import cluster_items
from tacit.designs.sketches.experiment import one_bit
from tacit.designs.sketches.messages import METHODS as CAMPAIGN_METHODS
from tacit.designs.sketches.messages import RATED_METHODS
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.population import make_reports
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError
from tacit.evaluation.metrics import adjusted_rand, label_accuracy
from tacit.randomness import replay, simulation

Ints = NDArray[np.int64]
METHODS = ("maxsense", *CAMPAIGN_METHODS)
"""Methods of campaigns; MaxSense is Multi-MaxSense with one question."""


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
    """Learn item clusters from simulated reports, for each number of people.

    A smaller number is a part of the same population. Theta and the number of questions are as the
    planner advises. The items' clusters are dealt out at random.

    Args:
        method: One of METHODS, or of `one_bit.SCHEMES`, which have no privacy and need rated 1 and
            an infinite epsilon.
        items: N.
        rated: w.
        epsilon: Nats of a report; inf for the non-private variant.
        users: Numbers of people.
        seed: Seed of the population.
        blocks: Who likes what; by default `synthetic_worlds.example(2)`.
        unit: What epsilon is for.

    Returns:
        A row for each number: the setting in plain values, with `accuracy`, the share of right
        labels, and `ari`, the adjusted Rand index. An infinite epsilon is None.
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
        method: One of METHODS.
        world: Who likes what.
        labels: (items,) true clusters, from which people's likes are drawn.
        stops: Ascending numbers of people; a smaller number is a part of the same population.
        seed: Seed of people, tickets and noise.
        setting: Rated, epsilon and unit of the campaign.
    """
    items = len(labels)
    theta, questions = _advised_questions(method, world, items=items, **setting)
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
                server.fold(make_reports(campaign, *own, source, pair, dislikes), now=0)
            learned.append(cluster_items(server, len(world.items)).labels)
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
        likes: What people rated and like.
        items: Items of the catalogue.
    """
    person = np.arange(len(likes))
    liked = np.repeat(person, np.diff(likes.starts)) * items + likes.items
    is_disliked = ~np.isin(person[:, None] * items + likes.rated, liked)
    starts = np.concatenate([[0], np.cumsum(is_disliked.sum(axis=1))])
    return starts, likes.rated[is_disliked]


def _advised_questions(method: str, world: Blocks, **setting: Any) -> tuple[float, int]:
    """theta, 0 for pairs, and the number of questions."""
    if method not in METHODS:
        known = ", ".join((*METHODS, *one_bit.SCHEMES))
        raise ConfigError(f"A method is one of {known}; got {method!r}.")
    if method in RATED_METHODS and setting["rated"] < 2:
        raise ConfigError(f"{method} asks about two items that a person rated.")
    # Without noise there is nothing to share: planned as for a large epsilon.
    setting["epsilon"] = min(setting["epsilon"], 1e3 if method == "maxsense" else 20.0)
    own = plan(**setting, clusters=len(world.items), blocks=world).method_plan(method)
    return own.theta or 0.0, own.questions
