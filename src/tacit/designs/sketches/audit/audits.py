"""Audit of the shipped device: sampled reports are compared with the enumerated losses.

Samples are drawn on a larger catalogue than the enumeration has, for neighbouring histories of each
unit. Each sample is the report of a new device with a new secret, so that questions differ as they
do between people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditPlan
from tacit.auditing.exact_losses import Chances
from tacit.auditing.pairs import AuditedMechanism, Pair, claim_makers
from tacit.designs.sketches.audit.enumeration import (
    DISLIKED,
    LIKED,
    NO_LIMITS,
    largest_loss,
    small_campaign,
)
from tacit.designs.sketches.audit.planted_bugs import BUGS
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device
from tacit.designs.sketches.messages import WHOLE, Campaign, ItemId
from tacit.designs.sketches.sensing import sensed_sets
from tacit.randomness import Source

Stars = NDArray[np.float64]
SAMPLES = 10_000
"""Default number of sampled reports of each neighbour."""
ITEMS = 24
"""Number of items of the sampled catalogue."""
THETA = 22.0
"""Expected number of rated items in all sets of a report together: nearly all of the catalogue."""
NOT_ASKED = -1
"""Result of `read_answers` for a report that does not ask about each of the items separately."""
ADJACENCIES = {
    "user": "any two histories",
    "rating": "one rating more or less",
    "moved rating": "for another item",
    "stars": "the same items rated",
}
"""For each unit, how neighbours differ, in words."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two neighbouring histories for a unit."""

    name: str
    """How they differ."""
    first: Stars
    """(ITEMS,) stars of the first history, 0 for items that are not rated."""
    second: Stars
    """(ITEMS,) stars of the second history."""
    sample_divisor: int = 1
    """Only 1 / sample_divisor of the usual number of samples is drawn for this pair."""


def _make_history(*, liked: Sequence[int] = (), disliked: Sequence[int] = ()) -> Stars:
    """Make the stars of a history with these liked and disliked items: (ITEMS,)."""
    stars = np.zeros(ITEMS)
    stars[list(liked)] = LIKED
    stars[list(disliked)] = DISLIKED
    return stars


_ALL_LIKED = _make_history(liked=range(ITEMS))
_ALL_DISLIKED = _make_history(disliked=range(ITEMS))
_UNRATED = _make_history()
_FIRST_LIKED = _make_history(liked=[0])
_SECOND_LIKED = _make_history(liked=[1])
NEIGHBOURS = {
    "user": (
        Neighbours("all liked, or none", _ALL_LIKED, _ALL_DISLIKED),
        Neighbours("all liked, or unrated", _ALL_LIKED, _UNRATED, sample_divisor=4),
    ),
    "rating": (
        Neighbours("one like, or none", _FIRST_LIKED, _UNRATED),
        Neighbours(
            "liked, or disliked", _FIRST_LIKED, _make_history(disliked=[0]), sample_divisor=4
        ),
    ),
    "moved rating": (Neighbours("one like, elsewhere", _FIRST_LIKED, _SECOND_LIKED),),
    "stars": (Neighbours("all liked, or none", _ALL_LIKED, _ALL_DISLIKED),),
}
"""Sampled neighbours of each unit, for questions about what a person likes."""
NEIGHBOURS_OF_IDENTICAL = {
    "user": (Neighbours("all liked, or unrated", _ALL_LIKED, _UNRATED),),
    "stars": (
        Neighbours(
            "two liked, or one",
            _make_history(liked=[0, 1]),
            _make_history(liked=[0], disliked=[1]),
        ),
    ),
}
"""Sampled neighbours of each unit, for questions whether a pair is rated alike. A person who
dislikes all items gives the same answers as one who likes all, so other neighbours are compared."""


def audited_mechanism(
    questions: int, epsilon: float, unit: str = "user", method: str = "multi-maxsense"
) -> AuditedMechanism:
    """Make the mechanism to audit: a method's report, with the claim for a unit.

    Args:
        questions: Number of questions of the campaign.
        epsilon: Claimed epsilon for the unit.
        unit: Unit of the claim; 'stars' for the stars of the rated pair that a device names.
        method: Method of the campaign.
    """
    # The message of a campaign has no unit 'stars'.
    campaign_unit = "user" if unit == "stars" else unit
    campaign = new_campaign(
        range(ITEMS),
        rated=2 if unit == "stars" else ITEMS,
        theta=THETA / questions,
        questions=questions,
        epsilon=epsilon,
        unit=campaign_unit,
        method=method,
    )
    losses = []
    # For sets the loss depends on the assumed number of rated items, which caps the likes.
    for rated in (1, 2, 4) if campaign.asks_about_sets else (4,):
        small = small_campaign(campaign_unit, questions, rated, epsilon, method)
        losses.append(largest_loss(small, campaign_unit))
    name = "maxsense" if campaign.asks_about_sets and questions == 1 else method
    if questions > 1:
        name = f"{name}, {questions} questions"
    by_unit = NEIGHBOURS_OF_IDENTICAL if campaign.asks_identical else NEIGHBOURS
    pairs = [_sampled_pair(campaign, unit, max(losses), neighbours) for neighbours in by_unit[unit]]
    return AuditedMechanism(name, unit, ADJACENCIES[unit], epsilon, tuple(pairs))


MECHANISMS: tuple[Callable[[], AuditedMechanism], ...] = (
    partial(audited_mechanism, 1, 1.0),
    partial(audited_mechanism, 4, 1.0),
    partial(audited_mechanism, 3, 6.0),
    partial(audited_mechanism, 4, 1.0, "rating"),
    partial(audited_mechanism, 4, 1.0, "moved rating"),
    partial(audited_mechanism, 2, 1.0, method="pairwise-preference"),
    partial(audited_mechanism, 1, 1.0, "stars", "pairwise-rated"),
    partial(audited_mechanism, 2, 1.0, method="pairwise-identical"),
    partial(audited_mechanism, 1, 1.0, "stars", "pairwise-rated-identical"),
)
"""The audited combinations of method, number of questions, epsilon and unit."""


@dataclass(frozen=True)
class _Feature:
    """The answers of a report that are read as one number, and the number's likeliest values."""

    items: tuple[int, ...]
    """The answers about the sets with these items are read; empty: all answers."""
    bits: int
    """Number of answers that are read."""
    first_value: int
    """The likeliest number for the first neighbour."""
    second_value: int
    """The likeliest number for the second neighbour."""
    asked_chance: float
    """Chance that each of `items` is asked about in a question of its own; 1 if there are none."""


def _choose_feature(campaign: Campaign, unit: str) -> _Feature:
    """Choose the answers that are read: all of them, or those about the items that differ."""
    if unit == "rating":
        return _Feature(
            items=(0,), bits=1, first_value=1, second_value=0, asked_chance=campaign.asked_share
        )
    if unit == "moved rating":
        # All pairs of different places of the wheel (`sensing.py`) are equally likely for the two.
        questions = campaign.questions
        places = campaign.modulus
        places_in_two_sets = questions * (questions - 1) * campaign.set_size**2
        return _Feature(
            items=(0, 1),
            bits=2,
            first_value=0b10,
            second_value=0b01,
            asked_chance=places_in_two_sets / (places * (places - 1)),
        )
    all_ones = 2**campaign.questions - 1
    return _Feature(
        items=(), bits=campaign.questions, first_value=all_ones, second_value=0, asked_chance=1.0
    )


def _sampled_pair(campaign: Campaign, unit: str, loss: float, neighbours: Neighbours) -> Pair:
    """Make a pair of neighbours to sample, with the exact chances of the feature's two values.

    Args:
        campaign: The campaign that devices answer.
        unit: Unit of the claim.
        loss: The enumerated loss of a report.
        neighbours: The two histories.
    """
    truth = campaign.truth / WHOLE
    feature = _choose_feature(campaign, unit)
    likely = feature.asked_chance * truth**feature.bits
    rare = feature.asked_chance * (1 - truth) ** feature.bits
    chances: tuple[Chances, Chances] = (
        {feature.first_value: likely, feature.second_value: rare},
        {feature.first_value: rare, feature.second_value: likely},
    )

    def release(stars: NDArray[Any], source: Source) -> int:
        """Return the number that is read from the report of a new device with this history."""
        history: dict[ItemId, float] = {}
        for item, star in enumerate(stars):
            if star != 0:
                history[item] = float(star)
        device = Device(source.words(4).tobytes(), {}, NO_LIMITS)
        report = device.report(campaign, range(ITEMS), history)
        if not feature.items:
            return report.bits
        return read_answers(campaign, feature.items, report.ticket, report.bits)

    return Pair(
        neighbours.name,
        release,
        neighbours.first,
        neighbours.second,
        loss,
        chances,
        sample_divisor=neighbours.sample_divisor,
        draws_its_own_noise=True,
    )


def read_answers(campaign: Campaign, items: tuple[int, ...], ticket: int, bits: int) -> int:
    """Read the answers about the sets with these items as a binary number.

    The answer about the first item's set is the highest bit.

    Returns:
        The number; NOT_ASKED if an item is in no set, or two items are in the same set.
    """
    questions = []
    for item in items:
        for question, members in enumerate(sensed_sets(campaign, ticket)):
            if item in members:
                questions.append(question)
    if len(set(questions)) < len(items):
        return NOT_ASKED
    answers = 0
    for question in questions:
        answer = (bits >> question) & 1
        answers = (answers << 1) | answer
    return answers


def audit_plan() -> AuditPlan:
    """Plan the audit of every unit and method, through the code of the device."""
    return AuditPlan(
        {"": claim_makers(MECHANISMS)},
        BUGS,
        SAMPLES,
        next_step="tacit guarantee sketches --epsilon 1  prints what a report promises.",
    )
