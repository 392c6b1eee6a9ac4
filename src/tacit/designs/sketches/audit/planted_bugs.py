"""Bugs planted into campaigns and devices, which the audit must detect.

Each function takes which of the four items a person likes, or rated, and computes the exact chances
of everything that the device can send: by faulty code if `planted` is true, else by correct code.
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
"""For each of two people, which of the four items they rated: the first two, or the last two."""


def _chances_of_three_bits(likes: Likes, planted: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of three bits; with the bug, each bit costs the whole epsilon."""
    campaign = small_campaign("rating" if planted else "user", 3, 4, _EPSILON)
    return report_chances(campaign, choose_secrets(campaign)[-1], likes)


def _chances_about_pair(rated: Likes, planted: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of an answer about a pair; with the bug the report names a rated pair."""
    method = "pairwise-rated" if planted else "pairwise-preference"
    campaign = small_campaign("user", 1, 4, _EPSILON, method)
    return report_chances(campaign, bytes(32), _ALL_LIKED, rated)


def _chances_of_two_reports(likes: Likes, planted: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of two reports; with the bug the device forgets the first one."""
    campaign = small_campaign("user", 1, 4, _EPSILON)
    return report_chances(campaign, choose_secrets(campaign)[-1], likes, times=2, forgets=planted)


BUGS: tuple[Bug, ...] = (
    EnumeratedBug(
        "every bit at the full price",
        _chances_of_three_bits,
        [(_ALL_LIKED, _NONE_LIKED)],
        _EPSILON,
    ),
    EnumeratedBug("a pair of rated items", _chances_about_pair, [_RATED_PAIRS], _EPSILON),
    EnumeratedBug(
        "an answer forgotten and drawn again",
        _chances_of_two_reports,
        [(_ALL_LIKED, _NONE_LIKED)],
        _EPSILON,
    ),
)
