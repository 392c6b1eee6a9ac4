"""Every report that the device can send from a catalogue of four items, with its exact chance.

The loss of a report is the largest over all neighbours, at w = 1, 2 and 4 rated items.
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
"""Five places on the wheel, so up to five sets of one place."""
ANY = Limits(epsilon=1e3, lifetime=1e6, units=UNITS, rated_pairs=True)
Likes = tuple[int, ...]
WORLDS: tuple[Likes, ...] = tuple(itertools.product((0, 1), repeat=ITEMS))
SECRETS = [bytes([number]) * 32 for number in range(40)]
LIKED = 5.0
DISLIKED = 1.0


def small_campaign(
    unit: str, questions: int, rated: int, epsilon: float, method: str = "multi-maxsense"
) -> Campaign:
    """A campaign about four items, with sets of one place each."""
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
    """Pairs of like-vectors that differ as the unit says, each once."""
    for one, other in itertools.combinations(WORLDS, 2):
        differing = sum(a != b for a, b in zip(one, other, strict=True))
        moved = differing == 2 and sum(one) == sum(other)
        if unit == "user" or (differing == 1 if unit == "rating" else moved):
            yield one, other


def report_chances(
    campaign: Campaign,
    secret: bytes,
    likes: Likes,
    rated: Likes | None = None,
    *,
    times: int = 1,
    forgets: bool = False,
) -> dict[Hashable, Fraction]:
    """Compute the chances of all that is sent, by running the device for every fall of its coins.

    Args:
        campaign: The question.
        secret: The account's.
        likes: Which items are liked.
        rated: Which items have stars; None for all of them.
        times: How often the device is asked.
        forgets: Whether it loses its memory in between.
    """
    history: dict[ItemId, float] = {
        item: LIKED if like else DISLIKED
        for item, like in enumerate(likes)
        if rated is None or rated[item]
    }
    truth = Fraction(campaign.truth, WHOLE)
    questions = campaign.questions
    found: dict[Hashable, Fraction] = {}
    for lies in itertools.product((0, 1), repeat=questions * times):
        memory: Memory = {}
        sent = b""
        for time in range(times):
            coins = [WHOLE - 1 if lie else 0 for lie in lies[time * questions :][:questions]]
            device = Device(secret, {} if forgets else memory, ANY, coin=coins.__getitem__)
            sent += device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[sent] = found.get(sent, Fraction(0)) + chance
    return found


def largest_loss(campaign: Campaign, unit: str) -> float:
    """Enumerate the largest loss over all neighbours of a unit and over three secrets.

    The questions follow from the secret. For pairs of rated items it is the loss of the stars
    alone, over every public set of two or more rated items.
    """
    losses = [0.0]
    if campaign.names_pair:
        for rated in WORLDS:
            if sum(rated) >= 2:
                shown = [report_chances(campaign, SECRETS[0], likes, rated) for likes in WORLDS]
                for one, other in itertools.combinations(shown, 2):
                    losses.append(exact_losses.exact_loss(one, other))
        return max(losses)
    for secret in choose_secrets(campaign):
        by_likes = {likes: report_chances(campaign, secret, likes) for likes in WORLDS}
        for one_likes, other_likes in neighbour_pairs(unit):
            losses.append(exact_losses.exact_loss(by_likes[one_likes], by_likes[other_likes]))
    return max(losses)


def choose_secrets(campaign: Campaign) -> list[bytes]:
    """Choose three secrets, one of them asked about as many items as anyone can be."""

    def count_asked(secret: bytes) -> int:
        ticket = Device(secret, {}, ANY).report(campaign, range(ITEMS), {}).ticket
        if campaign.senses:
            return sum(map(bool, sensed_sets(campaign, ticket)))
        asked: set[int] = set()
        for pair in pairs(campaign, ticket):
            asked.update(pair)
        return len(asked)

    return [SECRETS[0], SECRETS[1], max(SECRETS, key=count_asked)]
