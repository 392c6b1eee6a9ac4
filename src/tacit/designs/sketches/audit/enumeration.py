"""The exact chance of every report that the shipped device can send, for a catalogue of four items.

The exact epsilon of a report is computed from these chances, as the largest over all neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator
from fractions import Fraction

from tacit.auditing import exact_losses
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, Limits, Memory
from tacit.designs.sketches.messages import UNITS, WHOLE, Campaign, ItemId
from tacit.designs.sketches.sensing import pairs, sensed_sets

ITEMS = 4
"""Number of items. The wheel (`sensing.py`) has five places, so there are up to five sets of one
place."""
NO_LIMITS = Limits(epsilon=1e3, lifetime=1e6, units=UNITS, rated_pairs=True)
"""Limits with which a device answers every audited campaign."""
Likes = tuple[int, ...]
"""(ITEMS,) 1 for a liked item, else 0."""
WORLDS: tuple[Likes, ...] = tuple(itertools.product((0, 1), repeat=ITEMS))
"""All like-vectors, from none liked to all liked."""
SECRETS = [bytes([number]) * 32 for number in range(40)]
"""Secrets of accounts from which `choose_secrets` chooses."""
LIKED = 5.0
"""Stars of a liked item."""
DISLIKED = 1.0
"""Stars of a disliked item."""


def small_campaign(
    unit: str, questions: int, rated: int, epsilon: float, method: str = "multi-maxsense"
) -> Campaign:
    """Make a campaign about four items, whose sets have one place each.

    Args:
        unit: Unit that epsilon is stated for.
        questions: Number of questions.
        rated: Number of items that a person is assumed to have rated; it determines
            `Campaign.likes_cap`.
        epsilon: Nats of a report.
        method: Method of the campaign.
    """
    return new_campaign(
        range(ITEMS),
        rated=rated,
        theta=rated / 5,
        questions=questions,
        epsilon=epsilon,
        unit=unit,
        method=method,
        seed=bytes(16),
    )


def neighbour_pairs(unit: str) -> Iterator[tuple[Likes, Likes]]:
    """Yield the pairs of like-vectors that are neighbours for a unit, each once in one order."""
    for first, second in itertools.combinations(WORLDS, 2):
        differences = [a != b for a, b in zip(first, second, strict=True)].count(True)
        if unit == "user":
            are_neighbours = True
        elif unit == "rating":
            are_neighbours = differences == 1
        else:  # one like is moved to another item
            are_neighbours = differences == 2 and sum(first) == sum(second)
        if are_neighbours:
            yield first, second


def report_chances(
    campaign: Campaign,
    secret: bytes,
    likes: Likes,
    rated: Likes | None = None,
    *,
    times: int = 1,
    forgets: bool = False,
) -> dict[Hashable, Fraction]:
    """Compute the chance of everything that a device can send, from all outcomes of its coins.

    Args:
        campaign: The campaign that is answered.
        secret: The account's secret, which determines the questions.
        likes: Which items are liked.
        rated: (ITEMS,) 1 for a rated item, else 0; None: all items are rated.
        times: Number of times that the device is asked for its report to the campaign.
        forgets: Whether the device loses its memory in between.

    Returns:
        The chance of each string of bytes that the device can send in all: its reports, one after
        the other.
    """
    history: dict[ItemId, float] = {}
    for item, like in enumerate(likes):
        if rated is None or rated[item]:
            history[item] = LIKED if like else DISLIKED
    truth = Fraction(campaign.truth, WHOLE)
    questions = campaign.questions
    chances: dict[Hashable, Fraction] = {}
    for flips in itertools.product((0, 1), repeat=questions * times):
        memory: Memory = {}
        sent = b""
        for time in range(times):
            flips_of_report = flips[time * questions : (time + 1) * questions]
            coins = [WHOLE - 1 if flip else 0 for flip in flips_of_report]
            device = Device(secret, {} if forgets else memory, NO_LIMITS, coin=coins.__getitem__)
            sent += device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if flip else truth) for flip in flips)
        chances[sent] = chances.get(sent, Fraction(0)) + chance
    return chances


def largest_loss(campaign: Campaign, unit: str) -> float:
    """Compute the largest exact epsilon of a report over all neighbours and the secrets tried.

    In general, neighbours rated all four items and differ by the unit; the secrets of
    `choose_secrets` are tried. If devices name pairs of rated items, only the stars are protected:
    neighbours are any two histories with the same two or more rated items, and one secret is tried.
    """
    losses = [0.0]
    if campaign.names_pair:
        for rated in WORLDS:
            if sum(rated) < 2:
                continue
            all_chances = [report_chances(campaign, SECRETS[0], likes, rated) for likes in WORLDS]
            for first, second in itertools.combinations(all_chances, 2):
                losses.append(exact_losses.exact_loss(first, second))
        return max(losses)
    for secret in choose_secrets(campaign):
        by_likes = {likes: report_chances(campaign, secret, likes) for likes in WORLDS}
        for first_likes, second_likes in neighbour_pairs(unit):
            losses.append(exact_losses.exact_loss(by_likes[first_likes], by_likes[second_likes]))
    return max(losses)


def choose_secrets(campaign: Campaign) -> list[bytes]:
    """Choose the first two of SECRETS, and one of those whose questions cover the most items.

    The last one may be one of the first two.
    """

    def count_items_asked(secret: bytes) -> int:
        """Count the distinct items in the questions to a device with this secret."""
        ticket = Device(secret, {}, NO_LIMITS).report(campaign, range(ITEMS), {}).ticket
        asked: set[int] = set()
        if campaign.asks_about_sets:
            asked.update(*sensed_sets(campaign, ticket))
        else:
            asked.update(*pairs(campaign, ticket))
        return len(asked)

    return [SECRETS[0], SECRETS[1], max(SECRETS, key=count_items_asked)]
