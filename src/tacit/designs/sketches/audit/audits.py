"""The shipped device in audits: samples of reports beside the losses that are enumerated.

Samples are of a larger catalogue than the enumeration, and of the neighbours that its units stand
for. Each sample is another device with a new secret, so that questions differ as they do among
people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditPlan
from tacit.auditing.exact_losses import Chances
from tacit.auditing.pairs import AuditedMechanism, Pair, claim_makers
from tacit.designs.sketches.audit.enumeration import (
    ANY,
    LIKED,
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
ITEMS = 24
THETA = 22.0
"""Of all questions together: sets hold nearly the whole catalogue."""
NOT_ASKED = -1
"""The feature of a report that was not asked about the items in question."""
ADJACENCIES = {
    "user": "any two histories",
    "rating": "one rating more or less",
    "moved rating": "for another item",
    "stars": "the same items rated",
}
"""By unit, how neighbours differ, in words."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two histories that differ as a unit says."""

    name: str
    """What differs."""
    first: Stars
    """(ITEMS,) stars of the one history, 0 where there is no rating."""
    second: Stars
    """(ITEMS,) stars of the other one."""
    share: int = 1
    """The pair gets 1 / share of the samples."""


def _stars(*items: int) -> Stars:
    """(ITEMS,) one star for these items and 0 for all others."""
    stars = np.zeros(ITEMS)
    stars[list(items)] = 1.0
    return stars


_ALL = np.ones(ITEMS)
_UNRATED = np.zeros(ITEMS)
NEIGHBOURS = {
    "user": (
        Neighbours("all liked, or none", LIKED * _ALL, _ALL),
        Neighbours("all liked, or unrated", LIKED * _ALL, _UNRATED, share=4),
    ),
    "rating": (
        Neighbours("one like, or none", LIKED * _stars(0), _UNRATED),
        Neighbours("liked, or disliked", LIKED * _stars(0), _stars(0), share=4),
    ),
    "moved rating": (Neighbours("one like, elsewhere", LIKED * _stars(0), LIKED * _stars(1)),),
    "stars": (Neighbours("all liked, or none", LIKED * _ALL, _ALL),),
}
"""By unit, for questions what a person likes."""
NEIGHBOURS_OF_IDENTICAL = {
    "user": (Neighbours("all liked, or unrated", LIKED * _ALL, _UNRATED),),
    "stars": (
        Neighbours("two liked, or one", LIKED * _stars(0, 1), LIKED * _stars(0) + _stars(1)),
    ),
}
"""By unit, for questions whether a pair is rated alike. A person who dislikes all items answers as
one who likes all, so other neighbours are compared."""


def audited_mechanism(
    questions: int, epsilon: float, unit: str = "user", method: str = "multi-maxsense"
) -> AuditedMechanism:
    """Make the audit of a method and a unit.

    Args:
        questions: Bits of a report.
        epsilon: Claimed for the unit.
        unit: Unit of the claim; 'stars': of the rated pair that a device chooses and names.
        method: Method of the campaign.
    """
    stated = "user" if unit == "stars" else unit
    campaign = new_campaign(
        range(ITEMS),
        rated=2 if unit == "stars" else ITEMS,
        theta=THETA / questions,
        questions=questions,
        epsilon=epsilon,
        unit=stated,
        method=method,
    )
    losses = []
    for rated in (1, 2, 4) if campaign.senses else (4,):
        small = small_campaign(stated, questions, rated, epsilon, method)
        losses.append(largest_loss(small, stated))
    name = "maxsense" if campaign.senses and questions == 1 else method
    if questions > 1:
        name = f"{name}, {questions} questions"
    compared = NEIGHBOURS_OF_IDENTICAL if campaign.asks_identical else NEIGHBOURS
    sampled = [_sampled_pair(campaign, unit, max(losses), pair) for pair in compared[unit]]
    return AuditedMechanism(name, unit, ADJACENCIES[unit], epsilon, tuple(sampled))


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
"""Every method and unit that is audited."""


@dataclass(frozen=True)
class _Feature:
    """Number that a report is read as, and its two telling values."""

    items: tuple[int, ...]
    """Items whose sets are looked at; all answers count where there are none."""
    bits: int
    """How many answers are read."""
    first: int
    """The value that is likely for the one neighbour."""
    second: int
    """The value that is likely for the other one."""
    asked: float
    """Chance that the answers are given at all."""


def _feature(campaign: Campaign, unit: str) -> _Feature:
    """Choose what is read of reports: everything, or the answers about one like or two."""
    if unit == "rating":
        return _Feature((0,), 1, 1, 0, campaign.asked_share)
    if unit == "moved rating":
        # Two places of the wheel are any two, all equally likely.
        questions = campaign.questions
        places = campaign.modulus
        ordered = questions * (questions - 1) * campaign.set_size**2
        return _Feature((0, 1), 2, 0b10, 0b01, ordered / (places * (places - 1)))
    return _Feature((), campaign.questions, 2**campaign.questions - 1, 0, 1.0)


def _sampled_pair(campaign: Campaign, unit: str, loss: float, neighbours: Neighbours) -> Pair:
    """Make a pair to sample, with the exact chances of the two feature values that differ most."""
    truth = campaign.truth / WHOLE
    feature = _feature(campaign, unit)
    likely = feature.asked * truth**feature.bits
    rare = feature.asked * (1 - truth) ** feature.bits
    chances: tuple[Chances, Chances] = (
        {feature.first: likely, feature.second: rare},
        {feature.first: rare, feature.second: likely},
    )

    def release(stars: NDArray[Any], source: Source) -> int:
        history: dict[ItemId, float] = {}
        for item, star in enumerate(stars):
            if star != 0:
                history[item] = float(star)
        device = Device(source.words(4).tobytes(), {}, ANY)
        report = device.report(campaign, range(ITEMS), history)
        if not feature.items:
            return report.bits
        return read_answers(campaign, feature.items, report.ticket, report.bits)

    first = neighbours.first
    second = neighbours.second
    share = neighbours.share
    return Pair(neighbours.name, release, first, second, loss, chances, share=share, own_noise=True)


def read_answers(campaign: Campaign, items: tuple[int, ...], ticket: int, bits: int) -> int:
    """Read the answers about the sets that hold these items, the first item's bit leading.

    NOT_ASKED where an item is in no set, or two are in the same.
    """
    places = []
    for item in items:
        for place, members in enumerate(sensed_sets(campaign, ticket)):
            if item in members:
                places.append(place)
    if len(set(places)) < len(items):
        return NOT_ASKED
    answers = 0
    for place in places:
        answers = answers << 1 | bits >> place & 1
    return answers


def audit_plan() -> AuditPlan:
    """Plan the audit of every unit and method, through the code of the device."""
    return AuditPlan(
        {"": claim_makers(MECHANISMS)},
        BUGS,
        SAMPLES,
        next_step="tacit guarantee sketches --epsilon 1  reads what a report promises.",
    )
