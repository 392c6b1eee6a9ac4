"""Bugs planted into campaigns and devices, which the audit must catch."""

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
_ALL = WORLDS[-1]
_NONE = WORLDS[0]
_RATED = ((1, 1, 0, 0), (0, 0, 1, 1))


def _every_bit_at_full_price(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of three bits that each cost epsilon, though a history moves all."""
    campaign = small_campaign("rating" if bug else "user", 3, 4, _EPSILON)
    return report_chances(campaign, choose_secrets(campaign)[-1], likes)


def _pair_of_rated_items(rated: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of a device that chooses its pair by what was rated, in plain sight."""
    method = "pairwise-rated" if bug else "pairwise-preference"
    return report_chances(small_campaign("user", 1, 4, _EPSILON, method), bytes(32), _ALL, rated)


def _answers_twice(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """Compute the chances of a device that forgot its answer and draws another one."""
    campaign = small_campaign("user", 1, 4, _EPSILON)
    return report_chances(campaign, choose_secrets(campaign)[-1], likes, times=2, forgets=bug)


BUGS: tuple[Bug, ...] = (
    EnumeratedBug(
        "every bit at the full price", _every_bit_at_full_price, [(_ALL, _NONE)], _EPSILON
    ),
    EnumeratedBug("a pair of rated items", _pair_of_rated_items, [_RATED], _EPSILON),
    EnumeratedBug("an answer forgotten and drawn again", _answers_twice, [(_ALL, _NONE)], _EPSILON),
)
