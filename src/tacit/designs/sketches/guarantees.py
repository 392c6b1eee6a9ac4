"""Guarantee cards of a report to a campaign.

There is one card for each unit. Methods that name a pair of rated items have a single card, for the
stars alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from tacit.accounting import PureAccountant
from tacit.accounting.events import RandomizedResponse
from tacit.designs.sketches.messages import UNITS, WHOLE, Campaign
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust, format_upper_bound

_SOURCES = (
    (
        "Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines "
        "(2012), Propositions 2.2 to 2.4"
    ),
    "Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy (2014)",
)
_UNITS = {
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
"""For each unit, the adjacency, what is protected, and in words how a neighbour differs."""
_LARGEST_EXPONENT = 700.0
"""Largest epsilon whose exponential is computed. e^709 is nearly the largest float."""
_make_card = partial(Guarantee, trust=Trust.NOBODY, delta=0.0, sources=_SOURCES)
"""Makes a card with the parts that all cards share."""
_QUESTIONS_NOT_COVERED = "the questions you were asked: they are public and do not depend on you"
"""Not covered by the cards of units."""
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
"""Not covered by any card."""
_PUBLIC_QUESTIONS = (
    "questions follow from public numbers and a ticket, which do not depend on ratings"
)
"""Assumption of the cards of units."""


def changed_bits(campaign: Campaign, unit: str) -> int:
    """Count the bits of a report that can differ between two histories that differ by a unit.

    If a device uses at most `likes_cap` likes, up to 2 `likes_cap` items are used as likes in only
    one of the two histories. One more like can also push out another one, so one rating can change
    two bits.

    Args:
        campaign: The campaign. Its own unit matters only because it determines `likes_cap`.
        unit: The unit by which the histories differ.
    """
    if not campaign.asks_about_sets:
        return campaign.questions
    changed_sets = {"user": campaign.questions, "rating": 1, "moved rating": 2}
    cap = campaign.likes_cap
    if cap is not None:
        changed_sets["user"] = 2 * cap
        changed_sets["rating"] = 2
    return min(campaign.questions, changed_sets[unit])


def bit_loss(campaign: Campaign) -> float:
    """Compute the exact epsilon of one released bit from `campaign.truth`; inf without noise."""
    if campaign.truth == WHOLE:
        return math.inf
    event = RandomizedResponse(2, float(Fraction(campaign.truth, WHOLE)))
    return PureAccountant().add(event).epsilon()


def cards(campaign: Campaign) -> tuple[Guarantee, ...]:
    """Make the guarantee cards of a campaign's report: one for each unit, in the order of UNITS.

    If the report names a pair of rated items, there is a single card, for the stars alone.

    Raises:
        ConfigError: The campaign has no noise.
    """
    if campaign.truth == WHOLE:
        raise ConfigError("Without noise there is no guarantee: epsilon has to be finite.")
    if campaign.names_pair:
        return (_card_of_stars(campaign),)
    return tuple(_card_of_unit(campaign, unit) for unit in UNITS)


def _card_of_unit(campaign: Campaign, unit: str) -> Guarantee:
    """Make the card of a report for one unit."""
    adjacency, protects, in_neighbour = _UNITS[unit]
    bits = changed_bits(campaign, unit)
    epsilon = bits * bit_loss(campaign)
    return _make_card(
        name=f"{campaign.method}, one report, unit: {unit}",
        sentence=(
            f"Any report that your device sends to this campaign is at most "
            f"{_format_factor(epsilon)} times as likely as it would be {in_neighbour}."
        ),
        protects=f"{protects}, from anyone who reads your report",
        adjacency=adjacency,
        against=(
            "everyone who reads the report, even if they know the method, the questions and "
            "everything about other people"
        ),
        basis=Basis.PROVED,
        epsilon=epsilon,
        lifetime=(
            "one report of one campaign, remembered and sent again unchanged; n campaigns cost the "
            "sum of their epsilons, and the device stops at its owner's limit"
        ),
        assumptions=(_PUBLIC_QUESTIONS, *_assumptions_on_answers(campaign, bits)),
        not_covered=(_QUESTIONS_NOT_COVERED, *_NOT_COVERED),
    )


def _card_of_stars(campaign: Campaign) -> Guarantee:
    """Make the card of a report that names a pair of rated items: it protects the stars alone."""
    epsilon = bit_loss(campaign)
    fact = "you rated both alike" if campaign.asks_identical else "you like both"
    return _make_card(
        name=f"{campaign.method}, one report: values only",
        sentence=(
            f"Which two items you are asked about shows that you rated them. Whether {fact} "
            f"is protected: your report is at most {_format_factor(epsilon)} times as likely as it "
            "would be with other stars for the same items."
        ),
        protects="your stars, given which items you rated; NOT which items you rated",
        adjacency=Adjacency("rating", "replace"),
        against="everyone who reads the report, even if they know which items you rated",
        basis=Basis.CONDITIONAL,
        epsilon=epsilon,
        lifetime=(
            "one report of one campaign; n campaigns cost the sum of theirs, and name up to n "
            "pairs of items you rated, until the device stops at its owner's limits"
        ),
        assumptions=(
            "which items you rated is public, or may become so",
            "the pair is chosen without looking at the stars",
            *_assumptions_on_answers(campaign, 1),
        ),
        not_covered=(
            (
                "which items you rated: the question depends on you, and the report names two of "
                "them without any protection"
            ),
            *_NOT_COVERED,
        ),
    )


def _format_factor(epsilon: float) -> str:
    """Format e^epsilon, rounded up; as a power of e if no float is so large."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e^{format_upper_bound(epsilon)}"
    return format_upper_bound(math.exp(epsilon), digits=4)


def _assumptions_on_answers(campaign: Campaign, bits: int) -> tuple[str, ...]:
    """List a card's assumptions on the likes that are used and on the noise of the answers.

    Args:
        campaign: The campaign.
        bits: Number of bits that can differ between neighbours.
    """
    assumptions = [
        f"of {campaign.questions} bits, each with its own noise, at most {bits} can change",
        (
            "noise from a secret of 32 bytes of the operating system's generator, by HMAC-SHA256: "
            "the statement holds against an adversary who cannot tell it from uniform randomness"
        ),
    ]
    if campaign.likes_cap is not None:
        assumptions.append(f"the device uses at most {campaign.likes_cap} of the items you like")
    if campaign.asks_about_sets:
        assumptions.append("the sensed sets of one report are disjoint")
    return tuple(assumptions)
