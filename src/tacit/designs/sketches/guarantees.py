"""What a report guarantees, for whom, and what it costs: one card for each unit."""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.accounting.events import RandomizedResponse
from tacit.accounting.pure import PureAccountant
from tacit.designs.sketches.messages import MICRO, UNITS, WHOLE, Campaign
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust

_SOURCES = (
    (
        "Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines "
        "(2012), Propositions 2.2 to 2.4"
    ),
    "Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy (2014)",
)
_ADJACENCY = {
    "user": Adjacency("user", "replace"),
    "rating": Adjacency("rating", "add or remove"),
    "moved rating": Adjacency("rating", "replace"),
}
_PROTECTS = {
    "user": "everything you rated, and how",
    "rating": "whether one rating of yours exists",
    "moved rating": "which of two items one rating of yours is for",
}
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
    """How many bits of this campaign's report neighbouring inputs of a unit can differ in.

    Where the number of likes is capped, one rating more can push another one out.
    """
    if campaign.method != "multi-maxsense":
        return campaign.questions
    cap = campaign.likes_cap
    if unit == "user":
        return campaign.questions if cap is None else min(campaign.questions, 2 * cap)
    if unit == "rating" and cap is None:
        return 1
    return min(campaign.questions, 2)


def bit_loss(campaign: Campaign) -> float:
    """Exact loss of one bit, from the chance that is really used; inf without noise."""
    if campaign.truth == WHOLE:
        return math.inf
    event = RandomizedResponse(2, float(Fraction(campaign.truth, WHOLE)))
    return PureAccountant().add(event).epsilon()


def cards(campaign: Campaign) -> tuple[Guarantee, ...]:
    """The cards of one campaign, one for each unit; of pairs of rated items, for values alone."""
    if campaign.truth == WHOLE:
        raise ConfigError("Without noise there is no guarantee: epsilon has to be finite.")
    if campaign.method == "pairwise-rated":
        return (_values_card(campaign),)
    return tuple(_card(campaign, unit) for unit in UNITS)


def _card(campaign: Campaign, unit: str) -> Guarantee:
    bits = changed_bits(campaign, unit)
    epsilon = bits * bit_loss(campaign)
    return Guarantee(
        name=f"{campaign.method}, one report, unit: {unit}",
        sentence=(
            f"Anything that your device sends is at most {math.exp(epsilon):.4g} times as "
            "likely as "
            f"it would be {_otherwise(unit)}."
        ),
        protects=f"{_PROTECTS[unit]}, from anyone who reads what your device sends",
        adjacency=_ADJACENCY[unit],
        against=(
            "everyone who reads the report and knows the method, the questions and "
            "everything about others"
        ),
        trust=Trust.NOBODY,
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=0.0,
        lifetime=(
            "one report of one campaign, remembered and sent again unchanged; n campaigns cost the "
            "sum of theirs, and the device stops at its owner's limit"
        ),
        assumptions=_assumptions(campaign, bits),
        not_covered=(_NO_QUESTIONS, *_NOT_COVERED),
        sources=_SOURCES,
    )


def _otherwise(unit: str) -> str:
    return {
        "user": "if all your ratings were others",
        "rating": "with one rating of yours more or less",
        "moved rating": "if one rating of yours were for another item",
    }[unit]


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


def _values_card(campaign: Campaign) -> Guarantee:
    epsilon = bit_loss(campaign)
    return Guarantee(
        name="pairwise-rated, one report: values only",
        sentence=(
            "Which two items you are asked about shows that you rated them. Whether you like both "
            f"is protected: what is sent is at most {math.exp(epsilon):.4g} times as likely as it "
            "would be with other stars for the same items."
        ),
        protects="your stars, given which items you rated; NOT which items you rated",
        adjacency=Adjacency("rating", "replace"),
        against="everyone who reads the report and knows which items you rated",
        trust=Trust.NOBODY,
        basis=Basis.CONDITIONAL,
        epsilon=epsilon,
        delta=0.0,
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
        sources=_SOURCES,
    )


def stated_epsilon(campaign: Campaign) -> float:
    """Nats, as the campaign states them; at least what the card of its unit computes."""
    return campaign.epsilon / MICRO
