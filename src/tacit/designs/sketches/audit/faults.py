"""Bugs planted into campaigns and devices of sketches, each next to the correct code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from fractions import Fraction

from tacit.auditing.bugs import Bug, Enumerated
from tacit.designs.sketches.audit.exact import (
    ANY,
    ITEMS,
    WORLDS,
    Likes,
    distribution,
    small,
    telling,
)
from tacit.designs.sketches.device import Device, Memory
from tacit.designs.sketches.messages import WHOLE, ItemId

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
