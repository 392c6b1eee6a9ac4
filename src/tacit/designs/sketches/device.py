"""The device half of the sketches.

Source      Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
            (2012), Figures 1 to 3.
Runs at     the person's own device.
Sees        the person's true stars, and the recommender's public campaign and clusters.
Releases    a few bits per campaign, each flipped with a stated chance, once.
Guarantee   epsilon-local differential privacy of one report for the campaign's unit, whatever the
            recommender asks and knows. Noise is made from a secret of 32 random bytes: that is as
            good as HMAC-SHA256 is hard to tell from chance.
Deviations  sensed sets are drawn without replacement also in MaxSense; under unit 'user' a device
            uses at most `rated` liked items.

Standard library only, and short enough to read in one sitting: this is the code people must trust.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from tacit.designs.sketches.messages import (
    MICRO,
    NO_NOISE,
    RATED_REPORT_BYTES,
    UNITS,
    WHOLE,
    Campaign,
    Clusters,
    ItemId,
    Report,
    catalogue_digest,
    micros,
)
from tacit.designs.sketches.sensing import pairs, sensed_sets

Memory = MutableMapping[str, tuple[int, bytes]]
"""For each campaign digest in hex, the epsilon that was spent, in millionths, and the bytes that
were sent. It holds nothing that the recommender has not got. Keep it with the secret. A campaign
that differs in anything, be it seed or closing time, is another one, answered anew and paid for.
Two devices of one account that do not share a memory each spend the whole lifetime. Devices that
share one must take turns: what two of them do at the same moment is not held against the limits
together."""

Coin = Callable[[int], int]
"""Draws a uniform integer in [0, 2^53) for a question's number."""

_STATED_FOR = {
    "user": "everything you rated",
    "rating": "one rating more or less",
    "moved rating": "one rating given to another item",
}
_STARS_ALONE = "your stars for these two items, and NOT for which items you rated"


class RefusalError(ValueError):
    """Refusal of a device to take part: too much was asked of it."""


@dataclass(frozen=True)
class Limits:
    """Limits that the owner sets, whatever a campaign says.

    Raises:
        ValueError: A value would be no limit by mistake.
    """

    epsilon: float = 1.0
    """Nats for one campaign."""
    lifetime: float = 4.0
    """Nats for all campaigns together."""
    units: tuple[str, ...] = ("user",)
    """What epsilon may be stated for."""
    rated_pairs: bool = False
    """Whether a campaign may ask about pairs of rated items, which tells that they were rated."""
    most_rated_pairs: int = 3
    """How many such pairs are named in all; they cost what no epsilon counts, so `lifetime` does
    not bound them."""

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("lifetime", self.lifetime)):
            # A limit that is not a number would refuse nothing: no number is above it.
            if type(value) is bool or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"the limit {name} is a number of nats from 0 up; got {value!r}")
        # In a text, `in` finds parts: 'rating' is within 'moved rating'.
        if type(self.units) is not tuple or not set(self.units) <= set(UNITS):
            raise ValueError(f"units is a tuple of {', '.join(UNITS)}; got {self.units!r}")
        if type(self.rated_pairs) is not bool:
            raise ValueError(f"rated_pairs is True or False; got {self.rated_pairs!r}")
        if type(self.most_rated_pairs) is not int or self.most_rated_pairs < 0:
            raise ValueError(f"most_rated_pairs counts from 0 up; got {self.most_rated_pairs!r}")


def new_secret() -> bytes:
    """Draw 32 bytes from the operating system: make one per account and never show it."""
    return secrets.token_bytes(32)


class Device:
    """One person's device: it answers campaigns within its owner's limits, and makes lists."""

    def __init__(
        self, secret: bytes, memory: Memory, limits: Limits | None = None, coin: Coin | None = None
    ) -> None:
        """Set up a device.

        Args:
            secret: The account's; two devices with it and the same stars send the same bytes.
            memory: What was sent before; keep it.
            limits: The owner's; by default those of `Limits`.
            coin: For tests, in the place of the secret's noise.

        Raises:
            ValueError: The secret has fewer than 32 bytes.
        """
        if len(secret) < 32:
            raise ValueError("a secret has at least 32 bytes: make one with new_secret()")
        self._secret = secret
        self._memory = memory
        self._limits = Limits() if limits is None else limits
        self._coin = coin
        self._answering = threading.Lock()
        self._most_once = _whole_micros(self._limits.epsilon)
        self._most_ever = _whole_micros(self._limits.lifetime)

    def report(
        self, campaign: Campaign, catalogue: Sequence[ItemId], history: Mapping[ItemId, float]
    ) -> Report:
        """Answer a campaign: by what was sent before, or else by what is drawn now and remembered.

        Args:
            campaign: The question.
            catalogue: Item ids in the campaign's order.
            history: Item to stars; unknown items stay out.

        Raises:
            RefusalError: The campaign is beyond the limits. It is never answered in part.
        """
        name = campaign.digest.hex()
        with self._answering:  # two campaigns at once must not both find room in the lifetime
            earlier = self._memory.get(name)
            if earlier is not None:
                return Report.decode(earlier[1])
            self._check(campaign, catalogue)
            ticket = int.from_bytes(self._random("ticket", campaign)[:8], "big")
            report = self._answer(campaign, catalogue, history, ticket)
            # Remembered before it is sent: a crash in between must not lead to a second draw.
            self._memory[name] = (campaign.epsilon, report.encode())
            return report

    def recommend(
        self,
        clusters: Clusters,
        catalogue: Sequence[ItemId],
        history: Mapping[ItemId, float],
        *,
        liked_from: float,
        n: int = 10,
    ) -> list[ItemId]:
        """List the n best items that the owner has not rated. Nothing is sent.

        An item's cluster counts first, by the share of its rated items that the owner liked (one
        like and one dislike added), then its score.

        Args:
            clusters: What was learned.
            catalogue: Item ids in the campaign's order.
            history: Item to stars.
            liked_from: Stars from which on an item is liked.
            n: Length of the list.

        Raises:
            ValueError: The clusters are of another catalogue.
        """
        fits = len(catalogue) == len(clusters.labels)
        if not fits or catalogue_digest(catalogue) != clusters.catalogue:
            raise ValueError("these clusters are of another list of items")
        liked = [1] * 256
        rated = [2] * 256
        for item, label in zip(catalogue, clusters.labels, strict=True):
            if item in history:
                rated[label] += 1
                liked[label] += history[item] >= liked_from
        unseen = [number for number, item in enumerate(catalogue) if item not in history]
        unseen.sort(
            key=lambda number: (
                -liked[clusters.labels[number]] / rated[clusters.labels[number]],
                -clusters.scores[number],
                number,
            )
        )
        return [catalogue[number] for number in unseen[:n]]

    def _check(self, campaign: Campaign, catalogue: Sequence[ItemId]) -> None:
        limits = self._limits
        spent = sum(epsilon for epsilon, _ in self._memory.values())
        if campaign.epsilon == NO_NOISE:
            raise RefusalError("this campaign asks for answers without noise")
        if not campaign.epsilon <= self._most_once:
            raise RefusalError(
                f"this campaign asks for epsilon {campaign.epsilon / MICRO:.10g}; this device "
                f"gives at most {limits.epsilon:.10g} in one campaign"
            )
        if not spent + campaign.epsilon <= self._most_ever:
            raise RefusalError(
                "with this campaign, epsilon adds up to "
                f"{(spent + campaign.epsilon) / MICRO:.10g}; this device gives "
                f"{limits.lifetime:.10g} in all"
            )
        if campaign.unit not in limits.units:
            raise RefusalError(f"this campaign protects a {campaign.unit} only")
        if campaign.names_pair:
            self._check_rated_pairs()
        if len(catalogue) != campaign.items or catalogue_digest(catalogue) != campaign.catalogue:
            raise RefusalError("this campaign was made for another list of items")
        # Twice the same item could lie in two sets, and one rating then change two bits.
        if len(set(catalogue)) != len(catalogue):
            raise RefusalError("this campaign's list names an item twice")

    def _check_rated_pairs(self) -> None:
        if not self._limits.rated_pairs:
            raise RefusalError(
                "this campaign asks about items that its owner rated, which shows them"
            )
        named = sum(len(sent) == RATED_REPORT_BYTES for _, sent in self._memory.values())
        if not named < self._limits.most_rated_pairs:
            raise RefusalError(
                f"this device has named {named} pairs of items that its owner rated; it names at "
                f"most {self._limits.most_rated_pairs} in all"
            )

    def _answer(
        self,
        campaign: Campaign,
        catalogue: Sequence[ItemId],
        history: Mapping[ItemId, float],
        ticket: int,
    ) -> Report:
        rated = {number for number, item in enumerate(catalogue) if item in history}
        liked = {
            number for number in rated if history[catalogue[number]] * 1000 >= campaign.liked_from
        }
        pair = None
        if campaign.senses:
            liked = self._cap_likes(campaign, liked)
            true_bits = [not liked.isdisjoint(items) for items in sensed_sets(campaign, ticket)]
        else:
            if campaign.names_pair:
                pair = self._choose_rated_pair(campaign, rated)
                questions = [pair]
            else:
                questions = pairs(campaign, ticket)
            disliked = rated - liked
            true_bits = []
            for items in questions:
                identical = campaign.asks_identical and disliked.issuperset(items)
                true_bits.append(liked.issuperset(items) or identical)
        bits = 0
        for question, bit in enumerate(true_bits):
            bits |= self._release_bit(campaign, question, bit) << question
        return Report(campaign.id, ticket, bits, pair)

    def _cap_likes(self, campaign: Campaign, liked: set[int]) -> set[int]:
        """Keep at most as many likes as epsilon is calibrated for, chosen by the secret."""
        cap = campaign.likes_cap
        if cap is None or len(liked) <= cap:
            return liked
        return set(self._choose_items(campaign, liked, cap))

    def _choose_rated_pair(self, campaign: Campaign, rated: set[int]) -> tuple[int, int]:
        """Choose two rated items by the secret, without looking at the stars."""
        if len(rated) < 2:
            raise RefusalError("this campaign needs an owner who rated two of its items")
        one, other = sorted(self._choose_items(campaign, rated, 2))
        return one, other

    def _choose_items(self, campaign: Campaign, items: set[int], count: int) -> list[int]:
        return sorted(items, key=lambda item: self._random(f"use {item}", campaign))[:count]

    def _release_bit(self, campaign: Campaign, question: int, bit: bool) -> bool:
        """Release a bit: itself with chance truth / 2^53, else the other one.

        The noise depends on the true bit: where memory is lost and the bit has changed, it is drawn
        afresh, and what went out before does not show by how much.
        """
        if self._coin is not None:
            coin = self._coin(question)
        else:
            word = self._random(f"coin {question} {int(bit)}", campaign)
            coin = int.from_bytes(word[:8], "big") >> 11
        return bit == (coin < campaign.truth)

    def _random(self, purpose: str, campaign: Campaign) -> bytes:
        """Derive 32 bytes that are random to anyone who does not know the secret."""
        message = b"tacit sketch\0" + campaign.digest + purpose.encode()
        return hmac.new(self._secret, message, hashlib.sha256).digest()


def _whole_micros(nats: float) -> float:
    """Round a limit down to whole millionths, as campaigns state theirs; inf stays inf."""
    return nats if math.isinf(nats) else micros(nats)


def explain(campaign: Campaign, report: Report, catalogue: Sequence[ItemId]) -> list[list[str]]:
    """Explain every byte of a report.

    Returns:
        Rows of [bytes in hex, meaning].
    """
    data = report.encode()
    lie = 1 - campaign.truth / WHOLE
    chooses = "" if report.pair else " that chooses the questions"
    stated = _STATED_FOR[campaign.unit] if report.pair is None else _STARS_ALONE
    rows = [
        [data[0:1].hex(), "version of the message"],
        [data[1:2].hex(), "kind of the message: a report"],
        [data[2:10].hex(), "which campaign this answers"],
        [data[10:18].hex(), f"a random number{chooses}; another one in every campaign"],
        [
            data[18:22].hex(),
            (
                f"the answers, {campaign.questions} in all, each flipped with probability "
                f"{lie:.4f}. Together they cost epsilon {campaign.epsilon / MICRO:g}, stated for "
                f"{stated}"
            ),
        ],
    ]
    for question, asked in enumerate(_questions_asked(campaign, report)):
        answer = "yes" if report.bits >> question & 1 else "no"
        titles = ", ".join(printable_id(catalogue[number]) for number in asked[:3])
        more = f" and {len(asked) - 3} more" if len(asked) > 3 else ""
        rows.append([f"bit {question}", f"{answer}, to: {_question(campaign)} {titles}{more}?"])
    if report.pair is not None:
        rows.append([data[22:30].hex(), "these two items, which you rated: this is NOT protected"])
    return rows


def _question(campaign: Campaign) -> str:
    """Write the beginning of a question to a person, before the titles of its items."""
    if campaign.senses:
        return "do you like at least one of"
    if campaign.asks_identical:
        return "do you like both, or dislike both, of"
    return "do you like both of"


def printable_id(item: ItemId) -> str:
    """Write an id for the eyes: what a terminal would obey, or turn round, is escaped.

    The recommender chooses ids, and must not change what a person reads about it.
    """
    return "".join(
        letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in str(item)
    )


def _questions_asked(campaign: Campaign, report: Report) -> list[list[int]]:
    """List the item numbers of each question that a report answers."""
    if campaign.senses:
        return sensed_sets(campaign, report.ticket)
    if report.pair is not None:
        return [list(report.pair)] * campaign.questions
    return [list(pair) for pair in pairs(campaign, report.ticket)]
