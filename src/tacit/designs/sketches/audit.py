"""The shipped device on the audit's bench, and bugs planted into campaigns and devices.

Every report that the device can send from a catalogue of four items is enumerated with its exact
chance: the loss is that of all neighbours, at w = 1, 2 and 4 rated items. Samples are of a larger
catalogue, and of the neighbours that its units stand for. Each sample is another device with a new
secret, so that questions differ as they do among people.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import exact_losses
from tacit.auditing.bugs import EnumeratedBug
from tacit.auditing.claims import AuditPlan, Bug
from tacit.auditing.exact_losses import Chances
from tacit.auditing.pairs import AuditedMechanism, Pair, claim_makers
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, Limits, Memory
from tacit.designs.sketches.messages import UNITS, WHOLE, Campaign, ItemId
from tacit.designs.sketches.sensing import pairs, sensed_sets
from tacit.randomness import Source

ITEMS = 4  # five places on the wheel, so up to five sets of one place
ANY = Limits(epsilon=1e3, lifetime=1e6, units=UNITS, rated_pairs=True)
Likes = tuple[int, ...]
WORLDS: tuple[Likes, ...] = tuple(itertools.product((0, 1), repeat=ITEMS))
_SECRETS = [bytes([number]) * 32 for number in range(40)]
_LIKED, _DISLIKED = 5.0, 1.0


def small(
    unit: str, questions: int, rated: int, epsilon: float, method: str = "multi-maxsense"
) -> Campaign:
    """A campaign about four items, with sets of one place each."""
    return new_campaign(
        range(ITEMS),
        rated=rated,
        theta=rated / 5,
        questions=questions,
        epsilon=epsilon,
        unit=unit,
        method=method,
        seed=bytes(16),
    )


def neighbours(unit: str) -> Iterator[tuple[Likes, Likes]]:
    """Pairs of like-vectors that differ as the unit says, each once."""
    for one, other in itertools.combinations(WORLDS, 2):
        differing = sum(a != b for a, b in zip(one, other, strict=True))
        moved = differing == 2 and sum(one) == sum(other)
        if unit == "user" or (differing == 1 if unit == "rating" else moved):
            yield one, other


def distribution(
    campaign: Campaign,
    secret: bytes,
    likes: Likes,
    rated: Likes | None = None,
    *,
    times: int = 1,
    forgets: bool = False,
) -> dict[Hashable, Fraction]:
    """Chances of all that is sent, by running the device for every fall of its coins.

    rated: which items have stars; None for all of them. times: how often it is asked. forgets: as
    a device that has lost its memory in between.
    """
    history: dict[ItemId, float] = {
        item: _LIKED if like else _DISLIKED
        for item, like in enumerate(likes)
        if rated is None or rated[item]
    }
    truth, questions = Fraction(campaign.truth, WHOLE), campaign.questions
    found: dict[Hashable, Fraction] = {}
    for lies in itertools.product((0, 1), repeat=questions * times):
        memory: Memory = {}
        sent = b""
        for time in range(times):
            coins = [WHOLE - 1 if lie else 0 for lie in lies[time * questions :][:questions]]
            device = Device(secret, {} if forgets else memory, ANY, coin=coins.__getitem__)
            sent += device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[sent] = found.get(sent, Fraction(0)) + chance
    return found


def worst(campaign: Campaign, unit: str) -> float:
    """The largest loss over all neighbours of a unit and over three secrets, hence questions; of
    pairs of rated items that of the stars alone, for every public set of two or more of them."""
    losses = [0.0]
    if campaign.names_pair:
        for rated in (world for world in WORLDS if sum(world) >= 2):
            shown = [distribution(campaign, _SECRETS[0], likes, rated) for likes in WORLDS]
            losses += [
                exact_losses.exact_loss(one, other)
                for one, other in itertools.combinations(shown, 2)
            ]
        return max(losses)
    for secret in telling(campaign):
        by_likes = {likes: distribution(campaign, secret, likes) for likes in WORLDS}
        losses += [
            exact_losses.exact_loss(by_likes[one], by_likes[other])
            for one, other in neighbours(unit)
        ]
    return max(losses)


def telling(campaign: Campaign) -> list[bytes]:
    """Three secrets, one of them asked about as many items as anybody can be."""

    def asked(secret: bytes) -> int:
        ticket = Device(secret, {}, ANY).report(campaign, range(ITEMS), {}).ticket
        if campaign.senses:
            return sum(map(bool, sensed_sets(campaign, ticket)))
        return len({item for pair in pairs(campaign, ticket) for item in pair})

    return [_SECRETS[0], _SECRETS[1], max(_SECRETS, key=asked)]


_EPSILON = 1.0
_ALL, _NONE = WORLDS[-1], WORLDS[0]
_RATED = ((1, 1, 0, 0), (0, 0, 1, 1))


def _every_bit_at_full_price(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """Three bits that each cost epsilon, though one person's whole history moves all three."""
    campaign = small("rating" if bug else "user", 3, 4, _EPSILON)
    return distribution(campaign, telling(campaign)[-1], likes)


def _pair_of_rated_items(rated: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """The device chooses the pair by what was rated, and claims to protect that, too."""
    method = "pairwise-rated" if bug else "pairwise-preference"
    return distribution(small("user", 1, 4, _EPSILON, method), bytes(32), _ALL, rated)


def _answers_twice(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """A device that forgot its answer draws another one for the same campaign."""
    campaign = small("user", 1, 4, _EPSILON)
    return distribution(campaign, telling(campaign)[-1], likes, times=2, forgets=bug)


BUGS: tuple[Bug, ...] = (
    EnumeratedBug(
        "every bit at the full price", _every_bit_at_full_price, [(_ALL, _NONE)], _EPSILON
    ),
    EnumeratedBug("a pair of rated items", _pair_of_rated_items, [_RATED], _EPSILON),
    EnumeratedBug("an answer forgotten and drawn again", _answers_twice, [(_ALL, _NONE)], _EPSILON),
)

SAMPLES = 10_000
_ITEMS, _THETA = 24, 22.0  # of all questions together: sets hold nearly the whole catalogue
_ADJACENCY = {
    "user": "any two histories",
    "rating": "one rating more or less",
    "moved rating": "for another item",
    "stars": "the same items rated",
}
_NOT_ASKED = -1
_EVERYTHING, _FIRST, _SECOND = np.ones(_ITEMS), np.zeros(_ITEMS), np.zeros(_ITEMS)
_FIRST[0] = _SECOND[1] = 1.0
_COMPARED: dict[str, tuple[tuple[str, NDArray[Any], NDArray[Any], int], ...]] = {
    "user": (
        ("all liked, or none", _LIKED * _EVERYTHING, _EVERYTHING, 1),
        ("all liked, or unrated", _LIKED * _EVERYTHING, 0 * _EVERYTHING, 4),
    ),
    "rating": (
        ("one like, or none", _LIKED * _FIRST, 0 * _FIRST, 1),
        ("liked, or disliked", _LIKED * _FIRST, _FIRST, 4),
    ),
    "moved rating": (("one like, elsewhere", _LIKED * _FIRST, _LIKED * _SECOND, 1),),
    "stars": (("all liked, or none", _LIKED * _EVERYTHING, _EVERYTHING, 1),),
}
"""By unit: stars of two neighbours by item, 0: unrated; and how many times fewer samples."""
_COMPARED_IDENTICAL: dict[str, tuple[tuple[str, NDArray[Any], NDArray[Any], int], ...]] = {
    "user": (("all liked, or unrated", _LIKED * _EVERYTHING, 0 * _EVERYTHING, 1),),
    "stars": (("two liked, or one", _LIKED * (_FIRST + _SECOND), _LIKED * _FIRST + _SECOND, 1),),
}
"""The same for questions whether a pair is rated alike: who dislikes all answers as who likes all.
"""


def subject(
    questions: int, epsilon: float, unit: str = "user", method: str = "multi-maxsense"
) -> AuditedMechanism:
    """A method and a unit; 'stars' are those of the pair that a device chooses itself."""
    senses, stated = method == "multi-maxsense", "user" if unit == "stars" else unit
    campaign = new_campaign(
        range(_ITEMS),
        rated=2 if unit == "stars" else _ITEMS,
        theta=_THETA / questions,
        questions=questions,
        epsilon=epsilon,
        unit=stated,
        method=method,
    )
    loss = max(
        worst(small(stated, questions, rated, epsilon, method), stated)
        for rated in ((1, 2, 4) if senses else (4,))
    )
    shown = "maxsense" if senses and questions == 1 else method
    name = f"{shown}, {questions} questions" if questions > 1 else shown
    compared = _COMPARED_IDENTICAL if campaign.asks_identical else _COMPARED
    made = [_pair(campaign, unit, loss, *each) for each in compared[unit]]
    return AuditedMechanism(name, unit, _ADJACENCY[unit], epsilon, tuple(made))


BENCH: tuple[Callable[[], AuditedMechanism], ...] = (
    *(partial(subject, questions, 1.0) for questions in (1, 4)),
    partial(subject, 3, 6.0),
    partial(subject, 4, 1.0, "rating"),
    partial(subject, 4, 1.0, "moved rating"),
    partial(subject, 2, 1.0, method="pairwise-preference"),
    partial(subject, 1, 1.0, "stars", "pairwise-rated"),
    partial(subject, 2, 1.0, method="pairwise-identical"),
    partial(subject, 1, 1.0, "stars", "pairwise-rated-identical"),
)


def _pair(
    campaign: Campaign,
    unit: str,
    loss: float,
    name: str,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    share: int,
) -> Pair:
    """Everything differs: all bits are read. One like differs: seen in the answer about the set
    that holds its item; or in two, if different sets hold the two items."""
    truth, places, size = campaign.truth / WHOLE, campaign.modulus, campaign.set_size
    items: tuple[int, ...] = ()
    if unit == "rating":
        items, bits, yes, no, asked = (0,), 1, 1, 0, campaign.asked_share
    elif unit == "moved rating":
        # Two places of the wheel are any two, all equally likely.
        apart = campaign.questions * (campaign.questions - 1) * size**2 / (places * (places - 1))
        items, bits, yes, no, asked = (0, 1), 2, 0b10, 0b01, apart
    else:
        bits = campaign.questions
        yes, no, asked = 2**bits - 1, 0, 1.0
    likely, rare = asked * truth**bits, asked * (1 - truth) ** bits
    chances: tuple[Chances, Chances] = ({yes: likely, no: rare}, {yes: rare, no: likely})

    def call(stars: NDArray[Any], source: Source) -> int:
        history: dict[ItemId, float] = {
            item: float(star) for item, star in enumerate(stars) if star != 0
        }
        device = Device(source.words(4).tobytes(), {}, ANY)
        report = device.report(campaign, range(_ITEMS), history)
        return _answers(campaign, items, report.ticket, report.bits) if items else report.bits

    return Pair(name, call, a, b, loss, chances, share=share, own_noise=True)


def _answers(campaign: Campaign, items: tuple[int, ...], ticket: int, bits: int) -> int:
    """The answers about the sets that hold these items as one number, if they are different sets
    and none of the items is left out."""
    sets = sensed_sets(campaign, ticket)
    holding = [place for item in items for place, members in enumerate(sets) if item in members]
    if len(set(holding)) < len(items):
        return _NOT_ASKED
    return sum((bits >> place & 1) << (len(items) - 1 - at) for at, place in enumerate(holding))


def audit() -> AuditPlan:
    """Every unit and method, through the code of the device."""
    return AuditPlan(
        {"": claim_makers(BENCH)},
        BUGS,
        SAMPLES,
        after="tacit guarantee sketches --epsilon 1  reads what a report promises.",
    )
