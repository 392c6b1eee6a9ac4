"""Make a campaign from plain numbers, with the flip probability that epsilon needs."""

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
"""Closing time of a campaign that stays open: the largest that its message can hold."""


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
    """Make a campaign for a catalogue. `plan` advises the method, theta and the questions.

    Args:
        items: Item ids, each once; their order is the campaign's.
        rated: w, the number of items that a person is assumed to have rated.
        epsilon: Nats of a whole report, for the unit, rounded down to a millionth; inf for the
            non-private variant, which devices refuse.
        method: One of METHODS.
        theta: Expected number of rated items in a sensed set; not used for pairs.
        questions: Number of questions, each answered by one bit of a report; 1 for RATED_METHODS.
        unit: What epsilon protects: one of UNITS.
        liked_from: Least stars of a like, rounded to thousandths.
        closes: Unix seconds; later reports do not count.
        seed: 16 public bytes that the questions depend on; drawn if None.

    Raises:
        ConfigError: A value is out of range, or two values contradict each other.
    """
    if not epsilon > 0:
        raise ConfigError(f"epsilon is above 0, or inf; got {epsilon}.")
    for name, value in (("theta", theta), ("liked_from", liked_from)):
        if not math.isfinite(value):
            raise ConfigError(f"{name} is a finite number; got {value}.")
    is_private = math.isfinite(epsilon)
    epsilon_micros = micros(epsilon) if is_private else NO_NOISE
    if is_private and not 1 <= epsilon_micros < NO_NOISE:
        raise ConfigError(f"epsilon is from a millionth to 2147.483646, or inf; got {epsilon}.")
    try:
        # `Campaign` checks all other conditions. The numbers are checked here because its fields
        # are computed from them, and the ids because it has none.
        require(questions >= 1 and rated >= 1, "questions and rated items are at least 1")
        require(len(set(items)) == len(items), "every item is named once")
        bits = exposed_bits(method, unit, questions, rated)
        return Campaign(
            method=method,
            unit=unit,
            n_items=len(items),
            rated=rated,
            theta=round(theta * MICRO) if method == "multi-maxsense" else 0,
            questions=questions,
            epsilon=epsilon_micros,
            liked_from=round(liked_from * 1000),
            truth=_largest_truth(epsilon_micros, bits) if is_private else WHOLE,
            closes=closes,
            seed=secrets.token_bytes(16) if seed is None else seed,
            catalogue_digest=catalogue_digest(items),
        )
    except (MessageError, KeyError, OverflowError) as error:
        raise ConfigError(f"No campaign can be made of this: {error}.") from None


def _largest_truth(epsilon_micros: int, bits: int) -> int:
    """Compute `Campaign.truth`, in parts of 2^53, if this many bits share epsilon equally.

    The result is rounded down, towards more noise.
    """
    epsilon_per_bit = float(Fraction(epsilon_micros, MICRO * bits))
    return int(BitRelease(math.nextafter(epsilon_per_bit, 0)).truth * WHOLE)
