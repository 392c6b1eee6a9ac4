"""Planted bugs and their repairs in the words of the rule engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.auditing.rules import (
    Answered,
    Branch,
    Chosen,
    FirstPast,
    Noised,
    Private,
    Public,
    Rule,
    Together,
)
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse

Described = Callable[[bool], Rule]
"""What a mechanism is made of: the fault if True, its repair if False."""


def noise(distance: float, scale: float, repaired: float) -> Described:
    """Noise of `scale` where `repaired` is needed."""
    return lambda bug: Noised(distance, scale if bug else repaired)


def unbounded(distance: float, bounded: float, scale: float) -> Described:
    """Neighbours at a distance for which the noise was not made."""
    return lambda bug: Noised(distance if bug else bounded, scale)


def several(one: Rule, count: int) -> Described:
    """`count` releases for the price of one; the repair makes one."""
    return lambda bug: Together((one,) * (count if bug else 1))


def bit() -> Rule:
    return Answered(BitRelease(1.0).truth)


def answer(categories: int) -> Rule:
    return Answered(KaryResponse(1.0, categories).truth, categories)


def bit_off_by_one(bug: bool) -> Rule:
    return Answered(Fraction(193 if bug else 192, 256))


def choice(rate: float, repaired: float) -> Described:
    return lambda bug: Chosen(1, rate if bug else repaired)


def listed_only_if_present(bug: bool) -> Rule:
    return Chosen(1, 0.5, candidates_are_public=not bug)


def always_the_top_item(bug: bool) -> Rule:
    return Private() if bug else Chosen(1, math.log(2))


def gate_without_count_noise(bug: bool) -> Rule:
    return FirstPast(1, 2.0, 0.0 if bug else 4.0)


def nan_survives(bug: bool) -> Rule:
    return Branch(Private(), Public("NaN"), Noised(5, 5)) if bug else Noised(5, 5)


def raw_once_in_a_thousand(bug: bool) -> Rule:
    return Branch(Public("a die"), Private(), answer(10_000)) if bug else answer(10_000)


def exact_count_below_the_line(bug: bool) -> Rule:
    return Together((Noised(1, 1), Private()) if bug else (Noised(1, 2), Noised(1, 2)))


def similarities_charged_as_one(bug: bool) -> Rule:
    return Together((Noised(1, 1 if bug else 5),) * 5)


def scale_from_the_data(bug: bool) -> Rule:
    return Noised(5, 5, scale_is_public=not bug)


def no_noise_on_zero(bug: bool) -> Rule:
    return Branch(Private(), Noised(1, 2), Public(0)) if bug else Noised(1, 2)
