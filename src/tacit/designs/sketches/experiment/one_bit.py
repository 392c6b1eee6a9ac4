"""Two schemes without privacy, where a person rated one item: a bit each, or a bit on average.

Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), section 1.1 and Theorem 4.3 with the remark after it.

one-bit-question     Everybody answers one fixed yes/no question, drawn beforehand: "did you rate
                     item i, and do you like it?", or "... and dislike it?". Theorem 4.3: no such
                     scheme does with fewer than order N^2 people; this one takes about 2 N^2 ln N.
one-bit-on-average   Everybody reveals their item and whether they like it with chance
                     1 / log2(2N), and nothing otherwise: one bit on average. About
                     N ln(N) log2(2N) people are enough.

Neither is private, and the second is one scheme: it is no lower bound for others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, draw
from tacit.designs.sketches.clustering import kmeans_line
from tacit.errors import ConfigError

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
SCHEMES = ("one-bit-question", "one-bit-on-average")


def learned_labels(
    scheme: str, world: Blocks, labels: Ints, *, users: Sequence[int], seed: int
) -> list[Ints]:
    """Labels that a scheme finds at each number of people, one more population after the other.

    Args:
        scheme: One of SCHEMES.
        world: Who likes what.
        labels: (items,) true clusters, from which people's likes are drawn.
        users: Ascending numbers of people; a smaller number is a part of the same population.
        seed: Seed of people and questions.

    Returns:
        (items,) found labels for each number; clusters with fewer likes first.
    """
    answers = np.zeros((2, len(labels)), dtype=np.int64)
    found = []
    for part, stop in enumerate(users):
        people = stop - (users[part - 1] if part else 0)
        answers += answers_told(scheme, world, labels, users=people, seed=(seed, part))
        found.append(kmeans_line(_like_shares(answers), len(world.items)))
    return found


def answers_told(
    scheme: str, world: Blocks, labels: Ints, *, users: int, seed: tuple[int, int]
) -> Ints:
    """Count how many people told that they dislike, and that they like, each item.

    Args:
        scheme: See `learned_labels`.
        world: Who likes what.
        labels: (items,) true clusters.
        users: People.
        seed: Seed of the population, and the number of its part.

    Returns:
        (2, items) counts.
    """
    items = len(labels)
    told = np.zeros((2, items), dtype=np.int64)
    population, part = seed
    generator = np.random.default_rng((population, 4, part))
    for drawn in draw(world, labels, users=users, rated=1, seed=(population, 2, part)):
        rated = drawn.rated[:, 0]
        likes = np.diff(drawn.starts) > 0
        is_told = _is_told(scheme, rated, likes, items, generator)
        np.add.at(told, (likes[is_told].astype(np.int64), rated[is_told]), 1)
    return told


def check_setting(scheme: str, rated: int, epsilon: float) -> None:
    """ConfigError unless one item is rated and nothing is said to be private."""
    if rated != 1:
        raise ConfigError(f"{scheme} is for people who rated one item: --rated 1, not {rated}.")
    if not math.isinf(epsilon):
        raise ConfigError(f"{scheme} has no privacy: --epsilon inf, not {epsilon:g}.")


def _is_told(
    scheme: str, rated: Ints, likes: Bits, items: int, generator: np.random.Generator
) -> Bits:
    """(people,) whether a person's answer shows what they rated and whether they like it."""
    people = len(rated)
    if scheme == "one-bit-on-average":
        shown: Bits = generator.random(people) < 1 / math.log2(2 * items)
        return shown
    asked_item = generator.integers(items, size=people)
    asked_like = generator.integers(2, size=people) == 1
    is_yes: Bits = (asked_item == rated) & (asked_like == likes)
    return is_yes


def _like_shares(answers: Ints) -> NDArray[np.float64]:
    """(items,) share of likes among what was revealed of an item; 1/2 where nothing was."""
    told = answers.sum(axis=0)
    shares: NDArray[np.float64] = np.where(told > 0, answers[1] / np.maximum(told, 1), 0.5)
    return shares
