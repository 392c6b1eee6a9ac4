"""Two schemes without privacy for people who rated one item: one bit each, or one bit on average.

Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), section 1.1 and Theorem 4.3 with the remark after it.

one-bit-question     Each person answers one yes/no question, which is drawn for them beforehand:
                     "did you rate item i, and do you like it?", or "... and dislike it?". By
                     Theorem 4.3 every such scheme needs order N^2 people; this one takes about
                     2 N^2 ln N.
one-bit-on-average   With the probability 1 / log2(2N), a person reveals their item and whether they
                     like it; otherwise nothing. That is one bit on average. About N ln(N) log2(2N)
                     people are enough.

Neither is private. Other schemes of one bit on average may need fewer people than the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, draw_likes
from tacit.designs.sketches.clustering import kmeans_line
from tacit.errors import ConfigError

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
SCHEMES = ("one-bit-question", "one-bit-on-average")
STREAM_OF_PEOPLE = 2
"""Second word of the seed that draws people and their likes."""
_STREAM_OF_QUESTIONS = 4
"""Second word of the seed that draws the questions, or who reveals their item."""


def learn_labels(
    scheme: str, world: Blocks, labels: Ints, *, users: Sequence[int], seed: int
) -> list[Ints]:
    """Learn the labels of items by a scheme, once for each number of people.

    Args:
        scheme: One of SCHEMES.
        world: Who likes what.
        labels: (items,) true clusters, from which people's likes are drawn.
        users: Ascending numbers of people; each population contains the smaller ones.
        seed: Seed of people, their likes and the scheme's randomness.

    Returns:
        For each number of people, (items,) learned labels; cluster 0 has the smallest share of
        likes.
    """
    counts = np.zeros((2, len(labels)), dtype=np.int64)
    learned = []
    earlier_people = 0
    for part, people in enumerate(users):
        new_people = people - earlier_people
        counts += count_answers(scheme, world, labels, users=new_people, seed=(seed, part))
        learned.append(kmeans_line(_like_shares(counts), len(world.items)))
        earlier_people = people
    return learned


def count_answers(
    scheme: str, world: Blocks, labels: Ints, *, users: int, seed: tuple[int, int]
) -> Ints:
    """Count how many people reveal that they dislike, and that they like, each item.

    Args:
        scheme: See `learn_labels`.
        world: Who likes what.
        labels: (items,) true clusters.
        users: Number of people.
        seed: Seed of the population, and the number of its part.

    Returns:
        (2, items) counts of dislikes and of likes.
    """
    items = len(labels)
    counts = np.zeros((2, items), dtype=np.int64)
    population_seed, part = seed
    generator = np.random.default_rng((population_seed, _STREAM_OF_QUESTIONS, part))
    seed_of_people = (population_seed, STREAM_OF_PEOPLE, part)
    for people in draw_likes(world, labels, users=users, rated=1, seed=seed_of_people):
        rated = people.rated[:, 0]
        likes = np.diff(people.starts) > 0
        is_revealed = _is_revealed(scheme, rated, likes, items, generator)
        likes_revealed = likes[is_revealed].astype(np.int64)
        np.add.at(counts, (likes_revealed, rated[is_revealed]), 1)
    return counts


def check_setting(scheme: str, rated: int, epsilon: float) -> None:
    """Raise ConfigError unless people rated one item and epsilon is infinite."""
    if rated != 1:
        raise ConfigError(f"{scheme} is for people who rated one item: --rated 1, not {rated}.")
    if not math.isinf(epsilon):
        raise ConfigError(f"{scheme} has no privacy: --epsilon inf, not {epsilon:g}.")


def _is_revealed(
    scheme: str, rated: Ints, likes: Bits, items: int, generator: np.random.Generator
) -> Bits:
    """Draw which people reveal the item that they rated and whether they like it: (people,) bool.

    With one-bit-question these are the people who answer yes. A no is not counted.

    Args:
        scheme: See `learn_labels`.
        rated: (people,) number of the item that each person rated.
        likes: (people,) whether they like it.
        items: Number of items.
        generator: Randomness of the scheme.
    """
    people = len(rated)
    if scheme == "one-bit-on-average":
        is_chosen: Bits = generator.random(people) < 1 / math.log2(2 * items)
        return is_chosen
    asked_item = generator.integers(items, size=people)
    asks_like = generator.integers(2, size=people) == 1
    is_yes: Bits = (asked_item == rated) & (asks_like == likes)
    return is_yes


def _like_shares(counts: Ints) -> NDArray[np.float64]:
    """Compute the share of likes among the revealed answers about each item: (items,).

    An item without answers has the share 1/2.

    Args:
        counts: (2, items) numbers of dislikes and of likes.
    """
    dislikes, likes = counts
    answers = dislikes + likes
    shares: NDArray[np.float64] = np.where(answers > 0, likes / np.maximum(answers, 1), 0.5)
    return shares
