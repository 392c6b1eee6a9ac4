"""Campaigns with generated people: accuracy of the learned clusters by the number of people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, Likes, draw_likes, example_blocks
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import cluster_items
from tacit.designs.sketches.experiment import one_bit
from tacit.designs.sketches.messages import METHODS as CAMPAIGN_METHODS
from tacit.designs.sketches.messages import RATED_METHODS
from tacit.designs.sketches.planner import NO_NOISE_EPSILON, plan
from tacit.designs.sketches.population import make_reports
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError
from tacit.evaluation.metrics import adjusted_rand, label_accuracy
from tacit.randomness import replay, simulation

Ints = NDArray[np.int64]
METHODS = ("maxsense", *CAMPAIGN_METHODS)
"""Methods of campaigns; MaxSense is Multi-MaxSense with one question."""
_STREAM_OF_LABELS = 1
"""Second word of the seed that assigns items to clusters."""
_STREAM_OF_CAMPAIGN = 3
"""Second word of the seed of a campaign's questions."""
_STREAM_OF_NAMED_PAIRS = 5
"""Second word of the seed of the pairs that people name."""


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
    """Learn item clusters from simulated reports, once for each number of people.

    Each population contains the smaller ones. Items are assigned to the true clusters at random.
    In a campaign, theta and the number of questions are those that the planner advises.

    Args:
        method: One of METHODS, or of `one_bit.SCHEMES`, which have no privacy and need rated 1 and
            an infinite epsilon.
        items: N, number of items.
        rated: w, number of items that each person rated.
        epsilon: Nats of a report; inf for the non-private variant.
        users: Numbers of people, each 1 or more; duplicates are left out.
        seed: Seed of the true clusters, the people, the questions and the noise.
        blocks: Who likes what; None for `synthetic_worlds.example_blocks(2)`.
        unit: What epsilon protects: one of `messages.UNITS`.

    Returns:
        A row of JSON values for each number of people, ascending: the setting, `accuracy` (the
        share of right labels) and `ari` (the adjusted Rand index). An infinite epsilon is None.

    Raises:
        ConfigError: A number is out of range, or the method does not exist or does not fit the
            setting.
    """
    world = example_blocks(2) if blocks is None else blocks
    numbers_of_people = sorted(set(users))
    if not numbers_of_people or numbers_of_people[0] < 1:
        raise ConfigError("A simulation needs at least one person.")
    labels = np.random.default_rng((seed, _STREAM_OF_LABELS)).permutation(world.labels(items))
    if method in one_bit.SCHEMES:
        one_bit.check_setting(method, rated, epsilon)
        learned = one_bit.learn_labels(method, world, labels, users=numbers_of_people, seed=seed)
    else:
        setting: dict[str, Any] = {"rated": rated, "epsilon": epsilon, "unit": unit}
        learned = _learn_labels(method, world, labels, numbers_of_people, seed, setting)
    rows = []
    for people, learned_labels in zip(numbers_of_people, learned, strict=True):
        rows.append(
            {
                "method": method,
                "items": items,
                "rated": rated,
                "epsilon": epsilon if math.isfinite(epsilon) else None,
                "users": people,
                "seed": seed,
                "accuracy": label_accuracy(learned_labels, labels),
                "ari": adjusted_rand(learned_labels, labels),
            }
        )
    return rows


def _learn_labels(
    method: str,
    world: Blocks,
    labels: Ints,
    numbers_of_people: Sequence[int],
    seed: int,
    setting: Mapping[str, Any],
) -> list[Ints]:
    """Learn the labels of items by a campaign, once for each number of people.

    Args:
        method: One of METHODS.
        world: Who likes what.
        labels: (items,) true clusters, from which people's likes are drawn.
        numbers_of_people: Ascending; each population contains the smaller ones.
        seed: Seed of people, questions, tickets, named pairs and noise.
        setting: Arguments `rated`, `epsilon` and `unit` of `new_campaign`.

    Returns:
        For each number of people, (items,) learned labels.
    """
    items = len(labels)
    theta, questions = _advised_questions(method, world, items=items, **setting)
    campaign = new_campaign(
        range(items),
        method="multi-maxsense" if method == "maxsense" else method,
        theta=theta,
        questions=questions,
        seed=np.random.default_rng((seed, _STREAM_OF_CAMPAIGN)).bytes(16),
        **setting,
    )
    # Tickets are random words of 64 bits here, so duplicates are not looked for.
    server = Server(campaign, keep_tickets=False)
    generator = np.random.default_rng((seed, _STREAM_OF_NAMED_PAIRS))
    learned = []
    earlier_people = 0
    with simulation():
        source = replay(f"sketches {seed}")
        for part, people in enumerate(numbers_of_people):
            for likes in draw_likes(
                world,
                labels,
                users=people - earlier_people,
                rated=setting["rated"],
                seed=(seed, one_bit.STREAM_OF_PEOPLE, part),
            ):
                pairs = choose_named_pairs(likes, items, generator) if campaign.names_pair else None
                dislikes = list_dislikes(likes, items) if campaign.asks_identical else None
                reports = make_reports(campaign, likes.starts, likes.items, source, pairs, dislikes)
                server.fold(reports, now=0)
            learned.append(cluster_items(server, len(world.items)).labels)
            earlier_people = people
    return learned


def choose_named_pairs(likes: Likes, items: int, generator: np.random.Generator) -> Ints:
    """Choose the two rated items that each person names, all pairs equally likely: (people, 2).

    `draw_likes` lists the rated items of a person in random order, so the first two are chosen. If
    all items are rated, their order may not be random, and the pair is drawn here.

    Args:
        likes: The items that people rated, two or more each.
        items: Number of items in the catalogue.
        generator: Source of the pairs.
    """
    if likes.rated.shape[1] < items:
        return likes.rated[:, :2]
    first = generator.integers(items, size=len(likes))
    second = generator.integers(items - 1, size=len(likes))
    second = np.where(second >= first, second + 1, second)  # `first` is left out
    return np.stack([first, second], axis=1)


def list_dislikes(likes: Likes, items: int) -> tuple[Ints, Ints]:
    """List the items that people rated and do not like.

    Args:
        likes: The items that people rated, and those that they like.
        items: Number of items in the catalogue.

    Returns:
        Starts and item numbers, in the layout of `population.true_bits`.
    """
    person = np.arange(len(likes))
    # A pair of a person and an item is the number person * items + item.
    liked = np.repeat(person, np.diff(likes.starts)) * items + likes.items
    is_disliked = ~np.isin(person[:, None] * items + likes.rated, liked)
    starts = np.concatenate([[0], np.cumsum(is_disliked.sum(axis=1))])
    return starts, likes.rated[is_disliked]


def _advised_questions(method: str, world: Blocks, **setting: Any) -> tuple[float, int]:
    """Return the theta (0 for pairs) and the number of questions that the planner advises.

    Args:
        method: One of METHODS.
        world: Who likes what.
        setting: Arguments `items`, `rated`, `epsilon` and `unit` of `plan`.

    Raises:
        ConfigError: The method does not exist, or needs people who rated two items; or `plan`
            refuses the setting.
    """
    if method not in METHODS:
        all_methods = ", ".join((*METHODS, *one_bit.SCHEMES))
        raise ConfigError(f"A method is one of {all_methods}; got {method!r}.")
    if method in RATED_METHODS and setting["rated"] < 2:
        raise ConfigError(
            f"{method} asks about two items that a person rated: rated is 2 or more; "
            f"got {setting['rated']}."
        )
    # With little or no noise, a campaign is planned for a smaller epsilon: NO_NOISE_EPSILON, since
    # the number of questions grows with epsilon, but 1000 for MaxSense, which has one question.
    largest_epsilon = 1e3 if method == "maxsense" else NO_NOISE_EPSILON
    setting["epsilon"] = min(setting["epsilon"], largest_epsilon)
    advice = plan(**setting, clusters=len(world.items), blocks=world).method_plan(method)
    theta = 0.0 if advice.theta is None else advice.theta
    return theta, advice.questions
