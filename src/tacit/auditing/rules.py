"""The rule engine: an upper bound on the loss of a release, from what it is made of.

A release is described by the five words below. Nobody has to find the bad pair of inputs: a raw
private value, noise whose size comes from the data, or a branch on private data with different
sides is infinite whatever the rest does. It judges the description; that the code does what the
description says is for the empirical audit to contradict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Public:
    """A constant, or something computed from what is public."""

    value: object = None


@dataclass(frozen=True)
class Private:
    """A value of the data as it is, or computed from it without randomness."""


@dataclass(frozen=True)
class Noised:
    """Laplace noise on private numbers. distance: L1, of neighbours. scale_is_public: not from
    the data."""

    distance: float
    scale: float
    scale_is_public: bool = True


@dataclass(frozen=True)
class Branch:
    """One of two releases, chosen by a condition."""

    condition: Rule
    then: Rule
    otherwise: Rule


@dataclass(frozen=True)
class Together:
    """Several releases about the same data."""

    parts: tuple[Rule, ...]


Rule = Public | Private | Noised | Branch | Together


def upper_bound(rule: Rule) -> float:
    """Nats that the release can cost at most; infinite if no number bounds it."""
    match rule:
        case Public():
            return 0.0
        case Private():
            return math.inf
        case Noised(distance, scale, public):
            if not public or scale <= 0:
                return math.inf
            return distance / scale
        case Branch(condition, then, otherwise):
            if then == otherwise:
                return upper_bound(then)
            return upper_bound(condition) + max(upper_bound(then), upper_bound(otherwise))
        case Together(parts):
            return sum(upper_bound(part) for part in parts)
