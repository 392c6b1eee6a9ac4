"""The device half of the sketches.

Source      Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
            (2012), Figures 1 to 3.
Runs at     the person's own device.
Sees        the person's true stars, and the recommender's public campaign and clusters.
Releases    a few bits per campaign, once, each flipped with a stated probability. For methods with
            "rated" in their name, also two rated items, which have no protection.
Guarantee   epsilon-local differential privacy of one report for the campaign's unit, whatever the
            recommender asks and knows; for methods with "rated" in their name, of the stars alone.
            Noise is computed from a secret of 32 random bytes by HMAC-SHA256, so the guarantee
            holds against everyone who cannot distinguish HMAC-SHA256 from random bytes.
Deviations  sensed sets are drawn without replacement also in MaxSense; under unit 'user' a device
            uses at most `rated` liked items.

Standard library only, and short enough to read in one sitting: people have to trust this code.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
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
"""Reports that a device has sent: from a campaign's hex digest to what the report cost for
everything its owner rated (`Campaign.user_epsilon`), in millionths of a nat, and the report's
bytes. The recommender has all of this, too. Store the memory with the secret.

A campaign that differs in anything, such as its seed or closing time, is another campaign, whose
report is drawn and paid for again. Two devices of one account without a common memory can each
spend the whole lifetime epsilon. Devices with a common memory must take turns: if two of them
report at the same moment, the limits are checked for each alone."""

Coin = Callable[[int], int]
"""Function from the number of a question to an integer in [0, 2^53). The bit is released unchanged
if this integer is below `Campaign.truth`."""

_MOST_LABELS = 256
"""Number of possible labels of clusters, which are bytes."""
_UNITS_IN_WORDS = {
    "user": "everything you rated",
    "rating": "one rating more or less",
    "moved rating": "one rating given to another item",
}
"""For each unit, what epsilon is stated for, as `explain` tells the owner."""
_UNIT_OF_NAMED_PAIR = "your stars for these two items, and NOT for which items you rated"
"""What epsilon is stated for if a report names a pair of rated items, as `explain` tells it."""


class RefusalError(ValueError):
    """A device refused to answer a campaign, which is beyond the owner's limits or unusable."""


@dataclass(frozen=True)
class Limits:
    """Limits that the owner of a device sets. They hold for all campaigns.

    Both limits in nats are for everything the owner rated, whatever unit a campaign states its
    epsilon for. A report with 32 questions and epsilon 1 for one rating costs epsilon 32 for
    everything. There is one exception: of a report that names a pair of rated items, they count
    what it reveals of the stars alone, not that these items were rated (`most_rated_pairs`).

    Raises:
        ValueError: A value is of another type, a number is below 0 or NaN, or a unit is none of
            UNITS.
    """

    epsilon: float = 1.0
    """Largest epsilon of one campaign for everything the owner rated, in nats."""
    lifetime: float = 4.0
    """Largest sum of these epsilons over all campaigns, in nats."""
    units: tuple[str, ...] = ("user",)
    """Units that a campaign may state epsilon for; see `messages.UNITS`."""
    rated_pairs: bool = False
    """Whether a report may name a pair of rated items, which reveals that they were rated."""
    most_rated_pairs: int = 3
    """Largest number of such pairs in all campaigns together. No epsilon covers what they reveal,
    so `lifetime` does not limit them."""

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("lifetime", self.lifetime)):
            # NaN would not limit anything: no number is above it.
            if type(value) is bool or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"the limit {name} is a number of nats from 0 up; got {value!r}")
        # A str in place of the tuple would allow too much: "rating" in "moved rating" is true.
        if type(self.units) is not tuple or not set(self.units) <= set(UNITS):
            raise ValueError(f"units is a tuple of {', '.join(UNITS)}; got {self.units!r}")
        if type(self.rated_pairs) is not bool:
            raise ValueError(f"rated_pairs is True or False; got {self.rated_pairs!r}")
        if type(self.most_rated_pairs) is not int or self.most_rated_pairs < 0:
            raise ValueError(f"most_rated_pairs counts from 0 up; got {self.most_rated_pairs!r}")


def new_secret() -> bytes:
    """Draw a secret of 32 bytes, from the operating system.

    An account needs one secret, which must never be shown to anybody.
    """
    return secrets.token_bytes(32)


class Device:
    """One person's device: it answers campaigns within its owner's limits, and makes lists."""

    def __init__(
        self, secret: bytes, memory: Memory, limits: Limits | None = None, coin: Coin | None = None
    ) -> None:
        """Set up a device.

        Args:
            secret: Secret of the account, at least 32 bytes. Two devices with the same secret and
                the same stars send the same bytes to a campaign.
            memory: The reports sent before. Each new report is added, and the caller has to store
                the memory.
            limits: Limits of the owner; None for the defaults of `Limits`.
            coin: Source of the noise in tests and audits; None: it is computed from the secret.

        Raises:
            ValueError: The secret has fewer than 32 bytes.
        """
        if len(secret) < 32:
            raise ValueError("a secret has at least 32 bytes: make one with new_secret()")
        self._secret = secret
        self._memory = memory
        self._limits = Limits() if limits is None else limits
        self._coin = coin
        self._lock = threading.Lock()
        self._campaign_limit = _limit_in_micros(self._limits.epsilon)
        self._lifetime_limit = _limit_in_micros(self._limits.lifetime)

    def report(
        self,
        campaign: Campaign,
        catalogue: Sequence[ItemId],
        history: Mapping[ItemId, float],
        *,
        now: float | None = None,
    ) -> Report:
        """Answer a campaign: with the report in memory, or else with a new one.

        Args:
            campaign: The campaign to answer.
            catalogue: Item ids in the campaign's order.
            history: Stars by item id; items that are not in the catalogue are ignored.
            now: Unix seconds; None: the time of this device's clock.

        Raises:
            RefusalError: The campaign is beyond the limits or over, or the device cannot use it.
                There are no partial answers.
        """
        if now is None:
            now = time.time()
        digest = campaign.digest.hex()
        # Otherwise two campaigns at once could each fit under the lifetime limit, and together
        # exceed it.
        with self._lock:
            if digest in self._memory:
                _, sent = self._memory[digest]
                return Report.decode(sent)
            self._check(campaign, catalogue, now)
            ticket = int.from_bytes(self._random("ticket", campaign)[:8], "big")
            report = self._answer(campaign, catalogue, history, ticket)
            # Stored before it is sent: a crash in between must not lead to a second draw.
            self._memory[digest] = (campaign.user_epsilon, report.encode())
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

        Items are sorted by the share of likes in their cluster, then by their score, then by their
        position in the catalogue. The share is the owner's, among the items of the cluster that
        they rated, with one like and one dislike added.

        Args:
            clusters: The learned clusters.
            catalogue: Item ids in the campaign's order.
            history: Stars by item id.
            liked_from: Least stars of a like.
            n: Largest length of the list.

        Raises:
            ValueError: The clusters are of another catalogue.
        """
        has_same_length = len(catalogue) == len(clusters.labels)
        if not has_same_length or catalogue_digest(catalogue) != clusters.catalogue_digest:
            raise ValueError("these clusters are of another list of items")
        liked = [1] * _MOST_LABELS
        rated = [2] * _MOST_LABELS
        for item, label in zip(catalogue, clusters.labels, strict=True):
            if item in history:
                rated[label] += 1
                if history[item] >= liked_from:
                    liked[label] += 1

        def sort_key(number: int) -> tuple[float, int, int]:
            """Return the key by which an item, given by its position, is sorted ascending."""
            label = clusters.labels[number]
            return -liked[label] / rated[label], -clusters.scores[number], number

        unrated = [number for number, item in enumerate(catalogue) if item not in history]
        unrated.sort(key=sort_key)
        return [catalogue[number] for number in unrated[:n]]

    def _check(self, campaign: Campaign, catalogue: Sequence[ItemId], now: float) -> None:
        """Raise RefusalError unless a campaign can be answered.

        It has to have noise, to keep the limits, to be open and to fit the catalogue. The catalogue
        has to be the campaign's, and to name every item once.
        """
        if campaign.epsilon == NO_NOISE:
            raise RefusalError("this campaign asks for answers without noise")
        if campaign.unit not in self._limits.units:
            raise RefusalError(f"this campaign protects a {campaign.unit} only")
        self._check_epsilon(campaign)
        # The recommender counts no late report, so the epsilon would be spent for nothing.
        if now > campaign.closes:
            raise RefusalError("this campaign is over, by this device's clock")
        if campaign.names_pair:
            self._check_rated_pairs()
        if (
            len(catalogue) != campaign.n_items
            or catalogue_digest(catalogue) != campaign.catalogue_digest
        ):
            raise RefusalError("this campaign was made for another list of items")
        # An item that is listed twice could be in two sets; one rating would then change two bits.
        if len(set(catalogue)) != len(catalogue):
            raise RefusalError("this campaign's list names an item twice")

    def _check_epsilon(self, campaign: Campaign) -> None:
        """Raise RefusalError unless a campaign's report keeps both limits in nats."""
        limits = self._limits
        cost = campaign.user_epsilon
        total = cost + sum(epsilon for epsilon, _ in self._memory.values())
        is_above_stated = cost > campaign.epsilon
        unit = " for everything its owner rated" if is_above_stated else ""
        if not cost <= self._campaign_limit:
            raise RefusalError(
                f"this campaign asks for epsilon {cost / MICRO:.10g}{unit}; this device gives at "
                f"most {limits.epsilon:.10g} in one campaign"
            )
        if not total <= self._lifetime_limit:
            raise RefusalError(
                f"with this campaign, epsilon{unit} adds up to {total / MICRO:.10g}; this device "
                f"gives {limits.lifetime:.10g} in all"
            )

    def _check_rated_pairs(self) -> None:
        """Raise RefusalError unless one more report may name a pair of rated items."""
        if not self._limits.rated_pairs:
            raise RefusalError(
                "this campaign asks about items that its owner rated, which shows them"
            )
        reports = [sent for _, sent in self._memory.values()]
        named_pairs = len([sent for sent in reports if len(sent) == RATED_REPORT_BYTES])
        if not named_pairs < self._limits.most_rated_pairs:
            raise RefusalError(
                f"this device has named {named_pairs} pairs of items that its owner rated; it "
                f"names at most {self._limits.most_rated_pairs} in all"
            )

    def _answer(
        self,
        campaign: Campaign,
        catalogue: Sequence[ItemId],
        history: Mapping[ItemId, float],
        ticket: int,
    ) -> Report:
        """Compute the true bits of a ticket's questions, and release them with noise.

        Args:
            campaign: The campaign to answer, which was checked.
            catalogue: Item ids in the campaign's order.
            history: Stars by item id.
            ticket: Random number that determines the questions.

        Raises:
            RefusalError: The device has to name two rated items, and the owner rated fewer.
        """
        rated = {number for number, item in enumerate(catalogue) if item in history}
        liked = set()
        for number in rated:
            if history[catalogue[number]] * 1000 >= campaign.liked_from:
                liked.add(number)
        pair = None
        if campaign.asks_about_sets:
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
                both_liked = liked.issuperset(items)
                both_disliked = disliked.issuperset(items)
                true_bits.append(both_liked or (campaign.asks_identical and both_disliked))
        bits = 0
        for question, true_bit in enumerate(true_bits):
            released = self._release_bit(campaign, question, true_bit)
            bits |= int(released) << question
        return Report(campaign.id, ticket, bits, pair)

    def _cap_likes(self, campaign: Campaign, liked: set[int]) -> set[int]:
        """Return the liked items that are used: at most `campaign.likes_cap` of them.

        Args:
            campaign: The campaign. Its epsilon is calibrated for this cap.
            liked: Numbers of the liked items in the catalogue.
        """
        cap = campaign.likes_cap
        if cap is None or len(liked) <= cap:
            return liked
        return set(self._choose_items(campaign, liked, cap))

    def _choose_rated_pair(self, campaign: Campaign, rated: set[int]) -> tuple[int, int]:
        """Choose two rated items; the choice does not depend on their stars.

        Raises:
            RefusalError: Fewer than two items are rated.
        """
        if len(rated) < 2:
            raise RefusalError("this campaign needs an owner who rated two of its items")
        first, second = sorted(self._choose_items(campaign, rated, 2))
        return first, second

    def _choose_items(self, campaign: Campaign, items: set[int], count: int) -> list[int]:
        """Choose `count` of the items at random, by the secret and the campaign."""
        return sorted(items, key=lambda item: self._random(f"use {item}", campaign))[:count]

    def _release_bit(self, campaign: Campaign, question: int, true_bit: bool) -> bool:
        """Release a bit: unchanged with the probability truth / 2^53, else flipped.

        The noise is computed from the secret, the campaign, the question and the true bit. So a
        device that lost its memory gives the same answer as long as the true bit is the same, and
        after a change it draws independent noise.
        """
        if self._coin is not None:
            coin = self._coin(question)
        else:
            random_bytes = self._random(f"coin {question} {int(true_bit)}", campaign)
            coin = int.from_bytes(random_bytes[:8], "big") >> 11  # 53 of 64 bits
        is_unchanged = coin < campaign.truth
        return true_bit if is_unchanged else not true_bit

    def _random(self, purpose: str, campaign: Campaign) -> bytes:
        """Compute 32 bytes that look random to anyone who does not know the secret.

        Calls with the same purpose and campaign return the same bytes.
        """
        message = b"tacit sketch\0" + campaign.digest + purpose.encode()
        return hmac.new(self._secret, message, hashlib.sha256).digest()


def _limit_in_micros(nats: float) -> float:
    """Round a limit in nats down to whole millionths, as campaigns state epsilon; inf stays inf."""
    return nats if math.isinf(nats) else micros(nats)


def explain(campaign: Campaign, report: Report, catalogue: Sequence[ItemId]) -> list[list[str]]:
    """Explain every byte of a report, and every answer in it, to the owner of the device.

    Args:
        campaign: The campaign that the report answers.
        report: The report.
        catalogue: Item ids in the campaign's order.

    Returns:
        Rows of [bytes in hex, meaning]. The row of all answers' bytes is followed by a row [name of
        the bit, answer and question] for each answer.
    """
    data = report.encode()
    flip_probability = 1 - campaign.truth / WHOLE
    if report.pair is None:
        ticket = "a random number that chooses the questions; another one in every campaign"
        unit = _UNITS_IN_WORDS[campaign.unit]
    else:
        ticket = "a random number; another one in every campaign"
        unit = _UNIT_OF_NAMED_PAIR
    rows = [
        [data[0:1].hex(), "version of the message"],
        [data[1:2].hex(), "kind of the message: a report"],
        [data[2:10].hex(), "which campaign this answers"],
        [data[10:18].hex(), ticket],
        [
            data[18:22].hex(),
            (
                f"the answers, {campaign.questions} in all, each flipped with probability "
                f"{flip_probability:.4f}. Together they cost epsilon "
                f"{campaign.epsilon / MICRO:.10g}, stated for {unit}"
                f"{_explain_user_epsilon(campaign)}"
            ),
        ],
    ]
    for question, items in enumerate(_questions_asked(campaign, report)):
        answer = "yes" if report.bits >> question & 1 else "no"
        shown_items = ", ".join(printable_id(catalogue[number]) for number in items[:3])
        if len(items) > 3:
            shown_items += f" and {len(items) - 3} more"
        beginning = _begin_question(campaign)
        rows.append([f"bit {question}", f"{answer}, to: {beginning} {shown_items}?"])
    if report.pair is not None:
        rows.append([data[22:30].hex(), "these two items, which you rated: this is NOT protected"])
    return rows


def _explain_user_epsilon(campaign: Campaign) -> str:
    """Return what a report costs for everything its owner rated, if that is not what is stated."""
    if campaign.user_epsilon == campaign.epsilon:
        return ""
    return f"; for everything you rated, they cost epsilon {campaign.user_epsilon / MICRO:.10g}"


def _begin_question(campaign: Campaign) -> str:
    """Return the beginning of a campaign's questions, up to the ids of the items."""
    if campaign.asks_about_sets:
        return "do you like at least one of"
    if campaign.asks_identical:
        return "do you like both, or dislike both, of"
    return "do you like both of"


def printable_id(item: ItemId) -> str:
    """Format an id for display; characters that are not printable are escaped.

    The recommender chooses the ids, so control characters, or characters that reverse the direction
    of text, could otherwise change what a person reads.
    """
    return "".join(
        letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in str(item)
    )


def _questions_asked(campaign: Campaign, report: Report) -> list[list[int]]:
    """List the item numbers of each question that a report answers."""
    if campaign.asks_about_sets:
        return sensed_sets(campaign, report.ticket)
    if report.pair is not None:
        return [list(report.pair)] * campaign.questions
    return [list(pair) for pair in pairs(campaign, report.ticket)]
