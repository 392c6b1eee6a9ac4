"""A campaign from plain numbers, and what a report to it guarantees: one card for each unit."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from tacit.accounting.events import RandomizedResponse
from tacit.accounting.pure import PureAccountant
from tacit.designs.sketches.messages import (
    MICRO,
    NO_NOISE,
    UNITS,
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
from tacit.privacy import Adjacency, Basis, Guarantee, Trust

NEVER = WHOLE
"""A campaign that stays open."""
_SOURCES = (
    (
        "Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines "
        "(2012), Propositions 2.2 to 2.4"
    ),
    "Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy (2014)",
)
_STATED = {
    "user": (
        Adjacency("user", "replace"),
        "everything you rated, and how",
        "if all your ratings were others",
    ),
    "rating": (
        Adjacency("rating", "add or remove"),
        "whether one rating of yours exists",
        "with one rating of yours more or less",
    ),
    "moved rating": (
        Adjacency("rating", "replace"),
        "which of two items one rating of yours is for",
        "if one rating of yours were for another item",
    ),
}
"""By unit: what is neighbouring, what is protected, and how things would be otherwise."""
_STATES = partial(Guarantee, trust=Trust.NOBODY, delta=0.0, sources=_SOURCES)
_NO_QUESTIONS = "the questions you were asked: they are public and do not depend on you"
_NOT_COVERED = (
    "whether you take part, when, and from which address",
    "other campaigns: each costs its own epsilon, up to the lifetime limit of your device",
    (
        "a second report to the same campaign, from a device without memory and with other "
        "ratings: it costs epsilon again, and a difference between the two reveals a change"
    ),
    "what the published clusters say about people like you, whether you take part or not",
    "anyone who learns your account's secret",
)


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
    """A campaign for these items, as `plan` advises.

    rated: w, items that a person is taken to have rated. epsilon: nats for the whole report and the
    unit, rounded down to a millionth; inf for the non-private variant, which devices refuse. theta:
    expected rated items in a sensed set; not used for pairs. closes: Unix seconds. seed: 16 bytes,
    fresh ones by default.
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


def changed_bits(campaign: Campaign, unit: str) -> int:
    """How many bits of this campaign's report neighbouring inputs of a unit can differ in.

    Where the number of likes is capped, one rating more can push another one out.
    """
    cap, most = campaign.likes_cap, {"user": campaign.questions, "rating": 1, "moved rating": 2}
    if not campaign.senses:
        return campaign.questions
    if cap is not None:
        most |= {"user": 2 * cap, "rating": 2}
    return min(campaign.questions, most[unit])


def bit_loss(campaign: Campaign) -> float:
    """Exact loss of one bit, from the chance that is really used; inf without noise."""
    if campaign.truth == WHOLE:
        return math.inf
    event = RandomizedResponse(2, float(Fraction(campaign.truth, WHOLE)))
    return PureAccountant().add(event).epsilon()


def cards(campaign: Campaign) -> tuple[Guarantee, ...]:
    """The cards of a campaign, one for each unit; of pairs of rated items, for values alone.

    ConfigError without noise.
    """
    if campaign.truth == WHOLE:
        raise ConfigError("Without noise there is no guarantee: epsilon has to be finite.")
    if campaign.names_pair:
        return (_values_card(campaign),)
    return tuple(_card(campaign, unit) for unit in UNITS)


def _card(campaign: Campaign, unit: str) -> Guarantee:
    adjacency, protects, otherwise = _STATED[unit]
    bits = changed_bits(campaign, unit)
    epsilon = bits * bit_loss(campaign)
    return _STATES(
        name=f"{campaign.method}, one report, unit: {unit}",
        sentence=(
            f"Anything that your device sends is at most {math.exp(epsilon):.4g} times as "
            f"likely as it would be {otherwise}."
        ),
        protects=f"{protects}, from anyone who reads what your device sends",
        adjacency=adjacency,
        against=(
            "everyone who reads the report and knows the method, the questions and "
            "everything about others"
        ),
        basis=Basis.PROVED,
        epsilon=epsilon,
        lifetime=(
            "one report of one campaign, remembered and sent again unchanged; n campaigns cost the "
            "sum of theirs, and the device stops at its owner's limit"
        ),
        assumptions=_assumptions(campaign, bits),
        not_covered=(_NO_QUESTIONS, *_NOT_COVERED),
    )


def _values_card(campaign: Campaign) -> Guarantee:
    epsilon = bit_loss(campaign)
    asked = "you rated both alike" if campaign.asks_identical else "you like both"
    return _STATES(
        name=f"{campaign.method}, one report: values only",
        sentence=(
            f"Which two items you are asked about shows that you rated them. Whether {asked} "
            f"is protected: what is sent is at most {math.exp(epsilon):.4g} times as likely as it "
            "would be with other stars for the same items."
        ),
        protects="your stars, given which items you rated; NOT which items you rated",
        adjacency=Adjacency("rating", "replace"),
        against="everyone who reads the report and knows which items you rated",
        basis=Basis.CONDITIONAL,
        epsilon=epsilon,
        lifetime=(
            "one report of one campaign; n campaigns cost the sum of theirs, and name up to n "
            "pairs of items you rated, until the device stops at its owner's limits"
        ),
        assumptions=(
            "which items you rated is public, or may become so",
            "the pair is chosen without looking at the stars",
            *_assumptions(campaign, 1)[1:],
        ),
        not_covered=(
            (
                "which items you rated: the question depends on you, and the report names two of "
                "them, at no protection at all"
            ),
            *_NOT_COVERED,
        ),
    )


def _assumptions(campaign: Campaign, bits: int) -> tuple[str, ...]:
    stated = [
        "questions follow from public numbers and a ticket, which do not depend on ratings",
        f"of {campaign.questions} bits, each with its own noise, at most {bits} can change",
        (
            "noise from a secret of 32 bytes of the operating system's generator, by HMAC-SHA256: "
            "the statement holds against an adversary who cannot tell it from uniform randomness"
        ),
    ]
    if campaign.likes_cap is not None:
        stated.append(f"the device uses at most {campaign.likes_cap} of the items you like")
    if campaign.senses:
        stated.append("the sensed sets of one person are disjoint")
    return tuple(stated)
