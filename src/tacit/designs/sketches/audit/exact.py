"""Every report that the shipped device can send from a small catalogue, with its exact chance.

Beside it bugs planted into campaigns and devices, each next to the correct code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator
from fractions import Fraction

from tacit.auditing import exact
from tacit.auditing.bugs import Bug, Enumerated
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, Limits, Memory
from tacit.designs.sketches.messages import UNITS, WHOLE, Campaign, ItemId
from tacit.designs.sketches.sensing import pairs, sensed_sets

ITEMS = 4  # five places on the wheel, so up to five sets of one place
ANY = Limits(epsilon=1e3, lifetime=1e6, units=UNITS, rated_pairs=True)
Likes = tuple[int, ...]
WORLDS: tuple[Likes, ...] = tuple(itertools.product((0, 1), repeat=ITEMS))
_SECRETS = [bytes([number]) * 32 for number in range(40)]
_LIKED, _DISLIKED = 5.0, 1.0


def small(
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


def neighbours(unit: str) -> Iterator[tuple[Likes, Likes]]:
    """Pairs of like-vectors that differ as the unit says, each once."""
    for one, other in itertools.combinations(WORLDS, 2):
        differing = sum(a != b for a, b in zip(one, other, strict=True))
        moved = differing == 2 and sum(one) == sum(other)
        if unit == "user" or (differing == 1 if unit == "rating" else moved):
            yield one, other


def distribution(
    campaign: Campaign, secret: bytes, likes: Likes, rated: Likes | None = None
) -> dict[Hashable, Fraction]:
    """Chances of each report, by running the device for every fall of its coins.

    rated: which items have stars; None for all of them.
    """
    history: dict[ItemId, float] = {
        item: _LIKED if like else _DISLIKED
        for item, like in enumerate(likes)
        if rated is None or rated[item]
    }
    truth = Fraction(campaign.truth, WHOLE)
    found: dict[Hashable, Fraction] = {}
    for lies in itertools.product((0, 1), repeat=campaign.questions):
        coins = [WHOLE - 1 if lie else 0 for lie in lies]
        device = Device(secret, {}, ANY, coin=coins.__getitem__)
        report = device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[report] = found.get(report, Fraction(0)) + chance
    return found


def worst(campaign: Campaign, unit: str) -> float:
    """The largest loss over all neighbours of a unit and over three secrets, hence questions."""
    if campaign.method == "pairwise-rated":
        return _worst_values(campaign)
    losses = [0.0]
    for secret in telling(campaign):
        shown = {likes: distribution(campaign, secret, likes) for likes in WORLDS}
        losses += [exact.loss(shown[one], shown[other]) for one, other in neighbours(unit)]
    return max(losses)


def _worst_values(campaign: Campaign) -> float:
    """Of the stars alone, for every set of at least two rated items, which is taken as public."""
    losses = [0.0]
    for rated in (world for world in WORLDS if sum(world) >= 2):
        shown = [distribution(campaign, _SECRETS[0], likes, rated) for likes in WORLDS]
        losses += [exact.loss(one, other) for one, other in itertools.combinations(shown, 2)]
    return max(losses)


def telling(campaign: Campaign) -> list[bytes]:
    """Three secrets, one of them asked about as many items as anybody can be."""

    def asked(secret: bytes) -> int:
        ticket = Device(secret, {}, ANY).report(campaign, range(ITEMS), {}).ticket
        if campaign.senses:
            return sum(map(bool, sensed_sets(campaign, ticket)))
        return len({item for pair in pairs(campaign, ticket) for item in pair})

    return [_SECRETS[0], _SECRETS[1], max(_SECRETS, key=asked)]


_EPSILON = 1.0
_ALL, _NONE = WORLDS[-1], WORLDS[0]
_RATED = ((1, 1, 0, 0), (0, 0, 1, 1))


def _every_bit_at_full_price(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """Three bits that each cost epsilon, though one person's whole history moves all three."""
    campaign = small("rating" if bug else "user", 3, 4, _EPSILON)
    return distribution(campaign, telling(campaign)[-1], likes)


def _pair_of_rated_items(rated: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """The device chooses the pair by what was rated, and claims to protect that, too."""
    method = "pairwise-rated" if bug else "pairwise-preference"
    campaign = small("user", 1, 4, _EPSILON, method)
    return distribution(campaign, bytes(32), _ALL, rated)


def _answers_twice(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """A device that forgot its answer draws another one for the same campaign."""
    campaign = small("user", 1, 4, _EPSILON)
    truth = Fraction(campaign.truth, WHOLE)
    history: dict[ItemId, float] = {item: 5.0 if like else 1.0 for item, like in enumerate(likes)}
    secret = telling(campaign)[-1]
    found: dict[Hashable, Fraction] = {}
    for lies in itertools.product((0, 1), repeat=2):
        memory: Memory = {}
        sent = b""
        for lie in lies:
            coin = [WHOLE - 1 if lie else 0]  # of the only question
            device = Device(secret, {} if bug else memory, ANY, coin=coin.__getitem__)
            sent += device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[sent] = found.get(sent, Fraction(0)) + chance
    return found


BUGS: tuple[Bug, ...] = (
    Enumerated("every bit at the full price", _every_bit_at_full_price, [(_ALL, _NONE)], _EPSILON),
    Enumerated("a pair of rated items", _pair_of_rated_items, [_RATED], _EPSILON),
    Enumerated("an answer forgotten and drawn again", _answers_twice, [(_ALL, _NONE)], _EPSILON),
)
