"""Guarantee cards of a report to a campaign: one card for each unit."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from tacit.accounting import PureAccountant
from tacit.accounting.events import RandomizedResponse
from tacit.designs.sketches.messages import UNITS, WHOLE, Campaign
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust

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


def changed_bits(campaign: Campaign, unit: str) -> int:
    """Count the bits of this campaign's report in which a unit's neighbouring inputs can differ.

    Where the number of likes is capped, one rating more can push another one out.
    """
    cap = campaign.likes_cap
    most = {"user": campaign.questions, "rating": 1, "moved rating": 2}
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
    """Make a campaign's cards, one for each unit; a pair of rated items has one for values alone.

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
