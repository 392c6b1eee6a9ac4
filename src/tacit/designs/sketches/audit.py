"""Every report that the shipped device can send from a small catalogue, with its exact chance.

Beside it bugs planted into campaigns and devices, each next to the correct code.

Sketches on the audit's bench: the shipped device, with noise from secrets of its own.

The exact loss is that of all neighbours on a catalogue of four items, at w = 1, 2 and 4 rated
items. Samples are of a larger one, and of the neighbours that its units stand for. Each sample is
another device with a new secret, so that questions differ as they do among people.
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

from tacit.auditing import bench
from tacit.auditing.bench import Chances, Pair, Subject, lines
from tacit.auditing.bugs import Bug, Enumerated
from tacit.auditing.claims import Bench
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
    campaign: Campaign, secret: bytes, likes: Likes, rated: Likes | None = None
) -> dict[Hashable, Fraction]:
    """Chances of each report, by running the device for every fall of its coins.

    rated: which items have stars; None for all of them.
    """
    history: dict[ItemId, float] = {
        item: _LIKED if like else _DISLIKED
        for item, like in enumerate(likes)
        if rated is None or rated[item]
    }
    truth = Fraction(campaign.truth, WHOLE)
    found: dict[Hashable, Fraction] = {}
    for lies in itertools.product((0, 1), repeat=campaign.questions):
        coins = [WHOLE - 1 if lie else 0 for lie in lies]
        device = Device(secret, {}, ANY, coin=coins.__getitem__)
        report = device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[report] = found.get(report, Fraction(0)) + chance
    return found


def worst(campaign: Campaign, unit: str) -> float:
    """The largest loss over all neighbours of a unit and over three secrets, hence questions."""
    if campaign.method == "pairwise-rated":
        return _worst_values(campaign)
    losses = [0.0]
    for secret in telling(campaign):
        shown = {likes: distribution(campaign, secret, likes) for likes in WORLDS}
        losses += [bench.loss(shown[one], shown[other]) for one, other in neighbours(unit)]
    return max(losses)


def _worst_values(campaign: Campaign) -> float:
    """Of the stars alone, for every set of at least two rated items, which is taken as public."""
    losses = [0.0]
    for rated in (world for world in WORLDS if sum(world) >= 2):
        shown = [distribution(campaign, _SECRETS[0], likes, rated) for likes in WORLDS]
        losses += [bench.loss(one, other) for one, other in itertools.combinations(shown, 2)]
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
    campaign = small("user", 1, 4, _EPSILON, method)
    return distribution(campaign, bytes(32), _ALL, rated)


def _answers_twice(likes: Likes, bug: bool) -> dict[Hashable, Fraction]:
    """A device that forgot its answer draws another one for the same campaign."""
    campaign = small("user", 1, 4, _EPSILON)
    truth = Fraction(campaign.truth, WHOLE)
    history: dict[ItemId, float] = {item: 5.0 if like else 1.0 for item, like in enumerate(likes)}
    secret = telling(campaign)[-1]
    found: dict[Hashable, Fraction] = {}
    for lies in itertools.product((0, 1), repeat=2):
        memory: Memory = {}
        sent = b""
        for lie in lies:
            coin = [WHOLE - 1 if lie else 0]  # of the only question
            device = Device(secret, {} if bug else memory, ANY, coin=coin.__getitem__)
            sent += device.report(campaign, range(ITEMS), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[sent] = found.get(sent, Fraction(0)) + chance
    return found


BUGS: tuple[Bug, ...] = (
    Enumerated("every bit at the full price", _every_bit_at_full_price, [(_ALL, _NONE)], _EPSILON),
    Enumerated("a pair of rated items", _pair_of_rated_items, [_RATED], _EPSILON),
    Enumerated("an answer forgotten and drawn again", _answers_twice, [(_ALL, _NONE)], _EPSILON),
)

SAMPLES = 10_000
_ITEMS, _THETA = 24, 22.0  # of all questions together: sets hold nearly the whole catalogue
_SAMPLED = (1, 2, 4)
_ADJACENCY = {
    "user": "any two histories",
    "rating": "one rating more or less",
    "moved rating": "for another item",
}
_NOT_ASKED = -1


def sensing(questions: int, epsilon: float, unit: str) -> Subject:
    """MaxSense where there is one question, and Multi-MaxSense."""
    asked: dict[str, Any] = {"questions": questions, "epsilon": epsilon, "unit": unit}
    theta, seed = _THETA / questions, bytes(16)
    campaign = new_campaign(range(_ITEMS), rated=_ITEMS, theta=theta, seed=seed, **asked)
    loss = max(worst(small(unit, questions, rated, epsilon), unit) for rated in _SAMPLED)
    make = {"user": _whole, "rating": _one_more, "moved rating": _moved}[unit]
    name = "maxsense" if questions == 1 else f"multi-maxsense, {questions} questions"
    return Subject(name, unit, _ADJACENCY[unit], epsilon, make(campaign, loss))


def random_pairs(questions: int, epsilon: float) -> Subject:
    """Pairwise-Preference about pairs that nobody chose."""
    method = "pairwise-preference"
    campaign = new_campaign(
        range(_ITEMS), rated=_ITEMS, questions=questions, epsilon=epsilon, method=method
    )
    loss = worst(small("user", questions, 4, epsilon, method), "user")
    name = f"{method}, {questions} question{'s' if questions > 1 else ''}"
    return Subject(name, "user", _ADJACENCY["user"], epsilon, _whole(campaign, loss))


def rated_pair(epsilon: float) -> Subject:
    """The pair that a device chooses among its rated items: the stars alone are protected."""
    campaign = new_campaign(
        range(_ITEMS), rated=2, questions=1, epsilon=epsilon, method="pairwise-rated"
    )
    loss = worst(small("user", 1, 4, epsilon, "pairwise-rated"), "user")
    return Subject(
        "pairwise-rated", "stars", "the same items rated", epsilon, _whole(campaign, loss)[:1]
    )


BENCH: tuple[Callable[[], Subject], ...] = (
    *(partial(sensing, questions, 1.0, "user") for questions in (1, 2, 3, 4)),
    partial(sensing, 3, 6.0, "user"),
    *(partial(sensing, questions, 1.0, "rating") for questions in (1, 4)),
    *(partial(sensing, questions, 1.0, "moved rating") for questions in (2, 4)),
    *(partial(random_pairs, questions, 1.0) for questions in (1, 2)),
    partial(rated_pair, 1.0),
)


def _whole(campaign: Campaign, loss: float) -> tuple[Pair, ...]:
    """A person who likes everything against one who likes nothing: every bit differs."""
    everything, dislikes = np.full(_ITEMS, 5.0), np.full(_ITEMS, 1.0)
    truth = campaign.truth / WHOLE
    ones = 2**campaign.questions - 1
    chances: tuple[Chances, Chances] = (
        {ones: truth**campaign.questions, 0: (1 - truth) ** campaign.questions},
        {ones: (1 - truth) ** campaign.questions, 0: truth**campaign.questions},
    )
    return (
        _pair("all liked, or none", campaign, everything, dislikes, loss, chances),
        _pair("all liked, or unrated", campaign, everything, 0 * dislikes, loss, chances, 4),
    )


def _one_more(campaign: Campaign, loss: float) -> tuple[Pair, ...]:
    """One item's like: seen in the answer about the set that holds the item, if there is one."""
    truth, asked = campaign.truth / WHOLE, campaign.asked_share
    seen: tuple[Chances, Chances] = (
        {1: asked * truth, 0: asked * (1 - truth)},
        {1: asked * (1 - truth), 0: asked * truth},
    )
    one, none = np.zeros(_ITEMS), np.zeros(_ITEMS)
    one[0] = 5.0
    disliked = one / 5
    about = partial(_answers, campaign, (0,))
    return (
        _pair("one like, or none", campaign, one, none, loss, seen, 1, about),
        _pair("liked, or disliked", campaign, one, disliked, loss, seen, 4, about),
    )


def _moved(campaign: Campaign, loss: float) -> tuple[Pair, ...]:
    """One like for another item: seen in two answers, if two sets hold the two."""
    truth, sets, size = campaign.truth / WHOLE, campaign.questions, campaign.set_size
    places = campaign.modulus
    # Two places of the wheel are any two, all equally likely.
    apart = sets * (sets - 1) * size**2 / (places * (places - 1))
    first, second = np.zeros(_ITEMS), np.zeros(_ITEMS)
    first[0], second[1] = 5.0, 5.0
    likely, rare = apart * truth**2, apart * (1 - truth) ** 2
    chances: tuple[Chances, Chances] = ({2: likely, 1: rare}, {2: rare, 1: likely})
    about = partial(_answers, campaign, (0, 1))
    return (_pair("one like, elsewhere", campaign, first, second, loss, chances, 1, about),)


def _answers(campaign: Campaign, items: tuple[int, ...], ticket: int, bits: int) -> int:
    """The answers about the sets that hold these items as one number, if they are different sets
    and none of the items is left out."""
    sets = sensed_sets(campaign, ticket)
    holding = [place for item in items for place, members in enumerate(sets) if item in members]
    if len(set(holding)) < len(items):
        return _NOT_ASKED
    return sum((bits >> place & 1) << (len(items) - 1 - at) for at, place in enumerate(holding))


def _pair(
    name: str,
    campaign: Campaign,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    loss: float,
    chances: tuple[Chances, Chances],
    share: int = 1,
    about: Callable[[int, int], int] | None = None,
) -> Pair:
    """a, b: stars by item, 0 for unrated ones. about: what to read in a ticket and its bits."""

    def call(stars: NDArray[Any], source: Source) -> int:
        secret = source.words(4).tobytes()
        history: dict[ItemId, float] = {
            item: float(star) for item, star in enumerate(stars) if star != 0
        }
        report = Device(secret, {}, ANY).report(campaign, range(_ITEMS), history)
        return report.bits if about is None else about(report.ticket, report.bits)

    return Pair(name, call, a, b, loss, chances, share=share, untapped=True)


def audit() -> Bench:
    """Every unit and method, through the code of the device."""
    return Bench(
        {"": lines(BENCH)},
        BUGS,
        SAMPLES,
        after="tacit guarantee sketches --epsilon 1  reads what a report promises.",
    )
