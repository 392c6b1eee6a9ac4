"""Bugs planted into campaigns and devices, which the audit must detect.

Each function takes an input, as like-vectors of four items, and computes the exact chances of what
is sent: by faulty code if `bug` is true, else by correct code.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from tacit.auditing.bugs import EnumeratedBug
from tacit.auditing.claims import Bug
from tacit.designs.sketches.audit.enumeration import (
    WORLDS,
    Likes,
    choose_secrets,
    report_chances,
    small_campaign,
)

_EPSILON = 1.0
_ALL_LIKED = WORLDS[-1]
_NONE_LIKED = WORLDS[0]
_RATED_PAIRS = ((1, 1, 0, 0), (0, 0, 1, 1))
"""Two neighbours who rated different items."""


def _every_bit_at_full_price(likes: Likes, planted: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of three bits; with the bug each bit costs epsilon, not all together."""
    campaign = small_campaign("rating" if planted else "user", 3, 4, _EPSILON)
    return report_chances(campaign, choose_secrets(campaign)[-1], likes)


def _pair_of_rated_items(rated: Likes, planted: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of an answer about a pair; with the bug the pair shows rated items."""
    method = "pairwise-rated" if planted else "pairwise-preference"
    campaign = small_campaign("user", 1, 4, _EPSILON, method)
    return report_chances(campaign, bytes(32), _ALL_LIKED, rated)


def _answers_twice(likes: Likes, planted: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of two answers; with the bug the device forgets the first one."""
    campaign = small_campaign("user", 1, 4, _EPSILON)
    return report_chances(campaign, choose_secrets(campaign)[-1], likes, times=2, forgets=planted)


BUGS: tuple[Bug, ...] = (
    EnumeratedBug(
        "every bit at the full price",
        _every_bit_at_full_price,
        [(_ALL_LIKED, _NONE_LIKED)],
        _EPSILON,
    ),
    EnumeratedBug("a pair of rated items", _pair_of_rated_items, [_RATED_PAIRS], _EPSILON),
    EnumeratedBug(
        "an answer forgotten and drawn again",
        _answers_twice,
        [(_ALL_LIKED, _NONE_LIKED)],
        _EPSILON,
    ),
)
