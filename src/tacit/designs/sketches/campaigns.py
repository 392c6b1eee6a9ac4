"""A campaign from plain numbers, checked, with the chance of the truth that epsilon allows."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction

from tacit.designs.sketches.messages import (
    MICRO,
    NO_NOISE,
    WHOLE,
    Campaign,
    ItemId,
    MessageError,
    catalogue_digest,
    exposed_bits,
    micros,
    require,
)
from tacit.errors import ConfigError
from tacit.mechanisms.randomized_response import BitRelease

NEVER = WHOLE
"""Closing time of a campaign that stays open."""


def new_campaign(
    items: Sequence[ItemId],
    *,
    rated: int,
    epsilon: float,
    method: str = "multi-maxsense",
    theta: float = 1.0,
    questions: int = 1,
    unit: str = "user",
    liked_from: float = 4.0,
    closes: int = NEVER,
    seed: bytes | None = None,
) -> Campaign:
    """Design a campaign for a catalogue, with the parameters that `plan` advises.

    Args:
        items: Item ids, each once; their order is the campaign's.
        rated: w, items that a person is taken to have rated.
        epsilon: Nats for the whole report and the unit, rounded down to a millionth; inf for the
            non-private variant, which devices refuse.
        method: One of METHODS.
        theta: Expected rated items in a sensed set; not used for pairs.
        questions: Bits in a report.
        unit: What epsilon is for: one of UNITS.
        liked_from: Stars from which on an item is liked.
        closes: Unix seconds; later reports do not count.
        seed: 16 bytes, fresh ones by default.

    Raises:
        ConfigError: No campaign can be made of these.
    """
    if not epsilon > 0:
        raise ConfigError(f"epsilon is above 0, or inf; got {epsilon}.")
    for name, value in (("theta", theta), ("liked_from", liked_from)):
        if not math.isfinite(value):
            raise ConfigError(f"{name} is a finite number; got {value}.")
    private = math.isfinite(epsilon)
    micro = micros(epsilon) if private else NO_NOISE
    if private and not 1 <= micro < NO_NOISE:
        raise ConfigError(f"epsilon is at least a millionth and at most 2147; got {epsilon}.")
    try:
        # A campaign refuses what does not fit; these would fail before there is one.
        require(questions >= 1 and rated >= 1, "questions and rated items are at least 1")
        require(len(set(items)) == len(items), "every item is named once")
        shared = exposed_bits(method, unit, questions, rated)
        return Campaign(
            method=method,
            unit=unit,
            items=len(items),
            rated=rated,
            theta=round(theta * MICRO) if method == "multi-maxsense" else 0,
            questions=questions,
            epsilon=micro,
            liked_from=round(liked_from * 1000),
            truth=_truth(micro, shared) if private else WHOLE,
            closes=closes,
            seed=secrets.token_bytes(16) if seed is None else seed,
            catalogue=catalogue_digest(items),
        )
    except (MessageError, KeyError, OverflowError) as error:
        raise ConfigError(f"No campaign can be made of this: {error}.") from None


def _truth(micro: int, bits: int) -> int:
    """Parts of 2^53 for one of so many bits that share epsilon; rounded towards more noise."""
    nearest = float(Fraction(micro, MICRO * bits))
    return int(BitRelease(math.nextafter(nearest, 0)).truth * WHOLE)
